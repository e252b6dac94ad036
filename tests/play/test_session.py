import dataclasses
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

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
    assert f"saved to {file}, the moves as text" in text
    assert "is there already" in text
    assert "can't be written: No such file or directory" in text
    assert "save FILE" in text


def test_a_file_has_the_form_that_its_name_ends_with(tmp_path: Path) -> None:
    from zelkova.records.files import find_files, read_games

    names = ["a.txt", "b.json", "c.jsonl"]
    lines = ["7g7f", *(f"save {tmp_path / name}" for name in names), "resign", f"save {tmp_path / 'd.json'}"]
    session, text = converse([*lines, f"save {tmp_path / 'e.xml'}", f"save {tmp_path / 'f'}"], "shogi3")
    for name, form in zip(names, ["the moves as text", "a JSON record", "a JSON record"], strict=True):
        assert f"saved to {tmp_path / name}, {form}" in text
    moves = session.position.actions_played
    for path in find_files([tmp_path]):
        (played,) = read_games(session.game, path)
        assert played.actions.tolist()[: len(moves)] == moves, path
        assert len(played.actions) == len(moves) + (path.name == "d.json")  # with the resignation
    endings = "games of shogi3 are saved as .txt, .json, .jsonl; next: save"
    assert f"{tmp_path / 'e.xml'} ends in .xml; {endings} {tmp_path / 'e.txt'}" in text
    assert f"{tmp_path / 'f'} has no ending; {endings} {tmp_path / 'f.txt'}" in text
    _, text = converse([f"save {tmp_path / 'g.json'}"])
    assert f"g.json ends in .json; games of tic_tac_toe are saved as .txt; next: save {tmp_path}" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == [*names, "d.json"]
    for place in (".", "..", "/"):
        assert (
            "has no ending; games of tic_tac_toe are saved as .txt; next: save game.txt"
            in converse([f"save {place}"])[1]
        )


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (RuntimeError("no"), "write_played of tic_tac_toe fails (RuntimeError: 'no')"),
        (SystemExit(0), "write_played of tic_tac_toe fails (SystemExit"),
        (None, "gives no JSON object on one line"),
        (b"{}", "gives no JSON object on one line"),
        ('{"a":\n1}', "gives no JSON object on one line"),
        ('{"a": "\x1b"}', "write_played of tic_tac_toe fails (JSONDecodeError"),
        ("[1]", "gives no JSON object on one line"),
        ("{}", "saved to"),
    ],
)
def test_a_game_s_own_records_may_be_broken(
    written: Any, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The game in play goes on, no file is left, and what gets the position can't change it."""

    def write_played(position: Any, resigned: int | None) -> Any:
        position.undo()
        if isinstance(written, BaseException):
            raise written
        return written

    monkeypatch.setattr(
        "zelkova.play.record.beside", lambda game, name: SimpleNamespace(write_played=write_played)
    )
    session, text = converse(["b2", f"save {tmp_path / 'a.json'}"])
    assert told in text
    assert len(session.position.actions_played) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"] * (written == "{}")


def test_who_explains_an_illegal_move_can_not_change_the_game() -> None:
    def explain_illegal(game: Any, state: Any, action: int) -> str:
        state["to_play"] = 1 - state["to_play"]
        return "changed"

    session, _ = converse(["b2"])
    before = session.position.state.copy()
    own: Any = SimpleNamespace(**{**vars(session.game.notation), "explain_illegal": explain_illegal})
    session.position.game = session.game = dataclasses.replace(session.game, notation=own)
    written: list[str] = []
    session._write = written.append
    session.answer("b2")
    assert "is not legal here: changed" in "\n".join(written)
    assert np.array_equal(session.position.state, before)


@pytest.mark.parametrize(
    ("game", "line", "answer"),
    [
        ("connect_four", "8", "`8` is no column; allowed: 1 to 7; legal: 1 2 3 4 5 6 7; or type `help`"),
        (
            "othello",
            "a1",
            "`a1` is not legal here: a1 turns no disc over; legal: d3 c4 f5 e6; or type `help`",
        ),
        (
            "shogi3",
            "5e5d",
            "`5e5d`: 5e is empty; allowed: a legal move of Blue's; "
            "type `moves` for the 96 legal moves, or `help`",
        ),
        (
            "shogi3",
            "P*5e",
            "`P*5e` is not legal here: Blue has no P in hand; type `moves` for the 96 legal moves, or `help`",
        ),
    ],
)
def test_what_is_refused_is_told_one_reason_and_what_to_do(game: str, line: str, answer: str) -> None:
    _, text = converse([line], game)
    assert text.splitlines()[-2] == answer


def test_a_move_after_the_end_is_told_of_the_end() -> None:
    _, text = converse(["resign", "a1"])
    assert "`a1` is no command, and the game is over; type `new`, `undo`, `help` or `quit`" in text


@pytest.mark.parametrize(
    ("game", "scale"),
    [
        ("tic_tac_toe", "expected scores of 2 players: a win is 100, a draw 50, a loss 0"),
        ("hex", "expected scores of 2 players: a win is 100, a loss 0"),
        ("connect_four_3p", "expected scores of 3 players: a win is 100, a draw 33.3, a loss 0"),
        ("shogi3", "expected scores of 3 players: a win is 100, a loss 0"),
        ("2048", "expected returns on the game's range, 0 to 1"),
    ],
)
def test_help_tells_the_scale_of_the_game(game: str, scale: str) -> None:
    _, text = converse(["help"], game)
    assert f"percentages are {scale};" in text


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


def test_players_have_the_names_of_their_game() -> None:
    session, text = converse(["new red", "new 3", "new purple", "resign"], "shogi3", seats=[0, 2])
    assert "shogi3: you are player 1 and player 3 of 3, Blue and Green, against first" in text
    assert "shogi3: you are player 2 of 3, Red, against first" in text
    assert "Red (you) to move: " in text
    assert "new takes a player from 1 to 3 or Blue, Red, Green; given: `purple`" in text
    assert "the game is over: Green (you) resigned" in text
    assert session.seats == {2}
