"""`zelkova arena`: who is stronger, and how sure is that."""

import itertools
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from zelkova.cli import console
from zelkova.cli.environment import is_of_environment, play_in_environment
from zelkova.cli.options import Device, Json
from zelkova.cli.play import spell_game
from zelkova.cli.user_game import refuse_broken
from zelkova.errors import LARGEST_SEED, ConfigError

if TYPE_CHECKING:
    from zelkova.cli.figures import Figures
    from zelkova.evaluation.elo import Pairing
    from zelkova.evaluation.match import MatchResult
    from zelkova.evaluation.players import ActingAgent, Player
    from zelkova.games import Game

CYCLIC = 0.1  # share of results beyond any ladder from which on circles are reported
BATCH = 64  # positions that one agent searches side by side


PLAYERS = (
    "Runs, checkpoints, `packaged:GAME`, `random`, `uct:N`, `scaffold:N`, `greedy`, `maxn:DEPTH`,"
    " `paranoid:DEPTH`, `alphabeta:DEPTH` or `minimax`."
)


def arena(
    players: Annotated[list[str], typer.Argument(metavar="A B ...", help=PLAYERS)],
    games: Annotated[int, typer.Option(min=1, help="Games a pair; rounded up so that seats balance.")] = 200,
    game: Annotated[
        str | None, typer.Option(metavar="NAME|FILE", help="The game, where no player is a run.")
    ] = None,
    simulations: Annotated[
        int | None,
        typer.Option(min=1, help="Of a run's agent, a move: 64, or in an environment those of its training."),
    ] = None,
    openings: Annotated[
        int | None, typer.Option(min=0, help="Most random plies before a game; else 2, or 4 between agents.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, help="Of openings and of the players' own chance.")
    ] = 0,
    device: Device = None,
    json: Json = None,
) -> None:
    """Play matches with balanced seats and openings; give score, Elo and their 95 % intervals.

    One run alone, whose agent acts in an environment, plays whole episodes there: mean return, without noise.
    """
    from zelkova.cli.figures import Figures
    from zelkova.evaluation.config import MatchConfig
    from zelkova.evaluation.match import most_opening_plies, play_match

    if len(players) == 1 and is_of_environment(players[0]):
        with Figures(json) as figures:
            play_in_environment(players[0], games, simulations, seed, device or "auto", figures)
        return
    simulations = 64 if simulations is None else simulations
    refuse_players(players)
    with Figures(json) as figures:
        rules, seated = seat_players(players, game, simulations, device or "auto")
        config = MatchConfig(games=games, seed=seed, opening_plies=openings)
        results = []
        console.result(f"{rules.name}, {simulations} simulations a move for agents")
        for first, second in itertools.combinations(seated, 2):
            with console.Progress(f"{first.name} against {second.name}") as progress:

                def show(done: int, count: int, progress: console.Progress = progress) -> None:
                    progress.update(done / count, {"games": done})

                result = play_match(rules, first, second, config, show)
            results.append(result)
            params = {"a": first.name, "b": second.name, "games": result.num_games}
            params |= {"game": rules.name, "simulations": simulations, "seed": seed}
            figures.add("arena/score", result.score, **params)
            figures.add("arena/elo", result.elo, **params)
            for line in describe_match(result, most_opening_plies(config, first, second)):
                console.result(line)
        if len(seated) > 2:
            show_ladder(results, seated, figures)


def refuse_players(players: Sequence[str]) -> None:
    """Refuse too few players, or one twice among many.

    Raises:
        ConfigError: says what is allowed.
    """
    if len(players) < 2:
        raise ConfigError(
            f"arena got one player, `{players[0]}`; allowed: two or more, such as a run and uct:1000"
        )
    if len(players) > 2 and len(set(players)) < len(players):
        raise ConfigError("arena got a player twice; allowed among more than two: different ones")


def seat_players(
    texts: Sequence[str], game: str | None, simulations: int, device: str
) -> "tuple[Game, list[Player]]":
    """Make the players, and find the game that they play.

    Args:
        texts: as given.
        game: named by the user, or None.
        simulations: of agents, a move.
        device: where networks run.
    Raises:
        ConfigError: no player tells the game and none was named, or they play different games.
        GameError: a user's game breaks the contract.
    """
    from zelkova import games as registry
    from zelkova.agents.packaged import is_agent
    from zelkova.evaluation.players import SearchPlayer, is_reference, make_player

    made: dict[str, SearchPlayer] = {}
    rules = registry.load(game) if game is not None else None
    if rules is not None:
        refuse_broken(rules)
    for text in texts:
        if text not in made and not is_reference(text) and is_agent(text):
            agent, own = load_player(text, simulations, device)
            refuse_broken(own)
            made[text] = SearchPlayer(agent, text)
            rules = rules or own
            if (own.name, own.options) != (rules.name, rules.options):
                raise ConfigError(
                    f"{text} plays {spell_game(own)}, others {spell_game(rules)}; allowed: one game for all"
                )
    if rules is None:
        named = " and ".join(texts)
        raise ConfigError(f"{named} play any game; next: name one with --game, such as --game connect_four")
    refuse_broken(rules)
    threads = os.cpu_count() or 1
    return rules, [
        made[text] if text in made else make_player(text, rules, threads=threads) for text in texts
    ]


def load_player(text: str, simulations: int, device: str) -> "tuple[ActingAgent, Game]":
    """Load a run's agent and the game it plays; of a learned model, which sees no rules, as well.

    Raises:
        CheckpointError: the run can't be read.
        ConfigError: it acts in an environment, where there is no opponent.
    """
    from zelkova.agents.load import find_checkpoint, load_agent

    if find_checkpoint(text)[2].get("model") != "learned":
        agent = load_agent(text, num_simulations=simulations, batch=BATCH, device=device)
        return agent, agent.game
    from zelkova.agents.learned.load import HiddenRules, load_learned

    parts = load_learned(text, num_simulations=simulations, device=device)
    if parts.game is None:
        raise ConfigError(f"{text} acts in {parts.env.get('id')}, alone; next: zelkova arena {text}")
    return HiddenRules(parts.game, parts.agent), parts.game


def describe_match(result: "MatchResult", plies: int) -> list[str]:
    """Say in lines what came out of a match whose longest opening had so many plies."""
    low, high = result.score_interval
    elo_low, elo_high = result.elo_interval
    against = f"{result.num_players - 1} x " if result.num_players > 2 else ""
    even = f", equals score {1 / result.num_players:.1%}" if result.num_players > 2 else ""
    lines = [
        "",
        f"{result.names[0]} against {against}{result.names[1]}: {result.num_games} games, "
        f"openings of 0 to {plies} plies, {result.plies.mean():.1f} plies on average",
        f"  score {result.score:.1%} (95 %: {low:.1%} to {high:.1%}{even})",
        f"  Elo {result.elo:+.0f} (95 %: {elo_low:+.0f} to {elo_high:+.0f})",
    ]
    if result.is_apart:
        means = zip(result.names, result.returns.mean(axis=0), strict=True)
        lines.append("  mean return: " + ", ".join(f"{name} {mean:.4g}" for name, mean in means))
    lines.append("  seat   wins  draws  losses")
    for seat in [None] if result.is_apart else [*range(result.num_players), None]:
        wins, draws, losses = result.tally(seat)
        name = "all" if seat is None else str(seat + 1)
        lines.append(f"  {name:>4}  {wins:5}  {draws:5}  {losses:6}")
    if not result.is_apart:
        lines.append(f"  {describe_seats(result)}")
    return lines


def describe_seats(result: "MatchResult") -> str:
    """Say how often each seat won, whoever sat there, and whether chance alone would do that."""
    from zelkova.evaluation.elo import chi_square_chance, seat_chi_square

    wins = result.seat_wins()
    value = seat_chi_square(wins)
    chance = chi_square_chance(value, len(wins) - 1)
    counts = ", ".join(str(count) for count in wins)
    return f"won by seat, whoever sat there: {counts} (chi-square {value:.1f}, by chance {chance:.2g})"


def show_ladder(results: "Sequence[MatchResult]", seated: "Sequence[Player]", figures: "Figures") -> None:
    """Show all scores, fit one ladder to them, the last named player at 0, and say what goes in circles."""
    from zelkova.evaluation.elo import fit_elo
    from zelkova.evaluation.rating import pair_up

    pairings = [pair_up(result) for result in results]
    names = [player.name for player in seated]
    for line in describe_matrix(results, names):
        console.result(line)
    ratings = fit_elo(pairings, {names[-1]: 0.0})
    wide = max(len(name) for name in [*names, "player"])
    console.result(f"\n{'player':{wide}}    Elo  95 %  ({names[-1]} is 0)")
    for name in sorted(names, key=lambda name: -ratings[name].elo):
        rating = ratings[name]
        console.result(f"{name:{wide}}  {rating.elo:+5.0f}  {rating.low:+.0f} to {rating.high:+.0f}")
        figures.add("arena/rating", rating.elo, player=name, anchor=names[-1])
    show_circles(pairings, names, figures)


def describe_matrix(results: "Sequence[MatchResult]", names: Sequence[str]) -> list[str]:
    """Lay the scores of all pairs out in lines, a row and a column a player."""
    place = {name: k for k, name in enumerate(names)}
    cells = [["." for _ in names] for _ in names]
    for result in results:
        i, j = place[result.names[0]], place[result.names[1]]
        cells[i][j] = f"{100 * result.score:.1f}"
        cells[j][i] = f"{100 * (1 - result.score) / (result.num_players - 1):.1f}"
    players = results[0].num_players
    seats = (
        "" if players == 2 else f" of one seat; one of the upper right sat against {players - 1} of the other"
    )
    wide = max(len(name) for name in names)
    head = "  ".join(f"{k + 1:>5}" for k in range(len(names)))
    return [
        "",
        f"score in % of the row against the column{seats}; equals score {100 / players:.1f}",
        f"{'':{wide + 4}}  {head}",
        *(
            f"{k + 1:>2}  {name:{wide}}  " + "  ".join(f"{cell:>5}" for cell in row)
            for k, (name, row) in enumerate(zip(names, cells, strict=True))
        ),
    ]


def show_circles(pairings: "Sequence[Pairing]", names: Sequence[str], figures: "Figures") -> None:
    """Show how much of the results no ladder explains, and which players beat each other in a circle."""
    import numpy as np

    from zelkova.evaluation.elo import cyclic_interval, find_circles, log_odds_matrix, split_cycles

    _, cyclic = split_cycles(log_odds_matrix(pairings, names))
    low, high = cyclic_interval(pairings, names, np.random.default_rng(0))
    console.result(
        f"share of the results that no ladder explains (cycles): {cyclic:.1%} (95 %: {low:.1%} to {high:.1%})"
    )
    figures.add("arena/cyclic_share", cyclic, players=names, low=low, high=high)
    circles = find_circles(pairings, names)
    for circle in circles:
        console.result(f"circle: {' beats '.join([*circle, circle[0]])}, each with 95 % confidence")
    if low > CYCLIC and not circles:
        console.result(
            f"circle: no ladder explains more than {CYCLIC:.0%} of the results, with 95 % confidence"
        )
    figures.add("arena/circles", len(circles), players=circles)
