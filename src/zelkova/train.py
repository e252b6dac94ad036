"""The wheel of training, on one page: play, keep, learn, measure, save, and again with new weights.

    rules -> search -> self-play -> replay -> learning -> new weights
                                                 '-> ratings, checkpoints

A round is fixed by counts alone: so many moves of self-play, so many samples a new position. The
clock only decides when to stop, and a checkpoint holds all that the next round depends on. So a run
that was killed and resumed goes on exactly as one that was never stopped.
"""

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from zelkova import settings
from zelkova.agents.load import CHECKPOINTS
from zelkova.config import RunConfig, refuse_changes
from zelkova.errors import CheckpointError, ConfigError, ZelkovaError
from zelkova.learning.checkpoint import Checkpoint, CheckpointStore, make_folder, remove_leftovers
from zelkova.learning.chunks import ChunkStore
from zelkova.learning.metrics_log import MetricsLog
from zelkova.learning.schedule import Limits, Pace
from zelkova.networks.weights import write_atomically
from zelkova.wheel import Metrics, make_wheel

CONFIG = "config.toml"
SAMPLES = 3  # games written as text with each checkpoint
KEPT = "wheel/"  # prefix of the arrays that are neither self-play's nor the learner's


class Run:
    """A run's folder: the wheel, and all of it that is kept on disk.

    config.toml, metrics.jsonl (one object a round), checkpoints/, replay/ (the window's games), games/ (a few
    of them as text).
    """

    def __init__(self, config: RunConfig, folder: Path) -> None:
        """Set the wheel up in a folder whose lock the caller holds; nothing is written yet."""
        self.config, self.folder = config, folder
        self._place = place = folder.absolute()  # environments may change the working folder
        self.wheel = make_wheel(config)
        self.checkpoints = CheckpointStore(
            place / CHECKPOINTS, config.checkpoint.keep, config.checkpoint.milestone_rounds
        )
        self.chunks = ChunkStore(place / "replay", self.wheel.packing)
        self.log = MetricsLog(place)
        self.seconds = 0.0  # of wall time so far, over all sessions
        self.last_metrics: Metrics = {}  # of the last round of this session
        self._saving = 0.0  # seconds of the last save, until a round's figures tell them
        self.saved_round = -1  # of the checkpoint that a kill now would go back to
        self._rates_every = config.rating.every_rounds  # 0: never
        self._games: list[Any] = []  # since that checkpoint

    def begin(self, data: Sequence[Any] = ()) -> None:
        """Write the settings and the checkpoint of round 0.

        Args:
            data: what a run without self-play learns from; it becomes the run's own, chunk 0 of its replay.
        Raises:
            CheckpointError: the folder can't be written, or holds parts of another run.
            ConfigError: data where a run plays for itself, or none where it does not.
            ShapeError: data of another environment or other settings.
        """
        if bool(data) != bool(self.config.replay.offline_steps):
            raise ConfigError(
                f"replay.offline_steps is {self.config.replay.offline_steps} and {len(data)} trajectories are"
                " given; next: zelkova train PRESET --offline FILES, or neither of them"
            )
        for path in (self.checkpoints.folder, self.chunks.folder, self.log.path):
            if path.is_file() or (path.is_dir() and any(path.iterdir())):
                raise CheckpointError(
                    f"{path} is left from another run; next: give another folder with --out, or remove it"
                )
        for trajectory in data:
            self.wheel.buffer.add(trajectory)
        self._games += data
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
        write_atomically(self._place / CONFIG, settings.to_toml(self.config).encode())

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
            pace = read_pace(checkpoint)
            buffer = wheel.new_buffer()
            self.chunks.fill(buffer, checkpoint.number, checkpoint.replay_first, checkpoint.replay_total)
            wheel.learner.load_state(checkpoint.learner)
            arrays = dict(checkpoint.arrays)
            kept = {name.removeprefix(KEPT): arrays.pop(name) for name in [*arrays] if name.startswith(KEPT)}
            wheel.selfplay.set_state(arrays, texts)
        except ZelkovaError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            what = f"checkpoint {checkpoint.number} is incomplete"
            raise CheckpointError(f"{what}: it lacks or garbles {error}") from error
        wheel.buffer, wheel.rng = buffer, generator
        wheel.load_extra_arrays(kept)
        wheel.round, (wheel.games, self.seconds) = checkpoint.number, counts
        wheel.pace = pace
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
        arrays |= {KEPT + name: array for name, array in wheel.extra_arrays().items()}
        self.checkpoints.save(
            Checkpoint(
                number=wheel.round,
                learner=wheel.learner.state(),
                replay_first=wheel.buffer.first,
                replay_total=wheel.buffer.total_added,
                description={**wheel.describe(), "config": settings.to_toml(self.config)},
                generators={"learning": wheel.rng},
                arrays=arrays,
                extra={
                    "selfplay": texts,
                    "games": wheel.games,
                    "seconds": self.seconds,
                    "pace": dataclasses.asdict(wheel.pace),
                },
            )
        )
        self.checkpoints.set_aside_after(wheel.round)
        self.chunks.prune(self.checkpoints.replay_first())
        if self._games:
            make_folder(self._place / "games")
            samples = wheel.write_samples(self._games[:SAMPLES])
            write_atomically(self._place / "games" / f"{wheel.round:08d}.txt", samples.encode())
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
        if not self._rates_every or {"eval/elo", "eval/return"} & self.last_metrics.keys():
            return False
        self.last_metrics = {**self.last_metrics, **self.rate()}
        self.log.append(self.last_metrics)
        return True

    def rate(self) -> Metrics:
        """Measure the newest weights; draws nothing from the run's streams."""
        start = time.perf_counter()
        return {**self.wheel.rate(), "eval/seconds": time.perf_counter() - start}


def read_pace(checkpoint: Checkpoint) -> Pace:
    """Give the pace that a checkpoint was saved at; older ones keep that of their settings from the start.

    Raises:
        LookupError: the settings lack what it needs.
        TypeError: what was saved is no pace.
    """
    kept = dict(checkpoint.extra.get("pace", {}))
    if "samples" in kept:
        return Pace(**kept)
    ratio = settings.parse_toml(checkpoint.description["config"], "the checkpoint")["learning"]
    since = int(kept.get("positions", 0)), int(kept.get("steps", 0))
    return Pace(float(ratio["samples_per_position"]), int(ratio["batch_size"]), *since)


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
