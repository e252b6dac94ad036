"""Compiles a game's plain functions to native code that generic kernels can call.

Each rule is compiled as a C function whose first argument is the game's record, and shown to
other kernels as a function of the record's *address*. A record is passed by address in machine
code, so the two are one and the same; and since an address looks alike for every game, a generic
kernel (playouts, the steps of self-play) is compiled once for all games and cached on disk.

The module leaves the meaning of the rules to the game, and the promises they keep to `check.py`.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.errors import NumbaError
from numba.extending import typeof_impl

from zelkova.errors import GameError

_ACTIONS = types.Array(types.int32, 1, "C")
_VECTOR = types.Array(types.float32, 1, "C")
_PLANES = types.Array(types.float32, 3, "C")

_PLACE = re.compile(r"(?:typing of [a-z -]+ at|File) \"?([^\"\n(]+?\.py)\"?[ ,]+\(?(?:line )?(\d+)\)?")

SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "init": (types.void, (types.uint64,)),
    "legal_actions": (types.int64, (_ACTIONS,)),
    "step": (types.void, (types.int64,)),
    "is_terminal": (types.boolean, ()),
    "returns": (types.void, (_VECTOR,)),
    "observe": (types.void, (_PLANES,)),
    "position_hash": (types.uint64, ()),
    "evaluate": (types.void, (_VECTOR,)),
    "weigh": (types.void, (_ACTIONS, _VECTOR)),
    "chance": (types.int64, (_ACTIONS, _VECTOR)),
    "places": (types.void, (_VECTOR,)),
    "eliminated": (types.void, (_VECTOR,)),
    "material": (types.void, (_VECTOR,)),
}
"""For each rule: what it returns, and its arguments after the state."""


class RuleCompileError(GameError):
    """A rule can't be compiled: names the function, the file, the line and Numba's reason."""

    def __init__(self, function: str, source: Callable[..., Any], error: Exception) -> None:
        """Read Numba's report.

        Args:
            function: which rule it is.
            source: the game's plain function.
            error: what Numba raised.
        """
        code = source.__code__
        location = getattr(error, "loc", None)
        self.function = function
        self.file = str(getattr(location, "filename", None) or code.co_filename)
        self.line = int(getattr(location, "line", None) or code.co_firstlineno)
        text = str(error)
        inner = [(name, int(line)) for name, line in _PLACE.findall(text) if "site-packages" not in name]
        if inner:
            self.file, self.line = inner[0]
        self.file = str(Path(self.file).resolve())
        self.reason = _reason(text)
        super().__init__(
            f"{self.file}, line {self.line}: {function}() can't be compiled: {self.reason}; "
            "allowed: the subset of Python that Numba compiles, over numbers, bools and the record's arrays; "
            "hint: functions that a rule calls need @numba.njit"
        )


def _reason(text: str) -> str:
    """Give the telling lines of Numba's report."""
    told = []
    for line in text.splitlines():
        line = line.strip()
        if line.startswith(
            ("During:", "File ", "There are", "- Of which", "Overload", "The above", "This is not usually")
        ):
            break
        if line and not line.startswith(("Failed in nopython", "^", "~")):
            told.append(line.removeprefix(">>> "))
    return " ".join(told)[:240] or "Numba refuses it"


class NativeRule(types.WrapperAddressProtocol):  # type: ignore[misc]
    """One compiled rule, passed to a kernel as a first-class function of a state's address."""

    def __init__(self, name: str, function: Callable[..., Any], record: Any, *, cache: bool = True) -> None:
        """Compile one rule for one record.

        Args:
            name: which rule of the contract it is.
            function: the game's plain Python function.
            record: Numba's type of the game's record.
            cache: keep the code on disk.
        Raises:
            GameError: Numba can't compile the function; the message names its line.
        """
        result, rest = SIGNATURES[name]
        self.name = name
        self._signature = result(types.intp, *rest)
        self.numba_type = types.FunctionType(self._signature)
        try:
            self._compiled = numba.cfunc(result(record, *rest), cache=cache, error_model="numpy")(function)
        except NumbaError as error:
            raise RuleCompileError(name, function, error) from None
        except RuntimeError as error:
            if "cannot cache" not in str(error):
                raise
            self._compiled = numba.cfunc(result(record, *rest), error_model="numpy")(function)

    def __wrapper_address__(self) -> int:
        """Give the machine address; Numba calls it when the rule is passed to a kernel."""
        return int(self._compiled.address)

    def llvm_code(self) -> str:
        """Give the rule's code in LLVM's language, with that of its helpers."""
        return str(self._compiled._library._get_module_for_linking())

    def signature(self) -> Any:
        """Give the signature that kernels see: the state as an address."""
        return self._signature


@typeof_impl.register(NativeRule)  # type: ignore[untyped-decorator]
def _type_of_rule(rule: NativeRule, context: Any) -> Any:
    """Give a rule's type without making it anew, as Numba does for its own classes, at every call."""
    return rule.numba_type


class NativeRules:
    """All rules of one game, compiled: attributes `init`, `step`, ... as in the contract.

    A game without `chance` or `weigh` has None there; without another one that it may leave out, it lacks the
    attribute.
    """

    init: NativeRule
    legal_actions: NativeRule
    step: NativeRule
    is_terminal: NativeRule
    returns: NativeRule
    observe: NativeRule
    position_hash: NativeRule
    evaluate: NativeRule
    weigh: NativeRule | None = None
    chance: NativeRule | None = None
    places: NativeRule
    eliminated: NativeRule
    material: NativeRule

    def __init__(
        self, functions: Mapping[str, Callable[..., Any]], dtype: np.dtype[Any], *, cache: bool = True
    ) -> None:
        """Compile every rule for one record type.

        Args:
            functions: the game's plain functions by name.
            dtype: the record of a position.
            cache: keep the code on disk.
        Raises:
            GameError: a rule can't be compiled.
        """
        try:
            record = numba.from_dtype(dtype)
        except (NumbaError, NotImplementedError, ValueError) as error:
            raise GameError(
                f"STATE has a field that compiled code can't hold: {error}; "
                "allowed: fixed-width numbers, bools and arrays of them; hint: np.dtype([...], align=True)"
            ) from error
        for name in SIGNATURES:
            if name in functions:
                setattr(self, name, NativeRule(name, functions[name], record, cache=cache))

    @property
    def moving(self) -> tuple[NativeRule, NativeRule, NativeRule, NativeRule | None]:
        """The rules that a loop which plays on takes first: step, legal_actions, is_terminal, chance."""
        return self.step, self.legal_actions, self.is_terminal, self.chance
