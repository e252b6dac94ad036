"""The settings of a run: composes the rooms' option dataclasses and reads presets.

A setting's value is the last of: the dataclass's default, the preset's, the preset's table for the chosen
size, `--set`. To add a section, import its dataclass and add one field to `RunConfig`.
"""

import dataclasses
import importlib.resources
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, overload

from zelkova import games, settings
from zelkova.agents.learned.config import PlanningConfig
from zelkova.envs.config import EnvConfig
from zelkova.envs.make import refuse_inside as refuse_module_inside
from zelkova.errors import LARGEST_SEED, ConfigError, hint
from zelkova.evaluation.config import RatingConfig
from zelkova.learning.config import CheckpointConfig, LearningConfig, UnrollLossConfig
from zelkova.networks.config import HeadsConfig, NetworkConfig
from zelkova.networks.learned.config import LearnedConfig
from zelkova.replay.config import ReplayConfig, UnrollConfig
from zelkova.search.config import SearchConfig
from zelkova.selfplay.config import ReanalyseConfig, SelfPlayConfig, TeacherConfig

T = TypeVar("T")

GENERAL_PRESET = "alphazero"  # for games which have no preset of their own
ENV_PRESET = "gumbel-muzero"  # for environments which have none
ENV_ID = re.compile(r"([\w.]+:)?([\w.-]+/)?[\w.-]+-v\d+")  # how Gymnasium names environments
SIZES = ("tiny", "small", "base")
FIXED = (  # what a run's weights and games in play depend on
    ("seed",),
    ("model",),
    ("game",),
    ("env",),
    ("network",),
    ("heads",),
    ("latent",),
    ("selfplay", "games"),
    ("selfplay", "groups"),
    ("replay", "offline_steps"),
    ("learning", "optimizer"),
)
UNREAD = {  # by model, what nothing reads there; 0 is off
    "learned": (
        "selfplay.restart_share", "selfplay.fast_simulations", "selfplay.past_share", "replay.td_lambda",
        "teacher.random_moves", "teacher.samples_per_position",
        "heads.rank", "heads.next_eliminated", "heads.final_material", "heads.plies_left",
        "network.value_counts",
    ),
    "rules": ("replay.priority_alpha",),
}  # fmt: skip


@dataclass(frozen=True)
class GameConfig:
    """Which game, and its own options."""

    name: str = "tic_tac_toe"  # a registered game, or the path of a Python file
    options: Mapping[str, object] = field(
        default_factory=dict, metadata=settings.REST
    )  # the game checks them

    def __post_init__(self) -> None:
        """Refuse what can be no file's name."""
        if "\0" in self.name:
            raise ConfigError(f"name is {self.name!r}; allowed: a game's name, or the path of a Python file")


@dataclass(frozen=True)
class RunConfig:
    """Everything that decides how a run goes; saved with it as config.toml."""

    preset: str = GENERAL_PRESET  # where the run's settings started
    size: Literal["tiny", "small", "base"] = "base"  # the one dial
    seed: int = 0  # of every random stream of the run
    device: str = "auto"  # "auto", "cpu", "cuda", "cuda:N" or "mps"
    model: Literal["rules", "learned"] = (
        "rules"  # what the search asks: the game's rules, or learned dynamics
    )
    game: GameConfig = field(default_factory=GameConfig)
    env: EnvConfig = field(default_factory=EnvConfig)  # of a learned model; no id: the game, its rules hidden
    network: NetworkConfig = field(default_factory=NetworkConfig)  # over known rules
    heads: HeadsConfig = field(default_factory=HeadsConfig)  # that the network over known rules also learns
    latent: LearnedConfig = field(default_factory=LearnedConfig)  # network of a learned model
    search: SearchConfig = field(default_factory=SearchConfig)
    planning: PlanningConfig = field(default_factory=PlanningConfig)  # of a learned model's search
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    teacher: TeacherConfig = field(default_factory=TeacherConfig)  # who plays the first games
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    unroll: UnrollConfig = field(default_factory=UnrollConfig)  # targets of a learned model
    reanalyse: ReanalyseConfig = field(default_factory=ReanalyseConfig)
    learning: LearningConfig = field(default_factory=LearningConfig)
    loss: UnrollLossConfig = field(default_factory=UnrollLossConfig)  # terms of a learned model's loss
    rating: RatingConfig = field(default_factory=RatingConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)

    def __post_init__(self) -> None:
        """Refuse a seed that a random stream would, and settings that do not go together."""
        if not 0 <= self.seed <= LARGEST_SEED:
            raise ConfigError(f"seed is {self.seed}; allowed: 0 to {LARGEST_SEED}")
        if self.latent.value_prefix != self.unroll.value_prefix:
            raise ConfigError(
                f"latent.value_prefix is {self.latent.value_prefix} and unroll.value_prefix is"
                f" {self.unroll.value_prefix}; allowed: both alike, the network's head and its targets"
            )
        if self.env.id and self.selfplay.random_opening > 0.0:
            raise ConfigError(
                f"selfplay.random_opening is {self.selfplay.random_opening} and env.id is `{self.env.id}`;"
                " only a game opens with random moves; next: leave it at 0"
            )
        if self.model == "rules" and self.replay.offline_steps:
            raise ConfigError(
                "a fixed data set (--offline, replay.offline_steps) trains learned models, and model = rules;"
                " next: a preset of a learned model, such as muzero-cartpole"
            )
        self._refuse_unread()
        if self.model == "learned" and self.teacher.player:
            raise ConfigError(
                f"teacher.player is `{self.teacher.player}` and model = learned; a teacher knows the rules;"
                " next: model = rules, or no teacher"
            )
        if self.model == "rules" and self.env.id:
            raise ConfigError(
                f"env.id is `{self.env.id}` and model = rules; an environment's rules aren't known;"
                " next: model = learned"
            )

    def samples_per_position(self, is_taught: bool) -> float:
        """Say how often a new position is drawn on average, one of a teacher's or one of self-play."""
        taught = self.teacher.samples_per_position if is_taught else 0.0
        return taught or self.learning.samples_per_position

    def _refuse_unread(self) -> None:
        """Refuse settings that the other kind of model alone reads.

        Raises:
            ConfigError: names one.
        """
        for model, names in UNREAD.items():
            for name in names if model == self.model else ():
                section, key = name.split(".")
                value = getattr(getattr(self, section), key)
                if value:
                    raise ConfigError(
                        f"{name} is {value} and model = {model}, where nothing reads it; next: leave it at"
                        f" {'false' if value is True else 0}"
                    )


def refuse_changes(saved: str, config: RunConfig, path: Path) -> None:
    """Refuse settings that a run can't change on its way.

    Args:
        saved: the settings of its checkpoint, as TOML.
        config: those to go on with.
        path: where they were read, for the message.
    Raises:
        ConfigError: names the setting, what it was and what it is.
    """
    before = settings.parse_toml(saved, "the checkpoint")
    now = settings.parse_toml(settings.to_toml(config), str(path))
    for table in (before, now):
        if table["game"]["name"].endswith(".py"):
            table["game"]["name"] = Path(table["game"]["name"]).name  # the file may have moved
    usual = settings.parse_toml(settings.to_toml(RunConfig()), "the defaults")
    for keys in FIXED:
        old: Any = before
        new: Any = now
        plain: Any = usual
        for key in keys:  # a run of an older version lacks what it did not know
            new, plain = new[key], plain[key]
            old = old.get(key, new)
        if isinstance(old, dict):
            old = {**{key: plain[key] for key in plain if key in new}, **old}
        if isinstance(old, dict) and old != new:
            key = next(key for key in {**old, **new} if old.get(key) != new.get(key))
            keys, old, new = (*keys, key), old.get(key), new.get(key)
        if old != new:
            raise ConfigError(
                f"`{'.'.join(keys)}` was {old!r} when this run was trained and is {new!r} now, and it can't"
                f" change; next: set it back (in {path}, or without --set), or begin a new run"
            )


def refuse_own_code(config: RunConfig, folder: Path) -> None:
    """Refuse settings that would run code which lies in a run's own folder: it may have come from a stranger.

    Args:
        config: of the run.
        folder: of the run.
    Raises:
        ConfigError: the environment's module or the teacher lies there.
        GameError: the game's file does.
    """
    games.refuse_inside(config.game.name, folder)
    refuse_module_inside(config.env.id, folder)
    teacher = config.teacher.player
    if not teacher or not Path(teacher).exists():
        return
    for place in (Path(teacher).resolve(), Path(os.path.abspath(teacher))):
        if any(above.samefile(folder) for above in (place, *place.parents)):
            raise ConfigError(
                f"teacher.player {teacher} lies in the run's own folder {folder}, and a checkpoint names the"
                " file of its game, which would be run; next: if you trust it, move it elsewhere and name it"
                " there: --set teacher.player=path/to/it"
            )


def preset_names() -> tuple[str, ...]:
    """Give the names of the presets that come with the package."""
    files = importlib.resources.files("zelkova").joinpath("presets").iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


@overload
def load_config(source: str, overrides: Sequence[str] = ...) -> RunConfig: ...
@overload
def load_config(source: str, overrides: Sequence[str], kind: type[T]) -> T: ...
def load_config(source: str, overrides: Sequence[str] = (), kind: type[Any] = RunConfig) -> Any:
    """Resolve the settings of a run.

    Args:
        source: a preset's name, a game's name, the path of a TOML file, or of a game's Python file.
        overrides: `section.key=value` or `key=value`, as given to `--set`; the last wins. `size=tiny` is
            applied before all others.
        kind: the dataclass to fill.
    Raises:
        ConfigError: source, a key or a value is not known or not allowed; the message names the nearest.
        GameError: the settings of a run name a game's file in the run's own folder (see refuse_own_code).
    """
    table = find_source(source)
    overlay: dict[str, Any] = {}
    for text in overrides:
        keys, value = settings.parse_override(text)
        known = _check_path(kind, keys, text)
        nested: Any = str(text.partition("=")[2]).strip() if known is str and not _quoted(text) else value
        for key in reversed(keys):
            nested = {key: nested}
        overlay = settings.merge(overlay, nested)
    table = _apply_size(table, overlay.get("size"), source)
    table.setdefault("preset", source)
    config = settings.build(kind, settings.merge(table, overlay))
    is_of_run = source.endswith(".toml") and (Path(source).parent / "checkpoints").is_dir()
    if isinstance(config, RunConfig) and is_of_run:
        refuse_own_code(config, Path(source).parent)
    if isinstance(config, RunConfig) and config.game.name.endswith(".py"):  # a run may go on from anywhere
        game = dataclasses.replace(config.game, name=str(Path(config.game.name).resolve()))
        return dataclasses.replace(config, game=game)
    return config


def find_source(source: str) -> dict[str, Any]:
    """Read the table behind a word: a preset, a game, a TOML file or a game's Python file.

    Args:
        source: as for `load_config`.
    Raises:
        ConfigError: there is no such preset, game or file.
    """
    presets = preset_names()
    if source.endswith(".toml"):
        return settings.read_toml(Path(source))
    if source in presets:
        return _read_preset(source)
    if source.endswith(".py"):
        if not Path(source).is_file():
            raise ConfigError(f"no such game file: {source}")
        game = str(Path(source).resolve())
    elif source in games.names():
        game = source
        own = f"{GENERAL_PRESET}-{source.replace('_', '-')}"
        if own in presets:
            return {"preset": own, **_read_preset(own)}
    elif ENV_ID.fullmatch(source):
        return settings.merge(_read_preset(ENV_PRESET), {"preset": ENV_PRESET, "env": {"id": source}})
    else:
        known = [*presets, *games.names()]
        raise ConfigError(
            f"unknown preset or game `{source}`; {hint(source, known)}; a file ends in .toml or"
            " .py, and an environment in its version, as CartPole-v1"
        )
    return settings.merge(_read_preset(GENERAL_PRESET), {"preset": GENERAL_PRESET, "game": {"name": game}})


def _read_preset(name: str) -> dict[str, Any]:
    file = importlib.resources.files("zelkova").joinpath("presets", f"{name}.toml")
    return settings.parse_toml(file.read_text(encoding="utf-8"), f"preset {name}")


def _apply_size(table: dict[str, Any], asked: object, source: str) -> dict[str, Any]:
    """Lay the preset's table for the chosen size over the preset, and take the tables of sizes away.

    Raises:
        ConfigError: the size is unknown, or the preset says nothing about it.
    """
    below = {key: value for key, value in table.items() if key != "sizes"}
    tables = table.get("sizes", {})
    if not isinstance(tables, Mapping) or not all(isinstance(part, Mapping) for part in tables.values()):
        raise ConfigError(f"{source}: sizes are tables, like [sizes.tiny.selfplay]")
    for name in tables:
        if name not in SIZES:
            raise ConfigError(f"{source}: unknown size [sizes.{name}]; {hint(name, SIZES)}")
    size = below.get("size", "base") if asked is None else asked
    if size not in SIZES:
        raise ConfigError(f"unknown size `{size}`; {hint(str(size), SIZES)}")
    if size in tables:
        return settings.merge({**below, "size": size}, tables[str(size)])
    if size not in ("base", below.get("size")):
        known = ", ".join(["base", *tables])
        raise ConfigError(f"{source} has no size `{size}`; it has: {known}")
    return {**below, "size": size}


def _check_path(kind: Any, keys: list[str], text: str) -> Any:
    """Refuse an override of an unknown key; give the annotation of a known one (None for a game's option).

    Raises:
        ConfigError: the section or the key is unknown; the message names the nearest.
    """
    here, root, section = kind, kind, ""
    for index, key in enumerate(keys):
        hints = settings.field_types(here)
        if key not in hints or key == settings.rest_field(here):
            if settings.rest_field(here) is not None:
                return None
            raise ConfigError(f"--set `{text}`: {settings.unknown_key(here, key, section, root)}")
        last = index == len(keys) - 1
        if dataclasses.is_dataclass(hints[key]) == last:
            wanted = "is a section: name one of its keys" if last else "has no keys of its own"
            raise ConfigError(f"--set `{text}`: `{'.'.join(keys[: index + 1])}` {wanted}")
        here, section = hints[key], ".".join(keys[: index + 1])
    return here


def _quoted(text: str) -> bool:
    value = text.partition("=")[2].strip()
    return value[:1] in ('"', "'")
