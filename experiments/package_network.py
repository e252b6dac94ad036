"""Puts a run's network into the package as data: `zelkova play GAME` then uses it.

    python experiments/package_network.py RUN --about "60 % against two of scaffold:100, with 100 visits"

What plays is kept, and in words the game, the network, the search and where it came from; the optimiser and
the games in play are left out.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from zelkova import __version__, games
from zelkova.agents.load import find_checkpoint
from zelkova.agents.packaged import FOLDER, MOST_BYTES, ORIGIN, SUFFIX
from zelkova.errors import ConfigError, ZelkovaError
from zelkova.learning.checkpoint import Checkpoint, load_checkpoint
from zelkova.networks.weights import save_weights
from zelkova.settings import parse_toml


def tell_origin(checkpoint: Checkpoint, preset: str, about: str) -> str:
    """Say where a network comes from."""
    played, seconds = checkpoint.extra["games"], checkpoint.extra["seconds"]
    origin = (
        f"trained with zelkova {__version__} by {preset}: {checkpoint.number} rounds, {played} games,"
        f" {checkpoint.learner.steps} steps, {seconds / 3600:.1f} hours"
    )
    return f"{origin}; {about}" if about else origin


def read_options(words: dict[str, str]) -> Any:
    """Give the game's options as the checkpoint has them."""
    return games.load(words["game"], json.loads(words["game_options"])).options


def package(run: str, about: str, folder: Path) -> Path:
    """Write the network of a run's newest checkpoint.

    Args:
        run: its folder, or a checkpoint.
        about: what is added to its origin, such as its strength.
        folder: gets GAME.safetensors.
    Raises:
        ConfigError: the game is none of the package's own, or has other options; or the file is too large.
        CheckpointError: the run can't be read.
    """
    checkpoint = load_checkpoint(find_checkpoint(run)[0])
    words = dict(checkpoint.description)
    name = words.get("game", "no game")
    if name not in games.names() or read_options(words) != games.load(name).options:
        raise ConfigError(
            f"{run} plays {name} {words.get('game_options')}; allowed: a game of ours as it stands"
        )
    preset = parse_toml(words.pop("config"), f"the settings of {run}")["preset"]
    words[ORIGIN] = tell_origin(checkpoint, preset, about)
    acting = words["acting"]
    tensors = {key: value for key, value in checkpoint.learner.tensors.items() if key.startswith(acting)}
    size = sum(tensor.nbytes for tensor in tensors.values()) + len(str(words)) + 200 * len(tensors)
    if size > MOST_BYTES:
        raise ConfigError(f"the network of {run} has {size:,} bytes; allowed: {MOST_BYTES:,}")
    folder.mkdir(exist_ok=True)
    file = folder / (name + SUFFIX)
    save_weights(file, tensors, words)
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", help="a run's folder, or a checkpoint")
    parser.add_argument("--about", default="", help="added to its origin, such as its strength")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where GAME.safetensors goes")
    given = parser.parse_args()
    try:
        file = package(given.run, given.about, given.folder)
    except ZelkovaError as error:
        sys.exit(f"error: {error}")
    print(f"{file}: {file.stat().st_size:,} bytes; {find_checkpoint(file)[2][ORIGIN]}")


if __name__ == "__main__":
    main()
