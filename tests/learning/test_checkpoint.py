"""Files of a run's state: whole or not at all, never executed, found again after a crash."""

import dataclasses
import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from zelkova.errors import CheckpointError
from zelkova.learning.checkpoint import (
    Checkpoint,
    CheckpointStore,
    load_checkpoint,
    remove_leftovers,
    save_checkpoint,
)
from zelkova.learning.learner import Learner
from zelkova.learning.lock import RunLock
from zelkova.learning.metrics_log import MetricsLog
from zelkova.networks.weights import load_weights, save_weights

Make = Callable[..., Checkpoint]


@pytest.fixture
def make_checkpoint(make_learner: Callable[..., Learner], make_data: Callable[..., Any]) -> Make:
    """Give a function that makes a checkpoint after a step."""

    def build(number: int, **settings: Any) -> Checkpoint:
        learner = make_learner(**settings)
        learner.step(make_data(number))
        rng = np.random.default_rng(number)
        rng.random(5)
        return Checkpoint(
            number=number,
            learner=learner.state(),
            replay_first=10 * number,
            replay_total=100 * number,
            description={"game": "tiny", "network": '{"channels": 8}'},
            generators={"learning": rng},
            arrays={
                "states": np.arange(6, dtype=np.uint64).reshape(2, 3) + 2**63,
                "done": np.array([True, False]),
            },
            extra={"best": np.float64(0.5), "small": np.float32(0.25), "games": np.int64(7)},
        )

    return build


def same(one: Checkpoint, other: Checkpoint) -> bool:
    return one.number == other.number and all(
        torch.equal(tensor, other.learner.tensors[name]) for name, tensor in one.learner.tensors.items()
    )


def test_all_of_it_comes_back(tmp_path: Path, make_checkpoint: Make) -> None:
    saved = make_checkpoint(3, ema_decay=0.9)
    path = CheckpointStore(tmp_path / "run" / "checkpoints").save(saved)
    assert path.name == "00000003.safetensors"
    got = load_checkpoint(path)
    assert same(saved, got)
    assert got.learner.tensors.keys() == saved.learner.tensors.keys()
    for field in ("number", "replay_first", "replay_total", "description"):
        assert getattr(got, field) == getattr(saved, field)
    assert (got.learner.steps, got.learner.samples) == (1, 16)
    assert got.extra == {"best": 0.5, "small": 0.25, "games": 7}
    for name, array in saved.arrays.items():
        np.testing.assert_array_equal(got.arrays[name], array)
        assert got.arrays[name].dtype == array.dtype
    assert got.generators["learning"].random(4).tolist() == saved.generators["learning"].random(4).tolist()


def test_the_same_state_gives_the_same_bytes(tmp_path: Path, make_checkpoint: Make) -> None:
    for name in ("a", "b"):
        save_checkpoint(tmp_path / name, make_checkpoint(1))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_public_checkpoint_2_only_plain_data_and_no_code(tmp_path: Path, make_checkpoint: Make) -> None:
    """NumPy scalars, a config and a generator's state load in a fresh process; a pickle is never opened."""
    path = tmp_path / "00000001.safetensors"
    save_checkpoint(path, make_checkpoint(1))
    program = (
        "import sys, pathlib; from zelkova.learning.checkpoint import load_checkpoint;"
        "c = load_checkpoint(pathlib.Path(sys.argv[1]));"
        "print(c.extra['best'], c.learner.steps, {t.device.type for t in c.learner.tensors.values()})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["0.5", "1", "{'cpu'}"]
    trace = tmp_path / "executed"

    class Hostile:
        def __reduce__(self) -> Any:
            return (os.mkdir, (str(trace),))

    store = CheckpointStore(tmp_path)
    store.path(2).write_bytes(pickle.dumps(Hostile()))
    with zipfile.ZipFile(store.path(3), "w") as archive:  # as torch.save would
        archive.writestr("archive/data.pkl", pickle.dumps(Hostile()))
    for number in (2, 3):
        with pytest.raises(CheckpointError, match="could run code"):
            load_checkpoint(store.path(number))
    assert store.newest_intact().checkpoint.number == 1
    assert not trace.exists()


def test_content_that_would_need_a_pickle_is_refused(tmp_path: Path, make_checkpoint: Make) -> None:
    path, checkpoint = tmp_path / "c.safetensors", make_checkpoint(1)
    with pytest.raises(CheckpointError, match="object is no number"):
        save_checkpoint(path, dataclasses.replace(checkpoint, extra={"config": object()}))
    with pytest.raises(CheckpointError, match=r"array `names` of dtype <U1"):
        save_checkpoint(path, dataclasses.replace(checkpoint, arrays={"names": np.array(["a"])}))
    with pytest.raises(CheckpointError, match="entry `run`"):
        save_checkpoint(path, dataclasses.replace(checkpoint, description={"run": "x"}))
    assert list(tmp_path.iterdir()) == []


def damage(path: Path, kind: str) -> None:
    data = bytearray(path.read_bytes())
    if kind == "truncated":
        data = data[:100]
    elif kind == "short by one":
        data = data[:-1]
    elif kind == "empty":
        data = bytearray()
    elif kind == "bit flipped":
        data[-5] ^= 4
    elif kind == "counter edited":
        data = data.replace(b'\\\\\\"number\\\\\\": 3', b'\\\\\\"number\\\\\\": 4')
        assert data != path.read_bytes()
    elif kind == "foreign text":
        data = bytearray(b"hello, this is no checkpoint at all" * 4)
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    "kind", ["truncated", "short by one", "empty", "bit flipped", "counter edited", "foreign text"]
)
def test_damage_is_named_and_the_newest_intact_one_is_found(
    tmp_path: Path, make_checkpoint: Make, kind: str
) -> None:
    store = CheckpointStore(tmp_path)
    for number in (1, 2, 3):
        store.save(make_checkpoint(number))
    damage(store.path(3), kind)
    with pytest.raises(CheckpointError, match=r"00000003\.safetensors"):
        load_checkpoint(store.path(3))
    found = CheckpointStore(tmp_path).newest_intact()
    assert (found.checkpoint.number, found.path) == (2, store.path(2))
    assert len(found.refused) == 1
    assert "00000003.safetensors" in found.refused[0]


def test_weights_alone_are_no_checkpoint(tmp_path: Path) -> None:
    save_weights(tmp_path / "w.safetensors", {"a": torch.zeros(1)}, {})
    with pytest.raises(CheckpointError, match="no checkpoint of this version"):
        load_checkpoint(tmp_path / "w.safetensors")
    save_weights(tmp_path / "v.safetensors", {}, {"run": json.dumps({"kind": "zelkova checkpoint 1"})})
    with pytest.raises(CheckpointError, match=r"damaged: its entry `run` .*'number'"):
        load_checkpoint(tmp_path / "v.safetensors")


def test_nothing_intact_is_one_message(tmp_path: Path, make_checkpoint: Make) -> None:
    store = CheckpointStore(tmp_path)
    with pytest.raises(CheckpointError, match="it holds none"):
        store.newest_intact()
    for number in (1, 2):
        store.save(make_checkpoint(number))
        damage(store.path(number), "truncated")
    with pytest.raises(CheckpointError, match=r"no intact checkpoint .*00000002.*00000001"):
        store.newest_intact()


def test_public_checkpoint_3_a_full_disk_harms_nothing(tmp_path: Path, make_checkpoint: Make) -> None:
    store = CheckpointStore(tmp_path)
    for number in (1, 2):
        store.save(make_checkpoint(number))
    program = (
        "import dataclasses, pathlib, resource, sys;"
        "from zelkova.errors import CheckpointError;"
        "from zelkova.learning.checkpoint import CheckpointStore;"
        "store = CheckpointStore(pathlib.Path(sys.argv[1]), keep=1);"
        "third = dataclasses.replace(store.newest_intact().checkpoint, number=3);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "try: store.save(third)\n"
        "except CheckpointError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True
    )
    needed = store.path(2).stat().st_size
    assert done.stdout.startswith("no space to write")
    assert "00000003.safetensors" in done.stdout
    assert f"{needed:,}"[:-2] in done.stdout  # the same size but for a digit or two of its metadata
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "00000001.safetensors",
        "00000002.safetensors",
    ]
    assert store.newest_intact().checkpoint.number == 2


def test_old_ones_go_once_the_new_one_is_complete(
    tmp_path: Path, make_checkpoint: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, checkpoint = CheckpointStore(tmp_path, keep=2, milestone_every=4), make_checkpoint(1)
    for number in range(1, 8):
        store.save(dataclasses.replace(checkpoint, number=number, replay_first=10 * number))
    assert store.numbers() == [4, 6, 7]
    assert store.replay_first() == 60  # the milestone is not gone on from
    assert store.newest_intact().checkpoint.number == 7
    again = CheckpointStore(tmp_path, keep=2)
    again.newest_intact()
    assert again.replay_first() == 60

    def fail(*_: object) -> None:
        raise CheckpointError("no space")

    monkeypatch.setattr("zelkova.learning.checkpoint.save_weights", fail)
    with pytest.raises(CheckpointError, match="no space"):
        store.save(dataclasses.replace(checkpoint, number=8))
    assert store.numbers() == [4, 6, 7]
    with pytest.raises(CheckpointError, match="keep 0"):
        CheckpointStore(tmp_path, keep=0)


def test_verify_passes_a_checkpoint_over(tmp_path: Path, make_checkpoint: Make) -> None:
    store = CheckpointStore(tmp_path)
    for number in (1, 2):
        store.save(make_checkpoint(number))

    def verify(checkpoint: Checkpoint) -> None:
        if checkpoint.number == 2:
            raise CheckpointError("its replay is gone")

    found = store.newest_intact(verify)
    assert (found.checkpoint.number, found.refused) == (1, ("its replay is gone",))


def test_leftovers_and_strangers_are_never_taken_for_checkpoints(
    tmp_path: Path, make_checkpoint: Make
) -> None:
    store = CheckpointStore(tmp_path)
    store.save(make_checkpoint(1))
    (tmp_path / ".00000009.safetensors.tmp").write_bytes(b"half")
    for name in ("9.safetensors", "0000000x.safetensors", "best.safetensors", "00000009.safetensors.bak"):
        (tmp_path / name).write_bytes(b"")
    assert store.numbers() == [1]
    assert [path.name for path in remove_leftovers(tmp_path)] == [".00000009.safetensors.tmp"]
    assert remove_leftovers(tmp_path) == []
    assert store.newest_intact().refused == ()


def test_a_folder_that_can_not_be_made_is_one_message(tmp_path: Path, make_checkpoint: Make) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(CheckpointError, match="can't be made"):
        CheckpointStore(tmp_path / "file" / "checkpoints").save(make_checkpoint(1))


def test_one_run_in_one_folder(tmp_path: Path) -> None:
    program = (
        "import pathlib, sys; from zelkova.learning.lock import RunLock\n"
        "with RunLock(pathlib.Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with (
            pytest.raises(CheckpointError, match=rf"another run \(process {other.pid}\) works in"),
            RunLock(tmp_path),
        ):
            pass
        other.kill()
    with RunLock(tmp_path), pytest.raises(CheckpointError, match=f"process {os.getpid()}"), RunLock(tmp_path):
        pass
    with RunLock(tmp_path):
        assert (tmp_path / "run.lock").read_text() == f"{os.getpid()}\n"
    with pytest.raises(CheckpointError, match="can't be written"), RunLock(tmp_path / "nowhere"):
        pass


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("number", "x"),
        ("steps", -1),
        ("replay_total", None),
        ("generators", {"learning": {"bit_generator": "PCG64", "state": {"state": -1, "inc": 2}}}),
    ],
)
def test_a_sound_file_with_silly_words_is_one_message(
    name: str, value: object, tmp_path: Path, make_checkpoint: Make
) -> None:
    path = tmp_path / "1.safetensors"
    save_checkpoint(path, make_checkpoint(1))
    tensors, words = load_weights(path)
    save_weights(path, tensors, {**words, "run": json.dumps({**json.loads(words["run"]), name: value})})
    with pytest.raises(CheckpointError, match="damaged"):
        load_checkpoint(path)


def test_lines_of_figures_that_can_not_be_read_are_dropped(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path)
    log.path.write_text("[" * 200_000 + '\n{"round": 1}\n{"round": "x"}\n{"round": 2}\n')
    assert log.drop_after(1) == 1
    assert log.path.read_text() == '{"round": 1}\n'
