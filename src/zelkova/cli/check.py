"""`zelkova check`: does a game keep its promises."""

from typing import Annotated

import typer

from zelkova.cli import console
from zelkova.cli.options import Overrides
from zelkova.errors import LARGEST_SEED, GameError


def check(
    game: Annotated[str, typer.Argument(help="A game's name, or the path of your own Python file.")],
    overrides: Overrides = None,
    games: Annotated[int, typer.Option(min=1, help="Random games to play interpreted, then compiled.")] = 3,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Seed of the random games.")] = 0,
) -> None:
    """Hold a game to the contract: names the function, the line and the broken promise."""
    from zelkova import games as registry
    from zelkova.config import load_config
    from zelkova.games.check import check_game

    config = load_config(game, overrides or []).game
    report = check_game(registry.load(config.name, config.options), games=games, seed=seed)
    if not report.ok:
        raise GameError(str(report))
    console.result(str(report))
