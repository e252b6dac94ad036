"""Fixed data sets: replay chunks, whole runs and plain .npz files become trajectories. Nothing is unpickled.

docs/environments.md describes the .npz files.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import CheckpointError, ConfigError, ShapeError, hint, require_memory, word_failure
from zelkova.learning.checkpoint import numbered_files
from zelkova.learning.chunks import ChunkStore, Packing, read_chunk
from zelkova.replay.packing import pack_trajectories, unpack_trajectories
from zelkova.replay.trajectory import Trajectory, TrajectorySpec
from zelkova.selfplay.config import ReanalyseConfig

PACKING = Packing(pack_trajectories, unpack_trajectories)
NEEDED = ("observations", "actions", "rewards", "terminated", "truncated")
OPTIONAL = ("policy", "candidates", "root_values", "legal", "to_play")
BY_OBSERVATION = ("observations", "root_values", "to_play")  # the others have a row a decision


def read_data(
    paths: Sequence[Path], spec: TrajectorySpec, reanalyse: ReanalyseConfig
) -> tuple[list[Trajectory], list[str]]:
    """Read a data set, in the order given.

    Args:
        paths: a run's folder (its intact chunks), replay chunks, or .npz files.
        spec: of the environment and the settings that it is to train.
        reanalyse: what is to become of policies and values.
    Returns:
        the trajectories, and what was passed over, a message each.
    Raises:
        CheckpointError: a file is missing, damaged or foreign.
        ConfigError: nothing to read, or a file without policies or values, which nothing would renew.
        ShapeError: rows are not what the environment gives; the message names file, episode and decision.
    """
    found: list[Trajectory] = []
    passed: list[str] = []
    for path in paths:
        if path.is_dir():
            parts, damaged = _read_run(path)
            passed += damaged
        elif path.suffix == ".npz":
            parts = read_npz(path, spec, reanalyse)
        else:
            parts = read_chunk(path, PACKING)[0]
        try:
            for part in parts:
                spec.check(part)
        except ShapeError as error:
            raise ShapeError(f"{path}: {error}") from error
        found += parts
    if not found:
        raise ConfigError("the data set is empty; next: --offline with a run's folder, replay chunks or .npz")
    return found, passed


def _read_run(folder: Path) -> tuple[list[Trajectory], list[str]]:
    """Read the intact chunks of a run, and say which are not.

    Raises:
        CheckpointError: none is.
    """
    store = ChunkStore(folder / "replay" if (folder / "replay").is_dir() else folder, PACKING)
    found: list[Trajectory] = []
    damaged: list[str] = []
    for number in numbered_files(store.folder):
        try:
            found += store.load(number)[0]
        except CheckpointError as error:
            damaged.append(str(error))
    if not found:
        reasons = "; ".join(damaged) or "it has no chunks NNNNNNNN.safetensors"
        raise CheckpointError(f"{folder} holds no replay of a learned model: {reasons}")
    return found, damaged


def read_npz(path: Path, spec: TrajectorySpec, reanalyse: ReanalyseConfig) -> list[Trajectory]:
    """Read a user's own file, see docs/environments.md; its episodes are numbered from 0.

    Args:
        path: of the file.
        spec: as for `read_data`.
        reanalyse: as for `read_data`.
    Raises:
        CheckpointError, ConfigError, ShapeError: as for `read_data`.
    """
    arrays = _load_arrays(path)
    try:
        ends = _find_ends(arrays)
        sizes = (len(arrays["actions"]), len(ends))
        shapes = _shapes(spec, *sizes)
        rows = {name: _as_rows(name, array, *shapes[name], sizes) for name, array in arrays.items()}
        rows |= _defaults(rows, spec, reanalyse, sizes)
        return _split(rows, ends)
    except (ShapeError, ConfigError) as error:
        raise type(error)(f"{path}: {error}") from error


def _load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read every array of a file, none of which may need unpickling."""
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            names = list(file.files)
            require_memory(sum(entry.file_size for entry in file.zip.infolist()), str(path))
            unknown = [name for name in names if name not in NEEDED + OPTIONAL]
            missing = [name for name in NEEDED if name not in names]
            arrays = {} if unknown or missing else {name: np.asarray(file[name]) for name in names}
    except FileNotFoundError:
        raise CheckpointError(f"{path} does not exist; list its folder for the files that do") from None
    except ConfigError:
        raise
    except Exception as error:  # whatever zip and array headers that are damaged or hostile lead to
        said = word_failure(error)
        if "pickle" in said:  # NumPy's own words tell how to open it all the same
            said = "it holds objects, which are never unpickled"
        raise CheckpointError(
            f"{path} is no .npz file of plain numbers ({said}); next: write it with numpy.savez, without"
            " objects"
        ) from error
    if unknown:
        raise ShapeError(f"{path} has an array `{unknown[0]}`; {hint(unknown[0], NEEDED + OPTIONAL)}")
    if missing:
        raise ShapeError(f"{path} lacks {', '.join(missing)}; needed: {', '.join(NEEDED)}")
    return arrays


def _find_ends(arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
    """Give the decisions [E] with which the episodes end.

    Raises:
        ShapeError: the flags are no flags, or the last decision is no end.
    """
    over = np.zeros(0, np.bool_)
    moves = arrays["actions"].shape[:1]
    for name in ("terminated", "truncated"):
        flags = arrays[name]
        if flags.shape != moves or flags.dtype.kind not in "biuf" or not np.isin(flags, (0, 1)).all():
            raise ShapeError(
                f"{name} is {flags.dtype}{list(flags.shape)}; allowed: 0 or 1 for each of the"
                f" {[*moves, 0][0]} actions"
            )
        over = over | flags.astype(np.bool_) if over.size else flags.astype(np.bool_)
    if not over.size or not over[-1]:
        raise ShapeError(
            f"the last of its {over.size} decisions ends no episode; next: set truncated there, and give the"
            " observation that followed"
        )
    return np.flatnonzero(over)


def _shapes(spec: TrajectorySpec, moves: int, episodes: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Give dtype and shape of every array."""
    seen, action = moves + episodes, (spec.action_dim,) if spec.action_dim else ()
    return {
        "observations": (spec.observation_dtype, (seen, *spec.observation_shape)),
        "actions": ("float32" if action else "int32", (moves, *action)),
        "rewards": ("float32", (moves, spec.num_players)),
        "terminated": ("bool", (moves,)),
        "truncated": ("bool", (moves,)),
        "policy": ("float32", (moves, spec.columns)),
        "candidates": ("float32", (moves, spec.columns, *action)),
        "root_values": ("float32", (seen, spec.num_players)),
        "legal": ("bool", (moves, spec.columns)),
        "to_play": ("int8", (seen,)),
    }


def _as_rows(
    name: str, array: NDArray[Any], dtype: str, shape: tuple[int, ...], sizes: tuple[int, int]
) -> NDArray[Any]:
    """Give an array the dtype that a trajectory has, if no number is changed by it but for rounding.

    Raises:
        ShapeError: another shape, or numbers that don't fit.
    """
    if array.ndim == len(shape) - 1 and name in ("rewards", "root_values"):
        array = array[..., None]  # of one player
    kinds = {"float32": "fiub", "uint8": "iu", "int32": "iu", "int8": "iu", "bool": "biuf"}[dtype]
    if array.shape != shape or array.dtype.kind not in kinds:
        per = "one of each decision, and each episode's last" if name in BY_OBSERVATION else "each decision's"
        raise ShapeError(
            f"{name} is {array.dtype}{list(array.shape)}; allowed: {dtype}{list(shape)}, {per}"
            f" ({sizes[0]} decisions in {sizes[1]} episodes)"
        )
    with np.errstate(all="ignore"):  # what overflows is refused as a number that is not finite
        rows = array.astype(dtype)
    if kinds != "fiub" and not np.array_equal(rows, array):
        row = int(np.argmax((rows != array).reshape(len(array), -1).any(axis=1)))
        raise ShapeError(f"{name}, row {row}: {array[row]}; allowed: what {dtype} holds")
    return rows


def _defaults(
    rows: Mapping[str, NDArray[Any]], spec: TrajectorySpec, reanalyse: ReanalyseConfig, sizes: tuple[int, int]
) -> dict[str, NDArray[Any]]:
    """Make the arrays that may be left out.

    Raises:
        ConfigError: policies or values are missing, and nothing would renew them.
        ShapeError: arrays that go together, or turns of several players, are missing.
    """
    shapes = _shapes(spec, *sizes)
    made: dict[str, NDArray[Any]] = {}
    if "policy" not in rows:
        if reanalyse.policy_share == 0.0:
            raise ConfigError(
                "it has no policy, and reanalyse.policy_share is 0, which makes none; next: --set"
                " reanalyse.policy_share=1.0"
            )
        taken = np.zeros(sizes[0], np.int64) if spec.action_dim else rows["actions"]
        if not spec.action_dim:
            taken = np.clip(taken, 0, spec.num_actions - 1)  # what is outside is refused with its decision
        made["policy"] = np.eye(spec.columns, dtype=np.float32)[taken]
        if spec.action_dim:
            made["candidates"] = np.repeat(rows["actions"][:, None], spec.columns, axis=1)
    elif ("candidates" in rows) != bool(spec.action_dim):
        raise ShapeError("candidates go with a policy over continuous actions; give both or neither")
    if "root_values" not in rows:
        if reanalyse.values not in ("target", "mixed"):  # which take every value from the target network
            raise ConfigError(
                f"it has no root_values, and reanalyse.values is {reanalyse.values}, which needs them; next:"
                " --set reanalyse.values=target"
            )
        made["root_values"] = np.zeros(shapes["root_values"][1], np.float32)
    if "legal" not in rows:
        made["legal"] = np.ones(shapes["legal"][1], np.bool_)
    if "to_play" not in rows:
        if spec.num_players > 1:
            raise ShapeError(f"it has no to_play; needed where there are {spec.num_players} players")
        made["to_play"] = np.zeros(shapes["to_play"][1], np.int8)
    return made


def _split(rows: Mapping[str, NDArray[Any]], ends: NDArray[np.int64]) -> list[Trajectory]:
    """Cut the arrays into episodes.

    Raises:
        ShapeError: numbers that are not finite, or a policy that is none; episode and decision are named.
    """
    cuts = {False: ends[:-1] + 1, True: ends[:-1] + 1 + np.arange(1, len(ends))}
    pieces: dict[str, Any] = {
        name: np.split(array, cuts[name in BY_OBSERVATION]) for name, array in rows.items()
    }
    pieces.pop("truncated")
    over = pieces.pop("terminated")
    pieces.setdefault("candidates", [None] * len(ends))
    return [
        Trajectory(
            seed=episode,
            terminated=bool(over[episode][-1]),
            **{name: parts[episode] for name, parts in pieces.items()},
        )
        for episode in range(len(ends))
    ]
