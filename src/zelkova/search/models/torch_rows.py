"""Buffers between the search's arrays and a model's tensors.

`NodeRows` keeps what a model gave for each node where it was made; `Inlet` brings node and action numbers to
the device in one transfer a simulation. What goes back is in torch_answers.py.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from zelkova.errors import ShapeError, require_memory
from zelkova.search.kernels.native import F32, I32, bind, kernel


@kernel
def address_rows(
    parent: I32, action: I32, node: I32, num_leaves: int, num_nodes: int, width: int, out: NDArray[np.int64]
) -> None:
    """Turn a selection into rows of the buffers: node after node, and for each node tree after tree.

    Trees mostly stand at the same node number, so that a step writes rows that are neighbours.

    Args:
        parent, action, node: [R] as in `Selection`.
        num_leaves, num_nodes: of the search. width: K, vectors of a node.
        out: int64[4, R] written: the parent's row, the child's, the action, the row of the action's vector.
    """
    trees = node.shape[0] // num_leaves
    for r in range(node.shape[0]):
        tree = r // num_leaves
        is_used = node[r] >= 0
        before = tree + parent[r] * trees if is_used else tree
        chosen = action[r] if is_used else 0
        out[0, r] = before
        out[1, r] = tree + node[r] * trees if is_used else trees * num_nodes
        out[2, r] = chosen
        out[3, r] = before * width + chosen


@kernel
def gather_rows(buffer: F32, rows: NDArray[np.int64], out: F32) -> None:
    """Copy rows of [S, W] to [R, W]."""
    for r in range(rows.shape[0]):
        row = rows[r]
        for i in range(buffer.shape[1]):
            out[r, i] = buffer[row, i]


@kernel
def scatter_rows(buffer: F32, rows: NDArray[np.int64], given: F32) -> None:
    """Copy [R, W] to rows of [S, W]."""
    for r in range(rows.shape[0]):
        row = rows[r]
        for i in range(buffer.shape[1]):
            buffer[row, i] = given[r, i]


def leaves_of(embedding: Any) -> list[Tensor]:
    """List the tensors of an embedding.

    Raises:
        ShapeError: it holds something else.
    """
    if isinstance(embedding, Tensor):
        return [embedding]
    if isinstance(embedding, dict):
        embedding = tuple(embedding.values())
    if isinstance(embedding, tuple | list):
        return [leaf for part in embedding for leaf in leaves_of(part)]
    kind = type(embedding).__name__
    raise ShapeError(
        f"root() gives an embedding that holds a {kind}; give tensors, or tuples, lists and dicts of tensors"
    )


def leaves_like(name: str, template: Any, embedding: Any) -> list[Tensor]:
    """List the tensors of an embedding in the order of those of another.

    Raises:
        ShapeError: it is nested otherwise.
    """
    if isinstance(template, Tensor) and isinstance(embedding, Tensor):
        return [embedding]
    pairs: list[tuple[Any, Any]] = []
    is_same = not isinstance(template, Tensor) and isinstance(embedding, type(template))
    if is_same and isinstance(template, dict):
        is_same = template.keys() == embedding.keys()
        pairs = [(part, embedding[key]) for key, part in template.items()] if is_same else []
    elif is_same:
        is_same = len(template) == len(embedding)
        pairs = list(zip(template, embedding, strict=True)) if is_same else []
    if not is_same:
        raise ShapeError(
            f"step() gives {name} as {nesting(embedding)}; after root() it needs {nesting(template)}"
        )
    return [leaf for pair in pairs for leaf in leaves_like(name, *pair)]


def nesting(embedding: Any) -> str:
    """Say what one level of an embedding is."""
    kind = type(embedding).__name__
    if isinstance(embedding, dict):
        return f"a {kind} of {list(embedding)}"
    return f"a {kind} of {len(embedding)}" if isinstance(embedding, tuple | list) else f"a {kind}"


def rebuild(template: Any, leaves: Iterator[Tensor]) -> Any:
    """Put tensors into the shape of an embedding."""
    if isinstance(template, Tensor):
        return next(leaves)
    if isinstance(template, dict):
        return {key: rebuild(part, leaves) for key, part in template.items()}
    parts = [rebuild(part, leaves) for part in template]
    return type(template)(*parts) if hasattr(template, "_fields") else type(template)(parts)


class RowIndex(NamedTuple):
    """The same R row numbers in two places."""

    here: NDArray[np.int64]
    there: Tensor  # on the device


class RowBuffer:
    """Rows of one tensor.

    On a CPU, float32 goes through compiled loops and one place for what is read: between two calls of a model
    the caches are cold for PyTorch's own paths, which then cost several times as much.
    """

    def __init__(self, leaf: Tensor, size: int, num_rows: int) -> None:
        self.shape, self.dtype = leaf.shape[1:], leaf.dtype
        self.step_shape = torch.Size((num_rows, *self.shape))
        if leaf.device.type == "cpu":
            what = f"keeping {size} embeddings of shape {tuple(self.shape)}, one for each node of each tree,"
            require_memory(size * math.prod(self.shape) * leaf.element_size(), what)
        self.tensor = torch.zeros((size, *self.shape), dtype=leaf.dtype, device=leaf.device)
        self.is_here = leaf.device.type == "cpu" and leaf.dtype == torch.float32 and self.tensor.numel() > 0
        if self.is_here:
            self._array = self.tensor.numpy().reshape(size, -1)
            self._found = torch.zeros((num_rows, *self.shape))
            self._out = self._found.numpy().reshape(num_rows, -1)
            rows = np.zeros(1, np.int64)
            self._gather = bind(gather_rows, self._array, rows, self._array)
            self._scatter = bind(scatter_rows, self._array, rows, self._array)

    def fits(self, leaf: Tensor, size: int) -> bool:
        """Whether these rows can hold those of a tensor."""
        given = (leaf.shape[1:], leaf.dtype, leaf.device, size)
        return given == (self.shape, self.dtype, self.tensor.device, len(self.tensor))

    def read(self, index: RowIndex) -> Tensor:
        """Gather rows."""
        if not self.is_here:
            return self.tensor.index_select(0, index.there)
        self._gather(self._array, index.here, self._out)
        return self._found

    def write(self, index: RowIndex, leaf: Tensor) -> None:
        """Scatter rows; another float type is converted."""
        if self.is_here and leaf.dtype == torch.float32 and leaf.is_contiguous() and not leaf.requires_grad:
            array = leaf.numpy()
            self._scatter(
                self._array, index.here, array if array.ndim == 2 else array.reshape(len(array), -1)
            )
        else:
            self.tensor.index_copy_(0, index.there, leaf if leaf.dtype == self.dtype else leaf.to(self.dtype))


class NodeRows:
    """One row for each node of each tree, for every tensor of an embedding; the last row is spare."""

    def __init__(self, name: str, template: Any, size: int, num_rows: int) -> None:
        self.name, self.template = name, template
        self.size, self.num_rows = size, num_rows
        self.buffers = [RowBuffer(leaf, size, num_rows) for leaf in leaves_of(template)]

    def fits(self, template: Any, size: int) -> bool:
        """Whether the rows can hold the roots of another batch."""
        leaves = leaves_of(template)
        pairs = zip(self.buffers, leaves, strict=False)
        return len(leaves) == len(self.buffers) and all(buffer.fits(leaf, size) for buffer, leaf in pairs)

    def plant(self, embedding: Any) -> None:
        """Write the roots' rows and take over how the tensors are nested."""
        self.template = embedding
        for buffer, leaf in zip(self.buffers, leaves_of(embedding), strict=True):
            buffer.tensor[: len(leaf)] = leaf

    def read(self, index: RowIndex) -> Any:
        """Gather an embedding; a later call may overwrite it."""
        found = [buffer.read(index) for buffer in self.buffers]
        return found[0] if isinstance(self.template, Tensor) else rebuild(self.template, iter(found))

    def write(self, index: RowIndex, embedding: Any) -> None:
        """Put an embedding into the rows.

        Raises:
            ShapeError: it is not like the roots' embedding.
        """
        leaves = leaves_like(self.name, self.template, embedding)
        for buffer, leaf in zip(self.buffers, leaves, strict=True):
            if leaf.shape != buffer.step_shape:
                given, wanted = tuple(leaf.shape), tuple(buffer.step_shape)
                raise ShapeError(f"step() gives {self.name} of shape {given}; after root() it needs {wanted}")
            if leaf.dtype != buffer.dtype and not torch.can_cast(leaf.dtype, buffer.dtype):
                raise ShapeError(
                    f"step() gives {self.name} of dtype {leaf.dtype}; after root() it needs {buffer.dtype}"
                )
            buffer.write(index, leaf)


class Inlet:
    """Where a selection of R rows comes to the device, as rows of `NodeRows`."""

    def __init__(self, rows: int, num_leaves: int, num_nodes: int, width: int, device: torch.device) -> None:
        is_cuda = device.type == "cuda"
        self._host = torch.zeros((4, rows), dtype=torch.int64, pin_memory=is_cuda)
        self._here = self._host if device.type == "cpu" else self._host.to(device)
        self._sizes, self._out = (num_leaves, num_nodes, width), self._host.numpy()
        blank = np.zeros(rows, np.int32)
        self._address = bind(address_rows, blank, blank, blank, *self._sizes, self._out)
        parent, node, self.action, vector = self._here.unbind(0)
        self.parent, self.node = RowIndex(self._out[0], parent), RowIndex(self._out[1], node)
        self.vector = vector  # of the actions drawn at the parent

    def fetch(self, parent: I32, action: I32, node: I32) -> None:
        """Bring a selection over."""
        self._address(parent, action, node, *self._sizes, self._out)
        if self._here is not self._host:
            self._here.copy_(self._host, non_blocking=True)
