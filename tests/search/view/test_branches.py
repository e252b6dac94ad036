import numpy as np
import pytest
from numpy.typing import NDArray

from zelkova import games
from zelkova.agents.agent import Agent
from zelkova.games import Game
from zelkova.search.config import SearchConfig
from zelkova.search.view import Branch, read_branches


class Flat:
    """Knows nothing: every move and every outcome is as likely as the others."""

    def __init__(self, game: Game) -> None:
        self.game = game

    def evaluate(self, planes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        shape = (len(planes), self.game.num_actions), (len(planes), self.game.num_players + 1)
        return np.zeros(shape[0], np.float32), np.zeros(shape[1], np.float32)


def search(name: str, moves: str, **config: object) -> tuple[Agent, Game, NDArray[np.uint64]]:
    game = games.load(name)
    position = game.position()
    for move in moves.split():
        position.play(move)
    agent = Agent(game, Flat(game), SearchConfig(**config), batch=1)  # type: ignore[arg-type]
    agent.act(position.state)
    return agent, game, position.state


@pytest.mark.parametrize("policy", ["gumbel", "puct"])
@pytest.mark.parametrize(
    ("name", "moves"), [("tic_tac_toe", "a1 a2 b1 b2"), ("connect_four_3p", "1 2 3 1 2 3")]
)
def test_branches_agree_with_the_searchs_result(policy: str, name: str, moves: str) -> None:
    agent, game, state = search(name, moves, policy=policy, num_simulations=60)
    result = agent.act(state)
    root = read_branches(agent.search, [game.num_actions])
    assert root.action == -1
    assert root.value == pytest.approx(result.value[0], abs=1e-5)
    column = {int(action): k for k, action in enumerate(result.actions[0, : result.count[0]])}
    mover = int(game.view_states(state)["to_play"][0])
    seen = {branch.action: branch for branch in root.children}
    assert set(seen) == {action for action, k in column.items() if result.visit_counts[0, k] > 0}
    for action, branch in seen.items():
        assert branch.visits == result.visit_counts[0, column[action]]
        assert branch.value[mover] == pytest.approx(result.q_values[0, column[action]], abs=1e-5)
    visits = [branch.visits for branch in root.children]
    assert visits == sorted(visits, reverse=True)


def test_a_win_is_worth_the_win_to_each_player() -> None:
    agent, _, _ = search("tic_tac_toe", "a1 a2 b1 b2", num_simulations=60)
    best = read_branches(agent.search, [9]).children[0]
    assert best.action == 8  # c1
    assert best.value.tolist() == [1.0, -1.0]
    assert best.children == ()


def test_lines_are_legal_and_as_deep_and_wide_as_asked() -> None:
    agent, game, _ = search("tic_tac_toe", "b2", num_simulations=200, policy="puct")
    root = read_branches(agent.search, [3, 2, 1, 1])

    def walk(branch: Branch, actions: list[int], widths: list[int]) -> int:
        position = game.position()
        position.play("b2")
        for action in actions:
            position.play(action)
        assert len(branch.children) <= widths[0] if widths else not branch.children
        assert sum(child.visits for child in branch.children) <= branch.visits
        return max(
            (1 + walk(child, [*actions, child.action], widths[1:]) for child in branch.children), default=0
        )

    assert walk(root, [], [3, 2, 1, 1]) == 4
    assert len(root.children) == 3
    assert read_branches(agent.search, []).children == ()
