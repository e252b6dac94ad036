"""Lets compiled code see a number as the place in memory where a position or some arrays begin."""

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

LINE = 64  # bytes that every array is aligned to


def record_reader(record: Any) -> Any:
    """Make the compiled function `record_at(address)`.

    Args:
        record: Numba's type of the record to be read.
    """

    @intrinsic  # type: ignore[untyped-decorator]
    def record_at(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(record))

        return record(types.intp), generate

    return record_at


def array_reader(element: Any, shape: tuple[int, ...]) -> Any:
    """Make the compiled function `array_at(address, rows)` that gives a borrowed array [rows, *shape].

    Args:
        element: Numba's type of its elements.
        shape: of a row, () for an array of one dimension.
    """
    array = types.Array(element, 1 + len(shape), "C")

    @intrinsic  # type: ignore[untyped-decorator]
    def array_at(typing_context: Any, address: Any, rows: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _build_array(context, builder, array, arguments[0], arguments[1], shape)

        return array(types.intp, types.intp), generate

    return array_at


class Field(NamedTuple):
    """One array of a block."""

    offset: int  # bytes from the block's start
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class Block:
    """One stretch of memory that holds many arrays, at places settled when the code is compiled."""

    def __init__(self) -> None:
        self.size = 0  # bytes
        self.fields: dict[str, Field] = {}  # by name, "forest.heads"

    def add(self, name: str, arrays: Any) -> tuple[Any, Any]:
        """Reserve room for a set of arrays.

        Args:
            name: of the set.
            arrays: a NamedTuple of arrays; shapes and dtypes are taken over, and so is sharing of memory.
        Returns:
            Two compiled functions of the block's address: one gives the arrays as that NamedTuple, one as a
            plain tuple, to be passed on as several arguments.
        """
        placed: dict[int, int] = {}
        fields: list[Field] = []
        for key, array in arrays._asdict().items():
            start = array.ctypes.data
            if start not in placed:
                placed[start] = self.size
                self.size += -(-array.nbytes // LINE) * LINE
            fields.append(Field(placed[start], array.shape, array.dtype))
            self.fields[f"{name}.{key}"] = fields[-1]
        kinds = [types.Array(numba.from_dtype(field.dtype), len(field.shape), "C") for field in fields]
        named = types.NamedTuple(kinds, type(arrays))
        return _tuple_reader(named, kinds, fields), _tuple_reader(types.Tuple(kinds), kinds, fields)


def _tuple_reader(result: Any, kinds: list[Any], fields: list[Field]) -> Any:
    """Make the compiled function that gives a tuple of arrays for the address of their block."""

    @intrinsic  # type: ignore[untyped-decorator]
    def arrays_at(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            made = []
            for kind, field in zip(kinds, fields, strict=True):
                place = builder.add(arguments[0], context.get_constant(types.intp, field.offset))
                rows = context.get_constant(types.intp, field.shape[0])
                made.append(_build_array(context, builder, kind, place, rows, field.shape[1:]))
            return context.make_tuple(builder, result, made)

        return result(types.intp), generate

    return arrays_at


def _build_array(
    context: Any, builder: Any, array: Any, address: Any, rows: Any, shape: tuple[int, ...]
) -> Any:
    """Write the code that makes Numba's array of an address, its number of rows and a row's shape."""
    made = context.make_array(array)(context, builder)
    size = context.get_abi_sizeof(context.get_data_type(array.dtype))
    strides = [size * int(np.prod(shape[place:], dtype=np.int64)) for place in range(len(shape) + 1)]
    populate_array(
        made,
        data=builder.inttoptr(address, made.data.type),
        shape=[rows, *(context.get_constant(types.intp, side) for side in shape)],
        strides=[context.get_constant(types.intp, stride) for stride in strides],
        itemsize=context.get_constant(types.intp, size),
        meminfo=None,
    )
    return made._getvalue()
