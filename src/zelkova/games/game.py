"""A loaded game with its constants, record and rules; and a friendly position to play on.

`form.py` makes a Game from a module and refuses what has the wrong form; `check.py` tests what its
functions promise. Notation and drawings lie beside the rules and are found through `notation` and
`drawing`. A position holds one state row; anything fast works on rows of states.
"""

import dataclasses
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import IllegalActionError, NotationError, ShapeError
from zelkova.games.single import Single

if TYPE_CHECKING:
    from zelkova.games.native import NativeRules

Symmetry = tuple[NDArray[np.int32], NDArray[np.int32]]


@dataclasses.dataclass(frozen=True, eq=False)
class Game:
    """One game with its options settled. States are rows of uint64 words, so that they copy fast."""

    name: str  # registry name, or the stem of the user's file
    source: str  # what load() was given: a name or a path
    options: Any  # the game's frozen Options, or None
    state_dtype: np.dtype[Any]  # one record a position
    num_players: int  # P, 1 or more
    num_actions: int  # A, actions are 0..A-1
    observation_shape: tuple[int, int, int]  # C, H, W of the network's input
    return_range: tuple[float, float]  # lowest and highest return of a player
    view: str  # "mover" or "absolute": whose view planes and value head take
    has_draws: bool  # can a game end without a single winner
    max_legal_actions: int  # M, most legal actions in any position
    settings: Mapping[str, Any]  # fields written into the record before init
    max_plies: int  # the contract check lets no game be longer
    symmetries: tuple[Symmetry, ...]  # (plane map [H*W], action map [A]); the identity first
    functions: Mapping[str, Callable[..., Any]]  # the plain rules by name
    notation: ModuleType | None = None  # text form of moves
    drawing: ModuleType | None = None  # text and SVG form of positions
    num_outcomes: int = 0  # C, outcomes of chance are 0..C-1; 0: no chance
    outcome_maps: tuple[NDArray[np.int32], ...] = ()  # [C] of each symmetry
    stamp: tuple[int, int] | None = None  # time and size of a user's file when it was read

    @cached_property
    def native(self) -> "NativeRules":
        """The compiled rules; compiled on first use, then cached on disk."""
        from zelkova.games.native import NativeRules

        return NativeRules(self.functions, self.state_dtype, cache=self.is_current())

    def is_current(self) -> bool:
        """Say whether the rules are what the file says now, so that what is made of them may be kept on disk.

        A user's file may have been edited since it was read, or call functions of files beside it.
        """
        if self.stamp is None:
            return True
        path = Path(self.source).resolve()
        for value in self.functions["init"].__globals__.values():
            name = getattr(getattr(value, "py_func", value), "__module__", None)
            module = value if isinstance(value, ModuleType) else sys.modules.get(str(name))
            file = getattr(module, "__file__", None)
            if file is not None and Path(file) != path and Path(file).parent == path.parent:
                return False
        return path.is_file() and stamp_of(path) == self.stamp

    @property
    def has_chance(self) -> bool:
        """Are there positions where nature moves."""
        return self.num_outcomes > 0

    @property
    def max_edges(self) -> int:
        """Most ways to go on from a position: legal actions or outcomes."""
        return max(self.max_legal_actions, self.num_outcomes)

    @property
    def words(self) -> int:
        """Width of a state's row in uint64 words."""
        return (self.state_dtype.itemsize + 7) // 8

    @cached_property
    def template(self) -> NDArray[np.uint64]:
        """A row with the settings filled in and all else zero, uint64[words]; init starts from it."""
        row = np.zeros(self.words, np.uint64)
        record = self.view_states(row[None])[0]
        for field, value in self.settings.items():
            record[field] = value
        return row

    def new_states(self, count: int) -> NDArray[np.uint64]:
        """Give `count` rows uint64[count, words] ready for init."""
        return np.tile(self.template, (count, 1))

    def initial_states(self, seeds: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Give one initial position a seed, uint64[len(seeds), words]."""
        from zelkova.games.playout import init_states

        states = self.new_states(len(seeds))
        init_states(self.native.init, states, np.ascontiguousarray(seeds, np.uint64))
        return states

    def new_scratch(self) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Give what kernels write legal actions, and outcomes with their probabilities, into."""
        return np.zeros(self.max_edges, np.int32), np.zeros(self.num_outcomes, np.float32)

    def roll(self, states: NDArray[np.uint64], rng: np.random.Generator) -> None:
        """Draw outcomes in place until nature is to move in no row; without chance nothing is drawn.

        Args:
            states: [n, words], changed.
            rng: gives each row a seed.
        """
        if self.has_chance:
            self.roll_with(states, rng.integers(2**63, size=len(states)).astype(np.uint64))

    def roll_with(self, states: NDArray[np.uint64], seeds: NDArray[np.uint64]) -> None:
        """Roll as `roll` does, each row by its own seed uint64[n], whatever stands beside it."""
        from zelkova.games.playout import roll_states

        if self.has_chance:
            counters = np.array(seeds, np.uint64)
            roll_states(self.native.step, self.native.chance, states, counters, *self.new_scratch())

    def view_states(self, states: NDArray[np.uint64]) -> Any:
        """See rows uint64[n, words] as the game's records [n], without a copy.

        Raises:
            ShapeError: the rows have another width.
        """
        if states.ndim != 2 or states.shape[1] != self.words or not states.flags.c_contiguous:
            raise ShapeError(
                f"states have shape {states.shape}; {self.name} needs contiguous rows of {self.words} words"
            )
        size = self.state_dtype.itemsize
        raw = states.view(np.uint8)
        return (
            np.ndarray((len(states),), self.state_dtype, raw.data, strides=(raw.strides[0],)) if size else raw
        )

    @property
    def own_seat_names(self) -> list[str]:
        """The players as the notation names them in PLAYERS; none where it does not."""
        names = getattr(self.notation, "PLAYERS", None)
        if isinstance(names, tuple | list) and len(names) == self.num_players:
            return [str(name) for name in names]
        return []

    @property
    def seat_names(self) -> list[str]:
        """The players as the notation names them, else player 1, player 2, ..."""
        return self.own_seat_names or [f"player {seat + 1}" for seat in range(self.num_players)]

    def find_seat(self, text: str) -> int | None:
        """Give the player that a number from 1 or a name means, in any case; None where it means none."""
        words = [*map(str, range(1, self.num_players + 1)), *map(str.lower, self.own_seat_names)]
        return words.index(text.lower()) % self.num_players if text.lower() in words else None

    def position(self, seed: int = 0) -> "Position":
        """Give a friendly initial position to play on."""
        return Position(self, self.initial_states(np.array([seed], np.uint64)))


def stamp_of(path: Path) -> tuple[int, int]:
    """Give a file's time of change in nanoseconds and its size in bytes."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size


class Position:
    """One position of a game and the moves that led to it."""

    def __init__(self, game: Game, state: NDArray[np.uint64]) -> None:
        """Start from a state.

        Args:
            game: whose rules hold.
            state: uint64[1, words]; copied.
        """
        self.game = game
        self._rules = Single(game)
        self._state = state.copy()
        self._past: list[tuple[NDArray[np.uint64], int]] = []

    @property
    def state(self) -> NDArray[np.uint64]:
        """A copy of the state, uint64[1, words]."""
        return self._state.copy()

    @property
    def record(self) -> Any:
        """The game's record, for reading; fields as `record["field"]`."""
        return self.game.view_states(self._state)[0]

    @property
    def to_play(self) -> int:
        """Whose move it is, 0-based; -1 where nature moves."""
        return int(self.record["to_play"])

    @property
    def actions_played(self) -> list[int]:
        """The numbers of the actions and outcomes played so far."""
        return [action for _, action in self._past]

    @property
    def is_chance(self) -> bool:
        """Does nature move: dice, a card, a new tile."""
        return self.to_play < 0

    @property
    def is_terminal(self) -> bool:
        """Is the game over."""
        return self._rules.is_terminal(self._state)

    @property
    def returns(self) -> NDArray[np.float32]:
        """Each player's return at an ending, float32[P] in the game's return_range."""
        return self._rules.returns(self._state)

    def legal_actions(self) -> NDArray[np.int32]:
        """Give the legal action numbers, ascending; none at an ending and where nature moves."""
        return np.zeros(0, np.int32) if self.is_chance else self._rules.legal_actions(self._state)

    def outcomes(self) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Give the possible outcomes, ascending, and their probabilities; none where a player moves."""
        return self._rules.outcomes(self._state)

    def draw_outcome(self, rng: np.random.Generator) -> int:
        """Draw one of the possible outcomes by their probabilities, without playing it.

        Raises:
            IllegalActionError: nature is not to move.
        """
        numbers, probs = self.outcomes()
        if len(numbers) == 0:
            raise IllegalActionError(f"player {self.to_play + 1} is to move, not nature; next: play a move")
        weights = probs.astype(np.float64)
        return int(rng.choice(numbers, p=weights / weights.sum()))

    def roll(self, rng: np.random.Generator) -> "Position":
        """Play drawn outcomes until nature is not to move; gives the position itself."""
        while self.is_chance:
            self.play(self.draw_outcome(rng))
        return self

    def legal_moves(self) -> list[str]:
        """Give the legal moves as text."""
        return [self.action_to_text(int(action)) for action in self.legal_actions()]

    def observe(self) -> NDArray[np.float32]:
        """Give the network's input planes, float32[C, H, W]."""
        return self._rules.observe(self._state)

    def action_to_text(self, action: int) -> str:
        """Write a move or, where nature moves, an outcome; its number where the game has no notation."""
        write = getattr(self.game.notation, "action_to_text", None)
        return str(write(self.game, self.record, action)) if write else str(action)

    def text_to_action(self, text: str) -> int:
        """Read a move or, where nature moves, an outcome.

        Raises:
            NotationError: the text is no move of this game.
        """
        read = getattr(self.game.notation, "text_to_action", None)
        if read is not None:
            return int(read(self.game, self.record, text))
        if not text.strip().isdecimal():
            raise NotationError(f"`{text}` is no move of {self.game.name}; allowed: an action number")
        return int(text)

    def explain_illegal(self, action: int) -> str:
        """Say why an action is not legal, as the game's notation words it; empty where it has no words.

        Args:
            action: its number; not a legal one.
        """
        explain = getattr(self.game.notation, "explain_illegal", None)
        is_asked = 0 <= action < self.game.num_actions and not self.is_chance and not self.is_terminal
        return str(explain(self.game, self.record, action)) if explain and is_asked else ""

    def moves_played(self) -> list[str]:
        """Give the moves and outcomes played so far, each as text in the position it was played in."""
        back, moves = self.copy(), []
        for action in reversed(self.actions_played):
            back.undo()
            moves.append(back.action_to_text(action))
        return moves[::-1]

    def play(self, move: int | str) -> "Position":
        """Play a legal move in place, or a possible outcome; by number or as text; gives the position itself.

        Raises:
            NotationError: the text is no move.
            IllegalActionError: the move is not legal here.
        """
        if not isinstance(move, str | int | np.integer) or isinstance(move, bool):
            raise IllegalActionError(f"move {move!r}; allowed: an action's number, or its text\n{self}")
        action = self.text_to_action(move) if isinstance(move, str) else int(move)
        if self.is_chance:
            self._refuse_impossible(action)
        elif action not in self.legal_actions():
            shown = self.action_to_text(action) if 0 <= action < self.game.num_actions else str(action)
            allowed = " ".join(self.legal_moves()) or "none, the game is over"
            why = self.explain_illegal(action)
            raise IllegalActionError(
                f"move {shown} (action {action}) is not legal{why and f': {why}'}; legal: {allowed}\n{self}"
            )
        self._past.append((self._state.copy(), action))
        self._rules.step(self._state, action)
        return self

    def _refuse_impossible(self, outcome: int) -> None:
        """Refuse an outcome that can't come."""
        possible = self.outcomes()[0]
        if outcome not in possible:
            shown = " ".join(self.action_to_text(int(number)) for number in possible)
            raise IllegalActionError(
                f"nature moves, and outcome {outcome} is not possible; possible: {shown}; "
                f"next: play one of them, or roll\n{self}"
            )

    def undo(self) -> "Position":
        """Take the last move back.

        Raises:
            IllegalActionError: no move was played.
        """
        if not self._past:
            raise IllegalActionError("there is no move to undo; next: play one first")
        self._state = self._past.pop()[0]
        return self

    def copy(self) -> "Position":
        """Give an independent copy, with its past."""
        twin = Position(self.game, self._state)
        twin._past = list(self._past)
        return twin

    def draw(self, *, colour: bool = False, unicode: bool = True) -> str:
        """Draw the position as text, with or without terminal colours and characters beyond ASCII."""
        draw = getattr(self.game.drawing, "draw_text", None)
        if draw is not None:
            return str(draw(self.game, self.record, colour=colour, unicode=unicode))
        return f"{self.game.name}: {self.record}"

    def __str__(self) -> str:
        return self.draw(unicode=False)

    def _repr_svg_(self) -> str | None:
        draw = getattr(self.game.drawing, "draw_svg", None)
        return str(draw(self.game, self.record)) if draw is not None else None
