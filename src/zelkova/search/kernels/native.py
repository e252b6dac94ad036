"""What every kernel of the search is built from: the compiler's options and loops over one row of edges.

A row is a run of `count` neighbours in a [B, E] array. The loops are written so that they vectorise and still
give the same bits natively, interpreted (`.py_func`) and in WebAssembly: no fast-math, sums in a fixed
pairwise order, maxima on the integer image of the floats, an exponential made of float32 multiplications.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I32 = NDArray[np.int32]

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
LOWEST_KEY = np.int32(-(2**31))
NO_INDEX = np.int32(2**31 - 1)
EXPONENT_BITS = np.int32(0x7F800000)
MAGNITUDE_BITS = np.int32(0x7FFFFFFF)

OPTIONS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "_nrt": False}
Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function of the search, cached on disk, free of the interpreter's lock.

    `_nrt=False` leaves Numba's reference counting out: arrays are only borrowed from the caller, so that
    nothing counts references in a hot loop, and a kernel that allocates doesn't compile.
    """
    compiled: Function = numba.njit(**OPTIONS)(function)
    return compiled


def inlined(function: Function) -> Function:
    """Compile as `kernel` does, always into the caller: a call would push every field of fifteen arrays."""
    compiled: Function = numba.njit(forceinline=True, **OPTIONS)(function)
    return compiled


def bind(function: Any, *args: Any) -> Callable[..., Any]:
    """Pick the compiled version of a kernel for the types of these arguments.

    It takes other arguments of the same types without looking at their types again, which is most of the time
    of a short call. An interpreted kernel is returned as it is.
    """
    if not hasattr(function, "overloads"):
        return cast(Callable[..., Any], function)
    signature = tuple(numba.typeof(arg) for arg in args)
    function.compile(signature)
    return cast(Callable[..., Any], function.overloads[signature].entry_point)


# exp(x) = 2**k * exp(r) with x = k ln 2 + r; the polynomial for r is the one of the Cephes library (expf).
LOG2_E = np.float32(1.44269504)
LN2_HIGH = np.float32(0.693359375)
LN2_LOW = np.float32(-2.12194440e-4)
ROUNDER = np.float32(12582912.0)  # 1.5 * 2**23: adding and taking it away rounds to a whole number
SMALLEST = np.float32(-87.0)
C0 = np.float32(1.9875691500e-4)
C1 = np.float32(1.3981999507e-3)
C2 = np.float32(8.3334519073e-3)
C3 = np.float32(4.1665795894e-2)
C4 = np.float32(1.6666665459e-1)
C5 = np.float32(5.0000001201e-1)
BIAS = np.int32(127)
MANTISSA = np.int32(23)


@inlined
def exp32(x: np.float32) -> np.float32:
    """Exponentiate a float32 of at most 0 to about 1e-7 of its value; 0 below -87.

    Args:
        x: -inf to 0 (up to 87 works too).
    """
    y = x if x > SMALLEST else SMALLEST
    k = np.float32(np.float32(y * LOG2_E + ROUNDER) - ROUNDER)
    r = np.float32(np.float32(y - k * LN2_HIGH) - k * LN2_LOW)
    poly = ((((C0 * r + C1) * r + C2) * r + C3) * r + C4) * r + C5
    poly = poly * (r * r) + r + ONE
    power = np.int32((np.int32(k) + BIAS) << MANTISSA).view(np.float32)
    return poly * power if x > SMALLEST else ZERO


@inlined
def is_finite(x: np.float32) -> bool:
    """Say whether x is neither NaN nor infinite."""
    return bool(x - x == ZERO)


@kernel
def best_in_row(bits: I32, b: int, start: int, count: int) -> int:
    """Find the first position of the largest value in a row.

    Args:
        bits: [B, E] the float32 values seen as int32; no NaN.
        b, start, count: the row, count >= 1.
    """
    start = max(start, 0)  # tells the compiler that no index is negative, so that the loops vectorise
    best = LOWEST_KEY
    for i in range(count):
        v = bits[b, start + i]
        key = np.int32(v ^ ((v >> np.int32(31)) & MAGNITUDE_BITS))
        best = key if key > best else best
    best = np.int32(best ^ ((best >> np.int32(31)) & MAGNITUDE_BITS))
    first = NO_INDEX
    k = np.int32(0)
    for i in range(count):
        first = np.int32(min(first, k if bits[b, start + i] == best else NO_INDEX))  # this form vectorises
        k = np.int32(k + np.int32(1))
    return int(first)


@kernel
def pairwise_sum(values: F32, count: int) -> np.float32:
    """Add up values[:count], folding the upper half onto the lower; the contents are used up."""
    while count > 1:
        half = (count + 1) >> 1
        for i in range(count - half):
            values[i] = values[i] + values[i + half]
        count = half
    return np.float32(values[0])


@kernel
def exp_sum(values: F32, b: int, start: int, count: int, shift: np.float32, scratch: F32) -> np.float32:
    """Sum exp(value - shift) over a row; shift is at least its maximum."""
    start = max(start, 0)
    for i in range(count):
        scratch[i] = exp32(np.float32(values[b, start + i] - shift))
    return pairwise_sum(scratch, count)


@kernel
def softmax_row(values: F32, b: int, start: int, count: int, shift: np.float32, scratch: F32) -> None:
    """Replace the logits of a row by their probabilities; shift is the row's maximum."""
    start = max(start, 0)
    for i in range(count):
        e = exp32(np.float32(values[b, start + i] - shift))
        values[b, start + i] = e
        scratch[i] = e
    scale = ONE / pairwise_sum(scratch, count)
    for i in range(count):
        values[b, start + i] = values[b, start + i] * scale


@kernel
def copy_actions(source: I32, row: int, count: int, target: I32, b: int, start: int) -> None:
    """Copy one row of action numbers into a node's edges."""
    start = max(start, 0)
    for i in range(count):
        target[b, start + i] = source[row, i]


@kernel
def copy_logits(source: F32, row: int, count: int, target: F32, bits: I32, b: int, start: int) -> bool:
    """Copy one row of logits into a node's edges and say whether all of them are finite.

    Adding zero turns -0.0 into 0.0, so that equal logits have equal bits.
    """
    start = max(start, 0)
    for i in range(count):
        target[b, start + i] = source[row, i] + ZERO
    bad = np.int32(0)
    for i in range(count):
        bad = np.int32(bad | np.int32((bits[b, start + i] & EXPONENT_BITS) == EXPONENT_BITS))
    return bool(bad == 0)
