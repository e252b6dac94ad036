"""How a search is steered: one frozen dataclass, checked when it is made."""

import math
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from zelkova.errors import ConfigError, hint

CHOICES: dict[str, tuple[str, ...]] = {
    "policy": ("puct", "gumbel", "trpo", "mpo"),
    "interior": ("full", "puct", "trpo", "mpo"),
    "candidates": ("gumbel", "replacement"),
    "target": ("policy", "acted"),
    "rescale": ("fixed", "tree", "node", "none"),
    "completion": ("mixed", "raw"),
    "fpu": ("zero", "parent", "reduction", "mean_q", "loss", "lowered"),
    "virtual_loss": ("loss", "visits"),
    "parent_count": ("one_plus", "sum"),
}
RANGES: dict[str, tuple[float, float]] = {
    "num_simulations": (1, 100_000_000),
    "max_considered": (1, 1_000_000),
    "gumbel_scale": (0.0, 1000.0),
    "c_visit": (0.0, 1e6),
    "c_scale": (0.0, 1e6),
    "rescale_floor": (1e-8, 1e6),
    "c_init": (0.0, 1e6),
    "c_base": (1.0, 1e12),
    "fpu_reduction": (0.0, 1e6),
    "forced_playouts": (0.0, 1000.0),
    "dirichlet_fraction": (0.0, 1.0),
    "virtual_visits": (1, 1000),
    "rollout_share": (0.0, 1.0),
    "prior_softening": (0.01, 100.0),
    "max_depth": (0, 1_000_000_000),
}
LEAST_PENALTY = 1e-6  # c_init of the regularised policies, which divide by it
DIRICHLET_SCALE = 10.83  # alpha = 10.83 / number of legal moves: KataGo (Wu 2019), 0.03 on a 19x19 board


@dataclass(frozen=True)
class SearchConfig:
    """Settings of a search.

    Raises:
        ConfigError: a value is of the wrong kind or out of range.
    """

    policy: Literal["puct", "gumbel", "trpo", "mpo"] = "gumbel"
    # at the root: puct, visit counts; gumbel, Sequential Halving; trpo and mpo, regularised policies
    num_simulations: int = 32  # simulations a search
    interior: Literal["full", "puct", "trpo", "mpo"] = "full"
    # below the root, unless the policy is puct: Eq. 14 of Gumbel MuZero, PUCT, or a regularised policy
    candidates: Literal["gumbel", "replacement"] = "gumbel"
    # gumbel: drawn from the prior without replacement; or, an ablation, with it and compared without noise
    # (a search without noise draws nothing, so that both are the same there)
    target: Literal["policy", "acted"] = "policy"
    # action_weights: the policy's own; or (gumbel, Eq. 9) 1 at the search's own choice alone, also where a
    # temperature plays another action
    solve: bool = False  # carry proven wins and losses up the tree; for exact rules only
    rescale: Literal["fixed", "tree", "node", "none"] = "fixed"
    # how Q becomes [0, 1]: by the game's return range, by the smallest and largest Q of the tree (MuZero),
    # by those of the node's own edges (mctx), or not at all
    rescale_floor: float = 0.01  # least width of the tree's or node's range, unit of Q; mctx: 1e-8
    rescale_illegal: bool = False  # mctx: v_mix counts in a node's range where illegal actions were left out
    max_considered: int = 16  # gumbel: candidates at the root, before min with legal actions and simulations
    gumbel_scale: float = 1.0  # gumbel: factor on the root noise; 0 for evaluation
    c_visit: float = 50.0  # gumbel: sigma(q) = (c_visit + max N) * c_scale * q
    c_scale: float = 1.0  # gumbel: 1.0 for board games, 0.1 for mctx and Atari
    completion: Literal["mixed", "raw"] = (
        "mixed"  # gumbel: value of unvisited actions: v_mix or the raw value
    )
    c_init: float = 1.25  # puct: exploration constant at few visits
    c_base: float = 19652.0  # puct: visits at which the exploration starts to grow
    parent_count: Literal["one_plus", "sum"] = "one_plus"
    # puct: the parent's visits Np are 1 + S, its own evaluation counted, or S, the sum over its actions; with
    # S = 0 the latter leaves the first pick to the prior alone
    fpu: Literal["zero", "parent", "reduction", "mean_q", "loss", "lowered"] = "zero"
    # puct: value of an unvisited action; lowered: the node's less fpu_reduction, at least the lowest return
    fpu_reduction: float = 0.25  # puct: with fpu = reduction or lowered, unit of Q
    forced_playouts: float = 0.0
    # puct, roots with noise: a visited action gets at least sqrt(this P(a) S) visits, which action_weights
    # leave out again; KataGo 2; 0: off
    dirichlet_alpha: float | Literal["auto"] = (
        "auto"  # puct: root noise; auto: 10.83 / number of legal actions
    )
    dirichlet_fraction: float = 0.25  # puct: share of the noise where noise is given
    virtual_loss: Literal["loss", "visits"] = "loss"  # several leaves: pending visits count as lost, or not
    virtual_visits: int = 1  # several leaves: visits that a pending leaf counts for
    rollout_share: float = 0.0  # known rules: weight of a random rollout in a leaf's value, AlphaGo's lambda
    prior_softening: float = 1.0  # known rules: priors are in proportion to p ** this; AlphaGo 0.67
    max_depth: int = 0  # edges from the root at which a node is met again instead of entered; 0: no limit

    def __post_init__(self) -> None:
        for field in fields(self):
            check_value(field.name, getattr(self, field.name))
        check_together(self)

    @property
    def has_noise(self) -> bool:
        """Whether noise at the root counts: Gumbel's scale or Dirichlet's share is above 0."""
        return self.mixes_noise or (self.policy == "gumbel" and self.gumbel_scale > 0)

    @property
    def mixes_noise(self) -> bool:
        """Whether noise at the root goes into its priors: Dirichlet's, where its share is above 0."""
        return self.policy == "puct" and self.dirichlet_fraction > 0


def check_together(config: SearchConfig) -> None:
    """Check settings that are allowed one by one and not together.

    Raises:
        ConfigError: names both.
    """
    for name, plain in (("candidates", "gumbel"), ("target", "policy")):
        value = getattr(config, name)
        if config.policy != "gumbel" and value != plain:
            raise ConfigError(
                f"search.{name} = {value!r} is for search.policy = 'gumbel', not {config.policy!r};"
                f" next: leave it at {plain!r}"
            )
    if config.policy != "puct" and config.forced_playouts > 0:
        raise ConfigError(
            f"search.forced_playouts = {config.forced_playouts!r} is for search.policy = 'puct', not"
            f" {config.policy!r}; next: leave it at 0"
        )
    rules = {config.policy, "" if config.policy == "puct" else config.interior}
    if rules & {"trpo", "mpo"} and config.c_init < LEAST_PENALTY:
        raise ConfigError(
            f"search.c_init = {config.c_init!r} with trpo or mpo, whose penalty it scales; allowed: from "
            f"{LEAST_PENALTY} on"
        )


def in_float32(number: float) -> float:
    """Round a number as the trees hold it; infinite beyond their largest."""
    with np.errstate(over="ignore"):
        return float(np.float32(number))


def check_range(q_range: Any) -> None:
    """Check the lowest and highest return.

    Raises:
        ConfigError: they are no two finite numbers, or in float32 the first is not below the second.
    """
    try:
        low, high = (in_float32(bound) for bound in q_range) if len(q_range) == 2 else (0.0, 0.0)
    except (TypeError, ValueError, OverflowError):
        low, high = 0.0, 0.0
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ConfigError(
            f"q_range = {q_range!r}; allowed: (lowest, highest) return, finite and the first below the second"
        )


def check_value(name: str, value: Any) -> None:
    """Check one setting.

    Raises:
        ConfigError: names the key, the value and what is allowed.
    """
    if name in CHOICES:
        if not isinstance(value, str) or value not in CHOICES[name]:
            raise ConfigError(f"search.{name} = {value!r} is unknown; {hint(str(value), CHOICES[name])}")
    elif name in ("rescale_illegal", "solve"):
        if not isinstance(value, bool):
            raise ConfigError(f"search.{name} = {value!r} is not true or false")
    elif name == "dirichlet_alpha":
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        is_auto = isinstance(value, str) and value == "auto"
        if not is_auto and not (is_number and 0 < value < 1e6):
            raise ConfigError(f"search.{name} = {value!r} is neither a positive number nor `auto`")
    else:
        low, high = RANGES[name]
        whole = isinstance(low, int)
        kind = int if whole else (int, float)
        if not isinstance(value, kind) or isinstance(value, bool) or not low <= value <= high:
            what = "a whole number" if whole else "a number"
            raise ConfigError(f"search.{name} = {value!r} is not {what} from {low} to {high}")
