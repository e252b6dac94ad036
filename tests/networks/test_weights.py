"""Weight files: whole, checked, and never executed."""

import errno
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

from zelkova.errors import CheckpointError
from zelkova.networks.build import build_network
from zelkova.networks.config import NetworkConfig
from zelkova.networks.weights import fill_module, load_weights, save_weights

METADATA = {"game": "connect_four", "step": "12", "네트워크": "residual"}


def some_tensors() -> dict[str, torch.Tensor]:
    """Make tensors of several shapes and types, two of which share their storage."""
    base = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    return {
        "matrix": base,
        "turned": base.T,
        "count": torch.tensor(7),
        "half": torch.ones(3, dtype=torch.bfloat16),
        "empty": torch.zeros(0, 2),
        "mask": torch.tensor([True, False]),
    }


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Give an intact weight file."""
    path = tmp_path / "weights.safetensors"
    save_weights(path, some_tensors(), METADATA)
    return path


def test_round_trip(saved: Path) -> None:
    tensors, metadata = load_weights(saved)
    assert metadata == METADATA
    assert tensors.keys() == some_tensors().keys()
    for name, tensor in some_tensors().items():
        assert tensors[name].dtype == tensor.dtype
        assert torch.equal(tensors[name], tensor)


def test_same_content_gives_the_same_bytes(saved: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.safetensors"
    save_weights(again, dict(reversed(some_tensors().items())), dict(reversed(METADATA.items())))
    assert again.read_bytes() == saved.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.safetensors", "weights.safetensors"]


def test_every_truncation_is_refused(saved: Path) -> None:
    data = saved.read_bytes()
    for length in [0, 1, 7, 8, 100, len(data) // 2, len(data) - 1]:
        saved.write_bytes(data[:length])
        with pytest.raises(CheckpointError, match=f"(?s){saved.name} is damaged.*older checkpoint"):
            load_weights(saved)


def test_every_edited_byte_of_the_content_is_refused(saved: Path) -> None:
    data = bytearray(saved.read_bytes())
    end = 8 + int.from_bytes(data[:8], "little")
    for place in [*range(end, len(data), 5), *range(9, end - 8, 3)]:
        edited = data.copy()
        edited[place] ^= 1
        saved.write_bytes(edited)
        with pytest.raises(CheckpointError, match=saved.name):
            load_weights(saved)


class Bomb:
    """Leaves a file behind if anybody unpickles it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize(
    "kind", ["pickle", "torch", "numpy", "other_safetensors", "text", "lfs", "huge_header"]
)
def test_foreign_files_are_refused_and_not_executed(tmp_path: Path, kind: str) -> None:
    path, trace = tmp_path / "foreign.safetensors", tmp_path / "executed"
    if kind == "pickle":
        path.write_bytes(pickle.dumps(Bomb(trace)))
    elif kind == "torch":
        torch.save({"weights": Bomb(trace)}, path)
    elif kind == "numpy":
        with path.open("wb") as file:
            np.save(file, np.ones(3))
    elif kind == "other_safetensors":
        path.write_bytes(safetensors.torch.save({"weight": torch.ones(3)}, {"format": "pt"}))
    elif kind == "text":
        path.write_text("these are not weights, whatever the name says")
    elif kind == "lfs":
        path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    else:
        path.write_bytes((2**60).to_bytes(8, "little") + b"{}")
    with pytest.raises(CheckpointError, match="foreign.safetensors"):
        load_weights(path)
    assert not trace.exists()


def test_missing_file_and_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="nowhere.safetensors does not exist"):
        load_weights(tmp_path / "nowhere.safetensors")
    with pytest.raises(CheckpointError, match="can't be read"):
        load_weights(tmp_path)
    with pytest.raises(CheckpointError, match="can't be written: No such file or directory"):
        save_weights(tmp_path / "missing" / "weights.safetensors", some_tensors(), {})


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_full_disk_leaves_the_older_file(saved: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    before = saved.read_bytes()

    def fail(handle: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(
        CheckpointError, match=r"no space to write .*weights.safetensors: it needs [\d,]+ bytes"
    ):
        save_weights(saved, {"other": torch.ones(9)}, {})
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


@pytest.mark.skipif(os.name != "posix", reason="file-size limits are a POSIX thing")
def test_file_size_limit_leaves_the_older_file(saved: Path) -> None:
    before = saved.read_bytes()
    program = (
        "import resource, sys, torch\n"
        "from zelkova.networks.weights import save_weights\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "save_weights(sys.argv[1], {'large': torch.ones(100_000)}, {})\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(saved)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "CheckpointError: no space to write" in ended.stderr
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_module_is_filled_only_by_its_own_network() -> None:
    small, same, other = (
        build_network(NetworkConfig(channels=channels, blocks=1), (3, 6, 7), 7, 2, True, seed=seed)
        for channels, seed in ((8, 0), (8, 1), (16, 0))
    )
    fill_module(same, small.state_dict(), "a.safetensors")
    assert all(torch.equal(tensor, small.state_dict()[name]) for name, tensor in same.state_dict().items())
    with pytest.raises(CheckpointError, match=r"b.safetensors holds another network: .*and \d+ more"):
        fill_module(same, other.state_dict(), "b.safetensors")
    partial = small.state_dict()
    del partial["stem.0.weight"]
    with pytest.raises(CheckpointError, match=r"`stem.0.weight` is missing"):
        fill_module(same, {**partial, "extra": torch.ones(1)}, "c.safetensors")
