"""Lets compiled code see a number as the place in memory where a position or an array begins."""

from typing import Any

from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array


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
    """Make the compiled function `array_at(address, rows)` that gives an array [rows, *shape], borrowed memory.

    Args:
        element: Numba's type of its elements.
        shape: of a row, () for an array of one dimension.
    """
    array = types.Array(element, 1 + len(shape), "C")

    @intrinsic  # type: ignore[untyped-decorator]
    def array_at(typing_context: Any, address: Any, rows: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            made = context.make_array(array)(context, builder)
            stride = context.get_abi_sizeof(context.get_data_type(element))
            itemsize = context.get_constant(types.intp, stride)
            strides = []
            for side in (*reversed(shape), 1):
                strides.insert(0, context.get_constant(types.intp, stride))
                stride *= side
            populate_array(
                made,
                data=builder.inttoptr(arguments[0], made.data.type),
                shape=[arguments[1], *(context.get_constant(types.intp, side) for side in shape)],
                strides=strides,
                itemsize=itemsize,
                meminfo=None,
            )
            return made._getvalue()

        return array(types.intp, types.intp), generate

    return array_at
