"""Pieces offered for nothing: how often, who takes them, who follows, what the giver's chance does."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from zelkova.games.played import RESIGNED, PlayedGame
from zelkova.games.shogi3 import rules
from zelkova.games.shogi3.survey import View, capture_of
from zelkova.games.statistic import Cell, Statistic, mean_by_game, share_by_game

AFTER = (1, 2, 3, 6, 9, 15)  # plies after an offer at which the giver's chance is looked at
SIZES = (("pawn", 0, 100), ("L N S G, promoted P L N S", 101, 500), ("B R", 501, 1350))
HOWS = ("moved", "dropped", "left")

MEANING = (
    "After a player's move a piece of theirs, no king, stands where a living opponent could take it and they"
    " could not take back, and what the move took is worth less than it. It counts once, when it comes to"
    " stand so: moved or dropped there, or left there (something else moved). Threats, checks among them, are"
    " not looked at."
)


@dataclasses.dataclass(frozen=True)
class Offer:
    """One piece offered for nothing."""

    game: int  # number of the game
    step: int  # of the move after which it is offered
    giver: int  # seat
    worth: int  # points of the piece
    how: str  # of HOWS
    alive: int  # players in the game, 2 or 3
    taker: int | None  # seat that took it before the giver moved again
    followed: (
        bool | None
    )  # did the third player's next move take from the giver; None: there was no such move


def find_offers(number: int, played: PlayedGame, views: Sequence[View]) -> list[Offer]:
    """List the offers of a game.

    Args:
        number: of the game.
        played: the game.
        views: [T + 1] its positions.
    """
    found = []
    stood: dict[int, set[int]] = {seat: set() for seat in range(3)}
    moves = np.flatnonzero((played.to_play >= 0) & (played.actions != RESIGNED))
    for step in moves.tolist():
        giver, action = int(played.to_play[step]), int(played.actions[step])
        before, after = views[step], views[step + 1]
        if after.is_over:
            break
        hanging = after.hanging(giver)
        to = action % 81
        new = {cell: worth for cell, worth in hanging.items() if cell == to or cell not in stood[giver]}
        stood[giver] = set(hanging)
        if not played.chosen[step]:
            continue
        prey = capture_of(before, action)
        gain = before.worth(prey) if prey is not None else 0
        for cell, worth in new.items():
            if worth <= gain:
                continue
            how = "left" if cell != to else "dropped" if action // 81 >= rules.DROP else "moved"
            taker, followed = _reply(played, views, step, cell)
            found.append(Offer(number, step, giver, worth, how, after.num_alive, taker, followed))
    return found


def _reply(played: PlayedGame, views: Sequence[View], step: int, cell: int) -> tuple[int | None, bool | None]:
    """Say who takes a piece before its owner moves again, and whether the third player follows at once."""
    giver = int(played.to_play[step])
    for later in range(step + 1, played.num_steps):
        mover = int(played.to_play[later])
        if played.actions[later] == RESIGNED:
            continue
        if mover == giver or not views[later].alive[giver]:
            return None, None
        if capture_of(views[later], int(played.actions[later])) == cell:
            return mover, _follows(played, views, later, giver)
    return None, None


def _follows(played: PlayedGame, views: Sequence[View], taken: int, giver: int) -> bool | None:
    """Say whether the next move of who is neither giver nor taker takes a piece of the giver's."""
    third = 3 - giver - int(played.to_play[taken])
    for later in range(taken + 1, played.num_steps):
        if not (views[later].alive[third] and views[later].alive[giver]):
            return None
        if int(played.to_play[later]) == third and played.actions[later] >= 0:
            prey = capture_of(views[later], int(played.actions[later]))
            return prey is not None and views[later].owner(prey) == giver
    return None


def tell_offers(
    games: Sequence[PlayedGame], views: Sequence[Sequence[View]], offers: Sequence[Offer]
) -> list[Statistic]:
    """Make the tables of offers.

    Args:
        games: that were played.
        views: of each game's positions.
        offers: all that were found in them.
    """
    moves = sum(len(played.chosen_steps()) for played in games)
    rows: list[tuple[Cell, ...]] = [_count("all", "all", offers, moves)]
    for name, low, high in SIZES:
        for how in HOWS:
            part = [offer for offer in offers if low <= offer.worth <= high and offer.how == how]
            if part:
                rows.append(_count(name, how, part, moves))
    columns = ("piece", "how", "offers", "in 100 moves", "taken at once", "by the next seat", "third follows")
    meaning = (
        f"{MEANING} Taken at once: before the giver moves again; by the next seat: of these, while"
        " three are alive, by who moves right after the giver; third follows: of these, the other opponent's"
        " next move takes from the giver, too, where both are alive."
    )
    note = "the third player is compared with: " + _baseline(games, views)
    table = Statistic("offers", "Pieces offered for nothing", meaning, columns, tuple(rows), None, (note,))
    return [table, *_tell_chances(games, offers)]


def _count(name: str, how: str, offers: Sequence[Offer], moves: int) -> tuple[Cell, ...]:
    """Make a row."""
    taken = [offer for offer in offers if offer.taker is not None]
    known = [offer for offer in taken if offer.followed is not None]
    of_three = [offer for offer in taken if offer.alive == 3]
    after = [offer.taker == (offer.giver + 1) % 3 for offer in of_three]
    return (
        name,
        how,
        len(offers),
        100 * len(offers) / max(moves, 1),
        share_by_game([offer.taker is not None for offer in offers], [offer.game for offer in offers]),
        share_by_game(after, [offer.game for offer in of_three]),
        share_by_game([bool(offer.followed) for offer in known], [offer.game for offer in known]),
    )


def _baseline(games: Sequence[PlayedGame], views: Sequence[Sequence[View]]) -> str:
    """Say how often a move takes from a given other player while three are alive."""
    hits, chances = 0, 0
    for played, seen in zip(games, views, strict=True):
        for step in played.chosen_steps().tolist():
            if seen[step].num_alive == 3:
                chances += 2
                hits += capture_of(seen[step], int(played.actions[step])) is not None
    share = f"{100 * hits / chances:.1f} %" if chances else "none"
    return f"any move takes from a given one of two living opponents in {share} of cases"


def _tell_chances(games: Sequence[PlayedGame], offers: Sequence[Offer]) -> list[Statistic]:
    """Make the table of what the giver's chance does."""
    begun = {(offer.game, offer.step) for offer in offers}
    others = [
        (number, step, int(played.to_play[step]))
        for number, played in enumerate(games)
        for step in played.chosen_steps().tolist()
        if (number, step) not in begun
    ]
    taken = {(offer.game, offer.step, offer.giver) for offer in offers if offer.taker is not None}
    every = sorted({(offer.game, offer.step, offer.giver) for offer in offers})
    groups = (every, [at for at in every if at in taken], [at for at in every if at not in taken], others)
    rows: list[tuple[Cell, ...]] = []
    for plies in AFTER:
        row: list[Cell] = [plies]
        for group in groups:
            changes = [(number, _change(games[number], step, seat, plies)) for number, step, seat in group]
            seen = [(number, 100 * change) for number, change in changes if np.isfinite(change)]
            row.append(mean_by_game([change for _, change in seen], [number for number, _ in seen]))
        rows.append(tuple(row))
    if all(cell is None for row in rows for cell in row[1:]):
        return []
    columns = ("plies later", "offers", "taken at once", "not taken", "other moves")
    meaning = (
        "By how many points of a hundred the mover's winning chance, as the records or the agent tell it, has"
        " changed so many plies after a position in which a move offered a piece for nothing, from what it"
        " was before that move; and after all other moves. Beyond the end of a game its result counts."
    )
    plot = ("plies later", columns[1:])
    return [
        Statistic("offer_chance", "The giver's chance after an offer", meaning, columns, tuple(rows), plot)
    ]


def _change(played: PlayedGame, step: int, seat: int, plies: int) -> float:
    """Give the change of a seat's chance; NaN where one of the two is not known."""
    later = min(step + plies, played.num_steps)
    return float(played.chances[later, seat] - played.chances[step, seat])
