"""What one large GPU gives: inference, a self-play burst and training steps, within eight minutes.

    python bench/gpu.py [--json FILE]            on a machine with a GPU
    python bench/gpu.py --tiny                   to the end on a CPU, in seconds; the figures mean nothing

Each section has a share of the time and stops adding sizes when it is used up. Progress goes to stderr, the
records (name, value, params) to stdout as a JSON list. It ends with 1 where an engine's answers are wrong.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from records import Record, finish, rate, record, refuse_without_gpu, say
from zelkova import games
from zelkova.games import Game
from zelkova.learning.config import LearningConfig
from zelkova.learning.config import Precision as TrainingPrecision
from zelkova.learning.learner import Learner
from zelkova.learning.losses import OutcomeBatch, OutcomeObjective
from zelkova.networks.inference import Precision, make_engine
from zelkova.networks.speed import SpeedConfig, count_flops, random_network, run_side_by_side
from zelkova.replay.targets import OutcomeSpec
from zelkova.search.config import SearchConfig
from zelkova.selfplay.config import SelfPlayConfig
from zelkova.selfplay.searchers import make_searchers
from zelkova.selfplay.selfplay import SelfPlay

GAMES = ("connect_four", "othello")
LIMIT_S = 400.0  # of the whole run, leaving time to start and to write
SHARES = {"inference": 0.35, "selfplay": 0.35, "training": 0.30}
TRAINING_PRECISIONS: tuple[TrainingPrecision, ...] = ("float32", "bfloat16")
TOLERANCE = {"float32": 2e-3, "float16": 0.02, "bfloat16": 0.06}  # of a probability, from float32 on the CPU


class Plan:
    """Sizes and times: large on a GPU, tiny on a CPU in the tests."""

    def __init__(self, device: str, is_tiny: bool) -> None:
        self.device, self.is_tiny = device, is_tiny
        self.networks = [(8, 1)] if is_tiny else [(32, 3), (64, 4), (128, 10), (256, 20)]
        self.batches = [8] if is_tiny else [256, 1024, 4096]
        self.seconds = 0.02 if is_tiny else 0.5  # of a measurement
        self.limit = 3600.0 if is_tiny else LIMIT_S  # tiny sizes are never cut short
        self.precisions: tuple[Precision, ...] = ("float16", "bfloat16", "float32")
        if device == "cpu":
            self.precisions = ("float32",)

    def until(self, section: str) -> float:
        """Give the time at which a section takes no new size."""
        return time.monotonic() + self.limit * SHARES[section]


def network_for(game: Game, channels: int, blocks: int) -> nn.Module:
    """Make a network whose every weight matters."""
    sizes = SpeedConfig(observation_shape=game.observation_shape, num_actions=game.num_actions)
    return random_network(sizes, channels, blocks)


def planes_for(game: Game, rows: int) -> np.ndarray:
    """Draw planes of zeros and ones."""
    return (np.random.default_rng(0).random((rows, *game.observation_shape)) < 0.4).astype(np.float32)


def check_answers(game: Game, module: nn.Module, planes: np.ndarray, engine: Any) -> float:
    """Give the largest difference of a probability from float32 on the CPU, over full and partial batches."""
    with torch.inference_mode():
        policy, outcome = (torch.softmax(logits, 1) for logits in module(torch.from_numpy(planes)))
    worst = 0.0
    for rows in (len(planes), max(len(planes) // 3, 1), len(planes)):
        for logits, expected in zip(engine.evaluate(planes[:rows]), (policy, outcome), strict=True):
            found = torch.softmax(torch.from_numpy(logits), 1)
            worst = max(worst, float((found - expected[:rows]).abs().max()))
    return worst


def eager(plan: Plan, module: nn.Module, planes: np.ndarray, precision: str) -> Callable[[], int]:
    """Make a function that evaluates planes from host to host, kernel by kernel, without a captured graph."""
    dtype = getattr(torch, precision)
    network = module.to(plan.device, dtype, memory_format=torch.channels_last)  # type: ignore[call-overload]
    host = torch.from_numpy(planes)

    def work() -> int:
        with torch.inference_mode():
            inputs = host.to(plan.device).to(dtype=dtype, memory_format=torch.channels_last)
            for answer in network(inputs):
                answer.float().cpu()
        return len(planes)

    return work


def inference(plan: Plan, wrong: list[str]) -> Iterator[Record]:
    """Engines with captured graphs beside eager PyTorch, one and two at a time; answers are checked."""
    until, game = plan.until("inference"), games.load("connect_four")
    for channels, blocks in plan.networks:
        flops = count_flops(network_for(game, channels, blocks), game.observation_shape)
        for batch in plan.batches:
            planes = planes_for(game, batch)
            for precision in plan.precisions:
                if time.monotonic() > until:
                    say("inference: out of time, larger sizes are left out")
                    return
                yield from infer_one(plan, game, (channels, blocks, batch, precision), wrong, flops, planes)


def infer_one(
    plan: Plan,
    game: Game,
    size: tuple[int, int, int, Precision],
    wrong: list[str],
    flops: float,
    planes: np.ndarray,
) -> Iterator[Record]:
    """Measure and check one network, batch size and precision."""
    channels, blocks, batch, precision = size
    where = {"network": f"{channels}x{blocks}", "batch": batch, "precision": precision, "device": plan.device}
    module = network_for(game, channels, blocks)
    engines: list[Any] = [
        make_engine(
            module,
            game.observation_shape,
            device=plan.device,
            max_batch=batch,
            precision=precision,
            kind="torch",
        )
        for _ in range(2)
    ]
    error = check_answers(game, module, planes, engines[0])
    other = network_for(game, channels, blocks)
    with torch.no_grad():
        for tensor in other.parameters():
            tensor.mul_(0.9)
    begin = time.perf_counter()
    engines[0].load(other)
    yield record("network/load_s", time.perf_counter() - begin, **where)
    error = max(error, check_answers(game, other, planes, engines[0]))  # a graph must see the new weights
    yield record("network/policy_error", error, **where)
    if not error < TOLERANCE[precision]:
        wrong.append(f"{where}: a probability is off by {error:.3g}; allowed {TOLERANCE[precision]}")
    alone = rate(lambda: len(engines[0].evaluate(planes)[0]), plan.seconds, "cpu")
    both = run_side_by_side([engine.evaluate for engine in engines], planes, plan.seconds)
    plain = rate(eager(plan, module, planes, precision), plan.seconds, plan.device)
    for engines_used, found in ((1, alone), (2, both)):
        yield record(
            "network/evaluations_per_s", found, **where, engine=engines[0].name, engines=engines_used
        )
    yield record("network/evaluations_per_s", plain, **where, engine="torch eager", engines=1)
    yield record("network/graph_to_eager", alone / plain, **where)
    yield record("network/tflops", both * flops / 1e12, **where)


def selfplay(plan: Plan) -> Iterator[Record]:
    """Bursts of self-play without the evaluation cache, at two games and growing networks."""
    until = plan.until("selfplay")
    for channels, blocks in plan.networks:
        for name in GAMES:
            if time.monotonic() > until:
                say("self-play: out of time, larger sizes are left out")
                return
            yield from play_one(plan, games.load(name), channels, blocks)


def play_one(plan: Plan, game: Game, channels: int, blocks: int) -> Iterator[Record]:
    """Measure one game and network."""
    groups = 2 if plan.is_tiny else max(2, min(8, (os.cpu_count() or 2) // 2))
    batch, simulations = (4, 4) if plan.is_tiny else (256, 32)
    module = network_for(game, channels, blocks)
    engines = [
        make_engine(module, game.observation_shape, device=plan.device, max_batch=batch)
        for _ in range(groups)
    ]
    layout = SelfPlayConfig(
        games=batch * groups, groups=groups, moves_per_round=1 if plan.is_tiny else 5, cache_positions=0
    )
    searchers = make_searchers(game, list(engines), SearchConfig(num_simulations=simulations), layout)
    play = SelfPlay(game, searchers, layout, seed=0)
    try:
        play.play_round()
        before = (play.seconds, play.busy_seconds, play.moves, play.counts()[1])
        while play.seconds - before[0] < 10 * plan.seconds:
            play.play_round()
        after = (play.seconds, play.busy_seconds, play.moves, play.counts()[1])
    finally:
        play.close()
    seconds, busy, moves, evaluations = (b - a for a, b in zip(before, after, strict=True))
    where = {
        "game": game.name, "network": f"{channels}x{blocks}", "engine": engines[0].name, "batch": batch,
        "groups": groups, "simulations": simulations, "device": plan.device,
    }  # fmt: skip
    yield record("selfplay/network_share", busy / seconds, **where)
    yield record("selfplay/evaluations_per_s", evaluations / seconds, **where)
    yield record("selfplay/positions_per_s", moves / seconds, **where)


def draw_targets(game: Game, rows: int) -> OutcomeBatch:
    """Draw targets for positions at which every action is legal."""
    rng = np.random.default_rng(0)
    legal = np.tile(np.arange(game.num_actions, dtype=np.int32), (rows, 1))
    policy = rng.dirichlet(np.ones(game.num_actions), rows).astype(np.float32)
    winner = rng.integers(0, game.num_players, rows)
    outcome = np.eye(game.num_players + 1, dtype=np.float32)[winner]
    values = np.where(np.arange(game.num_players)[None] == winner[:, None], 1.0, -1.0).astype(np.float32)
    return OutcomeBatch(planes_for(game, rows), legal, policy, outcome, values)


def training(plan: Plan, wrong: list[str]) -> Iterator[Record]:
    """Training steps in float32 and bfloat16, compiled or not; the loss must fall."""
    until, game = plan.until("training"), games.load("connect_four")
    batch = 16 if plan.is_tiny else 4096
    data = draw_targets(game, batch)
    spec = OutcomeSpec(game.num_players, game.return_range, game.view, game.has_draws)
    for channels, blocks in plan.networks:
        for precision in TRAINING_PRECISIONS:
            for is_compiled in (False,) if plan.is_tiny else (False, True):
                if time.monotonic() > until:
                    say("training: out of time, larger sizes are left out")
                    return
                module = network_for(game, channels, blocks)
                config = LearningConfig(batch_size=batch, precision=precision, warmup_steps=1)
                learner = Learner(module, config, OutcomeObjective(config, spec), plan.device)
                if is_compiled:
                    learner.network.compile()
                losses: list[float] = []

                def step(learner: Learner = learner, losses: list[float] = losses) -> int:
                    losses.append(learner.step(data)[0]["loss"])
                    return batch

                found = rate(step, plan.seconds if plan.is_tiny else 2.0, plan.device)
                where = {
                    "network": f"{channels}x{blocks}", "batch": batch, "precision": precision,
                    "compiled": is_compiled, "device": plan.device,
                }  # fmt: skip
                yield record("learn/samples_per_s", found, **where)
                if not losses[-1] < losses[0]:
                    wrong.append(f"{where}: the loss went from {losses[0]:.4g} to {losses[-1]:.4g}")


def main() -> int:
    """Run every section; give the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="write the records to this file too")
    parser.add_argument("--tiny", action="store_true", help="tiny sizes on the CPU, in seconds")
    given = parser.parse_args()
    if not given.tiny and refuse_without_gpu("--tiny"):
        return 2
    plan = Plan("cpu" if given.tiny else "cuda", given.tiny)
    if given.tiny:
        torch.set_num_threads(1)
    say(f"torch {torch.__version__} on " + ("the CPU" if given.tiny else torch.cuda.get_device_name()))
    wrong: list[str] = []
    return finish((inference(plan, wrong), selfplay(plan), training(plan, wrong)), given.json, wrong)


if __name__ == "__main__":
    sys.exit(main())
