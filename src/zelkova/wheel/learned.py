"""The wheel over learned dynamics: environments, n-step targets, unrolls. MuZero's side of the table."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from zelkova import games
from zelkova.agents.learned.agent import LearnedAgent
from zelkova.agents.learned.load import HiddenRules, describe_learned
from zelkova.config import RunConfig
from zelkova.envs.make import make_batch
from zelkova.errors import CheckpointError, ConfigError
from zelkova.evaluation.episodes import play_episodes
from zelkova.evaluation.players import SearchPlayer
from zelkova.evaluation.rating import Gauntlet
from zelkova.learning.chunks import Packing
from zelkova.learning.learner import Learner
from zelkova.learning.unroll_loss import UnrollObjective
from zelkova.networks.inference import resolve_device
from zelkova.networks.learned.network import LearnedNetwork, ModelSizes, build_learned
from zelkova.replay.packing import pack_trajectories, unpack_trajectories
from zelkova.replay.trajectories import Picks, TrajectoryBuffer
from zelkova.replay.trajectory import Trajectory, TrajectorySpec
from zelkova.replay.unroll import UnrollBatch, cycle_of, draw_changes, make_unroll, turn_to_mover
from zelkova.search.models.torch_model import DEFAULT_SAMPLES
from zelkova.selfplay.acting import Actors
from zelkova.selfplay.offline import Offline
from zelkova.selfplay.reanalyse import Reanalyser
from zelkova.wheel.alarms import find_alarms
from zelkova.wheel.wheel import Metrics, Wheel


class LearnedWheel(Wheel):
    """Acting, replay, reanalysis and learning in one environment, or one game whose rules stay hidden."""

    def __init__(self, config: RunConfig) -> None:
        """Set every stage up with fresh weights and new episodes.

        Args:
            config: the run's settings.
        Raises:
            ZelkovaError: the environment, the device or a setting is refused.
        """
        super().__init__(config)
        self.device, self.device_reason = resolve_device(config.device)
        options = dict(config.game.options)
        self.game = None if config.env.id else games.load(config.game.name, options)
        opening = config.selfplay.random_opening, config.selfplay.random_opening_moves
        offline = config.replay.offline_steps > 0
        count = 1 if offline else config.selfplay.games
        self.envs = make_batch(config.env, count, game=self.game, opening=opening)
        spec = self.envs.spec
        self.sizes = ModelSizes(
            spec.observation_shape,
            spec.num_actions,
            spec.action_dim,
            spec.num_players,
            is_turned=spec.num_players > 1 and self.game is not None and self.game.view == "mover",
            learns_turns=spec.num_players > 1 and config.latent.turns == "learned",
        )
        if config.loss.augments and len(spec.observation_shape) != 3:
            raise ConfigError(
                f"loss.shift_pixels or loss.intensity is set, which are for images (C, H, W); {spec.name} is"
                f" seen as {spec.observation_shape}; next: leave both at 0"
            )
        network = build_learned(config.latent, self.sizes, config.seed)
        self.learner = Learner(
            network, config.learning, UnrollObjective(config.loss, prefix_reset(config)), str(self.device)
        )
        self.buffer = self.new_buffer()
        self.packing = Packing(pack_trajectories, unpack_trajectories)
        self.rng = np.random.default_rng(np.random.SeedSequence([config.seed, 2]))
        self.agent = self._new_agent()
        self.target = self._new_agent()  # its weights are some steps old
        self._targeted = 0  # step at which the target took its weights
        self.reanalyser = Reanalyser(self.target, config.reanalyse, config.unroll)
        self.selfplay: Actors | Offline = (
            Offline(self.envs, config.seed)
            if offline
            else Actors(self.envs, self.agent, config.selfplay, config.unroll, config.seed)
        )
        self._gauntlet: Gauntlet | None = None
        self.title, self.engine_name = spec.name, f"torch {self.device}"

    def _new_agent(self) -> LearnedAgent:
        """Copy the acting network into an agent of its own."""
        config = self.config
        return LearnedAgent(
            cast(LearnedNetwork, copy.deepcopy(self.learner.acting_network)),
            config.search,
            config.planning,
            discount=config.unroll.discount,
            prefix_reset=prefix_reset(config),
        )

    def new_buffer(self) -> TrajectoryBuffer:
        """Make an empty replay of trajectories."""
        return TrajectoryBuffer(self.config.replay, self.trajectory_spec)

    @property
    def trajectory_spec(self) -> TrajectorySpec:
        """What a trajectory has to be like to be learnt from here."""
        spec, drawn = self.envs.spec, self.config.planning.num_samples or DEFAULT_SAMPLES
        return TrajectorySpec(
            spec.observation_shape,
            np.dtype(spec.observation_dtype).name,
            spec.num_actions,
            spec.action_dim,
            drawn if spec.action_dim else spec.num_actions,
            spec.num_players,
        )

    def learn_once(self) -> Metrics:
        """Take one optimiser step on unrolls from the replay; give its figures."""
        if self.learner.steps - self._targeted >= self.config.reanalyse.target_steps:
            self.target.load(self.learner.acting_network)
            self._targeted = self.learner.steps
        picks, batch = self.draw_batch()
        figures, errors = self.learner.step(batch)
        if errors is not None:
            self.buffer.update_priorities(picks, errors)
        return figures

    def draw_batch(self) -> tuple[Picks, UnrollBatch]:
        """Draw decisions from the replay and make their targets, fresh ones where Reanalyse is on."""
        config = self.config
        picks = self.buffer.sample(config.learning.batch_size, self.rng)
        fresh = self.reanalyser.refresh(self.buffer, picks, self.rng, self.learner.steps)
        needs_next = config.loss.consistency_weight > 0.0
        batch = make_unroll(self.buffer, picks, config.unroll, self.rng, fresh, needs_next)
        if self.sizes.is_turned:
            batch = turn_to_mover(batch, self.sizes.learns_turns)
        elif not self.sizes.learns_turns:
            cycle_of(batch)
        if config.loss.augments:
            batch = draw_changes(batch, config.loss.shift_pixels, config.loss.intensity, self.rng)
        return picks, batch

    def load_engines(self) -> None:
        """Hand the acting weights to the actors.

        Raises:
            CheckpointError: their answers are no finite numbers.
        """
        self.agent.load(self.learner.acting_network)
        seen = self.selfplay.seen()
        if not np.isfinite(self.agent.values(seen.observations, seen.to_play)).all():
            raise CheckpointError(
                f"learning diverged: after step {self.learner.steps} the network's values are no finite"
                f" numbers; next: resume with a lower rate, --set learning.learning_rate=... (it is"
                f" {self.config.learning.learning_rate:g})"
            )

    def extra_arrays(self) -> dict[str, NDArray[Any]]:
        """Give the target network and the replay's priorities."""
        target = {f"target/{name}": array for name, array in self.target.weights().items()}
        return {
            **target,
            "targeted": np.array([self._targeted], np.int64),
            "priorities": self.buffer.priority_state(),
        }

    def load_extra_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `extra_arrays` gave.

        Raises:
            CheckpointError: something is missing.
        """
        try:
            self.target.load_weights({name: arrays[f"target/{name}"] for name in self.target.weights()})
            self._targeted = int(arrays["targeted"][0])
            self.buffer.load_priorities(arrays["priorities"])
        except (LookupError, TypeError, RuntimeError, ValueError, OverflowError) as error:
            raise CheckpointError(f"the checkpoint lacks parts of a learned model's run: {error}") from error

    def warm_up(self) -> None:
        """Compile what is not in the cache yet, by a search whose result is thrown away."""
        self.agent.search(*self.selfplay.seen(), seed=0)

    def describe(self) -> dict[str, str]:
        """Say in words what an agent of this run's checkpoints is made of."""
        acting = "ema." if self.config.learning.ema_decay > 0.0 else "network."
        return describe_learned(self.sizes, self.config, self.game, acting)

    def describe_episodes(self, episodes: Sequence[Trajectory]) -> Metrics:
        """Give how long episodes were and what they earned; segments of one count apart."""
        if not episodes:
            return {}
        returns = [float(episode.rewards[: episode.num_recorded, 0].sum()) for episode in episodes]
        return {
            "selfplay/episode_return": float(np.mean(returns)),
            "selfplay/episode_length": float(np.mean([episode.num_recorded for episode in episodes])),
        }

    def find_alarms(self, learned: Metrics) -> Metrics:
        """See `alarms.py`."""
        layout = self.config.selfplay
        waiting = 0 if len(self.buffer) else self.round * layout.games * layout.moves_per_round
        return find_alarms(learned, self.sizes.num_actions, waiting)

    def write_samples(self, episodes: Sequence[Trajectory]) -> str:
        """Write actions and return of episodes as text."""
        lines = []
        for episode in episodes:
            count = episode.num_recorded
            actions = " ".join(
                f"{action:g}" if np.ndim(action) == 0 else ",".join(f"{part:.3f}" for part in action)
                for action in episode.actions[:count]
            )
            earned = episode.rewards[:count, 0].sum()
            lines.append(f"episode {episode.seed}: {actions} ; return {earned:g}\n")
        return "".join(lines)

    def rate(self) -> Metrics:
        """Play greedy episodes with the newest weights; a game against the reference opponents."""
        rating = self.config.rating
        if self.game is not None:
            if self._gauntlet is None:
                self._gauntlet = Gauntlet(self.game, rating, self.config.seed, threads=2)
            return self._gauntlet.rate(SearchPlayer(HiddenRules(self.game, self.agent), "this"))
        envs = make_batch(self.config.env, min(rating.games, 16), is_training=False, game=self.game)
        try:
            result = play_episodes(envs, self.agent.act, rating.games, self.config.seed)
        finally:
            envs.close()
        return {
            "eval/return": result.mean,
            "eval/return_error": result.error,
            "eval/return_worst": float(result.returns[:, 0].min()),
            "eval/episode_length": float(result.lengths.mean()),
        }


def prefix_reset(config: RunConfig) -> int:
    """Give the steps after which a value prefix starts anew; 0 where rewards are plain."""
    return config.unroll.prefix_reset if config.latent.value_prefix else 0
