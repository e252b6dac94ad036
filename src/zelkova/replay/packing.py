"""A round of games as a few named arrays and back: the form in which a replay chunk is written.

Which file they go into, and how it is checked, is learning/'s; nothing is pickled.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ShapeError
from zelkova.replay.choices.rows import CHOICE_FIELDS, narrow, remove_padding
from zelkova.replay.episode import Episode
from zelkova.replay.trajectory import Trajectory

MOVE_FIELDS = ("states", "to_play", "actions", "counts", "root_values", "recorded")
BY_DECISION = ("actions", "rewards", "legal", "policy", "candidates")
BY_OBSERVATION = ("observations", "root_values", "to_play")


def pack_episodes(episodes: Sequence[Episode]) -> dict[str, NDArray[np.generic]]:
    """Lay games one behind the other.

    Args:
        episodes: one game or more, all of one width.
    Returns:
        the fields of Episode with their moves joined, `counts` and `legal` in the narrowest type that holds
        them, `returns` [E, P], `seed` int64[E] and `length` int64[E] for E games, and `ending` [E, words]
        where all of them have one.
    Raises:
        ShapeError: no game, or games of different widths.
    """
    widths = {(e.states.shape[1], e.returns.shape[0]) for e in episodes}
    if len(widths) != 1:
        raise ShapeError(f"games of widths (words, players) {sorted(widths)} can't be joined; allowed: one")
    packed: dict[str, NDArray[np.generic]] = {
        name: np.concatenate([getattr(episode, name) for episode in episodes])
        for name in (*MOVE_FIELDS, *CHOICE_FIELDS)
    }
    packed |= {name: narrow(packed[name]) for name in ("counts", "legal")}
    packed["returns"] = np.stack([episode.returns for episode in episodes])
    packed["seed"] = np.array([episode.seed for episode in episodes], np.int64)
    packed["length"] = np.array([len(episode) for episode in episodes], np.int64)
    endings = [episode.ending for episode in episodes if episode.ending is not None]
    if len(endings) == len(episodes):
        packed["ending"] = np.stack(endings)
    return packed


def unpack_episodes(packed: Mapping[str, NDArray[np.generic]]) -> list[Episode]:
    """Take apart what pack_episodes joined.

    Args:
        packed: its answer; or as older versions wrote it, without `counts`, `legal` and `policy` [T, M] with
            -1 and 0 at the padding.
    Raises:
        ShapeError: a field is missing, or the lengths do not add up.
    """
    known = {*MOVE_FIELDS, *CHOICE_FIELDS, "returns", "seed", "length"}
    if (set(packed) | {"counts"}) - {"ending"} != known:
        raise ShapeError(f"packed games have the fields {sorted(packed)}; expected {sorted(known)}")
    if "counts" not in packed:
        packed = _without_padding(packed)
    ends = np.cumsum(packed["length"].astype(np.int64))
    moves = int(ends[-1]) if ends.size else 0
    endings = packed.get("ending")
    by_game = [packed[name] for name in ("returns", "seed", "length")]
    games = {len(array) for array in (*by_game, *([] if endings is None else [endings]))}
    count = packed["counts"].astype(np.int32)
    if len(games) != 1 or any(packed[name].shape[0] != moves for name in MOVE_FIELDS):
        raise ShapeError(
            f"packed games have {moves} moves by their lengths, but arrays of"
            f" {[packed[name].shape[0] for name in MOVE_FIELDS]} moves and {sorted(games)} games"
        )
    choices = np.concatenate([[0], np.cumsum(count, dtype=np.int64)])
    if any(len(packed[name]) != choices[-1] for name in CHOICE_FIELDS):
        raise ShapeError(
            f"packed games have {choices[-1]} legal actions by their counts, but arrays of"
            f" {[len(packed[name]) for name in CHOICE_FIELDS]}"
        )
    packed = {**packed, "counts": count, "legal": packed["legal"].astype(np.int32)}
    pieces = {name: np.split(packed[name], ends[:-1]) for name in MOVE_FIELDS}
    pieces |= {name: np.split(packed[name], choices[ends[:-1]]) for name in CHOICE_FIELDS}
    return [
        Episode(
            seed=int(packed["seed"][game]),
            returns=packed["returns"][game],
            ending=None if endings is None else endings[game],
            **{name: piece[game] for name, piece in pieces.items()},
        )
        for game in range(ends.size)
    ]


def _without_padding(packed: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
    """Make ragged choices of those that older versions padded."""
    legal, policy = packed["legal"], packed["policy"]
    if legal.ndim != 2 or legal.shape != policy.shape:
        raise ShapeError(f"legal {legal.shape} and policy {policy.shape}; expected two arrays of one [T, M]")
    return {**packed, **remove_padding(legal, policy)._asdict()}


def pack_trajectories(trajectories: Sequence[Trajectory]) -> dict[str, NDArray[Any]]:
    """Lay trajectories one behind the other.

    Args:
        trajectories: one or more of one environment.
    Returns:
        the fields of Trajectory joined, and seed, length, terminated and recorded [E].
    Raises:
        ShapeError: they are unlike each other.
    """
    if len({part.candidates is None for part in trajectories}) > 1:
        raise ShapeError(f"{len(trajectories)} trajectories can't be joined: some have candidates, some not")
    try:
        packed = {
            name: np.concatenate([getattr(part, name) for part in trajectories])
            for name in (*BY_DECISION, *BY_OBSERVATION)
            if getattr(trajectories[0], name) is not None
        }
    except (ValueError, IndexError) as error:
        raise ShapeError(f"{len(trajectories)} trajectories can't be joined: {error}") from error
    packed["seed"] = np.array([part.seed for part in trajectories], np.int64)
    packed["length"] = np.array([len(part) for part in trajectories], np.int64)
    packed["recorded"] = np.array([part.num_recorded for part in trajectories], np.int64)
    packed["terminated"] = np.array([part.terminated for part in trajectories], np.bool_)
    return packed


def unpack_trajectories(packed: Mapping[str, NDArray[Any]]) -> list[Trajectory]:
    """Take apart what pack_trajectories joined.

    Args:
        packed: its answer; without `recorded`, as older versions wrote it, all is.
    Raises:
        ShapeError: a field is missing, or the lengths do not add up.
    """
    known = {*BY_DECISION, *BY_OBSERVATION, "seed", "length", "terminated", "recorded"}
    if set(packed) | {"candidates", "recorded"} != known:
        raise ShapeError(f"packed trajectories have the fields {sorted(packed)}; expected {sorted(known)}")
    length = packed["length"].astype(np.int64)
    moves, count = int(length.sum()), len(length)
    sizes = {
        name: moves + count if name in BY_OBSERVATION else moves for name in (*BY_DECISION, *BY_OBSERVATION)
    }
    sizes |= dict.fromkeys(("seed", "terminated", "recorded"), count)
    wrong = [name for name, size in sizes.items() if name in packed and len(packed[name]) != size]
    if wrong or (length < 1).any():
        raise ShapeError(f"packed trajectories of {moves} decisions by their lengths do not add up: {wrong}")
    decisions, observations = np.cumsum(length)[:-1], np.cumsum(length + 1)[:-1]
    pieces: dict[str, Any] = {
        name: np.split(array, observations if name in BY_OBSERVATION else decisions)
        for name, array in packed.items()
        if name in (*BY_DECISION, *BY_OBSERVATION)
    }
    recorded = packed.get("recorded", length)
    pieces.setdefault("candidates", [None] * count)
    return [
        Trajectory(
            seed=int(packed["seed"][index]),
            terminated=bool(packed["terminated"][index]),
            recorded=int(recorded[index]),
            **{name: part[index] for name, part in pieces.items()},
        )
        for index in range(count)
    ]
