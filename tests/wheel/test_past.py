"""Older networks out of a checkpoint that was edited."""

import numpy as np
import pytest
from torch import nn

from zelkova.errors import ShapeError
from zelkova.replay.config import ReplayConfig
from zelkova.replay.trajectories import TrajectoryBuffer
from zelkova.selfplay.config import SelfPlayConfig
from zelkova.wheel.past import PastNetworks


def test_networks_come_back() -> None:
    network, past, again = nn.Linear(2, 3), PastNetworks(SelfPlayConfig()), PastNetworks(SelfPlayConfig())
    for number in (0, 10, 9, 200):
        past.keep(number, network)
    again.set_state(past.state(), network)
    assert list(again.networks) == [0, 9, 10, 200]
    assert again.state().keys() == past.state().keys()


@pytest.mark.parametrize(
    "arrays",
    [
        {"past/0/weight": np.zeros((3, 2))}, {"past/0/weight": np.zeros((2, 3)), "past/0/bias": np.zeros(3)},
        {"past": np.zeros(1)}, {"past/x/bias": np.zeros(3)}, {"past/0/else": np.zeros(3)},
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(arrays: dict[str, np.ndarray]) -> None:
    with pytest.raises((KeyError, ValueError)):
        PastNetworks(SelfPlayConfig()).set_state(arrays, nn.Linear(2, 3))


@pytest.mark.parametrize("state", [[np.nan], [-1.0], [1.0, 1.0], [[1.0]], 1.0])
def test_priorities_that_are_none_are_refused(state: object) -> None:
    with pytest.raises(ShapeError, match="priorit"):
        TrajectoryBuffer(ReplayConfig()).load_priorities(np.array(state))
