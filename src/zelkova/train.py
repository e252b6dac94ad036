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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zelkova import games, settings
from zelkova.agents import kernels
from zelkova.agents.agent import Agent
from zelkova.agents.load import CHECKPOINTS, describe
from zelkova.config import RunConfig
from zelkova.evaluation.players import SearchPlayer
from zelkova.evaluation.rating import Gauntlet
from zelkova.learning.checkpoint import Checkpoint, CheckpointStore, remove_leftovers
from zelkova.learning.chunks import ChunkStore
from zelkova.learning.learner import Learner, use_one_thread
from zelkova.learning.schedule import steps_due
from zelkova.networks.build import build_network
from zelkova.networks.inference import make_engine, resolve_device
from zelkova.networks.weights import write_atomically
from zelkova.replay.buffer import ReplayBuffer
from zelkova.replay.episode import Episode
from zelkova.replay.symmetry import Symmetries
from zelkova.replay.targets import OutcomeSpec, make_targets
from zelkova.selfplay.selfplay import SelfPlay

Metrics = dict[str, float]

METRICS = "metrics.jsonl"


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
            config.network,
            game.observation_shape,
            game.num_actions,
            game.num_players,
            game.has_draws,
            config.seed,
        )
        self.learner = Learner(network, config.learning, spec, str(self.device))
        self.buffer = self.new_buffer()
        self.symmetries = Symmetries(game.symmetries)
        self.rng = np.random.default_rng(np.random.SeedSequence([config.seed, 2]))
        share = config.selfplay.games // config.selfplay.groups
        self.engines = [
            make_engine(
                self.learner.acting_network.eval(),
                game.observation_shape,
                device=self.device,
                max_batch=share,
                threads=1,
            )
            for _ in range(config.selfplay.groups)
        ]
        cache = config.selfplay.cache_positions
        agents = [Agent(game, engine, config.search, batch=share, cache=cache) for engine in self.engines]
        self.selfplay = SelfPlay(game, agents, config.selfplay, config.seed)
        self.round = 0
        self.games = 0
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="learning")

    def turn(self) -> tuple[Metrics, list[Episode]]:
        """Turn once: play a round and learn from the rounds before at the same time; then hand weights on.

        Learning has a thread of its own and computes in that one alone, as each group of self-play does: on a
        CPU, threads that wait for each other inside one network call are stalled by any busy neighbour.

        Returns:
            figures of the round (docs/metrics.md) and its finished games.
        """
        asked, evaluated = self.selfplay.counts()
        seconds, busy = self.selfplay.seconds, self.selfplay.busy_seconds
        learning = self._pool.submit(self._learn)
        try:
            episodes = self.selfplay.play_round()
        finally:
            learned, steps = learning.result()
        for episode in episodes:
            self.buffer.add(episode)
        self.games += len(episodes)
        if steps:
            self.load_engines()
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
            **_describe_games(episodes, self.game),
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
        """Take the steps that the replay pays for; give their mean figures and how many there were."""
        start = time.perf_counter()
        use_one_thread()
        learning = self.config.learning
        steps = steps_due(learning, self.buffer.total_added, self.learner.steps) if len(self.buffer) else 0
        sums: Metrics = {}
        for _ in range(steps):
            for name, value in self.learn_once().items():
                sums[name] = sums.get(name, 0.0) + value
        spent = time.perf_counter() - start
        return {
            **{f"learn/{name}": total / steps for name, total in sums.items()},
            "learn/seconds": spent,
            "learn/samples_per_s": steps * self.config.learning.batch_size / spent,
        }, steps

    def load_engines(self) -> None:
        """Hand the learner's acting weights to self-play."""
        for engine in self.engines:
            engine.load(self.learner.acting_network.eval())
        self.selfplay.forget()

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
        figures |= {
            f"selfplay/win_share_seat{seat}": float(wins[:, seat].mean()) for seat in range(game.num_players)
        }
        figures["selfplay/draw_share"] = float(shared.mean())
    return figures


class Run:
    """A run's folder: the wheel, and all of it that is kept on disk.

    config.toml, metrics.jsonl (one object a round), checkpoints/, replay/ (the window's games).
    """

    def __init__(self, config: RunConfig, folder: Path) -> None:
        """Set the wheel up; nothing is written yet.

        Args:
            config: the run's settings.
            folder: where the run lives; its lock is held by the caller.
        """
        self.config, self.folder = config, folder
        self.wheel = Wheel(config)
        self.checkpoints = CheckpointStore(
            folder / CHECKPOINTS, config.checkpoint.keep, config.checkpoint.milestone_rounds
        )
        self.chunks = ChunkStore(folder / "replay")
        self.seconds = 0.0  # of wall time so far, over all sessions
        self.last_metrics: Metrics = {}  # of the last round of this session
        self._games: list[Episode] = []  # since the last checkpoint
        self._rater: tuple[Gauntlet, SearchPlayer] | None = None

    def begin(self) -> None:
        """Write the settings and the checkpoint of round 0.

        Raises:
            CheckpointError: the folder can't be written.
        """
        write_atomically(self.folder / "config.toml", settings.to_toml(self.config).encode())
        self.save()

    def resume(self) -> list[str]:
        """Go on from the newest checkpoint that is intact, with its replay.

        Returns:
            what was passed over, a message each.
        Raises:
            CheckpointError: there is none to go on from.
        """
        for place in (self.checkpoints.folder, self.chunks.folder):
            remove_leftovers(place)
        found = self.checkpoints.newest_intact(self._take_over)
        self._drop_metrics_after(self.wheel.round)
        return list(found.refused)

    def _take_over(self, checkpoint: Checkpoint) -> None:
        """Put a checkpoint's state into every stage.

        Raises:
            CheckpointError: it does not fit, or its replay is gone.
        """
        wheel, extra = self.wheel, checkpoint.extra
        buffer = wheel.new_buffer()
        self.chunks.fill(buffer, checkpoint.number, checkpoint.replay_total)
        wheel.learner.load_state(checkpoint.learner)
        wheel.buffer = buffer
        wheel.rng = checkpoint.generators["learning"]
        wheel.selfplay.set_state(dict(checkpoint.arrays), extra["selfplay"])
        wheel.round, wheel.games, self.seconds = checkpoint.number, extra["games"], extra["seconds"]
        wheel.load_engines()

    def save(self) -> None:
        """Write the games since the last checkpoint, then a checkpoint, then let old files go.

        Raises:
            CheckpointError: no space or no permission; every older checkpoint is still there.
        """
        wheel = self.wheel
        if self._games:
            recorded = sum(episode.num_recorded for episode in self._games)
            self.chunks.save(wheel.round, self._games, wheel.buffer.total_added - recorded)
        arrays, texts = wheel.selfplay.state()
        state = wheel.learner.state()
        acting = "ema." if self.config.learning.ema_decay > 0.0 else "network."
        self.checkpoints.save(
            Checkpoint(
                number=wheel.round,
                learner=state,
                replay_first=wheel.buffer.first,
                replay_total=wheel.buffer.total_added,
                description=describe(wheel.game, self.config.network, self.config.search, acting),
                generators={"learning": wheel.rng},
                arrays=arrays,
                extra={"selfplay": texts, "games": wheel.games, "seconds": self.seconds},
            )
        )
        self.chunks.prune(self.checkpoints.replay_first())
        self._games = []

    def turn(self) -> Metrics:
        """Turn the wheel once; rate and save when it is time. Gives the round's figures."""
        start = time.perf_counter()
        figures, episodes = self.wheel.turn()
        self._games += episodes
        every = self.config.rating.every_rounds
        if every and self.wheel.round % every == 0:
            figures |= self.rate()
        self.seconds += time.perf_counter() - start
        metrics: Metrics = {
            "round": self.wheel.round,
            "step": self.wheel.learner.steps,
            "seconds": self.seconds,
            "positions": self.wheel.buffer.total_added,
            "games": self.wheel.games,
            **figures,
        }
        self.last_metrics = metrics
        with (self.folder / METRICS).open("a", encoding="utf-8") as file:
            file.write(json.dumps({name: round(value, 6) for name, value in metrics.items()}) + "\n")
        if self.wheel.round % self.config.checkpoint.every_rounds == 0:
            self.save()
        return metrics

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
            self._rater = (
                Gauntlet(wheel.game, rating, self.config.seed, threads=2),
                SearchPlayer(agent, "this"),
            )
        gauntlet, player = self._rater
        return {**gauntlet.rate(player), "eval/seconds": time.perf_counter() - start}

    def _drop_metrics_after(self, number: int) -> None:
        """Keep of metrics.jsonl the rounds up to a number; they will be written again."""
        path = self.folder / METRICS
        kept = []
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            try:
                if json.loads(line)["round"] <= number:
                    kept.append(line)
            except (ValueError, KeyError, TypeError):
                continue  # cut short by a kill
        write_atomically(path, "".join(f"{line}\n" for line in kept).encode())


@dataclasses.dataclass(frozen=True)
class Limits:
    """When a session of training ends; the first that is reached counts, none means never."""

    minutes: float | None = None  # of this session's wall time
    steps: int | None = None  # optimiser steps, over all sessions


def train(
    run: Run, limits: Limits, watch: Callable[[Metrics, float], None], is_stopped: Callable[[], bool]
) -> None:
    """Turn the wheel until a limit is reached, then rate and save.

    Args:
        run: begun or resumed.
        limits: when to stop.
        watch: called after each round with its figures and the share done, 0..1 (0 without a limit).
        is_stopped: asked after each round.
    Raises:
        CheckpointError: a checkpoint can't be written; the older ones are intact.
    """
    start, first_step = time.monotonic(), run.wheel.learner.steps
    done = 0.0
    while done < 1.0 and not is_stopped():
        metrics = run.turn()
        if limits.minutes is not None:
            done = (time.monotonic() - start) / (60.0 * limits.minutes)
        if limits.steps is not None:
            done = max(done, (run.wheel.learner.steps - first_step) / max(limits.steps - first_step, 1))
        watch(metrics, min(done, 1.0))
    if run.wheel.round % run.config.checkpoint.every_rounds:
        run.save()
