"""Older networks of a run, to play against: they remember how to punish what the newest has forgotten."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova.selfplay.config import SelfPlayConfig

KEPT = 6  # networks
PREFIX = "past/"


class PastNetworks:
    """A few networks, spread over the whole run and denser towards its end."""

    def __init__(self, config: SelfPlayConfig) -> None:
        """Keep none yet."""
        self.config = config
        self.networks: dict[int, dict[str, Any]] = {}  # weights by round, on the CPU

    def keep(self, round_number: int, network: Any) -> None:
        """Copy a network's weights; where there are too many, the one that is missed least leaves.

        That is the one whose neighbours are nearest to each other, measured by their age.

        Args:
            round_number: 0 or more, above those kept.
            network: a module.
        """
        weights = {name: tensor.detach().cpu().clone() for name, tensor in network.state_dict().items()}
        self.networks[round_number] = weights
        if len(self.networks) > KEPT:
            rounds = list(self.networks)
            now = round_number + self.config.past_rounds
            gaps = [
                np.log((now - rounds[at - 1]) / (now - rounds[at + 1])) for at in range(1, len(rounds) - 1)
            ]
            del self.networks[rounds[1 + int(np.argmin(gaps))]]

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw one network's weights, each as likely as another."""
        rounds = list(self.networks)
        return self.networks[rounds[int(rng.integers(len(rounds)))]]

    def state(self) -> dict[str, NDArray[Any]]:
        """Give all weights as arrays by name."""
        return {
            f"{PREFIX}{number}/{name}": tensor.numpy()
            for number, weights in self.networks.items()
            for name, tensor in weights.items()
        }

    def set_state(self, arrays: Mapping[str, NDArray[Any]], network: Any) -> None:
        """Go on from what `state` gave.

        Args:
            arrays: by name.
            network: whose parameters they are like.
        Raises:
            KeyError, ValueError: an array is of none of its parameters or another shape, or one is missing.
        """
        like = network.state_dict()
        found: dict[int, dict[str, Any]] = {}
        for name, array in arrays.items():
            _, number, parameter = name.split("/", 2)
            if array.shape != tuple(like[parameter].shape):
                raise ValueError(f"{name} is of shape {array.shape}, not {tuple(like[parameter].shape)}")
            found.setdefault(int(number), {})[parameter] = like[parameter].detach().cpu().new_tensor(array)
        for kept, weights in found.items():
            if weights.keys() != like.keys():
                raise ValueError(f"that of round {kept} lacks {sorted(like.keys() - weights.keys())}")
        self.networks = {kept: found[kept] for kept in sorted(found)}
