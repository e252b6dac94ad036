"""Reads a game's compiled code: does a rule allocate memory or raise exceptions, and at which line.

Both work natively and fail in WebAssembly, so the contract forbids them; `check.py` asks here.
"""

import dis
import re
from collections.abc import Callable, Iterator
from typing import Any

import numba
from numba import types
from numba.core import ir
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from zelkova.games.game import Game
from zelkova.games.native import SIGNATURES

_ALLOCATION = re.compile(r"NRT_(Allocate|MemInfo_alloc|MemInfo_new)")
_MAKES = ("call", "binop", "inplace_binop", "unary", "build_list", "build_map", "build_set", "arrayexpr")


def allocations(game: Game) -> Iterator[tuple[str, str, int]]:
    """Give each rule that allocates: its name, the file and the line.

    Args:
        game: already compiled, or it is compiled now.
    """
    for name, function in game.functions.items():
        if _ALLOCATION.search(getattr(game.native, name).llvm_code()):
            yield name, *_allocating_line(name, function, game)


def raises(game: Game) -> Iterator[tuple[str, str, int]]:
    """Give each `raise` or `assert` in a rule or its helpers: the rule's name, the file and the line."""
    for name, function in game.functions.items():
        for called in _with_helpers(function):
            line = called.__code__.co_firstlineno
            for instruction in dis.get_instructions(called.__code__):
                position = instruction.positions
                line = position.lineno if position and position.lineno else line
                if instruction.opname == "RAISE_VARARGS":
                    yield name, called.__code__.co_filename, line


def _with_helpers(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Give a function and the compiled helpers that it names, and those that they name."""
    found = [function]
    for called in found:
        names: dict[str, Any] = called.__globals__
        for word in called.__code__.co_names:
            helper = names.get(word)
            if isinstance(helper, Dispatcher) and helper.py_func not in found:
                found.append(helper.py_func)
    return found


def _allocating_line(name: str, function: Callable[..., Any], game: Game) -> tuple[str, int]:
    """Find the first line of a rule, or of a helper, whose value is a new array, list or text."""
    result, rest = SIGNATURES[name]
    signature = result(numba.from_dtype(game.state_dtype), *rest)
    compiled = numba.njit(error_model="numpy")(function)
    try:
        compiled.compile(signature)
    except NumbaError:
        return function.__code__.co_filename, function.__code__.co_firstlineno
    lines: list[tuple[str, int]] = []
    for dispatcher in [compiled, *_helpers(function)]:
        for overload in dispatcher.overloads.values():
            annotation = overload.type_annotation
            if hasattr(annotation, "typemap"):
                lines += sorted(_making_lines(annotation, dispatcher.py_func))
    return lines[0] if lines else (function.__code__.co_filename, function.__code__.co_firstlineno)


def _helpers(function: Callable[..., Any]) -> list[Any]:
    """Give the dispatchers of a rule's helpers."""
    found = []
    for called in _with_helpers(function):
        names: dict[str, Any] = called.__globals__
        found += [names[word] for word in called.__code__.co_names if isinstance(names.get(word), Dispatcher)]
    return found


def _making_lines(annotation: Any, function: Callable[..., Any]) -> Iterator[tuple[str, int]]:
    """Give the lines of one compiled function that make a container or copy between slices."""
    containers = (types.Array, types.List, types.ListType, types.Set, types.DictType, types.UnicodeType)
    filename = function.__code__.co_filename
    typemap = annotation.typemap
    for block in annotation.blocks.values():
        for statement in block.body:
            if isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Expr):
                made = isinstance(typemap.get(statement.target.name), containers)
                value = statement.value
                own = value.op == "call" and isinstance(typemap.get(value.func.name), types.Dispatcher)
                if made and value.op in _MAKES and not own:
                    yield filename, statement.loc.line
            elif isinstance(statement, ir.SetItem | ir.StaticSetItem) and isinstance(
                typemap.get(statement.value.name), types.Array
            ):
                yield filename, statement.loc.line
