"""What a PyTorch model answered on its way to the search: checked, packed, in one transfer a simulation."""

import math
import numbers
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from zelkova.errors import SearchError, ShapeError
from zelkova.search.kernels.native import F32, I32, bind, kernel
from zelkova.search.model import Evaluation

NOBODY = np.int32(-9)  # for a mover that is no whole number
DISCOUNT_SLACK = np.float32(1e-2)  # beyond 0..1, for rounding: the first bfloat16 above 1 is 1.0078
MOST_PLAYERS = np.float32(1e6)
HALF = np.float32(0.5)
NEVER = object()  # no number that a model gives


def described(given: Any) -> str:
    """Say what was given in place of a tensor that fits."""
    if isinstance(given, Tensor):
        layout = "" if given.layout == torch.strided else f" and layout {given.layout}"
        return f"of shape {tuple(given.shape)} and dtype {given.dtype}{layout}"
    return f"a {type(given).__name__}"


def refuse_bool(source: str, name: str, given: Any) -> None:
    """Refuse booleans where numbers are meant: a mask or a flag that took their place.

    Raises:
        ShapeError: names the source and the output.
    """
    if given is True or given is False or (isinstance(given, Tensor) and given.dtype == torch.bool):
        meant = (
            "(~ended).float(), 1 where it goes on" if name == "discount" else ".float() where they are meant"
        )
        raise ShapeError(
            f"{source} gives {name} as booleans; allowed: floating point or whole numbers (booleans are for"
            f" `legal` alone); next: {meant}"
        )


def require_mask(source: str, legal: Any, shape: torch.Size, more: str = "") -> None:
    """Refuse a mask that is none.

    Args:
        source: `root()` or `step()`.
        legal: what was given as the mask.
        shape: that it needs.
        more: ends the message.
    Raises:
        ShapeError: it is no bool tensor of the shape.
    """
    if not isinstance(legal, Tensor) or legal.dtype != torch.bool or legal.shape != shape:
        raise ShapeError(
            f"{source} gives legal {described(legal)}; needs torch.bool {tuple(shape)},"
            f" True where legal{more}"
        )


class Numbers(NamedTuple):
    """What the search reads of an answer of R rows, A actions and P players."""

    prior_logits: Tensor  # [R, A]
    legal: Tensor | None  # bool[R, A]; None: all legal
    value: Tensor  # [R] or [R, P]
    reward: Tensor | float
    discount: Tensor | float  # 0..1
    to_play: Tensor | int


@kernel
def take_rows(
    logits: F32, legal: F32, movers: F32, discount: F32, has_legal: bool, has_movers: bool, node: I32,
    actions: I32, count: I32, prior_logits: F32, to_play: I32,
) -> int:  # fmt: skip
    """Write dense logits [R, A] as those of the legal actions alone, and movers as whole numbers.

    Returns:
        2 * row of the first discount out of 0..1, 2 * row + 1 of the first mover that is no whole number, -1
        where there is none; rows with node -1 are not looked at.
    """
    fault = -1
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
            if not is_whole and node[r] >= 0 and fault < 0:
                fault = 2 * r + 1
        beyond = np.abs(discount[r] - HALF)
        if not beyond <= HALF + DISCOUNT_SLACK and node[r] >= 0 and fault < 0:
            fault = 2 * r
    return fault


class Outlet:
    """Where R rows of answers leave the device: one packed tensor, and the `Evaluation` made of it."""

    def __init__(
        self, rows: int, actions: int, players: int, device: torch.device, source: str, leaves: int = 1
    ) -> None:
        self.source, self.leaves = source, leaves  # `root()` or `step()`; rows of each tree
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
        self._rows = [self.arrays[name] for name in ("prior_logits", "legal", "to_play", "discount")]
        self._out = (e.actions, e.count, e.prior_logits, e.to_play)
        self._all = np.zeros(rows, np.int32)
        self._filled: dict[str, Any] = {}  # the number that stands in all rows of an array
        self._take = bind(take_rows, *self._rows, False, False, self._all, *self._out)

    def put(self, name: str, tensor: Tensor) -> None:
        """Copy one output into its place.

        Raises:
            ShapeError: it is no tensor of real numbers, or has another shape.
        """
        slot = self.slots[name]
        if not isinstance(tensor, Tensor) or tensor.is_complex() or tensor.layout != torch.strided:
            raise ShapeError(
                f"{self.source} gives {name} {described(tensor)}; needs a dense tensor of real numbers"
                f" {tuple(slot.shape)}"
            )
        if tensor.dtype == torch.bool and name != "legal":
            refuse_bool(self.source, name, tensor)
        if tensor.shape != slot.shape:
            slot = self.columns.get(name, slot)
            if tensor.shape != slot.shape:
                raise ShapeError(
                    f"{self.source} gives {name} {described(tensor)}; needs {tuple(self.slots[name].shape)}"
                )
        slot.copy_(tensor)

    def fill(self, name: str, given: Tensor | float) -> None:
        """Write one number for all rows, where no tensor was given.

        Raises:
            ShapeError: it is neither a number nor a tensor; movers are whole numbers.
        """
        if isinstance(given, Tensor) or self._filled.get(name, NEVER) is given:
            return
        refuse_bool(self.source, name, given)
        kinds = numbers.Integral if name == "to_play" else numbers.Real
        if not isinstance(given, kinds) or (name == "to_play" and abs(given) >= MOST_PLAYERS):
            what = "a whole number" if name == "to_play" else "a number"
            shape = tuple(self.slots[name].shape)
            raise ShapeError(
                f"{self.source} gives {name} = {given!r:.100}; needs {what} for all rows, or a tensor {shape}"
            )
        getattr(self.evaluation, name).fill(given)
        if self.host is self.packed:  # elsewhere each answer comes over all of them
            self._filled[name] = given

    def send(self, found: Numbers, node: I32 | None = None) -> Evaluation:
        """Bring an answer to the search.

        Args:
            found: of R rows.
            node: [R] as in `Selection`: rows with -1 may hold any numbers; None: none may.
        Raises:
            ShapeError: names the output.
            SearchError: a discount out of 0..1, or a mover that is no whole number, naming the tree.
        """
        logits, legal, value, reward, discount, to_play = found
        has_movers = isinstance(to_play, Tensor)
        self.put("prior_logits", logits)
        self.put("value", value)
        if legal is not None:
            require_mask(self.source, legal, logits.shape)
            self.put("legal", legal)
        for name, given in (("reward", reward), ("discount", discount), ("to_play", to_play)):
            if isinstance(given, Tensor):
                self._filled[name] = NEVER
                self.put(name, given)
        if self.host is not self.packed:
            self.host.copy_(self.packed, non_blocking=self.is_cuda)
            if self.is_cuda:
                torch.cuda.current_stream(self.packed.device).synchronize()
        self.fill("reward", reward)
        self.fill("discount", discount)
        self.fill("to_play", to_play)
        used = self._all if node is None else node
        fault = self._take(*self._rows, legal is not None, has_movers, used, *self._out)
        if fault >= 0:
            self._refuse(*divmod(fault, 2))
        return self.evaluation

    def _refuse(self, row: int, is_mover: int) -> None:
        name, most = ("to_play", self.arrays["value"].shape[1] - 1) if is_mover else ("discount", 1)
        given = float(self.arrays[name][row])
        allowed = f"0 to {most}"
        if is_mover:
            allowed = f"a whole number from {allowed}, or -1 at a chance node below the root"
        elif given < 0:
            allowed += "; next: two players have values [R, 2], see two_player_value, and no sign is flipped"
        place = f"tree {row // self.leaves} (row {row})"
        raise SearchError(f"{place}: {self.source} gives {name} = {given:g}; allowed: {allowed}")
