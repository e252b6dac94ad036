from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zelkova import games
from zelkova.games.game import Position
from zelkova.play.session import ALIASES, COMMANDS, Session, Table
from zelkova.play.thinking import Candidate, RandomThinker, Thought, UctThinker

GOLDEN = Path(__file__).parents[1] / "golden" / "play_tic_tac_toe.txt"


class FirstLegal:
    """Plays the first legal action and says that the first player stands at 75 %."""

    name = "first"

    def think(self, position: Position, rng: np.random.Generator) -> Thought:
        legal = [int(action) for action in position.legal_actions()]
        shares = (0.75, 0.25)
        return Thought(legal[0], shares, tuple(Candidate(action, 9 - action, shares) for action in legal))


def converse(
    lines: Iterable[str], game: str = "tic_tac_toe", seats: Iterable[int] = (0,), **table: int
) -> tuple[Session, str]:
    written: list[str] = []
    session = Session(games.load(game), FirstLegal(), Table(frozenset(seats)), written.append)
    session.run(lines)
    return session, "\n".join(written)


def test_a_short_session_reads_as_it_always_did() -> None:
    lines = [
        "moves",
        "b2",
        "hint",
        "lines 2",
        "b2",
        "z9",
        "undoo",
        "c3",
        "undo",
        "a1",
        "c1",
        "new 2",
        "resign",
        "quit",
    ]
    _, text = converse(lines)
    assert text + "\n" == GOLDEN.read_text(encoding="utf-8")


def test_undo_goes_back_to_ones_own_turn() -> None:
    session, _ = converse(["b2", "c3", "undo"])
    assert len(session.position.actions_played) == 2
    assert session.position.to_play == 0
    session.answer("undo")
    assert session.position.actions_played == []
    session.answer("undo")
    assert session.position.actions_played == []


def test_the_second_player_cannot_take_back_the_first_ones_opening() -> None:
    session, text = converse(["undo"], seats=[1])
    assert len(session.position.actions_played) == 1
    assert "no turn of yours" in text


def test_two_people_take_back_one_move_each() -> None:
    session, _ = converse(["a1", "b1", "undo"], seats=[0, 1])
    assert len(session.position.actions_played) == 1


def test_undo_after_the_end_and_after_giving_up() -> None:
    session, text = converse(["a1", "a2", "b1", "b2", "c1", "hint", "a3"], seats=[0, 1])
    assert "the game is over: player 1 wins" in text
    assert "`a3` is no command" in text
    session.answer("undo")
    assert not session.is_over
    assert len(session.position.actions_played) == 4
    session, text = converse(["resign", "hint", "a1", "undo", "a1"])
    assert "the game is over: player 1 (you) resigned" in text
    assert not session.is_over
    assert len(session.position.actions_played) == 2


def test_three_players_are_served() -> None:
    session, text = converse(["4", "quit"], "connect_four_3p", seats=[1])
    assert "you are player 2 of 3" in text
    assert session.position.to_play == 1
    assert session.position.actions_played[1] == 3


def test_a_watched_game_needs_no_input_and_ends() -> None:
    never = (pytest.fail("nobody is there to be asked") for _ in range(1))
    session, text = converse(never, seats=[])
    assert session.is_over
    assert text.splitlines()[-1].startswith("the game is over: ")


def test_the_end_of_input_ends_the_session() -> None:
    _, text = converse([])
    assert text.splitlines()[-1] == "end of input; the game ends here"


def test_chance_has_no_opinion() -> None:
    written: list[str] = []
    session = Session(games.load("tic_tac_toe"), RandomThinker(), Table(frozenset({0})), written.append)
    session.run(["hint", "lines", "a1"])
    assert written.count("random has no opinion; start with --agent uct:1000 for hints") == 2
    assert len(session.position.actions_played) == 2


def test_uct_estimates_and_sees_a_win() -> None:
    game = games.load("connect_four")
    position = game.position()
    for move in "415161":
        position.play(move)
    thought = UctThinker(game, 500).think(position, np.random.default_rng(1))
    rng = np.random.default_rng(2)
    assert sum(candidate.visits for candidate in thought.candidates) == 500
    visits = [candidate.visits for candidate in thought.candidates]
    assert visits == sorted(visits, reverse=True)
    assert thought.action == thought.candidates[0].action
    first, second = thought.shares
    assert first is not None
    assert second == pytest.approx(1 - first)
    assert UctThinker(game, 500).think(position, rng).action in position.legal_actions()


def test_the_same_seed_gives_the_same_session() -> None:
    def session(seed: int) -> str:
        written: list[str] = []
        game = games.load("connect_four")
        Session(game, UctThinker(game, 20), Table(frozenset({0}), seed=seed), written.append).run(
            ["4", "3", "lines"]
        )
        return "\n".join(written)

    assert session(3) == session(3)
    assert session(3) != session(4)


def test_moves_are_saved_and_nothing_is_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "game.txt"
    _, text = converse(["b2", f"save {file}", f"save {file}", "save", f"save {tmp_path}/no/game.txt"])
    assert file.read_text() == "# game: tic_tac_toe\n# seed: 0\n# result: not finished\nb2 a3\n"
    assert f"saved to {file}" in text
    assert "is there already" in text
    assert "can't be written: No such file or directory" in text
    assert "save FILE" in text


@pytest.mark.parametrize("word", sorted([*COMMANDS, *ALIASES]))
def test_every_command_bears_any_argument(word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for argument in ("", "0", "-1", "99999999999999999999", "٣", "²", "../../no/where", "a\0b", "x" * 90):
        converse([f"{word} {argument}", f"/{word} {argument}", "a1", f"{word} {argument}"])


HOSTILE = [
    "\x1b[2J\x1b[31m", "\0", "\x07" * 50, "a" * 100_000, "4" * 5000, "\u202eevil", "\ufffd\ufffd", "⁴",
    "/", "//undo", "%s %n {} {0.__class__}", "play b D", "a1 a1", "[bold]x[/bold]", "\t\t", "🎲", "-1", "1e9",
]  # fmt: skip


@pytest.mark.parametrize("game", ["tic_tac_toe", "connect_four"])
def test_hostile_lines_are_answered_and_change_nothing(game: str) -> None:
    session, text = converse(HOSTILE, game)
    assert session.position.actions_played == []
    assert all(sign.isprintable() or sign == "\n" for sign in text)
    assert max(len(line) for line in text.splitlines()) < 300


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=12), max_size=6))
def test_no_text_makes_the_session_fail(lines: list[str]) -> None:
    session = Session(games.load("tic_tac_toe"), FirstLegal(), Table(frozenset({0})), lambda text: None)
    session.run(line for line in lines if not line.strip().lower().lstrip("/").startswith("save"))


def test_a_notation_that_raises_anything_is_no_reason_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    game = games.load("tic_tac_toe")
    assert game.notation is not None
    for fault in (IndexError, KeyError, TypeError, ZeroDivisionError, ValueError):

        def read(*_: object, fault: type[Exception] = fault) -> int:
            raise fault("x")

        monkeypatch.setattr(game.notation, "text_to_action", read)
        _, text = converse(["zz"])
        assert "`zz` is no move; legal: a3" in text


def test_a_move_comes_before_a_command_of_the_same_name(monkeypatch: pytest.MonkeyPatch) -> None:
    game = games.load("tic_tac_toe")
    assert game.notation is not None
    names = ["new", "undo", "quit", "c", "d", "e", "f", "g", "h"]
    monkeypatch.setattr(game.notation, "action_to_text", lambda game, state, action: names[action])
    session, _ = converse(["undo"], seats=[0, 1])
    assert session.position.actions_played == [1]
    session.answer("/undo")
    assert session.position.actions_played == []


def test_chance_is_announced_and_undone_alike() -> None:
    game = games.load("2048")
    said: list[str] = []
    session = Session(game, RandomThinker(), Table(seats=frozenset({0}), seed=5), said.append)
    session.run(["left", "right", "up", "down"])
    text = "\n".join(said)
    assert text.count("chance gives") >= 3
    assert "player 1 (you) to move:" in text
    assert not session.position.is_chance
    move, before = session.position.legal_moves()[0], session.position.actions_played
    session.answer(move)
    after = session.position.actions_played
    session.answer("undo")
    assert session.position.actions_played == before
    session.answer(move)
    assert session.position.actions_played == after, "taking back draws nothing new"
