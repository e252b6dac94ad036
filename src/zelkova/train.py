"""The wheel of training, on one page: play, keep, learn, measure, save, and again with new weights.

    rules -> search -> self-play -> replay -> learning -> new weights
                                                 '-> ratings, checkpoints

A round is fixed by counts alone: so many moves of self-play, so many samples a new position. The
clock only decides when to stop, and a checkpoint holds all that the next round depends on. So a run
that was killed and resumed goes on exactly as one that was never stopped.
"""

import dataclasses
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova import games
from zelkova.agents import kernels
from zelkova.config import RunConfig
from zelkova.learning.learner import Learner
from zelkova.networks.build import build_network
from zelkova.networks.inference import make_engine, resolve_device
from zelkova.replay.buffer import ReplayBuffer
from zelkova.replay.episode import Episode
from zelkova.replay.symmetry import Symmetries
from zelkova.replay.targets import OutcomeSpec, make_targets
from zelkova.selfplay.selfplay import SelfPlay

Metrics = dict[str, float]


class Wheel:
    """All stages of a run and what turns from one to the next."""

    def __init__(self, config: RunConfig) -> None:
        """Set every stage up with fresh weights and new games.

        Args:
            config: the run's settings.
        Raises:
            ZelkovaError: the game, the device or a setting is refused.
        """
        self.config = config
        self.game = game = games.load(config.game.name, dict(config.game.options))
        self.device, self.device_reason = resolve_device(config.device)
        spec = OutcomeSpec(game.num_players, game.return_range, game.view, game.has_draws)
        network = build_network(
            config.network, game.observation_shape, game.num_actions, game.num_players, game.has_draws, config.seed
        )
        self.learner = Learner(network, config.learning, spec, str(self.device))
        self.buffer = ReplayBuffer(config.replay, game.words, game.max_legal_actions, game.num_players)
        self.symmetries = Symmetries(game.symmetries)
        self.rng = np.random.default_rng(np.random.SeedSequence([config.seed, 2]))
        share = config.selfplay.games // config.selfplay.groups
        self.engines = [
            make_engine(
                self.learner.acting_network.eval(), game.observation_shape, device=self.device, max_batch=share, threads=1
            )
            for _ in range(config.selfplay.groups)
        ]
        self.selfplay = SelfPlay(game, list(self.engines), config.search, config.selfplay, config.seed)
        self.round = 0
        self.games = 0

    @property
    def steps_due(self) -> int:
        """Optimiser steps that the positions so far pay for, less those taken."""
        wanted = self.buffer.total_added * self.config.learning.samples_per_position
        return int(wanted / self.config.learning.batch_size) - self.learner.steps

    def turn(self) -> tuple[Metrics, list[Episode]]:
        """Turn once: play a round, keep its games, learn, hand the new weights on.

        Returns:
            figures of the round (docs/metrics.md) and its finished games.
        """
        asked, evaluated = self.selfplay.counts()
        seconds, busy = self.selfplay.seconds, self.selfplay.busy_seconds
        episodes = self.selfplay.play_round()
        for episode in episodes:
            self.buffer.add(episode)
        self.games += len(episodes)
        played = self.selfplay.seconds - seconds
        asked, evaluated = (now - before for now, before in zip(self.selfplay.counts(), (asked, evaluated), strict=True))
        metrics: Metrics = {
            "selfplay/seconds": played,
            "selfplay/games_per_s": len(episodes) / played,
            "selfplay/positions_per_s": self.config.selfplay.games * self.config.selfplay.moves_per_round / played,
            "selfplay/evaluations_per_s": evaluated / played,
            "selfplay/network_share": (self.selfplay.busy_seconds - busy) / played,
            "selfplay/cache_hits": 1.0 - evaluated / max(asked, 1),
            "replay/positions": float(len(self.buffer)),
            **_describe_games(episodes, self.game),
            **self._learn(),
        }
        self.round += 1
        return metrics, episodes

    def _learn(self) -> Metrics:
        """Take the optimiser steps that are due and load the new weights into the engines."""
        start = time.perf_counter()
        steps, sums = self.steps_due if len(self.buffer) else 0, {}
        for _ in range(steps):
            for name, value in self.learn_once().items():
                sums[name] = sums.get(name, 0.0) + value
        if steps:
            for engine in self.engines:
                engine.load(self.learner.acting_network.eval())
            self.selfplay.forget()
        spent = time.perf_counter() - start
        return {
            **{f"learn/{name}": total / steps for name, total in sums.items()},
            "learn/seconds": spent,
            "learn/samples_per_s": steps * self.config.learning.batch_size / spent,
        }

    def learn_once(self) -> Metrics:
        """Take one optimiser step on a batch from the replay; give its figures."""
        batch = self.buffer.sample(self.config.learning.batch_size, self.rng)
        targets = make_targets(batch, self.learner.spec)
        planes, legal = self.symmetries.apply(self.observe(batch.states), targets.legal, self.rng)
        return self.learner.step(planes, targets._replace(legal=legal))

    def observe(self, states: NDArray[np.uint64]) -> NDArray[np.float32]:
        """Give the planes [n, C, H, W] of states [n, words]."""
        planes = np.zeros((len(states), *self.game.observation_shape), np.float32)
        rows = np.arange(len(states))
        kernels.observe_rows(self.game.native.observe, states, rows, rows, planes)
        return planes


def _describe_games(episodes: list[Episode], game: games.Game) -> Metrics:
    """Say how long games were and which seats won."""
    if not episodes:
        return {}
    returns = np.stack([episode.returns for episode in episodes])
    best = returns.max(axis=1, keepdims=True)
    shared = (returns == best).sum(axis=1) > 1
    wins = (returns == best) & ~shared[:, None]
    figures = {"selfplay/game_length": float(np.mean([len(episode) for episode in episodes]))}
    if game.num_players > 1:
        figures |= {f"selfplay/win_share_seat{seat}": float(wins[:, seat].mean()) for seat in range(game.num_players)}
        figures["selfplay/draw_share"] = float(shared.mean())
    return figures

