"""Numbers as distributions over atoms, and the transform that squashes large ones.

Source: MuZero (Schrittwieser et al. 2020), Appendix F; the transform of Pohlen et al. 2018.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from zelkova.errors import ConfigError

EPSILON = 0.001  # slope of the transform for large numbers


def squash(x: Tensor) -> Tensor:
    """Give h(x) = sign(x) (sqrt(|x| + 1) - 1) + 0.001 x."""
    return torch.sign(x) * (torch.sqrt(x.abs() + 1.0) - 1.0) + EPSILON * x


def stretch(y: Tensor) -> Tensor:
    """Give the inverse of `squash`; written without a difference of near numbers, for float32's sake."""
    reach = y.abs() + 1.0 + EPSILON
    root = 2.0 * reach / (torch.sqrt(1.0 + 4.0 * EPSILON * reach) + 1.0)
    return torch.sign(y) * (root**2 - 1.0)


@dataclass(frozen=True)
class Support:
    """Atoms from low to high; a number between two of them is shared out between both.

    Raises:
        ConfigError: fewer than two atoms, or steps that do not end at the last one.
    """

    low: float
    high: float
    step: float = 1.0
    is_squashed: bool = True  # atoms stand for h(x)

    def __post_init__(self) -> None:
        """Refuse an empty support."""
        if not (self.step > 0 and self.high - self.low >= self.step):
            raise ConfigError(f"support {self.low}..{self.high} in steps of {self.step} has no two atoms")
        if abs(self.low + (self.num_atoms - 1) * self.step - self.high) > 1e-6 * (self.high - self.low):
            raise ConfigError(
                f"support {self.low}..{self.high} is no whole number of steps of {self.step};"
                " next: a step that divides it"
            )

    @property
    def num_atoms(self) -> int:
        """How many atoms there are."""
        return round((self.high - self.low) / self.step) + 1

    def place(self, x: Tensor) -> Tensor:
        """Give where numbers lie, in atoms from the first; beyond the ends where they are outside."""
        y = squash(x.double()) if self.is_squashed else x.double()
        return (y - self.low) / self.step

    def is_outside(self, x: Tensor) -> Tensor:
        """Say which numbers [...] the support can't hold."""
        at = self.place(x)
        return (at < -1e-6) | (at > self.num_atoms - 1 + 1e-6)

    def encode(self, x: Tensor) -> Tensor:
        """Turn numbers [...] into distributions [..., atoms]; beyond the ends they are clamped."""
        last = self.num_atoms - 1
        at = self.place(x).clamp(0.0, last)
        lower = at.floor()
        share = (at - lower).float()
        index = lower.long()
        target = torch.zeros((*x.shape, self.num_atoms), dtype=torch.float32, device=x.device)
        target.scatter_(-1, index.unsqueeze(-1), (1.0 - share).unsqueeze(-1))
        target.scatter_add_(-1, (index + 1).clamp(max=last).unsqueeze(-1), share.unsqueeze(-1))
        return target

    def decode(self, logits: Tensor) -> Tensor:
        """Turn logits [..., atoms] into numbers: the expectation over atoms, then the transform undone."""
        atoms = torch.linspace(self.low, self.high, self.num_atoms, device=logits.device)
        mean = torch.softmax(logits.float(), dim=-1) @ atoms
        return stretch(mean) if self.is_squashed else mean
