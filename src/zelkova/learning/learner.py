"""One optimiser step after the other, and the state to go on from exactly.

The learner draws no random numbers: batches, symmetries and their generators are the caller's.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from zelkova.errors import CheckpointError
from zelkova.learning.config import LearningConfig
from zelkova.learning.losses import Objective
from zelkova.learning.schedule import learning_rate

Metrics = dict[str, float]
HEADS = "heads."  # prefix of the auxiliary heads' tensors
Loss = Callable[[nn.Module, Any], Objective]


@dataclass(frozen=True)
class LearnerState:
    """All that a learner carries from one step to the next; tensors and numbers only."""

    tensors: dict[str, Tensor]  # network.*, heads.*, optimizer.PARAMETER.*, ema.*; on the CPU, contiguous
    steps: int  # optimiser steps taken
    samples: int  # positions drawn, batch by batch


def use_one_thread() -> None:
    """Let PyTorch compute in the calling thread alone.

    Threads that wait for each other inside one operation are stalled by any busy neighbour: measured on two
    cores beside other work, two threads took 140 to 190 samples a second where one took 1,650 to 4,700.
    """
    torch.set_num_threads(1)


def refuse_infinite(batch: Any, steps: int) -> None:
    """Refuse a batch with a number that is not finite, before it gets into the weights.

    Args:
        batch: a named tuple of arrays, or None in the place of one.
        steps: optimiser steps so far.
    Raises:
        CheckpointError: names the array and the place in it.
    """
    for name, array in batch._asdict().items():
        if array is None or array.dtype.kind != "f":
            continue
        is_finite = np.isfinite(array)
        if not is_finite.all():
            place = np.argwhere(~is_finite)[0].tolist()
            raise CheckpointError(
                f"learning stopped after step {steps}: `{name}` of the next batch holds {array[tuple(place)]}"
                f" at {place}; the weights are as they were; next: resume from the last checkpoint with a"
                " lower rate, --set learning.learning_rate=..., or look at what the environment gives"
            )


def has_bfloat16(device: torch.device) -> bool:
    """Say whether a device computes in bfloat16 natively, so that it is faster than float32 there."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    capabilities: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return device.type == "cpu" and bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))


class Learner:
    """A network, its optimiser and the counters of its schedule."""

    def __init__(
        self,
        network: nn.Module,
        config: LearningConfig,
        objective: Loss,
        device: str = "cpu",
        heads: nn.Module | None = None,
    ) -> None:
        """Take a network over; it is moved to the device and trained in place.

        Args:
            network: as the objective takes it.
            config: the settings.
            objective: gives the loss of a batch, its parts by name, and each row's error for priorities.
            device: where to learn.
            heads: what the objective reads beside the network and trains with it, but nobody plays with.
        """
        self.config, self.objective, self.device = config, objective, torch.device(device)
        self.network = network.to(self.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._in_bfloat16 = config.precision == "bfloat16" or (
            config.precision == "auto" and has_bfloat16(self.device)
        )
        self.steps = 0
        self.samples = 0
        self.heads = None if heads is None else heads.to(self.device)
        self._parameters = dict(self.network.named_parameters())
        if heads is not None:
            self._parameters |= {HEADS + name: tensor for name, tensor in heads.named_parameters()}
        self._optimizer: torch.optim.Optimizer | None = None  # made at the first step
        self._moments: dict[str, dict[str, Tensor]] = {}  # loaded for it, by parameter
        self._average: nn.Module | None = None
        if config.ema_decay > 0.0:
            self._average = copy.deepcopy(self.network).requires_grad_(False)
            self._average.eval()

    def _ready_optimizer(self) -> torch.optim.Optimizer:
        """Give the optimiser; its import takes over a second, so it is made at the first step."""
        if self._optimizer is None:
            self._optimizer = self._make_optimizer()
            for name, moments in self._moments.items():
                self._optimizer.state[self._parameters[name]] = moments
        return self._optimizer

    def _make_optimizer(self) -> torch.optim.Optimizer:
        """Decay the weights of two dimensions or more, never biases and scales."""
        config, tensors = self.config, list(self._parameters.values())
        groups = [
            {"params": [t for t in tensors if t.ndim >= 2], "weight_decay": config.weight_decay},
            {"params": [t for t in tensors if t.ndim < 2], "weight_decay": 0.0},
        ]
        if config.optimizer == "sgd":
            return torch.optim.SGD(
                groups, lr=config.learning_rate, momentum=config.momentum, nesterov=config.momentum > 0.0,
                fused=True,
            )  # fmt: skip
        return torch.optim.AdamW(groups, lr=config.learning_rate, fused=True)

    @property
    def acting_network(self) -> nn.Module:
        """The network to play with: the running mean of the weights, or the newest ones."""
        return self.network if self._average is None else self._average

    def step(self, batch: Any) -> tuple[Metrics, NDArray[np.float32] | None]:
        """Take one optimiser step.

        Args:
            batch: a named tuple of arrays, or None in the place of one, as the objective takes them.
        Returns:
            figures of this batch before the step: loss, those of the objective, gradient_norm and
            learning_rate; and each row's error [B] where the objective gives them.
        Raises:
            ShapeError: the shapes do not fit together.
            CheckpointError: a number of the batch is not finite; no weight was touched.
        """
        refuse_infinite(batch, self.steps)
        rate = learning_rate(self.config, self.steps)
        optimizer = self._ready_optimizer()
        for group in optimizer.param_groups:
            group["lr"] = rate
        self.network.train()
        optimizer.zero_grad(set_to_none=True)
        tensors = type(batch)(*(None if array is None else self._put(array) for array in batch))
        # losses stay in float32: they get float32 numbers, and none of their operations is cast
        with self._precision():
            loss, errors, figures = self.objective(self.network, tensors)
        loss.backward()  # type: ignore[no-untyped-call]
        largest = self.config.grad_clip or torch.inf
        norm = nn.utils.clip_grad_norm_(self._parameters.values(), largest, foreach=True)
        optimizer.step()
        self.steps += 1
        self.samples += len(batch[0])
        self._update_average()
        names = ["loss", *figures, "gradient_norm"]
        numbers = torch.stack(
            [loss.detach(), *(figure.detach() for figure in figures.values()), norm]
        ).tolist()
        metrics = {**dict(zip(names, numbers, strict=True)), "learning_rate": rate}
        return metrics, None if errors is None else errors.detach().cpu().numpy()

    def _precision(self) -> torch.autocast:
        """Let the forward pass compute in bfloat16 where it is to, with every weight cast anew at each use.

        PyTorch keeps cast weights in one cache of all threads, emptied when any thread leaves a context:
        a weight used twice would get its gradient by one cast or by two, as the clock would have it.
        """
        return torch.autocast(
            self.device.type, dtype=torch.bfloat16, enabled=self._in_bfloat16, cache_enabled=False
        )

    def _put(self, array: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device, non_blocking=True)

    @torch.no_grad()
    def _update_average(self) -> None:
        """Move the running mean towards the newest weights and batch statistics."""
        if self._average is None:
            return
        # early on, the mean of the few steps there were, so that fresh weights are soon forgotten
        decay = min(self.config.ema_decay, self.steps / (self.steps + 10.0))
        for mean, newest in zip(
            self._average.state_dict().values(), self.network.state_dict().values(), strict=True
        ):
            if mean.is_floating_point():
                mean.lerp_(newest, 1.0 - decay)
            else:
                mean.copy_(newest)

    def state(self) -> LearnerState:
        """Copy all that the next step depends on."""
        tensors = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        if self.heads is not None:
            tensors |= {HEADS + name: tensor for name, tensor in self.heads.state_dict().items()}
        for name, parameter in self._parameters.items():
            kept = (
                self._moments.get(name, {})
                if self._optimizer is None
                else self._optimizer.state.get(parameter, {})
            )
            for key, tensor in kept.items():
                if tensor is not None:
                    tensors[f"optimizer.{name}.{key}"] = tensor
        if self._average is not None:
            tensors |= {f"ema.{name}": tensor for name, tensor in self._average.state_dict().items()}
        copies = {name: tensor.detach().to("cpu", copy=True).contiguous() for name, tensor in tensors.items()}
        return LearnerState(copies, self.steps, self.samples)

    def load_state(self, state: LearnerState) -> None:
        """Go on from a state; the next steps are those of a learner that never stopped.

        Args:
            state: of a learner with the same network and optimiser settings.
        Raises:
            CheckpointError: tensors are missing, unknown or of another shape; the learner is as it was.
        """
        wanted: dict[str, Tensor] = {f"network.{n}": t for n, t in self.network.state_dict().items()}
        if self._average is not None:
            wanted |= {f"ema.{n}": t for n, t in self._average.state_dict().items()}
        if self.heads is not None:
            wanted |= {HEADS + n: t for n, t in self.heads.state_dict().items()}
        moments: dict[str, dict[str, Tensor]] = {}
        for name, parameter in self._parameters.items():
            # a parameter that no term of the loss has read has no moments yet
            is_used = any(key.startswith(f"optimizer.{name}.") for key in state.tensors)
            moments[name] = self._fresh_moments(parameter) if is_used else {}
            wanted |= {f"optimizer.{name}.{key}": tensor for key, tensor in moments[name].items()}
        _refuse_other(state.tensors, wanted)
        with torch.no_grad():
            for name, tensor in wanted.items():
                tensor.copy_(state.tensors[name])
        self._moments, self._optimizer = moments, None
        self.steps, self.samples = state.steps, state.samples

    def _fresh_moments(self, parameter: Tensor) -> dict[str, Tensor]:
        """Make an optimiser's state for a parameter, in the parameter's own memory layout."""
        if self.config.optimizer == "adamw":
            step = torch.zeros((), dtype=torch.float32, device=self.device)
            return {
                "step": step,
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
        return {"momentum_buffer": torch.zeros_like(parameter)} if self.config.momentum > 0.0 else {}


def _refuse_other(given: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """Raise CheckpointError unless both have the same names and shapes."""
    wrong = [f"`{name}` is missing" for name in wanted if name not in given]
    wrong += [f"`{name}` is unknown" for name in given if name not in wanted]
    wrong += [
        f"`{name}` has shape {list(given[name].shape)}, not {list(tensor.shape)}"
        for name, tensor in wanted.items()
        if name in given and given[name].shape != tensor.shape
    ]
    if wrong:
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise CheckpointError(
            f"the learner's state does not fit this network and optimiser: {'; '.join(wrong[:3])}{more};"
            " resume with the settings that the run was started with"
        )
