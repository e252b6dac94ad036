"""Settings: every value is checked, nothing is dropped, and what is written reads back the same."""

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zelkova import settings
from zelkova.errors import ConfigError


@dataclass(frozen=True)
class Search:
    num_simulations: int = 32
    policy: Literal["gumbel", "puct"] = "gumbel"
    dirichlet_alpha: float | Literal["auto"] = "auto"
    max_depth: int | None = None

    def __post_init__(self) -> None:
        if self.num_simulations < 1:
            raise ConfigError(f"num_simulations must be 1 or more; given: {self.num_simulations}")


@dataclass(frozen=True)
class Learning:
    learning_rate: float = 0.1
    milestones: tuple[int, ...] = ()
    betas: tuple[float, float] = (0.9, 0.999)
    nesterov: bool = False
    note: str = ""


@dataclass(frozen=True)
class Run:
    seed: int = 0
    search: Search = field(default_factory=Search)
    learning: Learning = field(default_factory=Learning)


def read(text: str) -> Run:
    return settings.build(Run, settings.parse_toml(text, "here.toml"))


def test_values_take_the_type_of_their_annotation() -> None:
    run = read(
        '[learning]\nlearning_rate = 1\nmilestones = [3, 5]\n[search]\nmax_depth = "none"\npolicy = "puct"'
    )
    assert run == Run(search=Search(policy="puct"), learning=Learning(1.0, (3, 5)))
    assert isinstance(run.learning.learning_rate, float)
    assert read("[search]\ndirichlet_alpha = 0.3").search.dirichlet_alpha == 0.3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "[learning]\nlearning-rate = 0.01",
            ["`learning-rate`", "[learning]", "did you mean `learning_rate`"],
        ),
        (
            "learning_rate = 0.01",
            ["`learning_rate`", "the top level", "did you mean `learning_rate` in [learning]"],
        ),
        ("[search]\nlearning_rat = 0.01", ["[search]", "did you mean `learning_rate` in [learning]"]),
        ("[search]\nsimulatons = 400", ["`simulatons`", "[search]", "did you mean `num_simulations`"]),
        (
            '[search]\nnum_simulations = "many"',
            ["search.num_simulations", "a whole number", "`many` (a text)"],
        ),
        ("[search]\nnum_simulations = true", ["search.num_simulations", "a whole number", "(a truth value)"]),
        ("[search]\nnum_simulations = 0", ["[search]", "num_simulations", "1 or more", "0"]),
        ('[search]\npolicy = "gumble"', ["search.policy", '"gumbel" or "puct"', "did you mean `gumbel`"]),
        ("[serch]\npolicy = 1", ["unknown section [serch]", "did you mean `search`"]),
        ("[train]\nlearning-rate = 1", ["unknown section [train]", "`learning_rate` is in [learning]"]),
        ("search = 3", ["search is a section", "[search]"]),
        ("[learning]\nbetas = [0.9]", ["learning.betas", "a list of a number, a number", "(a list)"]),
        ('[learning]\nmilestones = [1, "x"]', ["learning.milestones[1]", "a whole number", "`x`"]),
        ("[learning]\nlearning_rate = nan", ["learning.learning_rate", "a number", "nan"]),
        ("[learning]\nnesterov = 1", ["learning.nesterov", "true or false"]),
        ("seed = [1, 2", ["here.toml", "line 1, column 13"]),
        ("seed = 1\n[search\n", ["here.toml", "line 2, column"]),
    ],
)
def test_a_wrong_setting_is_refused_by_name(text: str, words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text)
    for word in words:
        assert word in str(caught.value)


def test_a_file_that_is_no_config_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(bytes(range(256)))
    with pytest.raises(ConfigError, match="not a text file"):
        settings.read_toml(tmp_path / "binary.toml")
    with pytest.raises(ConfigError, match="can't be read"):
        settings.read_toml(tmp_path / "missing.toml")
    with pytest.raises(ConfigError, match="can't be read"):
        settings.read_toml(tmp_path)
    with pytest.raises(ConfigError, match="not valid TOML"):
        settings.parse_toml("a = " + "[" * 5000, "deep.toml")


@pytest.mark.parametrize("text", ["search.policy", "=3", "search.=3", ".policy=3"])
def test_an_override_needs_a_key_and_a_value(text: str) -> None:
    with pytest.raises(ConfigError, match=r"section\.key=value"):
        settings.parse_override(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a.b=3", 3),
        ("a.b=1e-3", 1e-3),
        ("a.b=true", True),
        ("a.b=puct", "puct"),
        ("a.b=[1, 2]", [1, 2]),
        ("a.b=", ""),
    ],
)
def test_an_override_reads_as_toml_does(text: str, value: object) -> None:
    assert settings.parse_override(text) == (["a", "b"], value)


def test_an_override_is_one_value_only() -> None:
    assert settings.parse_override("a=1\nb = 2") == (["a"], "1\nb = 2")


@given(
    rate=st.floats(allow_nan=False),
    note=st.text(st.characters(exclude_categories=["Cs"])),
    steps=st.lists(st.integers(-(2**63), 2**63 - 1)),
    depth=st.none() | st.integers(0, 9),
)
def test_the_written_config_reads_back_exactly(
    rate: float, note: str, steps: list[int], depth: int | None
) -> None:
    run = Run(7, Search(max_depth=depth), Learning(rate, tuple(steps), note=note))
    assert read(settings.to_toml(run)) == run
    assert math.copysign(1, read(settings.to_toml(run)).learning.learning_rate) == math.copysign(1, rate)


def test_numbers_beyond_all_measure_are_refused() -> None:
    for text in ("seed = " + "9" * 5000, "[learning]\nlearning_rate = " + "9" * 400):
        with pytest.raises(ConfigError):
            read(text)
    keys, value = settings.parse_override("seed=" + "9" * 5000)
    assert keys == ["seed"]
    assert isinstance(value, str)
