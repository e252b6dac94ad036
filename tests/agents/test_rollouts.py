"""AlphaGo's leaf values: facts P16, P17 and P19, and what a rollout adds."""

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.agents.counting import FakeNetwork, Floats, positions, stack

from zelkova import games
from zelkova.agents.agent import Agent
from zelkova.agents.rollouts import RolloutModel
from zelkova.agents.rules_model import RulesModel
from zelkova.errors import ConfigError, GameError
from zelkova.games.registry import load
from zelkova.search import BatchSearch, Puct, run
from zelkova.search.config import SearchConfig
from zelkova.search.model import Evaluation

GAME = load("tic_tac_toe")

Ints = NDArray[np.int32]


def model_with(share: float, softening: float = 1.0) -> tuple[RolloutModel, RulesModel]:
    rules = RulesModel(GAME, FakeNetwork(GAME), num_trees=5, num_nodes=3)
    rules.place(stack(positions(GAME, 5, seed=2)))
    return RolloutModel(rules, share, softening), rules


class FixedNetwork:
    """Says one thing of every position: an outcome for the mover, and a policy."""

    def __init__(self, outcome: list[float], policy: dict[int, float]) -> None:
        self.outcome = np.log(np.array(outcome, np.float32))
        self.policy = np.zeros(GAME.num_actions, np.float32)
        for action, probability in policy.items():
            self.policy[action] = np.log(probability)

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        rows = len(planes)
        return np.tile(self.policy, (rows, 1)), np.tile(self.outcome, (rows, 1))


def root_after(moves: list[int], network: FixedNetwork, share: float, softening: float) -> Evaluation:
    position = GAME.position()
    for move in moves:
        position.play(move)
    rules = RulesModel(GAME, network, num_trees=1, num_nodes=2)
    rules.place(stack([position]))
    return RolloutModel(rules, share, softening).root()


def test_the_mix_p16() -> None:
    # x o x   the last cell is x's and makes a diagonal: every rollout is won; the network says
    # o x x   .5 won, .2 lost, .3 drawn, so v = .3
    # o o .
    network = FixedNetwork([0.5, 0.2, 0.3], {})
    moves = [0, 1, 2, 3, 4, 6, 5, 7]
    assert root_after(moves, network, 0.0, 1.0).value[0] == pytest.approx([0.3, -0.3], abs=1e-6)
    assert root_after(moves, network, 0.5, 1.0).value[0] == pytest.approx([0.65, -0.65], abs=1e-6)
    assert root_after(moves, network, 1.0, 1.0).value[0] == pytest.approx([1.0, -1.0], abs=1e-6)


class OneLine:
    """Positions of player 0 that follow one another by a single action; node i is worth values[i - 1]."""

    def __init__(self, values: Floats) -> None:
        self.values = values

    def _row(self, i: int) -> Evaluation:
        action, nothing = np.zeros((1, 1), np.int32), np.zeros((1, self.values.shape[1]), np.float32)
        one, logit = np.ones(1, np.float32), np.zeros((1, 1), np.float32)
        return Evaluation(
            nothing, one, action, np.ones(1, np.int32), logit, self.values[i : i + 1], action[0]
        )

    def root(self) -> Evaluation:
        return self._row(0)

    def step(self, parent: Ints, action: Ints, node: Ints) -> Evaluation:
        return self._row(int(node[0]) - 1)


def test_an_edge_of_both_kinds_of_value_p17() -> None:
    """Nv 4 and Wv 2, Nr 10 and Wr -2: Q = .5 x 2 / 4 + .5 x -2 / 10 = .15.

    Here a leaf gets both at once, so one count serves: ten leaves whose values are .5 and whose rollouts
    end in four wins and six losses.
    """
    # x o x    x o x   two cells are left and o moves: on the left either of them lets x win, on the right
    # o x o    o o .   either of them wins
    # . x .    x . x
    won, lost = [0, 1, 2, 3, 4, 5, 7], [0, 1, 2, 3, 6, 4, 8]
    starts = []
    for moves in [won] * 4 + [lost] * 6:
        starts.append(GAME.position())
        for move in moves:
            starts[-1].play(move)
    network = FixedNetwork([0.1, 0.6, 0.3], {})  # to o, who moves; x reads .5
    rules = RulesModel(GAME, network, num_trees=10, num_nodes=2)
    rules.place(stack(starts))
    told = {share: RolloutModel(rules, share, 1.0).root().value.copy() for share in (0.0, 0.5, 1.0)}
    assert told[0.0][:4, 0].sum() == pytest.approx(2, abs=1e-6)
    assert told[1.0][:, 0].sum() == pytest.approx(-2, abs=1e-6)
    policy = Puct.named("alphago", num_simulations=10)
    search = BatchSearch(policy.config(), 1, 1, GAME.num_players)
    assert run(search, OneLine(told[0.5])).q_values[0, 0] == pytest.approx(0.15, abs=1e-6)


def test_values_are_mixed_by_the_share() -> None:
    plain = model_with(0.0)[0].root().value.copy()
    rolled = model_with(1.0)[0].root().value.copy()
    mixed = model_with(0.25)[0].root().value.copy()
    assert set(np.unique(rolled)) <= {-1.0, 0.0, 1.0}
    np.testing.assert_allclose(rolled.sum(axis=1), 0)
    np.testing.assert_allclose(mixed, 0.75 * plain + 0.25 * rolled, atol=1e-6)


def test_softened_priors_p19() -> None:
    network = FixedNetwork([0.4, 0.3, 0.3], {6: 0.5, 7: 0.3, 8: 0.2})
    found = root_after([0, 1, 2, 3, 4, 5], network, 0.0, 0.67)
    assert found.actions[0, : found.count[0]].tolist() == [6, 7, 8]
    weights = np.exp(found.prior_logits[0, :3])
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
