"""What three-player shogi says of its own positions: worked by hand."""

import numpy as np
import pytest

from zelkova import games
from zelkova.games.shogi3.position import text_to_position
from zelkova.games.single import CompiledRules

ALONE = "4rK4/9/9/9/4bR4/9/9/9/4bK3gK {} -/-/- - 0 own"  # Blue's rook faces Red's king


@pytest.fixture(scope="module")
def game() -> games.Game:
    return games.load("shogi3")


def judge(game: games.Game, text: str) -> list[float]:
    out = np.zeros(3, np.float32)
    CompiledRules(game).evaluate(text_to_position(game, text), out)
    return [round(float(value), 4) for value in out]


def test_at_the_start_all_are_even(game: games.Game) -> None:
    out = np.zeros(3, np.float32)
    CompiledRules(game).evaluate(game.position().state, out)
    np.testing.assert_allclose(out, 1 / 3, atol=1e-6)


def test_a_king_that_can_be_taken_counts_as_taken(game: games.Game) -> None:
    rook = 1 / (1 + np.exp(-900 / 600))
    assert judge(game, ALONE.format("b")) == [round(rook, 4), 0.0, round(1 - rook, 4)]


def test_where_none_can_be_taken_material_decides_among_the_living(game: games.Game) -> None:
    shares = np.exp([900 / 600, 0.0, 0.0])
    assert judge(game, ALONE.format("g")) == [round(float(s), 4) for s in shares / shares.sum()]


def test_the_last_two_share_all(game: games.Game) -> None:
    values = judge(game, "9/9/9/9/4bR4/9/9/9/4bK3gK g -/-/- r 0 own")
    assert values[1] == 0.0
    assert sum(values) == pytest.approx(1.0, abs=1e-4)


def test_weights_of_captures_and_promotions(game: games.Game) -> None:
    state = text_to_position(game, "4rK4/9/9/4gP4/4bR4/9/9/9/4bK3gK b P/-/- - 0 own")
    actions = np.zeros(game.max_legal_actions, np.int32)
    rules = CompiledRules(game)
    actions = actions[: rules.legal_actions(state, actions)].copy()
    out = np.zeros(len(actions), np.float32)
    rules.weigh(state, actions, out)
    found = dict(zip(actions.tolist(), out.tolist(), strict=True))
    assert found[81 * 0 + 9 * 3 + 4] == 2.0  # takes the pawn: 1 + 100 / 100
    assert all(weight == 1.0 for action, weight in found.items() if action != 31)
    state = text_to_position(game, ALONE.format("b"))
    actions = np.zeros(game.max_legal_actions, np.int32)
    actions = actions[: rules.legal_actions(state, actions)].copy()
    out = np.zeros(len(actions), np.float32)
    rules.weigh(state, actions, out)
    found = dict(zip(actions.tolist(), out.tolist(), strict=True))
    assert found[4] == 51.0  # takes the king
    assert found[81 * 10 + 4] == 52.0  # and promotes
    assert found[81 * 10 + 9 * 2 + 4] == 2.0  # promotes alone
