"""Endings, passes, swaps and shares of each game, on positions set up by hand."""

from typing import Any

import numpy as np
import pytest

from zelkova import games
from zelkova.games.game import Game, Position
from zelkova.games.single import CompiledRules


def is_over(position: Position) -> bool:
    return position.is_terminal


def othello_position(rows: list[str], to_play: int) -> Position:
    """Set a board up: X is player 0, O is player 1; the rules themselves find what can be played."""
    size = len(rows)
    game = games.load("othello", {"size": size})
    states = game.initial_states(np.zeros(1, np.uint64))
    record = game.view_states(states)[0]
    for player, mark in enumerate("XO"):
        cells = [cell for cell, letter in enumerate("".join(rows)) if letter == mark]
        record["discs"][player] = sum(1 << cell for cell in cells)
    # A pass by the other player makes step() work out what the mover can do.
    record["to_play"] = 1 - to_play
    record["moves"] = 0
    CompiledRules(game).step(states, size * size)
    return Position(game, states)


@pytest.mark.parametrize("to_play", [0, 1])
def test_a_full_othello_board_of_equal_discs_is_a_draw_for_both(to_play: int) -> None:
    """Case pub-rules-3: the game is over, nobody has won, and the value is 0 from both sides."""
    position = othello_position(["XXXXXX"] * 3 + ["OOOOOO"] * 3, to_play)
    assert is_over(position)
    assert position.legal_moves() == []
    assert position.returns.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("to_play", [0, 1])
def test_othello_returns_are_antisymmetric(to_play: int) -> None:
    more = othello_position(["XXXX"] * 3 + ["OOOO"], to_play)
    less = othello_position(["OOOO"] * 3 + ["XXXX"], to_play)
    assert more.returns.tolist() == [1.0, -1.0]
    assert less.returns.tolist() == [-1.0, 1.0]


def test_othello_passes_only_when_it_must() -> None:
    position = othello_position(["XXX.", "XXXX", "XXXX", "XXXX"], to_play=1)
    assert is_over(position), "nobody can place a disc"
    position = othello_position(["XO..", "....", "....", "...."], to_play=1)
    assert not is_over(position)
    assert position.legal_moves() == ["pass"]
    board = position.state
    position.play("pass")
    assert position.to_play == 0
    assert position.legal_moves() == ["c1"]
    assert np.array_equal(
        position.game.view_states(board)["discs"], position.game.view_states(position.state)["discs"]
    )
    position.play("c1")
    assert is_over(position), "player 1 has no disc left"
    assert position.returns.tolist() == [1.0, -1.0]


def test_othello_never_passes_twice_in_a_row() -> None:
    game = games.load("othello", {"size": 4})
    rng = np.random.default_rng(0)
    passes = 0
    for _ in range(100):
        position, before = game.position(), ""
        while not position.is_terminal:
            moves = position.legal_moves()
            assert moves == ["pass"] or "pass" not in moves
            move = str(rng.choice(moves))
            assert (before, move) != ("pass", "pass")
            position.play(move)
            passes += move == "pass"
            before = move
    assert passes > 20


@pytest.mark.parametrize(("size", "k"), [(4, 1), (4, 4), (6, 2), (6, 5), (8, 1), (8, 3), (8, 6)])
def test_othello_turns_with_its_board(size: int, k: int) -> None:
    """Turn a position's sets of cells; moves, planes and what follows turn with them."""
    game = games.load("othello", {"size": size})
    plane_map, action_map = game.symmetries[k]
    rng = np.random.default_rng(k)
    rules = CompiledRules(game)
    for _ in range(5):
        position = game.position()
        for _ in range(int(rng.integers(2, 9))):
            if not position.is_terminal:
                position.play(int(rng.choice(position.legal_actions())))
        twin = position.state
        record = game.view_states(twin)[0]
        for field in ("discs", "moves"):
            for index, word in enumerate(np.atleast_1d(record[field])):
                turned = sum((int(word) >> int(cell) & 1) << to for to, cell in enumerate(plane_map))
                if field == "discs":
                    record[field][index] = turned
                else:
                    record[field] = turned
        other = Position(game, twin)
        assert sorted(action_map[other.legal_actions()]) == position.legal_actions().tolist()
        if not position.is_terminal:
            action = int(other.legal_actions()[0])
            rules.step(twin, action)
            position.play(int(action_map[action]))
            turned_planes = position.observe().reshape(2, -1)[:, plane_map]
            assert np.array_equal(Position(game, twin).observe().reshape(2, -1), turned_planes)


def play(game: Game, moves: str) -> Position:
    position = game.position()
    for move in moves.split():
        position.play(move)
    return position


def test_three_players_share_the_return() -> None:
    game = games.load("connect_four_3p")
    won = play(game, "1 2 3 1 2 3 1 2 4 1")
    assert won.is_terminal
    assert won.returns.tolist() == [1.0, 0.0, 0.0]
    small = games.load("connect_four", {"players": 3, "height": 1, "width": 3, "run": 2})
    drawn = play(small, "1 2 3")
    assert drawn.is_terminal
    assert np.allclose(drawn.returns, 1 / 3)
    assert abs(float(drawn.returns.sum()) - 1) < 1e-6


def test_three_players_take_turns() -> None:
    position = games.load("connect_four_3p").position()
    seats = []
    for move in "1234567":
        seats.append(position.to_play)
        position.play(move)
    assert seats == [0, 1, 2, 0, 1, 2, 0]


@pytest.mark.parametrize(
    ("options", "moves", "returns"),
    [
        ({}, "a1 a2 b1 b2 c1 c2 d1 d2 e1", [1, -1]),
        ({}, "h1 a1 h2 b2 a3 c3 a4 d4 o9 e5", [-1, 1]),
        ({"run": 3, "height": 3, "width": 3}, "a1 b2 c3 b1 b3 a3 c1 c2 a2", [0, 0]),
    ],
)
def test_gomoku_ends_with_a_line_or_a_full_board(
    options: dict[str, Any], moves: str, returns: list[int]
) -> None:
    position = play(games.load("gomoku", options), moves)
    assert is_over(position)
    assert position.returns.tolist() == returns


def test_a_longer_line_wins_gomoku_unless_exact() -> None:
    moves = "a1 a3 b1 b3 d1 d3 c1"
    for exact in (False, True):
        position = play(games.load("gomoku", {"exact": exact, "run": 3, "width": 5, "height": 5}), moves)
        assert is_over(position) is not exact


def test_hex_joins_opposite_sides() -> None:
    down = play(games.load("hex", {"size": 3}), "b1 a1 b2 c1 a3")
    assert down.is_terminal, "b1 and b2 and a3 touch: top to bottom"
    assert down.returns.tolist() == [1, -1]
    across = play(games.load("hex", {"size": 3}), "a1 a2 b1 b2 a3 c2")
    assert across.is_terminal
    assert across.returns.tolist() == [-1, 1]
    apart = play(games.load("hex", {"size": 3}), "b1 a1 b2 c1 c3")
    assert not apart.is_terminal, "b2 and c3 do not touch"


@pytest.mark.parametrize("size", [2, 3, 7, 11])
def test_hex_never_draws_and_has_one_winner_on_a_full_board(size: int) -> None:
    game = games.load("hex", {"size": size})
    rng = np.random.default_rng(size)
    for _ in range(30):
        position = game.position()
        while not position.is_terminal:
            position.play(int(rng.choice(position.legal_actions())))
        assert sorted(position.returns.tolist()) == [-1, 1]
        board = position.record["board"]
        winner = int(np.argmax(position.returns))
        assert joined(board, 1) == (winner == 0)
        assert joined(board, 2) == (winner == 1)


def joined(board: Any, mark: int) -> bool:
    """Flood from the first side, written apart from the rules."""
    grid = board if mark == 1 else board.T
    size = len(grid)
    reached = {(0, column) for column in range(size) if grid[0, column] == mark}
    edge = list(reached)
    while edge:
        row, column = edge.pop()
        for down, across in ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0)):
            cell = (row + down, column + across)
            if cell not in reached and min(cell) >= 0 and max(cell) < size and grid[cell] == mark:
                reached.add(cell)
                edge.append(cell)
    return any(row == size - 1 for row, _ in reached)


def test_hex_swap_mirrors_the_first_stone_and_comes_once() -> None:
    game = games.load("hex", {"size": 4, "swap": True})
    position = game.position()
    assert "swap" not in position.legal_moves()
    position.play("c1")
    assert position.legal_moves()[-1] == "swap"
    position.play("swap")
    assert position.record["board"].sum() == 2
    assert position.record["board"][2, 0] == 2, "c1 came back as a3, player 1's"
    assert position.to_play == 0
    assert "swap" not in position.legal_moves()
    assert "c1" in position.legal_moves()
    for move in ["d1", "b2", "d2", "c2", "d3"]:
        position.play(move)
    assert not is_over(position)
    assert play(game, "c1 swap d1 b3 d2 c3 a1 d3").returns.tolist() == [-1, 1], "a3 belongs to player 1's row"
    declined = play(game, "c1 a1")
    assert "swap" not in declined.legal_moves()
    without = games.load("hex", {"size": 4})
    assert without.num_actions == 16
    assert "swap" not in play(without, "c1").legal_moves()


def test_breakthrough_is_won_by_arriving_or_by_capturing_everything() -> None:
    game = games.load("breakthrough", {"height": 5, "width": 2})
    position = play(game, "a2-a3 b4xa3 b2xa3 a4-b3 a3-b4 b3-a2")
    assert not is_over(position)
    position.play("b4xa5")
    assert is_over(position)
    assert position.returns.tolist() == [1, -1]
    states = game.initial_states(np.zeros(1, np.uint64))
    record = game.view_states(states)[0]
    record["board"][:] = 0
    record["board"][2, 0], record["board"][3, 1] = 2, 1
    record["pieces"][:] = 1
    last = Position(game, states).play("b2xa3")
    assert last.is_terminal
    assert last.returns.tolist() == [1, -1]


def test_breakthrough_captures_diagonally_only() -> None:
    position = play(games.load("breakthrough", {"height": 5, "width": 3}), "b2-b3")
    assert position.legal_moves() == ["a4-a3", "a4xb3", "b4-a3", "b4-c3", "c4xb3", "c4-c3"]
