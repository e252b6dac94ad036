"""The trained networks that come with the package: a weight file for a game, `packaged/GAME.safetensors`.

`packaged:GAME` names one wherever a run's folder or a checkpoint is allowed. Each plays its game with the
game's own options, and says in its description where it came from; experiments/package_network.py makes one.
"""

from pathlib import Path

from zelkova.errors import ConfigError, hint

PREFIX = "packaged:"
FOLDER = Path(__file__).parents[1] / "packaged"
SUFFIX = ".safetensors"
MOST_BYTES = 5_000_000  # of a file
ORIGIN = "origin"  # the entry of its description that says where it came from


def packaged_games() -> list[str]:
    """List the games that a network comes with the package for; none where it runs from an archive."""
    return sorted(path.name.removesuffix(SUFFIX) for path in FOLDER.glob("*" + SUFFIX))


def is_packaged(text: str | Path) -> bool:
    """Say whether a text names a packaged network, which need not be there."""
    return str(text).startswith(PREFIX)


def find_packaged(text: str | Path) -> Path:
    """Give the file of a network that comes with the package.

    Args:
        text: `packaged:GAME`.
    Raises:
        ConfigError: none comes with the package for this game.
    """
    game, known = str(text).removeprefix(PREFIX), packaged_games()
    if game not in known:
        allowed = hint(game, known) if known else "there is none for any game"
        raise ConfigError(f"no network for `{game}` comes with the package; {allowed}; or name a run")
    return FOLDER / (game + SUFFIX)


def is_agent(text: str) -> bool:
    """Say whether a text names a run's folder or a checkpoint that is there, or a packaged network."""
    return is_packaged(text) or Path(text).exists()
