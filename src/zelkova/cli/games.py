"""`zelkova games`: what there is to play."""

import dataclasses

from zelkova.cli import console
from zelkova.cli.options import Json


def games(json: Json = None) -> None:
    """List the games that come with the package, with their players, actions, planes and options."""
    from zelkova import games as registry
    from zelkova.cli.figures import Figures

    with Figures(json) as figures:
        names = registry.names()
        wide = max(len(name) for name in names)
        console.result(f"{'game':{wide}}  players  actions  planes   options (--set game.NAME=VALUE)")
        for name in names:
            game = registry.load(name)
            planes = "x".join(str(size) for size in game.observation_shape)
            options = dataclasses.asdict(game.options) if game.options is not None else {}
            shown = " ".join(f"{key}={value}" for key, value in options.items())
            row = f"{name:{wide}}  {game.num_players:7}  {game.num_actions:7}  {planes:7}  {shown}"
            console.result(row.rstrip())
            figures.add("games/actions", game.num_actions, game=name, players=game.num_players)
    console.note("next: zelkova play GAME, or zelkova train GAME")
