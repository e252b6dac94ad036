"""The search's model made of learned dynamics: what `search/models/torch_model.py` asks of a PyTorch network.

An embedding is the latent, whose turn it is and, with a value prefix, what its recurrent head needs. The
rules are asked nothing: all actions are legal below the root, and an end is what the network thinks of it.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from zelkova.networks.learned.network import LearnedNetwork, Prediction
from zelkova.search.models.torch_draws import SquashedGaussian
from zelkova.search.models.torch_model import Root, Step


class Observed(NamedTuple):
    """What a search begins with."""

    observation: Tensor  # [B, *shape]
    to_play: Tensor  # int64[B]


class LearnedModel:
    """Root and step functions over a network; values and rewards leave as plain numbers."""

    def __init__(
        self,
        network: LearnedNetwork,
        *,
        discount: float,
        prefix_reset: int = 0,
        spread: float = 1.0,
    ) -> None:
        """Wrap a network.

        Args:
            network: in evaluation mode.
            discount: of every step.
            prefix_reset: steps after which the value prefix starts anew; 0: the reward head answers rewards.
            spread: factor on a Gaussian's standard deviation in what the root's actions are drawn from.
        """
        self.network, self.discount = network, discount
        self.prefix_reset, self.spread = prefix_reset, spread

    def root(self, observed: Observed) -> Root:
        """Evaluate observations.

        Args:
            observed: B of them.
        """
        found = self.network.initial_inference(observed.observation)
        value = self.absolute(self.network.value_of(found.value), observed.to_play)
        embedding: Any = (found.latent, observed.to_play)
        if self.prefix_reset:
            rows = len(value)
            zero = torch.zeros(rows, dtype=torch.int64, device=value.device)
            embedding = (*embedding, *self.network.fresh_hidden(rows), torch.zeros_like(value), zero)
        return Root(embedding, self._policy(found, self.spread), value, observed.to_play)

    def step(self, embedding: Any, action: Tensor) -> Step:
        """Evaluate what follows an action.

        Args:
            embedding: of `root` or of a step.
            action: int64[R], or [R, D] in -1..1.
        """
        latent, to_play, *prefix = embedding
        if not prefix:
            found = self.network.recurrent_inference(latent, action)
            assert found.reward is not None
            after: Any = (found.latent, self._next(found, to_play))
            reward = self.absolute(self.network.reward_of(found.reward), after[1])
        else:
            *hidden, total, depth = prefix
            is_reset = (depth % self.prefix_reset == 0).unsqueeze(1)
            kept = tuple(torch.where(is_reset, 0.0, state) for state in hidden)
            found = self.network.recurrent_inference(latent, action, kept)
            assert found.reward is not None
            assert found.hidden is not None
            mover = self._next(found, to_play)
            reached = self.absolute(self.network.reward_of(found.reward), mover)
            reward = reached - torch.where(is_reset, 0.0, total)
            after = (found.latent, mover, *found.hidden, reached, depth + 1)
        value = self.absolute(self.network.value_of(found.value), after[1])
        return Step(after, self._policy(found, 1.0), value, reward, self.discount, after[1])

    def absolute(self, values: Tensor, to_play: Tensor) -> Tensor:
        """Turn values [R, P] that begin with the mover into those of absolute players."""
        if not self.network.sizes.is_turned:
            return values
        players = self.network.num_players
        seats = (torch.arange(players, device=values.device) - to_play.unsqueeze(1)) % players
        return values.gather(1, seats)

    def _policy(self, found: Prediction, spread: float) -> Tensor | SquashedGaussian:
        """Give logits, or the distribution that actions are drawn from."""
        if not self.network.is_continuous:
            return found.policy
        mean, std = self.network.gaussian(found.policy)
        return SquashedGaussian(mean, std, spread)

    def _next(self, found: Prediction, to_play: Tensor) -> Tensor:
        """Say whose turn follows: what the network has learnt, or the next in turn."""
        players = self.network.num_players
        if found.to_play is None:
            return (to_play + 1) % players
        said = found.to_play.argmax(dim=1)
        return (to_play + said) % players if self.network.sizes.is_turned else said
