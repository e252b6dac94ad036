"""Buffers between the search's arrays and a model's tensors.

`NodeRows` keeps what a model gave for each node where it was made; `Inlet` brings node and action numbers to
the device, `Outlet` brings numbers back, each in one transfer a simulation.
"""

import math
import numbers
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from zelkova.errors import ShapeError, require_memory
from zelkova.search.kernels.native import F32, I32, bind, kernel
from zelkova.search.model import Evaluation

NOBODY = np.int32(-9)  # for a mover that is no whole number; the search refuses it
MOST_PLAYERS = np.float32(1e6)


def described(given: Any) -> str:
    """Say what was given in place of a tensor that fits."""
    if isinstance(given, Tensor):
        return f"of shape {tuple(given.shape)} and dtype {given.dtype}"
    return f"a {type(given).__name__}"


class Numbers(NamedTuple):
    """What the search reads of an answer of R rows, A actions and P players."""

    prior_logits: Tensor  # [R, A]
    legal: Tensor | None  # bool[R, A]; None: all legal
    value: Tensor  # [R] or [R, P]
    reward: Tensor | float
    discount: Tensor | float
    to_play: Tensor | int


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
def take_rows(
    logits: F32, legal: F32, movers: F32, has_legal: bool, has_movers: bool,
    actions: I32, count: I32, prior_logits: F32, to_play: I32,
) -> None:  # fmt: skip
    """Write dense logits [R, A] as those of the legal actions alone, and movers as whole numbers."""
    for r in range(logits.shape[0]):
        n = 0
        for a in range(logits.shape[1]):
            if not has_legal or legal[r, a] != 0:
                actions[r, n] = a
                prior_logits[r, n] = logits[r, a]
                n += 1
        count[r] = n
        if has_movers:
            mover = movers[r]
            is_whole = np.abs(mover) < MOST_PLAYERS and mover == np.floor(mover)
            to_play[r] = np.int32(mover) if is_whole else NOBODY


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
    raise ShapeError(f"the embedding holds a {kind}; give tensors, or tuples, lists and dicts of tensors")


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


class Outlet:
    """Where R rows of answers leave the device: one packed tensor, and the `Evaluation` made of it."""

    def __init__(self, rows: int, actions: int, players: int, device: torch.device) -> None:
        shapes = {
            "prior_logits": (rows, actions), "legal": (rows, actions), "value": (rows, players),
            "reward": (rows, players), "discount": (rows,), "to_play": (rows,),
        }  # fmt: skip
        sizes = [math.prod(shape) for shape in shapes.values()]
        self.is_cuda = device.type == "cuda"
        self.packed = torch.zeros(sum(sizes), device=device)
        is_here = device.type == "cpu"
        self.host = self.packed if is_here else torch.zeros(sum(sizes), pin_memory=self.is_cuda)
        self.slots = {
            name: part.view(shape)
            for (name, shape), part in zip(shapes.items(), torch.split(self.packed, sizes), strict=True)
        }
        # a single player's values may come without their dimension
        names = ("value", "reward") if players == 1 else ()
        self.columns = {name: self.slots[name][:, 0] for name in names}
        self.arrays: dict[str, Any] = {
            name: part.view(shape).numpy()
            for (name, shape), part in zip(shapes.items(), torch.split(self.host, sizes), strict=True)
        }
        self.evaluation = Evaluation(
            self.arrays["reward"], self.arrays["discount"], np.zeros((rows, actions), np.int32),
            np.zeros(rows, np.int32), np.zeros((rows, actions), np.float32), self.arrays["value"],
            np.zeros(rows, np.int32),
        )  # fmt: skip
        e = self.evaluation
        self._rows = (self.arrays["prior_logits"], self.arrays["legal"], self.arrays["to_play"])
        self._out = (e.actions, e.count, e.prior_logits, e.to_play)
        self._take = bind(take_rows, *self._rows, False, False, *self._out)

    def put(self, name: str, tensor: Tensor) -> None:
        """Copy one output into its place.

        Raises:
            ShapeError: it is no tensor of real numbers, or has another shape.
        """
        slot = self.slots[name]
        if not isinstance(tensor, Tensor) or tensor.is_complex() or tensor.layout != torch.strided:
            shape = tuple(slot.shape)
            raise ShapeError(f"{name} is {described(tensor)}; needs a dense tensor of real numbers {shape}")
        if tensor.shape != slot.shape:
            slot = self.columns.get(name, slot)
            if tensor.shape != slot.shape:
                raise ShapeError(
                    f"{name} has shape {tuple(tensor.shape)}; needs {tuple(self.slots[name].shape)}"
                )
        slot.copy_(tensor)

    def fill(self, name: str, given: Tensor | float) -> None:
        """Write one number for all rows, where no tensor was given.

        Raises:
            ShapeError: it is neither a number nor a tensor; movers are whole numbers.
        """
        if isinstance(given, Tensor):
            return
        kinds = numbers.Integral if name == "to_play" else numbers.Real
        if not isinstance(given, kinds) or (name == "to_play" and abs(given) >= MOST_PLAYERS):
            what = "a whole number" if name == "to_play" else "a number"
            shape = tuple(self.slots[name].shape)
            raise ShapeError(f"{name} = {given!r:.100}; needs {what} for all rows, or a tensor {shape}")
        getattr(self.evaluation, name).fill(given)

    def send(self, found: Numbers) -> Evaluation:
        """Bring an answer to the search.

        Raises:
            ShapeError: names the output.
        """
        logits, legal, value, reward, discount, to_play = found
        has_movers = isinstance(to_play, Tensor)
        self.put("prior_logits", logits)
        self.put("value", value)
        if legal is not None:
            if not isinstance(legal, Tensor) or legal.dtype != torch.bool:
                raise ShapeError(
                    f"legal is {described(legal)}; needs a tensor of torch.bool, True where legal"
                )
            self.put("legal", legal)
        for name, given in (("reward", reward), ("discount", discount), ("to_play", to_play)):
            if isinstance(given, Tensor):
                self.put(name, given)
        if self.host is not self.packed:
            self.host.copy_(self.packed, non_blocking=self.is_cuda)
            if self.is_cuda:
                torch.cuda.current_stream(self.packed.device).synchronize()
        self.fill("reward", reward)
        self.fill("discount", discount)
        self.fill("to_play", to_play)
        self._take(*self._rows, legal is not None, has_movers, *self._out)
        return self.evaluation
