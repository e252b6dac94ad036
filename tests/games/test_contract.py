"""Every registered game keeps the contract, with its defaults and with other options."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zelkova import games
from zelkova.errors import ConfigError, GameError, ShapeError
from zelkova.games import registry
from zelkova.games.check import check_game
from zelkova.games.hashing import position_keys
from zelkova.games.playout import playouts

OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("connect_four", {"height": 5, "width": 4, "run": 3}),
    ("othello", {"size": 4}),
    ("gomoku", {"height": 6, "width": 9, "run": 4, "exact": True}),
    ("hex", {"size": 5, "swap": True}),
    ("hex", {"size": 2, "swap": True}),
    ("breakthrough", {"height": 5, "width": 2}),
    ("breakthrough", {"height": 6, "width": 7}),
    ("2048", {"size": 2}),
    ("shogi3", {"capture": "share"}),
    ("shogi3", {"capture": "vanish", "max_plies": 30}),
    ("2048", {"size": 3, "full_score": 500}),
]


@pytest.mark.parametrize("name", games.names())
def test_every_registered_game_keeps_the_contract(name: str) -> None:
    report = check_game(games.load(name), games=2)
    assert report.ok, str(report)
    assert not report.notes, str(report)
    assert report.positions > 20


@pytest.mark.parametrize(("name", "options"), OTHERS)
def test_other_options_keep_the_contract(name: str, options: dict[str, Any]) -> None:
    report = check_game(games.load(name, options), games=2, seed=5)
    assert report.ok, str(report)


@pytest.mark.parametrize("name", games.names())
def test_rows_of_a_batch_are_independent(name: str) -> None:
    game = games.load(name)
    moving, scratch = game.native.moving, game.new_scratch()
    together = game.initial_states(np.arange(8, dtype=np.uint64))
    ends = []
    for row in range(8):
        alone = together[row : row + 1].copy()
        counter = np.array([row], np.uint64)
        playouts(*moving, alone, counter, *scratch)
        ends.append(alone[0])
    for row in reversed(range(8)):
        view, counter = together[row : row + 1], np.array([row], np.uint64)
        playouts(*moving, view, counter, *scratch)
    assert np.array_equal(together, np.array(ends))


@pytest.mark.parametrize("name", games.names())
def test_equal_positions_have_equal_keys(name: str) -> None:
    """Two orders of the same moves give one key where the rules answer alike."""
    game = games.load(name)
    rng = np.random.default_rng(3)
    known: dict[tuple[int, bytes], int] = {}
    keys = np.zeros(1, np.uint64)
    met = 0
    for _ in range(60):
        position = game.position()
        for _ in range(4):
            if position.is_terminal:
                break
            legal = position.outcomes()[0] if position.is_chance else position.legal_actions()
            position.play(int(rng.choice(legal[: max(2, len(legal) // 40)])))
            position_keys(game, position.state, np.zeros(1, np.int64), keys)
            seen = (position.to_play, position.observe().tobytes())
            met += seen in known
            assert known.setdefault(seen, int(keys[0])) == keys[0]
    assert met > 10
    assert len(set(known.values())) == len(known)


def test_an_unknown_game_names_the_nearest() -> None:
    with pytest.raises(GameError, match="did you mean `connect_four`"):
        games.load("conect_four")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("othello", {"sise": 6}, "did you mean `size`"),
        ("othello", {"size": "6"}, "allowed: int"),
        ("othello", {"size": 7}, "allowed: 4, 6 or 8"),
        ("hex", {"swap": 1}, "allowed: bool"),
        ("hex", {"size": 1}, "allowed: 2 to 26"),
        ("gomoku", {"run": 2}, "allowed: 3 to 25"),
        ("breakthrough", {"height": 4}, "allowed: 5 to 16"),
        ("tic_tac_toe", {"size": 3}, "has no options"),
        ("2048", {"size": 7}, "allowed: 2 to 6"),
    ],
)
def test_options_are_refused_with_what_is_allowed(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        games.load(name, options)


def test_states_of_another_width_are_refused() -> None:
    with pytest.raises(ShapeError, match="words"):
        games.load("othello").view_states(np.zeros((2, 3), np.uint64))


@pytest.mark.parametrize("name", games.names())
def test_every_game_has_a_page_with_its_planes(name: str) -> None:
    folder = registry.BUILT_IN[name][0]
    text = (Path(__file__).parents[2] / "docs" / "games" / f"{folder}.md").read_text()
    rows = re.findall(r"^\| (\d+)(?: to (\d+))? \| ", text, flags=re.MULTILINE)
    shown = [plane for first, last in rows for plane in range(int(first), int(last or first) + 1)]
    planes = games.load(name).observation_shape[0]
    assert shown[:planes] == list(range(planes))
    options = games.load(name).options
    assert all(f"`{option}" in text for option in (vars(options) if options else ()))
    assert f"`{name}`" in text or name == folder
