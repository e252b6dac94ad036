"""The rules of every game answer the same natively, interpreted and in WebAssembly, to the bit."""

from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from zelkova import games
from zelkova.export.game import export_game
from zelkova.games.game import Game
from zelkova.games.hashing import position_keys
from zelkova.games.playout import draw_outcome, playouts, random_below
from zelkova.games.single import Single

COUNT = 20
States = NDArray[np.uint64]


class NativeRules:
    """One game's compiled rules on a row uint64[1, words]."""

    def __init__(self, game: Game) -> None:
        self.game, self.single = game, Single(game)

    def play(self, states: States, counter: States) -> int:
        return int(playouts(*self.game.native.moving, states, counter, *self.game.new_scratch()))

    def init(self, states: States) -> None:
        states[:] = self.game.initial_states(np.arange(len(states), dtype=np.uint64))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.single, name)


def interpret(function: Any) -> Any:
    """Give a rule as plain Python, down to the compiled functions that it calls."""
    plain = getattr(function, "py_func", function)
    names = dict(plain.__globals__)
    twin = FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__, plain.__closure__)
    for name in plain.__code__.co_names:
        if hasattr(names.get(name), "py_func"):
            names[name] = interpret(names[name])
    return twin


class InterpretedRules:
    """The same rules as plain Python."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.rules = {name: interpret(rule) for name, rule in game.functions.items()}

    def record(self, state: States) -> Any:
        return self.game.view_states(state)[0]

    def init(self, states: States) -> None:
        for row in range(len(states)):
            self.rules["init"](self.record(states[row : row + 1]), np.uint64(row))

    def play(self, states: States, counter: States) -> int:
        total = 0
        for row in range(len(states)):
            state = states[row : row + 1]
            while not self.is_terminal(state):
                legal, probs = self.outcomes(state)
                if len(legal):
                    place = draw_outcome(counter, probs, len(legal))
                else:
                    legal = self.legal_actions(state)
                    place = random_below(counter, len(legal))
                self.step(state, int(legal[place]))
                total += 1
        return total

    def outcomes(self, state: States) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        out, probs = self.game.new_scratch()
        count = self.rules["chance"](self.record(state), out, probs) if "chance" in self.rules else 0
        return out[:count], probs[:count]

    def legal_actions(self, state: States) -> NDArray[np.int32]:
        out = np.empty(self.game.max_legal_actions, np.int32)
        return out[: self.rules["legal_actions"](self.record(state), out)]

    def step(self, state: States, action: int) -> None:
        self.rules["step"](self.record(state), np.int64(action))

    def is_terminal(self, state: States) -> bool:
        return bool(self.rules["is_terminal"](self.record(state)))

    def returns(self, state: States) -> NDArray[np.float32]:
        out = np.zeros(self.game.num_players, np.float32)
        self.rules["returns"](self.record(state), out)
        return out

    def observe(self, state: States) -> NDArray[np.float32]:
        planes = np.zeros(self.game.observation_shape, np.float32)
        self.rules["observe"](self.record(state), planes)
        return planes


def play_and_write(rules: Any, count: int) -> bytes:
    """Do what rules.mjs does and give the bytes that it writes."""
    game = rules.game
    states, counter = game.new_states(count), np.array([12345], np.uint64)
    chunks = []
    rules.init(states)
    for phase in ("first", "last"):
        plies = 0 if phase == "first" else rules.play(states, counter)
        chunks += [states.tobytes(), counter.tobytes(), np.int32(plies).tobytes()]
        for row in range(count):
            state = states[row : row + 1]
            chunks += [np.int32(rules.is_terminal(state)).tobytes(), rules.observe(state).tobytes()]
            if phase == "last":
                chunks.append(rules.returns(state).tobytes())
            else:
                legal, probs = rules.outcomes(state)
                chunks.append(probs.tobytes())
                legal = legal if len(legal) else rules.legal_actions(state)
                chunks.append(legal.tobytes())
                rules.step(state, int(legal[0]))
            if "position_hash" in game.functions:
                chunks.append(hash_of(rules, state).tobytes())
    return b"".join(chunks)


def hash_of(rules: Any, state: States) -> Any:
    if isinstance(rules, InterpretedRules):
        return np.uint64(rules.rules["position_hash"](rules.record(state)))
    keys = np.zeros(1, np.uint64)
    position_keys(rules.game, state, np.zeros(1, np.int64), keys)
    return keys


@pytest.mark.parametrize("name", games.names())
def test_wasm_plays_as_native_and_interpreted_do(
    name: str, run_node: Callable[..., str], tmp_path: Path
) -> None:
    game = games.load(name)
    export_game(game, tmp_path / "game.wasm")
    run_node("rules.mjs", tmp_path / "game.wasm", COUNT, tmp_path / "out")
    written = (tmp_path / "out").read_bytes()
    assert written == play_and_write(NativeRules(game), COUNT)
    with np.errstate(over="ignore"):
        assert written == play_and_write(InterpretedRules(game), COUNT)
