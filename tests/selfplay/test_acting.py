"""Acting in environments: parts of an episode are the episode."""

import itertools
from typing import Any

import numpy as np

from zelkova.config import load_config
from zelkova.replay.trajectory import Trajectory
from zelkova.selfplay.acting import Actors
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


def heats(segment: int) -> list[list[float]]:
    """Give the temperatures of a round's searches."""
    settings = [*TINY, f"unroll.segment={segment}", "selfplay.exploration_moves=8"]
    wheel = LearnedWheel(load_config("gumbel-muzero-cartpole", settings))
    found: list[list[float]] = []
    search = wheel.agent.search

    def watch(*seen: Any, temperature: Any, **others: Any) -> Any:
        found.append(temperature.tolist())
        return search(*seen, temperature=temperature, **others)

    wheel.agent.search = watch  # type: ignore[method-assign, assignment]
    wheel.selfplay.play_round()
    wheel.close()
    return found


def test_an_episode_is_not_young_again_where_a_part_of_it_was_handed_on() -> None:
    whole = heats(0)
    assert heats(4) == whole
    assert {heat for row in whole for heat in row} == {0.0, 1.0}


def test_a_saved_state_knows_how_old_episodes_are() -> None:
    settings = [*TINY, "unroll.segment=4", "selfplay.moves_per_round=13"]
    one, other = (LearnedWheel(load_config("gumbel-muzero-cartpole", settings)) for _ in range(2))
    assert isinstance(one.selfplay, Actors)
    assert isinstance(other.selfplay, Actors)
    one.selfplay.play_round()
    other.selfplay.set_state(*one.selfplay.state())
    ages = [episode.age for episode in one.selfplay.episodes]
    assert max(ages) > max(len(episode) for episode in one.selfplay.episodes)
    assert [episode.age for episode in other.selfplay.episodes] == ages
    one.close()
    other.close()
