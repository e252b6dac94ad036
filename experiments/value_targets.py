"""How near are value targets to the truth? Positions of a connect-four run, judged by a perfect solver.

    python experiments/value_targets.py RUN --positions 1500

Games of the run's newest replay are searched again, as self-play searches. Each figure is the mean squared
distance of a target from the game-theoretic value (-1, 0, 1) of the mover, for positions grouped by ply.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from connect_four_optimal import GAME, make_solver

from zelkova.agents.load import load_agent
from zelkova.errors import ZelkovaError
from zelkova.learning.checkpoint import numbered_files
from zelkova.learning.chunks import ChunkStore, Packing
from zelkova.replay.episode import Episode
from zelkova.replay.packing import pack_episodes, unpack_episodes

LAMBDAS = (0.5, 0.7, 0.85, 0.95)
GROUPS = ((0, 4), (5, 8), (9, 12), (13, 17), (18, 24), (25, 42), (0, 42))


def read_games(run: Path, count: int, rng: np.random.Generator) -> list[Episode]:
    """Draw games from the newest two chunks of a run's replay."""
    store = ChunkStore(run / "replay", Packing(pack_episodes, unpack_episodes))
    found = [episode for number in numbered_files(store.folder)[-2:] for episode in store.load(number)[0]]
    rng.shuffle(found)  # type: ignore[arg-type]
    return [episode for episode in found if episode.recorded.any()][:count]


def judge(run: Path, count: int, simulations: int) -> dict[str, Any]:
    """Give each position's ply, its true value, and what every target says, for the mover."""
    rng = np.random.default_rng(0)
    games, solve = read_games(run, count, rng), make_solver()
    agent = load_agent(run, num_simulations=simulations, batch=256, gumbel_scale=1.0)
    found = agent.act(np.concatenate([episode.states for episode in games]), np.random.default_rng(1))
    columns: dict[str, list[float]] = {}
    start = 0
    for episode in games:
        rows = slice(start, start + len(episode))
        start += len(episode)
        move = int(rng.choice(np.flatnonzero(episode.recorded)))
        mover = int(episode.to_play[move])
        improved = found.improved_value[rows, mover]
        state = episode.states[move : move + 1]
        said = {
            "ply": float(np.count_nonzero(GAME.view_states(state)[0]["board"])),
            "truth": float(np.sign(max(solve(state).values()))),
            "outcome": float(episode.returns[mover]),
            "network": float(found.raw_value[rows, mover][move]),
            "mean of back-ups": float(found.value[rows, mover][move]),
            "improved value": float(improved[move]),
        }
        for weight in LAMBDAS:
            after = said["outcome"]
            for value in improved[: move - 1 if move else None : -1]:
                after = (1 - weight) * float(value) + weight * after
            said[f"lambda {weight:g}"] = after
        for name, value in said.items():
            columns.setdefault(name, []).append(value)
    return {name: np.array(values) for name, values in columns.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("run", type=Path)
    parser.add_argument("--positions", type=int, default=1500)
    parser.add_argument("--simulations", type=int, default=24)
    given = parser.parse_args()
    table = judge(given.run, given.positions, given.simulations)
    names = [name for name in table if name not in ("ply", "truth")]
    print("plies   positions  " + "  ".join(names))
    for first, last in GROUPS:
        chosen = (table["ply"] >= first) & (table["ply"] <= last)
        errors = [np.mean((table[name] - table["truth"])[chosen] ** 2) for name in names]
        cells = "  ".join(f"{error:{len(name)}.3f}" for error, name in zip(errors, names, strict=True))
        print(f"{first:2} to {last:2}  {chosen.sum():8}  {cells}")


if __name__ == "__main__":
    try:
        main()
    except ZelkovaError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
