"""2048's merges, scores and endings as the rules have them; positions counted by a second, plain form."""

import numpy as np
import pytest
from tests.games.test_perft import count

from zelkova import games
from zelkova.games.game import Position

Board = tuple[tuple[int, ...], ...]


def exponents(tiles: list[list[int]]) -> list[list[int]]:
    return [[tile.bit_length() - 1 if tile else 0 for tile in row] for row in tiles]


def position_of(tiles: list[list[int]]) -> Position:
    game = games.load("2048", {"size": len(tiles)})
    state = game.new_states(1)
    record = game.view_states(state)[0]
    record["board"], record["to_play"] = exponents(tiles), 0
    return Position(game, state)


def tiles_of(position: Position) -> list[list[int]]:
    return [[1 << int(cell) if cell else 0 for cell in row] for row in position.record["board"]]


@pytest.mark.parametrize(
    ("before", "after", "points"),
    [
        ([2, 2, 2, 2], [4, 4, 0, 0], 8),
        ([4, 2, 2, 0], [4, 4, 0, 0], 4),
        ([2, 2, 4, 0], [4, 4, 0, 0], 4),
        ([2, 2, 2, 0], [4, 2, 0, 0], 4),
        ([2, 0, 0, 2], [4, 0, 0, 0], 4),
        ([0, 4, 0, 2], [4, 2, 0, 0], 0),
        ([4, 4, 8, 8], [8, 16, 0, 0], 24),
        ([2, 4, 2, 2], [2, 4, 4, 0], 4),
        ([1024, 1024, 2, 0], [2048, 2, 0, 0], 2048),
    ],
)
def test_tiles_merge_once_and_towards_the_side(before: list[int], after: list[int], points: int) -> None:
    empty = [[0] * 4] * 3
    columns = np.array([before, *empty])
    for turns, side in enumerate(("left", "down", "right", "up")):
        position = position_of(np.rot90(columns, turns).tolist()).play(side)
        expected = np.rot90(np.array([after, *empty]), turns)
        assert tiles_of(position) == expected.tolist(), side
        assert position.record["score"] == points
        assert position.is_chance


def test_only_sides_that_move_something_are_legal() -> None:
    assert position_of([[2, 4, 0, 0], [0] * 4, [0] * 4, [0] * 4]).legal_moves() == ["right", "down"]
    assert position_of([[2, 4], [2, 8]]).legal_moves() == ["up", "down"]


def test_the_game_is_over_when_nothing_moves() -> None:
    position = position_of([[2, 4], [8, 0]])
    assert not position.is_terminal
    assert position_of([[2, 4], [8, 2]]).is_terminal
    assert not position_of([[2, 4], [2, 8]]).is_terminal
    over = position_of([[2, 4], [8, 16]])
    over.record["score"] = 500
    assert over.returns == pytest.approx([500 / 20000])
    over.record["score"] = 30000
    assert over.returns == [1.0]


def test_new_tiles_come_to_empty_cells_nine_times_in_ten_as_a_two() -> None:
    position = position_of([[2, 2], [4, 0]]).play("left")
    numbers, probs = position.outcomes()
    assert [position.action_to_text(int(number)) for number in numbers] == ["b2=2", "b2=4", "b1=2", "b1=4"]
    assert probs == pytest.approx([0.45, 0.05, 0.45, 0.05])


def next_boards(board: Board, is_chance: bool) -> list[tuple[Board, bool]]:
    """Give what can follow on any board, outcome by outcome; written apart from the rules."""
    size = len(board)
    if is_chance:
        found = []
        for row in range(size):
            for column in range(size):
                for tile in (2, 4) if not board[row][column] else ():
                    lists = [list(line) for line in board]
                    lists[row][column] = tile
                    tiles = sum(cell > 0 for line in lists for cell in line)
                    found.append((tuple(map(tuple, lists)), tiles < 2))
        return found
    return [(after, True) for turns in range(4) if (after := slide(board, turns)) != board]


def slide(board: Board, turns: int) -> Board:
    lines = []
    for line in np.rot90(np.array(board), turns).tolist():
        tiles = [cell for cell in line if cell]
        merged: list[int] = []
        while tiles:
            tile = tiles.pop(0)
            if tiles and tiles[0] == tile:
                tile += tiles.pop(0)
            merged.append(tile)
        lines.append(merged + [0] * (len(line) - len(merged)))
    return tuple(tuple(int(cell) for cell in row) for row in np.rot90(np.array(lines), -turns))


def count_plainly(board: Board, is_chance: bool, depth: int) -> int:
    if depth == 0:
        return 1
    return sum(count_plainly(*after, depth - 1) for after in next_boards(board, is_chance))


@pytest.mark.parametrize(("size", "depth"), [(2, 6), (3, 4)])
def test_positions_are_counted_as_a_plain_form_counts_them(size: int, depth: int) -> None:
    board = tuple((0,) * size for _ in range(size))
    expected = [count_plainly(board, True, plies) for plies in range(1, depth + 1)]
    game = games.load("2048", {"size": size})
    assert [count(game, plies) for plies in range(1, depth + 1)] == expected


@pytest.mark.parametrize("number", range(8))
def test_a_turned_position_moves_alike(number: int) -> None:
    game = games.load("2048")
    rng = np.random.default_rng(number)
    plane_map, action_map = game.symmetries[number]
    position = game.position().roll(rng)
    for _ in range(60):
        position.play(int(rng.choice(position.legal_actions()))).roll(rng)
    turned = position.state
    game.view_states(turned)[0]["board"] = position.record["board"].ravel()[plane_map].reshape(4, 4)
    twin = Position(game, turned)
    assert sorted(action_map[twin.legal_actions()].tolist()) == position.legal_actions().tolist()
    for action in twin.legal_actions():
        after, before = twin.copy().play(int(action)), position.copy().play(int(action_map[action]))
        assert np.array_equal(after.record["board"].ravel(), before.record["board"].ravel()[plane_map])
