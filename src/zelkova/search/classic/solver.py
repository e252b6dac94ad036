"""The exact solution of small games: max^n to every ending, each position once.

Positions are told apart by their whole rows, not by keys, so that no two are ever taken for one.
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ConfigError, GameError, require_memory
from zelkova.search.classic.calls import Calls, Rules
from zelkova.search.classic.table import hash_row
from zelkova.search.kernels.native import inlined, kernel

SOLVED, FULL, DEEP, BROKEN, ROUND = 0, -1, -2, -3, -4
"""How a solver ended: done; out of positions or plies; rules without an action; a position repeats."""

MOST_POSITIONS = 4_000_000
"""Different positions that a solution may meet, unless more are allowed."""

_CEILING = 2**30


@dataclasses.dataclass(frozen=True)
class Solution:
    """What a position is worth when everyone plays for itself, to the end."""

    action: int  # first of the mover's best
    value: NDArray[np.float32]  # [P] exact returns
    action_values: NDArray[np.float32]  # [A, P] exact returns after each action; NaN where it is illegal
    positions: int  # different ones that were met


class Memo(NamedTuple):
    """Every position met, in the order of meeting; N at most, and paths of D plies at most."""

    rows: Any  # uint64[N + 1, words]
    movers: Any  # int8[N + 1] the field to_play of rows
    values: Any  # float32[N + 1, P] best so far, exact once done
    done: Any  # bool[N + 1]
    slots: Any  # int32[S] position by its hash, -1: free
    path: Any  # int32[D] positions from the root to the one at hand
    actions: Any  # int32[D, M]
    count: Any  # int32[D] legal actions
    tried: Any  # int32[D]


@inlined
def find_row(memo: Memo, row: Any) -> Any:
    """Find the slot of the position that equals a row, or the free slot where it belongs."""
    mask = np.uint64(len(memo.slots) - 1)
    slot = hash_row(memo.rows, row) & mask
    while memo.slots[slot] >= 0:
        known = memo.slots[slot]
        is_same = True
        for word in range(memo.rows.shape[1]):
            if memo.rows[known, word] != memo.rows[row, word]:
                is_same = False
                break
        if is_same:
            break
        slot = (slot + np.uint64(1)) & mask
    return slot


@inlined
def fold_child(memo: Memo, ply: Any, child: Any, winning: Any, action_values: Any) -> None:
    """Let the position at a ply take in the values of a child that is done."""
    node = memo.path[ply]
    mover = memo.movers[node]
    is_better = memo.tried[ply] == 1 or memo.values[child, mover] > memo.values[node, mover]
    for player in range(memo.values.shape[1]):
        if is_better:
            memo.values[node, player] = memo.values[child, player]
        if ply == 0:
            action_values[memo.actions[0, memo.tried[0] - 1], player] = memo.values[child, player]
    if ply > 0 and memo.values[node, mover] >= winning:
        memo.count[ply] = memo.tried[ply]


@inlined
def enter(calls: Calls, memo: Memo, ply: Any, node: Any) -> Any:
    """Begin with a position that is no ending; give how many legal actions it has."""
    memo.path[ply] = node
    memo.done[node] = False
    memo.tried[ply] = 0
    address = np.intp(memo.rows.ctypes.data) + np.int64(node) * memo.rows.shape[1] * 8
    memo.count[ply] = calls.legal_actions(address, memo.actions[ply])
    return memo.count[ply]


@inlined
def play_next(calls: Calls, memo: Memo, ply: Any, new: Any) -> Any:
    """Write into row `new` what the next action of the position at a ply leads to; give its address."""
    for word in range(memo.rows.shape[1]):
        memo.rows[new, word] = memo.rows[memo.path[ply], word]
    address = np.intp(memo.rows.ctypes.data) + new * memo.rows.shape[1] * 8
    calls.step(address, np.int64(memo.actions[ply, memo.tried[ply]]))
    memo.tried[ply] += 1
    return address


@kernel
def solve_rows(calls: Calls, memo: Memo, winning: Any, action_values: Any, used: Any) -> Any:
    """Solve the position in row 0, which is no ending; give SOLVED, FULL, DEEP, BROKEN or ROUND.

    Args:
        memo: empty but for row 0, with every slot -1.
        winning: float32, the return that settles all others' too.
        action_values: float32[A, P], written for each legal action of row 0.
        used: int64[1], written: positions met.
    Source: max^n (Luckhardt and Irani 1986); an end at the highest value is immediate pruning (Korf 1991).
    """
    used[0] = 1
    memo.slots[find_row(memo, 0)] = 0
    if calls.is_terminal(np.intp(memo.rows.ctypes.data)) or enter(calls, memo, 0, 0) <= 0:
        return BROKEN
    ply = 0
    while True:
        if memo.tried[ply] == memo.count[ply]:
            child = memo.path[ply]
            memo.done[child] = True
            if ply == 0:
                return SOLVED
            ply -= 1
            fold_child(memo, ply, child, winning, action_values)
            continue
        new = used[0]
        address = play_next(calls, memo, ply, new)
        slot = find_row(memo, new)
        known = memo.slots[slot]
        if known >= 0:
            if not memo.done[known]:
                return ROUND
            fold_child(memo, ply, known, winning, action_values)
            continue
        if new == len(memo.rows) - 1:
            return FULL
        used[0] = new + 1
        memo.slots[slot] = new
        if calls.is_terminal(address):
            calls.returns(address, memo.values[new])
            memo.done[new] = True
            fold_child(memo, ply, new, winning, action_values)
            continue
        ply += 1
        if ply == len(memo.path):
            return DEEP
        if enter(calls, memo, ply, new) <= 0:
            return BROKEN


def solve(rules: Rules, state: NDArray[np.uint64], *, most_positions: int = MOST_POSITIONS) -> Solution:
    """Solve a position by playing every line to its end.

    Args:
        rules: of the game; evaluate is not asked.
        state: [1, words], no ending.
        most_positions: different ones that may be met, 1 to 2^30.
    Raises:
        ConfigError: there are more positions, they don't fit into memory, or the bound is out of range.
        GameError: the position is an ending, one has no legal action, or a line of play repeats a position.
    """
    rules.check_states(state)
    if len(state) != 1 or not 1 <= most_positions <= _CEILING:
        raise ConfigError(
            f"minimax got {len(state)} positions and a bound of {most_positions}; "
            f"allowed: one position, and 1 to {_CEILING}"
        )
    size, plies = min(2**12, most_positions), 64
    while True:
        memo = _new_memo(rules, size, plies)
        memo.rows[0] = state[0]
        action_values = np.full((rules.num_actions, rules.num_players), np.nan, np.float32)
        used = np.zeros(1, np.int64)
        status = solve_rows(rules.calls, memo, np.float32(rules.winning), action_values, used)
        if status == SOLVED:
            mine = action_values[:, memo.movers[0]]
            value = memo.values[0].copy()
            return Solution(int(np.nanargmax(mine)), value, action_values, int(used[0]))
        if status == DEEP:
            plies *= 4
        elif status == FULL and size < most_positions:
            size = min(size * 4, most_positions)
        else:
            _refuse(rules, int(status), most_positions)


def _new_memo(rules: Rules, size: int, plies: int) -> Memo:
    """Allocate room for so many positions and so long a line."""
    players, most = rules.num_players, rules.max_legal_actions
    slots = 1 << (2 * size).bit_length()
    room = size * (8 * rules.words + 4 * players + 1) + 4 * slots + plies * 4 * (most + 3)
    require_memory(room, f"minimax of {size} positions of {rules.name}")
    rows = np.zeros((size + 1, rules.words), np.uint64)
    return Memo(
        rows=rows,
        movers=rules.view_movers(rows),
        values=np.zeros((size + 1, players), np.float32),
        done=np.zeros(size + 1, np.bool_),
        slots=np.full(slots, -1, np.int32),
        path=np.zeros(plies, np.int32),
        actions=np.zeros((plies, most), np.int32),
        count=np.zeros(plies, np.int32),
        tried=np.zeros(plies, np.int32),
    )


def _refuse(rules: Rules, status: int, most_positions: int) -> None:
    """Say why a position can't be solved.

    Raises:
        ConfigError: it has too many positions below it.
        GameError: the rules don't end every line, or it is an ending itself.
    """
    if status == FULL:
        raise ConfigError(
            f"{rules.name} has more than {most_positions:,} positions below this one, too many to play out; "
            "next: solve a later position or a smaller board, or search to a depth, as paranoid:6 does"
        )
    if status == ROUND:
        raise GameError(f"{rules.name}: a line of play repeats a position; allowed: games that never do")
    raise GameError(
        f"{rules.name}: the position is an ending, or legal_actions gives none at one below it; "
        "next: solve a position before the end, and check a game of your own"
    )
