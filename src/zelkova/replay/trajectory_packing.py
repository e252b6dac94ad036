"""Trajectories as a few named arrays and back: the form in which a replay chunk is written."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ShapeError
from zelkova.replay.trajectory import Trajectory

BY_DECISION = ("actions", "rewards", "legal", "policy", "candidates")
BY_OBSERVATION = ("observations", "root_values", "to_play")


def pack_trajectories(trajectories: Sequence[Trajectory]) -> dict[str, NDArray[Any]]:
    """Lay trajectories one behind the other.

    Args:
        trajectories: one or more of one environment.
    Returns:
        the fields of Trajectory joined, and seed, length and terminated [E].
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
    packed["terminated"] = np.array([part.terminated for part in trajectories], np.bool_)
    return packed


def unpack_trajectories(packed: Mapping[str, NDArray[Any]]) -> list[Trajectory]:
    """Take apart what pack_trajectories joined.

    Args:
        packed: its answer.
    Raises:
        ShapeError: a field is missing, or the lengths do not add up.
    """
    known = {*BY_DECISION, *BY_OBSERVATION, "seed", "length", "terminated"}
    if set(packed) | {"candidates"} != known:
        raise ShapeError(f"packed trajectories have the fields {sorted(packed)}; expected {sorted(known)}")
    length = packed["length"].astype(np.int64)
    moves, count = int(length.sum()), len(length)
    sizes = {
        name: moves + count if name in BY_OBSERVATION else moves for name in (*BY_DECISION, *BY_OBSERVATION)
    }
    wrong = [name for name, size in sizes.items() if name in packed and len(packed[name]) != size]
    if wrong or len(packed["seed"]) != count or len(packed["terminated"]) != count or (length < 1).any():
        raise ShapeError(f"packed trajectories of {moves} decisions by their lengths do not add up: {wrong}")
    decisions, observations = np.cumsum(length)[:-1], np.cumsum(length + 1)[:-1]
    pieces: dict[str, Any] = {
        name: np.split(array, observations if name in BY_OBSERVATION else decisions)
        for name, array in packed.items()
        if name in sizes
    }
    pieces.setdefault("candidates", [None] * count)
    return [
        Trajectory(
            seed=int(packed["seed"][index]),
            terminated=bool(packed["terminated"][index]),
            **{name: part[index] for name, part in pieces.items()},
        )
        for index in range(count)
    ]
