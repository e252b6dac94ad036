"""A user's game that breaks the contract is refused by every command before its compiled code runs."""

from pathlib import Path

import pytest
from tests.games.test_bad_games import SOUND, TAKE

from zelkova.cli.main import main

LEAVES = "def draw_text(game, state, colour=False, unicode=True):\n    raise SystemExit\n\n\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (TAKE, '    state["taken"][action * 1_000_000] += 1\n', "step() indexes out of range"),
        ('1 - state["to_play"]\n\n', "77\n\n", "to_play to 77"),
        ("def init", f"{LEAVES}def init", "draw_text()"),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        ("play", "{}", "--agent", "random"),
        ("arena", "random", "uct:2", "--game", "{}", "--games", "2"),
        ("train", "{}", "--minutes", "0", "--out", "{}.run"),
        ("check", "{}"),
    ],
    ids=lambda command: command[0],
)
def test_it_is_named_with_exit_code_2(
    command: tuple[str, ...],
    old: str,
    new: str,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    mine = tmp_path / "mine.py"
    assert old in SOUND
    mine.write_text(SOUND.replace(old, new))
    with pytest.raises(SystemExit) as left:
        main([word.format(mine) for word in command])
    told = capsys.readouterr()
    assert left.value.code == 2
    assert "breaks the contract" in told.err
    assert said in told.err
