"""The distribution over outcomes that the value head gives, and the value vector it stands for.

With P players there are P + 1 outcomes: seat 0 wins, ..., seat P - 1 wins, a draw. With one player
there are two: the share of the return range that is reached, and the rest. Seats are in the
network's view here; agents/ alone turn them into absolute players.
"""

from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from zelkova.errors import ShapeError

MASKED = -8192.0  # added to a logit that can't happen: probability 0, and exact in every float format

Probs = TypeVar("Probs", Tensor, NDArray[np.float32])


def draw_mask(num_players: int, has_draws: bool) -> Tensor:
    """Make what is added to the outcome logits, float32 [P + 1]: MASKED at a draw that can't happen.

    Args:
        num_players: P; with one player no outcome is a draw, and nothing is masked.
        has_draws: whether the game can end in a draw.
    """
    mask = torch.zeros(num_players + 1)
    if num_players >= 2 and not has_draws:
        mask[num_players] = MASKED
    return mask


def outcome_values(outcome_probs: Probs, return_range: tuple[float, float]) -> Probs:
    """Turn a distribution over outcomes into each player's expected return.

    Two players: p(win) - p(loss), stretched from [-1, 1] to the range. Three or more: p(win) and an
    equal share of the draw, stretched from [0, 1]. One player: the share of the range.

    Args:
        outcome_probs: [B, P + 1], probabilities; NumPy or torch.
        return_range: the game's RETURN_RANGE, (lowest, highest).
    Returns:
        [B, P], of the same kind and dtype, seats in the order given.
    Raises:
        ShapeError: outcome_probs has not two dimensions or fewer than two outcomes.
    """
    if outcome_probs.ndim != 2 or outcome_probs.shape[1] < 2:
        raise ShapeError(
            f"outcome_probs has shape {tuple(outcome_probs.shape)}; allowed: [B, P + 1] with P of 1 or more"
        )
    low, high = float(return_range[0]), float(return_range[1])
    players = outcome_probs.shape[1] - 1
    wins = outcome_probs[:, :players]
    if players == 1:
        share = wins
    elif players == 2:
        share = (wins - outcome_probs[:, [1, 0]] + 1.0) * 0.5
    else:
        share = wins + outcome_probs[:, players:] / players
    return share * (high - low) + low
