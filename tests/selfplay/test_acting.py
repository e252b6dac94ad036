"""Acting in environments: parts of an episode are the episode."""

import itertools

import numpy as np

from zelkova.config import load_config
from zelkova.replay.trajectory import Trajectory
from zelkova.wheel.learned import LearnedWheel

TINY = ("size=tiny", "selfplay.moves_per_round=60", "unroll.td_steps=2", "unroll.unroll_steps=1")


def play(segment: int) -> list[Trajectory]:
    wheel = LearnedWheel(load_config("gumbel-muzero-cartpole", [*TINY, f"unroll.segment={segment}"]))
    episodes = wheel.selfplay.play_round()
    wheel.close()
    return episodes


def test_parts_record_each_decision_once_and_carry_what_their_targets_reach() -> None:
    whole, parts = {episode.seed: episode for episode in play(0)}, play(4)
    assert len(parts) > len(whole) > 1
    for seed, episode in whole.items():
        own = [part for part in parts if part.seed == seed]
        for name in ("observations", "actions", "rewards", "policy", "root_values"):
            joined = np.concatenate([getattr(part, name)[: part.recorded] for part in own])
            np.testing.assert_array_equal(joined, getattr(episode, name)[: len(episode)], err_msg=name)
        assert [part.terminated for part in own] == [False] * (len(own) - 1) + [episode.terminated]
        for part, following in itertools.pairwise(own):
            assert (part.recorded, len(part)) == (4, 7)
            np.testing.assert_array_equal(part.actions[4:], following.actions[:3])
