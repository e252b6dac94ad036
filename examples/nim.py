"""Nim: take any number of matches from one heap; whoever takes the last match wins.

A whole game in one file. Check it, then raise an opponent for it:

    zelkova check examples/nim.py
    zelkova train examples/nim.py

An action is heap * LARGEST + (matches - 1). A move is written as heap letter and number: b3 takes
three matches from the second heap.
"""

import numpy as np

from zelkova.errors import NotationError

HEAPS = (3, 5, 7)
LARGEST = max(HEAPS)
START = np.array(HEAPS, np.int8)

STATE = np.dtype([("heaps", np.int8, (len(HEAPS),)), ("to_play", np.int8)], align=True)
NUM_PLAYERS = 2
NUM_ACTIONS = len(HEAPS) * LARGEST  # heap * LARGEST + (matches - 1)
OBSERVATION_SHAPE = (1, len(HEAPS), LARGEST)  # a one for each match that is left
RETURN_RANGE = (-1.0, 1.0)
VIEW = "mover"
HAS_DRAWS = False
MAX_LEGAL_ACTIONS = sum(HEAPS)


def init(state, seed):
    """Write the full heaps."""
    for heap in range(len(HEAPS)):
        state["heaps"][heap] = START[heap]
    state["to_play"] = 0


def legal_actions(state, out):
    """Write what can be taken from each heap."""
    count = 0
    for heap in range(len(HEAPS)):
        for more in range(state["heaps"][heap]):
            out[count] = heap * LARGEST + more
            count += 1
    return count


def step(state, action):
    """Take matches from a heap."""
    state["heaps"][action // LARGEST] -= action % LARGEST + 1
    state["to_play"] = 1 - state["to_play"]


def is_terminal(state):
    """Say whether no match is left."""
    left = 0
    for heap in range(len(HEAPS)):
        left += state["heaps"][heap]
    return left == 0


def returns(state, out):
    """Write 1 for the player who took the last match, -1 for the one who would move now."""
    out[state["to_play"]] = -1.0
    out[1 - state["to_play"]] = 1.0


def observe(state, planes):
    """Write a one for each match that is left."""
    for heap in range(len(HEAPS)):
        for match in range(state["heaps"][heap]):
            planes[0, heap, match] = 1.0


def action_to_text(game, state, action):
    """Write a move, such as b3."""
    return f"{chr(ord('a') + action // LARGEST)}{action % LARGEST + 1}"


def text_to_action(game, state, text):
    """Read a move."""
    text = text.strip().lower()
    heap, number = ord(text[:1] or " ") - ord("a"), text[1:]
    if 0 <= heap < len(HEAPS) and number.isascii() and number.isdigit() and 1 <= int(number) <= LARGEST:
        return heap * LARGEST + int(number) - 1
    raise NotationError(f"`{text}` names no matches; allowed: heap letter and number, such as b3")


def draw_text(game, state, *, colour, unicode):
    """Draw the heaps."""
    match = "│" if unicode else "|"
    return "\n".join(
        f"{chr(ord('a') + heap)} {match * int(count)}" for heap, count in enumerate(state["heaps"])
    )
