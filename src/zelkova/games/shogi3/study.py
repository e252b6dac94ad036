"""What games of three-player shogi tell beside what all games do: endings, material, captures, who falls."""

from collections.abc import Sequence

import numpy as np

from zelkova.games.game import Game
from zelkova.games.played import RESIGNED, PlayedGame
from zelkova.games.shogi3 import rules
from zelkova.games.shogi3.notation import PLAYERS
from zelkova.games.shogi3.offers import find_offers, tell_offers
from zelkova.games.shogi3.survey import KING_WORTH, View, capture_of, view_game
from zelkova.games.statistic import Cell, Statistic, label_bins, mean_by_game, share_by_game

LEADS = [-2000.0, -1000.0, -500.0, -200.0, 0.0, 200.0, 500.0, 1000.0, 2000.0]  # edges of bins, in points
HELD = (("0", 0, 0), ("1", 1, 1), ("2", 2, 2), ("3", 3, 3), ("4", 4, 4), ("5 to 6", 5, 6), ("7 to 9", 7, 9),
        ("10 and more", 10, 99))  # fmt: skip

WON = ("won, of three", "won, of two")  # with so many players alive an equal chance is a third, or a half

Views = Sequence[Sequence[View]]


def study(game: Game, games: Sequence[PlayedGame]) -> list[Statistic]:
    """Measure a set of games.

    Args:
        game: shogi3.
        games: one or more, with chances where they are known.
    """
    views = [view_game(game, played) for played in games]
    offers = [
        offer
        for number, (played, seen) in enumerate(zip(games, views, strict=True))
        for offer in find_offers(number, played, seen)
    ]
    return [
        count_endings(game, games),
        *compare_holdings(games, views),
        *(tell_offers(games, views, offers) if offers else []),
        count_captures(games, views),
        count_first_falls(games, views),
    ]


def count_endings(game: Game, games: Sequence[PlayedGame]) -> Statistic:
    """Say how games end."""
    over = [played for played in games if played.returns is not None]
    ends = [int(game.view_states(played.states[-1:])[0]["ending"]) for played in over]
    words = {rules.LAST: "last: one is left", rules.ENTRY: "entry", rules.LIMIT: "limit: by material"}
    rows = tuple(
        (name, ends.count(code), share_by_game([end == code for end in ends], np.arange(len(ends))))
        for code, name in words.items()
    )
    meaning = "How the games that ended did."
    return Statistic("endings", "Endings", meaning, ("how", "games", "share"), rows if over else ())


def compare_holdings(games: Sequence[PlayedGame], views: Views) -> list[Statistic]:
    """Say how often who has so much more material, or so many pieces in hand, wins."""
    leads: list[tuple[float, float, int, int]] = []  # lead or pieces, share of the win, game, players alive
    hands: list[tuple[float, float, int, int]] = []
    for number, (played, seen) in enumerate(zip(games, views, strict=True)):
        if played.returns is None:
            continue
        wins = played.wins
        for step in played.chosen_steps().tolist():
            view = seen[step]
            living = [seat for seat in range(3) if view.alive[seat]]
            for seat in living:
                best = max(view.points[other] for other in living if other != seat)
                leads.append((view.points[seat] - best, float(wins[seat]), number, len(living)))
                hands.append((view.in_hand[seat], float(wins[seat]), number, len(living)))
    where = "Of every living player at every position where somebody chose a move: "
    lead = _bin(leads, list(zip(label_bins(LEADS), [-np.inf, *LEADS], [*LEADS, np.inf], strict=True)))
    hand = _bin(hands, [(name, low, high + 1) for name, low, high in HELD])
    return [
        Statistic(
            "material",
            "Material lead against result",
            f"{where}points of material, those in hand among them, above the best living opponent's, and how"
            " often that player wins, while three are alive and while two are.",
            ("lead", "mean lead", "times", *WON),
            lead,
            ("mean lead", WON),
        ),
        Statistic(
            "hand",
            "Pieces in hand against result",
            f"{where}how many pieces are in hand, and how often that player wins, while three are alive and"
            " while two are.",
            ("in hand", "mean", "times", *WON),
            hand,
            ("mean", WON),
        ),
    ]


def _bin(
    seen: Sequence[tuple[float, float, int, int]], bins: Sequence[tuple[str, float, float]]
) -> tuple[tuple[Cell, ...], ...]:
    """Sort observations into bins (name, from, up to but without), with three and with two alive apart."""
    table = np.array(seen, np.float64).reshape(-1, 4)
    rows: list[tuple[Cell, ...]] = []
    for name, low, high in bins:
        part = table[(table[:, 0] >= low) & (table[:, 0] < high)]
        if len(part):
            groups = [part[part[:, 3] == alive] for alive in (3, 2)]
            shares = [share_by_game(group[:, 1], group[:, 2].astype(np.int64)) for group in groups]
            rows.append((name, float(part[:, 0].mean()), len(part), *shares))
    return tuple(rows)


def count_captures(games: Sequence[PlayedGame], views: Views) -> Statistic:
    """Say who takes from whom while all three are alive."""
    seen: list[tuple[int, int, int, int]] = []  # taker, victim, points, game
    for number, (played, positions) in enumerate(zip(games, views, strict=True)):
        for step in played.chosen_steps().tolist():
            view = positions[step]
            prey = capture_of(view, int(played.actions[step])) if view.num_alive == 3 else None
            victim = view.owner(prey) if prey is not None else None
            if prey is not None and victim is not None:
                seen.append((int(played.to_play[step]), victim, view.worth(prey), number))
    pairs: list[tuple[str, str, list[tuple[int, int]]]] = [
        ("anybody", side, [(seat, (seat + ahead) % 3) for seat in range(3)])
        for side, ahead in (("next", 1), ("before", 2))
    ]
    for seat, name in enumerate(PLAYERS):
        for side, ahead in (("next", 1), ("before", 2)):
            victim = (seat + ahead) % 3
            pairs.append((name, f"{side}: {PLAYERS[victim]}", [(seat, victim)]))
    rows = tuple(_count_pair(name, side, who, seen) for name, side, who in pairs)
    meaning = (
        "While three are alive: what each player takes from who moves next after them and from who moved"
        " before them. The share is of the taker's captures, a half if nobody is preferred; points are as on"
        " the board, kings without; kings are counted apart."
    )
    columns = ("taker", "from", "captures", "share", "points a capture", "kings")
    return Statistic("captures", "Who is attacked", meaning, columns, rows if seen else ())


def _count_pair(
    name: str, side: str, who: Sequence[tuple[int, int]], seen: Sequence[tuple[int, int, int, int]]
) -> tuple[Cell, ...]:
    """Make the row of some pairs of taker and victim."""
    takers = {taker for taker, _ in who}
    own = [entry for entry in seen if entry[0] in takers]
    hits = [entry[:2] in who for entry in own]
    taken = [entry for entry, hit in zip(own, hits, strict=True) if hit]
    plain = [(worth, number) for _, _, worth, number in taken if worth < KING_WORTH]
    return (
        name,
        side,
        len(taken),
        share_by_game(hits, [entry[3] for entry in own]),
        mean_by_game([worth for worth, _ in plain], [number for _, number in plain]),
        len(taken) - len(plain),
    )


def count_first_falls(games: Sequence[PlayedGame], views: Views) -> Statistic:
    """Say who falls first, who took that king, and how often the taker wins."""
    falls: list[tuple[str, float | None]] = []  # how, and the taker's share of the win where there is a taker
    victims: list[int] = []
    for played, seen in zip(games, views, strict=True):
        if played.returns is None or seen[0].num_alive < 3:
            continue
        step = next((k for k in range(played.num_steps) if seen[k + 1].num_alive < 3), None)
        if step is None:
            falls.append(("nobody fell", None))
            continue
        victim = next(seat for seat in range(3) if not seen[step + 1].alive[seat])
        victims.append(victim)
        taker = int(played.to_play[step])
        if played.actions[step] == RESIGNED:
            falls.append(("resigned", None))
        else:
            side = "next after" if taker == (victim + 1) % 3 else "before"
            falls.append((f"taken by who sits {side} the victim", float(played.wins[taker])))
    rows: list[tuple[Cell, ...]] = []
    for how in ("taken by who sits next after the victim", "taken by who sits before the victim", "resigned",
                "nobody fell"):  # fmt: skip
        hits = [way == how for way, _ in falls]
        won = [win for way, win in falls if way == how and win is not None]
        number = np.arange(len(hits))
        rows.append((how, sum(hits), share_by_game(hits, number), share_by_game(won, np.arange(len(won)))))
    for seat, name in enumerate(PLAYERS):
        hits = [victim == seat for victim in victims]
        rows.append((f"{name} fell first", sum(hits), share_by_game(hits, np.arange(len(hits))), None))
    meaning = (
        "In games that ended and began with three: how the first player was eliminated, and how often who"
        " took that king wins; then who it was, of the games in which somebody fell."
    )
    columns = ("what", "games", "share", "the taker won")
    return Statistic("first_fall", "First elimination", meaning, columns, tuple(rows) if falls else ())
