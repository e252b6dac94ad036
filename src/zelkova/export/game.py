"""Exports a game: one WebAssembly module with its rules and search, and the loader for JavaScript."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

from zelkova.export.entries import playout_entries, rules_entries
from zelkova.export.search import SearchMemory, search_entries
from zelkova.export.wasm import export_wasm
from zelkova.games.game import Game
from zelkova.search.config import SearchConfig

LOADER = Path(__file__).with_name("loader.mjs")


def export_game(game: Game, path: Path, search: SearchConfig | None = None, num_leaves: int = 1) -> None:
    """Write `path` (a .wasm file) and loader.mjs beside it.

    Args:
        game: what to export.
        path: the module's file; its folder exists.
        search: how to search; None leaves the search out.
        num_leaves: positions that a search gathers at a time.
    Raises:
        GameError: a rule allocates, raises or needs what WebAssembly doesn't have.
        MissingExtraError: no linker for WebAssembly is installed.
    """
    entries, about = rules_entries(game) + playout_entries(game), describe(game)
    if search is not None:
        memory = SearchMemory(game, search, num_leaves)
        entries += search_entries(game, memory)
        about["search"] = {**dataclasses.asdict(search), **memory.describe()}
    export_wasm(entries, path, about)
    shutil.copyfile(LOADER, path.with_name(LOADER.name))


def describe(game: Game) -> dict[str, Any]:
    """Say what a loader must know of a game, as plain values for JSON."""
    return {
        "game": game.name,
        "options": dataclasses.asdict(game.options) if game.options is not None else {},
        "words": game.words,
        "template": [str(word) for word in game.template],  # 64 bits don't fit JSON's numbers
        "to_play": int(game.state_dtype.fields["to_play"][1]),  # type: ignore[index]  # byte of a state, int8
        "num_players": game.num_players,
        "num_actions": game.num_actions,
        "max_legal_actions": game.max_legal_actions,
        "num_outcomes": game.num_outcomes,  # 0: no chance
        "observation_shape": list(game.observation_shape),
        "return_range": list(game.return_range),
        "view": game.view,
    }
