"""Checks what a game offers beside its rules: symmetries, position keys, notation and drawings."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import NotationError
from zelkova.games.check_parts import BrokenPromiseError, Played, Visit
from zelkova.games.check_play import Checker, line_of
from zelkova.games.game import Game

_MOST_MOVES = 60  # legal moves whose text is read back at one position


def check_maps(game: Game) -> None:
    """Refuse symmetries that are not permutations of cells, actions and outcomes, the identity first."""
    _, height, width = game.observation_shape
    for number, (plane_map, action_map) in enumerate(game.symmetries):
        for name, given, size in (
            ("plane", plane_map, height * width),
            ("action", action_map, game.num_actions),
            ("outcome", game.outcome_maps[number], game.num_outcomes),
        ):
            if np.shape(given) != (size,) or not np.array_equal(np.sort(given), np.arange(size)):
                raise BrokenPromiseError(
                    "SYMMETRIES", f"[{number}] has no permutation of 0 to {size - 1} as its {name} map"
                )
            if number == 0 and not np.array_equal(given, np.arange(size)):
                raise BrokenPromiseError(
                    "SYMMETRIES", f"[0] is not the identity: its {name} map moves something"
                )


def check_symmetry(game: Game, checker: Checker, played: Played, number: int) -> str | None:
    """Play the turned game beside the game and compare every answer.

    The turned game starts from the same position where that is symmetric, else from a record whose
    boards are turned.

    Args:
        game: whose symmetry it is.
        checker: asks the compiled rules.
        played: a game, not turned.
        number: of the symmetry.
    Returns:
        A note where the symmetry could not be checked.
    Raises:
        BrokenPromiseError: the turned game answers otherwise.
    """
    plane_map, action_map = game.symmetries[number]
    backward = (np.argsort(action_map), np.argsort(game.outcome_maps[number]))
    start = played.visits[0]
    twin, certain = start.state, True
    if not np.array_equal(_turn(start.planes, plane_map), start.planes):
        twin, certain = _turn_record(game, start, plane_map, bits=False)
        for bits in (False, True):
            twin, certain = _turn_record(game, start, plane_map, bits=bits)
            if np.array_equal(checker.visit(twin, "init").planes, _turn(start.planes, plane_map)):
                break
        else:
            return f"SYMMETRIES[{number}] not checked: the first position has no such symmetry"
    for ply, visit in enumerate(played.visits):
        turned = checker.visit(twin, "step")
        wrong = _difference(visit, turned, plane_map, backward)
        if wrong and not certain:
            return f"SYMMETRIES[{number}] not checked: the first record can't be turned with certainty"
        if wrong:
            raise BrokenPromiseError(
                "SYMMETRIES", f"[{number}] does not commute with the rules: {wrong} after {ply} plies"
            )
        if ply < len(played.actions):
            twin = checker.step(twin, int(backward[int(visit.to_play < 0)][played.actions[ply]]))
    return None


def _turn(planes: NDArray[np.float32], plane_map: NDArray[np.int32]) -> NDArray[np.float32]:
    """Turn planes [C, H, W]."""
    return planes.reshape(len(planes), -1)[:, plane_map].reshape(planes.shape)


def _difference(
    visit: Visit, turned: Visit, plane_map: NDArray[np.int32], backward: tuple[NDArray[np.int64], ...]
) -> str | None:
    """Say what differs between a position and its turned twin.

    Args:
        backward: turned numbers of the actions [A] and of the outcomes [C].
    """
    moves = backward[int(visit.to_play < 0)][visit.legal]
    if not np.array_equal(_turn(visit.planes, plane_map), turned.planes):
        return "other planes"
    if not np.array_equal(np.sort(moves), turned.legal):
        return "other legal actions" if visit.to_play >= 0 else "other outcomes"
    if visit.to_play < 0 and not np.allclose(visit.probs[np.argsort(moves)], turned.probs, rtol=1e-5):
        return "other probabilities"
    if visit.terminal != turned.terminal or not np.array_equal(visit.returns, turned.returns):  # type: ignore[arg-type]
        return "another ending"
    return None


def _turn_record(
    game: Game, visit: Visit, plane_map: NDArray[np.int32], *, bits: bool
) -> tuple[NDArray[np.uint64], bool]:
    """Turn every board in a record (cells; with `bits` sets of cells); say whether nothing else was left."""
    _, height, width = game.observation_shape
    state, certain = visit.state.copy(), True
    record = game.view_states(state)[0]
    for name, value in visit.record.items():
        if name in game.settings:
            continue
        if value.shape[-2:] == (height, width) or value.shape[-1:] == (height * width,):
            record[name] = value.reshape(-1, height * width)[:, plane_map].reshape(value.shape)
        elif bits and value.dtype == np.uint64 and height * width <= 64:
            turned = [
                sum((int(word) >> int(cell) & 1) << k for k, cell in enumerate(plane_map))
                for word in value.flat
            ]
            record[name] = np.array(turned, np.uint64).reshape(value.shape)
        elif value.ndim and value.shape != (game.num_players,):
            certain = False
    return state, certain


def check_keys(played: list[Played]) -> None:
    """Refuse a position_hash that gives one key to positions which the rules tell apart."""
    known: dict[int, Visit] = {}
    for game in played:
        for visit in game.visits:
            if visit.key is None:
                return
            other = known.setdefault(visit.key, visit)
            same = visit.to_play == other.to_play and np.array_equal(visit.legal, other.legal)
            if not same or not np.array_equal(visit.planes, other.planes):
                raise BrokenPromiseError(
                    "position_hash", "gives one key to two positions; hint: mix every field that matters"
                )


def _check_explanations(game: Game, record: Any, legal: set[int], *, is_chance: bool) -> None:
    """Ask why actions that are not legal are not: one line of words each; of a notation that has any."""
    explain = getattr(game.notation, "explain_illegal", None)
    if explain is None or is_chance or not legal:
        return
    illegal = [action for action in range(game.num_actions) if action not in legal]
    for action in illegal[:: len(illegal) // _MOST_MOVES + 1]:
        text = _call("explain_illegal", explain, game, record, action)
        if not isinstance(text, str) or not text or not text.isprintable():
            raise BrokenPromiseError(
                "explain_illegal", f"gives {text!r} for action {action}; allowed: words on one line"
            )


def check_notation(game: Game, visit: Visit) -> None:
    """Write every legal move, or every outcome where nature moves, and read it back."""
    write = getattr(game.notation, "action_to_text", None)
    read = getattr(game.notation, "text_to_action", None)
    if write is None and read is None:
        return
    if write is None or read is None:
        name = "action_to_text" if write is None else "text_to_action"
        raise BrokenPromiseError(name, "is missing; a notation has both action_to_text and text_to_action")
    record = game.view_states(visit.state.copy())[0]
    texts: dict[str, int] = {}
    for action in visit.legal[:_MOST_MOVES]:
        text = _call("action_to_text", write, game, record, int(action))
        if not isinstance(text, str) or not text or text != text.strip():
            raise BrokenPromiseError(
                "action_to_text", f"gives {text!r} for action {action}; allowed: text without spaces around"
            )
        if text in texts:
            raise BrokenPromiseError(
                "action_to_text", f"gives `{text}` for the actions {texts[text]} and {action}"
            )
        texts[text] = int(action)
        back = _call("text_to_action", read, game, record, text)
        if back != action:
            raise BrokenPromiseError(
                "text_to_action", f"reads `{text}` as {back}; it was written for action {action}"
            )
    _check_explanations(game, record, {*map(int, visit.legal)}, is_chance=visit.to_play < 0)
    try:
        read(game, record, "?!")
    except NotationError:
        return
    except (Exception, SystemExit, GeneratorExit) as error:
        promise = f"raises {type(error).__name__} for `?!`; allowed: zelkova.errors.NotationError"
        raise BrokenPromiseError("text_to_action", promise, *line_of(error)) from None
    raise BrokenPromiseError(
        "text_to_action", "reads `?!` as a move; allowed: raise zelkova.errors.NotationError"
    )


def check_drawing(game: Game, visit: Visit) -> None:
    """Draw the position with and without colours and characters beyond ASCII, and as SVG."""
    record = game.view_states(visit.state.copy())[0]
    draw = getattr(game.drawing, "draw_text", None)
    if draw is not None:
        for colour in (False, True):
            for unicode in (False, True):
                text = _call("draw_text", lambda: draw(game, record, colour=colour, unicode=unicode))  # noqa: B023
                if not isinstance(text, str) or not text:
                    raise BrokenPromiseError("draw_text", f"gives {text!r}; allowed: text")
                if not unicode and not text.isascii():
                    raise BrokenPromiseError("draw_text", "gives characters beyond ASCII with unicode=False")
                if not colour and "\x1b" in text:
                    raise BrokenPromiseError("draw_text", "gives terminal colours with colour=False")
    picture = getattr(game.drawing, "draw_svg", None)
    if picture is not None:
        svg = _call("draw_svg", picture, game, record)
        try:
            root = ElementTree.fromstring(svg)
        except (ElementTree.ParseError, TypeError) as error:
            raise BrokenPromiseError("draw_svg", f"gives no SVG picture: {error}") from None
        if not root.tag.endswith("svg"):
            raise BrokenPromiseError("draw_svg", f"gives <{root.tag}>; allowed: one <svg> element")


def _call(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a notation or drawing function; an exception becomes a broken promise with its line."""
    try:
        return function(*arguments)
    except (Exception, SystemExit, GeneratorExit) as error:
        raise BrokenPromiseError(name, f"raises {type(error).__name__}: {error}", *line_of(error)) from None
