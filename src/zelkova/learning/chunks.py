"""The replay on disk: one checked safetensors file a round, enough of them to fill the window again.

They are written before the checkpoint of the same round and let go after it, so that each checkpoint
that can be gone on from finds its positions.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray

from zelkova.errors import CheckpointError, ShapeError
from zelkova.learning.checkpoint import make_folder, numbered_files
from zelkova.networks.weights import load_weights, save_weights

KIND = "zelkova replay 2"  # of the files that are written; changes when older versions can't read them
READ = ("zelkova replay 1", KIND)  # kinds that can be read; games of the first have padded policies


class Packing(NamedTuple):
    """How episodes become named arrays, and come back."""

    pack: Callable[[Sequence[Any]], dict[str, NDArray[Any]]]
    unpack: Callable[[Mapping[str, NDArray[Any]]], list[Any]]


def read_chunk(path: Path, packing: Packing) -> tuple[list[Any], int]:
    """Read a chunk's episodes, and how many positions came before them.

    Args:
        path: of the file.
        packing: of its kind of episodes.
    Raises:
        CheckpointError: the file is missing, damaged or foreign; the message names it.
    """
    tensors, metadata = load_weights(path)
    try:
        own = json.loads(metadata.get("replay", "{}"))
        if own.get("kind") not in READ:
            raise CheckpointError(
                f"{path} is no replay chunk that this version reads: its kind is {own.get('kind')!r},"
                f" allowed: {', '.join(READ)}; next: go on with the version that wrote it, or put"
                " the run's own file back"
            )
        episodes = packing.unpack({name: tensor.numpy() for name, tensor in tensors.items()})
        return episodes, int(own["first"])
    except CheckpointError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise CheckpointError(f"{path} is damaged: {error}; use an older checkpoint") from error


class ChunkStore:
    """A folder of chunks NNNNNNNN.safetensors, numbered like the checkpoints."""

    def __init__(self, folder: Path, packing: Packing) -> None:
        """Look at a folder, which is made at the first save.

        Args:
            folder: of the run.
            packing: of its kind of episodes.
        """
        self.folder, self.packing = folder, packing
        self._ends: dict[int, int] = {}  # number of the first position after each chunk saved or read here

    def path(self, number: int) -> Path:
        """Name the file of a round."""
        return self.folder / f"{number:08d}.safetensors"

    def save(self, number: int, episodes: Sequence[Any], first: int) -> Path:
        """Write the games of a round, in the order in which they entered the buffer.

        Args:
            number: the round.
            episodes: one game or more.
            first: positions that entered the replay before them.
        Raises:
            CheckpointError: it can't be written; nothing else changed.
        """
        make_folder(self.folder)
        tensors = {name: torch.from_numpy(array) for name, array in self.packing.pack(episodes).items()}
        save_weights(self.path(number), tensors, {"replay": json.dumps({"kind": KIND, "first": first})})
        self._ends[number] = first + sum(episode.num_recorded for episode in episodes)
        return self.path(number)

    def load(self, number: int) -> tuple[list[Any], int]:
        """Read a round's games, and how many positions came before them.

        Args:
            number: the round.
        Raises:
            CheckpointError: the file is missing, damaged or foreign; the message names it.
        """
        episodes, first = read_chunk(self.path(number), self.packing)
        self._ends[number] = first + sum(episode.num_recorded for episode in episodes)
        return episodes, first

    def fill(self, buffer: Any, number: int, first: int, total: int) -> None:
        """Fill a buffer as it was after a round, bit for bit; one of a smaller window with the newest.

        Later chunks are left alone: the run will write them again. Damage to a chunk that is
        outside the window does no harm.

        Args:
            buffer: emptied first.
            number: the round, that of the checkpoint.
            first: number of the oldest position of the window, as the checkpoint says.
            total: positions that had entered the replay by then, as the checkpoint says.
        Raises:
            CheckpointError: a chunk within the window is missing or damaged; the message names it.
            ShapeError: a chunk is of another environment or other settings; the message says in what.
        """
        buffer.start_at(0)
        begun = 0  # from where on the chunks have everything
        problem: CheckpointError | None = None
        for chunk in [n for n in numbered_files(self.folder) if n <= number]:
            try:
                episodes, start = self.load(chunk)
            except CheckpointError as error:
                problem = error
                continue
            if start != buffer.total_added:
                buffer.start_at(start)
                begun = start
            try:
                for episode in episodes:
                    buffer.add(episode)
            except ShapeError as error:
                raise ShapeError(f"{self.path(chunk)} is of another run: {error}") from error
        if buffer.total_added != total or first < buffer.first == begun:
            raise problem or CheckpointError(
                f"{self.folder} lacks positions: round {number} needs {first} to {total - 1}, found"
                f" {buffer.first} to {buffer.total_added - 1}; copy the missing chunks back, or go on from"
                " another checkpoint"
            )

    def drop_after(self, number: int) -> None:
        """Let go of the chunks of later rounds: left by a killed session, they overlap those to come.

        Args:
            number: the round of the checkpoint that the run goes on from.
        """
        for later in [n for n in numbered_files(self.folder) if n > number]:
            self._ends.pop(later, None)
            self.path(later).unlink(missing_ok=True)

    def prune(self, first: int) -> list[Path]:
        """Let go of chunks that end before a position; call it once the new checkpoint is complete.

        Args:
            first: number of the oldest position that any checkpoint needs (CheckpointStore.replay_first).
        Returns:
            the files that are gone.
        """
        gone = [self.path(number) for number, end in self._ends.items() if end <= first]
        self._ends = {number: end for number, end in self._ends.items() if end > first}
        for path in gone:
            path.unlink(missing_ok=True)
        return gone
