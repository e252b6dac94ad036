"""What auxiliary heads learn from a game: how it went on after each of its positions, asked of the rules.

Nothing but the last position of a game is kept for it on disk; all else follows from the episode.
"""

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ConfigError, ShapeError
from zelkova.games import Game
from zelkova.games.playout import ask_players
from zelkova.networks.config import HeadsConfig
from zelkova.replay.buffer import Foresee
from zelkova.replay.episode import Episode
from zelkova.replay.targets import split_aftermath

FUNCTIONS = {"next_eliminated": "eliminated", "final_material": "material"}
"""Functions that heads can't do without; `rank` takes the order of the returns where there is no `places`."""


def make_foresee(game: Game, heads: HeadsConfig) -> Foresee | None:
    """Give what finds the targets of a game's auxiliary heads; None where every weight is 0.

    Raises:
        ConfigError: a head needs a function that the game lacks, or several players.
    """
    for name in heads.weights:
        needed = FUNCTIONS.get(name)
        if needed is not None and needed not in game.functions:
            raise ConfigError(
                f"heads.{name} is {heads.weights[name]} and {game.name} lacks the function"
                f" {needed}(state, out) in its rules; next: write it (docs/games/README.md), or set"
                f" heads.{name} = 0"
            )
        if name == "rank" and game.num_players == 1:
            raise ConfigError(
                f"heads.rank is {heads.rank} and {game.name} has one player, who is always first; next: set"
                " heads.rank = 0"
            )
    if not heads.weights:
        return None
    return lambda episode: foresee(game, heads, episode)


def foresee(game: Game, heads: HeadsConfig, episode: Episode) -> NDArray[np.float32]:
    """Find how a game went on after each of its positions.

    Args:
        game: whose rules hold.
        heads: what is asked for; columns of other heads are 0.
        episode: a game.
    Returns:
        [T, 2P + 2], absolute seats, see `replay.targets.Aftermath`.
    Raises:
        ShapeError: the episode's last position was not kept.
    """
    if episode.ending is None:
        raise ShapeError(
            f"game {episode.seed} is of an older version that did not keep how games ended, which auxiliary"
            " heads learn; next: begin a new run, or set the weights of [heads] to 0"
        )
    moves, players = len(episode), game.num_players
    columns = np.zeros((moves, 2 * players + 2), np.float32)
    went = split_aftermath(columns)
    ending = episode.ending[None]
    went.plies_left[:] = np.arange(moves, 0, -1)
    if heads.rank > 0.0:
        went.places[:] = _places(game, ending, episode.returns)
    if heads.final_material > 0.0:
        owned = _ask(game, "material", ending)[0]
        total = float(owned.sum())
        went.material[:] = owned / total if total > 0.0 else 1.0 / players
    if heads.next_eliminated > 0.0:
        out = _ask(game, "eliminated", np.concatenate([episode.states, ending])) > 0.0
        went.next_eliminated[:] = _next_eliminated(out)
    return columns


def _ask(game: Game, name: str, states: NDArray[np.uint64]) -> NDArray[np.float32]:
    """Ask a rule that writes a number a player, [n, P], of states [n, words]."""
    out = np.zeros((len(states), game.num_players), np.float32)
    ask_players(getattr(game.native, name), np.ascontiguousarray(states), out)
    return out


def _places(game: Game, ending: NDArray[np.uint64], returns: NDArray[np.float32]) -> NDArray[np.float32]:
    """Give each seat's place [P], of the rules where they say it, else by the returns."""
    if "places" in game.functions:
        return _ask(game, "places", ending)
    places: NDArray[np.float32] = 1.0 + (returns[None, :] > returns[:, None]).sum(axis=1, dtype=np.float32)
    return places


def _next_eliminated(out: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Give the seat that falls next after each position but the last; P where none does.

    Args:
        out: bool[T + 1, P] who is out; of several who fall with one move, the first seat counts.
    """
    moves, players = len(out) - 1, out.shape[1]
    answer = np.full(moves, players, np.float32)
    after = players
    for move in range(moves - 1, -1, -1):
        falls = np.flatnonzero(out[move + 1] & ~out[move])
        after = int(falls[0]) if len(falls) else after
        answer[move] = after
    return answer
