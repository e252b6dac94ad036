"""Who wins from which seat, how long games are, and how they begin."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zelkova.evaluation.elo import chi_square_chance, seat_chi_square
from zelkova.games.game import Game, Position
from zelkova.games.played import PlayedGame
from zelkova.games.statistic import Cell, Statistic, mean_by_game, share_by_game

MOST_OPENINGS = 12  # first moves of a seat that are listed
MOST_BARS = 20  # of the lengths' histogram
_WIDTHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)  # of a bar, in moves


def count_results(game: Game, games: Sequence[PlayedGame]) -> Statistic:
    """Say how often each seat wins, and whether chance alone would do that."""
    over = [played for played in games if played.returns is not None]
    notes = [f"{len(games) - len(over)} of {len(games)} games have no end and are left out"]
    notes = notes if len(over) < len(games) else []
    if game.num_players == 1:
        returns = np.array([float(played.returns[0]) for played in over if played.returns is not None])
        meaning = "The mean return of a game, as its rules count it."
        mean = mean_by_game(returns, np.arange(len(returns)))
        rows: list[tuple[Cell, ...]] = [("player", len(over), mean)] if mean is not None else []
        return Statistic(
            "results", "Results", meaning, ("seat", "games", "return"), tuple(rows), None, tuple(notes)
        )
    wins = np.array([played.wins for played in over]).reshape(-1, game.num_players)
    fresh = np.array([bool(played.chosen.all()) for played in over], np.bool_)
    alone = wins == 1.0
    columns: tuple[str, ...] = ("seat", "games", "won", "shared the win")
    mixed = bool(len(fresh) and not fresh.all())
    columns = (*columns, "won without drawn moves") if mixed else columns
    number = np.arange(len(over))
    rows = []
    for seat, name in enumerate(game.seat_names):
        shared = share_by_game((wins[:, seat] > 0) & ~alone[:, seat], number)
        row: tuple[Cell, ...] = (name, len(over), share_by_game(alone[:, seat], number), shared)
        rows.append((*row, share_by_game(alone[fresh, seat], number[fresh])) if mixed else row)
    counts = alone.sum(axis=0)
    if counts.sum():
        value = seat_chi_square(counts)
        chance = chi_square_chance(value, game.num_players - 1)
        notes.append(
            f"wins by seat: chi-square {value:.2f} against equal shares, {game.num_players - 1} degrees of"
            f" freedom; by chance alone as much or more in {100 * chance:.2g} % of such sets"
        )
    meaning = (
        "Of the games that ended, the share that each seat won alone, and that it shared the best result of."
        " Whoever sat there: where players differ in strength, this measures them too."
    )
    if mixed:
        meaning += " Games without drawn moves began at the start, and every move of them was chosen."
    return Statistic("results", "Results by seat", meaning, columns, tuple(rows), None, tuple(notes))


def count_lengths(games: Sequence[PlayedGame]) -> list[Statistic]:
    """Say how long games are: figures, and how they spread."""
    lengths = np.array([played.num_moves for played in games if played.returns is not None], np.int64)
    if not len(lengths):
        return []
    quantiles = {"10 %": 0.1, "median": 0.5, "90 %": 0.9}
    figures: list[tuple[str, float]] = [("shortest", float(lengths.min()))]
    figures += [(name, float(np.quantile(lengths, part))) for name, part in quantiles.items()]
    figures += [("longest", float(lengths.max()))]
    rows: list[tuple[Cell, ...]] = [(name, value) for name, value in figures]
    rows.append(("mean", mean_by_game(lengths, np.arange(len(lengths)))))
    meaning = (
        "Moves of all players together, of games that ended; outcomes of chance and resignations are none."
    )
    summary = Statistic("length", "Lengths of games", meaning, ("what", "moves"), tuple(rows))
    low, high = int(lengths.min()), int(lengths.max())
    width = next((w for w in _WIDTHS if (high - low) / w < MOST_BARS), _WIDTHS[-1])
    first = low // width
    counts = np.bincount(lengths // width - first)
    bars: list[tuple[Cell, ...]] = [
        (_name_bar((first + k) * width, width), (first + k + 0.5) * width - 0.5, int(count))
        for k, count in enumerate(counts)
    ]
    spread = Statistic(
        "lengths",
        "How lengths spread",
        f"How many games have so many moves, {width} numbers of moves a bar.",
        ("moves", "middle", "games"),
        tuple(bars),
        ("middle", ("games",)),
    )
    return [summary, spread]


def _name_bar(low: int, width: int) -> str:
    return f"{low}" if width == 1 else f"{low} to {low + width - 1}"


def count_openings(game: Game, games: Sequence[PlayedGame]) -> Statistic:
    """List each seat's first moves, how often they are played and how often that seat then wins."""
    start = None if game.has_chance else game.position().state[0]
    found: dict[int, list[tuple[str, float, int]]] = {seat: [] for seat in range(game.num_players)}
    begun = 0
    for number, played in enumerate(games):
        if start is not None and not np.array_equal(played.states[0], start):
            continue
        begun += 1
        for seat, step in _first_moves(played).items():
            text = _write(game, played.states[step : step + 1], int(played.actions[step]))
            found[seat].append((text, float(played.wins[seat]), number))
    rows: list[tuple[Cell, ...]] = []
    for seat, name in enumerate(game.seat_names):
        rows += _rank(name, found[seat])
    columns: tuple[str, ...] = ("seat", "move", "games", "played", "won by the seat")
    meaning = (
        "Each seat's first move, where it and all moves before it were chosen and the game began at the"
        " start: how often it is played, and how often that seat wins then."
    )
    if game.num_players == 1:
        rows, columns = [row[:-1] for row in rows], columns[:-1]
        meaning = "The first move, where it was chosen: how often it is played."
    notes = (f"{len(games) - begun} of {len(games)} games begin elsewhere",) if begun < len(games) else ()
    return Statistic("openings", "Openings by seat", meaning, columns, tuple(rows), None, notes)


def _first_moves(played: PlayedGame) -> dict[int, int]:
    """Give the step of each seat's first move, as far as all steps before it were chosen."""
    first: dict[int, int] = {}
    moved = (played.to_play >= 0) & (played.actions >= 0)
    end = int(np.argmin(played.chosen)) if not played.chosen.all() else played.num_steps
    for step in np.flatnonzero(moved[:end]).tolist():
        first.setdefault(int(played.to_play[step]), step)
        if len(first) == played.chances.shape[1]:
            break
    return first


def _rank(name: str, found: Sequence[tuple[str, float, int]]) -> list[tuple[Cell, ...]]:
    """Make the rows of one seat, the most played moves first, the rest in one row."""
    counts = Counter(text for text, _, _ in found)
    ranked = sorted(counts, key=lambda text: (-counts[text], text))
    groups = [(text, {text}) for text in ranked[:MOST_OPENINGS]]
    if len(ranked) > MOST_OPENINGS:
        groups.append((f"{len(ranked) - MOST_OPENINGS} others", set(ranked[MOST_OPENINGS:])))
    rows: list[tuple[Cell, ...]] = []
    numbers: NDArray[np.int64] = np.array([number for _, _, number in found], np.int64)
    for label, texts in groups:
        hits = [text in texts for text, _, _ in found]
        ended = [(won, n) for text, won, n in found if text in texts and not np.isnan(won)]
        won = share_by_game([win for win, _ in ended], [n for _, n in ended])
        rows.append((name, label, sum(hits), share_by_game(hits, numbers), won))
    return rows


def _write(game: Game, state: NDArray[np.uint64], action: int) -> str:
    """Write a move; its number where a user's notation fails."""
    try:
        return Position(game, state).action_to_text(action)
    except Exception:
        return str(action)
