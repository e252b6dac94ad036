"""The border of the search: what it asks of a model, what it answers, and the check of what comes in.

Values are vectors over absolute seats; the mover reads its own component and no sign is flipped.
"""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from zelkova.errors import ShapeError
from zelkova.search.kernels import tree
from zelkova.search.kernels.native import F32, I32

ANSWERS = {  # what of a model's answer is wrong, and what is allowed
    tree.BAD_LOGIT: (("prior_logits",), "finite numbers for legal actions, and std above 0"),
    tree.BAD_VALUE: (("value",), "finite numbers"),
    tree.BAD_REWARD: (("reward", "discount"), "finite numbers"),
    tree.BAD_COUNT: (("count",), "0 to {most} legal actions"),
    tree.BAD_PLAYER: (("to_play",), "0 to {last}, or -1 at a chance node below the root"),
}
MESSAGES = {
    tree.OUT_OF_RANGE: "search.solve met an exact return outside q_range = (lowest, highest); next: widen it",
    tree.BAD_NOISE: "the root noise is NaN or infinite, or (puct) doesn't sum to 1 over the legal actions",
}


OVERFLOW = (
    "values grew beyond what float32 holds; next: smaller values and rewards, discounts from 0 to 1, and"
    " constants of the search nearer to its defaults"
)


class Evaluation(NamedTuple):
    """What a model says about R positions. Actions, logits and counts are those of legal actions only."""

    reward: F32  # [R, P] received on the way into the position; 0 at roots
    discount: F32  # [R] 0..1 on the way into the position, 0 at an ending; 1 at roots
    actions: I32  # [R, M] legal action numbers, ascending, in the first `count` columns
    count: I32  # type: ignore[assignment]  # [R] number of legal actions; 0 only at an ending
    prior_logits: F32  # [R, M] aligned with actions; need not be normalised
    value: F32  # [R, P] expected return from the position on, each absolute player's; 0 at an ending
    to_play: I32  # [R] mover, 0..P-1; -1 at a chance node, whose logits are log-probabilities


class Selection(NamedTuple):
    """The leaves that want an evaluation. The arrays are the search's own: read them before the next call."""

    parent: I32  # [R] node to step from; row r belongs to tree r // num_leaves
    action: I32  # [R] action number to step with
    node: I32  # [R] new node; -1: nothing to evaluate in this row


class SearchResult(NamedTuple):
    """What the searches found. Columns follow each root's legal actions; unused ones hold 0, actions -1."""

    action: I32  # [B] action to play
    actions: I32  # [B, M] legal action numbers
    count: I32  # type: ignore[assignment]  # [B] number of legal actions
    action_weights: (
        F32  # [B, M] policy target: visits / sum (puct) or the improved policy (gumbel); sums to 1
    )
    visit_counts: I32  # [B, M]
    q_values: F32  # [B, M] mover's component of reward + discount * V(child); 0 where unvisited
    value: F32  # [B, P] mean of the root's back-ups
    raw_value: F32  # [B, P] the model's value of the root
    improved_value: F32  # [B, P] mean of the visited actions' Q vectors, weighed by action_weights


@runtime_checkable
class Model(Protocol):
    """What a search asks: known rules with a network, a learned model, or tables."""

    def root(self) -> Evaluation:
        """Evaluate the B root positions."""
        ...

    def step(self, parent: I32, action: I32, node: I32) -> Evaluation:
        """Evaluate the positions after the actions and keep them under the new nodes.

        Args:
            parent, action, node: [R] as in `Selection`; rows with node -1 may be left as they are.
        """
        ...


def blank_result(trees: int, most: int, players: int) -> SearchResult:
    """Allocate a result of B trees, M actions and P players; nothing is written yet."""
    return SearchResult(
        np.empty(trees, np.int32),
        np.empty((trees, most), np.int32),
        np.empty(trees, np.int32),
        np.empty((trees, most), np.float32),
        np.empty((trees, most), np.int32),
        np.empty((trees, most), np.float32),
        np.empty((trees, players), np.float32),
        np.empty((trees, players), np.float32),
        np.empty((trees, players), np.float32),
    )


def describe_fault(problem: int, source: str, evaluation: Evaluation | None, row: int) -> str:
    """Say what the search could not use, with what was given.

    Args:
        problem: a status of the kernels.
        source: `root()` or `step()`, which the answer came from.
        evaluation: the answer; None where a compiled loop has it.
        row: of the answer.
    """
    if problem == tree.NO_ACTION and source == "root()":
        return (
            "no legal action at the root; next: allow one, in root()'s `legal` and in the call's, and leave"
            " ended positions out"
        )
    if problem == tree.NO_ACTION:
        return f"{source} gives no legal action at a position that is no ending; next: discount 0 makes one"
    if problem not in ANSWERS:
        return MESSAGES[problem]
    names, allowed = ANSWERS[problem]
    if evaluation is None:
        allowed = allowed.format(most="max_actions", last="num_players - 1")
        return f"{source} gives {' or '.join(names)} that can't be used; allowed: {allowed}"
    told = []
    for name in names:
        given = getattr(evaluation, name)[row]
        if name == "prior_logits":
            given = given[: evaluation.count[row]]
            k = int(np.argmin(np.isfinite(given)))
            told.append(f"{name} = {given[k]} for action {evaluation.actions[row, k]}")
        else:
            told.append(f"{name} = {given.tolist()}")
    allowed = allowed.format(most=evaluation.actions.shape[1], last=evaluation.value.shape[1] - 1)
    return f"{source} gives {', '.join(told)}; allowed: {allowed}"


DTYPES = tuple(
    np.dtype(t) for t in (np.float32, np.float32, np.int32, np.int32, np.float32, np.float32, np.int32)
)


def check_evaluation(evaluation: Evaluation, rows: int, most: int, players: int) -> None:
    """Check the shapes of an evaluation of R rows, M actions and P players.

    Raises:
        ShapeError: names the array.
    """
    shapes = ((rows, players), (rows,), (rows, most), (rows,), (rows, most), (rows, players), (rows,))
    for name, array, shape, dtype in zip(Evaluation._fields, evaluation, shapes, DTYPES, strict=True):
        if array.shape != shape or array.dtype != dtype or not array.flags.c_contiguous:
            check_array(f"evaluation.{name}", array, shape, dtype)


def check_array(name: str, array: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Check an array's shape, dtype and layout.

    Raises:
        ShapeError: says what was given and what is needed.
    """
    given = (getattr(array, "shape", None), getattr(array, "dtype", type(array)))
    if given != (shape, np.dtype(dtype)):
        raise ShapeError(
            f"{name} has shape {given[0]} and dtype {given[1]}; needs {shape} and {np.dtype(dtype)}"
        )
    if not array.flags.c_contiguous:
        raise ShapeError(f"{name} is not contiguous; pass np.ascontiguousarray of it")
