"""Padded rows of legal actions and policies become ragged ones, and back."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from zelkova.errors import ShapeError

CHOICE_FIELDS = ("legal", "policy")  # of episodes and the like: as many numbers a position as `counts` says
NARROW = (np.uint8, np.int16, np.int32)  # the narrowest first; of each, PyTorch knows the like


class Choices(NamedTuple):
    """Legal actions and policies of n positions, one position behind the other."""

    counts: NDArray[np.int32]  # [n] legal actions of each position; 0: none are known
    legal: NDArray[np.int32]  # [L] actions; L is the sum of counts
    policy: NDArray[np.float32]  # [L] aligned to legal


def gather_rows(legal: NDArray[Any], policy: NDArray[Any], count: NDArray[Any]) -> Choices:
    """Take the padding away.

    Args:
        legal: [..., M] actions, the first `count` of each row.
        policy: float32[..., M] aligned to legal.
        count: [...] 0..M.
    Returns:
        counts in the shape of count, and the rest in order.
    """
    inside = np.arange(legal.shape[-1]) < count[..., None]
    return Choices(count.astype(np.int32), legal[inside].astype(np.int32, copy=False), policy[inside])


def remove_padding(legal: NDArray[Any], policy: NDArray[Any]) -> Choices:
    """Make choices of rows that older versions padded: [..., M], -1 in `legal` where nothing is."""
    return gather_rows(legal, policy, (legal >= 0).sum(axis=-1))


def own_part(counts: NDArray[Any], row: int) -> slice:
    """Say where a position's choices lie among those of all, of which `counts` [n] has the numbers."""
    begin = int(counts[:row].sum())
    return slice(begin, begin + int(counts[row]))


def pad_rows(choices: Choices, width: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Give every position a row of one width.

    Args:
        choices: of n positions.
        width: M, as many as the largest count or more.
    Returns:
        legal [n, M], -1 at the padding, and policy [n, M], 0 there.
    Raises:
        ShapeError: a count is no number from 0 to M, or their sum is not L.
    """
    count = choices.counts.astype(np.int64)
    if (count < 0).any() or count.max(initial=0) > width or count.sum() != len(choices.legal):
        raise ShapeError(
            f"counts from {count.min(initial=0)} to {count.max(initial=0)}, {count.sum()} in all, of"
            f" {len(choices.legal)} choices; allowed: from 0 to {width}, and as many in all"
        )
    return spread(choices.legal, choices.policy, np.cumsum(count) - count, count, width)


def spread(
    legal: NDArray[Any],
    policy: NDArray[np.float32],
    start: NDArray[np.int64],
    count: NDArray[np.int64],
    width: int,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Copy pieces of a ring into padded rows.

    Args:
        legal: [S] whole numbers, the ring of actions.
        policy: [S] aligned to legal.
        start: [n] in 0..S-1, where each piece begins; it goes on at 0 where the ring ends.
        count: [n] 0..M, how long it is.
        width: M.
    Returns:
        legal [n, M], -1 at the padding, and policy [n, M], 0 there.
    """
    actions, weights = np.full((len(start), width), -1, np.int32), np.zeros((len(start), width), np.float32)
    _spread(legal, policy, start, count, actions, weights)
    return actions, weights


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _spread(legal: Any, policy: Any, start: Any, count: Any, actions: Any, weights: Any) -> None:
    """Copy each piece to the front of its row, in two where it goes on at the ring's beginning."""
    size = len(legal)
    for row in range(len(start)):
        begin, length = start[row], count[row]
        whole = min(length, size - begin)
        for k in range(whole):
            actions[row, k] = legal[begin + k]
        for k in range(whole):
            weights[row, k] = policy[begin + k]
        for k in range(whole, length):
            actions[row, k] = legal[k - whole]
            weights[row, k] = policy[k - whole]


def narrow(numbers: NDArray[Any]) -> NDArray[Any]:
    """Give whole numbers in the narrowest type that holds them, `NARROW`'s."""
    return numbers.astype(narrowest(numbers))


def narrowest(numbers: NDArray[Any]) -> Any:
    """Name the narrowest type, `NARROW`'s, that holds whole numbers."""
    least, most = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    return next(kind for kind in NARROW if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max)
