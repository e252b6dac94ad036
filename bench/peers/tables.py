"""The model that every tree is measured with: logits N(0, 1) and values U(-1, 1) from a table made before."""

import numpy as np

STATES = 1024
ROWS = (
    (64, 50, 18), (64, 32, 82), (64, 50, 362), (16, 200, 82), (256, 16, 82), (1, 800, 82), (1, 800, 362),
)  # fmt: skip
"""(trees, simulations, actions) of the examples."""


def make_tables(actions: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make logits float32[S, A], values float32[S] and next states int32[S, A]."""
    rng = np.random.default_rng(7)
    return (
        rng.standard_normal((STATES, actions), dtype=np.float32),
        rng.uniform(-1, 1, STATES).astype(np.float32),
        rng.integers(0, STATES, (STATES, actions), dtype=np.int32),
    )
