"""Checks a player against every reply: does it ever lose? For games small enough to walk through."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ConfigError
from zelkova.evaluation.players import Player
from zelkova.games.game import Game
from zelkova.games.single import Single

_MOST = 1_000_000


@dataclasses.dataclass(frozen=True)
class Walk:
    """Every game that a player can meet in one seat."""

    seat: int  # the player's
    asked: int  # different positions in which the player was asked
    wins: int  # different endings with the best return
    draws: int  # different endings between best and worst
    losses: int  # different endings with the worst return
    losing_line: tuple[int, ...]  # actions of one lost game; empty where none is lost


def walk_replies(game: Game, player: Player, seat: int, seed: int = 0) -> Walk:
    """Play a player's choices against every legal reply, each position once; all positions of a ply at once.

    Args:
        game: small enough, and without chance.
        player: asked with the same seed for every position.
        seat: where it sits; all other seats try everything.
        seed: of the player's own chance.
    Raises:
        ConfigError: the game has more than a million positions at one ply.
    """
    rules = Single(game)
    frontier: dict[bytes, tuple[int, ...]] = {game.position(seed).state.tobytes(): ()}
    low, high = game.return_range
    counts = {"asked": 0, "wins": 0, "draws": 0, "losses": 0}
    losing_line: tuple[int, ...] = ()
    while frontier:
        if len(frontier) > _MOST:
            raise ConfigError(
                f"{game.name} has too many positions to walk through; next: play a match instead"
            )
        states = np.frombuffer(b"".join(frontier), np.uint64).reshape(-1, game.words).copy()
        lines = list(frontier.values())
        going = np.array([not rules.is_terminal(states[row : row + 1]) for row in range(len(states))])
        for row in np.flatnonzero(~going):
            result = float(rules.returns(states[row : row + 1])[seat])
            counts["wins" if result >= high else "losses" if result <= low else "draws"] += 1
            if result <= low:
                losing_line = losing_line or lines[row]
        mine = going & (game.view_states(states)["to_play"] == seat)
        chosen = np.full(len(states), -1, np.int32)
        if mine.any():
            chosen[mine] = player.choose(states[mine], np.full(int(mine.sum()), seed, np.uint64))
        counts["asked"] += int(mine.sum())
        frontier = _next_ply(
            rules, states[going], chosen[going], [lines[row] for row in np.flatnonzero(going)]
        )
    return Walk(seat=seat, losing_line=losing_line, **counts)


def _next_ply(
    rules: Single, states: NDArray[np.uint64], chosen: NDArray[np.int32], lines: list[tuple[int, ...]]
) -> dict[bytes, tuple[int, ...]]:
    """Give the different positions one ply on, each with a line that leads there; chosen -1: a reply."""
    after: dict[bytes, tuple[int, ...]] = {}
    for row, line in enumerate(lines):
        state = states[row : row + 1]
        actions = rules.legal_actions(state) if chosen[row] < 0 else chosen[row : row + 1]
        for action in actions:
            below = state.copy()
            rules.step(below, int(action))
            after.setdefault(below.tobytes(), (*line, int(action)))
    return after
