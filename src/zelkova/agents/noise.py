"""Draws the noise that search takes as arrays."""

import numpy as np
from numpy.typing import NDArray

from zelkova.search import SearchConfig

DIRICHLET_TOTAL = 10.83  # KataGo (Wu 2019), section 3.1: alpha is this over the number of legal moves


def root_noise(
    config: SearchConfig, count: NDArray[np.int32], max_actions: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Draw root noise: standard Gumbel for Gumbel search, Dirichlet over the legal actions for PUCT.

    Args:
        config: says which, and the Dirichlet's alpha.
        count: [B], legal actions of each root.
        max_actions: M.
        rng: the generator; the same number of draws whatever the counts.
    Returns:
        [B, M], aligned with the legal actions; zero beyond `count`.
    Source: Gumbel MuZero (Danihelka et al. 2022), section 3.1; AlphaZero (Silver et al. 2018), Methods.
    """
    shape = (len(count), max_actions)
    legal = np.arange(max_actions)[None] < count[:, None]
    if config.policy == "gumbel":
        return np.where(legal, rng.gumbel(size=shape), 0.0).astype(np.float32)
    if config.dirichlet_alpha == "auto":
        alpha = DIRICHLET_TOTAL / np.maximum(count, 1).astype(np.float64)
    else:
        alpha = np.full(len(count), float(config.dirichlet_alpha))
    draws = np.where(legal, rng.standard_gamma(np.broadcast_to(alpha[:, None], shape)) + 1e-30, 0.0)
    return (draws / np.maximum(draws.sum(axis=1, keepdims=True), 1e-30)).astype(np.float32)
