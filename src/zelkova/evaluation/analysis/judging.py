"""Lets an agent's network say the chances that records do not: the network alone, without a search."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from zelkova.agents.position_model import PositionModel
from zelkova.games.played import PlayedGame, lay_on_chances


def count_unknown(games: Sequence[PlayedGame]) -> tuple[int, int]:
    """Count the positions where a player chose a move: those without chances, and all."""
    unknown, total = 0, 0
    for played in games:
        chances = played.chances[played.chosen_steps()]
        unknown += int(np.count_nonzero(~np.isfinite(chances).all(axis=1)))
        total += len(chances)
    return unknown, total


def fill_chances(
    model: PositionModel, games: Sequence[PlayedGame], show: Callable[[int], None]
) -> list[PlayedGame]:
    """Ask a network for the chances before each chosen move where they are not known.

    Args:
        model: the network over the rules that the games were played by; asks as many positions at a time as
            it has trees.
        games: left as they are.
        show: is told how many positions were asked about.
    """
    wanted = [
        (number, step)
        for number, played in enumerate(games)
        for step in played.chosen_steps().tolist()
        if not np.isfinite(played.chances[step]).all()
    ]
    chances = [played.chances.copy() for played in games]
    size = model.num_trees
    for begin in range(0, len(wanted), size):
        part = wanted[begin : begin + size]
        rows = np.stack([games[number].states[step] for number, step in part])
        model.place(np.concatenate([rows, np.repeat(rows[:1], size - len(part), axis=0)]))
        values = lay_on_chances(model.game, model.root().value)
        for (number, step), value in zip(part, values, strict=False):
            chances[number][step] = value
        show(begin + len(part))
    return [dataclasses.replace(played, chances=known) for played, known in zip(games, chances, strict=True)]
