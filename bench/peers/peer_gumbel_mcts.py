"""gumbel-mcts: its PUCT and GumbelDense trees, compiled by Numba, with a game and a model made of tables.

A board is one number, the state; the model is asked through torch, as the package does.
"""

from importlib.metadata import version

import dialogue

dialogue.keep_to_one_core()

import numpy as np  # noqa: E402
import tables  # noqa: E402
import torch  # noqa: E402
from gumbel_mcts import PUCT, GumbelDense  # noqa: E402
from numba import njit  # noqa: E402


class TableGame:
    """A game of any number of actions in which nothing ever ends."""

    def __init__(self, actions: int) -> None:
        self.NUM_ACTIONS = self.MAX_LEGAL_MOVES = actions
        self.BOARD_SHAPE, self.BOARD_DTYPE = (1,), np.int32
        self.MAX_MOVES, self.PLAYER_1, self.PLAYER_2 = 10_000, 1, 2
        _, _, transition = tables.make_tables(actions)
        legal = np.ones(actions, np.float32)

        @njit
        def fast_step(board, action, player):  # type: ignore[no-untyped-def]
            board[0] = transition[board[0], action]
            return 0.0, 0, False, board

        @njit
        def get_valid_mask(board, player):  # type: ignore[no-untyped-def]
            return legal

        self.fast_step, self.get_valid_mask = fast_step, get_valid_mask


class TableModel:
    """Probabilities and values by state."""

    def __init__(self, logic: TableGame) -> None:
        logits, values, _ = tables.make_tables(logic.NUM_ACTIONS)
        self.logic = logic
        self.policy = torch.softmax(torch.from_numpy(logits), 1)
        self.values = torch.from_numpy(values)

    def forward_for_mcts(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Look the states up."""
        state = batch["boards"][:, 0].long()
        return {"policy": self.policy[state], "value": self.values[state]}


def prepare_search(params: dialogue.Params) -> dialogue.Job | None:
    """Count simulations of a batch of searches."""
    trees, count = int(params["trees"]), int(params["simulations"])
    game = TableGame(int(params["actions"]))
    model = TableModel(game)
    kind = {"puct": PUCT, "gumbel": GumbelDense}[params["policy"]]
    search = kind(trees, trees * (count + 2) + 2, game, device="cpu")
    active = list(range(trees))
    boards, players = np.arange(trees, dtype=np.int32)[:, None], np.ones(trees, np.int8)

    def work() -> int:
        search.reset()
        search.initialize_roots(active, boards, players)
        before = int(search.storage.visit_counts[search.storage.root_indices].sum())
        search.run_simulation_batch(model, active, num_simulations=count)
        after = int(search.storage.visit_counts[search.storage.root_indices].sum())
        return after - before - trees  # the roots' own evaluations are no simulations

    return dialogue.Job(work, f"{kind.__name__}, a table as game and model, torch on one thread")


if __name__ == "__main__":
    torch.set_num_threads(1)
    dialogue.main(
        dialogue.Peer(
            "gumbel-mcts",
            version("gumbel-mcts"),
            {"search/simulations_per_cpu_s": prepare_search},
            [
                (
                    "search/simulations_per_cpu_s",
                    {"trees": b, "simulations": n, "actions": a, "policy": policy},
                )
                for b, n, a in tables.ROWS
                for policy in ("puct", "gumbel")
            ],
        )
    )
