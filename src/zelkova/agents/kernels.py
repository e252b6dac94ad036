"""Compiled loops that put a game's rules behind the search's model border.

Rules come in as first-class functions of a state's address (see games/native.py), so these loops are
compiled once for all games. Rows belong to one batch: R of them, each with the slot of the state
that it writes (`target`, a row of states uint64[S, words]) or -1 where there is nothing to do.
`chance` is the game's rule or None: see games/playout.py.
"""

from typing import Any

import numpy as np
from numba import njit

from zelkova.games.playout import roll

EMPTY, READY, PENDING = 0, 1, 2  # what a slot of the evaluation cache holds


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def play_rows(
    step: Any, is_terminal: Any, legal_actions: Any, returns: Any, chance: Any, states: Any, seats: Any,
    source: Any, target: Any, played: Any, reward: Any, discount: Any, actions: Any, count: Any, to_play: Any,
    prior_logits: Any, probs: Any,
) -> None:  # fmt: skip
    """Play each row's action and say what the game answers.

    Args:
        states: uint64[S, words], changed at `target`.
        seats: int8[S], a view of every state's field to_play.
        source: int64[R], the state to play from; -1 takes the target as it stands (a root).
        target: int64[R], where the new state goes; -1 for a row without work.
        played: int32[R], the action or outcome.
        reward: float32[R, P], written: the returns at an ending, else 0.
        discount: float32[R], written: 0 at an ending, else 1.
        actions: int32[R, M], written: legal actions; outcomes where nature moves.
        count: int32[R], written: how many.
        to_play: int32[R], written: whose move it is; -1 where nature moves.
        prior_logits: float32[R, M], written where nature moves: the outcomes' log-probabilities.
        probs: float32[C], scratch.
    """
    base = np.intp(states.ctypes.data)
    words = states.shape[1]
    stride = words * 8
    for row in range(len(target)):
        slot = target[row]
        if slot < 0:
            continue
        if source[row] >= 0:
            for word in range(words):
                states[slot, word] = states[source[row], word]
            step(base + slot * stride, np.int64(played[row]))
        address = base + slot * stride
        reward[row, :] = 0.0
        to_play[row] = seats[slot]
        if is_terminal(address):
            returns(address, reward[row])
            discount[row] = 0.0
            count[row] = 0
        else:
            discount[row] = 1.0
            moves = 0
            if chance is not None:
                moves = chance(address, actions[row], probs)
                for k in range(moves):
                    prior_logits[row, k] = np.log(probs[k])
            if moves == 0:
                moves = legal_actions(address, actions[row])
            count[row] = moves


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def look_up(
    target: Any, discount: Any, count: Any, keys: Any, cache_keys: Any, cache_status: Any, cache_count: Any,
    cache_logits: Any, cache_value: Any, cache_owner: Any, prior_logits: Any, value: Any, slots: Any,
    twins: Any, pending: Any,
) -> Any:  # fmt: skip
    """Answer rows from the evaluation cache; list those that the network must be asked.

    Args:
        target, discount, count: as play_rows wrote them; endings get value 0.
        keys: uint64[R], the positions' keys.
        cache_*: the cache, C slots, C a power of two or 0; a slot is marked PENDING for a listed row.
        prior_logits: float32[R, M], written where the cache knows.
        value: float32[R, P], written likewise.
        slots: int64[R], written: the slot that waits for the row's answer, or -1.
        twins: int64[R], written: an earlier row with the same position that is listed, or -1.
        pending: int64[R], written: the rows to evaluate.
    Returns:
        How many rows are listed.
    """
    size = len(cache_keys)
    listed = 0
    for row in range(len(target)):
        slots[row] = -1
        twins[row] = -1
        if target[row] < 0:
            continue
        value[row, :] = 0.0
        if discount[row] == 0.0:
            continue
        if size > 0:
            slot = np.int64(keys[row] & np.uint64(size - 1))
            same = (
                cache_status[slot] != EMPTY
                and cache_keys[slot] == keys[row]
                and cache_count[slot] == count[row]
            )
            if same and cache_status[slot] == READY:
                for index in range(count[row]):
                    prior_logits[row, index] = cache_logits[slot, index]
                for player in range(value.shape[1]):
                    value[row, player] = cache_value[slot, player]
                continue
            if same:
                twins[row] = cache_owner[slot]
                continue
            if cache_status[slot] != PENDING:
                cache_status[slot] = PENDING
                cache_keys[slot] = keys[row]
                cache_count[slot] = count[row]
                cache_owner[slot] = row
                slots[row] = slot
        pending[listed] = row
        listed += 1
    return listed


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def observe_rows(observe: Any, states: Any, target: Any, pending: Any, planes: Any) -> None:
    """Write the network's input, planes float32[n, C, H, W], for the rows listed in pending int64[n]."""
    base = np.intp(states.ctypes.data)
    stride = states.shape[1] * 8
    for index in range(len(pending)):
        planes[index, :, :, :] = 0.0
        observe(base + target[pending[index]] * stride, planes[index])


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def judge_rows(
    evaluate: Any, weigh: Any, states: Any, target: Any, discount: Any, count: Any, actions: Any,
    prior_logits: Any, value: Any,
) -> None:  # fmt: skip
    """Let the game itself say what new positions are worth and how likely their actions are good.

    Args:
        evaluate: the game's rule. weigh: the game's rule, or None: all actions alike.
        states, target, discount, count, actions: as play_rows wrote them; endings get value 0.
        prior_logits: float32[R, M], written: logarithms of the weights.
        value: float32[R, P], written.
    """
    base = np.intp(states.ctypes.data)
    stride = states.shape[1] * 8
    for row in range(len(target)):
        if target[row] < 0:
            continue
        value[row, :] = 0.0
        if discount[row] == 0.0:
            continue
        address = base + target[row] * stride
        evaluate(address, value[row])
        moves = count[row]
        prior_logits[row, :moves] = 1.0
        if weigh is not None:
            weigh(address, actions[row, :moves], prior_logits[row, :moves])
        for k in range(moves):
            prior_logits[row, k] = np.log(prior_logits[row, k])


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def look_ahead(
    step: Any, chance: Any, states: Any, target: Any, pending: Any, keys: Any, shown: Any, counter: Any,
    actions: Any, probs: Any,
) -> None:  # fmt: skip
    """Copy the positions of the rows listed in pending int64[n] and roll each copy until a player is to move.

    Args:
        keys: uint64[R], the positions' keys: a generator that begins there draws, so that equal positions are
            rolled alike.
        shown: uint64[n, words], written.
        counter: uint64[1], actions: int32[C], probs: float32[C], scratch.
    """
    base = np.intp(shown.ctypes.data)
    stride = shown.shape[1] * 8
    for index in range(len(pending)):
        row = pending[index]
        shown[index] = states[target[row]]
        counter[0] = keys[row]
        roll(step, chance, base + index * stride, counter, actions, probs)


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def read_endings(is_terminal: Any, returns: Any, shown: Any, values: Any) -> None:
    """Replace values float32[n, P] by returns where shown uint64[n, words] is an ending."""
    base = np.intp(shown.ctypes.data)
    stride = shown.shape[1] * 8
    for index in range(len(shown)):
        if is_terminal(base + index * stride):
            returns(base + index * stride, values[index])


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def file_answers(
    pending: Any, logits: Any, values: Any, actions: Any, count: Any, to_play: Any, slots: Any, twins: Any,
    cache_status: Any, cache_logits: Any, cache_value: Any, prior_logits: Any, value: Any,
) -> None:  # fmt: skip
    """Give the network's answers to their rows, their twins and the cache.

    Args:
        pending: int64[n], the rows that were evaluated.
        logits: float32[n, A], over all actions of the game.
        values: float32[n, P], absolute players.
        to_play: int32[R], the mover; where it is -1, prior_logits are there already.
    """
    players = value.shape[1]
    for index in range(len(pending)):
        row = pending[index]
        slot = slots[row]
        if to_play[row] >= 0:
            for k in range(count[row]):
                prior_logits[row, k] = logits[index, actions[row, k]]
        for player in range(players):
            value[row, player] = values[index, player]
        if slot >= 0:
            for k in range(count[row]):
                cache_logits[slot, k] = prior_logits[row, k]
            for player in range(players):
                cache_value[slot, player] = value[row, player]
            cache_status[slot] = READY
    for row in range(len(twins)):
        if twins[row] >= 0:
            for k in range(count[row]):
                prior_logits[row, k] = prior_logits[twins[row], k]
            for player in range(players):
                value[row, player] = value[twins[row], player]


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def move_rows(
    step: Any, is_terminal: Any, returns: Any, chance: Any, states: Any, actions: Any, seeds: Any,
    scratch: Any, probs: Any, ended: Any, outcome: Any,
) -> None:  # fmt: skip
    """Play one action in each state, in place, let nature move, and say which games ended.

    Args:
        states: uint64[B, words], changed.
        actions: int32[B].
        seeds: uint64[B], each row's for nature, used up; empty without chance.
        scratch: int32[C], probs: float32[C].
        ended: bool[B], written.
        outcome: float32[B, P], written where a game ended: its returns.
    """
    base = np.intp(states.ctypes.data)
    stride = states.shape[1] * 8
    for row in range(len(states)):
        address = base + row * stride
        step(address, np.int64(actions[row]))
        if chance is not None:
            roll(step, chance, address, seeds[row : row + 1], scratch, probs)
        ended[row] = is_terminal(address)
        if ended[row]:
            returns(address, outcome[row])
