"""AlphaGo's leaf value: the network's, mixed with the outcome of one random rollout from the leaf.

The rollouts are uniformly random here (AlphaGo's came from a small, fast policy). A position and its node's
number seed the rollout, so that a search stays a pure function of its root and its noise.

Source: AlphaGo (Silver et al. 2016), Methods, Search algorithm.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from zelkova.agents.position_model import PositionModel
from zelkova.errors import GameError
from zelkova.games.playout import next_random, playout
from zelkova.search.config import SearchConfig
from zelkova.search.model import Evaluation


def with_rollouts(model: PositionModel, config: SearchConfig) -> "PositionModel | RolloutModel":
    """Give the model that a search of these settings asks: itself, where they want no rollouts.

    Args:
        model: places the positions and asks the network.
        config: its rollout_share and prior_softening are read.
    """
    if config.rollout_share == 0.0 and config.prior_softening == 1.0:
        return model
    return RolloutModel(model, config.rollout_share, config.prior_softening)


class RolloutModel:
    """A `PositionModel` whose values are mixed with rollouts and whose priors are softened."""

    def __init__(self, model: PositionModel, share: float, softening: float) -> None:
        """Wrap a model; a cache of its keeps the network's own answers.

        Args:
            model: places the positions and asks the network.
            share, softening: rollout_share and prior_softening of `SearchConfig`.
        """
        self.model, self.share, self.softening = model, share, softening
        self._counter = np.zeros(1, np.uint64)
        self._state = np.zeros((1, model.game.words), np.uint64)
        self._outcome = np.zeros(model.game.num_players, np.float32)

    def root(self) -> Evaluation:
        """Evaluate the positions at the roots, as `PositionModel.root`.

        Raises:
            GameError: a rollout does not end.
        """
        return self._mix(self.model.root(), np.zeros(self.model.num_trees, np.int32), 1)

    def step(
        self, parent: NDArray[np.int32], action: NDArray[np.int32], node: NDArray[np.int32]
    ) -> Evaluation:
        """Play and evaluate, as `PositionModel.step`.

        Raises:
            GameError: a rollout does not end.
        """
        return self._mix(self.model.step(parent, action, node), node, self.model.num_leaves)

    def _mix(self, answer: Evaluation, node: NDArray[np.int32], leaves: int) -> Evaluation:
        place = np.where(node >= 0, np.arange(len(node)) // leaves * self.model.num_nodes + node, -1)
        if self.share > 0.0:
            self._roll_out(answer, node, place.astype(np.int64))
        if self.softening != 1.0:
            decides = (answer.to_play >= 0) & (place >= 0)
            answer.prior_logits[decides] *= np.float32(self.softening)
        return answer

    def _roll_out(self, answer: Evaluation, node: NDArray[np.int32], place: NDArray[np.int64]) -> None:
        """Mix rollouts into the values; place: [R] each row's state, -1 for a row without work."""
        game, native = self.model.game, self.model.game.native
        actions, probs = game.new_scratch()
        status = mix_rollouts(
            native.step, native.legal_actions, native.is_terminal, native.returns, native.chance,
            self.model.states, place, node, answer.discount, answer.value, self._state, self._outcome,
            np.float32(self.share), self._counter, actions, probs,
        )  # fmt: skip
        if status < 0:
            raise GameError(
                f"{game.source}: a rollout met a position without a legal action, or did not end (row"
                f" {-1 - status}); next: run `zelkova check {game.source}`, or search.rollout_share = 0"
            )


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def mix_rollouts(
    step: Any, legal_actions: Any, is_terminal: Any, returns: Any, chance: Any, states: Any, place: Any,
    node: Any, discount: Any, value: Any, state: Any, outcome: Any, share: Any, counter: Any, actions: Any,
    probs: Any,
) -> Any:  # fmt: skip
    """Mix each new position's value with the outcome of one rollout: (1 - share) v + share z.

    Args:
        step, legal_actions, is_terminal, returns, chance: the game's rules; chance may be None.
        states: uint64[S, words] positions. place: int64[R] row of each, -1 for a row without work.
        node: int32[R] number in its tree: with the position it seeds the rollout.
        discount: float32[R], 0 at an ending, whose value stays.
        value: float32[R, P], changed.
        state: uint64[1, words] and outcome: float32[P], scratch.
        share: lambda. counter: uint64[1], scratch: the generator's state.
        actions, probs: scratch of the playout.
    Returns: 0, or -1 - row where a rollout did not come to an end.
    """
    address = np.intp(state.ctypes.data)
    for row in range(len(place)):
        if place[row] < 0 or discount[row] == 0.0:
            continue
        counter[0] = np.uint64(node[row])
        for word in range(states.shape[1]):
            state[0, word] = states[place[row], word]
            counter[0] ^= state[0, word]
            counter[0] = next_random(counter)
        if playout(step, legal_actions, is_terminal, chance, address, counter, actions, probs) < 0:
            return -1 - row
        returns(address, outcome)
        for player in range(value.shape[1]):
            value[row, player] = (np.float32(1.0) - share) * value[row, player] + share * outcome[player]
    return 0
