"""Rules and network behind the search's border: what the model says is what the rules and the network say."""

import dataclasses

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.agents.counting import FakeNetwork, positions, stack

from zelkova import games
from zelkova.agents.rules_model import RulesModel, absolute_values
from zelkova.errors import ConfigError, SearchError, ShapeError
from zelkova.games import Game
from zelkova.games.game import Position
from zelkova.networks.outcome import outcome_values
from zelkova.search.model import Evaluation, Model


@pytest.fixture(scope="module", params=["tic_tac_toe", "connect_four_3p"])
def game(request: pytest.FixtureRequest) -> Game:
    return games.load(request.param)


@pytest.fixture(scope="module")
def small() -> Game:
    return games.load("tic_tac_toe")


def copy(evaluation: Evaluation) -> Evaluation:
    return Evaluation(*[np.array(array) for array in evaluation])  # type: ignore[arg-type]


def root(model: RulesModel, states: NDArray[np.uint64]) -> Evaluation:
    model.place(states)
    return model.root()


def expect(game: Game, network: FakeNetwork, position: Position, said: Evaluation, row: int) -> None:
    """Hold one row of an answer to direct calls of the rules and the network."""
    assert said.to_play[row] == position.to_play
    if position.is_terminal:
        assert said.discount[row] == 0.0
        assert said.count[row] == 0
        assert said.reward[row].tolist() == position.returns.tolist()
        assert said.value[row].tolist() == [0.0] * game.num_players
        return
    assert said.discount[row] == 1.0
    assert said.reward[row].tolist() == [0.0] * game.num_players
    legal = position.legal_actions()
    count = int(said.count[row])
    assert said.actions[row, :count].tolist() == legal.tolist()
    logits, outcomes = network.evaluate(position.observe()[None])
    assert said.prior_logits[row, :count].tolist() == logits[0, legal].tolist()
    shares = np.exp(outcomes - outcomes.max())
    seen = outcome_values(shares / shares.sum(), game.return_range)[0]
    for view in range(game.num_players):
        seat = (position.to_play + view) % game.num_players if game.view == "mover" else view
        assert said.value[row, seat] == pytest.approx(seen[view], abs=1e-6)


@pytest.mark.parametrize("cache", [0, 64])
def test_it_says_what_rules_and_network_say(game: Game, cache: int) -> None:
    network, trees, nodes = FakeNetwork(game), 4, 60
    model = RulesModel(game, network, trees, nodes, cache=cache)
    starts = positions(game, trees, seed=1)
    said = root(model, stack(starts))
    for row, start in enumerate(starts):
        expect(game, network, start, said, row)
    at: list[list[Position]] = [[start] for start in starts]
    rng, endings = np.random.default_rng(2), 0
    for step in range(1, nodes):
        parents, actions = [], []
        for tree in at:
            live = [k for k, position in enumerate(tree) if not position.is_terminal]
            parents.append(live[-1] if step % 15 else int(rng.choice(live)))
            actions.append(int(rng.choice(tree[parents[-1]].legal_actions())))
            tree.append(tree[parents[-1]].copy().play(actions[-1]))
        nodes_now = np.full(trees, step, np.int32)
        said = model.step(np.array(parents, np.int32), np.array(actions, np.int32), nodes_now)
        for row, tree in enumerate(at):
            expect(game, network, tree[-1], said, row)
            endings += tree[-1].is_terminal
    assert endings > 0


def test_values_are_turned_to_absolute_seats_for_a_mover_and_left_for_an_absolute_view() -> None:
    for name in ("tic_tac_toe", "connect_four_3p"):
        game = games.load(name)
        players = game.num_players
        logits = np.log(np.array([[0.5, 0.3, 0.15, 0.05][: players + 1]] * players, np.float32))
        movers = np.arange(players, dtype=np.int32)
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        seen = outcome_values(shares, game.return_range)
        for view in ("mover", "absolute"):
            changed = dataclasses.replace(game, view=view)
            turned = absolute_values(changed, logits, movers)
            for mover in range(players):
                seats = [(mover + k) % players if view == "mover" else k for k in range(players)]
                np.testing.assert_allclose(turned[mover, seats], seen[mover], atol=1e-6)


def test_a_cache_changes_no_answer_and_saves_evaluations(small: Game) -> None:
    plain, cached = FakeNetwork(small), FakeNetwork(small)
    models = [RulesModel(small, plain, 8, 4), RulesModel(small, cached, 8, 4, cache=1024)]
    for seed in range(6):
        states = stack(positions(small, 8, seed % 3, plies=2))
        without, with_one = (copy(root(model, states)) for model in models)
        for one, other in zip(without, with_one, strict=True):
            np.testing.assert_array_equal(one, other)
    assert plain.rows == models[0].asked == models[1].asked == 48
    assert cached.rows == models[1].evaluated < 24  # positions of two plies repeat, and three seeds do


def test_equal_positions_in_one_batch_are_evaluated_once(small: Game) -> None:
    network = FakeNetwork(small)
    model = RulesModel(small, network, 5, 2, cache=64)
    first, second = positions(small, 2, seed=3)
    said = root(model, stack([first, second, first, first, second]))
    assert network.rows == len({bytes(first.state), bytes(second.state)})
    for row, position in enumerate([first, second, first, first, second]):
        expect(small, network, position, said, row)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_cache_smaller_than_the_batch_answers_all_the_same(small: Game, size: int) -> None:
    """Different positions wait for one slot in the same batch: none may take the other's answer."""
    network, again = FakeNetwork(small), FakeNetwork(small)
    tiny, plain = RulesModel(small, network, 16, 2, cache=size), RulesModel(small, again, 16, 2)
    for seed in range(8):
        states = stack(positions(small, 16, seed, plies=5))
        for one, other in zip(copy(root(tiny, states)), copy(root(plain, states)), strict=True):
            np.testing.assert_array_equal(one, other)


def test_new_weights_are_asked_anew_after_forget(small: Game) -> None:
    network = FakeNetwork(small)
    model = RulesModel(small, network, 3, 2, cache=64)
    starts = positions(small, 3, seed=4)
    root(model, stack(starts))
    network.policy, network.outcome = network.policy * -1.0, network.outcome * 2.0
    model.forget()
    said = copy(root(model, stack(starts)))
    for row, start in enumerate(starts):
        expect(small, network, start, said, row)


def test_a_network_that_fails_leaves_no_row_waiting_for_its_answer(small: Game) -> None:
    network = FakeNetwork(small)
    model = RulesModel(small, network, 2, 2, cache=64)
    one, two = positions(small, 2, seed=5)
    network.fails = True
    with pytest.raises(RuntimeError, match="out of memory"):
        root(model, stack([one, two]))
    network.fails = False
    said = copy(root(model, stack([two, one])))
    expect(small, network, two, said, 0)
    expect(small, network, one, said, 1)


def test_calls_are_kept_only_where_asked_for(small: Game) -> None:
    model = RulesModel(small, FakeNetwork(small), 1, 2)
    state = stack(positions(small, 1))
    root(model, state)
    assert model.busy is None
    model.busy = []
    root(model, state)
    assert len(model.busy) == 1
    assert model.busy[0][0] <= model.busy[0][1]


def test_sizes_and_shapes_are_checked(small: Game) -> None:
    with pytest.raises(ConfigError, match="0 trees"):
        RulesModel(small, FakeNetwork(small), 0, 2)
    assert isinstance(RulesModel(small, FakeNetwork(small), 1, 2), Model)
    with pytest.raises(SearchError, match=r"root\(\) before place"):
        RulesModel(small, FakeNetwork(small), 1, 2).root()
    with pytest.raises(ShapeError, match=r"allowed: \(2, "):
        RulesModel(small, FakeNetwork(small), 2, 2).place(stack(positions(small, 3)))
