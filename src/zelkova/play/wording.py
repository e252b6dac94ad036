"""How a session says things: percentages, tables of lines, endings. Plain ASCII wherever it can be."""

import difflib
from collections.abc import Iterable, Sequence

from zelkova.games.game import Game, Position
from zelkova.play.thinking import Candidate, Shares

MOST_MOVES = 40  # legal moves that are listed without being asked for
LONGEST_MOVE = 100  # characters that are looked at as a move
SHOWN = 30  # characters of a person's text that are said back
WIDTH = 96  # columns of wrapped text


def show_input(text: str) -> str:
    """Say a person's text back: quoted, without control characters, and short."""
    shown = "".join(sign if sign.isprintable() else "?" for sign in text[:SHOWN])
    return f"`{shown}{'...' if len(text) > SHOWN else ''}`"


def show_share(share: float | None) -> str:
    """Write a share as a percentage with one decimal; a dash where there is none."""
    return "-" if share is None else f"{100 * share:.1f} %"


def show_shares(game: Game, shares: Shares) -> str:
    """Write every known share: player 1 48.2 %, player 2 51.8 %."""
    known = [(game.seat_names[seat], share) for seat, share in enumerate(shares) if share is not None]
    return ", ".join(f"{name} {show_share(share)}" for name, share in known)


def show_scale(game: Game) -> str:
    """Say what percentages mean in a game: of as many players as it has."""
    low, high = game.return_range
    if game.num_players == 1:
        return f"expected returns on the game's range, {low:g} to {high:g}"
    even = 0.0 if game.num_players == 2 else 1.0 / game.num_players
    draw = f", a draw {100 * (even - low) / (high - low):.3g}" if game.has_draws else ""
    return f"expected scores of {game.num_players} players: a win is 100{draw}, a loss 0"


def show_moves(moves: Sequence[str], most: int | None = None) -> str:
    """List moves, wrapped; only a number where there are more than `most`."""
    if most is not None and len(moves) > most:
        return f"{len(moves)} legal moves; `moves` lists them"
    lines, line = [], ""
    for move in moves:
        if line and len(line) + 1 + len(move) > WIDTH:
            lines.append(line)
            line = ""
        line = f"{line} {move}" if line else move
    return "\n".join([*lines, line])


def show_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align columns: the first to the left, numbers to the right, the last as it is."""
    wide = [max(len(row[k]) for row in rows) for k in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        cells = [f"{row[0]:<{wide[0]}}", *(f"{row[k]:>{wide[k]}}" for k in range(1, len(wide)))]
        lines.append("  " + "  ".join([*cells, row[-1]]).rstrip())
    return lines


def show_lines(position: Position, lines: Iterable[tuple[Candidate, list[str]]]) -> list[str]:
    """Write the best lines as a table: move, visits, each player's share, the line of play."""
    rows = [["move", "visits", *position.game.seat_names, "line"]]
    for candidate, moves in lines:
        shares = [show_share(share) for share in candidate.shares]
        rows.append([moves[0], str(candidate.visits), *shares, " ".join(moves)])
    return show_table(rows)


def show_ending(position: Position, seats: frozenset[int]) -> str:
    """Say how the game ended."""
    returns = [float(value) for value in position.returns]
    if len(returns) == 1:
        low, high = position.game.return_range
        return f"the game is over: return {returns[0]:g}, of {low:g} to {high:g}"
    winners = [seat for seat, value in enumerate(returns) if value == max(returns)]
    if len(winners) == len(returns):
        return "the game is over: a draw"
    if len(winners) == 1:
        return f"the game is over: {show_player(position.game, winners[0], seats)} wins"
    names = [show_player(position.game, seat, seats) for seat in winners]
    return f"the game is over: {' and '.join(names)} share the win"


def show_player(game: Game, seat: int, seats: frozenset[int]) -> str:
    """Name a player as the game does, or by number, from 1; `you` marks a person who sits alone."""
    return game.seat_names[seat] + (" (you)" if seats == {seat} else "")


def show_seats(game: Game, seats: frozenset[int]) -> str:
    """Say who somebody is: player 2 of 3; or with names, player 2 of 3, Red."""
    numbers = " and ".join(f"player {seat + 1}" for seat in sorted(seats))
    names = [game.own_seat_names[seat] for seat in sorted(seats)] if game.own_seat_names else []
    return f"{numbers} of {game.num_players}" + (f", {' and '.join(names)}," if names else "")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Give the known word that is nearest, if one is near."""
    near = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return near[0] if near else None
