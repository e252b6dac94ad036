"""The exact solver beside known results and a plain solver that knows connect four by itself."""

from functools import cache

import numpy as np
import pytest

from zelkova import games
from zelkova.agents.reference.classic import MinimaxAgent
from zelkova.errors import ConfigError, GameError

Board = tuple[str, ...]
"""Columns, each a text of players' numbers from the bottom up."""


@cache
def plain_values(columns: Board, height: int, run: int, players: int) -> tuple[float, ...]:
    """Solve small connect four without the package: each player's return under max^n."""
    mover = sum(map(len, columns)) % players
    best: tuple[float, ...] | None = None
    for column in range(len(columns)):
        if len(columns[column]) < height:
            value = plain_after(columns, column, height, run, players)
            if best is None or value[mover] > best[mover]:
                best = value
    assert best is not None
    return best


def plain_after(columns: Board, column: int, height: int, run: int, players: int) -> tuple[float, ...]:
    mover = sum(map(len, columns)) % players
    after = tuple(text + str(mover) * (k == column) for k, text in enumerate(columns))
    if plain_line(after, column, run):
        return tuple(1.0 if k == mover else (-1.0 if players == 2 else 0.0) for k in range(players))
    if all(len(text) == height for text in after):
        return (0.0, 0.0) if players == 2 else (1 / 3,) * 3
    return plain_values(after, height, run, players)


def plain_line(columns: Board, column: int, run: int) -> bool:
    """Say whether the disc on top of a column is part of a line."""
    row, mark = len(columns[column]) - 1, columns[column][-1]

    def is_mine(x: int, y: int) -> bool:
        return 0 <= x < len(columns) and 0 <= y < len(columns[x]) and columns[x][y] == mark

    for across, up in ((1, 0), (0, 1), (1, 1), (1, -1)):
        length = 1
        for sign in (1, -1):
            k = 1
            while is_mine(column + sign * k * across, row + sign * k * up):
                length, k = length + 1, k + 1
        if length >= run:
            return True
    return False


@pytest.mark.parametrize(
    ("height", "width", "run", "players"),
    [(4, 4, 3, 2), (4, 3, 3, 2), (3, 4, 4, 2), (3, 3, 3, 3), (3, 4, 3, 3)],
)
def test_small_connect_four_is_what_a_plain_solver_says(
    height: int, width: int, run: int, players: int
) -> None:
    game = games.load("connect_four", {"height": height, "width": width, "run": run, "players": players})
    found = MinimaxAgent(game).solve(game.position().state)
    columns = ("",) * width
    np.testing.assert_allclose(found.value, plain_values(columns, height, run, players), rtol=1e-6)
    expected = [plain_after(columns, column, height, run, players) for column in range(width)]
    np.testing.assert_allclose(found.action_values, expected, rtol=1e-6)


def test_four_in_a_row_on_a_board_of_four_by_four_is_a_draw() -> None:
    game = games.load("connect_four", {"height": 4, "width": 4})
    found = MinimaxAgent(game).solve(game.position().state)
    assert found.value.tolist() == [0.0, 0.0]
    assert found.positions > 50_000


def test_tic_tac_toe_is_a_draw_and_a_bad_reply_to_the_corner_loses() -> None:
    game = games.load("tic_tac_toe")
    agent = MinimaxAgent(game)
    start = game.position()
    found = agent.solve(start.state)
    assert (found.action_values == 0).all()
    assert 3000 < found.positions <= 5478
    reply = agent.solve(start.play(0).state)  # only the middle holds the draw
    assert np.isnan(reply.action_values[0]).all()
    assert reply.action_values[1:, 1].tolist() == [-1, -1, -1, 0, -1, -1, -1, -1]
    assert reply.action == 4
    opinions = agent.consider(start.state)
    assert opinions[0].action == 4
    assert len(opinions) == 8


def test_too_many_positions_are_an_error_never_an_answer() -> None:
    game = games.load("connect_four")
    with pytest.raises(ConfigError, match="more than 10,000 positions"):
        MinimaxAgent(game, most_positions=10_000).solve(game.position().state)
    with pytest.raises(ConfigError, match="allowed: one position"):
        MinimaxAgent(game, most_positions=0).solve(game.position().state)


def test_the_bound_is_exact() -> None:
    game = games.load("tic_tac_toe")
    needed = MinimaxAgent(game).solve(game.position().state).positions
    assert MinimaxAgent(game, most_positions=needed).solve(game.position().state).positions == needed
    with pytest.raises(ConfigError, match=f"more than {needed - 1:,} positions"):
        MinimaxAgent(game, most_positions=needed - 1).solve(game.position().state)


def test_an_ending_is_refused() -> None:
    game = games.load("tic_tac_toe")
    over = game.position()
    for action in (0, 3, 1, 4, 2):
        over.play(action)
    with pytest.raises(GameError, match="is an ending"):
        MinimaxAgent(game).solve(over.state)
