"""How often who wins is foreseen: positions to judge, drawn alike of new games and of learnt ones."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zelkova.replay.buffer import Batch
from zelkova.replay.episode import Episode

MOST_JUDGED = 512  # positions a round
EARLY = 1 / 3  # share of a game that is its early part
MOVE_COLUMNS = ("states", "to_play", "root_values")


def draw_unseen(episodes: Sequence[Episode], rng: np.random.Generator) -> Batch | None:
    """Draw positions of games that have not entered the replay, without policies; None where there is none.

    Args:
        episodes: the games.
        rng: where the draws come from.
    """
    rows = [(episode, move) for episode in episodes for move in np.flatnonzero(episode.recorded)]
    if not rows:
        return None
    chosen = [rows[at] for at in rng.permutation(len(rows))[:MOST_JUDGED]]
    return Batch(
        **{name: np.stack([getattr(game, name)[move] for game, move in chosen]) for name in MOVE_COLUMNS},
        legal=np.zeros((len(chosen), 0), np.int32),
        policy=np.zeros((len(chosen), 0), np.float32),
        returns=np.stack([game.returns for game, _ in chosen]),
        progress=np.array([move / len(game) for game, move in chosen], np.float32),
        aftermath=np.zeros((len(chosen), 0), np.float32),
    )


def say_accuracy(kind: str, right: NDArray[np.bool_], progress: NDArray[np.float32]) -> dict[str, float]:
    """Give the share of positions that were foreseen rightly, of all and of the first thirds of games.

    Args:
        kind: `seen` or `unseen`, in the figures' names.
        right: [B].
        progress: [B] share of its game that came before each.
    """
    early = progress < EARLY
    figures = {f"learn/{kind}_accuracy": float(right.mean())}
    if early.any():
        figures[f"learn/{kind}_early_accuracy"] = float(right[early].mean())
    return figures
