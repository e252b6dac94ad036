"""A friendly position: legal moves as text, play, undo, copy, draw.

It holds one state row and calls the game's compiled rules. Anything fast works on rows of states.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import IllegalActionError, NotationError
from zelkova.games.single import Single


class Position:
    """One position of a game and the moves that led to it."""

    def __init__(self, game: Any, state: NDArray[np.uint64]) -> None:
        """Start from a state.

        Args:
            game: the Game whose rules hold (it makes positions, so its type can't be imported here).
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
        """Whose move it is, 0-based."""
        return int(self.record["to_play"])

    @property
    def actions_played(self) -> list[int]:
        """The action numbers played so far."""
        return [action for _, action in self._past]

    @property
    def is_terminal(self) -> bool:
        """Is the game over."""
        return self._rules.is_terminal(self._state)

    @property
    def returns(self) -> NDArray[np.float32]:
        """Each player's return at an ending, float32[P] in the game's return_range."""
        return self._rules.returns(self._state)

    def legal_actions(self) -> NDArray[np.int32]:
        """Give the legal action numbers, ascending; none at an ending."""
        return self._rules.legal_actions(self._state)

    def legal_moves(self) -> list[str]:
        """Give the legal moves as text."""
        return [self.action_to_text(int(action)) for action in self.legal_actions()]

    def observe(self) -> NDArray[np.float32]:
        """Give the network's input planes, float32[C, H, W]."""
        return self._rules.observe(self._state)

    def action_to_text(self, action: int) -> str:
        """Write a move; its number where the game has no notation."""
        write = getattr(self.game.notation, "action_to_text", None)
        return str(write(self.game, self.record, action)) if write else str(action)

    def text_to_action(self, text: str) -> int:
        """Read a move.

        Raises:
            NotationError: the text is no move of this game.
        """
        read = getattr(self.game.notation, "text_to_action", None)
        if read is not None:
            return int(read(self.game, self.record, text))
        if not text.strip().isdecimal():
            raise NotationError(f"`{text}` is no move of {self.game.name}; allowed: an action number")
        return int(text)

    def play(self, move: int | str) -> "Position":
        """Play a legal move in place, given by number or as text; gives the position itself.

        Raises:
            NotationError: the text is no move.
            IllegalActionError: the move is not legal here.
        """
        action = self.text_to_action(move) if isinstance(move, str) else int(move)
        legal = self.legal_actions()
        if action not in legal:
            shown = self.action_to_text(action) if 0 <= action < self.game.num_actions else str(action)
            allowed = " ".join(self.legal_moves()) or "none, the game is over"
            raise IllegalActionError(f"move {shown} (action {action}) is not legal; legal: {allowed}\n{self}")
        self._past.append((self._state.copy(), action))
        self._rules.step(self._state, action)
        return self

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
