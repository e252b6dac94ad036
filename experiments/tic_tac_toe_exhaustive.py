"""Play an agent against every reply at tic-tac-toe, from both seats: does it ever lose?

The agent may know the rules, or have learnt without them.

python experiments/tic_tac_toe_exhaustive.py runs/ttt --simulations 64
"""

import argparse
import sys

from zelkova.cli.arena import load_player
from zelkova.errors import ZelkovaError
from zelkova.evaluation.exhaustive import walk_replies
from zelkova.evaluation.players import SearchPlayer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("run", help="a run's folder or a checkpoint")
    parser.add_argument("--simulations", type=int, default=64, help="a move")
    given = parser.parse_args()
    agent, game = load_player(given.run, given.simulations, "auto")
    losses = 0
    for seat in range(2):
        walk = walk_replies(game, SearchPlayer(agent, given.run), seat)
        print(f"seat {seat + 1}: {walk.wins} wins, {walk.draws} draws, {walk.losses} losses (every reply)")
        losses += walk.losses
    sys.exit(1 if losses else 0)


if __name__ == "__main__":
    try:
        main()
    except ZelkovaError as error:
        sys.exit(f"{error}")
