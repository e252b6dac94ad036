"""Ragged legal actions and policies against plain lists and padded rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from zelkova.replay.buffer import ReplayBuffer
from zelkova.replay.choices import ring
from zelkova.replay.choices.ring import ChoiceRing
from zelkova.replay.choices.rows import Choices, gather_rows, narrow, pad_rows
from zelkova.replay.config import ReplayConfig
from zelkova.replay.episode import Episode


def draw(seed: int, counts: list[int], actions: int) -> Choices:
    """Draw choices of as many positions as there are counts; actions below a number."""
    rng, total = np.random.default_rng([3, seed]), sum(counts)
    legal = rng.integers(0, actions, total).astype(np.int32)
    return Choices(np.array(counts, np.int32), legal, rng.random(total).astype(np.float32))


@settings(max_examples=60, deadline=None)
@given(
    games=st.lists(st.lists(st.integers(0, 6), max_size=5), max_size=30),
    window=st.integers(1, 12),
    actions=st.sampled_from([[9], [9, 300], [300, 40_000, 9]]),
)
def test_the_ring_is_a_list_cut_at_the_front(games: list[list[int]], window: int, actions: list[int]) -> None:
    """It wraps around, grows while it does, and takes wider actions on the way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ring, "FIRST_ALLOCATION", 2)
        held, plain = ChoiceRing(6 * window), list[tuple[int, NDArray[np.int32], NDArray[np.float32]]]()
    for seed, counts in enumerate(games):
        came = draw(seed, counts[-window:], actions[seed % len(actions)])
        plain = plain[max(0, len(plain) + len(came.counts) - window) :]
        held.drop_before(plain[0][0] if plain else None)
        start = held.add(came.legal, came.policy)
        for begin, count in zip(np.cumsum(came.counts) - came.counts, came.counts, strict=True):
            own = slice(begin, begin + count)
            plain.append((start + int(begin), came.legal[own], came.policy[own]))
        starts = np.array([row[0] for row in plain], np.int64)
        lengths = np.array([len(row[1]) for row in plain], np.int32)
        legal, policy = held.take(starts, lengths, 7)
        for row, (_, own_legal, own_policy) in enumerate(plain):
            assert legal[row].tolist() == own_legal.tolist() + [-1] * (7 - lengths[row])
            assert policy[row].tolist() == own_policy.tolist() + [0.0] * (7 - lengths[row])
    assert held.nbytes <= 8 * max(6 * window, 2)


def test_padding_comes_and_goes() -> None:
    found = draw(0, [2, 0, 3, 1], 50)
    legal, policy = pad_rows(found, 4)
    assert legal.dtype == np.int32
    assert policy.dtype == np.float32
    assert ((legal >= 0).sum(axis=1) == found.counts).all()
    assert (policy[legal < 0] == 0.0).all()
    again = gather_rows(legal.reshape(2, 2, 4), policy.reshape(2, 2, 4), found.counts.reshape(2, 2))
    assert again.counts.tolist() == found.counts.reshape(2, 2).tolist()
    np.testing.assert_array_equal(again.legal, found.legal)
    np.testing.assert_array_equal(again.policy, found.policy)
    assert pad_rows(draw(0, [], 9), 4)[0].shape == (0, 4)


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [([], np.uint8), ([255], np.uint8), ([256], np.int16), ([-1, 3], np.int16), ([32_768], np.int32)],
)
def test_the_narrowest_type_that_holds_them(numbers: list[int], kind: type[np.generic]) -> None:
    found = narrow(np.array(numbers, np.int32))
    assert found.dtype == kind
    assert found.tolist() == numbers


def test_a_wide_game_is_as_large_as_its_positions() -> None:
    """At most 1,024 legal actions and 90 in a position: 6 bytes each and at most a quarter beside."""
    buffer, moves = ReplayBuffer(ReplayConfig(capacity=2_000, min_window=2_000), 19, 1_024, 3), 500
    for seed in range(9):
        found = draw(seed, [90] * moves, 2_187)
        policy = found.policy.reshape(moves, 90)
        buffer.add(
            Episode(
                seed=seed,
                states=np.zeros((moves, 19), np.uint64),
                to_play=np.zeros(moves, np.int8),
                actions=np.zeros(moves, np.int32),
                counts=found.counts,
                legal=found.legal,
                policy=(policy / policy.sum(axis=1, keepdims=True)).ravel(),
                root_values=np.zeros((moves, 3), np.float32),
                returns=np.zeros(3, np.float32),
                recorded=np.ones(moves, np.bool_),
            )
        )
    assert len(buffer) == 2_000
    fixed = 19 * 8 + 1 + 8 + 4 + 12 + 12 + 4
    assert buffer.nbytes / 2_000 <= fixed + 1.25 * 6 * 90 + 1
    assert buffer.sample(4, np.random.default_rng(0)).legal.shape == (4, 1_024)
