"""Positions where nature moves: the contract and what it refuses, draws, the friendly position."""

from pathlib import Path

import numpy as np
import pytest
from tests.games.test_bad_games import check

from zelkova import games
from zelkova.errors import GameError, IllegalActionError
from zelkova.games.playout import draw_outcome, playouts

PIG = """import numba
import numpy as np

STATE = np.dtype(
    [("points", np.int32, (2,)), ("turn", np.int32), ("mover", np.int8), ("to_play", np.int8)], align=True
)
NUM_PLAYERS = 2
NUM_ACTIONS = 2
NUM_OUTCOMES = 3
OBSERVATION_SHAPE = (3, 1, 1)
RETURN_RANGE = (-1.0, 1.0)
VIEW = "absolute"
HAS_DRAWS = False


@numba.njit
def is_over(state):
    return max(state["points"][0], state["points"][1]) >= 4


def init(state, seed):
    state["points"][:] = 0
    state["turn"] = 0
    state["mover"] = 0
    state["to_play"] = 0


def legal_actions(state, out):
    if is_over(state):
        return 0
    out[0] = 0
    out[1] = 1
    return 2 if state["turn"] > 0 else 1


def step(state, action):
    mover = state["mover"]
    if state["to_play"] < 0:
        state["turn"] = 0 if action == 0 else state["turn"] + action
        if action == 0:
            state["mover"] = 1 - mover
    elif action == 0:
        state["to_play"] = -1
        return
    else:
        state["points"][mover] += state["turn"]
        state["turn"] = 0
        state["mover"] = 1 - mover
    state["to_play"] = state["mover"]


def chance(state, actions, probs):
    if state["to_play"] >= 0:
        return 0
    for outcome in range(3):
        actions[outcome] = outcome
        probs[outcome] = 0.25 if outcome < 2 else 0.5
    return 3


def is_terminal(state):
    return is_over(state)


def returns(state, out):
    out[0] = 1.0 if state["points"][0] > state["points"][1] else -1.0
    out[1] = -out[0]


def observe(state, planes):
    planes[0, 0, 0] = state["points"][0]
    planes[1, 0, 0] = state["points"][1]
    planes[2, 0, 0] = 10 * state["turn"] + state["mover"]
""".replace(
    "\n\ndef init",
    "\n\n@numba.njit\ndef is_over(state):\n    return max(state['points']) >= 4\n\n\ndef init",
    1,
)
PIG = PIG.replace("import numpy", "import numba\nimport numpy", 1)

GIVES = "    return 3\n"
BROKEN: dict[str, tuple[str, str, str]] = {
    # what: (old text, new text, the promise of chance)
    "sum": ("0.25 if", "0.35 if", "gives probabilities that sum to 1.2; allowed: 1"),
    "zero": ("0.25 if outcome < 2 else 0.5", "1.0 if outcome == 2 else 0.0", "outcome 0 the probability 0"),
    "nan": ("0.25 if outcome < 2", "np.nan if outcome < 2", "outcome 0 the probability nan"),
    "unwritten": (GIVES, "    actions[2] = 1\n    return 3\n", "ascending, each once"),
    "range": ("actions[outcome] = outcome", "actions[outcome] = outcome + 1", "outcome 3; allowed: 0 to 2"),
    "none": (GIVES, "    return 0\n", "gives no outcome where to_play is -1"),
    "too many": (GIVES, "    return 4\n", "NUM_OUTCOMES is 3"),
    "where a player moves": (
        '    if state["to_play"] >= 0:\n        return 0\n',
        "",
        "gives 3 outcomes where to_play is 0; allowed: 0 there",
    ),
    "changes": (GIVES, '    state["turn"] += 1\n    return 3\n', "changes state['turn']"),
}


def test_a_game_with_dice_keeps_the_contract(tmp_path: Path) -> None:
    report = check(tmp_path, PIG)
    assert report.ok, str(report)


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_promise_of_chance_is_named(tmp_path: Path, what: str) -> None:
    old, new, promise = BROKEN[what]
    source = PIG.replace(old, new, 1)
    assert source != PIG
    report = check(tmp_path, source)
    assert [finding.function for finding in report.findings] == ["chance"], str(report)
    assert promise in report.findings[0].promise, str(report)
    line = source.splitlines()[report.findings[0].line - 1]
    assert line.startswith("def chance"), str(report)


def test_an_ending_where_nature_moves_is_refused(tmp_path: Path) -> None:
    source = PIG.replace("    return is_over(state)\n", '    return is_over(state) or state["to_play"] < 0\n')
    report = check(tmp_path, source)
    assert report.findings[0].function == "is_terminal"
    assert "where nature moves" in report.findings[0].promise


def test_nature_moves_only_in_a_game_with_chance(tmp_path: Path) -> None:
    start = PIG.index("def chance")
    source = PIG[:start] + PIG[PIG.index("def is_terminal") :].replace("NUM_OUTCOMES = 3\n", "")
    report = check(tmp_path, source.replace("NUM_OUTCOMES = 3\n", ""))
    assert "sets to_play to -1; allowed: 0 to 1" in report.findings[0].promise


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("NUM_OUTCOMES = 3\n", "", "constant NUM_OUTCOMES is missing"),
        ("NUM_OUTCOMES = 3", "NUM_OUTCOMES = 0", "NUM_OUTCOMES is 0; allowed: a whole number from 1"),
        ("def chance(", "def luck(", "NUM_OUTCOMES is 3, and function chance"),
        (
            "def chance(state, actions, probs)",
            "def chance(state)",
            r"allowed: chance\(state, actions, probs\)",
        ),
    ],
)
def test_a_wrong_form_of_chance_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "mygame.py"
    path.write_text(PIG.replace(old, new, 1))
    with pytest.raises(GameError, match=message):
        games.load(str(path))


def test_outcomes_are_drawn_by_their_probabilities() -> None:
    probs = np.array([0.1, 0.2, 0.0001, 0.6999], np.float32)
    counter = np.array([5], np.uint64)
    counts = np.bincount([draw_outcome(counter, probs, 4) for _ in range(20000)], minlength=4)
    assert np.abs(counts / 20000 - probs).max() < 0.01


def test_playouts_roll_as_the_probabilities_say(tmp_path: Path) -> None:
    path = tmp_path / "mygame.py"
    path.write_text(PIG)
    game = games.load(str(path))
    states = game.initial_states(np.arange(3000, dtype=np.uint64))
    playouts(*game.native.moving, states, np.array([1], np.uint64), *game.new_scratch())
    assert (game.view_states(states)["points"].max(axis=1) >= 4).all()


def test_the_position_shows_and_plays_chance() -> None:
    position = games.load("2048", {"size": 2}).position()
    assert position.is_chance
    assert position.to_play == -1
    assert not position.is_terminal
    assert position.legal_actions().tolist() == []
    assert position.legal_moves() == []
    numbers, probs = position.outcomes()
    assert numbers.tolist() == list(range(8))
    assert probs == pytest.approx([0.225, 0.025] * 4)
    position.play("a2=2").play(3)
    assert not position.is_chance
    assert position.outcomes()[0].tolist() == []
    assert position.actions_played == [0, 3]
    assert position.record["board"].tolist() == [[1, 2], [0, 0]]
    with pytest.raises(IllegalActionError, match="player 1 is to move, not nature"):
        position.draw_outcome(np.random.default_rng(0))
    position.play("down")
    with pytest.raises(IllegalActionError, match="outcome 4 is not possible; possible: a2=2 a2=4 b2=2 b2=4"):
        position.play(4)
    position.undo().undo()
    assert position.is_chance


def test_rolling_follows_the_generator_alone() -> None:
    game = games.load("2048")
    first, again = (game.position().roll(np.random.default_rng(3)) for _ in range(2))
    assert first.actions_played == again.actions_played
    assert len(first.actions_played) == 2
    seeds = np.arange(5, dtype=np.uint64)
    together, alone = game.initial_states(seeds), game.initial_states(seeds)
    game.roll_with(together, seeds)
    for row in range(5):
        game.roll_with(alone[row : row + 1], seeds[row : row + 1])
    assert np.array_equal(together, alone)
    assert len(np.unique(together, axis=0)) > 2
    quiet = games.load("hex")
    rng = np.random.default_rng(1)
    quiet.roll(quiet.initial_states(seeds), rng)
    assert rng.bit_generator.state == np.random.default_rng(1).bit_generator.state, "nothing was drawn"
