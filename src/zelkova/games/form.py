"""Makes a Game from a rules module, and refuses one of the wrong form.

What the functions promise is tested by `check.py`.
"""

import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ConfigError, GameError, hint
from zelkova.games.constants import check_constants
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

OPTIONAL: dict[str, tuple[str, ...]] = {
    "position_hash": ("state",),
    "evaluate": ("state", "out"),
    "weigh": ("state", "actions", "out"),
    "chance": ("state", "actions", "probs"),
    "places": ("state", "out"),
    "eliminated": ("state", "out"),
    "material": ("state", "out"),
}
"""The functions that a game may have: what positions share a key, what one is worth, which of its
actions to look at first, how nature moves, how the players stand."""

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
    settled, constants = _settle(name, source, rules, dict(options or {}))
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
    given = check_constants(source, constants, has_chance="chance" in functions)
    shape, num_actions = given["OBSERVATION_SHAPE"], given["NUM_ACTIONS"]
    identity = (np.arange(shape[1] * shape[2], dtype=np.int32), np.arange(num_actions, dtype=np.int32))
    symmetries, outcome_maps = _read_symmetries(
        source, constants.get("SYMMETRIES", (identity,)), given["NUM_OUTCOMES"]
    )
    return Game(
        name=name,
        source=source,
        options=settled,
        state_dtype=given["STATE"],
        num_players=given["NUM_PLAYERS"],
        num_actions=num_actions,
        observation_shape=shape,
        return_range=given["RETURN_RANGE"],
        view=given["VIEW"],
        has_draws=given["HAS_DRAWS"],
        max_legal_actions=given["MAX_LEGAL_ACTIONS"],
        settings=given["SETTINGS"],
        max_plies=given["MAX_PLIES"],
        symmetries=symmetries,
        num_outcomes=given["NUM_OUTCOMES"],
        outcome_maps=outcome_maps,
        functions=functions,
        notation=notation,
        drawing=drawing,
    )


def _read_symmetries(
    source: str, given: Any, num_outcomes: int
) -> tuple[tuple[Symmetry, ...], tuple[NDArray[np.int32], ...]]:
    """Give the symmetries as arrays of int32, and the outcome map of each, which may be left out.

    That they are permutations is for the check to say.
    """
    try:
        maps, outcome_maps = [], []
        for cells, actions, *outcomes in given:
            maps.append((np.asarray(cells, np.int32), np.asarray(actions, np.int32)))
            (turned,) = outcomes or (np.arange(num_outcomes),)
            outcome_maps.append(np.asarray(turned, np.int32))
        if not maps:
            raise ValueError("it is empty, and not even has the identity")
        return tuple(maps), tuple(outcome_maps)
    except (TypeError, ValueError, OverflowError) as error:
        raise GameError(
            f"{source}: SYMMETRIES is no list of (plane map [H*W], action map [A]), with an outcome map [C] "
            f"where chance has one: {error}; hint: leave it out if there are none"
        ) from None


def _settle(name: str, source: str, rules: ModuleType, given: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Give the game's options and its constants."""
    options_class = getattr(rules, "Options", None)
    if options_class is None:
        if given:
            raise ConfigError(
                f"unknown option `{next(iter(given))}`: {name} has no options; next: leave [game] options out"
            )
        return None, {key: getattr(rules, key) for key in dir(rules) if key.isupper()}
    fields = _check_options(source, rules, options_class)
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
    except Exception as error:
        raise GameError(
            f"{source}: Options raises {type(error).__name__}: {error};"
            " allowed: ValueError for what it refuses"
        ) from error
    try:
        return settled, dict(rules.make(settled))
    except Exception as error:
        raise GameError(
            f"{source}: make(options) raises {type(error).__name__}, or gives no dict of constants: {error}"
        ) from error


def _check_options(source: str, rules: ModuleType, kind: Any) -> "dict[str, dataclasses.Field[Any]]":
    """Give the fields of a game's Options; refuse one of the wrong form."""
    if not isinstance(kind, type) or not dataclasses.is_dataclass(kind):
        raise GameError(f"{source}: Options is {kind!r}; allowed: a frozen dataclass")
    if not callable(getattr(rules, "make", None)):
        raise GameError(f"{source}: function make(options) is missing; a game with Options has it")
    fields = {field.name: field for field in dataclasses.fields(kind)}
    try:
        hints = typing.get_type_hints(kind)
    except Exception as error:
        raise GameError(f"{source}: the types of Options can't be read: {error}") from error
    for name, field in fields.items():
        wanted: Any = hints[name]
        if wanted not in (int, float, bool, str) or type(field.default) is not wanted:
            default = "no default" if field.default is dataclasses.MISSING else f"default {field.default!r}"
            raise GameError(
                f"{source}: option `{name}` of Options has type {wanted} and {default};"
                " allowed: int, float, bool or str, and a default of that type"
            )
    return fields


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
