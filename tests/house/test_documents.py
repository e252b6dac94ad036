"""What the documents tell people to type exists."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.house.source import ROOT

from zelkova.envs.config import EnvConfig
from zelkova.envs.make import make_batch

DOCUMENTS = ["README.md", "CONTRIBUTING.md"]
PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))


def commands(document: str) -> list[list[str]]:
    """List the `zelkova ...` lines of a document's code blocks, split into words."""
    text = (ROOT / document).read_text(encoding="utf-8")
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    lines = [line.split("#")[0].split() for block in blocks for line in block.splitlines()]
    return [words for words in lines if words[:1] == ["zelkova"]]


@cache
def help_of(command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "zelkova", command, "--help"], capture_output=True, text=True
    )
    return done.stdout if done.returncode == 0 else ""


@pytest.mark.parametrize("document", [*DOCUMENTS, *PAGES])
def test_every_command_in_the_documents_exists_with_its_options(document: str) -> None:
    for words in commands(document):
        shown = help_of(words[1])
        assert shown, f"{document} names zelkova {words[1]}, which does not run"
        for option in (word.split("=")[0] for word in words[2:] if word.startswith("--")):
            assert option in shown, f"{document} names zelkova {words[1]} {option}"


def test_the_readme_has_commands() -> None:
    assert len(commands("README.md")) >= 6


@pytest.mark.parametrize("document", DOCUMENTS)
def test_make_targets_in_the_documents_exist(document: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^make (\w+)", (ROOT / document).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


@pytest.mark.parametrize("document", [*DOCUMENTS, *PAGES])
def test_links_between_documents_lead_somewhere(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert ((ROOT / document).parent / target).exists(), target


def test_the_code_of_the_search_page_runs() -> None:
    text = (ROOT / "docs" / "search.md").read_text(encoding="utf-8")
    scope: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        exec(compile(block, "docs/search.md", "exec"), scope)
    assert scope["found"].action.shape == (8, 1)
    assert abs(scope["found"].action - 0.6).mean() < 0.45


POLICY_PAGES = {
    "puct", "gumbel-alphazero", "regularised", "sampled", "stochastic", "proven-wins", "classic", "uct",
    "mean-variance",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(POLICY_PAGES))
def test_a_policy_page_says_what_differs_and_what_was_checked(name: str) -> None:
    text = (ROOT / "docs" / "algorithms" / f"{name}.md").read_text(encoding="utf-8")
    assert re.search(r"^## Differences from the papers?\n\n1\. ", text, flags=re.MULTILINE)
    assert "\n## Figures\n" in text
    assert re.search(r"^## Checked against\n\n.*tests/", text, flags=re.MULTILINE | re.DOTALL)
    assert re.search(r"^```(python)?\n(from|import|zelkova|python) ", text, flags=re.MULTILINE)


WITH_CODE = [
    f"docs/algorithms/{name}.md"
    for name in (
        "classic", "gumbel-alphazero", "mean-variance", "puct", "regularised", "sampled", "stochastic",
    )
]  # fmt: skip


@pytest.mark.parametrize("page", WITH_CODE)
def test_the_code_of_the_algorithms_pages_runs(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    scope: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        exec(compile(block, page, "exec"), scope)


def test_the_environment_of_the_page_can_be_acted_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")
    found = re.search(r"^```python\n(.*?class Walk.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert found is not None
    (tmp_path / "walk.py").write_text(found[1], encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    envs = make_batch(EnvConfig(id="walk:Walk-v0"), 1)
    envs.reset([0])
    assert envs.step(np.array([0])).legal.tolist() == [[False, True, True]]
    for _ in range(4):
        now = envs.step(np.array([2]))
    assert now.terminated[0]
    assert now.rewards[0, 0] == 1.0
