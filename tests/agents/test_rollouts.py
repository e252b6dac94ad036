"""AlphaGo's leaf values: facts P16, P17 and P19, and what a rollout adds."""

import numpy as np
import pytest
from tests.agents.counting import FakeNetwork, positions, stack

from zelkova import games
from zelkova.agents.agent import Agent
from zelkova.agents.rollouts import RolloutModel, Rollouts
from zelkova.agents.rules_model import RulesModel
from zelkova.errors import ConfigError
from zelkova.games.registry import load
from zelkova.search.config import SearchConfig

GAME = load("tic_tac_toe")


def model_with(share: float, softening: float = 1.0, seed: int = 0) -> tuple[RolloutModel, RulesModel]:
    rules = RulesModel(GAME, FakeNetwork(GAME), num_trees=5, num_nodes=3)
    rules.place(stack(positions(GAME, 5, seed=2)))
    return RolloutModel(rules, Rollouts(share, softening, seed)), rules


def test_the_mix_p16_p17() -> None:
    assert pytest.approx(0.65) == 0.5 * 0.3 + 0.5 * 1.0  # v .3, a won rollout
    plain = model_with(0.0)[0].root().value.copy()
    rolled = model_with(1.0)[0].root().value.copy()
    mixed = model_with(0.5)[0].root().value.copy()
    assert set(np.unique(rolled)) <= {-1.0, 0.0, 1.0}
    np.testing.assert_allclose(rolled.sum(axis=1), 0)
    np.testing.assert_allclose(mixed, 0.5 * plain + 0.5 * rolled, atol=1e-6)
    # P17: 4 values that sum to 2 and 10 rollouts that sum to -2
    assert pytest.approx(0.15) == 0.5 * 2 / 4 + 0.5 * -2 / 10


def test_softened_priors_p19() -> None:
    plain = model_with(0.0)[0].root()
    logits = plain.prior_logits.copy()
    softened = model_with(0.0, softening=0.67)[0].root()
    np.testing.assert_allclose(softened.prior_logits, 0.67 * logits, atol=1e-6)
    weights = np.exp(0.67 * np.log([0.5, 0.3, 0.2]))
    assert weights / weights.sum() == pytest.approx([0.444169, 0.315435, 0.240397], abs=1e-6)


def test_rollouts_average_to_the_random_value() -> None:
    totals = np.zeros((5, 2))
    model, _ = model_with(1.0)
    for _ in range(400):
        totals += model.root().value
    counter_free = np.zeros((5, 2))
    rng = np.random.default_rng(0)
    for row, position in enumerate(positions(GAME, 5, seed=2)):
        for _ in range(400):
            copy = position.copy()
            while not copy.is_terminal:
                copy.play(int(rng.choice(copy.legal_actions())))
            counter_free[row] += copy.returns
    np.testing.assert_allclose(totals / 400, counter_free / 400, atol=0.2)


def test_endings_keep_their_value_and_seeds_decide() -> None:
    config = SearchConfig(policy="puct", num_simulations=40)
    states = stack(positions(GAME, 4, seed=3))
    answers = [
        Agent(GAME, FakeNetwork(GAME), config, batch=4, rollouts=Rollouts(seed=seed)).act(states)
        for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(answers[0].value, answers[1].value)
    assert not np.array_equal(answers[0].value, answers[2].value)


def test_a_game_with_chance_rolls_too() -> None:
    game = games.load("2048")
    agent = Agent(
        game,
        FakeNetwork(game),
        SearchConfig(policy="puct", num_simulations=8),
        batch=2,
        rollouts=Rollouts(1.0),
    )
    low, high = game.return_range
    starts = [game.position().roll(np.random.default_rng(seed)) for seed in range(2)]
    values = agent.act(stack(starts)).value
    assert ((values >= low) & (values <= high)).all()


@pytest.mark.parametrize("bad", [{"share": 1.5}, {"softening": 0.0}, {"share": float("nan")}])
def test_bad_numbers_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="rollouts"):
        Rollouts(**bad)  # type: ignore[arg-type]
