"""A misspelt or misplaced setting stops a training before any work (case pub-cli-1)."""

from pathlib import Path

import pytest

from zelkova.cli.main import main


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Start a training that must be refused with exit code 2 and no run folder; give what it said."""
    with pytest.raises(SystemExit) as left:
        main(["train", *arguments])
    assert left.value.code == 2
    assert not Path("runs").exists()
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


@pytest.mark.parametrize(
    ("section", "key", "value", "words"),
    [
        ("learning", "learning-rate", "0.01", ["[learning]", "did you mean `learning_rate`"]),
        ("", "learning_rate", "0.01", ["the top level", "did you mean `learning_rate` in [learning]"]),
        ("search", "simulatons", "400", ["[search]", "did you mean `num_simulations`"]),
        ("search", "num_simulations", '"many"', ["search.num_simulations", "a whole number"]),
        ("search", "num_simulations", "0", ["search.num_simulations", "from 1 to"]),
    ],
)
def test_case_pub_cli_1_in_a_file_and_on_the_command_line(
    section: str, key: str, value: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.toml"
    path.write_text((f"[{section}]\n" if section else "") + f"{key} = {value}\n")
    override = f"{section}.{key}={value}" if section else f"{key}={value}"
    for said in (refused(capsys, str(path)), refused(capsys, "connect_four", "--set", override)):
        for word in [key, *words]:
            assert word in said


def test_case_pub_cli_1_a_syntax_error_has_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.toml"
    path.write_text("train = [1, 2")
    said = refused(capsys, str(path))
    assert str(path) in said
    assert "line 1, column 14" in said
