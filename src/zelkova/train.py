"""The wheel of training, on one page: play, keep, learn, measure, save, and again with new weights.

    rules -> search -> self-play -> replay -> learning -> new weights
                                                 '-> ratings, checkpoints

A round is fixed by counts alone: so many moves of self-play, so many samples a new position. The
clock only decides when to stop, and a checkpoint holds all that the next round depends on. So a run
that was killed and resumed goes on exactly as one that was never stopped.
"""

import dataclasses
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zelkova import games, settings
from zelkova.agents import kernels
from zelkova.agents.agent import Agent
from zelkova.agents.load import CHECKPOINTS, describe
from zelkova.config import RunConfig, refuse_changes
from zelkova.errors import CheckpointError, ZelkovaError
from zelkova.evaluation.players import SearchPlayer
from zelkova.evaluation.rating import Gauntlet
from zelkova.learning.checkpoint import Checkpoint, CheckpointStore, make_folder, remove_leftovers
from zelkova.learning.chunks import ChunkStore
from zelkova.learning.learner import Learner, use_one_thread
from zelkova.learning.metrics_log import MetricsLog
from zelkova.learning.schedule import Limits, steps_due
from zelkova.networks.build import build_network
from zelkova.networks.inference import make_engine, resolve_device
from zelkova.networks.weights import write_atomically
from zelkova.replay.buffer import ReplayBuffer
from zelkova.replay.episode import Episode
from zelkova.replay.symmetry import Symmetries
from zelkova.replay.targets import OutcomeSpec, make_targets
from zelkova.selfplay.selfplay import SelfPlay
from zelkova.selfplay.summary import describe_games, write_games

Metrics = dict[str, float]

CONFIG = "config.toml"
SAMPLES = 3  # games written as text with each checkpoint


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
        sizes = (game.observation_shape, game.num_actions, game.num_players, game.has_draws)
        network = build_network(config.network, *sizes, config.seed)
        self.learner = Learner(network, config.learning, spec, str(self.device))
        self.buffer = self.new_buffer()
        self.symmetries = Symmetries(game.symmetries)
        self.rng = np.random.default_rng(np.random.SeedSequence([config.seed, 2]))
        share = config.selfplay.games // config.selfplay.groups
        self.engines = [
            make_engine(network.eval(), game.observation_shape, device=self.device, max_batch=share)
            for _ in range(config.selfplay.groups)
        ]
        self.selfplay = SelfPlay(game, list(self.engines), config.search, config.selfplay, config.seed)
        self.round = 0
        self.games = 0
        self.is_abandoned = False
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="learning")

    @property
    def steps_due(self) -> int:
        """Optimiser steps that the positions so far pay for, less those taken; 0 or more."""
        return steps_due(self.config.learning, self.buffer.total_added, self.learner.steps)

    def turn(self) -> tuple[Metrics, list[Episode]]:
        """Turn once: play a round and learn from the rounds before at the same time; then hand weights on.

        Learning has a thread of its own and computes in that one alone, as each group of self-play does: on a
        CPU, threads that wait for each other inside one network call are stalled by any busy neighbour.

        Returns:
            figures of the round (docs/metrics.md) and its finished games.
        Raises:
            ZelkovaError: a game breaks its promises, or learning diverged. Whatever is raised, the threads
                leave within a move and an optimiser step, and the wheel is of no more use.
        """
        asked, evaluated = self.selfplay.counts()
        seconds, busy = self.selfplay.seconds, self.selfplay.busy_seconds
        learning = self._pool.submit(self._learn)
        try:
            episodes = self.selfplay.play_round()
            learned, steps = learning.result()
        except BaseException:
            self.is_abandoned = True
            self.selfplay.abandon()
            raise
        for episode in episodes:
            self.buffer.add(episode)
        self.games += len(episodes)
        if steps:
            self.load_engines()
        else:  # a resumed run begins its next round with empty caches, too
            self.selfplay.forget()
        self.round += 1
        played = self.selfplay.seconds - seconds
        now_asked, now_evaluated = self.selfplay.counts()
        selfplay = self.config.selfplay
        metrics: Metrics = {
            "selfplay/seconds": played,
            "selfplay/games_per_s": len(episodes) / played,
            "selfplay/positions_per_s": selfplay.games * selfplay.moves_per_round / played,
            "selfplay/evaluations_per_s": (now_evaluated - evaluated) / played,
            "selfplay/network_share": (self.selfplay.busy_seconds - busy) / played,
            "selfplay/cache_hits": 1.0 - (now_evaluated - evaluated) / max(now_asked - asked, 1),
            "replay/positions": float(len(self.buffer)),
            **describe_games(episodes),
            **learned,
        }
        return metrics, episodes

    def warm_up(self) -> None:
        """Compile what is not in the cache yet, by a search whose result is thrown away."""
        group = self.selfplay.groups[0]
        group.agent.search_batch(group.states, np.random.default_rng(0))
        self.observe(group.states)
        self.selfplay.forget()

    def close(self) -> None:
        """Let the threads go."""
        self._pool.shutdown()
        self.selfplay.close()

    def _learn(self) -> tuple[Metrics, int]:
        """Take the optimiser steps that are due; give their mean figures and how many there were."""
        start = time.perf_counter()
        use_one_thread()
        steps = self.steps_due if len(self.buffer) else 0
        sums: Metrics = {}
        for _ in range(steps):
            if self.is_abandoned:
                break
            for name, value in self.learn_once().items():
                sums[name] = sums.get(name, 0.0) + value
        spent = time.perf_counter() - start
        return {
            **{f"learn/{name}": total / steps for name, total in sums.items()},
            "learn/seconds": spent,
            "learn/samples_per_s": steps * self.config.learning.batch_size / spent,
        }, steps

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
        targets = make_targets(batch, self.learner.spec)
        planes, legal = self.symmetries.apply(self.observe(batch.states), targets.legal, self.rng)
        return self.learner.step(planes, targets._replace(legal=legal))

    def observe(self, states: NDArray[np.uint64]) -> NDArray[np.float32]:
        """Give the planes [n, C, H, W] of states [n, words]."""
        planes = np.zeros((len(states), *self.game.observation_shape), np.float32)
        rows = np.arange(len(states))
        kernels.observe_rows(self.game.native.observe, states, rows, rows, planes)
        return planes


class Run:
    """A run's folder: the wheel, and all of it that is kept on disk.

    config.toml, metrics.jsonl (one object a round), checkpoints/, replay/ (the window's games), games/ (a few
    of them as text).
    """

    def __init__(self, config: RunConfig, folder: Path) -> None:
        """Set the wheel up in a folder whose lock the caller holds; nothing is written yet."""
        self.config, self.folder = config, folder
        self.wheel = Wheel(config)
        self.checkpoints = CheckpointStore(
            folder / CHECKPOINTS, config.checkpoint.keep, config.checkpoint.milestone_rounds
        )
        self.chunks = ChunkStore(folder / "replay")
        self.log = MetricsLog(folder)
        self.seconds = 0.0  # of wall time so far, over all sessions
        self.last_metrics: Metrics = {}  # of the last round of this session
        self._saving = 0.0  # seconds of the last save, until a round's figures tell them
        self.saved_round = -1  # of the checkpoint that a kill now would go back to
        self._rates_every = config.rating.every_rounds  # 0: never
        self._games: list[Episode] = []  # since that checkpoint
        self._rater: tuple[Gauntlet, SearchPlayer] | None = None

    def begin(self) -> None:
        """Write the settings and the checkpoint of round 0.

        Raises:
            CheckpointError: the folder can't be written, or holds parts of another run.
        """
        for path in (self.checkpoints.folder, self.chunks.folder, self.log.path):
            if path.is_file() or (path.is_dir() and any(path.iterdir())):
                raise CheckpointError(
                    f"{path} is left from another run; next: give another folder with --out, or remove it"
                )
        self._save_config()
        self.save()

    def resume(self) -> list[str]:
        """Go on from the newest checkpoint that is intact, with its replay.

        Returns:
            what was passed over, a message each.
        Raises:
            CheckpointError: there is none to go on from.
            ConfigError: a setting was changed that weights or games in play depend on.
        """
        for place in (self.checkpoints.folder, self.chunks.folder):
            remove_leftovers(place)
        if (
            not self.checkpoints.numbers() and not self.log.path.exists()
        ):  # killed before its first checkpoint
            self.begin()
            return []
        found = self.checkpoints.newest_intact(self._take_over)
        self.log.drop_after(self.wheel.round)
        self._save_config()
        return list(found.refused)

    def _save_config(self) -> None:
        write_atomically(self.folder / CONFIG, settings.to_toml(self.config).encode())

    def _take_over(self, checkpoint: Checkpoint) -> None:
        """Put a checkpoint's state into every stage.

        Raises:
            CheckpointError: it is incomplete, does not fit, or its replay is gone.
            ConfigError: a setting was changed that it depends on.
        """
        wheel, extra = self.wheel, checkpoint.extra
        try:
            refuse_changes(checkpoint.description["config"], self.config, self.folder / CONFIG)
            generator, texts = checkpoint.generators["learning"], extra["selfplay"]
            counts = int(extra["games"]), float(extra["seconds"])
            buffer = wheel.new_buffer()
            self.chunks.fill(buffer, checkpoint.number, checkpoint.replay_total)
            wheel.learner.load_state(checkpoint.learner)
            wheel.selfplay.set_state(dict(checkpoint.arrays), texts)
        except ZelkovaError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            what = f"checkpoint {checkpoint.number} is incomplete"
            raise CheckpointError(f"{what}: it lacks or garbles {error}") from error
        wheel.buffer, wheel.rng = buffer, generator
        wheel.round, (wheel.games, self.seconds) = checkpoint.number, counts
        self.saved_round = checkpoint.number
        wheel.load_engines()

    def save(self) -> None:
        """Write the games since the last checkpoint, then a checkpoint, then let old files go.

        Raises:
            CheckpointError: no space or no permission; every older checkpoint is still there.
        """
        wheel = self.wheel
        self.chunks.drop_after(self.saved_round)
        if self._games:
            recorded = sum(episode.num_recorded for episode in self._games)
            self.chunks.save(wheel.round, self._games, wheel.buffer.total_added - recorded)
        arrays, texts = wheel.selfplay.state()
        acting = "ema." if self.config.learning.ema_decay > 0.0 else "network."
        description = describe(wheel.game, self.config.network, self.config.search, acting)
        self.checkpoints.save(
            Checkpoint(
                number=wheel.round,
                learner=wheel.learner.state(),
                replay_first=wheel.buffer.first,
                replay_total=wheel.buffer.total_added,
                description={**description, "config": settings.to_toml(self.config)},
                generators={"learning": wheel.rng},
                arrays=arrays,
                extra={"selfplay": texts, "games": wheel.games, "seconds": self.seconds},
            )
        )
        self.checkpoints.set_aside_after(wheel.round)
        self.chunks.prune(self.checkpoints.replay_first())
        if self._games:
            make_folder(self.folder / "games")
            samples = write_games(wheel.game, self._games[:SAMPLES])
            write_atomically(self.folder / "games" / f"{wheel.round:08d}.txt", samples.encode())
        self.saved_round, self._games = wheel.round, []

    def turn(self) -> Metrics:
        """Turn the wheel once; rate and save when it is time. Gives the round's figures."""
        start = time.perf_counter()
        figures, episodes = self.wheel.turn()
        self._games += episodes
        if self._is_time_to_rate():
            figures |= self.rate()
        self.seconds += time.perf_counter() - start + self._saving
        metrics: Metrics = {
            "round": self.wheel.round,
            "step": self.wheel.learner.steps,
            "seconds": self.seconds,
            "positions": self.wheel.buffer.total_added,
            "games": self.wheel.games,
            "save/seconds": self._saving,  # of the save after the round before
            **figures,
        }
        self._saving = 0.0
        self.last_metrics = metrics
        self.log.append(metrics)
        if self.wheel.round % self.config.checkpoint.every_rounds == 0:
            start = time.perf_counter()
            self.save()
            self._saving = time.perf_counter() - start
        return metrics

    def _is_time_to_rate(self) -> bool:
        return self._rates_every > 0 and self.wheel.round % self._rates_every == 0

    def rate_last(self) -> bool:
        """Rate the last round's weights and write its figures again; say whether that was still to do."""
        if not self._rates_every or "eval/elo" in self.last_metrics:
            return False
        self.last_metrics = {**self.last_metrics, **self.rate()}
        self.log.append(self.last_metrics)
        return True

    def rate(self) -> Metrics:
        """Play the newest weights against the reference opponents; draws nothing from the run's streams."""
        start = time.perf_counter()
        if self._rater is None:
            rating, wheel = self.config.rating, self.wheel
            search = dataclasses.replace(
                self.config.search,
                num_simulations=rating.num_simulations,
                gumbel_scale=0.0,
                dirichlet_fraction=0.0,
            )
            batch = min(rating.games, wheel.engines[0].max_batch)
            agent = Agent(wheel.game, wheel.engines[0], search, batch=batch)
            gauntlet = Gauntlet(wheel.game, rating, self.config.seed, threads=2)
            self._rater = gauntlet, SearchPlayer(agent, "this")
        gauntlet, player = self._rater
        return {**gauntlet.rate(player), "eval/seconds": time.perf_counter() - start}


def train(
    run: Run, limits: Limits, watch: Callable[[Metrics, float], None], is_stopped: Callable[[], bool]
) -> None:
    """Turn the wheel until a limit is reached, then save and rate; where a stop is asked for, save alone.

    Args:
        run: begun or resumed.
        limits: when to stop.
        watch: called after each round, and after a rating at the end, with its figures and the share done,
            0..1 (0 without a limit).
        is_stopped: asked before each round.
    Raises:
        CheckpointError: a checkpoint can't be written; the older ones are intact.
    """
    start, first_step = time.monotonic(), run.wheel.learner.steps
    done = limits.share_done(0.0, first_step, first_step)
    while done < 1.0 and not is_stopped():
        metrics = run.turn()
        done = limits.share_done(time.monotonic() - start, run.wheel.learner.steps, first_step)
        watch(metrics, done)
    if run.saved_round < run.wheel.round:
        run.save()
    if run.last_metrics and not is_stopped() and run.rate_last():
        watch(run.last_metrics, 1.0)
