"""`zelkova play`: sit down at the board against a run, or against a reference opponent.

Exit status: 0 when a person leaves, when the input ends (also at once, or within a line) and when a watched
game is over; 2 where something asked for is unknown or can't be read; 130 after Ctrl-C.
"""

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from zelkova.cli import console
from zelkova.cli.options import Device, Overrides, Seed
from zelkova.cli.user_game import refuse_broken
from zelkova.errors import ConfigError, hint
from zelkova.games import Game

if TYPE_CHECKING:
    from zelkova.agents.learned.load import HiddenRules
    from zelkova.play.thinking import Thinker

LEAVES = 8  # of the one tree, evaluated in one call of the network
FEWEST_FOR_LEAVES = 64  # simulations; below, leaves found side by side would cost strength
_DEFAULT = "uct:1000"

Target = Annotated[
    str, typer.Argument(metavar="RUN|GAME", help="A run's folder, a checkpoint, a game or its file.")
]
AgentName = Annotated[
    str | None,
    typer.Option(
        metavar="RUN|packaged:GAME|uct:N|scaffold:N|greedy|paranoid:DEPTH|maxn:DEPTH|alphabeta:DEPTH|minimax"
        "|random",
        help="Who plays the other seats; by default the run, or packaged:GAME if there is one, or uct:1000.",
    ),
]
Seat = Annotated[
    str, typer.Option(help="The player that you are, from 1 or by name; several as 1,2; none to watch.")
]
Simulations = Annotated[int, typer.Option(min=1, help="Simulations a move, of an agent with a network.")]


def play(
    target: Target,
    agent: AgentName = None,
    seat: Seat = "1",
    simulations: Simulations = 64,
    seed: Seed = None,
    device: Device = None,
    overrides: Overrides = None,
) -> None:
    """Play a game in the terminal; --set game.KEY=VALUE gives the game's options."""
    from zelkova.play.session import Session, Table
    from zelkova.play.terminal import is_live, read_lines

    run = find_run(target)
    game = game_of_run(run, overrides) if run is not None else load_game(target, overrides)
    refuse_broken(game)
    name = agent or (str(run) if run is not None else _usual_agent(game))
    thinker = find_thinker(name, game, simulations, device or "auto")
    table = Table(
        seats=_parse_seats(seat, game),
        seed=_fresh_seed() if seed is None else seed,
        colour=console.has_colour(sys.stdout),
        unicode=console.has_unicode(sys.stdout),
    )
    live = is_live(sys.stdin) and is_live(sys.stdout)
    if live and hasattr(thinker, "load"):  # else it is loaded when it is first needed
        thinker.load()
    try:
        Session(game, thinker, table, console.draw).run(read_lines(sys.stdin, _prompt if live else None))
    except KeyboardInterrupt:
        if live:
            console.note("")  # leaves the line of the prompt
        raise


def _prompt() -> None:
    print("> ", end="", flush=True)


def _fresh_seed() -> int:
    """Draw a seed that no one has seen."""
    import secrets

    return secrets.randbits(32)


def find_run(target: str) -> Path | None:
    """Give the path where the target is a run or a checkpoint; None where it must be a game."""
    from zelkova.agents.packaged import is_packaged

    path = Path(target)
    return path if path.is_dir() or target.endswith(".safetensors") or is_packaged(target) else None


def _usual_agent(game: Game) -> str:
    """Name who plays where nobody is named: the network that comes with the package, or UCT."""
    from zelkova import games
    from zelkova.agents.packaged import PREFIX, packaged_games

    is_packaged = game.source in packaged_games() and game.options == games.load(game.source).options
    return PREFIX + game.source if is_packaged else _DEFAULT


def load_game(target: str, overrides: list[str] | None) -> Game:
    """Load a game by name or file.

    Raises:
        ZelkovaError: there is no such game, or an option is refused.
    """
    from zelkova import games

    if not target.endswith(".py") and target not in games.names():
        raise ConfigError(
            f"unknown game `{target}`; {hint(target, games.names())}; "
            "a run is given by its folder, a game of your own as path/to/game.py"
        )
    return games.load(target, game_options(overrides))


def game_options(overrides: list[str] | None) -> dict[str, Any]:
    """Read the game's options from `--set`.

    Raises:
        ConfigError: a key is no option of a game.
    """
    from zelkova.settings import parse_override

    options = {}
    for text in overrides or []:
        keys, value = parse_override(text)
        if len(keys) != 2 or keys[0] != "game":
            raise ConfigError(
                f"--set `{text}`: here only the game has settings; write game.KEY=VALUE, like game.height=8"
            )
        options[keys[1]] = value
    return options


def game_of_run(run: Path, overrides: list[str] | None) -> Game:
    """Load the game that a run was trained on.

    Raises:
        ZelkovaError: the run names no game that can be loaded, or `--set` would change it.
    """
    if overrides:
        raise ConfigError(
            f"--set `{overrides[0]}`: the game of a run is settled; leave --set out, or name the game"
        )
    from zelkova import games
    from zelkova.reports.run import environment_of
    from zelkova.settings import read_toml

    if run.is_file() or not (run / "config.toml").is_file():
        from zelkova.agents.learned.load import is_learned
        from zelkova.agents.load import load_agent

        return _load_hidden(str(run)).game if is_learned(run) else load_agent(run).game
    settings = read_toml(run / "config.toml")
    env = environment_of(settings)
    if env is not None:
        raise _has_no_seats(str(run), env)
    table = settings.get("game")
    if not isinstance(table, dict) or not isinstance(table.get("name"), str):
        raise ConfigError(
            f"{run / 'config.toml'} names no game; allowed: [game] with a name; next: name another run"
        )
    games.refuse_inside(table["name"], run)
    return games.load(table["name"], {key: value for key, value in table.items() if key != "name"})


def _has_no_seats(run: str, env: str) -> ConfigError:
    return ConfigError(f"{run} acts in {env}, where nobody else has a seat; next: zelkova arena {run}")


def _load_hidden(name: str, simulations: int | None = None, device: str = "auto") -> "HiddenRules":
    """Load a learned model that plays a game.

    Raises:
        ZelkovaError: it acts in an environment, or can't be loaded.
    """
    from zelkova.agents.learned.load import HiddenRules, load_learned

    parts = load_learned(name, num_simulations=simulations, device=device)
    if parts.game is None:
        raise _has_no_seats(name, str(parts.env.get("id")))
    return HiddenRules(parts.game, parts.agent)


def find_thinker(name: str, game: Game, simulations: int, device: str) -> "Thinker":
    """Find who plays the seats that no person has.

    Raises:
        ConfigError: there is nobody of that name.
    """
    from zelkova.agents.packaged import find_packaged, is_agent, is_packaged
    from zelkova.agents.reference.classic import is_classic, make_classic
    from zelkova.agents.reference.scaffold import read_scaffold
    from zelkova.evaluation.config import REFERENCES, UCT
    from zelkova.play.thinking import AgentThinker, ClassicThinker, LateThinker, RandomThinker, UctThinker

    if name == "random":
        return RandomThinker()
    match = UCT.fullmatch(name)
    if match:
        return UctThinker(game, int(match[1]))
    scaffold = read_scaffold(name)
    if scaffold is not None:
        from zelkova.agents.planner import Planner  # takes a second, as it brings PyTorch
        from zelkova.play.thinking import planner_options

        return AgentThinker(Planner(game, None, scaffold, planner_options(scaffold.num_simulations, 1)), name)
    if is_classic(name):
        return ClassicThinker(make_classic(name, game), name)
    if name.startswith("uct") and not Path(name).exists():
        raise ConfigError(
            f"--agent {name}: allowed: uct:N with N simulations a move from 1 to 10000000; hint: uct:1000"
        )
    if not is_agent(name):
        raise ConfigError(
            f"unknown agent `{name}`; {hint(name, REFERENCES)}; a run or checkpoint is given by its path"
        )
    if is_packaged(name):
        find_packaged(name)  # now, not at its first move
    return LateThinker(name, _loader(name, game, simulations, device))


def _loader(name: str, game: Game, simulations: int, device: str) -> "Callable[[], Thinker]":
    """Give what loads a run's agent and makes sure that it plays this game."""

    def load() -> "Thinker":
        from zelkova.agents.load import find_checkpoint, load_planner
        from zelkova.agents.packaged import ORIGIN
        from zelkova.play.thinking import AgentThinker, LearnedThinker, planner_options

        words = find_checkpoint(name)[2]
        if ORIGIN in words:
            console.note(f"{name}: {words[ORIGIN]}")
        if words.get("model") == "learned":
            hidden = _load_hidden(name, simulations, device)
            _refuse_other(name, hidden.game, game)
            return LearnedThinker(hidden, name)
        options = planner_options(simulations, LEAVES if simulations >= FEWEST_FOR_LEAVES else 1)
        planner = load_planner(name, options, num_simulations=simulations, device=device)
        _refuse_other(name, planner.game, game)
        return AgentThinker(planner, name)

    return load


def _refuse_other(name: str, other: Game, game: Game) -> None:
    """Refuse an agent of another game.

    Raises:
        ConfigError: it plays another one, or with other options.
    """
    refuse_broken(other)
    if other.name != game.name:
        raise ConfigError(f"{name} plays {other.name}, not {game.name}; next: name the run alone")
    if other.options != game.options:
        raise ConfigError(
            f"{name} plays {spell_game(other)}, not {spell_game(game)}; "
            "next: name the run alone, or give the same options with --set game.KEY=VALUE"
        )


def _parse_seats(text: str, game: Game) -> frozenset[int]:
    """Read `--seat`: players from 1 or by the name that the game's notation gives, comma between, or none.

    Raises:
        ConfigError: there is no such player.
    """
    if text == "none":
        return frozenset()
    seats = []
    for word in text.split(","):
        seat = game.find_seat(word)
        if seat is None:
            known = [*map(str, range(1, game.num_players + 1)), *map(str.lower, game.own_seat_names), "none"]
            raise ConfigError(
                f"--seat {text}: no such player `{word.lower()}`; {hint(word.lower(), known)}; several as 1,2"
            )
        seats.append(seat)
    return frozenset(seats)


def spell_game(game: Game) -> str:
    """Name a game with its options, as connect_four (height=6, width=7, run=4, players=2)."""
    if game.options is None:
        return game.name
    options = dataclasses.asdict(game.options)
    return f"{game.name} ({', '.join(f'{key}={value}' for key, value in options.items())})"
