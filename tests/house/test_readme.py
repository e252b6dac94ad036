"""The code in the README is the code of the project, and runs."""

import ast
import re
from pathlib import Path

import pytest
from tests.house.source import ROOT
from tests.training import begin

from zelkova import games
from zelkova.games.check import check_game


def python_blocks() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


SNIPPET, LISTING = python_blocks()


def without_docstrings(text: str) -> list[str]:
    """Give the lines of a file but for its docstrings and blank lines."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.FunctionDef) and ast.get_docstring(node) is not None:
            said = node.body[0]
            lines[said.lineno - 1 : said.end_lineno] = [""] * (int(said.end_lineno or 0) - said.lineno + 1)
    return [line for line in lines if line]


def test_the_listing_of_nim_is_the_example_line_by_line() -> None:
    shown = without_docstrings(LISTING)
    rest = iter(without_docstrings((ROOT / "examples" / "nim.py").read_text(encoding="utf-8")))
    for line in shown:
        assert line in rest, f"the README shows `{line}`, which examples/nim.py does not have there"
    assert len(shown) > 30


def test_the_listing_of_nim_keeps_the_contract_as_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "nim.py"
    file.write_text(LISTING, encoding="utf-8")
    report = check_game(games.load(str(file)), games=1)
    assert report.ok, str(report)


def test_the_snippet_runs_after_a_tiny_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begin(tmp_path / "runs" / "first", source="connect_four").wheel.close()
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    exec(compile(SNIPPET, "README.md", "exec"), scope)
    assert "X" in capsys.readouterr().out
    position = scope["position"]
    assert isinstance(position, games.Position)
    assert position.actions_played[:2] == [3, 3]
    assert len(position.actions_played) == 3
