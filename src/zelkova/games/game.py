"""A loaded game: its constants, its record and its rules, checked for form.

What the functions promise is in the contract below; `check.py` tests the promises. Text notation
and drawings lie beside the rules and are found through `notation` and `drawing`.
"""

import dataclasses
import inspect
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ConfigError, GameError, ShapeError, hint

if TYPE_CHECKING:
    from zelkova.games.native import NativeRules
    from zelkova.games.position import Position

CONTRACT: dict[str, tuple[str, ...]] = {
    "init": ("state", "seed"),
    "legal_actions": ("state", "out"),
    "step": ("state", "action"),
    "is_terminal": ("state",),
    "returns": ("state", "out"),
    "observe": ("state", "planes"),
}
"""The functions that every game has, with their arguments."""

OPTIONAL: dict[str, tuple[str, ...]] = {"position_hash": ("state",)}

CONSTANTS = ("STATE", "NUM_PLAYERS", "NUM_ACTIONS", "OBSERVATION_SHAPE", "RETURN_RANGE", "VIEW")

Symmetry = tuple[NDArray[np.int32], NDArray[np.int32]]


@dataclasses.dataclass(frozen=True, eq=False)
class Game:
    """One game with its options settled. States are rows of uint64 words, so that they copy fast."""

    name: str  # registry name, or the stem of the user's file
    source: str  # what load() was given: a name or a path
    options: Any  # the game's frozen Options, or None
    state_dtype: np.dtype[Any]  # one record a position
    num_players: int  # P, 1 or more
    num_actions: int  # A, actions are 0..A-1
    observation_shape: tuple[int, int, int]  # C, H, W of the network's input
    return_range: tuple[float, float]  # lowest and highest return of a player
    view: str  # "mover" or "absolute": whose view planes and value head take
    has_draws: bool  # can a game end without a single winner
    max_legal_actions: int  # M, most legal actions in any position
    settings: Mapping[str, Any]  # fields written into the record before init
    max_plies: int  # the contract check lets no game be longer
    symmetries: tuple[Symmetry, ...]  # (plane map [H*W], action map [A]); the identity first
    functions: Mapping[str, Callable[..., Any]]  # the plain rules by name
    notation: ModuleType | None = None  # text form of moves
    drawing: ModuleType | None = None  # text and SVG form of positions
    stamp: tuple[int, int] | None = None  # time and size of a user's file when it was read

    @cached_property
    def native(self) -> "NativeRules":
        """The compiled rules; compiled on first use, then cached on disk."""
        from zelkova.games.native import NativeRules

        return NativeRules(self.functions, self.state_dtype, cache=self._is_current())

    def _is_current(self) -> bool:
        """Say whether the compiled rules may be kept on disk: they must be what the file says now.

        A user's file may have been edited since it was read, or call functions of files beside it.
        """
        if self.stamp is None:
            return True
        path = Path(self.source).resolve()
        for value in self.functions["init"].__globals__.values():
            name = getattr(getattr(value, "py_func", value), "__module__", None)
            module = value if isinstance(value, ModuleType) else sys.modules.get(str(name))
            file = getattr(module, "__file__", None)
            if file is not None and Path(file) != path and Path(file).parent == path.parent:
                return False
        return path.is_file() and stamp_of(path) == self.stamp

    @property
    def words(self) -> int:
        """Width of a state's row in uint64 words."""
        return (self.state_dtype.itemsize + 7) // 8

    @cached_property
    def template(self) -> NDArray[np.uint64]:
        """A row with the settings filled in and all else zero, uint64[words]; init starts from it."""
        row = np.zeros(self.words, np.uint64)
        record = self.view_states(row[None])[0]
        for field, value in self.settings.items():
            record[field] = value
        return row

    def new_states(self, count: int) -> NDArray[np.uint64]:
        """Give `count` rows uint64[count, words] ready for init."""
        return np.tile(self.template, (count, 1))

    def initial_states(self, seeds: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Give one initial position a seed, uint64[len(seeds), words]."""
        from zelkova.games.playout import init_states

        states = self.new_states(len(seeds))
        init_states(self.native.init, states, np.ascontiguousarray(seeds, np.uint64))
        return states

    def view_states(self, states: NDArray[np.uint64]) -> Any:
        """See rows uint64[n, words] as the game's records [n], without a copy.

        Raises:
            ShapeError: the rows have another width.
        """
        if states.ndim != 2 or states.shape[1] != self.words or not states.flags.c_contiguous:
            raise ShapeError(
                f"states have shape {states.shape}; {self.name} needs contiguous rows of {self.words} words"
            )
        size = self.state_dtype.itemsize
        raw = states.view(np.uint8)
        return (
            np.ndarray((len(states),), self.state_dtype, raw.data, strides=(raw.strides[0],)) if size else raw
        )

    def position(self, seed: int = 0) -> "Position":
        """Give a friendly initial position to play on."""
        from zelkova.games.position import Position

        return Position(self, self.initial_states(np.array([seed], np.uint64)))


def stamp_of(path: Path) -> tuple[int, int]:
    """Give a file's time of change in nanoseconds and its size in bytes."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def build_game(
    name: str,
    source: str,
    rules: ModuleType,
    options: Mapping[str, Any] | None = None,
    notation: ModuleType | None = None,
    drawing: ModuleType | None = None,
) -> Game:
    """Make a Game from a rules module and its options.

    Args:
        name: how the game is called.
        source: the name or path it was loaded by.
        rules: module with the contract's functions, and constants or `Options` and `make`.
        options: values for the game's Options by name.
        notation: module with action_to_text and text_to_action, if there is one.
        drawing: module with draw_text and draw_svg, if there is one.
    Raises:
        GameError: a function or constant is missing or has the wrong form.
        ConfigError: an option is unknown or refused.
    """
    settled, constants = _settle(name, rules, dict(options or {}))
    missing = [key for key in CONSTANTS if key not in constants]
    if missing:
        raise GameError(
            f"{source}: constant {missing[0]} is missing; a game declares {', '.join(CONSTANTS)} "
            "(in the module, or in what make(options) returns)"
        )
    functions: dict[str, Callable[..., Any]] = {}
    for function, arguments in {**CONTRACT, **OPTIONAL}.items():
        found = getattr(rules, function, None)
        if found is None and function in OPTIONAL:
            continue
        functions[function] = _check_function(source, function, found, arguments)
    shape, low_high, dtype = _check_constants(source, constants)
    num_actions = int(constants["NUM_ACTIONS"])
    identity = (np.arange(shape[1] * shape[2], dtype=np.int32), np.arange(num_actions, dtype=np.int32))
    return Game(
        name=name,
        source=source,
        options=settled,
        state_dtype=dtype,
        num_players=int(constants["NUM_PLAYERS"]),
        num_actions=num_actions,
        observation_shape=shape,
        return_range=low_high,
        view=str(constants["VIEW"]),
        has_draws=bool(constants.get("HAS_DRAWS", True)),
        max_legal_actions=int(constants.get("MAX_LEGAL_ACTIONS", num_actions)),
        settings=dict(constants.get("SETTINGS", {})),
        max_plies=int(constants.get("MAX_PLIES", 100_000)),
        symmetries=_read_symmetries(source, constants.get("SYMMETRIES", (identity,))),
        functions=functions,
        notation=notation,
        drawing=drawing,
    )


def _read_symmetries(source: str, given: Any) -> tuple[Symmetry, ...]:
    """Give the symmetries as arrays of int32; that they are permutations is for the check to say."""
    try:
        return tuple((np.asarray(cells, np.int32), np.asarray(actions, np.int32)) for cells, actions in given)
    except (TypeError, ValueError) as error:
        raise GameError(
            f"{source}: SYMMETRIES is no list of (plane map [H*W], action map [A]): {error}; "
            "hint: leave it out if there are none"
        ) from None


def _settle(name: str, rules: ModuleType, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Give the game's options and its constants."""
    options_class = getattr(rules, "Options", None)
    if options_class is None:
        if given:
            raise ConfigError(
                f"unknown option `{next(iter(given))}`: {name} has no options; next: leave [game] options out"
            )
        return None, {key: getattr(rules, key) for key in dir(rules) if key.isupper()}
    fields = {field.name: field for field in dataclasses.fields(options_class)}
    for key, value in given.items():
        if key not in fields:
            raise ConfigError(f"unknown option `{key}` of {name}; {hint(key, fields)}")
        wanted = type(fields[key].default)
        if type(value) is not wanted:
            raise ConfigError(
                f"option `{key}` of {name} is {value!r}, a {type(value).__name__}; allowed: {wanted.__name__}"
            )
    try:
        settled = options_class(**given)
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from error
    return settled, dict(rules.make(settled))


def _check_function(source: str, name: str, found: Any, arguments: tuple[str, ...]) -> Callable[..., Any]:
    """Refuse a rule that is missing or takes other arguments."""
    wanted = f"{name}({', '.join(arguments)})"
    if found is None:
        raise GameError(f"{source}: function {wanted} is missing; a game has {', '.join(CONTRACT)}")
    function = getattr(found, "py_func", found)
    if not inspect.isfunction(function):
        raise GameError(f"{source}: {name} is a {type(found).__name__}; allowed: a plain function {wanted}")
    if len(inspect.signature(function).parameters) != len(arguments):
        line = function.__code__.co_firstlineno
        raise GameError(
            f"{source}, line {line}: {name}{inspect.signature(function)} given; allowed: {wanted}"
        )
    return function


def _check_constants(
    source: str, constants: Mapping[str, Any]
) -> tuple[tuple[int, int, int], tuple[float, float], np.dtype[Any]]:
    """Refuse constants of the wrong form; give observation shape, return range and record."""
    dtype = constants["STATE"]
    if not isinstance(dtype, np.dtype) or dtype.names is None or "to_play" not in dtype.names:
        raise GameError(
            f"{source}: STATE is {dtype!r}; allowed: np.dtype([...], align=True) with a field to_play"
        )
    if dtype["to_play"] != np.int8:
        raise GameError(f"{source}: to_play has type {dtype['to_play']}; allowed: np.int8")
    for key in ("NUM_PLAYERS", "NUM_ACTIONS"):
        value = constants[key]
        if not isinstance(value, int | np.integer) or not 1 <= value <= 1_000_000:
            raise GameError(f"{source}: {key} is {value!r}; allowed: a whole number of at least 1")
    shape = tuple(constants["OBSERVATION_SHAPE"])
    if len(shape) != 3 or any(int(side) < 1 for side in shape):
        raise GameError(f"{source}: OBSERVATION_SHAPE is {shape}; allowed: (channels, height, width)")
    low, high = (float(bound) for bound in constants["RETURN_RANGE"])
    if not low < high:
        raise GameError(f"{source}: RETURN_RANGE is {(low, high)}; allowed: (lowest, highest)")
    if constants["VIEW"] not in ("mover", "absolute"):
        raise GameError(f"{source}: VIEW is {constants['VIEW']!r}; allowed: 'mover' or 'absolute'")
    for field in constants.get("SETTINGS", {}):
        if field not in dtype.names:
            raise GameError(
                f"{source}: SETTINGS names `{field}`, which is no field of STATE; {hint(field, dtype.names)}"
            )
    return (int(shape[0]), int(shape[1]), int(shape[2])), (low, high), dtype
