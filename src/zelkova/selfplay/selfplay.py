"""Self-play: groups of games in threads, one round at a time.

Tree work and network calls release the GIL, so while one group's network computes another group
searches. Rounds are synchronous: nothing waits in a queue, and what a round gives depends on the
weights and the groups' states alone, never on timing.
"""

import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova.agents.rules_model import Evaluator
from zelkova.errors import CheckpointError, ConfigError
from zelkova.games import Game
from zelkova.replay.episode import Episode
from zelkova.selfplay.config import SelfPlayConfig
from zelkova.selfplay.group import Group
from zelkova.selfplay.searchers import Searchers

STEPS_BACK = 4  # of niceness: about 0.4 of the learner's weight


class SelfPlay:
    """All groups of a run."""

    def __init__(self, game: Game, searchers: list[Searchers], config: SelfPlayConfig, seed: int) -> None:
        """Start the games.

        Args:
            game: the rules.
            searchers: one a group.
            config: the layout.
            seed: of the run.
        Raises:
            ConfigError: past_share is set for a game of one player.
        """
        if config.past_share > 0.0 and game.num_players == 1:
            raise ConfigError(
                f"selfplay.past_share is {config.past_share} and {game.name} has one player, so nobody to"
                " play against; next: leave it at 0"
            )
        self.config = config
        self.seconds = 0.0  # spent in rounds
        self.busy_seconds = 0.0  # of these, at least one evaluation was running
        self.moves = 0
        self._counted = [0, 0]  # asked and evaluated by searchers that play no more
        seeds = np.random.SeedSequence([seed, 1]).spawn(config.groups)
        self.groups = [Group(game, own, config, seeds[index], index) for index, own in enumerate(searchers)]
        self._pool = ThreadPoolExecutor(config.groups, thread_name_prefix="selfplay", initializer=step_back)

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown()

    def play_round(self) -> list[Episode]:
        """Let every game make `moves_per_round` moves; give the finished episodes by game number.

        If anything is raised, be it a second Ctrl-C, every group leaves at its next move: the round is lost.
        """
        start = time.perf_counter()
        spans: list[list[tuple[float, float]]] = [[] for _ in self.groups]
        for group, own in zip(self.groups, spans, strict=True):
            for model in group.searchers.models:
                model.busy = own
        try:
            parts = list(self._pool.map(lambda group: group.play(self.config.moves_per_round), self.groups))
        except BaseException:
            self.abandon()
            raise
        self.seconds += time.perf_counter() - start
        self.busy_seconds += union_seconds([span for own in spans for span in own])
        self.moves += self.config.games * self.config.moves_per_round
        return sorted((episode for part in parts for episode in part), key=lambda episode: episode.seed)

    def abandon(self) -> None:
        """Let every group leave at its next move; their games are lost, and this is of no more use."""
        for group in self.groups:
            group.is_abandoned = True

    def forget(self) -> None:
        """Empty every evaluation cache; call it when the engines have new weights."""
        for group in self.groups:
            for model in group.searchers.models:
                model.forget()

    def hand_over(self, searchers: list[Searchers]) -> None:
        """Let others search from now on, in the games that are in play.

        Args:
            searchers: one a group.
        """
        self._counted = list(self.counts())
        for group, own in zip(self.groups, searchers, strict=True):
            for model in own.models:
                model.asked = model.evaluated = 0
            group.searchers = own

    def invite(self, engines: list[Evaluator] | None) -> None:
        """Let an older network, an engine a group, sit in some seats of new games; None: nobody."""
        for index, group in enumerate(self.groups):
            group.has_past = engines is not None
            group.searchers.invite(None if engines is None else engines[index])

    def counts(self) -> tuple[int, int]:
        """Give how many positions were asked of the network so far, and how many it evaluated."""
        models = [model for group in self.groups for model in group.searchers.models]
        asked, evaluated = self._counted
        return (
            asked + sum(model.asked for model in models),
            evaluated + sum(model.evaluated for model in models),
        )

    def state(self) -> tuple[dict[str, NDArray[Any]], list[str]]:
        """Give every group's state: arrays by name, and a text a group."""
        arrays, texts = {}, []
        for index, group in enumerate(self.groups):
            part, text = group.state()
            arrays.update({f"group{index}/{name}": array for name, array in part.items()})
            texts.append(text)
        return arrays, texts

    def set_state(self, arrays: dict[str, NDArray[Any]], texts: list[str]) -> None:
        """Go on from a state that `state` gave.

        Raises:
            CheckpointError: it is of another layout.
        """
        if len(texts) != len(self.groups):
            raise CheckpointError(
                f"the state is of {len(texts)} groups, this run has {len(self.groups)};"
                " resume with the settings that the run was started with"
            )
        for index, (group, text) in enumerate(zip(self.groups, texts, strict=True)):
            prefix = f"group{index}/"
            part = {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
            group.set_state(part, text)


def step_back() -> None:
    """Let the calling thread yield to the learner's, where the system has a niceness for each thread.

    A round ends when self-play and learning both have. The learner can't be split over cores, so it must not
    be the one that is left: with three equal threads on two cores it finished last, with one core idle.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, min(os.getpriority(os.PRIO_PROCESS, thread) + STEPS_BACK, 19))


def union_seconds(spans: list[tuple[float, float]]) -> float:
    """Give the length of the union of time spans (start, end), in their unit."""
    total, reached = 0.0, -np.inf
    for start, end in sorted(spans):
        if end > reached:
            total += end - max(start, reached)
            reached = end
    return float(total)
