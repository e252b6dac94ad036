"""A replay filled from its chunks is the replay that was never stopped."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.replay.games import WIDTH, WORDS, make_episode

from zelkova.errors import CheckpointError
from zelkova.learning.chunks import ChunkStore, Packing
from zelkova.networks.weights import load_weights, save_weights
from zelkova.replay.buffer import ReplayBuffer
from zelkova.replay.choices.rows import Choices, pad_rows
from zelkova.replay.config import ReplayConfig
from zelkova.replay.episode import Episode
from zelkova.replay.packing import pack_episodes, unpack_episodes

CONFIG = ReplayConfig(capacity=150, min_window=60)
PACKING = Packing(pack_episodes, unpack_episodes)


def make_buffer() -> ReplayBuffer:
    return ReplayBuffer(CONFIG, WORDS, WIDTH, 2)


def round_of(number: int) -> Sequence[Episode]:
    return [make_episode(10 * number + game, moves=5 + game + number % 3, recorded=0.8) for game in range(3)]


def play(folder: Path, rounds: int, prune: bool = True) -> tuple[ReplayBuffer, ChunkStore, dict[int, int]]:
    """Play rounds 1.., writing chunks; give the buffer, the store and the total after each round."""
    buffer, store, totals = make_buffer(), ChunkStore(folder, PACKING), dict[int, int]()
    for number in range(1, rounds + 1):
        first = buffer.total_added
        for episode in round_of(number):
            buffer.add(episode)
        store.save(number, round_of(number), first)
        totals[number] = buffer.total_added
        if prune:
            store.prune(buffer.first)
    return buffer, store, totals


def assert_same(one: ReplayBuffer, other: ReplayBuffer) -> None:
    assert (len(one), one.first, one.total_added) == (len(other), other.first, other.total_added)
    for ours, theirs in zip(one.window_rows(), other.window_rows(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    drawn = one.sample(64, np.random.default_rng(1)), other.sample(64, np.random.default_rng(1))
    for ours, theirs in zip(*drawn, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("rounds", [1, 3, 12])
def test_filled_again_bit_for_bit_and_goes_on_alike(tmp_path: Path, rounds: int) -> None:
    straight, _, totals = play(tmp_path, rounds)
    again, store = make_buffer(), ChunkStore(tmp_path, PACKING)
    store.fill(again, rounds, totals[rounds] - CONFIG.window(totals[rounds]), totals[rounds])
    assert_same(again, straight)
    for buffer in (again, straight):
        for episode in round_of(99):
            buffer.add(episode)
    assert_same(again, straight)


def test_the_disk_keeps_the_window_and_little_more(tmp_path: Path) -> None:
    buffer, store, _ = play(tmp_path, 20)
    left = sorted(int(path.stem) for path in tmp_path.glob("*.safetensors"))
    assert left == list(range(left[0], 21))
    assert store.load(left[0])[1] <= buffer.first < store.load(left[1])[1]


def test_an_older_round_is_filled_from_what_it_needs(tmp_path: Path) -> None:
    """Later chunks, and damage outside the window, are left alone."""
    _, store, totals = play(tmp_path, 12, prune=False)
    shorter, _, _ = play(tmp_path / "shorter", 8)
    store.path(1).write_bytes(b"damaged")
    store.path(2).unlink()
    again = make_buffer()
    ChunkStore(tmp_path, PACKING).fill(again, 8, totals[8] - CONFIG.window(totals[8]), totals[8])
    assert_same(again, shorter)
    assert store.path(12).exists()


@pytest.mark.parametrize("kind", ["truncated", "bit flipped", "weights", "other fields"])
def test_damage_within_the_window_names_the_chunk(tmp_path: Path, kind: str) -> None:
    _, store, totals = play(tmp_path, 12)
    path = store.path(11)
    data = bytearray(path.read_bytes())
    if kind == "truncated":
        path.write_bytes(bytes(data[:100]))
    elif kind == "bit flipped":
        data[-3] ^= 1
        path.write_bytes(bytes(data))
    elif kind == "weights":
        save_weights(path, {"a": torch.zeros(2)}, {})
    else:
        save_weights(path, {"a": torch.zeros(2)}, {"replay": '{"kind": "zelkova replay 1", "first": 0}'})
    with pytest.raises(CheckpointError, match=r"00000011\.safetensors"):
        ChunkStore(tmp_path, PACKING).fill(
            make_buffer(), 12, totals[12] - CONFIG.window(totals[12]), totals[12]
        )


def test_chunks_of_the_version_before_are_read_and_unknown_ones_are_not(tmp_path: Path) -> None:
    """Their policies were padded; a window may begin with such files and end with newer ones."""
    straight, store, totals = play(tmp_path, 12)
    for number in (9, 10, 11):
        tensors, metadata = load_weights(store.path(number))
        count, legal, policy = (tensors.pop(name).numpy() for name in Choices._fields)
        rows = pad_rows(Choices(count, legal, policy), WIDTH)
        tensors |= {name: torch.from_numpy(row) for name, row in zip(("legal", "policy"), rows, strict=True)}
        save_weights(
            store.path(number), tensors, {"replay": metadata["replay"].replace("replay 2", "replay 1")}
        )
    again = make_buffer()
    first = totals[12] - CONFIG.window(totals[12])
    ChunkStore(tmp_path, PACKING).fill(again, 12, first, totals[12])
    assert_same(again, straight)
    save_weights(store.path(11), tensors, {"replay": '{"kind": "zelkova replay 9", "first": 0}'})
    with pytest.raises(CheckpointError, match="'zelkova replay 9', allowed: .* next: go on with the version"):
        store.load(11)


def test_a_smaller_window_takes_the_newest(tmp_path: Path) -> None:
    straight, store, totals = play(tmp_path, 12)
    smaller = ReplayBuffer(replace(CONFIG, capacity=9, min_window=9), WORDS, WIDTH, 2)
    store.fill(smaller, 12, straight.first, totals[12])
    assert (len(smaller), smaller.first, smaller.total_added) == (9, totals[12] - 9, totals[12])
    for ours, theirs in zip(smaller.window_rows(), straight.window_rows(), strict=True):
        np.testing.assert_array_equal(ours, np.asarray(theirs)[-9:])
    store.path(11).unlink()  # and needs no older chunk than it reads
    store.fill(smaller, 12, straight.first, totals[12])
    assert smaller.first == totals[12] - 9


def test_a_missing_chunk_is_said(tmp_path: Path) -> None:
    _, store, totals = play(tmp_path, 12)
    store.path(11).unlink()
    with pytest.raises(CheckpointError, match=r"lacks positions: round 12 needs \d+ to \d+, found"):
        ChunkStore(tmp_path, PACKING).fill(
            make_buffer(), 12, totals[12] - CONFIG.window(totals[12]), totals[12]
        )
    with pytest.raises(CheckpointError, match="lacks positions"):
        ChunkStore(tmp_path / "nowhere", PACKING).fill(
            make_buffer(), 12, totals[12] - CONFIG.window(totals[12]), totals[12]
        )


def test_a_run_of_no_positions_needs_no_chunk(tmp_path: Path) -> None:
    buffer = make_buffer()
    ChunkStore(tmp_path, PACKING).fill(buffer, 0, 0, 0)
    assert (len(buffer), buffer.total_added) == (0, 0)
