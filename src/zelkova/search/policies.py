"""Search policies by name: each is put together from its rules and constants and yields a `SearchConfig`.

`Puct` selects by prior and visits everywhere; `Gumbel` halves candidates at the root; `Regularised` follows
the solution of a regularised problem. What they share, and what belongs to the call and not to the trees
(leaves at a time, return range, sampled actions), is `Policy`.
"""

from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, ClassVar, Literal, Self

from zelkova.errors import ConfigError, hint
from zelkova.search.config import SearchConfig, check_range

MOST_AT_A_TIME = 1_000_000  # leaves of a tree, or actions drawn at a node
LEAST_TAU = 1e-3
PENALTIES = ("trpo", "mpo")
CONSTANT = 1e12  # a c_base so large that the exploration stays at c_init

PUCT_CONSTANTS: dict[str, dict[str, Any]] = {
    # Silver et al. 2016, Methods: u = 5 P sqrt(S) / (1 + N), no noise; the mix of a value network and
    # rollouts is the model's value
    "alphago": {
        "num_simulations": 1600, "c_init": 5.0, "c_base": CONSTANT, "parent_count": "sum", "rescale": "none",
        "dirichlet_fraction": 0.0,
    },
    # Silver et al. 2017, Methods: c P sqrt(S) / (1 + N) beside the mean value; the paper names no c
    "alphago_zero": {
        "num_simulations": 1600, "c_base": CONSTANT, "parent_count": "sum", "rescale": "none",
        "dirichlet_alpha": 0.03,
    },
    # Silver et al. 2018; MuZero at board games too, whose value bounds are known
    "alphazero": {"num_simulations": 800, "rescale": "fixed"},
    # Schrittwieser et al. 2020, Appendix B: Atari; Q by the tree's smallest and largest
    "muzero": {"num_simulations": 50, "rescale": "tree", "rescale_floor": 1e-8, "dirichlet_alpha": 0.25},
    # the reading of the MuZero formula in which the parent's visits are the sum over its actions
    "muzero_sum": {
        "num_simulations": 50, "rescale": "tree", "rescale_floor": 1e-8, "dirichlet_alpha": 0.25,
        "parent_count": "sum",
    },
    # Ye et al. 2021, public code: soft range, running mean Q for unvisited actions
    "efficientzero": {
        "num_simulations": 50, "rescale": "tree", "rescale_floor": 0.01, "fpu": "mean_q",
        "dirichlet_alpha": 0.3,
    },
    # mctx.muzero_policy
    "mctx": {"num_simulations": 32, "rescale": "node", "rescale_floor": 1e-8, "dirichlet_alpha": 0.3},
}  # fmt: skip
"""Settings of published PUCT searches, for `Puct.named`."""

GUMBEL_CONSTANTS: dict[str, dict[str, Any]] = {
    # Danihelka et al. 2022, Section 6 and Appendix: Go and chess, Q mapped from the return range to 0..1
    "board": {"num_simulations": 32, "max_considered": 16, "rescale": "fixed", "c_scale": 1.0},
    # the same: Atari, Q by the range of the node's value and its actions
    "atari": {"num_simulations": 50, "max_considered": 18, "rescale": "node", "c_scale": 0.1},
    # mctx.gumbel_muzero_policy
    "mctx": {
        "num_simulations": 32, "max_considered": 16, "rescale": "node", "c_scale": 0.1,
        "rescale_floor": 1e-8, "rescale_illegal": True,
    },
}  # fmt: skip
"""Settings of published Gumbel searches, for `Gumbel.named`."""


@dataclass(frozen=True)
class Policy:
    """What all policies share. Fields that `SearchConfig` has too mean what they mean there.

    Raises:
        ConfigError: a value is of the wrong kind or out of range.
    """

    num_simulations: int = 32
    _: KW_ONLY
    rescale: Literal["fixed", "tree", "node", "none"] = "node"
    rescale_floor: float = 0.01
    max_depth: int = 0
    solve: bool = False
    virtual_loss: Literal["loss", "visits"] = "loss"
    virtual_visits: int = 1
    num_leaves: int = 1  # leaves of one tree that a model evaluates at a time
    q_range: tuple[float, float] = (-1.0, 1.0)
    # lowest and highest return, for rescale = fixed, fpu = loss and virtual losses; the default is that of a
    # game won or lost. Nothing is clipped: Q beyond it passes 0..1 and outweighs the prior; solve refuses it
    num_samples: int = 0  # K_s actions drawn at each node; 0: all actions, or 20 of a continuous policy
    proposal_tau: float = 1.0  # sampled numbered actions come from prior ** (1 / tau); inf: uniform

    rule: ClassVar[str] = "puct"  # SearchConfig.policy
    constants: ClassVar[dict[str, dict[str, Any]]] = {}

    def __post_init__(self) -> None:
        self.config()
        for name, least in (("num_leaves", 1), ("num_samples", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MOST_AT_A_TIME:
                raise ConfigError(
                    f"policy.{name} = {value!r} is not a whole number from {least} to {MOST_AT_A_TIME}"
                )
        tau = self.proposal_tau
        if not isinstance(tau, int | float) or not tau >= LEAST_TAU:
            raise ConfigError(
                f"policy.proposal_tau = {tau!r} is not a number from {LEAST_TAU} on; inf is uniform"
            )
        check_range(self.q_range)

    @classmethod
    def named(cls, name: str, **changes: Any) -> Self:
        """Take the constants of a published search.

        Args:
            name: a key of `constants`.
            changes: fields that differ.
        Raises:
            ConfigError: the name is unknown, or a value is out of range.
        """
        if not isinstance(name, str) or name not in cls.constants:
            raise ConfigError(f"{cls.__name__}.named({name!r}) is unknown; {hint(str(name), cls.constants)}")
        known = [field.name for field in fields(cls) if field.init]
        for change in changes:
            if change not in known:
                raise ConfigError(f"{cls.__name__} has no setting `{change}`; {hint(change, known)}")
        return cls(**{**cls.constants[name], **changes})

    def config(self) -> SearchConfig:
        """Put the settings of the trees together."""
        known = {field.name for field in fields(SearchConfig)}
        mine = {f.name: getattr(self, f.name) for f in fields(self) if f.name in known}
        return SearchConfig(**{"policy": self.rule, **mine})

    @property
    def has_noise(self) -> bool:
        """Whether noise is drawn for the root."""
        return False

    def without_noise(self) -> Self:
        """Give the same policy without root noise, as for evaluation."""
        return self


@dataclass(frozen=True)
class Puct(Policy):
    """PUCT at every node, Dirichlet noise at the root, visits as target: AlphaGo to MuZero.

    The default suits returns of any size; rescale = "fixed" ones from -1 to 1, or what q_range says.

    Source: `PUCT_CONSTANTS` names the papers.
    """

    num_simulations: int = 50
    _: KW_ONLY
    rescale: Literal["fixed", "tree", "node", "none"] = "tree"
    c_init: float = 1.25
    c_base: float = 19652.0
    parent_count: Literal["one_plus", "sum"] = "one_plus"
    fpu: Literal["zero", "parent", "reduction", "mean_q", "loss", "lowered"] = "zero"
    fpu_reduction: float = 0.25
    forced_playouts: float = 0.0
    dirichlet_alpha: float | Literal["auto"] = "auto"
    dirichlet_fraction: float = 0.25

    constants: ClassVar[dict[str, dict[str, Any]]] = PUCT_CONSTANTS

    @property
    def has_noise(self) -> bool:
        """Whether Dirichlet noise is mixed into the root's prior."""
        return self.dirichlet_fraction > 0

    def without_noise(self) -> Self:
        """Give the same policy with dirichlet_fraction 0."""
        return replace(self, dirichlet_fraction=0.0)


@dataclass(frozen=True)
class Gumbel(Policy):
    """Sequential Halving over Gumbel candidates at the root, completed Q as target: Gumbel MuZero.

    The defaults suit returns of any size: Q is rescaled by the range of each node. rescale = "fixed" suits
    returns from -1 to 1, or what q_range says.

    Source: Policy improvement by planning with Gumbel (Danihelka et al., ICLR 2022).
    """

    num_simulations: int = 32
    max_considered: int = 16
    _: KW_ONLY
    interior: Literal["full", "puct", "trpo", "mpo"] = "full"
    candidates: Literal["gumbel", "replacement"] = "gumbel"
    target: Literal["policy", "acted"] = "policy"
    completion: Literal["mixed", "raw"] = "mixed"
    gumbel_scale: float = 1.0
    c_visit: float = 50.0
    c_scale: float = 0.1
    rescale_illegal: bool = False
    c_init: float = 1.25
    c_base: float = 19652.0
    parent_count: Literal["one_plus", "sum"] = "one_plus"

    rule: ClassVar[str] = "gumbel"
    constants: ClassVar[dict[str, dict[str, Any]]] = GUMBEL_CONSTANTS

    @property
    def has_noise(self) -> bool:
        """Whether Gumbel noise is drawn for the root."""
        return self.gumbel_scale > 0

    def without_noise(self) -> Self:
        """Give the same policy with gumbel_scale 0."""
        return replace(self, gumbel_scale=0.0)


@dataclass(frozen=True)
class Regularised(Policy):
    """The solution y of a regularised problem as policy, target and guide of the visits; no root noise.

    Source: MCTS as regularized policy optimization (Grill et al. 2020).
    """

    num_simulations: int = 32
    penalty: Literal["trpo", "mpo"] = "trpo"  # KL(prior, y), which PUCT approximates; or KL(y, prior)
    _: KW_ONLY
    interior: Literal["full", "puct", "trpo", "mpo"] = "trpo"
    completion: Literal["mixed", "raw"] = "mixed"
    c_init: float = 1.25
    c_base: float = 19652.0
    parent_count: Literal["one_plus", "sum"] = "one_plus"

    def config(self) -> SearchConfig:
        """Put the settings of the trees together."""
        if self.penalty not in PENALTIES:
            raise ConfigError(
                f"policy.penalty = {self.penalty!r} is unknown; {hint(str(self.penalty), PENALTIES)}"
            )
        return replace(super().config(), policy=self.penalty)


@dataclass(frozen=True)
class Custom(Policy):
    """Any `SearchConfig` as a policy; of the other fields only those of the call count."""

    settings: SearchConfig = SearchConfig()  # noqa: RUF009 (frozen)

    def __post_init__(self) -> None:
        if not isinstance(self.settings, SearchConfig):
            raise ConfigError(f"Custom(settings={self.settings!r}); allowed: a search.SearchConfig")
        object.__setattr__(self, "num_simulations", self.settings.num_simulations)
        super().__post_init__()

    def config(self) -> SearchConfig:
        """Give the settings as they are."""
        return self.settings

    @property
    def has_noise(self) -> bool:
        """Whether noise is drawn for the root."""
        return self.settings.has_noise

    def without_noise(self) -> Self:
        """Give the same policy with gumbel_scale and dirichlet_fraction 0."""
        return replace(self, settings=replace(self.settings, gumbel_scale=0.0, dirichlet_fraction=0.0))


def as_policy(given: Policy | SearchConfig) -> Policy:
    """Take a policy, or a `SearchConfig` as one with one leaf at a time and returns from -1 to 1.

    Raises:
        ConfigError: it is neither.
    """
    if isinstance(given, SearchConfig):
        return Custom(settings=given)
    if isinstance(given, Policy):
        return given
    raise ConfigError(
        f"policy = {given!r}; allowed: search.Gumbel(...), search.Puct(...), search.Regularised(...) or a"
        " search.SearchConfig(...)"
    )
