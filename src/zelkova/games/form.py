"""Makes a Game from a rules module, and refuses one of the wrong form.

What the functions promise is tested by `check.py`.
"""

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from zelkova.errors import ConfigError, GameError, hint
from zelkova.games.game import Game, Symmetry

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
