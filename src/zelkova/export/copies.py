"""Copies compiled functions, and all that they call, for a machine other than this one.

A copy shares the source and nothing else: it is never cached on disk, holds no optimised code of this
machine and counts no references, so that a function which allocates doesn't compile. The native
functions stay as they are.
"""

import dis
import re
from collections.abc import Callable
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numba
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from zelkova.errors import GameError

_RULES = "allowed: no allocation, no Python objects and no exceptions"
_BARE = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # nobody calls the copies from Python
_ALLOCATES = ("NRT required", "Only accept returning of array passed")  # Numba's words under _nrt=False


class Copies:
    """The copies made for one export; a function that is met again is copied once."""

    def __init__(self) -> None:
        self._made: dict[Callable[..., Any], Any] = {}

    def copy(self, function: Any) -> Any:
        """Copy a plain or compiled function and all compiled functions that it calls.

        Args:
            function: plain Python, or what numba.njit made of it.
        Returns:
            A function compiled by Numba on its first call.
        Raises:
            GameError: one of the functions raises; the message names its line.
        """
        source = getattr(function, "py_func", function)
        if source in self._made:
            return self._made[source]
        _refuse_raise(source)
        names: dict[str, Any] = {
            "__name__": source.__module__,
            "__builtins__": source.__globals__["__builtins__"],
        }
        cells = tuple(CellType() for _ in source.__closure__ or ())
        twin = FunctionType(source.__code__, names, source.__name__, source.__defaults__, cells)
        twin.__qualname__, twin.__kwdefaults__ = source.__qualname__, source.__kwdefaults__
        options = {**getattr(function, "targetoptions", {}), "error_model": "numpy", "_nrt": False, **_BARE}
        for unwanted in ("nopython", "boundscheck"):
            options.pop(unwanted, None)
        made = self._made[source] = numba.njit(**options)(twin)
        used = _names(source.__code__)
        for name in used & source.__globals__.keys():
            names[name] = self._replace(source.__globals__[name], used)
        for cell, original in zip(cells, source.__closure__ or (), strict=True):
            cell.cell_contents = self._replace(original.cell_contents, used)
        return made

    def compile(self, function: Any, signature: Any) -> Any:
        """Copy a function and compile it for one signature.

        Args:
            function: as for `copy`.
            signature: Numba's, with the result's type.
        Returns:
            Numba's compile result, with `library` and `fndesc`.
        Raises:
            GameError: a function can't be compiled; the message names it and its line.
        """
        made = self.copy(function)
        try:
            made.compile(signature)
        except NumbaError as error:
            raise GameError(self._explain(made.py_func, str(error))) from error
        return made.overloads[signature.args]

    def sources(self) -> dict[str, Callable[..., Any]]:
        """Give the function behind each name in the machine code."""
        return {
            result.fndesc.llvm_func_name: source
            for source, made in self._made.items()
            for result in made.overloads.values()
        }

    def _explain(self, function: Callable[..., Any], report: str) -> str:
        """Turn Numba's report into one message that names the innermost function of ours and its line."""
        line = None
        for file, number in re.findall(r"at (\S+) \((\d+)\)", report):
            inside = [source for source in self._made if _spans(source.__code__, file, int(number))]
            if inside:
                function, line = inside[0], int(number)
                break
        if any(words in report for words in _ALLOCATES):
            return (
                f"{locate(function, line)} allocates memory or returns an array, which can't be exported to "
                f"WebAssembly; {_RULES}; hint: keep it as a field of the state, or loop over numbers"
            )
        reason = " ".join(part.strip() for part in report.splitlines() if part.strip())[:400]
        return f"{locate(function, line)} can't be exported to WebAssembly: {reason}; {_RULES}"

    def _replace(self, value: Any, used: set[str]) -> Any:
        """Give what a copy sees in the place of a global or closed-over value."""
        if isinstance(value, Dispatcher):
            return self.copy(value)
        if isinstance(value, ModuleType):
            inside = {name: found for name, found in vars(value).items() if name in used}
            if any(isinstance(found, Dispatcher) for found in inside.values()):
                module = ModuleType(value.__name__)
                vars(module).update({name: self._replace(found, used) for name, found in inside.items()})
                return module
        return value


def locate(function: Callable[..., Any], line: int | None = None) -> str:
    """Say where a function stands: name, file and line."""
    code = function.__code__
    return f"{function.__name__}() ({code.co_filename}, line {line or code.co_firstlineno})"


def _spans(code: CodeType, file: str, line: int) -> bool:
    """Say whether a line of a file belongs to a function."""
    lines = [number for _, _, number in code.co_lines() if number is not None]
    return code.co_filename == file and min(lines) <= line <= max(lines)


def _names(code: CodeType) -> set[str]:
    """Give the names that a function, or one inside it, reads."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= _names(constant)
    return found


def _refuse_raise(function: Callable[..., Any]) -> None:
    """Refuse a function with `raise` or `assert`: nobody could catch it in a browser."""
    for instruction in dis.get_instructions(function):
        if instruction.opname == "RAISE_VARARGS":
            line = instruction.positions.lineno if instruction.positions else None
            raise GameError(
                f"{locate(function, line)} raises an exception, which can't be exported to WebAssembly; "
                f"{_RULES}; hint: write a field of the state instead and let is_terminal or returns read it"
            )
