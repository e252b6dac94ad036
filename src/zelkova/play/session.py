"""A game between people and the agent, as a conversation: lines come in, text goes out.

The session knows no terminal. It reads lines from an iterator and writes through a callable, so a test, a
pipe and a terminal are the same to it. It ends when the lines end, at `quit`, or, where nobody sits at the
board, with the game. No line can make it fail: what is neither a move nor a command is answered by saying so.

A move is looked for before a command, so that a game may have a move named `new`; `/new` is then the command.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from zelkova.errors import NotationError
from zelkova.games import Game
from zelkova.play import wording
from zelkova.play.record import known_endings, save_game
from zelkova.play.thinking import Thinker, Thought, follow

COMMANDS = {
    "undo": "take back to your own previous turn",
    "hint": "the move that the agent would play for you",
    "lines": "the agent's best moves for you, with how they may go on; `lines 5` gives five",
    "moves": "all legal moves",
    "board": "draw the board again (`draw` too)",
    "new": "begin a new game; `new 2` as player 2",
    "save": "write the game so far to a file: `save game.txt`",
    "resign": "give up",
    "help": "this list",
    "quit": "leave (`exit` and the end of input too)",
}
ALIASES = {"draw": "board", "exit": "quit", "?": "help"}
_NOTATION_FAULTS = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError)
"""What a notation may raise at a text it did not expect; a user's own may raise other than NotationError."""


@dataclass(frozen=True)
class Table:
    """Who sits where, and how the board is shown."""

    seats: frozenset[int]  # players that people move for, 0-based; empty to watch
    seed: int = 0  # of the game's chance and the agent's
    colour: bool = False  # boards may have terminal colours
    unicode: bool = False  # boards may have signs beyond ASCII
    lines: int = 3  # best lines that `lines` gives
    length: int = 5  # moves of a line at most


class Session:
    """One conversation; games follow each other in it."""

    def __init__(self, game: Game, thinker: Thinker, table: Table, write: Callable[[str], None]) -> None:
        """Set the board up.

        Args:
            game: what is played.
            thinker: moves for every seat that no person has, and gives hints.
            table: seats and looks.
            write: takes each piece of text, without its final newline.
        """
        self.game, self.thinker, self.table = game, thinker, table
        self.seats = table.seats
        self.games = 0  # begun before this one
        self.position = game.position(table.seed)
        self.resigned: int | None = None  # the player who gave up
        self._write = write
        self._is_open = True

    @property
    def is_over(self) -> bool:
        """Is nothing left to play in this game."""
        return self.resigned is not None or self.position.is_terminal

    def run(self, lines: Iterable[str]) -> None:
        """Play until the lines end, or a person leaves, or a watched game is over.

        Args:
            lines: what people type.
        """
        self._greet()
        self._advance()
        if not self.seats:
            return
        for line in lines:
            self.answer(line)
            if not self._is_open:
                return
        self._write("end of input; the game ends here")

    def answer(self, line: str) -> None:
        """Answer one line: play its move, follow its command, or say what is wrong with it."""
        text = line.strip()
        if not text or text.startswith("#"):
            return
        if not text.isprintable() or len(text) > wording.LONGEST_MOVE:
            self._write(
                f"{wording.show_input(text)} is no move: control characters, or over "
                f"{wording.LONGEST_MOVE} characters; type `help`"
            )
            return
        action = None if self.is_over or text.startswith("/") else self._find_move(text)
        if action is not None:
            self._play(action)
            return
        word, _, rest = text.removeprefix("/").partition(" ")
        name = ALIASES.get(word.lower(), word.lower())
        if name in COMMANDS:
            getattr(self, f"_do_{name}")(rest.strip())
        else:
            self._refuse(text)

    def _greet(self) -> None:
        name, count = self.thinker.name, self.game.num_players
        if not self.seats:
            self._write(f"{self.game.name}: {name} plays every side")
        elif len(self.seats) == count:
            self._write(f"{self.game.name}: you play every side, {name} gives hints; type a move or `help`")
        else:
            who = wording.show_seats(self.game, self.seats)
            self._write(f"{self.game.name}: you are {who} against {name}; type a move or `help`")

    def _rng(self) -> np.random.Generator:
        """Give the generator of this moment: the same position of the same game always gets the same."""
        return np.random.default_rng([self.table.seed, self.games, *self.position.actions_played])

    def _play(self, action: int) -> None:
        self.position.play(action)
        self._advance()

    def _advance(self) -> None:
        """Let the agent and chance move until a person is to move or the game is over; show the board."""
        if not self.seats:
            self._write(self._board())
        while not self.is_over and self.position.to_play not in self.seats:
            if self.position.is_chance:
                outcome = self.position.draw_outcome(self._rng())
                self._write(f"chance gives {self.position.action_to_text(outcome)}")
                self.position.play(outcome)
                continue
            mover = wording.show_player(self.game, self.position.to_play, self.seats)
            thought = self.thinker.think(self.position, self._rng())
            shares = wording.show_shares(self.game, thought.shares)
            move = self.position.action_to_text(thought.action)
            self.position.play(thought.action)
            self._write(f"{mover} plays {move}" + (f"; expects {shares}" if shares else ""))
            if not self.seats:
                self._write(self._board())
        if self.seats:
            self._write(self._board())
        self._say_turn()

    def _board(self) -> str:
        return "\n" + self.position.draw(colour=self.table.colour, unicode=self.table.unicode)

    def _say_turn(self) -> None:
        """Say whose turn it is and what is legal, or how the game ended."""
        if self.resigned is not None:
            self._write(
                f"the game is over: {wording.show_player(self.game, self.resigned, self.seats)} resigned"
            )
        elif self.position.is_terminal:
            self._write(wording.show_ending(self.position, self.seats))
        else:
            moves = wording.show_moves(self.position.legal_moves(), wording.MOST_MOVES)
            self._write(
                f"{wording.show_player(self.game, self.position.to_play, self.seats)} to move: {moves}"
            )
            return
        if self.seats:
            self._write("type `new`, `undo` or `quit`")

    def _find_move(self, text: str) -> int | None:
        """Give the legal action that the text names; None where it names none."""
        legal = [int(action) for action in self.position.legal_actions()]
        moves = [self.position.action_to_text(action) for action in legal]
        if text in moves:
            return legal[moves.index(text)]
        try:
            action = self.position.text_to_action(text)
        except _NOTATION_FAULTS:
            return None
        return action if action in legal else None

    def _refuse(self, text: str) -> None:
        """Say why a text is neither a move nor a command, and what is."""
        shown = wording.show_input(text)
        is_move = not self.is_over and not text.startswith("/")
        illegal, unread = self._explain(text) if is_move else (None, "")
        near = wording.nearest(text.split(maxsplit=1)[0].removeprefix("/"), [*COMMANDS, *ALIASES])
        if illegal is not None:
            self._write(f"{shown} is not legal here{illegal and f': {illegal}'}; {self._show_next()}")
        elif near or text.startswith("/"):
            meant = f"; hint: did you mean `{near}`?" if near else ""
            self._write(f"{shown} is no command; known: {', '.join(COMMANDS)}{meant}")
        elif self.is_over:
            self._write(f"{shown} is no command, and the game is over; type `new`, `undo`, `help` or `quit`")
        else:
            self._write(f"{unread}; {self._show_next()}")

    def _explain(self, text: str) -> tuple[str | None, str]:
        """Say why a text can't be played, in the words of the game's notation where it has some.

        Returns:
            why the move is not legal, empty without words for it, None where the text is no move; and why it
            is none, empty where it is one.
        """
        message = ""
        try:
            action = self.position.text_to_action(text)
        except _NOTATION_FAULTS as error:
            message = str(error) if isinstance(error, NotationError) else ""
        else:
            try:
                why = self.position.copy().explain_illegal(action)  # a user's own may change what it gets
            except _NOTATION_FAULTS:
                why = ""
            return why if why.isprintable() else "", ""
        shown = wording.show_input(text)
        if not message or not message.isprintable():
            return None, f"{shown} is no move"
        return None, message if f"`{text}`" in message else f"{shown} is no move: {message}"

    def _show_next(self) -> str:
        """Say what may be typed in place of what was refused."""
        moves = self.position.legal_moves()
        if len(moves) > wording.MOST_MOVES:
            return f"type `moves` for the {len(moves)} legal moves, or `help`"
        return f"legal: {wording.show_moves(moves)}; or type `help`"

    def _think(self) -> Thought | None:
        """Ask for an opinion on the position; say so where there is none to be had."""
        if self.is_over:
            self._write("the game is over; type `new` or `undo`")
            return None
        thought = self.thinker.think(self.position, self._rng())
        if not thought.candidates:
            self._write(f"{self.thinker.name} has no opinion; start with --agent uct:1000 for hints")
            return None
        return thought

    def _do_hint(self, _: str) -> None:
        thought = self._think()
        if thought is not None:
            move = self.position.action_to_text(thought.action)
            shares = wording.show_shares(self.game, thought.shares)
            self._write(f"{self.thinker.name} would play {move}; expects {shares}")

    def _do_lines(self, rest: str) -> None:
        if rest and not (rest.isascii() and rest.isdecimal() and 1 <= int(rest) <= 99):
            self._write(f"lines takes a number from 1 to 99; given: {wording.show_input(rest)}")
            return
        thought = self._think()
        if thought is None:
            return
        best = thought.candidates[: int(rest) if rest else self.table.lines]
        lines = [
            (
                candidate,
                follow(self.thinker, self.position, candidate, self.table.length, self._rng()),
            )
            for candidate in best
        ]
        who = wording.show_player(self.game, self.position.to_play, self.seats)
        shares = wording.show_shares(self.game, thought.shares)
        self._write(f"best lines of {self.thinker.name} for {who}; it expects {shares}")
        self._write("\n".join(wording.show_lines(self.position, lines)))

    def _do_undo(self, _: str) -> None:
        if self.resigned is not None:
            self.resigned = None
        else:
            back = self.position.copy()
            while back.actions_played:
                back.undo()
                if back.to_play in self.seats:
                    self.position = back
                    break
            else:
                self._write("there is no turn of yours to take back")
                return
        self._write(self._board())
        self._say_turn()

    def _do_moves(self, _: str) -> None:
        moves = [] if self.is_over else self.position.legal_moves()
        self._write(wording.show_moves(moves) if moves else "the game is over; type `new` or `undo`")

    def _do_board(self, _: str) -> None:
        self._write(self._board())
        self._say_turn()

    def _do_new(self, rest: str) -> None:
        count = self.game.num_players
        if rest:
            seat, names = self.game.find_seat(rest), self.game.own_seat_names
            if seat is None:
                own = f" or {', '.join(names)}" if names else ""
                self._write(f"new takes a player from 1 to {count}{own}; given: {wording.show_input(rest)}")
                return
            self.seats = frozenset({seat})
        self.games += 1
        self.resigned = None
        self.position = self.game.position(self.table.seed + self.games)
        self._greet()
        self._advance()

    def _do_save(self, rest: str) -> None:
        if not rest:
            endings = " or ".join(known_endings(self.game))
            self._write(f"save takes a file's name that ends in {endings}: save FILE")
            return
        try:
            what = save_game(Path(rest), self.position, self.table.seed + self.games, self.resigned)
        except FileExistsError:
            self._write(f"{rest} is there already; give another name")
        except NotationError as error:
            self._write(str(error))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            self._write(f"{rest} can't be written: {reason}")
        else:
            self._write(f"saved to {rest}, {what}")

    def _do_resign(self, _: str) -> None:
        if self.is_over:
            self._write("the game is over already; type `new` or `undo`")
            return
        self.resigned = self.position.to_play
        self._say_turn()

    def _do_help(self, _: str) -> None:
        moves = [] if self.is_over else self.position.legal_moves()
        if moves:  # some from everywhere, as drops and promotions stand at the end
            self._write(f"a move is written like one of: {' '.join(moves[:: -(-len(moves) // 8)])}")
        self._write("\n".join(f"  {name:<7} {what}" for name, what in COMMANDS.items()))
        self._write(
            f"percentages are {wording.show_scale(self.game)};\n"
            "visits are the simulations that went through a move; of alpha-beta and the like, positions"
        )

    def _do_quit(self, _: str) -> None:
        self._is_open = False
