"""The memory of one depth-first search: a frame a ply, the best line, and the counts that order actions."""

from typing import Any, NamedTuple

import numpy as np

from zelkova.search.classic.calls import Rules
from zelkova.search.classic.config import ClassicConfig
from zelkova.search.classic.table import entry_words


class Frames(NamedTuple):
    """One frame for each ply from the root (0) to the last leaf (D), and what all of them share."""

    states: Any  # uint64[D + 1, words]
    movers: Any  # int8[D + 1] the field to_play of states
    actions: Any  # int32[D + 1, M] legal actions, those already tried first
    count: Any  # int32[D + 1] legal actions
    tried: Any  # int32[D + 1] actions tried
    likely: Any  # int32[D + 1] action to try first, -1: none
    alpha: Any  # float32[D + 1] what the searcher is sure of elsewhere
    beta: Any  # float32[D + 1] what the others can hold the searcher to elsewhere
    floor: Any  # float32[D + 1] alpha when the node was opened
    ceiling: Any  # float32[D + 1] beta then
    best: Any  # float32[D + 1, P] best child's values, or the leaf's own
    best_action: Any  # int32[D + 1], -1: no child is finished
    best_settled: Any  # bool[D + 1] does the best child rest on endings alone
    settled: Any  # bool[D + 1] does the value
    keys: Any  # uint64[D + 1]
    lines: Any  # int32[D + 1, D + 1] best line from each ply on
    line_length: Any  # int32[D + 1]
    history: Any  # int64[P, A] by mover: how much an action has cut off, remaining plies squared


class Terms(NamedTuple):
    """The numbers that steer a search."""

    seat: Any  # int64, the searcher of a paranoid search; -1: max^n
    low: Any  # float32, lowest return
    high: Any  # float32, highest return
    winning: Any  # float32, the return that settles all others' too
    even: Any  # float32, given to evaluate to begin with
    limit: Any  # int64, positions visited
    has_hash: Any  # bool, ask position_hash
    generation: Any  # int64, of the table's entries


def new_frames(rules: Rules, config: ClassicConfig) -> Frames:
    """Allocate the frames of a search.

    Args:
        rules: of the game.
        config: its depth counts.
    """
    plies, players = config.last_depth + 1, rules.num_players
    states = np.zeros((plies, rules.words), np.uint64)
    return Frames(
        states=states,
        movers=rules.view_movers(states),
        actions=np.zeros((plies, rules.max_legal_actions), np.int32),
        count=np.zeros(plies, np.int32),
        tried=np.zeros(plies, np.int32),
        likely=np.zeros(plies, np.int32),
        alpha=np.zeros(plies, np.float32),
        beta=np.zeros(plies, np.float32),
        floor=np.zeros(plies, np.float32),
        ceiling=np.zeros(plies, np.float32),
        best=np.zeros((plies, players), np.float32),
        best_action=np.zeros(plies, np.int32),
        best_settled=np.zeros(plies, np.bool_),
        settled=np.zeros(plies, np.bool_),
        keys=np.zeros(plies, np.uint64),
        lines=np.zeros((plies, plies), np.int32),
        line_length=np.zeros(plies, np.int32),
        history=np.zeros((players, rules.num_actions), np.int64),
    )


def memory_bytes(rules: Rules, config: ClassicConfig) -> int:
    """Give the memory of one search's frames and table in bytes, roughly."""
    plies = config.last_depth + 1
    frames = plies * (8 * rules.words + 4 * rules.max_legal_actions + 4 * plies + 64)
    return frames + 16 * config.table_size * entry_words(rules.num_players)
