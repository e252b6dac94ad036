"""Share of a player's moves at connect four that keep the game-theoretic result.

    python experiments/connect_four_optimal.py PLAYER --simulations 128 --json FILE
    python experiments/connect_four_optimal.py --judge tests/golden/connect_four_judged.txt

The second form draws 1,000 positions after 2 to 21 random plies in which at least one legal move would lose
the result, and has the PyPI package `bitbully`, an independent perfect solver, judge every move. The first
form reads them and needs no solver.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zelkova import games
from zelkova.errors import MissingExtraError, ZelkovaError
from zelkova.evaluation.optimal import Solver, judge_positions, optimal_move_share, read_judged_file
from zelkova.evaluation.players import Player, is_reference, make_player

GAME = games.load("connect_four")
JUDGED = Path(__file__).parent.parent / "tests" / "golden" / "connect_four_judged.txt"

# What each first column is worth to the first player: only the middle one wins (Allis 1988; Allen 1988).
OPENING_VALUES = {0: -1, 1: -1, 2: 0, 3: 1, 4: 0, 5: -1, 6: -1}


def make_solver() -> Solver:
    """Wrap bitbully, and check its conventions against the solved opening."""
    try:
        from bitbully import BitBully, Board  # type: ignore
    except ImportError:
        raise MissingExtraError(
            "judging positions needs the package bitbully; pip install bitbully"
        ) from None
    solver = BitBully()

    def solve(state: NDArray[np.uint64]) -> dict[int, int]:
        board = GAME.view_states(state)[0]["board"]
        top_first = [[int(cell) for cell in row] for row in board[::-1]]
        scores = solver.score_all_moves(Board.from_array(top_first))
        return {int(action): int(score) for action, score in scores.items()}

    signs = {action: int(np.sign(score)) for action, score in solve(GAME.position().state).items()}
    if signs != OPENING_VALUES:
        raise SystemExit(f"the solver's scores have another meaning than expected: {signs} at the start")
    return solve


def write_judged(path: Path, count: int, seed: int) -> None:
    lines = judge_positions(GAME, make_solver(), count, seed)
    head = [
        f"# {count} positions of connect four after 2 to 21 random plies (seed {seed}), each move judged by",
        "# a perfect solver (PyPI bitbully): + win, = draw, - loss for the mover, . column full.",
        f"# python experiments/connect_four_optimal.py --judge {path.name} --positions {count} --seed {seed}",
    ]
    path.write_text("\n".join(head + lines) + "\n", encoding="ascii")


def load_player(text: str, simulations: int) -> Player:
    if is_reference(text):
        return make_player(text, GAME)
    from zelkova.agents.load import load_agent

    return make_player(
        text, GAME, load_agent=lambda path: load_agent(path, num_simulations=simulations, batch=64)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("players", nargs="*", help="random, uct:N, a run's folder or a checkpoint")
    parser.add_argument("--judge", type=Path, metavar="FILE", help="draw and judge positions into a file")
    parser.add_argument(
        "--judged", type=Path, default=JUDGED, metavar="FILE", help="read positions from here"
    )
    parser.add_argument("--positions", type=int, default=1000)
    parser.add_argument("--simulations", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    if given.judge is not None:
        write_judged(given.judge, given.positions, given.seed)
        return
    judged = read_judged_file(GAME, given.judged)
    records = []
    for text in given.players:
        result = optimal_move_share(load_player(text, given.simulations), judged, given.seed)
        low, high = result.interval
        params = {"player": text, "simulations": given.simulations, "positions": len(result.kept)}
        records.append({"name": "connect_four/optimal_share", "value": result.share, "params": params})
        print(f"{text}: {result.share:.1%} of moves keep the result (95 %: {low:.1%} to {high:.1%})")
        for first, last in ((2, 6), (7, 11), (12, 16), (17, 21)):
            chosen = (result.plies >= first) & (result.plies <= last)
            print(f"  after {first:2} to {last:2} plies: {result.kept[chosen].mean():.1%} of {chosen.sum()}")
    if given.json is not None:
        given.json.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except ZelkovaError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
