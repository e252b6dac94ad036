"""A random symmetry of the board for each row of a batch."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ShapeError


class Symmetries:
    """A game's symmetries as tables, ready to turn whole batches."""

    def __init__(self, maps: Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]]) -> None:
        """Take the game's list in.

        Args:
            maps: (plane map int32[H*W], action map int32[A]) each, the identity included:
                new_planes.flat[i] = planes.flat[plane_map[i]], new_policy[a] = policy[action_map[a]].
        """
        self.count = len(maps)
        if self.count:
            self._cells = np.stack([plane for plane, _ in maps]).astype(np.int64)
            self._targets = np.stack([np.argsort(action) for _, action in maps]).astype(np.int32)

    def apply(
        self, planes: NDArray[np.float32], legal: NDArray[np.int32], rng: np.random.Generator
    ) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Turn each row by a symmetry drawn for it.

        Args:
            planes: [B, C, H, W].
            legal: [B, M] actions, padded with -1; policies aligned to it stay as they are.
            rng: where the draws come from; nothing is drawn if the identity is all there is.
        Returns:
            planes [B, C, H, W] and legal [B, M], new arrays unless nothing can change; legal is no
            longer ascending.
        Raises:
            ShapeError: the planes have another board than the symmetries.
        """
        if self.count <= 1:
            return planes, legal
        batch, channels, height, width = planes.shape
        if height * width != self._cells.shape[1]:
            raise ShapeError(
                f"planes of {height} x {width} cells; these symmetries turn {self._cells.shape[1]} cells"
            )
        drawn = rng.integers(0, self.count, batch)
        flat = planes.reshape(batch, channels, height * width)
        turned = np.take_along_axis(flat, self._cells[drawn][:, None, :], axis=2)
        actions = np.take_along_axis(self._targets[drawn], np.maximum(legal, 0), axis=1)
        return turned.reshape(planes.shape), np.where(legal < 0, np.int32(-1), actions)
