"""The functions of a game that its WebAssembly module exports: its rules, and random playouts over them.

Positions and arrays are given by their addresses, uint32 at the border. Generic kernels take rules as
functions of an address, as they do natively; here the optimiser inlines these.
"""

from typing import Any

import numba
import numpy as np
from numba import types

from zelkova.export.memory import array_reader, record_reader
from zelkova.export.wasm import Entry
from zelkova.games.game import Game
from zelkova.games.native import SIGNATURES
from zelkova.games.playout import playouts


class AddressedRules:
    """A game's rules as compiled functions of an address: attributes as in the contract, and to_play."""

    init: Any
    legal_actions: Any
    step: Any
    is_terminal: Any
    returns: Any
    observe: Any
    position_hash: Any  # where the game has one
    chance: Any = None  # None without chance

    def __init__(self, game: Game) -> None:
        """Wrap each rule; nothing is compiled yet.

        Args:
            game: whose rules they are.
        """
        record = numba.from_dtype(game.state_dtype)
        record_at = record_reader(record)
        self.parts = tuple(
            (rule, SIGNATURES[name][0](record, *SIGNATURES[name][1])) for name, rule in game.functions.items()
        )
        for name, rule in game.functions.items():
            compiled = numba.njit(error_model="numpy")(rule)
            setattr(self, name, _addressed(compiled, record_at, len(SIGNATURES[name][1])))

        @numba.njit(error_model="numpy")
        def to_play(address):  # type: ignore[no-untyped-def]
            return record_at(address)["to_play"]

        self.to_play: Any = to_play
        self.moving = (self.step, self.legal_actions, self.is_terminal, self.chance)  # as NativeRules.moving


def _addressed(rule: Any, record_at: Any, arguments: int) -> Any:
    """Make a function of an address, and of up to two arguments, from a function of a record."""
    if arguments == 0:

        def ask(address):  # type: ignore[no-untyped-def]
            return rule(record_at(np.intp(address)))

        return numba.njit(error_model="numpy")(ask)

    def tell(address, argument):  # type: ignore[no-untyped-def]
        return rule(record_at(np.intp(address)), argument)

    def tell_two(address, first, second):  # type: ignore[no-untyped-def]
        return rule(record_at(np.intp(address)), first, second)

    return numba.njit(error_model="numpy")(tell if arguments == 1 else tell_two)


def rules_entries(game: Game) -> list[Entry]:
    """List the game's own rules as exported functions.

    init(state, seed: BigInt) · legal_actions(state, out int32[M]) -> n · step(state, action) ·
    is_terminal(state) -> 0 or 1 · returns(state, out float32[P]) · observe(state, planes float32[C, H, W],
    zeroed by it) · position_hash(state) -> BigInt, where the game has one · chance(state, out int32[C],
    probs float32[C]) -> n, where the game has chance.

    Args:
        game: whose rules they are.
    """
    rules = AddressedRules(game)
    most, players, shape = game.max_legal_actions, game.num_players, game.observation_shape
    actions_at, floats_at = array_reader(types.int32, ()), array_reader(types.float32, ())
    planes_at = array_reader(types.float32, shape[1:])
    u32, i32, u64, void = types.uint32, types.int32, types.uint64, types.void

    def init(state, seed):  # type: ignore[no-untyped-def]
        rules_init(state, seed)

    def legal_actions(state, out):  # type: ignore[no-untyped-def]
        return rules_legal_actions(state, actions_at(np.intp(out), most))

    def step(state, action):  # type: ignore[no-untyped-def]
        rules_step(state, np.int64(action))

    def is_terminal(state):  # type: ignore[no-untyped-def]
        return np.int32(rules_is_terminal(state))

    def returns(state, out):  # type: ignore[no-untyped-def]
        rules_returns(state, floats_at(np.intp(out), players))

    def observe(state, planes):  # type: ignore[no-untyped-def]
        array = planes_at(np.intp(planes), shape[0])
        array[:, :, :] = 0.0
        rules_observe(state, array)

    rules_init, rules_legal_actions, rules_step = rules.init, rules.legal_actions, rules.step
    rules_is_terminal, rules_returns, rules_observe = rules.is_terminal, rules.returns, rules.observe
    entries = [
        Entry("init", init, void(u32, u64), rules.parts),
        Entry("legal_actions", legal_actions, i32(u32, u32)),
        Entry("step", step, void(u32, i32)),
        Entry("is_terminal", is_terminal, i32(u32)),
        Entry("returns", returns, void(u32, u32)),
        Entry("observe", observe, void(u32, u32)),
    ]
    if "position_hash" in game.functions:
        rules_position_hash = rules.position_hash

        def position_hash(state):  # type: ignore[no-untyped-def]
            return rules_position_hash(state)

        entries.append(Entry("position_hash", position_hash, u64(u32)))
    return entries + ([_chance_entry(rules, game.num_outcomes)] if game.has_chance else [])


def _chance_entry(rules: AddressedRules, num_outcomes: int) -> Entry:
    """Make chance(state, out int32[C], probs float32[C]) -> n."""
    actions_at, floats_at = array_reader(types.int32, ()), array_reader(types.float32, ())
    rules_chance = rules.chance

    def chance(state, out, probs):  # type: ignore[no-untyped-def]
        return rules_chance(
            state, actions_at(np.intp(out), num_outcomes), floats_at(np.intp(probs), num_outcomes)
        )

    return Entry("chance", chance, types.int32(types.uint32, types.uint32, types.uint32))


def playout_entries(game: Game) -> list[Entry]:
    """List the random playouts as an exported function.

    playouts(states uint64[n, words], n, counter uint64[1], actions int32[M], probs float32[C]) -> plies:
    plays every state to its end in place; all but n are addresses, M holds outcomes too.

    Args:
        game: whose rules are played.
    """
    rules = AddressedRules(game)
    step, legal_actions, is_terminal, chance = rules.moving
    most, outcomes = game.max_edges, game.num_outcomes
    rows_at, counter_at = array_reader(types.uint64, (game.words,)), array_reader(types.uint64, ())
    actions_at, floats_at = array_reader(types.int32, ()), array_reader(types.float32, ())

    def play(states, count, counter, actions, probs):  # type: ignore[no-untyped-def]
        return playouts(
            step,
            legal_actions,
            is_terminal,
            chance,
            rows_at(np.intp(states), np.intp(count)),
            counter_at(np.intp(counter), 1),
            actions_at(np.intp(actions), most),
            floats_at(np.intp(probs), outcomes),
        )

    u32 = types.uint32
    signature = types.int32(u32, types.int32, u32, u32, u32)
    return [Entry("playouts", play, signature, rules.parts)]
