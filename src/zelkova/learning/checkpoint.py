"""The whole state of a run in one safetensors file, and the folder of them that survives a crash.

A checkpoint holds the learner (network, running mean, optimiser), counters, random generators,
arrays of self-play and a description in words (game, network, config). The file is written all or
not at all and checked in full when read (networks/weights.py); nothing is pickled. It names the
round after which it was taken; the replay of that round lies in chunks beside it (chunks.py).
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from zelkova.errors import CheckpointError
from zelkova.learning.learner import LearnerState
from zelkova.networks.weights import load_weights, save_weights

KIND = "zelkova checkpoint 1"  # changes when older files can't be read any more
OWN = "run"  # the metadata entry that is ours; the rest is the caller's description
ARRAYS = "arrays."  # prefix of the caller's arrays among the tensors
LEARNER = ("network.", "heads.", "optimizer.", "ema.")  # prefixes of the learner's tensors
GENERATORS = {"PCG64": np.random.PCG64, "PCG64DXSM": np.random.PCG64DXSM}
SUFFIX = ".safetensors"


@dataclass(frozen=True)
class Checkpoint:
    """A run between two rounds."""

    number: int  # rounds that are done
    learner: LearnerState  # weights, optimiser, counters
    replay_first: int  # number of the oldest position in the replay's window
    replay_total: int  # positions that ever entered the replay
    description: Mapping[str, str]  # game, network, config: in words or JSON, free of this module
    generators: Mapping[str, np.random.Generator] = field(default_factory=dict)  # by the caller's names
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # of self-play, by the caller's names
    extra: Mapping[str, Any] = field(default_factory=dict)  # anything JSON can say


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; at any moment the old file or the new one is there whole.

    Args:
        path: the file; its folder exists.
        checkpoint: what to write.
    Raises:
        CheckpointError: no space, no permission, or content that can't be written without a pickle.
    """
    tensors = dict(checkpoint.learner.tensors)
    for name, array in checkpoint.arrays.items():
        tensors[ARRAYS + name] = _to_tensor(path, name, array)
    if OWN in checkpoint.description:
        raise CheckpointError(f"a description can't have the entry `{OWN}`; give it another name")
    own = {
        "kind": KIND,
        "number": checkpoint.number,
        "steps": checkpoint.learner.steps,
        "samples": checkpoint.learner.samples,
        "replay_first": checkpoint.replay_first,
        "replay_total": checkpoint.replay_total,
        "generators": {name: rng.bit_generator.state for name, rng in checkpoint.generators.items()},
        "extra": checkpoint.extra,
    }
    try:
        text = json.dumps(own, default=_to_number, sort_keys=True)
    except TypeError as error:
        raise CheckpointError(
            f"{path} can't hold this: {error}; allowed: numbers, words, lists and dicts, and arrays"
        ) from error
    save_weights(path, tensors, {**checkpoint.description, OWN: text})


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint and check it in full.

    Args:
        path: the file.
    Raises:
        CheckpointError: it is missing, cut short, edited, foreign, or weights only.
    """
    tensors, metadata = load_weights(path)
    description = dict(metadata)
    try:
        own = json.loads(description.pop(OWN, "{}"))
        if own.get("kind") != KIND:
            raise CheckpointError(
                f"{path} is no checkpoint of this version (it says {own.get('kind')!r}, expected {KIND!r});"
                " give a file of a run's checkpoints folder"
            )
        for name in ("number", "steps", "samples", "replay_first", "replay_total"):
            if type(own[name]) is not int or own[name] < 0:
                raise ValueError(f"{name} is {own[name]!r}")
        return Checkpoint(
            number=own["number"],
            learner=LearnerState(
                {name: t for name, t in tensors.items() if name.startswith(LEARNER)},
                own["steps"],
                own["samples"],
            ),
            replay_first=own["replay_first"],
            replay_total=own["replay_total"],
            description=description,
            generators={name: _to_generator(state) for name, state in own["generators"].items()},
            arrays={
                name.removeprefix(ARRAYS): tensor.numpy()
                for name, tensor in tensors.items()
                if name.startswith(ARRAYS)
            },
            extra=own["extra"],
        )
    except CheckpointError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
        raise CheckpointError(
            f"{path} is damaged: its entry `{OWN}` can't be read ({error}); use an older checkpoint"
        ) from error


@dataclass(frozen=True)
class Found:
    """What a search for the newest intact checkpoint gave."""

    checkpoint: Checkpoint
    path: Path  # the file it was read from
    refused: tuple[str, ...]  # one message for each newer file that was passed over


class CheckpointStore:
    """A folder of checkpoints NNNNNNNN.safetensors, numbered by rounds done."""

    def __init__(self, folder: Path, keep: int = 3, milestone_every: int = 0) -> None:
        """Look at a folder; nothing is written yet.

        Args:
            folder: made at the first save.
            keep: how many of the newest stay, 1 or more.
            milestone_every: checkpoints whose number this divides stay for good; 0: none.
        """
        if keep < 1 or milestone_every < 0:
            raise CheckpointError(
                f"keep {keep} checkpoints and one of {milestone_every}; allowed: keep 1 or more, 0 or more"
            )
        self.folder, self.keep, self.milestone_every = folder, keep, milestone_every
        self._replay_first: dict[int, int] = {}  # of the checkpoints saved or loaded here

    def path(self, number: int) -> Path:
        """Name the file of a round."""
        return self.folder / f"{number:08d}{SUFFIX}"

    def numbers(self) -> list[int]:
        """List the rounds that have a file, oldest first; temporary and foreign names are not listed."""
        return numbered_files(self.folder)

    def save(self, checkpoint: Checkpoint) -> Path:
        """Write a checkpoint, then let old ones go.

        Args:
            checkpoint: its number names the file.
        Raises:
            CheckpointError: it can't be written; every older checkpoint is still there.
        """
        make_folder(self.folder)
        path = self.path(checkpoint.number)
        save_checkpoint(path, checkpoint)
        self._replay_first[checkpoint.number] = checkpoint.replay_first
        for number in [n for n in self.numbers() if n <= checkpoint.number][: -self.keep]:
            self._replay_first.pop(number, None)
            if not self.milestone_every or number % self.milestone_every:
                self.path(number).unlink(missing_ok=True)
        return path

    def set_aside_after(self, number: int) -> list[Path]:
        """Rename the checkpoints of later rounds to NAME.superseded: the run went on from an older one.

        Args:
            number: the round of the newest checkpoint that counts.
        Returns:
            the new names.
        """
        aside = []
        for later in [n for n in self.numbers() if n > number]:
            self._replay_first.pop(later, None)
            path = self.path(later)
            aside.append(path.replace(path.with_name(path.name + ".superseded")))
        return aside

    def replay_first(self) -> int:
        """Number of the oldest position that any of the newest `keep` checkpoints needs to go on.

        Milestones are there to be played against, not to go on from: their replay is let go.
        """
        return min(self._replay_first.values(), default=0)

    def newest_intact(self, verify: Callable[[Checkpoint], None] | None = None) -> Found:
        """Find the newest checkpoint that can be gone on from.

        Args:
            verify: called with each that is intact; its CheckpointError (a replay that is gone,
                another network) passes the file over like damage does.
        Raises:
            CheckpointError: there is none; the message says why each was refused.
        """
        refused: list[str] = []
        for number in reversed(self.numbers()):
            try:
                checkpoint = load_checkpoint(self.path(number))
                if verify is not None:
                    verify(checkpoint)
            except CheckpointError as error:
                refused.append(str(error))
                continue
            self._replay_first[number] = checkpoint.replay_first
            self._remember_older(number)
            return Found(checkpoint, self.path(number), tuple(refused))
        reasons = "; ".join(refused) if refused else "it holds none"
        raise CheckpointError(f"no intact checkpoint in {self.folder}: {reasons}; begin a new run with --out")

    def _remember_older(self, number: int) -> None:
        """Learn what replay the older checkpoints need, so that it is kept for them as well."""
        for older in [n for n in self.numbers() if n < number][1 - self.keep :] if self.keep > 1 else []:
            try:
                self._replay_first[older] = load_checkpoint(self.path(older)).replay_first
            except CheckpointError:
                continue  # it can't be gone on from, so it needs nothing


def make_folder(folder: Path) -> None:
    """Make a folder and its parents.

    Raises:
        CheckpointError: it can't be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CheckpointError(
            f"{folder} can't be made: {error.strerror}; give a folder that can be written with --out"
        ) from error


def numbered_files(folder: Path) -> list[int]:
    """List the numbers N of the files NNNNNNNN.safetensors in a folder, ascending."""
    names = [path.name.removesuffix(SUFFIX) for path in folder.glob(f"*{SUFFIX}")]
    return sorted(int(name) for name in names if len(name) == 8 and name.isascii() and name.isdigit())


def remove_leftovers(folder: Path) -> list[Path]:
    """Remove temporary files that a killed process left behind; only who holds the run's lock may call.

    Args:
        folder: of checkpoints or chunks.
    Returns:
        the files that are gone.
    """
    leftovers = sorted(folder.glob(f".*{SUFFIX}.tmp"))
    for path in leftovers:
        path.unlink(missing_ok=True)
    return leftovers


def _to_tensor(path: Path, name: str, array: NDArray[Any]) -> Tensor:
    """Copy an array into a tensor, whatever its order in memory."""
    try:
        return torch.from_numpy(np.array(array, order="C", copy=True))
    except TypeError as error:
        raise CheckpointError(
            f"{path} can't hold array `{name}` of dtype {np.asarray(array).dtype};"
            " allowed: numbers and booleans"
        ) from error


def _to_number(value: object) -> Any:
    """Turn NumPy's scalars into numbers for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is no number, word, list or dict")


def _to_generator(state: Mapping[str, Any]) -> np.random.Generator:
    """Make a generator that goes on from a state; KeyError names a kind that is not known."""
    bits = GENERATORS[state["bit_generator"]]()
    bits.state = state
    return np.random.Generator(bits)
