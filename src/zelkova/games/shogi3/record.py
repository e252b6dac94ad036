"""Three-player shogi's game records: JSON that is replayed when it is read.

    {"game": "shogi3", "capture": "own", "start": null, "moves": ["7g7f", "resign:g", ...],
     "result": {"winner": "b", "how": "entry", "plies": 63}}

`start` may be a position's text; `result` is null for a game that is not over. A record may have `max_plies`
(499 where it has none), and beside the moves `values` (three winning chances in the position before the move,
or null) and `comments` (text, or null).
"""

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np

from zelkova.errors import IllegalActionError, NotationError, hint
from zelkova.games.game import Game, Position
from zelkova.games.played import RESIGNED, PlayedGame, make_played
from zelkova.games.shogi3 import rules
from zelkova.games.shogi3.notation import PLAYERS, SEATS, text_to_action
from zelkova.games.shogi3.position import States, resign, text_to_position
from zelkova.games.single import Single

RESIGN = "resign:"
KEYS = ("game", "capture", "max_plies", "start", "moves", "result", "values", "comments")
NEEDED = ("game", "capture", "start", "moves", "result")
MOST_LIMIT = 1_000_000  # of max_plies, as the rules take it
RESULT_KEYS = ("winner", "how", "plies")


@dataclasses.dataclass(frozen=True)
class Record:
    """One game that keeps the rules."""

    moves: tuple[str, ...]  # with resignations as resign:SEAT
    states: tuple[States, ...]  # [1, words] each: the start, then one after each move
    start: str | None = None  # position text; None for the usual start
    values: tuple[tuple[float, float, float] | None, ...] = ()  # by seat, beside each move; empty: none
    comments: tuple[str | None, ...] = ()  # beside each move; empty: none


def replay(game: Game, moves: list[str] | tuple[str, ...], start: str | None = None) -> Record:
    """Play moves from a position.

    Args:
        game: shogi3.
        moves: as text; `resign:g` is Green's resignation.
        start: a position's text; None for the usual start.
    Raises:
        NotationError: the start is no position, or a move is none or not legal; names the ply.
    """
    state = game.position().state if start is None else text_to_position(game, start)
    states = [state]
    for move in moves:
        states.append(_play(game, states[-1], move, len(states)))
    return Record(tuple(moves), tuple(states), start)


def _play(game: Game, state: States, move: str, number: int) -> States:
    """Play one move of a record, the number-th."""
    where = f"move {number} of the record (after ply {int(game.view_states(state)[0]['plies'])})"
    record = game.view_states(state)[0]
    try:
        if record["winner"] >= 0:
            raise IllegalActionError(f"`{move}` comes after the end of the game; next: leave it out")
        if move.startswith(RESIGN):
            letter = move.removeprefix(RESIGN)
            if letter not in tuple(SEATS):
                raise NotationError(f"`{move}` is no resignation; allowed: resign:b, resign:r, resign:g")
            return resign(game, state, SEATS.index(letter))
        action = text_to_action(game, record, move)
        if action not in Single(game).legal_actions(state):
            turn = PLAYERS[int(record["to_play"])]
            raise IllegalActionError(f"`{move}` is not legal for {turn}\n{Position(game, state)}")
    except (NotationError, IllegalActionError) as error:
        raise NotationError(f"{where}: {error}") from None
    after = state.copy()
    Single(game).step(after, action)
    return after


def result_of(game: Game, state: States) -> dict[str, Any] | None:
    """Give winner, how and plies of a game that is over; None before its end."""
    record = game.view_states(state)[0]
    if record["winner"] < 0:
        return None
    how = rules.ENDINGS[int(record["ending"])]
    return {"winner": SEATS[int(record["winner"])], "how": how, "plies": int(record["plies"])}


def write_record(game: Game, record: Record) -> str:
    """Write a game as JSON on one line."""
    found: dict[str, Any] = {"game": "shogi3", "capture": game.options.capture}
    if game.options.max_plies != rules.Options().max_plies:
        found["max_plies"] = game.options.max_plies
    found |= {"start": record.start, "moves": list(record.moves)}
    found["result"] = result_of(game, record.states[-1])
    if record.values:
        found["values"] = [value and list(value) for value in record.values]
    if record.comments:
        found["comments"] = list(record.comments)
    return json.dumps(found, ensure_ascii=False)


def write_played(position: Position, resigned: int | None = None) -> str:
    """Write a game that was played from the usual start as JSON on one line.

    Args:
        position: its last position, with the moves that led to it.
        resigned: the player who gave up after the last move, 0-based.
    """
    moves = position.moves_played()
    if resigned is not None:
        moves.append(f"{RESIGN}{SEATS[resigned]}")
    return write_record(position.game, replay(position.game, moves))


def read_record(game: Game, text: str) -> Record:
    """Read a game and play it again.

    Args:
        game: shogi3, with the record's capture rule and limit.
        text: JSON.
    Raises:
        NotationError: names the field, or the move and its ply, that is wrong.
    """
    given = _load(text)
    _check_options(game, given)
    moves, start = given["moves"], given["start"]
    if not isinstance(moves, list) or not all(isinstance(move, str) for move in moves):
        _refuse("moves", moves, "a list of moves as text")
    if start is not None and not isinstance(start, str):
        _refuse("start", start, "null, or a position as text")
    try:
        found = replay(game, moves, start)
    except NotationError as error:
        named = "" if str(error).startswith("move ") else "field start: "
        raise NotationError(f"{named}{error}") from None
    _check_result(given["result"], result_of(game, found.states[-1]), game, found)
    values = _beside(given, "values", len(moves), _read_chances)
    comments = _beside(given, "comments", len(moves), _read_comment)
    return dataclasses.replace(found, values=values, comments=comments)


def read_options(text: str) -> dict[str, Any]:
    """Say which options a record was played with: capture and max_plies.

    Args:
        text: JSON.
    Raises:
        NotationError: names the field that is wrong.
    """
    given = _load(text)
    most = given.get("max_plies", rules.Options().max_plies)
    if given["capture"] not in rules.CAPTURES:
        _refuse("capture", given["capture"], _listed(rules.CAPTURES))
    if not isinstance(most, int) or isinstance(most, bool) or not 1 <= most <= MOST_LIMIT:
        _refuse("max_plies", most, f"a whole number from 1 to {MOST_LIMIT}")
    return {"capture": given["capture"], "max_plies": most}


def read_played(game: Game, text: str, origin: str) -> PlayedGame:
    """Read a record as a played game; its `values` are the chances before the moves that they stand beside.

    Args:
        game: shogi3, with the record's capture rule and limit.
        text: JSON.
        origin: where it was read.
    Raises:
        NotationError: as `read_record`.
    """
    record = read_record(game, text)
    states = np.concatenate(record.states)
    actions = np.full(len(record.moves), RESIGNED, np.int32)
    for place, move in enumerate(record.moves):
        if not move.startswith(RESIGN):
            actions[place] = text_to_action(game, game.view_states(record.states[place])[0], move)
    unknown = (math.nan,) * 3
    values = np.array([value or unknown for value in record.values or ((),) * len(actions)], np.float32)
    last = Position(game, record.states[-1])
    returns = last.returns if last.is_terminal else None
    return make_played(game, origin, states, actions, returns, values.reshape(-1, 3))


def _load(text: str) -> dict[str, Any]:
    """Read a record's JSON and hold it to the fields that there are."""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotationError(f"the record is no JSON: {error}; next: mend the file") from None
    if not isinstance(given, dict):
        raise NotationError(
            f"the record is a {type(given).__name__}; allowed: an object with {_listed(NEEDED)}"
        )
    _check_keys(given, KEYS, NEEDED, "the record")
    if given["game"] != "shogi3":
        _refuse("game", given["game"], "shogi3")
    return given


def _check_options(game: Game, given: Mapping[str, Any]) -> None:
    """Refuse a record that was played by other options."""
    if given["capture"] not in rules.CAPTURES:
        _refuse("capture", given["capture"], _listed(rules.CAPTURES))
    most = given.get("max_plies", rules.Options().max_plies)
    for field, value in (("capture", given["capture"]), ("max_plies", most)):
        wanted = getattr(game.options, field)
        if value != wanted or isinstance(value, bool):
            _refuse(field, value, f"{wanted}, as this game is played; next: load the game with the record's")


def _check_result(given: Any, found: dict[str, Any] | None, game: Game, record: Record) -> None:
    """Refuse a result that the moves don't lead to."""
    if given is not None:
        if not isinstance(given, dict):
            _refuse("result", given, f"null, or an object with {_listed(RESULT_KEYS)}")
        _check_keys(given, RESULT_KEYS, RESULT_KEYS, "field result")
    if given != found:
        plies = int(game.view_states(record.states[-1])[0]["plies"])
        told = "a game that goes on: null" if found is None else json.dumps(found)
        _refuse("result", json.dumps(given), f"what the moves lead to after ply {plies}, {told}")


def _check_keys(
    given: Mapping[str, Any], known: tuple[str, ...], needed: tuple[str, ...], where: str
) -> None:
    """Refuse unknown and missing keys."""
    for key in given:
        if key not in known:
            raise NotationError(f"{where} has the unknown field `{key}`; {hint(str(key), known)}")
    for key in needed:
        if key not in given:
            raise NotationError(f"{where} lacks the field `{key}`; needed: {_listed(needed)}")


def _beside(given: Mapping[str, Any], field: str, count: int, read: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Read a list that goes beside the moves; empty where there is none."""
    values = given.get(field)
    if values is None:
        return ()
    if not isinstance(values, list) or len(values) != count:
        _refuse(field, values, f"a list of {count}, one for each move")
    return tuple(value if value is None else read(value) for value in values)


def _read_chances(value: Any) -> tuple[float, float, float]:
    """Read three winning chances."""
    good = isinstance(value, list) and len(value) == 3
    if (
        not good
        or not all(_is_chance(share) for share in value)
        or not math.isclose(sum(value), 1, abs_tol=0.01)
    ):
        _refuse("values", value, "null, or three chances from 0 to 1 that sum to 1, by seat")
    blue, red, green = map(float, value)
    return blue, red, green


def _is_chance(share: Any) -> bool:
    return isinstance(share, int | float) and not isinstance(share, bool) and 0 <= share <= 1


def _read_comment(value: Any) -> str:
    """Read a comment."""
    if not isinstance(value, str):
        _refuse("comments", value, "null or text")
    return value


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(words)


def _refuse(field: str, given: Any, allowed: str) -> NoReturn:
    shown = str(given)
    raise NotationError(
        f"field {field} of the record is `{shown[:80]}{'...' if len(shown) > 80 else ''}`; allowed: {allowed}"
    )
