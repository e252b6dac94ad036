"""The compiled search: depth-first over frames, iterative deepening, one row of a batch after the other.

Max^n and paranoid alpha-beta are one loop. They differ in whose component of the value vector a node reads:

    max^n     the mover's own, largest wins; no window
    paranoid  the searcher's: largest where the searcher moves, smallest elsewhere, inside (alpha, beta)

An action that leads to the highest return ends its node in both, where that return settles everyone's.
"""

from typing import Any

import numpy as np

from zelkova.search.classic.calls import Calls
from zelkova.search.classic.frames import Frames, Terms
from zelkova.search.classic.table import (
    EXACT,
    LOWER,
    UPPER,
    Table,
    bound_of,
    find_entry,
    hash_row,
    is_settled,
    is_valid,
    pack,
    store_entry,
)
from zelkova.search.kernels.native import inlined, kernel

KNOWN, INNER, BROKEN = 0, 1, -1
"""What an opened node is: its value is known, it has actions to try, or the rules give it none."""

FINISHED, STOPPED = 0, 1
"""How an iteration ended: of itself, or at the limit of positions."""

SORTED = 8
"""Actions of a node that are tried in the order of their promise; those after them in the game's order."""


@inlined
def look_up(frames: Frames, table: Table, terms: Terms, ply: Any, remaining: Any) -> Any:
    """Take a node's value from the table where it answers the question asked; say whether it did."""
    frames.likely[ply] = -1
    entry = find_entry(table, frames.keys[ply], terms.generation)
    if entry < 0:
        return False
    frames.likely[ply] = table.ints[entry, 2]
    if ply == 0 or not is_valid(table, entry, remaining):
        return False
    if terms.seat >= 0:
        bound = bound_of(table, entry)
        value = table.floats[entry, 4 + terms.seat]
        if (bound == LOWER and value < frames.beta[ply - 1]) or (
            bound == UPPER and value > frames.alpha[ply - 1]
        ):
            return False
    for player in range(frames.best.shape[1]):
        frames.best[ply, player] = table.floats[entry, 4 + player]
    frames.settled[ply] = is_settled(table, entry)
    frames.lines[ply, 0] = table.ints[entry, 2]
    frames.line_length[ply] = 1
    return True


@inlined
def judge(calls: Calls, frames: Frames, terms: Terms, ply: Any, address: Any) -> Any:
    """Write what a leaf is worth, held to the range of returns; give whether it is numbers."""
    for player in range(frames.best.shape[1]):
        frames.best[ply, player] = terms.even
    calls.evaluate(address, frames.best[ply])
    is_number = True
    for player in range(frames.best.shape[1]):
        is_number = is_number and not np.isnan(frames.best[ply, player])
        frames.best[ply, player] = min(max(frames.best[ply, player], terms.low), terms.high)
    frames.settled[ply] = False
    return is_number


@inlined
def open_node(calls: Calls, frames: Frames, table: Table, terms: Terms, ply: Any, depth: Any) -> Any:
    """Begin with the state at a ply; give KNOWN, INNER or BROKEN."""
    address = np.intp(frames.states.ctypes.data) + ply * frames.states.shape[1] * 8
    frames.line_length[ply] = 0
    if calls.is_terminal(address):
        calls.returns(address, frames.best[ply])
        frames.settled[ply] = True
        return KNOWN
    if ply == depth:
        return KNOWN if judge(calls, frames, terms, ply, address) else BROKEN
    if len(table.words) > 0:
        frames.keys[ply] = calls.position_hash(address) if terms.has_hash else hash_row(frames.states, ply)
        if look_up(frames, table, terms, ply, depth - ply):
            return KNOWN
    count = calls.legal_actions(address, frames.actions[ply])
    if count <= 0:
        return BROKEN
    frames.count[ply] = count
    frames.tried[ply] = 0
    frames.best_action[ply] = -1
    frames.settled[ply] = True
    frames.alpha[ply] = frames.floor[ply] = frames.alpha[ply - 1] if ply > 0 else terms.low
    frames.beta[ply] = frames.ceiling[ply] = frames.beta[ply - 1] if ply > 0 else terms.high
    return INNER


@inlined
def next_action(frames: Frames, terms: Terms, ply: Any) -> Any:
    """Give the action to try next: the likely one, those that cut off most, then the game's order.

    Max^n below the root keeps the game's order, so that of equals the first is taken.
    """
    tried = frames.tried[ply]
    frames.tried[ply] = tried + 1
    if tried == 0 and frames.likely[ply] >= 0 and (terms.seat >= 0 or ply == 0):
        for k in range(frames.count[ply]):
            if frames.actions[ply, k] == frames.likely[ply]:
                for j in range(k, 0, -1):
                    frames.actions[ply, j] = frames.actions[ply, j - 1]
                frames.actions[ply, 0] = frames.likely[ply]
                return frames.likely[ply]
    if terms.seat >= 0 and tried < SORTED and ply > 0:
        mover = frames.movers[ply]
        best = tried
        most = frames.history[mover, frames.actions[ply, tried]]
        for k in range(tried + 1, frames.count[ply]):
            score = frames.history[mover, frames.actions[ply, k]]
            if score > most:
                most = score
                best = k
        chosen = frames.actions[ply, best]
        frames.actions[ply, best] = frames.actions[ply, tried]
        frames.actions[ply, tried] = chosen
    return frames.actions[ply, tried]


@inlined
def keep_best(frames: Frames, ply: Any, action: Any) -> None:
    """Take a finished child's values and line as the node's own."""
    for player in range(frames.best.shape[1]):
        frames.best[ply, player] = frames.best[ply + 1, player]
    frames.best_action[ply] = action
    frames.best_settled[ply] = frames.settled[ply + 1]
    frames.lines[ply, 0] = action
    length = frames.line_length[ply + 1]
    for k in range(length):
        frames.lines[ply, k + 1] = frames.lines[ply + 1, k]
    frames.line_length[ply] = length + 1


@inlined
def fold(frames: Frames, terms: Terms, ply: Any, depth: Any) -> None:
    """Let a node at a ply take in the child that has just been finished below it.

    Source: max^n (Luckhardt and Irani 1986); paranoid (Sturtevant and Korf 2000); alpha-beta (Knuth and Moore
    1975), fail-soft; an end at the highest value is immediate pruning (Korf 1991).
    """
    action = frames.actions[ply, frames.tried[ply] - 1]
    mover = np.int64(frames.movers[ply])
    is_new = frames.best_action[ply] < 0
    frames.settled[ply] &= frames.settled[ply + 1]
    if terms.seat < 0:
        value, known = frames.best[ply + 1, mover], frames.best[ply, mover]
        is_first = ply == 0 and value == known and action < frames.best_action[ply]
        if is_new or value > known or is_first:
            keep_best(frames, ply, action)
        is_cut = value >= terms.winning and ply > 0
    else:
        value, known = frames.best[ply + 1, terms.seat], frames.best[ply, terms.seat]
        if mover == terms.seat:
            if is_new or value > known:
                keep_best(frames, ply, action)
            frames.alpha[ply] = max(frames.alpha[ply], value)
        else:
            if is_new or value < known:
                keep_best(frames, ply, action)
            frames.beta[ply] = min(frames.beta[ply], value)
        is_cut = frames.alpha[ply] >= frames.beta[ply]
        if is_cut:
            frames.history[mover, action] += (depth - ply) * (depth - ply)
    if is_cut:
        frames.count[ply] = frames.tried[ply]
        frames.settled[ply] = frames.settled[ply + 1]


@inlined
def keep_node(frames: Frames, table: Table, terms: Terms, ply: Any, depth: Any) -> None:
    """Put a finished node into the table."""
    bound = EXACT
    if terms.seat >= 0:
        value = frames.best[ply, terms.seat]
        if value <= frames.floor[ply] and value > terms.low:
            bound = UPPER
        elif value >= frames.ceiling[ply] and value < terms.high:
            bound = LOWER
    packed = pack(terms.generation, depth - ply, frames.settled[ply], bound)
    store_entry(table, frames.keys[ply], packed, frames.best_action[ply], frames.best[ply])


@kernel
def search_depth(calls: Calls, frames: Frames, table: Table, terms: Terms, depth: Any, visited: Any) -> Any:
    """Search the root's state to a depth; frame 0 then holds the answer. Gives FINISHED, STOPPED or BROKEN.

    Args:
        visited: int64[1], positions visited, counted on; where terms.limit is met the search stops.
    """
    likely = frames.likely[0]
    opened = open_node(calls, frames, table, terms, 0, depth)
    if opened != INNER:
        return BROKEN
    frames.likely[0] = likely
    stride = frames.states.shape[1] * 8
    base = np.intp(frames.states.ctypes.data)
    ply = 0
    while True:
        if frames.tried[ply] == frames.count[ply]:
            if len(table.words) > 0:
                keep_node(frames, table, terms, ply, depth)
            if ply == 0:
                return FINISHED
            ply -= 1
            fold(frames, terms, ply, depth)
            continue
        if visited[0] >= terms.limit and depth > 1:
            return STOPPED
        visited[0] += 1
        action = next_action(frames, terms, ply)
        for word in range(frames.states.shape[1]):
            frames.states[ply + 1, word] = frames.states[ply, word]
        calls.step(base + (ply + 1) * stride, np.int64(action))
        opened = open_node(calls, frames, table, terms, ply + 1, depth)
        if opened == BROKEN:
            return BROKEN
        if opened == INNER:
            ply += 1
        else:
            fold(frames, terms, ply, depth)


@inlined
def is_decided(frames: Frames, terms: Terms) -> Any:
    """Say whether deeper iterations can't change the root's answer: it rests on endings alone."""
    if frames.settled[0]:
        return True
    mover = np.int64(frames.movers[0])
    return terms.seat < 0 and frames.best_settled[0] and frames.best[0, mover] >= terms.winning


@kernel
def search_rows(
    calls: Calls, frames: Frames, table: Table, terms: Terms, depths: Any, states: Any,
    actions: Any, values: Any, reached: Any, visited: Any, settled: Any, lines: Any,
) -> Any:  # fmt: skip
    """Search every row of states uint64[n, words] by iterative deepening; a row's answer is its own.

    Args:
        terms: a paranoid search's seat is that of each row's mover; generation is the first row's.
        depths: int64[2], of the first iteration and of the last.
        actions: int32[n], written.
        values: float32[n, P], written.
        reached: int32[n], written: depth of the last iteration that was finished.
        visited: int64[n], written: positions visited.
        settled: bool[n], written: does the answer rest on endings alone.
        lines: int32[n, D], written: best line, -1 after its end.
    Returns: 0, or -1 - row where a position has no legal action, or evaluate writes NaN.
    """
    for row in range(len(states)):
        for word in range(states.shape[1]):
            frames.states[0, word] = states[row, word]
        frames.history[:, :] = 0
        seat = terms.seat if terms.seat < 0 else np.int64(frames.movers[0])
        own = Terms(
            seat, terms.low, terms.high, terms.winning, terms.even, terms.limit, terms.has_hash,
            terms.generation + row,
        )  # fmt: skip
        frames.likely[0] = -1
        visited[row] = 0
        reached[row] = 0
        for depth in range(depths[0], depths[1] + 1):
            status = search_depth(calls, frames, table, own, depth, visited[row : row + 1])
            if status == BROKEN:
                return -1 - row
            if frames.best_action[0] >= 0:
                actions[row] = frames.best_action[0]
                frames.likely[0] = frames.best_action[0]
                for player in range(values.shape[1]):
                    values[row, player] = frames.best[0, player]
                for k in range(frames.line_length[0]):
                    lines[row, k] = frames.lines[0, k]
                for k in range(frames.line_length[0], lines.shape[1]):
                    lines[row, k] = -1
            if status == STOPPED:
                break
            reached[row] = depth
            settled[row] = is_decided(frames, own)
            if settled[row]:
                break
    return 0
