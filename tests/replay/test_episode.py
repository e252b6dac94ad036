import dataclasses
from typing import Any

import numpy as np
import pytest
from tests.replay.games import WIDTH, make_episode

from zelkova.errors import ShapeError
from zelkova.replay.choices.rows import Choices, pad_rows
from zelkova.replay.packing import pack_episodes, unpack_episodes

CHOICES = len(make_episode(1).legal)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("states", np.zeros((12, 3), np.int64), "states is int64"),
        ("to_play", np.zeros(11, np.int8), r"to_play is int8\[11\]; expected int8\[12\]"),
        ("policy", np.zeros(4, np.float32), "policy is"),
        ("counts", np.zeros(12, np.int16), "counts is int16"),
        ("root_values", np.zeros((12, 3), np.float32), "root_values is"),
        ("recorded", np.ones(12, np.int8), "recorded is int8"),
        ("policy", np.full(CHOICES, 0.1, np.float32), "move 0: .* sums to 1"),
        ("policy", np.full(CHOICES, np.nan, np.float32), "move 0: .* sums to 1"),
        ("legal", np.full(CHOICES, -1, np.int32), "a recorded move needs a legal action"),
        ("to_play", np.full(12, 2, np.int8), r"to_play in 0\.\.1"),
        ("root_values", np.full((12, 2), np.nan, np.float32), "finite values"),
    ],
)
def test_arrays_that_do_not_fit_are_named(field: str, value: Any, said: str) -> None:
    with pytest.raises(ShapeError, match=said):
        dataclasses.replace(make_episode(1), **{field: value})


def test_a_row_that_is_not_recorded_may_hold_anything() -> None:
    policy = make_episode(1).policy.copy()
    begin = int(make_episode(1).counts[:3].sum())
    policy[begin : begin + int(make_episode(1).counts[3])] = 9.0
    recorded = np.arange(12) != 3
    episode = dataclasses.replace(make_episode(1), policy=policy, recorded=recorded)
    assert (len(episode), episode.num_recorded) == (12, 11)


def test_packing_and_unpacking_change_nothing() -> None:
    episodes = [make_episode(seed, moves=4 + seed, recorded=0.5) for seed in range(3)]
    again = unpack_episodes(pack_episodes(episodes))
    assert [e.seed for e in again] == [0, 1, 2]
    for old, new in zip(episodes, again, strict=True):
        for field in dataclasses.fields(old):
            np.testing.assert_array_equal(getattr(old, field.name), getattr(new, field.name))


def test_games_that_older_versions_padded_are_read_alike() -> None:
    episodes = [make_episode(seed, moves=4 + seed, recorded=0.5) for seed in range(3)]
    packed = pack_episodes(episodes)
    ragged = Choices(*(packed.pop(name) for name in Choices._fields))  # type: ignore[arg-type]
    packed["legal"], packed["policy"] = pad_rows(ragged, WIDTH)
    for old, new in zip(episodes, unpack_episodes(packed), strict=True):
        for field in dataclasses.fields(old):
            np.testing.assert_array_equal(getattr(old, field.name), getattr(new, field.name))
    with pytest.raises(ShapeError, match=r"two arrays of one \[T, M\]"):
        unpack_episodes({**packed, "legal": packed["legal"][:, 1:]})


def test_packed_games_that_do_not_add_up_are_refused() -> None:
    packed = pack_episodes([make_episode(0), make_episode(1)])
    with pytest.raises(ShapeError, match="24 moves by their lengths"):
        unpack_episodes({**packed, "states": packed["states"][:-1]})
    with pytest.raises(ShapeError, match="legal actions by their counts"):
        unpack_episodes({**packed, "policy": packed["policy"][:-1]})
    with pytest.raises(ShapeError, match="have the fields"):
        unpack_episodes({name: array for name, array in packed.items() if name != "legal"})
    with pytest.raises(ShapeError, match="can't be joined"):
        pack_episodes([make_episode(0), make_episode(1, players=3)])
