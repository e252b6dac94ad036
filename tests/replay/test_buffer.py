import gc
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.replay.games import WIDTH, WORDS, make_episode

from zelkova.errors import ConfigError, ShapeError
from zelkova.replay.buffer import Batch, ReplayBuffer
from zelkova.replay.config import ReplayConfig
from zelkova.replay.episode import Episode


def make_buffer(config: ReplayConfig, players: int = 2) -> ReplayBuffer:
    return ReplayBuffer(config, WORDS, WIDTH, players)


class ListReplay:
    """The plainest buffer there is: a list that is cut at the front."""

    def __init__(self, config: ReplayConfig) -> None:
        self.config, self.rows, self.total = config, list[tuple[Any, ...]](), 0

    def add(self, e: Episode) -> None:
        for t in np.flatnonzero(e.recorded):
            legal, policy = np.full(WIDTH, -1), np.zeros(WIDTH)
            legal[: e.counts[t]], policy[: e.counts[t]] = e.choices(int(t))
            row = (e.states[t], e.to_play[t], legal, policy, e.root_values[t], e.returns)
            self.rows.append((*row, np.float32(t / len(e)), np.zeros(0)))
            self.total += 1
        self.rows = self.rows[len(self.rows) - min(len(self.rows), self.config.window(self.total)) :]


def assert_same(batch: Batch, rows: list[tuple[Any, ...]]) -> None:
    columns: tuple[NDArray[Any], ...] = batch
    for column, array in enumerate(columns):
        expected = np.array([row[column] for row in rows]).reshape(array.shape)
        np.testing.assert_array_equal(array, expected)


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 40), max_size=25),
    capacity=st.integers(1, 90),
    min_window=st.integers(1, 60),
    recorded=st.sampled_from([1.0, 0.4]),
)
def test_the_ring_is_a_list_cut_at_the_front(
    lengths: list[int], capacity: int, min_window: int, recorded: float
) -> None:
    config = ReplayConfig(capacity=capacity, min_window=min_window)
    ring, plain = make_buffer(config), ListReplay(config)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zelkova.replay.buffer.FIRST_ALLOCATION", 3)
        ring = make_buffer(config)
        for seed, moves in enumerate(lengths):
            episode = make_episode(seed, moves, recorded=recorded)
            assert ring.add(episode) == episode.num_recorded
            plain.add(episode)
            assert (len(ring), ring.total_added) == (len(plain.rows), plain.total)
            assert len(ring) <= capacity
            assert ring.first == plain.total - len(plain.rows)
    assert_same(ring.window_rows(), plain.rows)
    if plain.rows:
        ages = np.random.default_rng(5).integers(0, len(plain.rows), 17)
        assert_same(ring.sample(17, np.random.default_rng(5)), [plain.rows[age] for age in ages])


def test_sampling_is_uniform_over_the_window() -> None:
    buffer = make_buffer(ReplayConfig(capacity=10, min_window=10))
    episode = make_episode(3, moves=25)
    buffer.add(episode)
    drawn = buffer.sample(20_000, np.random.default_rng(0)).states[:, 0]
    counts = np.array([np.count_nonzero(drawn == word) for word in episode.states[15:, 0]])
    assert counts.sum() == 20_000  # the newest ten and nothing else
    assert np.abs(counts - 2000).max() < 5 * np.sqrt(2000 * 0.9)


def test_the_window_grows_as_said_and_never_lets_a_position_return() -> None:
    config = ReplayConfig(capacity=200_000, min_window=20_000)
    assert config.window(0) == 0
    assert config.window(20_000) == 20_000
    assert config.window(320_000) == 94_666  # 20000 (1 + .4 (16^.75 - 1) / .75) = 20000 * 4.7333
    assert config.window(10**9) == 200_000
    starts = [total - config.window(total) for total in range(0, 400_000, 7)]
    assert starts == sorted(starts)
    everything = ReplayConfig(capacity=10**9, min_window=7, window_exponent=1.0, window_scale=1.0)
    assert all(everything.window(total) == total for total in range(0, 100_000, 13))


def test_public_learning_3_memory_stays_flat() -> None:
    """Capacity 1000, 20000 positions of 9x9 Go: nothing piles up, since there is no queue to pile up in."""
    config = ReplayConfig(capacity=1000, min_window=1000)
    buffer = ReplayBuffer(config, words=40, max_actions=82, num_players=2)
    moves, memory, held = 100, list[int](), list[int]()
    tracemalloc.start()
    for seed in range(200):
        rng = np.random.default_rng(seed)
        buffer.add(
            Episode(
                seed=seed,
                states=rng.integers(0, 2**60, (moves, 40)).astype(np.uint64),
                to_play=(np.arange(moves) % 2).astype(np.int8),
                actions=np.zeros(moves, np.int32),
                counts=np.full(moves, 82, np.int32),
                legal=np.tile(np.arange(82, dtype=np.int32), moves),
                policy=rng.dirichlet(np.ones(82), moves).astype(np.float32).ravel(),
                root_values=np.zeros((moves, 2), np.float32),
                returns=np.array([1, -1], np.float32),
                recorded=np.ones(moves, np.bool_),
            )
        )
        held.append(len(buffer))
        if seed in (49, 199):
            gc.collect()
            memory += [buffer.nbytes, tracemalloc.get_traced_memory()[0]]
    tracemalloc.stop()
    assert max(held) == 1000
    assert buffer.total_added == 20_000
    assert memory[2] == memory[0] <= 1_024 * 1_100
    assert memory[3] <= memory[1] + 50_000  # an episode is 100 kB


def test_other_widths_and_an_empty_buffer_are_refused() -> None:
    buffer = make_buffer(ReplayConfig())
    with pytest.raises(ShapeError, match="empty replay buffer"):
        buffer.sample(4, np.random.default_rng(0))
    with pytest.raises(ShapeError, match=r"episode 1 has .* \(3, 3\)"):
        buffer.add(make_episode(1, players=3))
    narrow = ReplayBuffer(ReplayConfig(), WORDS, 4, 2)
    with pytest.raises(ShapeError, match="up to 5 legal actions; .* up to 4"):
        narrow.add(make_episode(1))


def test_settings_out_of_range_are_named() -> None:
    for wrong in ({"capacity": 0}, {"min_window": 2.5}, {"window_exponent": 1.5}, {"window_scale": 0}):
        with pytest.raises(ConfigError, match=rf"replay\.{next(iter(wrong))}"):
            ReplayConfig(**wrong)
