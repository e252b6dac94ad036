"""The search's model made of a game alone: it says itself what its positions are worth.

`evaluate(state, out)` judges a position and, if there is one, `weigh(state, actions, out)` its actions.
"""

import numpy as np
from numpy.typing import NDArray

from zelkova.agents import kernels
from zelkova.agents.position_model import PositionModel
from zelkova.agents.rules_model import Evaluator, RulesModel
from zelkova.errors import GameError
from zelkova.games import Game
from zelkova.search.model import Evaluation


class OwnModel(PositionModel):
    """Known rules, and the game's own opinion of its positions."""

    def __init__(self, game: Game, num_trees: int, num_nodes: int, *, num_leaves: int = 1) -> None:
        """Allocate; arguments as for PositionModel.

        Raises:
            GameError: the game has no `evaluate`, or it has chance.
        """
        if "evaluate" not in game.functions:
            raise GameError(
                f"{game.name} has no evaluate(state, out), which the scaffold asks; next: write it, or"
                " take uct:100"
            )
        if game.has_chance:
            raise GameError(f"{game.name} has chance, which the scaffold does not know; next: uct:100")
        super().__init__(game, num_trees, num_nodes, num_leaves=num_leaves)

    def _evaluate(
        self, source: NDArray[np.int64], target: NDArray[np.int64], played: NDArray[np.int32]
    ) -> Evaluation:
        """Play, and ask the game what follows is worth."""
        out = self._play(source, target, played)
        native = self.game.native
        kernels.judge_rows(
            native.evaluate, native.weigh, self.states, target, out.discount, out.count, out.actions,
            out.prior_logits, out.value,
        )  # fmt: skip
        return out


def make_model(
    game: Game, engine: Evaluator | None, trees: int, nodes: int, *, leaves: int = 1, cache: int = 0
) -> PositionModel:
    """Make what a search over known rules asks.

    Args:
        game: the rules.
        engine: the network; None: the game's own judgement, which no cache would make faster.
        trees, nodes, leaves, cache: as num_trees, num_nodes, num_leaves and cache of RulesModel.
    Raises:
        ConfigError, GameError: as the models.
    """
    if engine is None:
        return OwnModel(game, trees, nodes, num_leaves=leaves)
    return RulesModel(game, engine, trees, nodes, num_leaves=leaves, cache=cache)
