"""The fast rules and the slow ones give the same answers over many random games."""

import numpy as np
import pytest
from tests.games.shogi3.agree import agree
from tests.games.shogi3.slow import SlowGame

from zelkova import games


def test_20000_random_plies_agree_under_the_three_capture_rules() -> None:
    met = agree(20_000, seed=11)
    assert met["plies"] >= 20_000
    assert min(met["last"], met["entry"], met["limit"], met["resigned"], met["passes"]) > 0
    assert met["most moves"] > 200


@pytest.mark.parametrize("rule", ["own", "share", "vanish"])
def test_a_whole_game_of_the_compiled_playout_is_a_slow_game(rule: str) -> None:
    """The games that the speed is measured on are games by the rules, from the start to the end."""
    game = games.load("shogi3", {"capture": rule})
    rng = np.random.default_rng(5)
    position, slow = game.position(), SlowGame(SlowGame().text().replace("own", rule))
    while not position.is_terminal:
        action = int(rng.choice(position.legal_actions()))
        slow.play(position.action_to_text(action))
        position.play(action)
    assert slow.winner == "brg"[int(position.returns.argmax())]
