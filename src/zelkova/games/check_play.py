"""Plays a game one call at a time and holds every answer to the contract.

The same promises are asked of the interpreted rules (bounds checked, so a wrong index is an error
with a line) and of the compiled ones. The first broken promise ends the play: what follows it
would only echo it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova.games import plain
from zelkova.games.check_parts import (
    BrokenPromiseError,
    Guarded,
    Played,
    Rules,
    Visit,
    check_standing,
    fields_of,
    same_fields,
)
from zelkova.games.game import Game
from zelkova.games.plain import CallTooLongError

_GUARD = 16  # cells written before and after every array that a rule gets
_UNWRITTEN = -123_456_789
_SUM_SLACK = 1e-4  # probabilities in float32 sum to 1 within this
_OWN_FILES = (__file__, __file__.replace("check_play", "check_forms"), plain.__file__)
STANDING = ("places", "eliminated", "material")
_TRIES = 4  # legal actions tried at each position besides the one that is played


class Checker:
    """Asks one set of rules, compiled or interpreted, and checks every answer."""

    def __init__(self, game: Game, rules: Rules) -> None:
        """Bind a game and the rules to ask."""
        self.game = game
        self.rules = rules
        self.positions = 0
        self.where = "before the first position"  # the last position, for messages

    def call(self, function: str, *arguments: Any) -> Any:
        """Call a rule; an exception becomes a broken promise with its line."""
        call: Callable[..., Any] = getattr(self.rules, function)
        try:
            return call(*arguments)
        except CallTooLongError as error:
            raise BrokenPromiseError(
                function, "does not end: a loop in it runs for ever", *line_of(error)
            ) from None
        except IndexError as error:
            raise BrokenPromiseError(function, f"indexes out of range: {error}", *line_of(error)) from None
        except (Exception, SystemExit, GeneratorExit) as error:
            promise = f"raises {type(error).__name__} when interpreted: {error}"
            raise BrokenPromiseError(function, promise, *line_of(error)) from None

    def begin(self, seed: int) -> NDArray[np.uint64]:
        """Give an initial position; refuse an init that reads what was there before."""
        fresh, used = Guarded(self.game, 0), Guarded(self.game, 1)
        record = self.game.view_states(used.state)[0]
        for name in self.game.state_dtype.names or ():
            if name not in self.game.settings:
                record[name] = 1
        for row in (fresh, used):
            self.call("init", row.state, seed)
            row.check("init")
        differs = same_fields(fields_of(self.game, fresh.state), fields_of(self.game, used.state))
        if differs is not None:
            raise BrokenPromiseError("init", f"leaves state[{differs!r}] to what the record held before")
        return fresh.state.copy()

    def visit(self, state: NDArray[np.uint64], last: str) -> Visit:
        """Ask everything about a position.

        Args:
            state: [1, words].
            last: the function that wrote the state, blamed for a bad to_play.
        """
        game = self.game
        self.positions += 1
        row = Guarded(game, 0)
        row.state[:] = state
        before = fields_of(game, state)
        to_play = int(before["to_play"])
        lowest = -1 if game.has_chance else 0
        if not lowest <= to_play < game.num_players:
            also = ", and -1 where nature moves" if game.has_chance else ""
            promise = f"sets to_play to {to_play}; allowed: 0 to {game.num_players - 1}{also}"
            raise BrokenPromiseError(last, promise)
        terminal = self.call("is_terminal", row.state)
        if not isinstance(terminal, bool | np.bool_ | int | np.integer):
            raise BrokenPromiseError("is_terminal", f"gives {terminal!r}; allowed: True or False")
        legal, probs = self._outcomes(row, to_play, bool(terminal))
        if to_play >= 0:
            legal = self._legal_actions(row, bool(terminal))
        planes = self._observe(row, before)
        returns = self._values(row, "returns") if terminal else None
        worth = None
        if "evaluate" in game.functions and not terminal:
            worth = self._values(row, "evaluate")
        weights = None
        if "weigh" in game.functions and to_play >= 0 and not terminal:
            weights = self._weights(row, legal)
        standing = self._standing(row, bool(terminal))
        key = None
        if "position_hash" in game.functions:
            key = self.call("position_hash", row.state)
            if key != self.call("position_hash", row.state):
                raise BrokenPromiseError("position_hash", "gives two keys for one position")
        row.check("observe")
        name = same_fields(before, fields_of(game, row.state))
        if name is not None:
            raise BrokenPromiseError(
                self._changing(state), f"changes state[{name!r}]; allowed: only init and step write the state"
            )
        return Visit(
            before, state.copy(), to_play, legal, bool(terminal), planes, returns, key, worth, weights, probs,
            standing,
        )  # fmt: skip

    def step(self, state: NDArray[np.uint64], action: int) -> NDArray[np.uint64]:
        """Play an action twice, beside different neighbours; refuse two answers. Gives the new state."""
        first, second = Guarded(self.game, 0), Guarded(self.game, 2**64 - 1)
        for row in (first, second):
            row.state[:] = state
            self.call("step", row.state, action)
            row.check("step")
        name = same_fields(fields_of(self.game, first.state), fields_of(self.game, second.state))
        if name is not None:
            raise BrokenPromiseError(
                "step", f"writes two values into state[{name!r}] for one position and action"
            )
        return first.state.copy()

    def play(self, seed: int, rng: np.random.Generator, max_plies: int) -> Played:
        """Play random legal actions to the end, or for max_plies."""
        self.where = place_of(seed, [])
        state = self.begin(seed)
        played = Played(seed, [], [self.visit(state, "init")])
        while not played.visits[-1].terminal and len(played.actions) < max_plies:
            legal = played.visits[-1].legal
            place = place_of(seed, played.actions)
            for action in rng.choice(legal, min(_TRIES, len(legal)), replace=False):
                self.where = f"{place}; then action {action}"
                state = self.step(played.visits[-1].state, int(action))
            played.actions.append(int(action))
            played.visits.append(self.visit(state, "step"))
            out, now = (visit.standing.get("eliminated", np.zeros(1)) for visit in played.visits[-2:])
            if (now < out).any():
                raise BrokenPromiseError("eliminated", "takes a player back who was out")
        return played

    def _legal_actions(self, row: Guarded, terminal: bool) -> NDArray[np.int32]:
        """Ask for the legal actions and check their form."""
        most = self.game.max_legal_actions
        buffer = np.full(most + 2 * _GUARD, _UNWRITTEN, np.int32)
        count = self.call("legal_actions", row.state, buffer[_GUARD:-_GUARD])
        if not isinstance(count, int | np.integer):
            raise BrokenPromiseError(
                "legal_actions", f"gives {count!r}; allowed: the number of legal actions"
            )
        if (buffer[:_GUARD] != _UNWRITTEN).any() or (buffer[-_GUARD:] != _UNWRITTEN).any() or count > most:
            raise BrokenPromiseError(
                "legal_actions",
                f"gives {count} actions or writes past the end of out; MAX_LEGAL_ACTIONS is {most}",
            )
        legal = buffer[_GUARD : _GUARD + max(int(count), 0)].copy()
        wrong = legal[(legal < 0) | (legal >= self.game.num_actions)]
        if len(wrong):
            given = (
                "a place of out that it left unwritten" if wrong[0] == _UNWRITTEN else f"action {wrong[0]}"
            )
            raise BrokenPromiseError(
                "legal_actions", f"gives {given}; allowed: 0 to {self.game.num_actions - 1}"
            )
        if (np.diff(legal) <= 0).any():
            raise BrokenPromiseError(
                "legal_actions", f"gives {legal.tolist()[:20]}; allowed: ascending, each once"
            )
        if count <= 0 and not terminal:
            raise BrokenPromiseError(
                "legal_actions",
                "gives no action although the game is not over; hint: let is_terminal say so, or add a pass",
            )
        if count > 0 and terminal:
            raise BrokenPromiseError("legal_actions", f"gives {count} actions at an ending; allowed: none")
        return legal

    def _outcomes(
        self, row: Guarded, to_play: int, terminal: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Ask for the outcomes and their probabilities and check their form; none where a player moves."""
        most = self.game.num_outcomes
        if most == 0:
            return np.zeros(0, np.int32), np.zeros(0, np.float32)
        numbers = np.full(most + 2 * _GUARD, _UNWRITTEN, np.int32)
        weights = np.full(most + 2 * _GUARD, np.nan, np.float32)
        inside = slice(_GUARD, _GUARD + most)
        count = self.call("chance", row.state, numbers[inside], weights[inside])
        if not isinstance(count, int | np.integer):
            raise BrokenPromiseError("chance", f"gives {count!r}; allowed: the number of outcomes")
        outside = np.r_[weights[:_GUARD], weights[-_GUARD:]]
        if (np.r_[numbers[:_GUARD], numbers[-_GUARD:]] != _UNWRITTEN).any() or count > most:
            outside[0] = 0.0
        if not np.isnan(outside).all():
            raise BrokenPromiseError(
                "chance", f"gives {count} outcomes or writes past the end; NUM_OUTCOMES is {most}"
            )
        if to_play >= 0 and count > 0:
            raise BrokenPromiseError(
                "chance",
                f"gives {count} outcomes where to_play is {to_play}; allowed: 0 there; "
                "hint: step sets to_play to -1 where nature moves",
            )
        if to_play < 0 and terminal:
            raise BrokenPromiseError(
                "is_terminal", "gives True where nature moves; allowed: an ending with to_play 0 or more"
            )
        if to_play < 0 and count <= 0:
            raise BrokenPromiseError("chance", "gives no outcome where to_play is -1")
        found = slice(_GUARD, _GUARD + max(int(count), 0))
        _check_outcomes(numbers[found], weights[found], most)
        return numbers[found].copy(), weights[found].copy()

    def _observe(self, row: Guarded, before: dict[str, Any]) -> NDArray[np.float32]:
        """Ask for the planes twice and compare."""
        shape = self.game.observation_shape
        size = int(np.prod(shape))
        answers = []
        for _ in range(2):
            buffer = np.zeros(size + 2 * _GUARD, np.float32)
            self.call("observe", row.state, buffer[_GUARD:-_GUARD].reshape(shape))
            if buffer[:_GUARD].any() or buffer[-_GUARD:].any():
                raise BrokenPromiseError("observe", f"writes outside planes{list(shape)}")
            answers.append(buffer[_GUARD:-_GUARD].reshape(shape).copy())
        if not np.isfinite(answers[0]).all():
            raise BrokenPromiseError("observe", "writes a plane that is not finite")
        if same_fields(before, fields_of(self.game, row.state)) is not None:
            return answers[0]  # the caller finds out which rule changes the state
        if not np.array_equal(answers[0], answers[1]):
            raise BrokenPromiseError("observe", "writes two answers for one position")
        return answers[0]

    def _values(self, row: Guarded, function: str) -> NDArray[np.float32]:
        """Ask `returns` at an ending, or `evaluate` before it, and check range and sum."""
        players = self.game.num_players
        values = self._ask_players(row, function)
        given = " ".join(f"{value:g}" for value in values)
        low, high = self.game.return_range
        if not ((values >= low - 1e-6) & (values <= high + 1e-6)).all():
            raise BrokenPromiseError(
                function, f"gives {given}; RETURN_RANGE is {low:g} to {high:g}, one value a player"
            )
        total = 0.0 if players == 2 else 1.0
        if players > 1 and abs(float(values.sum()) - total) > 1e-5:
            raise BrokenPromiseError(
                function, f"gives {given}; allowed: {players} players' values sum to {total:g}"
            )
        is_draw = players > 1 and (values == values.max()).sum() != 1
        if function == "returns" and is_draw and not self.game.has_draws:
            raise BrokenPromiseError("returns", f"gives {given}, a draw; HAS_DRAWS is False")
        return values

    def _ask_players(self, row: Guarded, function: str) -> NDArray[np.float32]:
        """Ask a rule that writes a number a player, and check that it writes nothing else."""
        players = self.game.num_players
        buffer = np.full(players + 2 * _GUARD, np.nan, np.float32)
        self.call(function, row.state, buffer[_GUARD:-_GUARD])
        if not np.isnan(np.r_[buffer[:_GUARD], buffer[-_GUARD:]]).all():
            raise BrokenPromiseError(function, f"writes outside out[{players}]")
        return buffer[_GUARD:-_GUARD].copy()

    def _standing(self, row: Guarded, terminal: bool) -> dict[str, NDArray[np.float32]]:
        """Ask how the players stand, as far as the game says it, and check the answers."""
        asked = [name for name in STANDING if name in self.game.functions and (terminal or name != "places")]
        answers = {name: self._ask_players(row, name) for name in asked}
        for name, values in answers.items():
            check_standing(name, values)
        return answers

    def _weights(self, row: Guarded, legal: NDArray[np.int32]) -> NDArray[np.float32]:
        """Ask `weigh` about the legal actions, and check that all it gives are numbers above 0."""
        buffer = np.full(len(legal) + 2 * _GUARD, np.nan, np.float32)
        actions = legal.copy()
        self.call("weigh", row.state, actions, buffer[_GUARD:-_GUARD])
        if not np.isnan(np.r_[buffer[:_GUARD], buffer[-_GUARD:]]).all():
            raise BrokenPromiseError("weigh", f"writes outside out[{len(legal)}], a weight an action")
        if not np.array_equal(actions, legal):
            raise BrokenPromiseError("weigh", "changes actions; allowed: to write out alone")
        weights = buffer[_GUARD:-_GUARD].copy()
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights > 0.0)))
        if len(bad):
            raise BrokenPromiseError(
                "weigh",
                f"gives action {legal[bad[0]]} the weight {weights[bad[0]]:g}; allowed: above 0, finite",
            )
        return weights

    def _changing(self, state: NDArray[np.uint64]) -> str:
        """Find which of the asking functions changes the state."""
        game, before = self.game, fields_of(self.game, state)
        out = np.zeros(game.max_legal_actions, np.int32)
        planes, returns = np.zeros(game.observation_shape, np.float32), np.zeros(game.num_players, np.float32)
        chance: tuple[Any, ...] = self.game.new_scratch()
        is_chance = int(before["to_play"]) < 0
        asked: list[tuple[str, tuple[Any, ...]]] = [("is_terminal", ())]
        asked += [("chance", chance)] if self.game.has_chance else []
        asked += [] if is_chance else [("legal_actions", (out,))]
        asked += [("observe", (planes,)), ("returns", (returns,))]
        asked += [(name, (returns,)) for name in ("evaluate", *STANDING) if name in game.functions]
        if "weigh" in game.functions and not is_chance:
            legal = out[: int(self.call("legal_actions", state.copy(), out))]
            asked.append(("weigh", (legal, np.zeros(len(legal), np.float32))))
        for function, rest in asked:
            row = state.copy()
            self.call(function, row, *rest)
            if same_fields(before, fields_of(game, row)) is not None:
                return function
        return "position_hash"


def _check_outcomes(numbers: NDArray[np.int32], probs: NDArray[np.float32], most: int) -> None:
    """Refuse outcomes that are no numbers in order, or probabilities that are none."""
    wrong = numbers[(numbers < 0) | (numbers >= most)]
    if len(wrong):
        given = (
            "a place of actions that it left unwritten" if wrong[0] == _UNWRITTEN else f"outcome {wrong[0]}"
        )
        raise BrokenPromiseError("chance", f"gives {given}; allowed: 0 to {most - 1}")
    if (np.diff(numbers) <= 0).any():
        raise BrokenPromiseError("chance", f"gives {numbers.tolist()[:20]}; allowed: ascending, each once")
    bad = np.flatnonzero(~(probs > 0.0))
    if len(bad):
        raise BrokenPromiseError(
            "chance",
            f"gives outcome {numbers[bad[0]]} the probability {probs[bad[0]]:g}; allowed: above 0; "
            "hint: leave out what can't come",
        )
    total = float(probs.sum(dtype=np.float64))
    if len(probs) and not abs(total - 1.0) <= _SUM_SLACK:
        raise BrokenPromiseError("chance", f"gives probabilities that sum to {total:.6g}; allowed: 1")


def place_of(seed: int, actions: list[int]) -> str:
    """Say which position it is, so that it can be set up again."""
    if not actions:
        return f"seed {seed}, initial position"
    shown = actions if len(actions) <= 12 else [*actions[:2], "...", *actions[-10:]]
    return f"seed {seed}, after {len(actions)} plies: " + " ".join(map(str, shown))


def line_of(error: BaseException) -> tuple[int | None, str | None]:
    """Find the innermost line of an exception that lies in the game, outside the check and libraries."""
    trace = error.__traceback__
    line: int | None = None
    file: str | None = None
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name not in _OWN_FILES and "site-packages" not in name:
            line, file = trace.tb_lineno, name
        trace = trace.tb_next
    return line, file
