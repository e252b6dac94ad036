"""`zelkova analyze`: what a set of games tells, or what an agent sees in one position."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from zelkova.cli import console
from zelkova.cli.options import Device, Json, Overrides, refuse_one_file
from zelkova.cli.play import find_run, find_thinker, game_of_run, load_game, spell_game
from zelkova.cli.user_game import refuse_broken
from zelkova.errors import ConfigError

if TYPE_CHECKING:
    from zelkova.cli.figures import Figures
    from zelkova.games.game import Game
    from zelkova.games.statistic import Statistic

PAGE = "analysis.html"

Name = Annotated[
    str,
    typer.Argument(metavar="AGENT", help="A run, a checkpoint, `scaffold:N`, `greedy` and the like."),
]
Records = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="RECORDS...",
        help="Runs, folders, files of games (.json, .jsonl, .txt, .safetensors); by default the AGENT's run.",
    ),
]
PositionText = Annotated[
    str | None,
    typer.Option(
        "--position", metavar="TEXT", help="One position: `start`, `moves M M ...`, or the game's own text."
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.html",
        help=f"The page to write; if not told, {PAGE} here for records and none for a position.",
    ),
]
GameName = Annotated[
    str | None, typer.Option(metavar="NAME|FILE", help="The game, where neither run nor records tell it.")
]


@dataclass(frozen=True)
class Asked:
    """Who is asked, and where answers go."""

    agent: str  # a run, a checkpoint, or a player by name
    device: str  # where its network runs
    out: Path | None  # of the page
    figures: "Figures"


def analyze(
    agent: Name,
    records: Records = None,
    position: PositionText = None,
    games: Annotated[int, typer.Option(min=1, help="Most games that are looked at, the last ones.")] = 2000,
    game: GameName = None,
    simulations: Annotated[int, typer.Option(min=1, help="Of an agent with a network, of a position.")] = 800,
    out: Out = None,
    device: Device = None,
    overrides: Overrides = None,
    json: Json = None,
) -> None:
    """Write tables and pictures of a set of games; or, with --position, what the agent thinks of it."""
    from zelkova.cli.figures import Figures
    from zelkova.cli.game_records import find_games
    from zelkova.reports.page import refuse_place

    refuse_one_file(out or (Path(PAGE) if position is None else None), json)
    if out is not None:
        refuse_place(out)
    if position is not None and records:
        raise ConfigError("--position asks about one position; next: leave out the records, or --position")
    run = find_run(agent)
    with Figures(json) as figures:
        asked = Asked(agent, device or "auto", out, figures)
        if position is not None:
            rules = _game_of(agent, run, [], game, overrides)
            _judge(asked, rules, position, simulations)
            return
        if not records and run is None:
            raise ConfigError(f"{agent} has no games of its own; next: name a run's folder or files of games")
        files = find_games(records or [run or Path()])
        rules = _game_of(agent, run, files, game, overrides)
        _study(asked, rules, files, games)


def _game_of(
    agent: str, run: Path | None, files: Sequence[Path], game: str | None, overrides: list[str] | None
) -> "Game":
    """Find the game: the agent's, the one that is named, or the one that the first records tell.

    Raises:
        ZelkovaError: nothing tells it, or it can't be loaded.
    """
    from zelkova import games
    from zelkova.cli.game_records import run_around
    from zelkova.cli.play import game_options
    from zelkova.records.files import find_game

    if run is not None:
        rules = game_of_run(run, overrides)
        if game is not None and game != rules.name:
            raise ConfigError(f"{agent} plays {rules.name}, not {game}; next: leave --game out")
    elif game is not None:
        rules = load_game(game, overrides)
    else:
        own = run_around(files[0]) if files else None
        named = None if own is not None or not files else find_game(files[0])
        if own is not None:
            rules = game_of_run(own, overrides)
        elif named is not None and named.name.endswith(".py"):
            raise ConfigError(
                f"{files[0]} is of {named.name[:80]}, a file whose code is run only where you name it; next:"
                f" --game {shlex.quote(named.name)}"
            )
        elif named is not None:
            rules = games.load(named.name, {**named.options, **game_options(overrides)})
        else:
            raise ConfigError(
                f"{files[0] if files else agent} does not tell the game; next: name it with --game, such as"
                " --game shogi3"
            )
    refuse_broken(rules)
    return rules


def _study(asked: "Asked", rules: "Game", files: Sequence[Path], most: int) -> None:
    """Read the games, measure them, and write what was found."""
    from zelkova.cli.game_records import fill_chances, read_played
    from zelkova.evaluation.analysis.study import study_games
    from zelkova.reports.analysis import make_study, show_statistic
    from zelkova.reports.page import write_document

    played = read_played(rules, files, most)
    played, source = fill_chances(asked.agent, rules, played, asked.device)
    moves = sum(game.num_moves for game in played)
    about = f"{len(played)} games of {spell_game(rules)}, {moves} moves; chances: {source}"
    statistics = study_games(rules, played, source)
    out = asked.out or Path(PAGE)
    write_document(out, make_study(f"{rules.name}: {len(played)} games", about, statistics))
    console.result(about)
    for statistic in statistics:
        console.result()
        for line in show_statistic(statistic):
            console.result(line)
    _add(asked, statistics, {"game": rules.name, "games": len(played)})
    console.result(f"\nanalysis: {out}")


def _add(asked: "Asked", statistics: "Sequence[Statistic]", params: dict[str, object]) -> None:
    from zelkova.reports.analysis import list_figures

    for statistic in statistics:
        for name, value, own in list_figures(statistic):
            asked.figures.add(name, value, **{"agent": asked.agent, **params, **own})


def _judge(asked: "Asked", rules: "Game", text: str, simulations: int) -> None:
    """Let an agent think about one position, and write what it thinks."""
    from zelkova.cli.judgement import judge_position
    from zelkova.reports.analysis import make_judgement, show_statistic
    from zelkova.reports.page import write_document

    thinker = find_thinker(asked.agent, rules, simulations, asked.device)
    found = judge_position(thinker, rules, text)
    about = f"{spell_game(rules)}, judged by {asked.agent}"
    console.result(found.position.draw(colour=False, unicode=console.has_unicode(sys.stdout)))
    tables = (found.chances, found.lines, found.candidates)
    for statistic in tables:
        console.result()
        for line in show_statistic(statistic):
            console.result(line)
    _add(asked, tables, {"game": rules.name, "position": text})
    if asked.out is not None:
        write_document(asked.out, make_judgement(f"{rules.name}: one position", about, found))
        console.result(f"\nanalysis: {asked.out}")
