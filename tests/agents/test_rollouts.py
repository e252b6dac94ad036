"""AlphaGo's leaf values: facts P16, P17 and P19, and what a rollout adds."""

import numpy as np
import pytest
from tests.agents.counting import FakeNetwork, positions, stack

from zelkova import games
from zelkova.agents.agent import Agent
from zelkova.agents.rollouts import RolloutModel
from zelkova.agents.rules_model import RulesModel
from zelkova.errors import ConfigError, GameError
from zelkova.games.registry import load
from zelkova.search.config import SearchConfig

GAME = load("tic_tac_toe")


def model_with(share: float, softening: float = 1.0) -> tuple[RolloutModel, RulesModel]:
    rules = RulesModel(GAME, FakeNetwork(GAME), num_trees=5, num_nodes=3)
    rules.place(stack(positions(GAME, 5, seed=2)))
    return RolloutModel(rules, share, softening), rules


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
    """One rollout of each of many positions, against rollouts by the test's own generator."""
    chosen = list({p.state.tobytes(): p for p in positions(GAME, 4000, seed=4, plies=6)}.values())
    count = len(chosen)
    assert count > 1000
    rules = RulesModel(GAME, FakeNetwork(GAME), num_trees=count, num_nodes=1)
    rules.place(stack(chosen))
    rolled = RolloutModel(rules, 1.0, 1.0).root().value
    again = RolloutModel(rules, 1.0, 1.0).root().value
    np.testing.assert_array_equal(rolled, again)
    rng = np.random.default_rng(0)
    plain = np.zeros(2)
    for position in chosen:
        copy = position.copy()
        while not copy.is_terminal:
            copy.play(int(rng.choice(copy.legal_actions())))
        plain += copy.returns
    assert rolled.mean(axis=0) == pytest.approx(plain / count, abs=0.12)  # four standard errors


def test_a_search_takes_rollouts_by_its_settings() -> None:
    states = stack(positions(GAME, 4, seed=3))
    answers = []
    for share in (0.5, 0.5, 0.0):
        config = SearchConfig(policy="puct", num_simulations=40, rollout_share=share, prior_softening=0.67)
        answers.append(Agent(GAME, FakeNetwork(GAME), config, batch=4).act(states))
    np.testing.assert_array_equal(answers[0].value, answers[1].value)
    assert not np.array_equal(answers[0].value, answers[2].value)


def test_a_game_with_chance_rolls_too() -> None:
    game = games.load("2048")
    agent = Agent(
        game,
        FakeNetwork(game),
        SearchConfig(policy="puct", num_simulations=8, rollout_share=1.0),
        batch=2,
    )
    low, high = game.return_range
    starts = [game.position().roll(np.random.default_rng(seed)) for seed in range(2)]
    values = agent.act(stack(starts)).value
    assert ((values >= low) & (values <= high)).all()


@pytest.mark.parametrize("bad", [{"rollout_share": 1.5}, {"prior_softening": 0.0}])
def test_bad_numbers_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=r"search\.(rollout_share|prior_softening)"):
        SearchConfig(**bad)  # type: ignore[arg-type]


def test_a_rollout_without_an_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zelkova.agents.rollouts.mix_rollouts", lambda *arrays: -3)
    with pytest.raises(GameError, match=r"did not end \(row 2\); next: run `zelkova check"):
        model_with(0.5)[0].root()
