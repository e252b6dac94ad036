"""Three-player shogi once more, slowly: a dictionary of pieces, moves as text, written from the rules alone.

It shares nothing with the package. Squares are (row, column) from the upper left.
"""

import copy
import random

SEATS = "brg"
Square = tuple[int, int]
Piece = tuple[str, str, bool]  # seat, letter, promoted

START = (
    "rSrGrKrGrS4/rB3rR4/rPrPrPrPrP1gPgRgS/6gP1gG/6gP1gK/6gP1gG/bPbPbPbPbP1gPgBgS/bR3bB4/bSbGbKbGbS4 "
    "b NL/NL/NL - 0 own"
)
GOLD_STEPS = [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, 0)]
CROSS = [(-1, 0), (1, 0), (0, -1), (0, 1)]
SLANT = [(-1, -1), (-1, 1), (1, -1), (1, 1)]
STEPS = {
    "P": [(-1, 0)],
    "S": [(-1, -1), (-1, 0), (-1, 1), (1, -1), (1, 1)],
    "G": GOLD_STEPS,
    "K": CROSS + SLANT,
    "N": [(-2, -1), (-2, 1)],
    "L": [],
    "B": [],
    "R": [],
}
SLIDES = {"L": [(-1, 0)], "B": SLANT, "R": CROSS}
BOARD = {"P": 100, "L": 300, "N": 350, "S": 400, "G": 500, "B": 800, "R": 900, "K": 0}
RISEN = {"P": 500, "L": 500, "N": 500, "S": 500, "B": 1300, "R": 1350}
HAND = {"P": 130, "L": 390, "N": 455, "S": 520, "G": 650, "B": 1040, "R": 1170}
TOTALS = {"P": 15, "L": 3, "N": 3, "S": 6, "G": 6, "B": 3, "R": 3}
COMPASS = [(-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1)]


def facing(seat: str, step: tuple[int, int]) -> tuple[int, int]:
    down, across = step
    if seat == "b":
        return down, across
    return (-down, -across) if seat == "r" else (-across, down)


def depth(seat: str, square: Square) -> int:
    row, column = square
    return {"b": row, "r": 8 - row, "g": column}[seat]


NAMES = {(row, column): f"{9 - column}{'abcdefghi'[row]}" for row in range(9) for column in range(9)}


def moves_like(piece: Piece) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Give steps and slides as the owner sees them."""
    _, letter, promoted = piece
    if not promoted:
        return STEPS[letter], SLIDES.get(letter, [])
    if letter == "B":
        return CROSS, SLANT
    if letter == "R":
        return SLANT, CROSS
    return GOLD_STEPS, []


class SlowGame:
    """One game in play."""

    def __init__(self, text: str = START, max_plies: int = 499) -> None:
        board, turn, hands, out, ply, self.rule = text.split()
        self.max_plies, self.plies = max_plies, int(ply)
        self.board: dict[Square, Piece] = {}
        for row, rank in enumerate(board.split("/")):
            column, at = 0, 0
            while at < len(rank):
                if rank[at].isdigit():
                    column, at = column + int(rank[at]), at + 1
                    continue
                promoted = rank[at + 1] == "+"
                at += promoted
                self.board[row, column] = (rank[at - promoted], rank[at + 1], promoted)
                column, at = column + 1, at + 2
        self.hands = {seat: dict.fromkeys("PLNSGBR", 0) for seat in SEATS}
        for seat, held in zip(SEATS, hands.split("/"), strict=True):
            number = ""
            for sign in held.replace("-", ""):
                if sign.isdigit():
                    number += sign
                else:
                    self.hands[seat][sign] += int(number or 1)
                    number = ""
        self.out = [seat for seat in SEATS if seat in out]
        self.winner, self.how = "", ""
        self.turn = turn
        self.moves: dict[str, int] = {}  # of the mover, with their action numbers; none at the end
        self._settle(turn)

    def copy(self) -> "SlowGame":
        return copy.deepcopy(self)

    def alive(self) -> list[str]:
        return [seat for seat in SEATS if seat not in self.out]

    def text(self) -> str:
        ranks = []
        for row in range(9):
            rank, run = "", 0
            for column in range(9):
                piece = self.board.get((row, column))
                if piece is None:
                    run += 1
                    continue
                rank += (str(run) if run else "") + piece[0] + ("+" if piece[2] else "") + piece[1]
                run = 0
            ranks.append(rank + (str(run) if run else ""))
        hands = []
        for seat in SEATS:
            held = self.hands[seat]
            parts = [("" if held[c] == 1 else str(held[c])) + c for c in "RBGSNLP" if held[c]]
            hands.append("".join(parts) or "-")
        out = "".join(seat for seat in SEATS if seat in self.out) or "-"
        return f"{'/'.join(ranks)} {self.turn} {'/'.join(hands)} {out} {self.plies} {self.rule}"

    def attacks(self, square: Square) -> list[Square]:
        """List the squares that a piece moves to or guards."""
        piece = self.board[square]
        seat = piece[0]
        steps, slides = moves_like(piece)
        found = []
        for step in steps:
            down, across = facing(seat, step)
            found.append((square[0] + down, square[1] + across))
        for step in slides:
            down, across = facing(seat, step)
            row, column = square[0] + down, square[1] + across
            while 0 <= row < 9 and 0 <= column < 9:
                found.append((row, column))
                if (row, column) in self.board:
                    break
                row, column = row + down, column + across
        return [(row, column) for row, column in found if 0 <= row < 9 and 0 <= column < 9]

    def legal(self, seat: str) -> dict[str, int]:
        """Find every legal move of a seat, with its action number."""
        moves: dict[str, int] = {}
        for square, piece in self.board.items():
            if piece[0] != seat:
                continue
            for to in self.attacks(square):
                if to in self.board and self.board[to][0] == seat:
                    continue
                text = NAMES[square] + NAMES[to]
                must, may = self._promotion(piece, square, to)
                if not must:
                    moves[text] = self._number(piece, square, to, 0)
                if may:
                    moves[text + "+"] = self._number(piece, square, to, 10)
        empty = [square for square in NAMES if square not in self.board]
        line = 0 if seat == "g" else 1
        closed = {square[line] for square, piece in self.board.items() if piece == (seat, "P", False)}
        for order, letter in enumerate("PLNSGBR"):
            if not self.hands[seat][letter]:
                continue
            least = {"P": 1, "L": 1, "N": 2}.get(letter, 0)
            for square in empty:
                if depth(seat, square) >= least and (letter != "P" or square[line] not in closed):
                    moves[f"{letter}*{NAMES[square]}"] = 81 * (20 + order) + 9 * square[0] + square[1]
        return moves

    def _promotion(self, piece: Piece, square: Square, to: Square) -> tuple[bool, bool]:
        seat, letter, promoted = piece
        if promoted or letter in "GK":
            return False, False
        must = depth(seat, to) < {"P": 1, "L": 1, "N": 2}.get(letter, 0)
        return must, depth(seat, square) <= 2 or depth(seat, to) <= 2

    def _number(self, piece: Piece, square: Square, to: Square, more: int) -> int:
        down, across = to[0] - square[0], to[1] - square[1]
        if piece[1] == "N" and not piece[2]:
            kind = 8 if facing(piece[0], (-2, -1)) == (down, across) else 9
        else:
            far = max(abs(down), abs(across))
            kind = COMPASS.index((down // far, across // far))
        return 81 * (kind + more) + 9 * to[0] + to[1]

    def size(self, seat: str) -> int:
        return sum(p[0] == seat for p in self.board.values()) + sum(self.hands[seat].values())

    def _receiver(self, taker: str, taken: Piece) -> str | None:
        victim = taken[0]
        if self.rule == "share":
            third = next(seat for seat in SEATS if seat not in (taker, victim))
            return taker if third in self.out else third
        if self.rule == "vanish" and not self.out and not taken[2]:
            king = next(sq for sq, piece in self.board.items() if piece[:2] == (victim, "K"))
            if depth(victim, king) > 4 and self.size(victim) - self.size(taker) < 3:
                return None
        return taker

    def play(self, move: str) -> None:
        if move.startswith("resign:"):
            self._resign(move[-1])
            return
        seat = self.turn
        place = move.rstrip("+")[-2:]
        to = ("abcdefghi".index(place[1]), 9 - int(place[0]))
        self.plies += 1
        self.moves = {}
        took_king = entered = False
        if move[1] == "*":
            self.hands[seat][move[0]] -= 1
            self.board[to] = (seat, move[0], False)
        else:
            square = ("abcdefghi".index(move[1]), 9 - int(move[0]))
            piece, taken = self.board[square], self.board.get(to)
            if taken and taken[1] == "K":
                took_king = True
            elif taken:
                receiver = self._receiver(seat, taken)
                if receiver:
                    self.hands[receiver][taken[1]] += 1
            del self.board[square]
            self.board[to] = (seat, piece[1], piece[2] or move.endswith("+"))
            if taken and took_king:
                self.out.append(taken[0])
            entered = piece[1] == "K" and depth(seat, to) == 0 and not took_king
        if entered and not self._guarded(seat, to):
            self.winner, self.how = seat, "entry"
            return
        self._settle(SEATS[(SEATS.index(seat) + 1) % 3])

    def _guarded(self, seat: str, square: Square) -> bool:
        others = [at for at, p in self.board.items() if p[0] != seat and p[0] not in self.out]
        return any(square in self.attacks(at) for at in others)

    def _resign(self, seat: str) -> None:
        self.board = {at: piece for at, piece in self.board.items() if piece[:2] != (seat, "K")}
        self.out.append(seat)
        while self.turn in self.out:
            self.turn = SEATS[(SEATS.index(self.turn) + 1) % 3]
        self._settle(self.turn)

    def _settle(self, turn: str) -> None:
        """End the game, or give the turn to the first from `turn` on who lives and can move."""
        self.moves = {}
        if len(self.alive()) == 1:
            self.winner, self.how = self.alive()[0], "last"
            return
        if self.plies < self.max_plies:
            order = SEATS[SEATS.index(turn) :] + SEATS[: SEATS.index(turn)]
            for seat in order:
                self.moves = {} if seat in self.out else self.legal(seat)
                if self.moves:
                    self.turn = seat
                    return
        worth = {seat: self.material(seat) for seat in self.alive()}
        self.winner, self.how = max(self.alive(), key=lambda seat: (worth[seat], -SEATS.index(seat))), "limit"

    def material(self, seat: str) -> int:
        board = sum((RISEN if p[2] else BOARD)[p[1]] for p in self.board.values() if p[0] == seat)
        return board + sum(HAND[letter] * count for letter, count in self.hands[seat].items())

    def planes(self) -> dict[int, dict[Square, float]]:
        """Give the planes that are not empty, by number."""
        found: dict[int, dict[Square, float]] = {}
        order = ["P", "L", "N", "S", "G", "B", "R", "K", "+P", "+L", "+N", "+S", "+B", "+R"]
        for square, (seat, letter, promoted) in self.board.items():
            plane = 14 * SEATS.index(seat) + order.index("+" * promoted + letter)
            found.setdefault(plane, {})[square] = 1.0
        whole: dict[int, float] = {66 + SEATS.index(self.turn): 1.0, 69: self.plies / self.max_plies}
        for number, seat in enumerate(SEATS):
            for kind, letter in enumerate("PLNSGBR"):
                whole[42 + 7 * number + kind] = self.hands[seat][letter] / TOTALS[letter]
            whole[63 + number] = float(seat in self.out)
        whole[70 + ["own", "share", "vanish"].index(self.rule)] = 1.0
        squares = [(row, column) for row in range(9) for column in range(9)]
        return found | {plane: dict.fromkeys(squares, value) for plane, value in whole.items() if value}


def random_position(rng: random.Random, rule: str, max_plies: int) -> str:
    """Write a position that the rules allow: three kings or two, a few pieces anywhere, the rest in hands."""
    while True:
        squares = [(row, column) for row in range(9) for column in range(9)]
        rng.shuffle(squares)
        out = rng.choice(["-", "-", "-", "b", "r", "g"])
        board: dict[Square, Piece] = {squares.pop(): (seat, "K", False) for seat in SEATS if seat != out}
        hands = {seat: dict.fromkeys("PLNSGBR", 0) for seat in SEATS}
        share = rng.random()
        for letter, total in TOTALS.items():
            for _ in range(rng.randint(0, total)):
                seat = rng.choice(SEATS)
                if rng.random() < share:
                    hands[seat][letter] += 1
                    continue
                promoted = letter != "G" and rng.random() < 0.3
                least = 0 if promoted else {"P": 1, "L": 1, "N": 2}.get(letter, 0)
                square = squares.pop()
                line = 0 if seat == "g" else 1
                doubled = (letter, promoted) == ("P", False) and any(
                    piece == (seat, "P", False) and at[line] == square[line] for at, piece in board.items()
                )
                if depth(seat, square) >= least and not doubled:
                    board[square] = (seat, letter, promoted)
        game = SlowGame(START, max_plies)
        game.board, game.hands, game.rule = board, hands, rule
        game.out, game.plies = [seat for seat in SEATS if seat == out], rng.randint(0, max_plies - 1)
        game.turn = rng.choice(game.alive())
        return game.text()
