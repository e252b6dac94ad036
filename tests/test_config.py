"""A run's config: presets, games, sizes and overrides, each refused with the nearest name when wrong."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from zelkova import games, settings
from zelkova.cli import boundary
from zelkova.config import GameConfig, RunConfig, load_config, preset_names
from zelkova.errors import ConfigError


@dataclass(frozen=True)
class SelfPlay:
    num_games: int = 128


@dataclass(frozen=True)
class Run:
    preset: str = ""
    size: str = "base"
    game: GameConfig = field(default_factory=GameConfig)
    selfplay: SelfPlay = field(default_factory=SelfPlay)


@pytest.fixture
def preset(tmp_path: Path) -> str:
    path = tmp_path / "mine.toml"
    path.write_text('[game]\nname = "connect_four"\nheight = 5\n[sizes.tiny.selfplay]\nnum_games = 8\n')
    return str(path)


@pytest.mark.parametrize("name", preset_names())
@pytest.mark.parametrize("size", ["tiny", "small", "base"])
def test_every_preset_resolves_and_reads_back_in_every_size(name: str, size: str, tmp_path: Path) -> None:
    config = load_config(name, [f"size={size}"])
    assert config.size == size
    games.load(config.game.name, config.game.options)
    saved = tmp_path / "config.toml"
    saved.write_text(settings.to_toml(config))
    assert load_config(str(saved)) == config


@pytest.mark.parametrize("name", games.names())
def test_every_game_resolves(name: str) -> None:
    assert load_config(name).game.name == name


def test_a_game_file_resolves_to_its_full_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text("")
    monkeypatch.chdir(tmp_path)
    assert load_config("mine.py").game.name == str(tmp_path / "mine.py")
    with pytest.raises(ConfigError, match="no such game file"):
        load_config("other.py")


def test_sizes_lie_between_the_preset_and_the_overrides(preset: str) -> None:
    assert load_config(preset, [], Run).selfplay.num_games == 128
    assert load_config(preset, ["size=tiny"], Run).selfplay.num_games == 8
    assert load_config(preset, ["selfplay.num_games=9", "size=tiny"], Run).selfplay.num_games == 9
    assert (
        load_config(preset, ["selfplay.num_games=9", "selfplay.num_games=10"], Run).selfplay.num_games == 10
    )


def test_a_resolved_config_keeps_its_size(preset: str, tmp_path: Path) -> None:
    config = load_config(preset, ["size=tiny"], Run)
    saved = tmp_path / "saved.toml"
    saved.write_text(settings.to_toml(config))
    assert load_config(str(saved), [], Run) == config
    with pytest.raises(ConfigError, match="has no size `small`; it has: base"):
        load_config(str(saved), ["size=small"], Run)


def test_game_options_pass_through_to_the_game(preset: str) -> None:
    config = load_config(preset, ["game.width=9"], Run)
    assert dict(config.game.options) == {"height": 5, "width": 9}
    assert games.load(config.game.name, config.game.options).num_actions == 9


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("selfplay.num_gmes=3", ["[selfplay]", "did you mean `num_games`"]),
        ("num_games=3", ["did you mean `num_games` in [selfplay]"]),
        ("selfplay.num_games=many", ["selfplay.num_games", "a whole number", "many"]),
        ("selfplay=3", ["`selfplay` is a section"]),
        ("size.tiny=3", ["`size` has no keys"]),
        ("selfpaly.num_games=3", ["selfpaly", "did you mean `selfplay`"]),
        ("size=tny", ["unknown size `tny`", "did you mean `tiny`"]),
    ],
)
def test_overrides_obey_the_same_rules(preset: str, override: str, words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(preset, [override], Run)
    for word in words:
        assert word in str(caught.value)


def test_a_text_setting_keeps_what_was_typed(preset: str) -> None:
    assert load_config(preset, ["preset=1e3"], Run).preset == "1e3"
    assert load_config(preset, ['preset="1e3"'], Run).preset == "1e3"


def test_unknown_sources_name_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean `connect_four`"):
        load_config("conect_four")
    with pytest.raises(ConfigError, match="did you mean `alphazero-connect-four`"):
        load_config("alphazero-conect-four")


def test_unknown_sizes_in_a_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[sizes.huge.selfplay]\nnum_games = 8\n")
    with pytest.raises(ConfigError, match=r"unknown size \[sizes\.huge\]"):
        load_config(str(path), [], Run)
    path.write_text("sizes = 3\n")
    with pytest.raises(ConfigError, match="sizes are tables"):
        load_config(str(path), [], Run)


def test_a_seed_below_zero_is_refused() -> None:
    with pytest.raises(ConfigError, match="seed must be 0 or more"):
        RunConfig(seed=-1)


@dataclass(frozen=True)
class Search:
    num_simulations: int = 32

    def __post_init__(self) -> None:
        if self.num_simulations < 1:
            raise ConfigError(f"num_simulations must be 1 or more; given: {self.num_simulations}")


@dataclass(frozen=True)
class Learning:
    learning_rate: float = 0.1


@dataclass(frozen=True)
class TrainRun(Run):
    search: Search = field(default_factory=Search)
    learning: Learning = field(default_factory=Learning)


def refused(source: str, overrides: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Load a config as the program does, and give what it says before it leaves with code 2."""
    with pytest.raises(SystemExit) as left, boundary.errors_as_messages():
        load_config(source, overrides, TrainRun)
    assert left.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("section", "key", "value", "words"),
    [
        ("learning", "learning-rate", "0.01", ["[learning]", "did you mean `learning_rate`"]),
        ("", "learning_rate", "0.01", ["the top level", "did you mean `learning_rate` in [learning]"]),
        ("search", "simulatons", "400", ["[search]", "did you mean `num_simulations`"]),
        ("search", "num_simulations", '"many"', ["search.num_simulations", "a whole number"]),
        ("search", "num_simulations", "0", ["[search]", "num_simulations must be 1 or more"]),
    ],
)
def test_case_pub_cli_1_in_a_file_and_on_the_command_line(
    section: str, key: str, value: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.toml"
    path.write_text((f"[{section}]\n" if section else "") + f"{key} = {value}\n")
    override = f"{section}.{key}={value}" if section else f"{key}={value}"
    for said in (refused(str(path), [], capsys), refused("connect_four", [override], capsys)):
        for word in [key, *words]:
            assert word in said


def test_case_pub_cli_1_a_syntax_error_has_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.toml"
    path.write_text("train = [1, 2")
    said = refused(str(path), [], capsys)
    assert str(path) in said
    assert "line 1, column 14" in said
