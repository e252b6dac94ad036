"""One game in play: trees that outlive a move, budgets, stopping from elsewhere, endings, what is refused."""

import threading
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.agents.counting import FakeNetwork, positions

from zelkova import games
from zelkova.agents.agent import Agent
from zelkova.agents.planner import Answer, Planner, PlannerConfig
from zelkova.agents.rules_model import RulesModel
from zelkova.errors import ConfigError, IllegalActionError, NotationError, SearchError, ShapeError
from zelkova.games import Game
from zelkova.games.game import Position
from zelkova.search.config import SearchConfig

Floats = NDArray[np.float32]


def planner(name: str = "connect_four", policy: Any = "puct", **options: Any) -> Planner:
    game = games.load(name)
    rng = options.pop("rng", None)
    config = SearchConfig(policy=policy, num_simulations=options.pop("num_simulations", 32))
    return Planner(game, FakeNetwork(game), config, PlannerConfig(**options), rng)


def assert_states_are_replayed(thinking: Planner) -> None:
    """Every node's stored state is what the rules make of its parent's."""
    forest, states = thinking.search.forest, thinking.model.states
    assert states[0].tolist() == thinking.position.state[0].tolist()
    for node in range(1, int(forest.heads["num_nodes"][0])):
        record = forest.nodes[0, node]
        above = forest.nodes[0, record["parent"]]
        kid = forest.kids[0, above["kids"] + record["parent_kid"]]
        assert kid["child"] == node
        position = Position(thinking.game, states[record["parent"]][None])
        position.play(int(forest.actions[0, above["edges"] + kid["edge"]]))
        assert position.state[0].tolist() == states[node].tolist()
        assert position.is_terminal == (record["num_edges"] == 0)
        legal = forest.actions[0, record["edges"] : record["edges"] + record["num_edges"]]
        expected = position.outcomes()[0] if position.is_chance else position.legal_actions()
        assert legal.tolist() == expected.tolist()


@pytest.mark.parametrize("leaves", [1, 4])
@pytest.mark.parametrize("name", ["tic_tac_toe", "connect_four", "connect_four_3p"])
def test_whole_games_on_one_tree(name: str, leaves: int) -> None:
    rng = np.random.default_rng(leaves)
    thinking = planner(name, num_leaves=leaves, room=70, rng=rng)
    moves = 0
    while not thinking.position.is_terminal and moves < 24:
        answer = thinking.think(int(rng.integers(1, 40)))
        legal = thinking.position.legal_actions()
        assert answer.action in legal
        assert answer.result.visit_counts.sum() <= 70
        assert all(line.actions[0] in legal for line in answer.lines)
        assert_states_are_replayed(thinking)
        thinking.play(answer.action if rng.random() < 0.7 else int(rng.choice(legal)))
        moves += 1
    assert moves > 4


def test_the_tree_under_the_move_stays() -> None:
    thinking = planner(room=400)
    first = thinking.think(100)
    assert (first.simulations, first.ended) == (100, "budget")
    column = int(np.flatnonzero(first.result.actions[0] == first.action)[0])
    held = int(first.result.visit_counts[0, column])
    thinking.play(first.action)
    here = thinking.stop()
    assert here is not None
    assert here.simulations == 0
    assert here.result.visit_counts.sum() == held - 1
    mover = 0
    assert here.result.value[0, mover] == pytest.approx(first.result.q_values[0, column], abs=1e-6)
    assert first.lines[0].actions[1:] == here.lines[0].actions[: len(first.lines[0].actions) - 1]
    second = thinking.think(50)
    assert second.simulations == 50
    assert second.result.visit_counts.sum() == held - 1 + 50


def test_total_visits_count_what_the_tree_holds() -> None:
    thinking = planner(room=400, budget="total_visits")
    thinking.think(100)
    thinking.play(thinking.think(100).action)
    assert thinking.think(60).result.visit_counts.sum() == 60
    assert thinking.think(60).simulations == 0
    assert thinking.think(61).simulations == 1


def test_a_fresh_tree_answers_as_an_agent_does() -> None:
    for policy in ("puct", "gumbel"):
        thinking = planner(policy=policy, room=500)
        agent = Agent(thinking.game, FakeNetwork(thinking.game), thinking.config, batch=1)
        here = thinking.position
        for move in ("4", "3", "4"):
            here.play(move)
        thinking.set_position(here.state)
        answer = thinking.think()
        for one, two in zip(answer.result, agent.act(here.state), strict=True):
            np.testing.assert_array_equal(one, two)


def test_a_full_tree_says_so() -> None:
    thinking = planner(room=40)
    assert thinking.think(30).ended == "budget"
    answer = thinking.think(30)
    assert (answer.simulations, answer.ended) == (10, "full")
    again = thinking.think(30)
    assert (again.simulations, again.ended, again.action) == (0, "full", answer.action)
    thinking.play(answer.action)
    assert thinking.think(3).ended == "budget"
    assert planner(room=40, policy="gumbel").think(50).ended == "full"


def test_gumbel_starts_anew() -> None:
    thinking = planner(policy="gumbel", room=100)
    answer = thinking.think(40)
    assert thinking.think(20).result.visit_counts.sum() == 20
    thinking.play(answer.action)
    assert thinking.stop() is None
    assert thinking.think().result.visit_counts.sum() == 32


@pytest.mark.parametrize("policy", ["puct", "gumbel"])
def test_no_time_at_all(policy: str) -> None:
    thinking = planner(policy=policy)
    answer = thinking.think(seconds=0.0)
    assert (answer.simulations, answer.ended, answer.lines) == (0, "time", ())
    assert answer.action in thinking.position.legal_actions()
    assert answer.result.action_weights.sum() == pytest.approx(1, abs=1e-5)


def test_time_and_simulations_whichever_comes_first() -> None:
    thinking = planner(room=60)
    assert thinking.think(5, seconds=600.0).ended == "budget"
    assert thinking.think(seconds=600.0).ended == "full"
    many = planner(room=1_000_000)
    answer = many.think(seconds=0.05)
    assert answer.ended == "time"
    assert many.think(1_000_000, seconds=0.05).ended == "time"


class Gate(FakeNetwork):
    """Tells when it is asked for the third time."""

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self.calls = 0
        self.reached = threading.Event()

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        self.calls += 1
        if self.calls == 3:
            self.reached.set()
        return super().evaluate(planes)


def endless(policy: Any = "puct", **options: Any) -> tuple[Planner, Gate]:
    game = games.load("connect_four")
    gate = Gate(game)
    config = SearchConfig(policy=policy, num_simulations=32)
    return Planner(game, gate, config, PlannerConfig(room=1_000_000, **options)), gate


@pytest.mark.parametrize("policy", ["puct", "gumbel"])
def test_stop_from_another_thread(policy: str) -> None:
    thinking, gate = endless(policy, num_leaves=2)
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(thinking.think(1_000_000)))
    thread.start()
    assert gate.reached.wait(60)
    stopped = thinking.stop()
    thread.join(60)
    assert not thread.is_alive()
    assert answers[0].ended == "stop"
    assert answers[0].simulations >= 1
    assert stopped is not None
    assert stopped.action == answers[0].action in thinking.position.legal_actions()
    assert (
        thinking.search.forest.nodes["pending"][0, : thinking.search.forest.heads["num_nodes"][0]] == 0
    ).all()


def test_pondering_goes_on_until_the_next_call() -> None:
    thinking, gate = endless()
    thinking.ponder()
    assert gate.reached.wait(60)
    answer = thinking.stop()
    assert answer is not None
    held = int(answer.result.visit_counts.sum())
    assert held >= 1
    assert thinking.think(10).result.visit_counts.sum() == held + 10
    thinking.ponder()
    thinking.play(answer.action)
    assert thinking.position.actions_played == [answer.action]
    thinking.ponder()
    thinking.ponder()
    assert thinking.think(5).simulations == 5
    gumbel, gate = endless("gumbel")
    gumbel.ponder()
    assert gate.reached.wait(60)
    assert gumbel.think(16).result.visit_counts.sum() == 16


def test_stop_without_anything_to_stop() -> None:
    thinking = planner()
    assert thinking.stop() is None
    assert thinking.think(7).simulations == 7


class Stopping(FakeNetwork):
    """Calls stop from within the search."""

    thinking: Planner

    def evaluate(self, planes: Floats) -> tuple[Floats, Floats]:
        if self.rows >= 4:
            assert self.thinking.stop() is None
        return super().evaluate(planes)


def test_stop_from_within() -> None:
    game = games.load("connect_four")
    network = Stopping(game)
    network.thinking = Planner(game, network, SearchConfig(policy="puct", num_simulations=500))
    assert network.thinking.think().ended == "stop"
    network.rows = 0
    network.thinking.set_position(game.position().play("1").state)
    network.thinking.ponder()
    assert network.thinking.think(1).simulations == 1


def test_a_network_that_fails() -> None:
    thinking = planner(num_leaves=4)
    model = thinking.model
    assert isinstance(model, RulesModel)
    network = model.engine
    assert isinstance(network, FakeNetwork)
    thinking.think(20)
    network.fails = True
    with pytest.raises(RuntimeError, match="out of memory"):
        thinking.think(20)
    network.fails = False
    assert thinking.stop() is None
    assert thinking.think(20).result.visit_counts.sum() == 20
    network.fails = True
    thinking.set_position(thinking.position.play("1").state)
    thinking.ponder()
    with pytest.raises(RuntimeError, match="out of memory"):
        thinking.think(20)
    network.fails = False
    assert thinking.think(20).simulations == 20


def test_one_legal_move() -> None:
    thinking = planner("tic_tac_toe")
    for move in ("a1", "a2", "b1", "b2", "c3", "c2", "a3", "b3"):
        here = thinking.position
        if here.is_terminal:
            break
        thinking.play(move)
    game = games.load("tic_tac_toe")
    position = game.position()
    for move in ("b2", "a1", "c1", "a3", "a2", "c2", "b1", "b3"):
        position.play(move)
    assert len(position.legal_actions()) == 1
    for policy in ("puct", "gumbel"):
        thinking = planner("tic_tac_toe", policy)
        thinking.set_position(position.state)
        answer = thinking.think(9)
        assert answer.action == position.legal_actions()[0]
        assert answer.result.visit_counts.sum() == 9
        assert answer.lines[0].actions == (answer.action,)
        thinking.play(answer.action)
        for call in (thinking.think, thinking.ponder):
            with pytest.raises(SearchError, match="is over.*set_position"):
                call()


def test_moves_that_are_refused() -> None:
    thinking = planner("tic_tac_toe")
    action = thinking.think(20).action
    thinking.play(action)
    held = thinking.stop()
    with pytest.raises(IllegalActionError, match=rf"move \w\d \(action {action}\).*legal: "):
        thinking.play(action)
    with pytest.raises(IllegalActionError, match="99"):
        thinking.play(99)
    with pytest.raises(NotationError):
        thinking.play("castle")
    after = thinking.stop()
    assert held is not None
    assert after is not None
    assert held.result.visit_counts.tolist() == after.result.visit_counts.tolist()
    with pytest.raises(ShapeError, match=r"uint64 of shape \(1, "):
        thinking.set_position(np.zeros(3, np.uint64))
    with pytest.raises(ShapeError, match="list"):
        thinking.set_position([1, 2])  # type: ignore[arg-type]


def test_budgets_that_are_refused() -> None:
    thinking = planner()
    for budget in ({"simulations": 0}, {"seconds": -1.0}, {"seconds": float("nan")}):
        with pytest.raises(ConfigError, match="allowed"):
            thinking.think(**budget)
    with pytest.raises(ConfigError, match="room = 8 is below"):
        planner(room=8)
    for wrong in ({"num_leaves": 0}, {"cache": -1}, {"budget": "visits"}, {"room": True}):
        with pytest.raises(ConfigError, match="allowed"):
            PlannerConfig(**wrong)


def test_noise_is_drawn_for_every_root() -> None:
    answers = []
    for seed in (1, 1, 2):
        thinking = planner(rng=np.random.default_rng(seed), room=400)
        thinking.think(60)
        thinking.play("4")
        assert thinking.search.forest.noise[0].sum() == pytest.approx(1, abs=1e-5)
        answers.append(thinking.think(60).result.visit_counts.tolist())
    assert answers[0] == answers[1] != answers[2]


@pytest.mark.parametrize("policy", ["trpo", "mpo"])
def test_regularised_trees_outlive_a_move(policy: str) -> None:
    """Their roots take no noise, so a planner that could draw some goes on all the same."""
    thinking = planner(policy=policy, rng=np.random.default_rng(0), room=400)
    thinking.play(thinking.think(60).action)
    assert thinking.search.forest.nodes["visits"][0, 0] > 1
    assert_states_are_replayed(thinking)
    assert thinking.think(60).result.action_weights.sum() == pytest.approx(1, abs=1e-5)


def test_what_has_no_logits_starts_anew() -> None:
    game = games.load("connect_four")
    config = SearchConfig(policy="trpo", interior="puct", num_simulations=32)
    thinking = Planner(game, FakeNetwork(game), config)
    thinking.think()
    thinking.play("4")
    assert thinking.think().result.visit_counts.sum() == 32


def test_rollouts_are_mixed_in_as_an_agent_does() -> None:
    game = games.load("tic_tac_toe")
    config = SearchConfig(policy="puct", num_simulations=40, rollout_share=0.5, prior_softening=0.67)
    agent = Agent(game, FakeNetwork(game), config, batch=1)
    answer = Planner(game, FakeNetwork(game), config).think()
    expected = agent.act(game.position().state)
    np.testing.assert_array_equal(answer.result.visit_counts, expected.visit_counts)
    np.testing.assert_array_equal(answer.result.value, expected.value)


def test_noise_for_drawn_candidates_is_refused() -> None:
    game = games.load("tic_tac_toe")
    config = SearchConfig(candidates="replacement", num_simulations=8)
    with pytest.raises(ConfigError, match="next: candidates = 'gumbel'"):
        Planner(game, FakeNetwork(game), config, rng=np.random.default_rng(0))
    assert Planner(game, FakeNetwork(game), config).think().simulations == 8


def test_a_tree_outlives_chance() -> None:
    """A move leads to nature's position, the outcome that comes to the next; both are nodes."""
    thinking = planner("2048", room=400)
    with pytest.raises(SearchError, match="nature moves .* next: play"):
        thinking.think()
    rng = np.random.default_rng(3)
    kept = 0
    for _ in range(6):
        while thinking.position.is_chance:
            thinking.play(thinking.position.draw_outcome(rng))
        held = int(thinking.search.forest.nodes["visits"][0, 0])
        answer = thinking.think(150)
        kept += answer.result.visit_counts.sum() == held - 1 + 150
        assert answer.action in thinking.position.legal_actions()
        assert_states_are_replayed(thinking)
        thinking.play(answer.action)
        with pytest.raises(SearchError, match="nature moves"):
            thinking.ponder()
    assert kept >= 3


def test_the_move_to_play_leads_the_lines() -> None:
    game, config, others = games.load("connect_four"), SearchConfig(num_simulations=12), 0
    for position in positions(game, 12):
        for lines in (1, 3):
            thinking = Planner(game, FakeNetwork(game), config, PlannerConfig(num_lines=lines))
            thinking.set_position(position.state)
            answer = thinking.think()
            assert answer.lines[0].actions[0] == answer.action
            rest = [line.visits for line in answer.lines[1:]]
            assert rest == sorted(rest, reverse=True)
            assert len(answer.lines) <= lines
            counts, values = answer.result.visit_counts[0], answer.result.q_values[0]
            most = np.lexsort((-values, -counts))[0]
            others += int(answer.result.actions[0, most]) != answer.action
    assert others > 0, "no search played another move than visits and Q put first"
