"""The wheel over known rules: games, with their outcomes as value targets. AlphaZero's side of the table."""

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova import games
from zelkova.agents import kernels
from zelkova.agents.agent import Agent
from zelkova.agents.load import describe
from zelkova.config import RunConfig
from zelkova.errors import CheckpointError
from zelkova.evaluation.elo import seat_chi_square
from zelkova.evaluation.players import SearchPlayer
from zelkova.evaluation.rating import Gauntlet
from zelkova.learning.chunks import Packing
from zelkova.learning.learner import Learner
from zelkova.learning.losses import OutcomeBatch, OutcomeObjective
from zelkova.networks.build import build_network
from zelkova.networks.inference import make_engine, resolve_device
from zelkova.replay.buffer import ReplayBuffer
from zelkova.replay.packing import pack_episodes, unpack_episodes
from zelkova.replay.symmetry import Symmetries
from zelkova.replay.targets import OutcomeSpec, make_targets
from zelkova.selfplay.selfplay import SelfPlay
from zelkova.selfplay.summary import describe_games, seat_wins, write_games
from zelkova.wheel.wheel import Metrics, Wheel


class KnownWheel(Wheel):
    """Rules, search, self-play, replay and learning of one game."""

    def __init__(self, config: RunConfig) -> None:
        """Set every stage up with fresh weights and new games.

        Args:
            config: the run's settings.
        Raises:
            ZelkovaError: the game, the device or a setting is refused.
        """
        super().__init__(config)
        self.game = game = games.load(config.game.name, dict(config.game.options))
        self.device, self.device_reason = resolve_device(config.device)
        spec = OutcomeSpec(game.num_players, game.return_range, game.view, game.has_draws)
        sizes = (game.observation_shape, game.num_actions, game.num_players, game.has_draws)
        network = build_network(config.network, *sizes, config.seed)
        self.learner = Learner(
            network, config.learning, OutcomeObjective(config.learning, spec), str(self.device)
        )
        self.spec, self.packing = spec, Packing(pack_episodes, unpack_episodes)
        self.buffer = self.new_buffer()
        self.symmetries = Symmetries(game.symmetries)
        self.rng = np.random.default_rng(np.random.SeedSequence([config.seed, 2]))
        share = config.selfplay.games // config.selfplay.groups
        self.engines = [
            make_engine(network.eval(), game.observation_shape, device=self.device, max_batch=share)
            for _ in range(config.selfplay.groups)
        ]
        self.selfplay = SelfPlay(game, list(self.engines), config.search, config.selfplay, config.seed)
        self.title, self.engine_name = game.name, self.engines[0].name
        self._rater: tuple[Gauntlet, SearchPlayer] | None = None

    def warm_up(self) -> None:
        """Compile what is not in the cache yet, by a search whose result is thrown away."""
        group = self.selfplay.groups[0]
        group.agent.search_batch(group.states, np.random.default_rng(0))
        self.observe(group.states)
        self.selfplay.forget()

    def load_engines(self) -> None:
        """Hand the learner's acting weights to self-play.

        Raises:
            CheckpointError: their answers are no finite numbers.
        """
        for engine in self.engines:
            engine.load(self.learner.acting_network.eval())
        self.selfplay.forget()
        answers = self.engines[0].evaluate(self.observe(self.selfplay.groups[0].states))
        if not all(np.isfinite(answer).all() for answer in answers):
            raise CheckpointError(
                f"learning diverged: after step {self.learner.steps} the network's answers are no finite"
                f" numbers; next: resume with a lower rate, --set learning.learning_rate=... (it is"
                f" {self.config.learning.learning_rate:g})"
            )

    def new_buffer(self) -> ReplayBuffer:
        """Make an empty replay for this game."""
        game = self.game
        return ReplayBuffer(self.config.replay, game.words, game.max_legal_actions, game.num_players)

    def learn_once(self) -> Metrics:
        """Take one optimiser step on a batch from the replay; give its figures."""
        batch = self.buffer.sample(self.config.learning.batch_size, self.rng)
        targets = make_targets(batch, self.spec)
        planes, legal = self.symmetries.apply(self.observe(batch.states), targets.legal, self.rng)
        return self.learner.step(OutcomeBatch(planes, *targets._replace(legal=legal)))[0]

    def observe(self, states: NDArray[np.uint64]) -> NDArray[np.float32]:
        """Give the planes [n, C, H, W] of states [n, words]."""
        planes = np.zeros((len(states), *self.game.observation_shape), np.float32)
        rows = np.arange(len(states))
        kernels.observe_rows(self.game.native.observe, states, rows, rows, planes)
        return planes

    def describe(self) -> dict[str, str]:
        """Say in words what an agent of this run's checkpoints is made of."""
        acting = "ema." if self.config.learning.ema_decay > 0.0 else "network."
        return describe(self.game, self.config.network, self.config.search, acting)

    def describe_episodes(self, episodes: Sequence[Any]) -> Metrics:
        """Give how long games were and who won."""
        figures = describe_games(episodes)
        if episodes and self.game.num_players > 1:
            figures["selfplay/seat_chi_square"] = seat_chi_square(seat_wins(episodes))
        return figures

    def write_samples(self, episodes: Sequence[Any]) -> str:
        """Write games as text."""
        return write_games(self.game, episodes)

    def rate(self) -> Metrics:
        """Play the newest weights against the reference opponents; draws nothing from the run's streams."""
        start = time.perf_counter()
        if self._rater is None:
            rating = self.config.rating
            search = dataclasses.replace(
                self.config.search,
                num_simulations=rating.num_simulations,
                gumbel_scale=0.0,
                dirichlet_fraction=0.0,
            )
            batch = min(rating.games, self.engines[0].max_batch)
            agent = Agent(self.game, self.engines[0], search, batch=batch)
            gauntlet = Gauntlet(self.game, rating, self.config.seed, threads=2)
            self._rater = gauntlet, SearchPlayer(agent, "this")
        gauntlet, player = self._rater
        return {**gauntlet.rate(player), "eval/seconds": time.perf_counter() - start}
