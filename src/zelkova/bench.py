"""The speed of every stage on one page, each beside its limit or beside peers that take turns with it.

Rates of one thread count CPU seconds, so that a busy neighbour costs nothing; self-play and networks count
wall time. Every figure is the median of some rounds, and whatever it is compared with is measured in the
same rounds, in turn: what slows the machine for a while slows both. Peers live in a virtual environment of
their own and run as processes (bench/peers/), each kept to one core.
"""

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova import games
from zelkova.agents.reference.uct import UctSearch
from zelkova.config import load_config
from zelkova.errors import ConfigError, hint
from zelkova.games import Game
from zelkova.games.playout import playouts
from zelkova.networks.inference import make_engine
from zelkova.networks.speed import SpeedConfig, measure_engines, random_network, run_side_by_side
from zelkova.search import speed
from zelkova.search.models.table_model import random_tables
from zelkova.selfplay.searchers import make_searchers
from zelkova.selfplay.selfplay import SelfPlay

Params = dict[str, Any]
Record = dict[str, Any]
Measure = Callable[[float], float]  # seconds to measure for -> rate

TREES = ("gumbel_mcts", "mctx", "lightzero")
PEERS = {"rules": ("open_spiel", "pgx"), "search": TREES, "selfplay": (), "network": ()}
PATIENCE = 600.0  # seconds that a peer may take for one answer, compilation included
PLAYOUT_BATCH = 256  # games of one call
UCT_GAME, UCT_SIMULATIONS, UCT_BATCH = "connect_four", 1000, 16


@dataclass(frozen=True)
class BenchConfig:
    """How long, and beside whom."""

    seconds: float = 0.5  # of each round of a figure
    rounds: int = 5  # the median one counts
    peers: Path | None = None  # the peers' virtual environment; None: measure without them
    is_quick: bool = False  # small sizes, to see that everything runs; the figures mean little


@dataclass(frozen=True)
class Rival:
    """What a figure is compared with."""

    name: str  # of the peer, or of the limit in words
    kind: str  # "peer", "limit" or "own": another figure of this program
    value: float  # in the figure's unit
    settings: str = ""  # at which a peer was measured


@dataclass(frozen=True)
class Figure:
    """One measured figure and its rivals."""

    name: str  # stage/quantity_unit
    value: float
    params: Params  # what it was measured at
    rivals: tuple[Rival, ...] = ()

    def records(self) -> list[Record]:
        """Give the figure, then a record STAGE/ratio for each rival."""
        stage = self.name.partition("/")[0]
        found: list[Record] = [{"name": self.name, "value": self.value, "params": self.params}]
        for rival in self.rivals:
            where = {"of": self.name, "to": rival.name, "kind": rival.kind, "to_value": rival.value}
            more = {"settings": rival.settings} if rival.settings else {}
            ratio = self.value / rival.value
            found.append(
                {"name": f"{stage}/ratio", "value": ratio, "params": {**self.params, **where, **more}}
            )
        return found


@dataclass
class Peer:
    """A peer's process, asked a task at a time."""

    process: "subprocess.Popen[str]"
    name: str = ""  # with its version, once it greeted
    settings: dict[str, str] = field(default_factory=dict)  # by the figure's name

    def ask(self, task: Mapping[str, Any]) -> float | None:
        """Let the peer measure; None where it has no answer to this task, or is gone."""
        answer = self._exchange(json.dumps(task))
        if answer.get("value") is None:
            return None
        self.settings[str(task["name"])] = str(answer["settings"])
        return float(answer["value"])

    def greet(self) -> bool:
        """Wait for the peer's name; say whether it is there."""
        answer = self._exchange(None)
        self.name = " ".join(answer.values())
        return bool(answer)

    def _exchange(self, line: str | None) -> dict[str, Any]:
        """Send a line, if any, and read one; nothing comes from a peer that died or was given up."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        watchdog = threading.Timer(PATIENCE, self.process.kill)
        watchdog.start()
        try:
            if line is not None:
                self.process.stdin.write(line + "\n")
                self.process.stdin.flush()
            text = self.process.stdout.readline()
            return dict(json.loads(text)) if text else {}
        except (OSError, ValueError):
            return {}
        finally:
            watchdog.cancel()

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):  # what was still to be sent to a peer that died
                if pipe is not None:
                    pipe.close()


def find_peers(given: Path | None) -> tuple[Path, Path] | None:
    """Find the peers' Python and their scripts.

    Args:
        given: the virtual environment; .venv-peers beside the checkout or in the current folder where None.
    Returns:
        both, or None where there are none and none were asked for.
    Raises:
        ConfigError: an environment was named that is not there, or the scripts are not there.
    """
    roots = (Path.cwd(), Path(__file__).resolve().parents[2])
    places = [given] if given is not None else [root / ".venv-peers" for root in roots]
    pythons = [place / "bin" / "python" for place in places]
    python = next((path for path in pythons if path.exists()), None)
    scripts = next((root / "bench" / "peers" for root in roots if (root / "bench" / "peers").is_dir()), None)
    if given is not None and python is None:
        raise ConfigError(f"--peers {given}: there is no {pythons[0]}; `make bench` makes one as .venv-peers")
    if given is not None and scripts is None:
        raise ConfigError("--peers needs the scripts in bench/peers; run it in a checkout of the sources")
    return None if python is None or scripts is None else (python.absolute(), scripts)


@contextmanager
def open_peers(part: str, config: BenchConfig, say: Callable[[str], None]) -> Iterator[list[Peer]]:
    """Start a part's peers; name those that are not there in one line."""
    found = None if config.is_quick and config.peers is None else find_peers(config.peers)
    absent, peers = [], []
    with ExitStack() as stack:
        for name in PEERS[part]:
            peer = None
            if found is not None:
                script = found[1] / f"peer_{name}.py"
                process = subprocess.Popen(
                    [str(found[0]), str(script), "--serve"],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                )  # fmt: skip
                peer = Peer(process)
                stack.callback(peer.close)
            if peer is not None and peer.greet():
                peers.append(peer)
            else:
                absent.append(name)
        if absent:
            say(f"without {', '.join(absent)}: not in a .venv-peers here; `make bench` installs what can be")
        yield peers


def compare(ours: Measure, name: str, params: Params, peers: Sequence[Peer], config: BenchConfig) -> Figure:
    """Measure ours and every peer that knows the task, in turn, round after round."""
    task = {"name": name, "params": params, "seconds": config.seconds}
    rates: list[float] = []
    theirs: dict[int, list[float]] = {}
    for _ in range(config.rounds):
        rates.append(ours(config.seconds))
        for index, peer in enumerate(peers):
            rate = peer.ask(task)
            if rate is not None:
                theirs.setdefault(index, []).append(rate)
    rivals = [
        Rival(peers[index].name, "peer", median(found), peers[index].settings[name])
        for index, found in theirs.items()
    ]
    return Figure(name, median(rates), params, tuple(rivals))


def rate_of(work: Callable[[], int], seconds: float) -> float:
    """Give the amount of work in a CPU second of this process, measured over `seconds` and once at least."""
    done, start, spent = 0, time.process_time(), 0.0
    while spent < seconds or not spent:
        done, spent = done + work(), time.process_time() - start
    return done / spent


def playout_work(game: Game) -> Callable[[], int]:
    """Make a function that plays PLAYOUT_BATCH random games in one thread and gives their moves."""
    rules = game.native
    fresh = game.initial_states(np.arange(PLAYOUT_BATCH, dtype=np.uint64))
    states, counter = fresh.copy(), np.zeros(1, np.uint64)
    actions, probs = game.new_scratch()

    def work() -> int:
        states[:] = fresh
        return int(playouts(*rules.moving, states, counter, actions, probs))

    work()
    return work


def uct_work(game: Game, simulations: int) -> Callable[[], int]:
    """Make a function that searches UCT_BATCH initial positions by UCT and gives the simulations."""
    search = UctSearch(game, simulations)
    states = game.initial_states(np.arange(UCT_BATCH, dtype=np.uint64))
    seeds = np.arange(UCT_BATCH, dtype=np.uint64)

    def work() -> int:
        search.search(states, seeds)
        return UCT_BATCH * simulations

    work()
    return work


def draws(seconds: float) -> float:
    """Measure random moves alone: bounded random numbers that NumPy draws in a CPU second."""
    rng = np.random.Generator(np.random.SFC64(0))
    return rate_of(lambda: len(rng.integers(0, 7, 4096, dtype=np.uint32)), seconds)


def bench_rules(config: BenchConfig, peers: Sequence[Peer]) -> Iterator[Figure]:
    """Random playouts of every game on one core; then UCT with one random rollout a simulation."""
    limit = median(draws(config.seconds) for _ in range(config.rounds))
    for name in games.names():
        work = playout_work(games.load(name))
        found = compare(partial(rate_of, work), "rules/moves_per_s", {"game": name}, peers, config)
        drawn = Rival("drawing random numbers alone", "limit", limit)
        yield Figure(found.name, found.value, found.params, (*found.rivals, drawn))
        if name == UCT_GAME:
            moves = found.value / (work() / PLAYOUT_BATCH)
    game = games.load(UCT_GAME)
    search = uct_work(game, UCT_SIMULATIONS)
    params = {"game": UCT_GAME, "simulations": UCT_SIMULATIONS}
    found = compare(partial(rate_of, search), "uct/simulations_per_s", params, peers, config)
    alone = Rival("random playouts from the start alone", "own", moves)
    yield Figure(found.name, found.value, found.params, (*found.rivals, alone))


def copies(trees: int, simulations: int, actions: int) -> Measure:
    """Make a measure of memory alone: rows of logits that NumPy copies from the table into the trees."""
    rng = np.random.default_rng(7)
    logits = random_tables(rng, 1024, actions).prior_logits
    order = rng.integers(0, len(logits), trees * simulations)
    into: NDArray[np.float32] = np.empty((len(order), actions), np.float32)

    def work() -> int:
        np.take(logits, order, axis=0, out=into, mode="clip")
        return len(order)

    return partial(rate_of, work)


def tree_rate(policy: str, size: tuple[int, int, int], seconds: float) -> float:
    """Measure simulations in a CPU second at (trees, simulations, actions)."""
    return float(speed.tree_speed(policy, *size, seconds)["value"])


def bench_search(config: BenchConfig, peers: Sequence[Peer]) -> Iterator[Figure]:
    """Tree work alone, PUCT and Gumbel, at seven sizes; then what else speed.py measures."""
    name = "search/simulations_per_cpu_s"
    for trees, simulations, actions in speed.SPEED_ROWS:
        size = (trees, simulations, actions)
        limit = copies(*size)
        puct = 0.0
        for policy in ("puct", "gumbel"):
            params = {"trees": trees, "simulations": simulations, "actions": actions, "policy": policy}
            ours = partial(tree_rate, policy, size)
            found = compare(ours, name, params, peers, config)
            rivals = [
                *found.rivals,
                Rival("copying the logits alone (memory)", "limit", limit(config.seconds)),
            ]
            if policy == "gumbel":
                rivals.append(Rival("PUCT", "own", puct))
            puct = found.value
            yield Figure(name, found.value, params, tuple(rivals))
    for record in speed.other_records(config.seconds):
        yield Figure(**record)


def bench_selfplay(config: BenchConfig, peers: Sequence[Peer]) -> Iterator[Figure]:
    """Self-play at connect four, no evaluation cache and no learning, beside its engines alone."""
    for channels, blocks in ((8, 1),) if config.is_quick else ((32, 3), (64, 4)):
        yield from play_with(config, channels, blocks)


def play_with(config: BenchConfig, channels: int, blocks: int) -> Iterator[Figure]:
    """Measure self-play with one network."""
    quick = ["selfplay.games=16", "selfplay.moves_per_round=2", "search.num_simulations=4"]
    run = load_config("connect_four", ["selfplay.cache_positions=0", *(quick if config.is_quick else [])])
    game = games.load(run.game.name, dict(run.game.options))
    sizes = SpeedConfig(observation_shape=game.observation_shape, num_actions=game.num_actions)
    module = random_network(sizes, channels, blocks)
    batch = run.selfplay.games // run.selfplay.groups
    engines = [
        make_engine(module, game.observation_shape, max_batch=batch) for _ in range(run.selfplay.groups)
    ]
    params = {
        "game": game.name, "network": f"{channels}x{blocks}", "engine": engines[0].name, "batch": batch,
        "groups": run.selfplay.groups, "simulations": run.search.num_simulations,
    }  # fmt: skip
    planes = (np.random.default_rng(0).random((batch, *game.observation_shape)) < 0.4).astype(np.float32)
    searchers = make_searchers(game, list(engines), run.search, run.selfplay)
    play = SelfPlay(game, searchers, run.selfplay, seed=0)
    rounds: list[
        tuple[float, float, int, int, float]
    ] = []  # seconds, busy, positions, evaluations; engines alone
    try:
        play.play_round()
        for _ in range(config.rounds):
            before = (play.seconds, play.busy_seconds, play.moves, play.counts()[1])
            while play.seconds - before[0] < config.seconds:
                play.play_round()
            alone = run_side_by_side([engine.evaluate for engine in engines], planes, config.seconds)
            after = (play.seconds, play.busy_seconds, play.moves, play.counts()[1])
            seconds, busy, moves, evaluations = (b - a for a, b in zip(before, after, strict=True))
            rounds.append((seconds, busy, int(moves), int(evaluations), alone))
    finally:
        play.close()
    yield Figure("selfplay/network_share", median(r[1] / r[0] for r in rounds), params)
    limit = Rival("its engines alone, side by side", "limit", median(r[4] for r in rounds))
    yield Figure("selfplay/evaluations_per_s", median(r[3] / r[0] for r in rounds), params, (limit,))
    yield Figure("selfplay/positions_per_s", median(r[2] / r[0] for r in rounds), params)


def bench_network(config: BenchConfig, peers: Sequence[Peer]) -> Iterator[Figure]:
    """Every inference engine of this CPU, beside each other and beside a matrix product."""
    sizes = SpeedConfig(seconds=config.seconds, rounds=config.rounds)
    if config.is_quick:
        sizes = SpeedConfig(networks=((8, 1),), batches=(16,), seconds=0.02, rounds=1)
    records = measure_engines(sizes)
    keys = ("channels", "blocks", "batch")
    rates = [r for r in records if r["name"] == "network/evaluations_per_s"]
    shares = {json.dumps(r["params"]): r["value"] for r in records if r["name"] == "network/share_of_gemm"}
    for record in rates:
        same = [r for r in rates if all(r["params"][key] == record["params"][key] for key in keys)]
        limit = record["value"] / shares[json.dumps(record["params"])]
        rivals = [Rival("bfloat16 matrix product (GEMM)", "limit", limit)]
        if record["params"]["is_chosen"]:
            for other in (r for r in same if r is not record):
                engine = other["params"]["engine"]
                kind = "peer" if engine.startswith("onnxruntime") else "own"
                rivals.append(Rival(engine, kind, other["value"]))
        yield Figure(record["name"], record["value"], record["params"], tuple(rivals))
    for record in records:
        if record["name"] in ("network/load_s", "network/policy_error", "network/gemm_tflops"):
            yield Figure(**record)


PARTS: dict[str, Callable[[BenchConfig, Sequence[Peer]], Iterator[Figure]]] = {
    "rules": bench_rules,
    "search": bench_search,
    "selfplay": bench_selfplay,
    "network": bench_network,
}
"""What can be measured, by the name on the command line."""


def bench(part: str, config: BenchConfig, say: Callable[[str], None]) -> Iterator[Figure]:
    """Measure one part and give each figure as soon as it is there.

    Args:
        part: a key of PARTS.
        config: how long and beside whom.
        say: takes a line about what is missing.
    Raises:
        ConfigError: the part is unknown, or peers were asked for that are not there.
    """
    if part not in PARTS:
        raise ConfigError(f"unknown part `{part}`; {hint(part, PARTS)}")
    with open_peers(part, config, say) as peers:
        yield from PARTS[part](config, peers)
