"""Weight files: safetensors, written all or not at all, and checked in full when read.

A file holds tensors and a description in words (game, network, config). Its metadata carries a
SHA-256 over both, so that a file that was cut short or edited is refused. Nothing in a file is ever
executed: pickles are recognised by their first bytes and never opened. The same tensors and
description give the same bytes.
"""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from zelkova.errors import CheckpointError

KEY = "zelkova"  # the one metadata entry of the file: JSON with the description and the checksum
LENGTH_BYTES = 8  # a safetensors file begins with the length of its header in this many bytes
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
FOREIGN = {
    b"PK\x03\x04": "a zip archive, as torch.save writes (it holds a pickle, which could run code)",
    b"\x80": "a Python pickle (which could run code)",
    b"\x89HDF": "an HDF5 file",
    b"\x93NUMPY": "a NumPy array",
    b"version https://git-lfs": "a Git LFS pointer, not the file it points at",
}


def save_weights(path: str | Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write tensors and their description to a file; an older file stays whole until the new one is.

    Args:
        path: the file; its folder exists.
        tensors: by name, any shape and dtype; shared storage is written once for each name.
        metadata: the description, words to words.
    Raises:
        CheckpointError: no space, no permission, no such folder; an older file is as it was.
    """
    flat = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    described = {"metadata": dict(metadata), "sha256": _checksum(flat, metadata)}
    text = json.dumps(described, sort_keys=True, ensure_ascii=True)
    write_atomically(path, safetensors.torch.save(flat, {KEY: text}))


def load_weights(path: str | Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read a file that save_weights wrote: its tensors, on the CPU, and its description.

    Args:
        path: the file.
    Raises:
        CheckpointError: the file is missing, cut short, edited or foreign; the message says which.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(f"{path} does not exist; list its folder for the files that do") from None
    except OSError as error:
        raise CheckpointError(
            f"{path} can't be read: {error.strerror}; give the path of a weight file"
        ) from error
    metadata, checksum = _read_description(path, data)
    try:
        tensors = safetensors.torch.load(data)
    except SafetensorError as error:
        raise _damaged(path, f"it is cut short or edited ({error}; {len(data):,} bytes)") from error
    if _checksum(tensors, metadata) != checksum:
        raise _damaged(path, "its checksum does not fit its content")
    return tensors, metadata


def fill_module(module: nn.Module, tensors: Mapping[str, Tensor], origin: str | Path) -> None:
    """Put loaded tensors into a module that has just these names and shapes.

    Args:
        module: changed in place.
        tensors: by the names of module.state_dict().
        origin: where they come from, for the message.
    Raises:
        CheckpointError: a name is missing or unknown, or a shape differs; the module is as it was.
    """
    own = module.state_dict()
    wrong = [f"`{name}` is missing" for name in own if name not in tensors]
    wrong += [f"`{name}` is unknown" for name in tensors if name not in own]
    wrong += [
        f"`{name}` has shape {tuple(tensors[name].shape)}, not {tuple(tensor.shape)}"
        for name, tensor in own.items()
        if name in tensors and tensors[name].shape != tensor.shape
    ]
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise CheckpointError(
            f"{origin} holds another network: {'; '.join(wrong[:3])}{more};"
            " use the game and network settings that it was trained with"
        )
    module.load_state_dict(tensors)


def write_atomically(path: str | Path, data: bytes) -> None:
    """Write a file so that at any moment, power cuts included, the old or the new one is there whole.

    Args:
        path: the file; its folder exists.
        data: its content.
    Raises:
        CheckpointError: it can't be written; the temporary file is gone and an older file is as it was.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
            _sync_folder(path.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        if error.errno in NO_SPACE:
            raise CheckpointError(
                f"no space to write {path}: it needs {len(data):,} bytes and"
                f" {_free_bytes(path.parent):,} are free ({error.strerror});"
                " older files are untouched; free some space and resume"
            ) from error
        raise CheckpointError(
            f"{path} can't be written: {error.strerror};"
            " give a folder that exists and can be written with --out"
        ) from error


def _sync_folder(folder: Path) -> None:
    """Make a rename in the folder last, where the system can (Windows can't open a folder)."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _free_bytes(folder: Path) -> int:
    """Count the bytes that are free where the folder lies; 0 if that can't be told."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0


def _damaged(path: Path, what: str) -> CheckpointError:
    return CheckpointError(f"{path} is damaged: {what}; use an older checkpoint, or copy the file again")


def _read_description(path: Path, data: bytes) -> tuple[dict[str, str], str]:
    """Read the header's JSON and find our entry in it; the tensors are not looked at."""
    for magic, kind in FOREIGN.items():
        if data.startswith(magic) and data[LENGTH_BYTES : LENGTH_BYTES + 1] != b"{":
            raise CheckpointError(
                f"{path} is {kind}; it was not opened; allowed: files that zelkova has written"
            )
    length = int.from_bytes(data[:LENGTH_BYTES], "little")
    if len(data) < LENGTH_BYTES + length:
        raise _damaged(path, f"it is cut short ({len(data):,} bytes) or no safetensors file")
    try:
        header = json.loads(data[LENGTH_BYTES : LENGTH_BYTES + length])
        text = header.get("__metadata__", {}).get(KEY)
        described = None if text is None else json.loads(text)
    except (ValueError, AttributeError, RecursionError) as error:
        raise _damaged(path, "its header can't be read") from error
    if described is None:
        raise CheckpointError(
            f"{path} was not written by zelkova; allowed: weight files of a run or an export"
        )
    metadata = described.get("metadata") if isinstance(described, dict) else None
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise _damaged(path, "its description can't be read")
    return metadata, str(described.get("sha256"))


def _checksum(tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> str:
    """Take the SHA-256 of every name, dtype, shape and value, and of the description."""
    digest = hashlib.sha256(json.dumps(dict(metadata), sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        digest.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        if tensor.numel():  # PyTorch can't see an empty one as bytes
            digest.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
