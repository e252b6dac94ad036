"""Plays random games of three-player shogi by the package's rules and by the slow ones, and compares them.

    python -m tests.games.shogi3.agree --plies 5000000 --seed 1

Every second game starts from a random position, a few from one where Blue must pass; now and then a player
resigns. Legal moves with their numbers, the text and the result are compared at each position; the planes,
the texts of moves and the position read from its text at some.
"""

import argparse
import random
import sys
import time

import numpy as np
from tests.games.shogi3.slow import SEATS, START, SlowGame, random_position

from zelkova import games
from zelkova.games.game import Game, Position
from zelkova.games.shogi3 import position as positions
from zelkova.games.shogi3.record import result_of

RULES = ("own", "share", "vanish")
SHUT_IN = "bGbGbKb+Sb+Sb+Sb+Sb+Nb+N/bPbPbPbPbPbPbPbPbP/9/4rK4/9/8gK/9/9/9 b -/-/- - 40 own"  # Blue passes
LIMITS = (499, 60)
RESIGNS = 0.002  # chance at each position
LOOKS = 0.02  # of the positions are looked at in all detail


def agree(plies: int, seed: int) -> dict[str, int]:
    """Play at least so many plies; give what was met. An AssertionError names the first difference."""
    rng = random.Random(seed)
    loaded = {
        (rule, most): games.load("shogi3", {"capture": rule, "max_plies": most})
        for rule in RULES
        for most in LIMITS
    }
    met = {
        "plies": 0,
        "games": 0,
        "last": 0,
        "entry": 0,
        "limit": 0,
        "passes": 0,
        "resigned": 0,
        "most moves": 0,
    }
    while met["plies"] < plies:
        rule = RULES[met["games"] % 3]
        most = LIMITS[rng.random() < 0.1]
        text = START.replace("own", rule)
        if rng.random() < 0.5:
            text = random_position(rng, rule, most)
        elif rng.random() < 0.05:
            text = SHUT_IN.replace("own", rule)
        play_one(loaded[rule, most], SlowGame(text, most), text, rng, met)
        met["games"] += 1
    return met


def play_one(game: Game, slow: SlowGame, text: str, rng: random.Random, met: dict[str, int]) -> None:
    """Play one game to its end."""
    state = positions.text_to_position(game, text)
    moves: list[str] = []
    while True:
        compare(game, state, slow, f"{text} moves {' '.join(moves)}", is_close=rng.random() < LOOKS)
        legal = slow.moves
        met["most moves"] = max(met["most moves"], len(legal))
        if not legal:
            break
        before = slow.turn
        if rng.random() < RESIGNS:
            move = f"resign:{rng.choice(slow.alive())}"
            state = positions.resign(game, state, SEATS.index(move[-1]))
            met["resigned"] += 1
        else:
            move = rng.choice(list(legal))
            state = Position(game, state).play(legal[move]).state
            met["plies"] += 1
        slow.play(move)
        moves.append(move)
        order = [seat for seat in SEATS if seat not in slow.out or seat == before]
        turned = order[(order.index(before) + 1) % len(order)]
        met["passes"] += not slow.winner and not move.startswith("resign") and slow.turn != turned
    met[slow.how] += 1


def compare(game: Game, state: positions.States, slow: SlowGame, where: str, *, is_close: bool) -> None:
    """Compare one position."""
    fast = Position(game, state)
    legal = slow.moves
    numbers = sorted(legal.values())
    assert fast.legal_actions().tolist() == numbers, where
    text = positions.position_to_text(game, state)
    assert text == slow.text(), where
    result = {"winner": slow.winner, "how": slow.how, "plies": slow.plies} if slow.winner else None
    assert result_of(game, state) == result, where
    assert fast.is_terminal == bool(slow.winner), where
    if slow.winner:
        assert fast.returns.tolist() == [float(seat == slow.winner) for seat in SEATS], where
    elif is_close:
        for move, number in legal.items():
            assert fast.action_to_text(number) == move, where
            assert fast.text_to_action(move) == number, where
        again = positions.text_to_position(game, text)
        assert np.array_equal(again, state), where
    if is_close:
        planes = np.zeros((73, 9, 9), np.float32)
        for plane, cells in slow.planes().items():
            for (row, column), value in cells.items():
                planes[plane, row, column] = value
        assert np.array_equal(fast.observe(), planes), where
        assert positions.material(game, state) == tuple(slow.material(seat) for seat in SEATS), where


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plies", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    start = time.monotonic()
    met = agree(given.plies, given.seed)
    shown = ", ".join(f"{value} {name}" for name, value in met.items())
    sys.stdout.write(f"no difference: {shown}; {time.monotonic() - start:.0f} s\n")


if __name__ == "__main__":
    main()
