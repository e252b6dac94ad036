"""One position as an agent sees it: chances, best lines, and what each move does to each player's chance."""

from typing import TYPE_CHECKING

from zelkova.errors import ConfigError

if TYPE_CHECKING:
    from zelkova.games.game import Game, Position
    from zelkova.games.statistic import Cell, Statistic
    from zelkova.play.thinking import Shares, Thinker, Thought
    from zelkova.reports.analysis import Judgement

LINES = 5  # best lines that are followed
LENGTH = 8  # moves of a line


def judge_position(thinker: "Thinker", game: "Game", text: str) -> "Judgement":
    """Let somebody think about a position.

    Args:
        thinker: who thinks.
        game: whose rules hold.
        text: of the position, as `read_position` takes it.
    Raises:
        NotationError: it is no position.
        ConfigError: there is nothing to choose in it.
    """
    import numpy as np

    from zelkova.games.statistic import Statistic
    from zelkova.play.thinking import follow
    from zelkova.records.positions import read_position
    from zelkova.reports.analysis import Judgement

    position = read_position(game, text)
    if position.is_chance or position.is_terminal:
        what = "nature moves" if position.is_chance else "the game is over"
        raise ConfigError(f"position `{text[:80]}`: {what}, nobody chooses; next: another position")
    rng = np.random.default_rng(0)
    thought = thinker.think(position, rng)
    seats, chosen = game.seat_names, position.action_to_text(thought.action)
    chances = Statistic(
        "chances",
        "Chances",
        "Each player's expected share of the result after the search, in percent.",
        ("player", "chance %"),
        tuple((name, _percent(share)) for name, share in zip(seats, _root(thought, seats), strict=True)),
        notes=(f"to move: {seats[position.to_play]}; {thinker.name} plays {chosen}",),
    )
    rows: list[tuple[Cell, ...]] = []
    for candidate in thought.candidates[:LINES]:
        moves = follow(thinker, position, candidate, LENGTH, rng)
        rows.append((moves[0], candidate.visits, " ".join(moves)))
    lines = Statistic(
        "lines",
        "Best lines",
        "How the game may go on: the search's own line, and beyond it a new search a move.",
        ("move", "visits", "line"),
        tuple(rows),
    )
    return Judgement(position, text, chances, lines, _compare(position, thought, seats))


def _compare(position: "Position", thought: "Thought", seats: list[str]) -> "Statistic":
    """Give each candidate's row: the chances after it, and what they are above those before."""
    from zelkova.games.statistic import Statistic

    before = _root(thought, seats)
    rows: list[tuple[Cell, ...]] = []
    for candidate in thought.candidates:
        after = [_percent(share) for share in candidate.shares]
        change = [
            None if share is None or root is None else 100 * (share - root)
            for share, root in zip(candidate.shares, before, strict=True)
        ]
        rows.append((position.action_to_text(candidate.action), candidate.visits, *after, *change))
    return Statistic(
        "candidates",
        "What each move does",
        "Each player's chance after a move, in percent, and by how many points it is above that before.",
        ("move", "visits", *(f"{name} %" for name in seats), *(f"{name} change" for name in seats)),
        tuple(rows),
    )


def _root(thought: "Thought", seats: list[str]) -> "Shares":
    """Give the chances before the move; unknown where the thinker has no opinion."""
    return thought.shares or (None,) * len(seats)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
