"""Holds a game's constants to their form, before any array is made by them.

A constant comes out of a user's file and may be anything at all.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from zelkova.errors import GameError, hint

MOST_PLAYERS = 127  # to_play is int8
MOST_ACTIONS = 1_000_000
MOST_CELLS = 1 << 24  # of the planes together
MOST_STATE_BYTES = 1 << 20
NUMBERS = "biuf"  # kinds of fields that Numba compiles and a checkpoint holds


def check_constants(source: str, constants: Mapping[str, Any], *, has_chance: bool) -> dict[str, Any]:
    """Refuse constants of the wrong form.

    Args:
        source: the file or name, for the message.
        constants: by name, with those that every game declares.
        has_chance: the game has the function chance.
    Returns:
        All but SYMMETRIES as the types they are meant to be, with defaults where one was left out.
    Raises:
        GameError: names the constant, its value and what is allowed.
    """
    dtype = _check_state(source, constants["STATE"])
    players = _whole(source, "NUM_PLAYERS", constants["NUM_PLAYERS"], MOST_PLAYERS)
    actions = _whole(source, "NUM_ACTIONS", constants["NUM_ACTIONS"], MOST_ACTIONS)
    view, has_draws = constants["VIEW"], constants.get("HAS_DRAWS", True)
    if not isinstance(view, str) or view not in ("mover", "absolute"):
        raise GameError(f"{source}: VIEW is {view!r}; allowed: 'mover' or 'absolute'")
    if not isinstance(has_draws, bool | np.bool_):
        raise GameError(f"{source}: HAS_DRAWS is {has_draws!r}; allowed: True or False")
    return {
        "STATE": dtype,
        "NUM_PLAYERS": players,
        "NUM_ACTIONS": actions,
        "OBSERVATION_SHAPE": _check_shape(source, constants["OBSERVATION_SHAPE"]),
        "RETURN_RANGE": _check_range(source, constants["RETURN_RANGE"]),
        "VIEW": view,
        "HAS_DRAWS": bool(has_draws),
        "MAX_LEGAL_ACTIONS": _whole(
            source, "MAX_LEGAL_ACTIONS", constants.get("MAX_LEGAL_ACTIONS", actions), actions
        ),
        "NUM_OUTCOMES": _check_outcomes(source, constants.get("NUM_OUTCOMES"), has_chance),
        "MAX_PLIES": _whole(source, "MAX_PLIES", constants.get("MAX_PLIES", 100_000), 2**31 - 1),
        "SETTINGS": _check_settings(source, constants.get("SETTINGS", {}), dtype),
    }


def _whole(source: str, name: str, value: Any, most: int) -> int:
    """Give a constant that is a whole number from 1 to `most`."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not 1 <= value <= most:
        raise GameError(f"{source}: {name} is {value!r}; allowed: a whole number from 1 to {most}")
    return int(value)


def _check_outcomes(source: str, given: Any, has_chance: bool) -> int:
    """Give the number of outcomes; a game without chance has none."""
    if has_chance and given is None:
        raise GameError(
            f"{source}: constant NUM_OUTCOMES is missing; a game with chance(state, actions, probs)"
            " declares it: outcomes are 0 to NUM_OUTCOMES - 1"
        )
    if not has_chance and given is not None:
        raise GameError(
            f"{source}: NUM_OUTCOMES is {given!r}, and function chance(state, actions, probs) is missing;"
            " next: write it, or leave NUM_OUTCOMES out"
        )
    return _whole(source, "NUM_OUTCOMES", given, MOST_ACTIONS) if has_chance else 0


def _check_state(source: str, dtype: Any) -> np.dtype[Any]:
    """Give the record; its fields are numbers, and arrays of numbers."""
    if not isinstance(dtype, np.dtype) or dtype.names is None or "to_play" not in dtype.names:
        raise GameError(
            f"{source}: STATE is {dtype!r}; allowed: np.dtype([...], align=True) with a field to_play"
        )
    if dtype["to_play"] != np.int8:
        raise GameError(f"{source}: to_play has type {dtype['to_play']}; allowed: np.int8")
    for name in dtype.names:
        if dtype[name].base.kind not in NUMBERS:
            raise GameError(
                f"{source}: STATE[{name!r}] has type {dtype[name].base}; allowed: whole numbers, floats,"
                " booleans, and arrays of them"
            )
    if dtype.itemsize > MOST_STATE_BYTES:
        raise GameError(
            f"{source}: STATE takes {dtype.itemsize:,} bytes; allowed: {MOST_STATE_BYTES:,} at most"
        )
    return dtype


def _check_shape(source: str, given: Any) -> tuple[int, int, int]:
    """Give the shape of the planes."""
    is_list = isinstance(given, tuple | list | np.ndarray) and len(given) == 3
    sides = tuple(given) if is_list else ()
    good = all(isinstance(side, int | np.integer) and side >= 1 for side in sides)
    if not sides or not good or math.prod(int(side) for side in sides) > MOST_CELLS:
        raise GameError(
            f"{source}: OBSERVATION_SHAPE is {given!r}; allowed: (channels, height, width), 1 or more each"
            f" and {MOST_CELLS:,} cells at most"
        )
    return int(sides[0]), int(sides[1]), int(sides[2])


def _check_range(source: str, given: Any) -> tuple[float, float]:
    """Give the lowest and the highest return."""
    try:
        low, high = (float(bound) for bound in given)
    except (TypeError, ValueError, OverflowError):
        low = high = math.nan
    if not -math.inf < low < high < math.inf:
        raise GameError(f"{source}: RETURN_RANGE is {given!r}; allowed: (lowest, highest), both finite")
    return low, high


def _check_settings(source: str, given: Any, dtype: np.dtype[Any]) -> dict[str, Any]:
    """Give the fields that are filled in before init; each value fits its field."""
    if not isinstance(given, Mapping):
        raise GameError(f"{source}: SETTINGS is {given!r}; allowed: a dict from fields of STATE to values")
    names = dtype.names or ()
    for field, value in given.items():
        if field not in names:
            raise GameError(
                f"{source}: SETTINGS names `{field}`, which is no field of STATE; {hint(str(field), names)}"
            )
        try:
            np.zeros(1, dtype)[field][0:1] = value
        except (TypeError, ValueError, OverflowError) as error:
            raise GameError(f"{source}: SETTINGS[{field!r}] is {value!r}: {error}") from None
    return dict(given)
