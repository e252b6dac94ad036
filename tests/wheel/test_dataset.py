"""Data sets from files: what they become, and that nothing hostile is ever more than a message."""

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.replay.games import make_episode
from tests.replay.made_trajectories import random_trajectory

from zelkova.errors import CheckpointError, ConfigError, ShapeError, ZelkovaError
from zelkova.learning.chunks import ChunkStore, Packing
from zelkova.replay.packing import pack_episodes
from zelkova.replay.trajectory import TrajectorySpec
from zelkova.selfplay.config import ReanalyseConfig
from zelkova.wheel.dataset import PACKING, read_data

SPEC = TrajectorySpec((2,), "float32", 3, 0, 3, 1)
CONTINUOUS = TrajectorySpec((2,), "float32", 0, 2, 4, 1)
ALL = ReanalyseConfig(policy_share=1.0, values="target")
LENGTHS = (3, 1, 4)


def arrays(**others: Any) -> dict[str, NDArray[Any]]:
    """Three episodes: one terminated, one truncated, one that is cut by the end of the data."""
    over = np.zeros(sum(LENGTHS), np.bool_)
    over[2] = True
    cut = np.zeros_like(over)
    cut[[3, 7]] = True
    rows = sum(LENGTHS) + len(LENGTHS)
    made: dict[str, NDArray[Any]] = {
        "observations": np.arange(2 * rows, dtype=np.float64).reshape(rows, 2),
        "actions": np.arange(sum(LENGTHS)) % 3,
        "rewards": np.arange(sum(LENGTHS)),
        "terminated": over,
        "truncated": cut,
    }
    return {name: array for name, array in (made | others).items() if array is not None}


def write(folder: Path, **others: Any) -> Path:
    np.savez(folder / "own.npz", **arrays(**others))  # type: ignore[arg-type]
    return folder / "own.npz"


def changed(name: str, place: Any, value: Any) -> dict[str, NDArray[Any]]:
    array = arrays()[name].copy()
    array[place] = value
    return {name: array}


def test_a_user_s_arrays_become_episodes(tmp_path: Path) -> None:
    parts, passed = read_data([write(tmp_path)], SPEC, ALL)
    assert passed == []
    assert [len(part) for part in parts] == list(LENGTHS)
    assert [part.terminated for part in parts] == [True, False, False]
    assert [part.seed for part in parts] == [0, 1, 2]
    assert parts[1].observations.tolist() == [[8, 9], [10, 11]]
    assert parts[2].observations[0].tolist() == [12, 13]
    assert parts[2].rewards.tolist() == [[4], [5], [6], [7]]
    assert parts[2].policy.argmax(axis=1).tolist() == parts[2].actions.tolist() == [1, 2, 0, 1]
    assert not any(part.root_values.any() for part in parts)


def test_continuous_actions_are_their_own_candidates(tmp_path: Path) -> None:
    actions = np.random.default_rng(0).uniform(-1, 1, (8, 2)).astype(np.float32)
    (first, *_), _ = read_data([write(tmp_path, actions=actions)], CONTINUOUS, ALL)
    assert first.candidates is not None
    np.testing.assert_array_equal(first.candidates, np.repeat(actions[:3, None], 4, axis=1))
    assert first.policy.tolist() == [[1, 0, 0, 0]] * 3
    with pytest.raises(ShapeError, match=r"trajectory 1, decision 0: action .*-1.0 to 1.0"):
        read_data([write(tmp_path, actions=actions + np.eye(8, 2, -3))], CONTINUOUS, ALL)


def test_what_is_given_is_kept(tmp_path: Path) -> None:
    policy = np.tile(np.array([0.25, 0.75, 0.0]), (8, 1))
    legal = np.tile(np.array([1, 1, 0]), (8, 1))
    values = np.arange(11.0)
    actions = np.zeros(8, np.int8)
    own = write(tmp_path, policy=policy, legal=legal, root_values=values, actions=actions)
    parts, _ = read_data([own], SPEC, ReanalyseConfig())
    assert parts[1].root_values.tolist() == [[4], [5]]
    assert parts[0].policy.tolist() == [[0.25, 0.75, 0]] * 3
    assert parts[0].legal.tolist() == [[True, True, False]] * 3


def test_mixed_values_need_no_root_values_either(tmp_path: Path) -> None:
    parts, _ = read_data([write(tmp_path)], SPEC, ReanalyseConfig(policy_share=1.0, values="mixed"))
    assert not any(part.root_values.any() for part in parts)


@pytest.mark.parametrize(
    ("reanalyse", "others", "words"),
    [
        (ReanalyseConfig(values="target"), {}, "policy_share=1.0"),
        (ReanalyseConfig(policy_share=1.0), {}, "values=target"),
        (ReanalyseConfig(policy_share=1.0, values="search"), {}, "values=target"),
    ],
)
def test_what_nothing_would_make_has_to_be_given(
    reanalyse: ReanalyseConfig, others: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=words) as refused:
        read_data([write(tmp_path, **others)], SPEC, reanalyse)
    assert "own.npz: it has no" in str(refused.value)


@pytest.mark.parametrize(
    ("others", "words"),
    [
        (changed("observations", (5, 1), np.nan), "trajectory 1, decision 1 of 1"),
        (changed("observations", (0, 0), np.inf), "trajectory 0, decision 0 of 3"),
        (changed("observations", (2, 0), 1e300), "trajectory 0, decision 2 of 3"),
        ({"rewards": np.array([0, 0, 0, 0, 0, np.nan, 0, 0])}, "trajectory 2, decision 1 of 4"),
        (changed("actions", 6, 3), "trajectory 2, decision 2: action 3; allowed: 0 to 2"),
        (changed("actions", 0, -1), "trajectory 0, decision 0: action -1"),
        (changed("actions", 0, 2**32), "actions, row 0: 4294967296"),
        ({"actions": np.zeros(8)}, r"actions is float64\[8\]; allowed: int32\[8\]"),
        ({"observations": np.zeros((8, 2))}, r"allowed: float32\[11, 2\].*8 decisions in 3"),
        ({"observations": np.zeros((11, 5))}, r"allowed: float32\[11, 2\]"),
        ({"rewards": np.zeros((8, 2))}, r"rewards is .*allowed: float32\[8, 1\]"),
        ({"truncated": np.zeros(8)}, "ends no episode; next: set truncated"),
        ({"truncated": np.full(8, 2)}, "truncated is int64"),
        ({"truncated": np.zeros((8, 1))}, "truncated is"),
        ({"terminated": np.array(["a"] * 8)}, "terminated is"),
        ({"actions": np.zeros(0, np.int64), "terminated": [], "truncated": []}, "ends no episode"),
        ({"actions": np.array(0)}, "terminated is"),
        ({"rewards": None}, "lacks rewards"),
        ({"reward": np.zeros(8)}, "did you mean `rewards`"),
        ({"policy": np.zeros((8, 3))}, "trajectory 0, decision 0 of 3.*policy must sum to 1"),
        ({"legal": np.zeros((8, 3))}, "trajectory 0, decision 0 of 3.*legal columns"),
        ({"candidates": np.zeros((8, 3))}, "trajectory|candidates"),
        ({"to_play": np.ones(11, np.int64)}, r"turns of players \[1\]; allowed: 0 to 0"),
    ],
)  # fmt: skip
def test_rows_that_are_none_are_named(others: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(ShapeError, match=words) as refused:
        read_data([write(tmp_path, **others)], SPEC, ALL)
    assert "own.npz" in str(refused.value)


def npz_of(name: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, content)
    return file.getvalue()


class Trap:
    """Leaves a mark when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (open, ("unpickled", "w"))


def npy_of(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


HEADER = npy_of(np.zeros(3))
OBJECTS = np.array([None, 1], object)
HOSTILE = {
    "empty": b"",
    "text": b"hello",
    "pickle": pickle.dumps(Trap()),
    "array": npy_of(np.zeros(3)),
    "objects": npz_of("actions.npy", npy_of(OBJECTS)),
    "no zip": b"PK\x03\x04 and nothing",
    "no header": npz_of("actions.npy", b"\x93NUMPY"),
    "endless": npz_of("actions.npy", HEADER.replace(b"(3,), }" + b" " * 12, b"(999999999999999,)}")),
    "code": npz_of("actions.npy", HEADER.replace(b"'<f8'", b"open ")),
    "cut": npz_of("actions.npy", HEADER)[:-40],
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("name", ["a.npz", "00000001.safetensors"])
def test_hostile_files_are_a_message(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(HOSTILE[kind])
    with pytest.raises(ZelkovaError, match=name):
        read_data([tmp_path / name], SPEC, ALL)
    assert not (tmp_path / "unpickled").exists()


def test_objects_in_a_file_that_is_else_fine_are_not_unpickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trap = np.array([Trap()] * 8, object)
    with pytest.raises(CheckpointError, match="without objects"):
        read_data([write(tmp_path, rewards=trap)], SPEC, ALL)
    assert not (tmp_path / "unpickled").exists()


def test_a_run_gives_its_intact_chunks_in_order(tmp_path: Path) -> None:
    store = ChunkStore(tmp_path / "replay", PACKING)
    for number in (2, 4, 6):
        store.save(number, [random_trajectory(number), random_trajectory(number + 1)], 12 * (number // 2 - 1))
    store.path(4).write_bytes(store.path(4).read_bytes()[:-1])
    parts, passed = read_data([tmp_path], SPEC, ReanalyseConfig())
    assert [part.seed for part in parts] == [2, 3, 6, 7]
    assert len(passed) == 1
    assert "00000004" in passed[0]
    again, _ = read_data([tmp_path / "replay", store.path(2)], SPEC, ReanalyseConfig())
    assert [part.seed for part in again] == [2, 3, 6, 7, 2, 3]


def test_files_of_something_else_are_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="holds no replay"):
        read_data([tmp_path], SPEC, ALL)
    with pytest.raises(CheckpointError, match="does not exist"):
        read_data([tmp_path / "none.npz"], SPEC, ALL)
    with pytest.raises(ConfigError, match="empty"):
        read_data([], SPEC, ALL)
    games = ChunkStore(tmp_path, Packing(pack_episodes, PACKING.unpack))
    games.save(1, [make_episode(0, moves=5)], 0)
    with pytest.raises(CheckpointError, match="fields"):
        read_data([games.path(1)], SPEC, ALL)
    ChunkStore(tmp_path, PACKING).save(2, [random_trajectory(0, dims=2)], 0)
    with pytest.raises(ShapeError, match=r"00000002.*num_actions is 0, here 3.*one environment"):
        read_data([games.path(2)], SPEC, ALL)
