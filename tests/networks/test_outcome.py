"""The value vector that a distribution over outcomes stands for, number for number."""

from typing import Any

import numpy as np
import pytest
import torch

from zelkova.errors import ShapeError
from zelkova.networks.outcome import outcome_values

CASES: list[tuple[list[float], tuple[float, float], list[float]]] = [
    ([0.75, 0.25], (0.0, 1.0), [0.75]),
    ([0.75, 0.25], (-10.0, 30.0), [20.0]),
    ([1.0, 0.0, 0.0], (-1.0, 1.0), [1.0, -1.0]),
    ([0.5, 0.25, 0.25], (-1.0, 1.0), [0.25, -0.25]),
    ([0.0, 0.0, 1.0], (-1.0, 1.0), [0.0, 0.0]),
    ([0.5, 0.25, 0.25], (0.0, 1.0), [0.625, 0.375]),
    ([0.5, 0.125, 0.0, 0.375], (0.0, 1.0), [0.625, 0.25, 0.125]),
    ([0.0, 0.0, 0.0, 1.0], (0.0, 3.0), [1.0, 1.0, 1.0]),
]


@pytest.mark.parametrize(("probs", "return_range", "expected"), CASES)
def test_values_in_numpy_and_torch(
    probs: list[float], return_range: tuple[float, float], expected: list[float]
) -> None:
    rows = np.array([probs, probs], np.float32)
    values = outcome_values(rows, return_range)
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, [expected, expected], atol=1e-6)
    np.testing.assert_allclose(
        outcome_values(torch.from_numpy(rows), return_range).numpy(), values, atol=1e-6
    )


@pytest.mark.parametrize("shape", [(4,), (4, 1), (2, 3, 4)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    probs: Any = np.zeros(shape, np.float32)
    with pytest.raises(ShapeError, match="P \\+ 1"):
        outcome_values(probs, (-1.0, 1.0))
