"""A run's config: presets, games, sizes and overrides, each refused with the nearest name when wrong."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from zelkova import games, settings
from zelkova.config import GameConfig, RunConfig, load_config, preset_names, refuse_changes
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
    with pytest.raises(ConfigError, match="seed is -1; allowed: 0 to"):
        RunConfig(seed=-1)


@pytest.mark.parametrize(
    "override",
    [
        "seed=9223372036854775808",
        'game.name="a\\u0000.py"',
        'rating.opponents=["nobody"]',
        'rating.opponents=["uct:0"]',
        "rating.games=1000000000000",
        "rating.num_simulations=100000000000",
        "selfplay.games=1000000000000",
        "selfplay.moves_per_round=1000000000000",
        "selfplay.cache_positions=100000000000000",
        "learning.batch_size=1000000000000",
        "network.blocks=30000",
        "network.channels=100000000000000",
    ],
)
def test_what_no_run_could_live_with_is_refused_before_it_begins(override: str) -> None:
    with pytest.raises(ConfigError, match="allowed"):
        load_config("alphazero-tic-tac-toe", [override])


def test_a_run_of_an_older_version_goes_on_with_the_defaults_of_what_it_did_not_know() -> None:
    config, file = load_config("connect_four"), Path("config.toml")
    lines = settings.to_toml(config).splitlines(keepends=True)
    saved = "".join(line for line in lines if "pooling_every" not in line)
    assert len(saved) < len("".join(lines))
    refuse_changes(saved, config, file)
    pooling = load_config("connect_four", ["network.pooling_every=2"])
    with pytest.raises(ConfigError, match=r"`network.pooling_every` was 0 when .* and is 2 now"):
        refuse_changes(saved, pooling, file)


@pytest.mark.parametrize(
    ("preset", "override"),
    [
        ("gumbel-muzero-cartpole", "selfplay.restart_share=0.1"),
        ("gumbel-muzero-cartpole", "selfplay.fast_simulations=4"),
        ("muzero-tictactoe", "selfplay.past_share=0.25"),
        ("muzero-tictactoe", "replay.td_lambda=0.5"),
        ("muzero-tictactoe", "network.value_counts=true"),
        ("alphazero-tic-tac-toe", "replay.priority_alpha=1.0"),
    ],
)
def test_settings_that_nothing_would_read_are_refused(preset: str, override: str) -> None:
    name = override.partition("=")[0]
    with pytest.raises(ConfigError, match=rf"{name} is .* where nothing reads it"):
        load_config(preset, [override])
    load_config(preset, [f"{name}={'false' if override.endswith('=true') else 0}"])
