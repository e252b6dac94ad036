"""`zelkova arena` over a run that acts in an environment."""

import json
import shutil
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from tests.training import call

from zelkova.agents.learned.load import load_learned
from zelkova.cli.diagnosis import diagnose
from zelkova.cli.environment import open_environment
from zelkova.envs.make import refuse_inside
from zelkova.errors import CheckpointError, ConfigError
from zelkova.networks.weights import load_weights, save_weights
from zelkova.reports.run import read_run
from zelkova.reports.summary import summarise

SETS = ("--size", "tiny", "--set", "checkpoint.every_rounds=1")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "cartpole"
    done = call("train", "gumbel-muzero-cartpole", *SETS, "--steps", "5", "--out", folder)
    assert done.returncode == 0, done.stderr
    assert "measure it: zelkova arena" in done.stderr
    return folder


def test_arena_gives_the_mean_return(run: Path, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    done = call("arena", run, "--games", "3", "--json", figures)
    assert done.returncode == 0, done.stderr
    assert "CartPole-v1, 4 simulations a decision" in done.stdout
    assert "mean return" in done.stdout
    found = {record["name"]: record for record in json.loads(figures.read_text())}
    assert found["arena/return"]["params"]["episodes"] == 3
    assert found["arena/return"]["value"] >= 1.0
    again = call("arena", run, "--games", "3")
    assert again.stdout == done.stdout


def test_an_environment_has_no_opponents_and_is_not_played(run: Path) -> None:
    done = call("arena", run, "random", "--games", "2")
    assert (done.returncode, done.stdout) == (2, "")
    assert "acts in CartPole-v1, alone" in done.stderr
    done = call("play", run)
    assert done.returncode == 2
    assert "nobody else has a seat; next: zelkova arena" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_report_names_the_environment(run: Path, tmp_path: Path) -> None:
    done = call("report", run, "--no-diagnosis", "--out", tmp_path / "report.html")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("CartPole-v1: ")
    assert "can't be replayed" not in done.stdout + done.stderr
    assert "tic_tac_toe: " not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_report_looks_into_a_learned_model(run: Path, tmp_path: Path) -> None:
    page, figures = tmp_path / "report.html", tmp_path / "figures.json"
    done = call("report", run, "--out", page, "--json", figures)
    assert done.returncode == 0, done.stderr
    assert "played 4 episodes of CartPole-v1 from fixed seeds" in done.stdout
    assert "Values are off by" in done.stdout
    found = json.loads(figures.read_text())
    depths = [record["params"]["depth"] for record in found if record["name"] == "diagnosis/value_error"]
    assert depths == list(range(11))  # twice K = 5
    (gain,) = [record["value"] for record in found if record["name"] == "diagnosis/search_gain"]
    assert np.isfinite(gain)
    text = page.read_text(encoding="utf-8")
    assert "<h2>Diagnosis</h2>" in text
    assert "data:image/gif;base64," in text or "no film of an episode" in text  # without pygame


def copy_of(run: Path, folder: Path, **words: str) -> Path:
    """Copy a run, with other words in its newest checkpoint, which alone is left."""
    shutil.copytree(run, folder)
    *older, newest = sorted((folder / "checkpoints").glob("*.safetensors"))
    for file in older:
        file.unlink()
    tensors, old = load_weights(newest)
    save_weights(newest, tensors, {**old, **words})
    return folder


@pytest.mark.parametrize(
    ("env", "words"),
    [
        ("NoSuchThing-v0", "no diagnosis: unknown environment"),
        ("got.evil:Thing-v0", "own folder"),
        ("MountainCar-v0", "no diagnosis: "),
    ],
)
def test_what_can_not_be_played_is_a_remark(
    run: Path, tmp_path: Path, env: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {**json.loads(load_weights(max((run / "checkpoints").glob("*.safetensors")))[1]["env"]), "id": env}
    folder = copy_of(run, tmp_path / "got", env=json.dumps(kept))
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w').close()\n")
    monkeypatch.syspath_prepend(tmp_path)
    read = read_run(folder)
    assert diagnose(read) is None
    assert len(read.remarks) == 1
    assert words in read.remarks[0]
    assert not (tmp_path / "mark").exists()


def test_a_damaged_checkpoint_is_a_remark(run: Path, tmp_path: Path) -> None:
    folder = copy_of(run, tmp_path / "got")
    (file,) = (folder / "checkpoints").glob("*.safetensors")
    file.write_bytes(file.read_bytes()[:-100])
    done = call("report", folder)
    assert done.returncode == 0
    assert "note: no diagnosis: no checkpoint of" in done.stdout
    assert "Traceback" not in done.stderr
    assert (folder / "report.html").is_file()


def test_a_game_whose_rules_stay_hidden_has_its_board_and_a_diagnosis(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    done = call("train", "muzero-tictactoe", *SETS, "--steps", "5", "--out", folder)
    assert done.returncode == 0, done.stderr
    done = call("report", folder)
    assert done.returncode == 0, done.stderr
    assert "played 4 episodes of tic_tac_toe" in done.stdout
    assert "note:" not in done.stdout
    assert "data:image/svg+xml;base64," in (folder / "report.html").read_text(encoding="utf-8")


def test_values_beyond_the_support_are_an_alarm(tmp_path: Path) -> None:
    sets = (*SETS, "--set", "latent.value_limit=1", "--set", "rating.every_rounds=0")
    done = call("train", "gumbel-muzero-cartpole", *sets, "--steps", "30", "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("outside_support: ") == 1
    shown = summarise(read_run(tmp_path / "run"))
    assert any(line.startswith("alarm outside_support in ") for line in shown)


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
    done = call("train", *arguments, "--out", tmp_path / "run")
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_no_module_of_a_run_s_folder_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sent_along.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="own folder"):
        refuse_inside("sent_along:Mine-v0", tmp_path)
    refuse_inside("sent_along:Mine-v0", tmp_path / "elsewhere")
    (tmp_path / "above" / "got").mkdir(parents=True)
    (tmp_path / "above" / "got" / "mine.py").write_text("raise SystemExit('imported')")
    for name in ("above.got:Mine-v0", "above.got.mine:Mine-v0"):
        with pytest.raises(ConfigError, match="own folder"):
            refuse_inside(name, tmp_path / "above" / "got")
    refuse_inside("CartPole-v1", tmp_path)


def edited(run: Path, folder: Path, **words: object) -> Path:
    """Copy the newest checkpoint, with other words and a checksum that fits them."""
    tensors, before = load_weights(max((run / "checkpoints").glob("*.safetensors")))
    folder.mkdir()
    changed = {name: json.dumps(word) for name, word in words.items()}
    save_weights(folder / "edited.safetensors", tensors, {**before, **changed})
    return folder / "edited.safetensors"


SPACE = {"observation_shape": [4], "num_actions": 2, "action_dim": 0, "num_players": 1}


@pytest.mark.parametrize(
    "words",
    [
        {"env": None}, {"env": [1]}, {"env": "x"}, {"env": {"id": "CartPole-v1", "make": [1]}},
        {"dynamics": {"discount": 1.0, "prefix_reset": float("inf")}}, {"dynamics": 1}, {"latent": None},
        {"sizes": {**SPACE, "num_actions": -1}}, {"sizes": {**SPACE, "num_players": True}},
        {"sizes": {**SPACE, "observation_shape": None}}, {"sizes": []},
        {"sizes": {**SPACE, "action_dim": 1.5}},
    ],
)  # fmt: skip
def test_an_edited_description_is_refused(run: Path, tmp_path: Path, words: dict[str, object]) -> None:
    with pytest.raises(CheckpointError, match="edited.safetensors does not describe an agent"):
        open_environment(edited(run, tmp_path / "x", **words), 1)


@pytest.mark.parametrize("name", ["Acrobot-v1", "CartPoleWithThreeActions-v0"])
def test_another_environment_is_refused(run: Path, tmp_path: Path, name: str) -> None:
    def make(**_: Any) -> Any:
        env = gymnasium.make("CartPole-v1")
        env.action_space = gymnasium.spaces.Discrete(3)
        return env

    gymnasium.register("CartPoleWithThreeActions-v0", make)
    try:
        with pytest.raises(CheckpointError, match=r"was trained (on|with) .*here: "):
            open_environment(edited(run, tmp_path / "x", env={"id": name}), 1)
    finally:
        del gymnasium.registry["CartPoleWithThreeActions-v0"]


def test_a_game_that_is_not_the_models_is_refused(run: Path, tmp_path: Path) -> None:
    tensors, words = load_weights(edited(run, tmp_path / "x"))
    file = tmp_path / "x" / "game.safetensors"
    save_weights(file, tensors, {**words, "game": "tic_tac_toe", "game_options": "{}"})
    with pytest.raises(CheckpointError, match="next: the game it was trained on"):
        load_learned(file)
