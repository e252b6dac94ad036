"""A search answers the same in Python and in WebAssembly, to the bit: visits, weights, values, moves."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from zelkova import games
from zelkova.export.game import export_game
from zelkova.games.game import Game
from zelkova.games.playout import playout
from zelkova.games.single import Single
from zelkova.search.batch import BatchSearch, run
from zelkova.search.config import SearchConfig
from zelkova.search.kernels.native import F32, I32
from zelkova.search.model import Evaluation
from zelkova.search.models.table_model import blank_evaluation

Words = NDArray[np.uint64]
PUCT = SearchConfig(policy="puct", num_simulations=100)
CASES = {
    "tic_tac_toe puct": ("tic_tac_toe", PUCT, 1),
    "connect_four gumbel": ("connect_four", SearchConfig(policy="gumbel", num_simulations=32), 1),
    "tic_tac_toe puct leaves": ("tic_tac_toe", PUCT, 4),
    "connect_four_3p puct": (
        "connect_four_3p",
        SearchConfig(policy="puct", num_simulations=40, fpu="reduction", rescale="tree"),
        2,
    ),
    "connect_four_3p forced": (
        "connect_four_3p",
        SearchConfig(
            policy="puct", num_simulations=60, fpu="lowered", fpu_reduction=0.2, forced_playouts=2.0
        ),
        1,
    ),
}
FIRST = "tic_tac_toe puct"  # the others are slow: they compile the same search anew
MOVES, SEED, MOST = 9, 4711, games.load("connect_four_3p").max_legal_actions


class PlainModel:
    """Rules through their Python calls, with an evaluation that search.mjs computes likewise."""

    def __init__(self, game: Game, search: BatchSearch, evaluation: str, counter: Words) -> None:
        self.game, self.single, self.evaluation, self.counter = game, Single(game), evaluation, counter
        self.most, self.leaves = game.max_legal_actions, search.num_leaves
        self.states = game.new_states(search.num_simulations + 1)

    def root(self) -> Evaluation:
        return self.evaluate(np.zeros(1, np.int32))

    def step(self, parent: I32, action: I32, node: I32) -> Evaluation:
        for row in np.flatnonzero(node >= 0):
            self.states[node[row]] = self.states[parent[row]]
            self.single.step(self.states[node[row]][None], int(action[row]))
        return self.evaluate(node)

    def evaluate(self, nodes: I32) -> Evaluation:
        out = blank_evaluation(len(nodes), self.most, self.game.num_players)
        for row in np.flatnonzero(nodes >= 0):
            state = self.states[nodes[row]][None].copy()
            out.to_play[row] = self.game.view_states(state)[0]["to_play"]
            if self.single.is_terminal(state):
                out.reward[row] = self.single.returns(state)
                out.discount[row] = 0
                continue
            legal = self.single.legal_actions(state)
            out.count[row] = len(legal)
            out.actions[row, : len(legal)] = legal
            logits, out.value[row] = self.answer(state)
            out.prior_logits[row, : len(legal)] = logits[legal]
        return out

    def answer(self, state: Words) -> tuple[F32, F32]:
        if self.evaluation == "rollouts":
            scratch = self.game.new_scratch()
            playout(*self.game.native.moving, state.ctypes.data, self.counter, *scratch)
            return np.zeros(self.game.num_actions, np.float32), self.single.returns(state)
        total = 0
        for value in self.single.observe(state).ravel():
            total = (total * 3 + int(value)) % 65521
        logits = [((total + a * 37) % 64) / 16 for a in range(self.game.num_actions)]
        values = [((total + p * 11) % 32) / 32 for p in range(self.game.num_players)]
        return np.array(logits, np.float32), np.array(values, np.float32)


def same_noise(count: I32) -> F32:
    """Give every legal action the same share."""
    noise = np.zeros((1, MOST), np.float32)
    noise[0, : count[0]] = 1 / count[0]
    return noise


def search_game(game: Game, config: SearchConfig, evaluation: str, num_leaves: int) -> list[dict[str, Any]]:
    """Do what search.mjs does."""
    counter = np.array([SEED], np.uint64)
    state, single = game.initial_states(np.zeros(1, np.uint64)), Single(game)
    log: list[dict[str, Any]] = []
    search = BatchSearch(config, 1, game.max_legal_actions, game.num_players, game.return_range, num_leaves)
    model = PlainModel(game, search, evaluation, counter)
    while len(log) < MOVES and not single.is_terminal(state):
        model.states[0] = state[0]
        result = run(search, model, same_noise if config.forced_playouts > 0 else None)
        log.append(
            {
                "action": int(result.action[0]),
                "visits": result.visit_counts[0].tolist(),
                "weights": result.action_weights[0].tolist(),
                "q": result.q_values[0].tolist(),
                "value": result.value[0].tolist(),
            }
        )
        single.step(state, int(result.action[0]))
    return log


@pytest.mark.parametrize(
    "case", [case if case == FIRST else pytest.param(case, marks=pytest.mark.slow) for case in CASES]
)
def test_search_answers_the_same_in_wasm(case: str, run_node: Callable[..., str], tmp_path: Path) -> None:
    name, config, num_leaves = CASES[case]
    game = games.load(name)
    export_game(game, tmp_path / "game.wasm", config, num_leaves)
    noise = int(config.forced_playouts > 0)
    for evaluation in ("rollouts", "table"):
        found = json.loads(run_node("search.mjs", tmp_path / "game.wasm", MOVES, evaluation, SEED, noise))
        expected = search_game(game, config, evaluation, num_leaves)
        assert len(expected) >= 5
        assert found == expected
        assert all(sum(move["visits"]) >= config.num_simulations - 1 for move in found)
