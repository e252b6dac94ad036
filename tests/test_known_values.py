"""Learned models over tasks so small that value, reward, policy and turn are known by hand."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces

from zelkova.agents.learned.agent import LearnedAgent
from zelkova.agents.learned.load import load_learned
from zelkova.agents.learned.model import Observed
from zelkova.config import load_config
from zelkova.errors import ConfigError
from zelkova.train import Run

LEARN = (
    "size=tiny", "selfplay.games=8", "selfplay.moves_per_round=12", "learning.learning_rate=0.01",
    "learning.warmup_steps=0", "learning.batch_size=64", "learning.samples_per_position=16",
    "loss.consistency_weight=0", "unroll.unroll_steps=3", "checkpoint.every_rounds=1000",
)  # fmt: skip
NEAR = 0.12  # how far a number learnt in a few hundred steps may be off


class Tabled(gymnasium.Env[Any, Any]):
    """Pays what a table says of all actions so far; the observation is one-hot in them."""

    action_space = spaces.Discrete(2)
    observation_space = spaces.Box(0.0, 1.0, (7,), np.float32)

    def __init__(self, table: dict[tuple[int, ...], float]) -> None:
        self.table = table
        self.taken: tuple[int, ...] = ()

    def see(self) -> Any:
        place = 2 ** len(self.taken) - 1 + int("0" + "".join(map(str, self.taken)), 2)
        return np.eye(7, dtype=np.float32)[place]

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.taken = ()
        return self.see(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.taken = (*self.taken, int(action))
        is_end = len(self.taken) == max(map(len, self.table))
        return self.see(), self.table[self.taken], is_end, False, {}


ONE: dict[tuple[int, ...], float] = {(0,): 1.0, (1,): 0.0}
TWO = {(0,): 0.2, (1,): 0.5, (0, 0): 1.0, (0, 1): 0.0, (1, 0): 0.0, (1, 1): 0.4}


@pytest.fixture(autouse=True)
def tables() -> Iterator[None]:
    gymnasium.register("One-v0", lambda **_: Tabled(ONE))
    gymnasium.register("Two-v0", lambda **_: Tabled(TWO))
    yield
    gymnasium.registry.pop("One-v0")
    gymnasium.registry.pop("Two-v0")


def learn(folder: Path, source: str, overrides: tuple[str, ...], rounds: int) -> Run:
    folder.mkdir(parents=True, exist_ok=True)
    run = Run(load_config(source, [*LEARN, *overrides]), folder)
    run.begin()
    for _ in range(rounds):
        run.turn()
    run.save()
    run.wheel.close()
    return run


def told(agent: LearnedAgent, observation: Any, *actions: int, to_play: int = 0) -> list[Any]:
    """Give (reward [P], value [P], most likely action, whose turn) along actions; no reward at the root."""
    found: list[Any] = []
    with torch.inference_mode():
        seen = Observed(torch.from_numpy(np.asarray(observation)[None]), torch.tensor([to_play]))
        at: Any = agent.model.root(seen)
        found.append((None, at.value[0].numpy(), int(at.prior_logits[0].argmax()), int(at.to_play[0])))
        for action in actions:
            at = agent.model.step(at.embedding, torch.tensor([action]))
            best = int(at.prior_logits[0].argmax())
            found.append((at.reward[0].numpy(), at.value[0].numpy(), best, int(at.to_play[0])))
    return found


def agent_of(run: Run) -> LearnedAgent:
    agent: LearnedAgent = run.wheel.agent  # type: ignore[attr-defined]
    return agent


def near(value: Any, wanted: float) -> bool:
    return float(value[0]) == pytest.approx(wanted, abs=NEAR)


def test_a_one_step_environment(tmp_path: Path) -> None:
    agent = agent_of(learn(tmp_path, "One-v0", ("unroll.discount=0.9", "replay.capacity=300"), 20))
    start = np.eye(7, dtype=np.float32)[0]
    root, good, absorbed, still = told(agent, start, 0, 1, 0)
    _, bad = told(agent, start, 1)
    assert near(root[1], 1.0)
    assert root[2] == 0
    assert near(good[0], 1.0)
    assert near(bad[0], 0.0)
    for beyond in (good, bad, absorbed, still):
        assert near(beyond[1], 0.0)  # nothing follows an end
    assert near(absorbed[0], 0.0)
    assert near(still[0], 0.0)


def test_a_two_step_environment(tmp_path: Path) -> None:
    """0.2 + 0.9 * 1 is more than 0.5 + 0.9 * 0.4: the larger first reward is the worse choice."""
    agent = agent_of(learn(tmp_path, "Two-v0", ("unroll.discount=0.9",), 30))
    start = np.eye(7, dtype=np.float32)[0]
    root, first, last, absorbed = told(agent, start, 0, 0, 1)
    assert near(root[1], 0.2 + 0.9 * 1.0)
    assert root[2] == 0
    assert near(first[0], 0.2)
    assert near(first[1], 1.0)  # unrolled, and never seen by the representation
    assert first[2] == 0
    assert near(last[0], 1.0)
    assert near(last[1], 0.0)
    assert near(absorbed[0], 0.0)
    assert near(absorbed[1], 0.0)
    _, other, end = told(agent, start, 1, 1)
    assert near(other[0], 0.5)
    assert other[2] == 1
    assert near(end[0], 0.4)
    seen = told(agent, np.eye(7, dtype=np.float32)[1])[0]  # the same position as an observation
    assert near(seen[1], 1.0)
    assert seen[2] == 0


TWICE = '''
"""Three moves, of which the last wins; 0: the mover moves again, 1: the other does. So 0 is always best."""
import numpy as np

STATE = np.dtype([("moves", np.int8), ("last", np.int8), ("to_play", np.int8)], align=True)
NUM_PLAYERS, NUM_ACTIONS, OBSERVATION_SHAPE = 2, 2, (1, 1, 4)
RETURN_RANGE, VIEW = (-1.0, 1.0), "mover"


def init(state, seed):
    state["moves"] = 0
    state["last"] = 0
    state["to_play"] = 0


def legal_actions(state, out):
    if state["moves"] >= 3:
        return 0
    out[0] = 0
    out[1] = 1
    return 2


def step(state, action):
    state["moves"] += 1
    state["last"] = state["to_play"]
    if action == 1:
        state["to_play"] = 1 - state["to_play"]


def is_terminal(state):
    return state["moves"] >= 3


def returns(state, out):
    out[state["last"]] = 1.0
    out[1 - state["last"]] = -1.0


def observe(state, planes):
    planes[0, 0, state["moves"]] = 1.0
'''


def is_won_by(seat: int, value: Any) -> bool:
    """Say whether a value or reward [2] is clearly for a seat: games on the way to it were lost by trying."""
    return float(value[seat]) > 0.4 and float(value[1 - seat]) < -0.4


def test_a_player_who_moves_twice_in_a_row_is_learnt(tmp_path: Path) -> None:
    game = tmp_path / "twice.py"
    game.write_text(TWICE)
    sets = (f"game.name={game}", "unroll.discount=1.0", "selfplay.exploration_moves=0")
    with pytest.raises(ConfigError, match=r"latent\.turns = learned"):
        learn(tmp_path / "cyclic", "muzero-tictactoe", sets, 3)
    learn(tmp_path / "run", "muzero-tictactoe", (*sets, "latent.turns=learned", "replay.capacity=1500"), 30)
    parts = load_learned(tmp_path / "run", device="cpu")
    sizes = parts.agent.network.sizes
    assert (sizes.is_turned, sizes.learns_turns) == (True, True)
    start = np.array([[[1, 0, 0, 0]]], np.float32)
    root, again, third, end = told(parts.agent, start, 0, 0, 0)
    assert [step[3] for step in (root, again, third)] == [0, 0, 0]
    assert [step[2] for step in (root, again)] == [0, 0]
    for step in (root, again, third):
        assert is_won_by(0, step[1])
    assert is_won_by(0, end[0])
    assert end[1] == pytest.approx([0, 0], abs=0.3)
    _, passed, back = told(parts.agent, start, 1, 1)
    assert [passed[3], back[3]] == [1, 0]
    assert is_won_by(1, passed[1])
    assert is_won_by(0, back[1])
    one = told(parts.agent, start, 1, to_play=1)  # the same from the other seat
    assert [one[0][3], one[1][3]] == [1, 0]
    assert is_won_by(1, one[0][1])


class Lock(gymnasium.Env[Any, Any]):
    """A lock of two wheels: pays 1 at (2, 4) of 8 x 8, and less by a tenth for each notch beside it."""

    action_space = spaces.MultiDiscrete([8, 8])
    observation_space = spaces.Box(0.0, 1.0, (7,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return np.eye(7, dtype=np.float32)[0], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        notches = abs(int(action[0]) - 2) + abs(int(action[1]) - 4)
        return np.eye(7, dtype=np.float32)[1], 1.0 - 0.1 * notches, True, False, {}


def test_a_large_set_of_actions_is_learnt_from_a_few_drawn_at_each_node(tmp_path: Path) -> None:
    gymnasium.register("Lock-v0", lambda **_: Lock())
    try:
        run = learn(tmp_path, "Lock-v0", ("planning.num_samples=8", "search.num_simulations=8"), 30)
    finally:
        gymnasium.registry.pop("Lock-v0")
    buffer = run.wheel.buffer
    assert ((buffer.columns["policy"][: len(buffer)] > 0).sum(axis=1) <= 8).all()
    assert buffer.columns["legal"][0].all()  # what was not drawn stays legal
    start = np.eye(7, dtype=np.float32)[:1]
    turn, legal, agent = np.zeros(1, np.int8), np.ones((1, 64), np.bool_), agent_of(run)
    picks = [int(agent.search(start, turn, legal, seed=seed).action[0]) for seed in range(30)]
    rewards = [1.0 - 0.1 * (abs(pick // 8 - 2) + abs(pick % 8 - 4)) for pick in picks]
    assert np.mean(rewards) > 0.85  # drawn evenly: 0.56
