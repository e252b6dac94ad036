"""Legal actions and policies of all positions held: a ring of numbers that come behind and go in front."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova.replay.choices.rows import narrowest, spread

FIRST_ALLOCATION = 4096  # actions allocated at first


class ChoiceRing:
    """Numbers in the order in which they came; each has a serial number, which counts those before it.

    A number's place is its serial number modulo the ring's size, so that nothing is to be noted down anew
    when a larger ring takes over. Actions are kept in the narrowest type that held all of them so far.
    """

    def __init__(self, most: int) -> None:
        """Hold nothing.

        Args:
            most: legal actions that will ever be held at once.
        """
        self.most = most
        size = min(FIRST_ALLOCATION, most)
        self._legal: NDArray[Any] = np.zeros(size, np.uint8)
        self._policy = np.zeros(size, np.float32)
        self._first = self._end = 0  # serial numbers of the oldest that is held, and of the next to come

    @property
    def nbytes(self) -> int:
        """Bytes of both arrays."""
        return self._legal.nbytes + self._policy.nbytes

    def clear(self) -> None:
        """Hold nothing again."""
        self._first = self._end = 0

    def drop_before(self, first: int | None) -> None:
        """Let go of what came before a serial number; None: of all."""
        self._first = self._end if first is None else first

    def add(self, legal: NDArray[np.int32], policy: NDArray[np.float32]) -> int:
        """Take the choices of some positions in, a quarter larger at a time where they do not fit.

        Args:
            legal: [L] actions, one position behind the other.
            policy: [L] aligned to legal.
        Returns:
            the serial number of the first.
        """
        held, came = self._end - self._first, self._end
        size = len(self._legal)
        while size < held + len(legal):
            size = min(size + size // 4 + 1, max(self.most, held + len(legal)))
        kind = np.promote_types(self._legal.dtype, narrowest(legal))
        if size > len(self._legal):
            self._policy = self._moved(self._policy, np.zeros(size, np.float32))
        if size > len(self._legal) or kind != self._legal.dtype:
            self._legal = self._moved(self._legal, np.zeros(size, kind))
        _write(self._legal, came, legal)
        _write(self._policy, came, policy)
        self._end += len(legal)
        return came

    def take(
        self, start: NDArray[np.int64], count: NDArray[np.int32], width: int
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Copy the choices of some positions into padded rows.

        Args:
            start: [B] serial number of each position's first.
            count: [B] how many it has.
            width: M.
        Returns:
            legal [B, M], -1 at the padding, and policy [B, M], 0 there.
        """
        place = start % len(self._legal)
        return spread(self._legal, self._policy, place, count.astype(np.int64), width)

    def _moved(self, old: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
        """Copy what is held into another ring."""
        begin, held = self._first % len(old), self._end - self._first
        whole = min(held, len(old) - begin)
        _write(new, self._first, old[begin : begin + whole])
        _write(new, self._first + whole, old[: held - whole])
        return new


def _write(ring: NDArray[Any], serial: int, numbers: NDArray[Any]) -> None:
    """Put numbers at their places, the first of which has this serial number."""
    begin = serial % len(ring)
    whole = min(len(numbers), len(ring) - begin)
    ring[begin : begin + whole] = numbers[:whole]
    ring[: len(numbers) - whole] = numbers[whole:]
