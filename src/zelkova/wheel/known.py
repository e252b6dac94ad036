"""The wheel over known rules: games, with their outcomes as value targets. AlphaZero's side of the table."""

import copy
import dataclasses
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova import games
from zelkova.agents import kernels
from zelkova.agents.agent import Agent
from zelkova.agents.load import describe, load_agent
from zelkova.agents.reference.scaffold import read_scaffold
from zelkova.config import RunConfig
from zelkova.errors import CheckpointError, ConfigError
from zelkova.evaluation.elo import seat_chi_square
from zelkova.evaluation.players import SearchPlayer
from zelkova.evaluation.rating import Gauntlet
from zelkova.learning.chunks import Packing
from zelkova.learning.learner import Learner
from zelkova.learning.losses import OutcomeBatch, OutcomeObjective
from zelkova.networks.build import build_network
from zelkova.networks.heads import build_heads
from zelkova.networks.inference import make_engine, resolve_device
from zelkova.replay.buffer import Batch, ReplayBuffer
from zelkova.replay.choices.rows import Choices, narrow, pad_rows
from zelkova.replay.episode import Episode
from zelkova.replay.packing import pack_episodes, unpack_episodes
from zelkova.replay.symmetry import Symmetries
from zelkova.replay.targets import OutcomeSpec, make_targets
from zelkova.selfplay.searchers import Searchers, make_searchers
from zelkova.selfplay.selfplay import SelfPlay
from zelkova.selfplay.summary import describe_games, seat_wins, write_games
from zelkova.wheel.alarms import MemorisingAlarm
from zelkova.wheel.heads import make_foresee
from zelkova.wheel.past import PastNetworks
from zelkova.wheel.unseen import MOST_JUDGED, draw_unseen, say_accuracy
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
        self.foresee = make_foresee(game, config.heads)
        heads = build_heads(config.heads, network, game.num_players, config.seed)
        self.objective = OutcomeObjective(config.learning, spec, config.heads, heads)
        self.learner = Learner(network, config.learning, self.objective, str(self.device), heads)
        self.spec, self.packing = spec, Packing(pack_episodes, unpack_episodes)
        self.buffer = self.new_buffer()
        self.symmetries = Symmetries(game.symmetries)
        self.rng = np.random.default_rng(np.random.SeedSequence([config.seed, 2]))
        self.engines = [self._new_engine() for _ in range(config.selfplay.groups)]
        self.own = make_searchers(game, list(self.engines), config.search, config.selfplay)
        self.teacher = self._new_teacher()
        self.selfplay = SelfPlay(game, self.teacher or self.own, config.selfplay, config.seed)
        self.past = PastNetworks(config.selfplay)
        self.memorising = MemorisingAlarm()
        self.guests = [self._new_engine() for _ in self.engines] if config.selfplay.past_share else []
        self.title, self.engine_name = game.name, self.engines[0].name
        self._rater: tuple[Gauntlet, SearchPlayer] | None = None

    def _new_engine(self) -> Any:
        """Make an engine for one group's games."""
        layout = self.config.selfplay
        return make_engine(
            self.learner.acting_network.eval(),
            self.game.observation_shape,
            device=self.device,
            max_batch=layout.games // layout.groups,
        )

    def _new_teacher(self) -> list[Searchers] | None:
        """Make the searchers of the first games; None where the network plays from the start.

        Raises:
            ZelkovaError: there is no such teacher, or it plays another game.
        """
        layout, teacher = self.config.selfplay, self.config.teacher
        if not teacher.player:
            return None
        batch, groups = layout.games // layout.groups, range(layout.groups)
        scaffold = read_scaffold(teacher.player)
        if scaffold is not None:
            search = dataclasses.replace(  # its visits are there to be learnt; Gumbel's draws stay
                self.config.search, num_simulations=scaffold.num_simulations, dirichlet_fraction=0.0
            )
            judges = [Agent(self.game, None, search, batch=batch) for _ in groups]
            return [Searchers(judge, random_moves=teacher.random_moves) for judge in judges]
        agents = [load_agent(teacher.player, batch=batch, device=self.config.device) for _ in groups]
        taught = agents[0].game
        if (taught.name, taught.options) != (self.game.name, self.game.options):
            raise ConfigError(
                f"teacher.player {teacher.player} plays {taught.name} {taught.options or ''}, this run"
                f" {self.game.name} {self.game.options or ''}; next: a teacher of the same game"
            )
        return [Searchers(agent, random_moves=teacher.random_moves) for agent in agents]

    @property
    def is_taught(self) -> bool:
        """Does the teacher play the next round."""
        return bool(self.buffer.total_added < self.config.teacher.positions)

    def begin_round(self) -> None:
        """Take the teacher's place when it is through; keep a network now and then, and invite one."""
        config = self.config
        self.objective.set_mix(config.teacher.value_mix if self.is_taught else config.learning.value_mix)
        if not self.is_taught and self.teacher is not None:
            self.selfplay.hand_over(self.own)
            self.teacher = None
        if self.config.selfplay.past_share == 0.0 or self.is_taught:
            return
        if not self.past.networks or self.round % self.config.selfplay.past_rounds == 0:
            self.past.keep(self.round, self.learner.acting_network)
        guest = self.past.draw(self.rng)
        network = copy.deepcopy(self.learner.acting_network)
        network.load_state_dict(guest)
        for engine in self.guests:
            engine.load(network.eval())
        self.selfplay.invite(list(self.guests))

    def judge_unseen(self, episodes: Sequence[Episode]) -> Metrics:
        """Say how often the network foresees who wins in games not learnt from yet, and in those learnt from.

        Both by the weights that act and over positions drawn alike, so that their distance shows memorising.
        """
        rng = np.random.default_rng([self.config.seed, self.round])
        unseen = draw_unseen(episodes, rng)
        if unseen is None:
            return {}
        figures = say_accuracy("unseen", self._foretells(unseen), unseen.progress)
        if len(self.buffer):
            seen = self.buffer.sample(MOST_JUDGED, rng)
            figures |= say_accuracy("seen", self._foretells(seen), seen.progress)
        if self.buffer.first < self.config.teacher.positions <= self.buffer.total_added:
            self.memorising.forget()  # the teacher's games and the network's own are not of one kind
            return figures
        return figures | self.memorising.look(figures, len(episodes))

    def _foretells(self, batch: Batch) -> NDArray[np.bool_]:
        """Say of each position whether the acting network's likeliest outcome is the one that came, [B]."""
        targets = make_targets(batch, self.spec)
        planes = self.observe(batch.states)
        width = self.engines[0].max_batch
        parts = [self.engines[0].evaluate(planes[at : at + width])[1] for at in range(0, len(planes), width)]
        shown = slice(None) if self.spec.has_draws or self.game.num_players == 1 else slice(-1)
        right = np.concatenate(parts)[:, shown].argmax(1) == targets.outcome[:, shown].argmax(1)
        return np.asarray(right, np.bool_)

    def extra_arrays(self) -> dict[str, NDArray[Any]]:
        """Give the older networks that are kept, and what the alarm remembers."""
        return {**self.past.state(), "memorising": self.memorising.state()}

    def load_extra_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `extra_arrays` gave.

        Raises:
            CheckpointError: they are of another network.
        """
        kept = dict(arrays)
        try:
            self.memorising.set_state(kept.pop("memorising", None))
            self.past.set_state(kept, self.learner.acting_network)
        except (KeyError, ValueError) as error:
            raise CheckpointError(f"the checkpoint's older networks do not fit: {error}") from error

    def warm_up(self) -> None:
        """Compile what is not in the cache yet, by a search whose result is thrown away."""
        group = self.selfplay.groups[0]
        for agent in (group.searchers.full, group.searchers.fast):
            if agent is not None:
                agent.search_batch(group.states, np.random.default_rng(0))
        self.observe(group.states)
        actions = narrow(np.array([self.game.num_actions - 1]))
        pad_rows(Choices(np.ones(1, np.int32), actions, np.ones(1, np.float32)), 1)  # as a batch is drawn
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
        sizes = game.words, game.max_legal_actions, game.num_players
        return ReplayBuffer(self.config.replay, *sizes, self.foresee)

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
