"""Positions that are given as text: the start, moves from it, or a game's own form."""

from zelkova.errors import IllegalActionError, NotationError, first_line
from zelkova.games.game import Game, Position
from zelkova.games.registry import beside

FORMS = "`start`, or `moves` with moves from the start behind it, such as `moves {}`"


def read_position(game: Game, text: str) -> Position:
    """Read a position.

    Args:
        game: whose rules hold.
        text: `start`, `moves M M ...`, or what the module `position` beside the game's rules reads.
    Raises:
        NotationError: it is none of these; names the field or the ply.
    """
    words = text.split()
    form = words[0] if words else ""
    if form not in ("start", "moves") or (form == "start" and len(words) > 1):
        read = getattr(beside(game, "position"), "text_to_position", None)
        if read is None:
            begin = game.position()
            first = begin.outcomes()[0] if begin.is_chance else begin.legal_actions()
            allowed = FORMS.format(begin.action_to_text(int(first[0])))
            raise NotationError(
                f"position `{text[:80]}`: {game.name} has no text for one; allowed: {allowed}"
            )
        return Position(game, read(game, text))
    position = game.position()
    for ply, move in enumerate(words[1:], 1):
        try:
            position.play(move)
        except (NotationError, IllegalActionError) as error:
            raise NotationError(f"position, ply {ply}: {first_line(error)}") from None
    return position
