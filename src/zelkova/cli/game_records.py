"""The games that `zelkova analyze` looks at: found, read, and given the chances that they lack."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zelkova.cli import console
from zelkova.cli.play import game_of_run, spell_game
from zelkova.errors import CheckpointError, ConfigError, ShapeError

if TYPE_CHECKING:
    from zelkova.games.game import Game
    from zelkova.games.played import PlayedGame

BATCH = 256  # positions that a network is asked about in one call


def run_around(file: Path) -> Path | None:
    """Give the folder of the run that a file of games lies in; None where it lies in none."""
    folder = file.absolute().parent.parent
    return folder if (folder / "config.toml").is_file() else None


def find_games(paths: Sequence[Path]) -> list[Path]:
    """List the files of games that are meant.

    Args:
        paths: files, folders, runs; a learned model's run has its games as text alone.
    Raises:
        ZelkovaError: a path has none.
    """
    from zelkova.records.files import find_files

    return find_files([path / "games" if _is_learned(path) else path for path in paths])


def _is_learned(run: Path) -> bool:
    """Say whether a folder is a run that was told no rules."""
    from zelkova.settings import read_toml

    return (run / "config.toml").is_file() and read_toml(run / "config.toml").get("model") == "learned"


def read_played(game: "Game", files: Sequence[Path], most: int) -> "list[PlayedGame]":
    """Read games, the last ones of the last files where there are more than `most`.

    Args:
        game: that all of them are of.
        files: of games.
        most: how many at most.
    Raises:
        ZelkovaError: a file can't be read, or is of another game; names it, and the ply where there is one.
    """
    from zelkova.records.files import CHUNK, read_games

    kinds: dict[Path, bool] = {}  # runs, and whether they were told no rules
    parts: list[list[PlayedGame]] = []
    left, is_cut = most, False
    for file in reversed(files):
        if left <= 0:
            is_cut = True
            break
        run = run_around(file)
        if run is not None and run not in kinds:
            _refuse_other(file, game_of_run(run, None), game)
            kinds[run] = _is_learned(run)
        if file.suffix == CHUNK:
            part = _read_chunk(game, file, run)
        else:
            part = read_games(game, file, is_numbered=run is not None and kinds[run])
        is_cut = len(part) > left
        parts.append(part[-left:])
        left -= len(parts[-1])
    if is_cut:
        console.note(f"the last {most} games are looked at; --games N takes more")
    return [played for part in reversed(parts) for played in part]


def _refuse_other(file: Path, own: "Game", game: "Game") -> None:
    """Refuse the games of a run of another game.

    Raises:
        ConfigError: names both.
    """
    if (own.name, own.options) != (game.name, game.options):
        raise ConfigError(f"{file} is of {spell_game(own)}; allowed: {spell_game(game)}, as the others are")


def _read_chunk(game: "Game", file: Path, run: Path | None) -> "list[PlayedGame]":
    """Read a file of a run's replay."""
    import numpy as np

    from zelkova.learning.chunks import Packing, read_chunk
    from zelkova.records.arrays import play_arrays
    from zelkova.replay.packing import pack_episodes, unpack_episodes

    if run is None:
        raise CheckpointError(
            f"{file} lies in no run, whose config.toml would name its game; next: name the run"
        )
    try:
        episodes: list[Any] = read_chunk(file, Packing(pack_episodes, unpack_episodes))[0]
    except ShapeError as error:
        raise CheckpointError(f"{file} holds no games of known rules: {error}; next: another file") from error
    found = []
    for episode in episodes:
        searched = episode.counts > 0  # no search stands behind the others
        values = np.where(searched[:, None], episode.root_values, np.float32("nan"))
        arrays = (episode.states, episode.actions, episode.returns)
        origin = f"{file}, game {episode.seed}"
        found.append(dataclasses.replace(play_arrays(game, origin, *arrays, values), chosen=searched))
    return found


def fill_chances(
    agent: str, game: "Game", games: "list[PlayedGame]", device: str
) -> "tuple[list[PlayedGame], str]":
    """Let an agent's network say the chances that the records do not.

    Args:
        agent: a run, a checkpoint, or a player without a network, which is not asked.
        game: that the games are of.
        games: as read.
        device: where the network runs.
    Returns:
        the games, and who says the chances, in words.
    Raises:
        ConfigError: there is no such agent, or it plays another game.
    """
    from zelkova.agents.packaged import is_agent
    from zelkova.evaluation.analysis import judging
    from zelkova.evaluation.players import is_reference, make_player

    unknown, total = judging.count_unknown(games)
    if is_reference(agent) or not is_agent(agent):
        make_player(agent, game)  # refuses what is none
        return games, "the records' own" if unknown < total else "the records tell none"
    if game.num_players == 1:
        return games, "none, with one player"
    if not unknown:
        return games, "the records' own"
    from zelkova.agents.learned.load import is_learned
    from zelkova.agents.load import load_agent

    if is_learned(agent):
        return games, "the records' own; a learned model is not asked"
    loaded = load_agent(agent, num_simulations=1, batch=BATCH, device=device)
    if (loaded.game.name, loaded.game.options) != (game.name, game.options):
        raise ConfigError(f"{agent} plays {spell_game(loaded.game)}; the records are of {spell_game(game)}")
    with console.Progress("judging") as progress:
        filled = judging.fill_chances(
            loaded.model, games, lambda done: progress.update(done / unknown, {"positions": done})
        )
    own = "" if unknown == total else f"the records' own at {total - unknown} of {total} positions, else "
    return filled, f"{own}the network of {agent} alone, without search"
