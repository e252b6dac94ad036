"""An agent without the rules: a network of learned dynamics and a search policy, over observations."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from zelkova.agents.learned.config import PlanningConfig
from zelkova.agents.learned.model import LearnedModel, Observed
from zelkova.networks.learned.network import LearnedNetwork
from zelkova.search.config import SearchConfig
from zelkova.search.models.torch_model import single_thread
from zelkova.search.planning import Plan, Searcher, Seed
from zelkova.search.policies import Custom

__all__ = ["LearnedAgent", "Plan", "Unrolled"]


class Unrolled(NamedTuple):
    """What the network says along S actions from each of B observations, without any later one."""

    values: NDArray[np.float32]  # [B, S + 1, P] absolute players
    rewards: NDArray[np.float32]  # [B, S, P] of steps 1..S, absolute players
    latents: NDArray[np.float32]  # [B, S + 1, L] flat


class LearnedAgent:
    """Searches from observations, or only evaluates them."""

    def __init__(
        self,
        network: LearnedNetwork,
        search: SearchConfig,
        planning: PlanningConfig,
        *,
        discount: float,
        prefix_reset: int = 0,
    ) -> None:
        """Take a network; the caller may load other weights into it between two searches.

        Args:
            network: on its device; put into evaluation mode.
            search: how to search.
            planning: which actions are drawn.
            discount: of every step.
            prefix_reset: see `LearnedModel`.
        """
        self.network = network.eval()
        self.device = next(network.parameters()).device
        self.model = LearnedModel(
            network, discount=discount, prefix_reset=prefix_reset, spread=planning.spread
        )
        self._in_bfloat16 = planning.precision == "bfloat16" or (
            planning.precision == "auto" and self.device.type == "cuda" and torch.cuda.is_bf16_supported()
        )
        self.policy = Custom(num_samples=planning.num_samples, settings=search)
        self._noisy = Searcher(self.model, self.policy)
        self._plain = Searcher(self.model, self.policy.without_noise())

    def search(
        self,
        observations: NDArray[Any],
        to_play: NDArray[np.int8],
        legal: NDArray[np.bool_] | None,
        *,
        seed: Seed | None = None,
        temperature: float | NDArray[np.float32] = 0.0,
        is_noisy: bool = True,
    ) -> Plan:
        """Search from B observations.

        Args:
            observations: [B, *shape].
            to_play: [B] whose turn.
            legal: [B, A] True where legal at the root; None: all, as where actions are drawn.
            seed: of all that is drawn.
            temperature: of the action, as for `search.plan`.
            is_noisy: with root noise, as in training.
        Raises:
            SearchError: an answer of the network is no finite number.
        """
        searcher = self._noisy if is_noisy else self._plain
        mask = None if self.network.is_continuous else legal
        with single_thread(), self._precision():
            return searcher.plan(
                self._observed(observations, to_play), seed=seed, temperature=temperature, legal=mask
            )

    def act(
        self, observations: NDArray[Any], to_play: NDArray[np.int8], legal: NDArray[np.bool_]
    ) -> NDArray[Any]:
        """Give the search's own choices [B] or [B, D], without noise; arguments as for `search`."""
        action: NDArray[Any] = self.search(observations, to_play, legal, seed=0, is_noisy=False).action
        return action

    def values(self, observations: NDArray[Any], to_play: NDArray[np.int8]) -> NDArray[np.float32]:
        """Give the network's own values [B, P] of observations [B, *shape] and turns [B]: no search."""
        with single_thread(), torch.inference_mode(), self._precision():
            root = self.model.root(self._observed(observations, to_play))
            return root.value.float().cpu().numpy()

    def unroll(
        self, observations: NDArray[Any], to_play: NDArray[np.int8], actions: NDArray[Any]
    ) -> Unrolled:
        """Follow actions in the latent space; no search.

        Args:
            observations: [B, *shape] to begin with.
            to_play: [B] whose turn.
            actions: int32[B, S], or float32[B, S, D] in -1..1.
        """
        with single_thread(), torch.inference_mode(), self._precision():
            root = self.model.root(self._observed(observations, to_play))
            embedding, values, rewards = root.embedding, [root.value], []
            latents = [embedding[0].flatten(1)]
            taken = self._put(actions)
            for step in range(actions.shape[1]):
                action = taken[:, step]
                found = self.model.step(embedding, action if action.is_floating_point() else action.long())
                embedding = found.embedding
                values.append(found.value)
                rewards.append(torch.as_tensor(found.reward))
                latents.append(embedding[0].flatten(1))
            parts = (torch.stack(kept, dim=1).float().cpu().numpy() for kept in (values, rewards, latents))
            return Unrolled(*parts)

    def represent(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """Give the flat latents [B, L] of observations [B, *shape]."""
        with single_thread(), torch.inference_mode(), self._precision():
            return self.network.represent(self._put(observations)).flatten(1).float().cpu().numpy()

    @torch.no_grad()
    def load(self, module: nn.Module) -> None:
        """Copy the weights of a network of the same architecture."""
        new = module.state_dict()
        for name, tensor in self.network.state_dict().items():
            tensor.copy_(new[name])

    def weights(self) -> dict[str, NDArray[Any]]:
        """Copy the weights as arrays by name."""
        return {name: tensor.cpu().numpy().copy() for name, tensor in self.network.state_dict().items()}

    @torch.no_grad()
    def load_weights(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what `weights` gave.

        Raises:
            KeyError, RuntimeError: an array is missing, or has another shape.
        """
        for name, tensor in self.network.state_dict().items():
            tensor.copy_(torch.from_numpy(np.array(arrays[name])))

    def _precision(self) -> AbstractContextManager[Any]:
        """Let the network compute in bfloat16 where it is to; numbers leave it as float32."""
        return torch.autocast(self.device.type, torch.bfloat16) if self._in_bfloat16 else nullcontext()

    def _observed(self, observations: NDArray[Any], to_play: NDArray[np.int8]) -> Observed:
        return Observed(self._put(observations), self._put(to_play).long())

    def _put(self, array: NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device, non_blocking=True)
