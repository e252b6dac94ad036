"""A run that came from someone else runs no code: a game's file in its own folder is never executed."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.training import begin, tiny

from zelkova import games, settings
from zelkova.agents.load import load_agent
from zelkova.cli.main import main
from zelkova.config import load_config, refuse_changes
from zelkova.errors import GameError
from zelkova.networks.weights import load_weights, save_weights
from zelkova.reports.run import read_run

NIM = Path(__file__).parents[2] / "examples" / "nim.py"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of nim without a round."""
    run = begin(tmp_path_factory.mktemp("trained") / "run", source=str(NIM))
    run.wheel.close()
    (run.folder / "games").mkdir()
    return run.folder


class Trap:
    """A run whose config and checkpoint name a file that leaves a mark when it is executed."""

    def __init__(self, trained: Path, folder: Path, file: Path, named: str | None = None) -> None:
        self.folder, self.mark = folder, folder.parent / "executed"
        shutil.copytree(trained, folder)
        file.write_text(f"open({str(self.mark)!r}, 'w').close()\n" + NIM.read_text(encoding="utf-8"))
        name = named or str(file)
        self.checkpoint = next((folder / "checkpoints").glob("*.safetensors"))
        tensors, words = load_weights(self.checkpoint)
        save_weights(self.checkpoint, tensors, {**words, "game": name})
        text = settings.to_toml(tiny(source=str(NIM))).replace(str(NIM), name)
        (folder / "config.toml").write_text(text, encoding="utf-8")
        (folder / "games" / "00000001.txt").write_text("a1 b2\n")


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    with pytest.raises(SystemExit) as left:
        main([str(word) for word in arguments])
    assert left.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("place", ["nim.py", "checkpoints/nim.py", "games/nim.py"])
def test_no_command_executes_a_file_of_the_runs_folder(
    trained: Path, tmp_path: Path, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    trap = Trap(trained, tmp_path / "got", tmp_path / "got" / place)
    run, checkpoint = trap.folder, trap.checkpoint
    for arguments in (
        ("play", run), ("play", checkpoint), ("play", NIM, "--seat", "2", "--agent", run),
        ("play", "tic_tac_toe", "--seat", "2", "--agent", checkpoint),
        ("arena", run, "random"), ("arena", checkpoint, "random", "--game", NIM),
        ("train", "--resume", run, "--steps", "1"), ("train", run / "config.toml", "--out", tmp_path / "new"),
        ("check", run / "config.toml"),
    ):  # fmt: skip
        said = refused(capsys, *arguments)
        assert "lies in the run's own folder" in said, arguments
        assert "--set game.name=path/to/game.py" in said
        assert not trap.mark.exists(), arguments
    assert read_run(run).sample is None
    assert not trap.mark.exists()


def test_a_checkpoint_that_came_alone_counts_with_its_folder(trained: Path, tmp_path: Path) -> None:
    trap = Trap(trained, tmp_path / "got", tmp_path / "got" / "x.py")
    alone = tmp_path / "mail" / "best.safetensors"
    alone.parent.mkdir()
    tensors, words = load_weights(trap.checkpoint)
    (tmp_path / "mail" / "x.py").write_text((trap.folder / "x.py").read_text())
    save_weights(alone, tensors, {**words, "game": str(tmp_path / "mail" / "x.py")})
    with pytest.raises(GameError, match="never executed"):
        load_agent(alone)
    assert not trap.mark.exists()


@pytest.mark.parametrize("name", ["got/x.py", "./got/../got/x.py", "link/x.py", "elsewhere.py"])
def test_no_way_to_write_the_path_leads_around_it(
    trained: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trap = Trap(trained, tmp_path / "got", tmp_path / "got" / "x.py", named=name)
    os.symlink(trap.folder, "link")
    os.symlink(trap.folder / "x.py", "elsewhere.py")
    ways: list[Callable[[], object]] = [
        lambda: load_agent("got"),
        lambda: load_agent(tmp_path / "link"),
        lambda: load_agent(trap.checkpoint.relative_to(tmp_path)),
    ]
    for way in ways:
        with pytest.raises(GameError, match="never executed"):
            way()
    assert not trap.mark.exists()


def test_a_link_in_the_folder_is_a_file_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    os.symlink(NIM, tmp_path / "run" / "nim.py")
    with pytest.raises(GameError, match="never executed"):
        games.refuse_inside(str(tmp_path / "run" / "nim.py"), tmp_path / "run")
    games.refuse_inside(str(NIM), tmp_path / "run")
    games.refuse_inside("tic_tac_toe", tmp_path)


def test_a_file_that_was_moved_out_and_is_named_goes_on(trained: Path, tmp_path: Path) -> None:
    trap = Trap(trained, tmp_path / "got", tmp_path / "got" / "nim.py")
    source = str(trap.folder / "config.toml")
    with pytest.raises(GameError, match="never executed"):
        load_config(source)
    moved = shutil.move(trap.folder / "nim.py", tmp_path / "nim.py")
    config = load_config(source, [f"game.name={moved}"])
    refuse_changes(settings.to_toml(tiny(source=str(NIM))), config, tmp_path)
    assert config.game.name == str(moved)
    assert not trap.mark.exists()


def test_a_checkpoint_deeper_in_a_run_counts_with_the_whole_run(trained: Path, tmp_path: Path) -> None:
    trap = Trap(trained, tmp_path / "got", tmp_path / "got" / "x.py")
    inner = shutil.copytree(trap.folder / "checkpoints", trap.folder / "inner" / "checkpoints")
    for place in (inner.parent, next(inner.glob("*.safetensors"))):
        with pytest.raises(GameError, match="never executed"):
            load_agent(place)
    assert not trap.mark.exists()


@pytest.mark.parametrize("name", ["inner", "inner/checkpoints", "."])
def test_a_teacher_in_the_runs_own_folder_is_not_asked(
    trained: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    trap = Trap(trained, tmp_path / "got", tmp_path / "got" / "x.py")
    shutil.copytree(trap.folder / "checkpoints", trap.folder / "inner" / "checkpoints")
    text = settings.to_toml(tiny(source=str(NIM))).replace('player = ""', f'player = "{trap.folder / name}"')
    text = text.replace("positions = 0", "positions = 100")
    (trap.folder / "config.toml").write_text(text, encoding="utf-8")
    for arguments in (
        ("train", "--resume", trap.folder), ("train", trap.folder / "config.toml", "--out", tmp_path / "new"),
    ):  # fmt: skip
        assert "lies in the run's own folder" in refused(capsys, *arguments)
    assert not trap.mark.exists()


def test_settings_of_a_run_import_no_module_of_its_folder(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = Path(shutil.copytree(trained, tmp_path / "got"))
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w').close()\n")
    (folder / "config.toml").write_text('model = "learned"\n[env]\nid = "got.evil:X-v0"\n')
    for arguments in (
        ("train", "--resume", folder), ("train", folder / "config.toml", "--out", tmp_path / "new"),
    ):  # fmt: skip
        assert "would be imported from the run's own folder" in refused(capsys, *arguments)
    assert not (tmp_path / "mark").exists()


def test_a_games_file_may_raise_anything(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text("class Odd(BaseException): pass\nraise Odd('away')\n")
    with pytest.raises(GameError, match="line 2, raised Odd: away; next: mend the file"):
        games.load(str(tmp_path / "odd.py"))
