"""`zelkova report` of a learned model: the newest checkpoint plays a few episodes, which are looked into."""

import dataclasses
import time
from typing import TYPE_CHECKING

from zelkova.cli import console
from zelkova.errors import GameError

if TYPE_CHECKING:
    from zelkova.agents.learned.agent import LearnedAgent
    from zelkova.envs.batch import EnvBatch
    from zelkova.envs.config import EnvConfig
    from zelkova.evaluation.diagnosis.records import Record
    from zelkova.reports.diagnosis import Findings
    from zelkova.reports.run import Run

EPISODES = 4
DECISIONS = 300  # of an episode, which is then cut
SECONDS = 30.0  # after which all are cut
WARM = 4  # first moves of a game that are drawn, since every game begins alike
UNROLL_STEPS = 5  # where the run's settings do not tell
MOST_UNROLL_STEPS = 50
FRAMES = 200  # of the film


def diagnose(run: "Run") -> "Findings | None":
    """Measure a learned model; what fails becomes a remark of the run, and None is given.

    Args:
        run: as read; its remarks may grow.
    """
    if run.config.get("model") != "learned":
        return None
    try:
        return _measure(run)
    except Exception as error:  # an environment or a checkpoint of anyone may raise any
        run.remarks.append(f"no diagnosis: {_reason(error)}")
        return None


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return "".join(sign if sign.isprintable() else "?" for sign in text)[:300]


def _measure(run: "Run") -> "Findings":
    """Play and compare.

    Raises:
        ZelkovaError: the checkpoint or the environment can't be used.
    """
    from zelkova.agents.load import find_checkpoint
    from zelkova.cli.environment import open_environment
    from zelkova.evaluation.diagnosis.depths import compare_depths
    from zelkova.evaluation.diagnosis.records import mean_by_decision, summarise_records
    from zelkova.reports.diagnosis import Findings
    from zelkova.reports.run import is_trusted

    file, _, words = find_checkpoint(run.folder)
    if "game" in words and not is_trusted(words["game"], run.folder):
        raise GameError(f"{file.name} names the game {words['game']}, which a report does not run")
    opened = open_environment(file, EPISODES, is_training=True)  # the rewards that the model learnt
    agent, envs = opened.agent, opened.envs
    try:
        with console.Progress("diagnosis") as progress:
            records = _play(envs, agent, progress, 0 if opened.game is None else WARM)
        steps = _unroll_steps(run)
        by_depth, figures = compare_depths(agent, records, 2 * steps)
        film, shown = _film(envs, opened.config, records[0])
    finally:
        envs.close()
    played = sum(len(record) for record in records)
    cut = sum(record.is_cut for record in records)
    about = (
        f"Checkpoint {file.stem} played {len(records)} episodes of {envs.spec.name} from fixed seeds, without"
        f" noise, {agent.policy.num_simulations} simulations a decision: {played} decisions"
        + (f"; {cut} of the episodes were cut after {max(map(len, records))}." if cut else ".")
    )
    return Findings(
        summarise_records(records) | figures, by_depth, mean_by_decision(records), steps, about, film, shown
    )


def _play(envs: "EnvBatch", agent: "LearnedAgent", progress: console.Progress, warm: int) -> "list[Record]":
    from zelkova.evaluation.diagnosis.records import play_records

    start = time.monotonic()

    def is_enough(done: int) -> bool:
        spent = time.monotonic() - start
        progress.update(max(done / DECISIONS, spent / SECONDS), {"decisions": done})
        return spent > SECONDS

    return play_records(envs, agent, DECISIONS, is_enough, warm)


def _unroll_steps(run: "Run") -> int:
    """Give K of the run's settings."""
    table = run.config.get("unroll")
    steps = table.get("unroll_steps") if isinstance(table, dict) else None
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        return UNROLL_STEPS
    return min(steps, MOST_UNROLL_STEPS)


def _film(envs: "EnvBatch", config: "EnvConfig", record: "Record") -> tuple[bytes | None, str]:
    """Draw an episode; give the film and what it shows, or None and why there is none."""
    from zelkova.envs.batch import GymBatch
    from zelkova.envs.make import make_batch
    from zelkova.evaluation.diagnosis.frames import draw_frames
    from zelkova.reports.film import write_gif

    if not isinstance(envs, GymBatch):
        return None, ""  # a game has its board
    if not envs.can_draw:
        return None, f"{envs.spec.name} gives no pictures, so no episode is shown."
    drawn = dataclasses.replace(config, make={**config.make, "render_mode": "rgb_array"})
    try:
        canvas = make_batch(drawn, 1)
        assert isinstance(canvas, GymBatch)
        try:
            frames = draw_frames(canvas, record, FRAMES)
        finally:
            canvas.close()
        film = write_gif(frames)
    except Exception as error:  # an environment's drawing may raise any
        return None, f"no film of an episode: {_reason(error)}"
    shown, made = len(frames) - 1, len(record)
    part = f"the first {shown} of" if shown < made else "all"
    return film, f"An episode of {envs.spec.name}: {part} {made} decisions"
