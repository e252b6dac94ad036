"""`zelkova arena` over a run that acts in an environment."""

import json
from pathlib import Path

import pytest
from tests.training import program

from zelkova.envs.make import refuse_inside
from zelkova.errors import ConfigError

SETS = ("--size", "tiny", "--set", "checkpoint.every_rounds=1")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "cartpole"
    done = program("train", "gumbel-muzero-cartpole", *SETS, "--steps", "5", "--out", folder)
    assert done.returncode == 0, done.stderr
    assert "measure it: zelkova arena" in done.stderr
    return folder


def test_arena_gives_the_mean_return(run: Path, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    done = program("arena", run, "--games", "3", "--json", figures)
    assert done.returncode == 0, done.stderr
    assert "CartPole-v1, 4 simulations a decision" in done.stdout
    assert "mean return" in done.stdout
    found = {record["name"]: record for record in json.loads(figures.read_text())}
    assert found["arena/return"]["params"]["episodes"] == 3
    assert found["arena/return"]["value"] >= 1.0
    again = program("arena", run, "--games", "3")
    assert again.stdout == done.stdout


def test_an_environment_has_no_opponents_and_is_not_played(run: Path) -> None:
    done = program("arena", run, "random", "--games", "2")
    assert (done.returncode, done.stdout) == (2, "")
    assert "acts in CartPole-v1, alone" in done.stderr
    done = program("play", run)
    assert done.returncode == 2
    assert "nobody else has a seat; next: zelkova arena" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_report_names_the_environment(run: Path, tmp_path: Path) -> None:
    done = program("report", run, "--out", tmp_path / "report.html")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("CartPole-v1: ")
    assert "can't be replayed" not in done.stdout + done.stderr
    assert "tic_tac_toe: " not in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("CartPole-v99",), "CartPole"),
        (("NoSuchThing-v0",), "unknown environment"),
        (("gumbel-muzero-cartpole", "--set", "env.layout=hwc"), "images"),
        (("gumbel-muzero-cartpole", "--set", "latent.kind=conv"), "planes"),
    ],
)
def test_what_can_t_be_acted_in_is_one_message(
    arguments: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    done = program("train", *arguments, "--out", tmp_path / "run")
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_no_module_of_a_run_s_folder_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sent_along.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="own folder"):
        refuse_inside("sent_along:Mine-v0", tmp_path)
    refuse_inside("sent_along:Mine-v0", tmp_path / "elsewhere")
    refuse_inside("CartPole-v1", tmp_path)
