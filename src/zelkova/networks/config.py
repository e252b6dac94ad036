"""Which network is built, and which heads it learns with, as frozen dataclasses."""

from dataclasses import dataclass, fields
from typing import Literal, get_args

from zelkova.errors import ConfigError, hint

Kind = Literal["residual", "mlp"]
PolicyHead = Literal["linear", "conv"]

HEADS = ("rank", "next_eliminated", "final_material", "plies_left")
MOST_WEIGHT = 1000.0
MOST_BLOCKS = 1000
MOST_UNITS = 1_000_000  # channels or hidden units


@dataclass(frozen=True)
class NetworkConfig:
    """The shape of a network, apart from what the game fixes (planes, actions, players).

    Raises:
        ConfigError: an unknown kind, or a size out of range.
    """

    kind: Kind = "residual"  # residual tower over the board, or an MLP over the flattened planes
    channels: int = 32  # channels of the tower; the width of a hidden layer is 4 times this for an MLP
    blocks: int = 3  # residual blocks; hidden layers for an MLP
    pooling_every: int = 0  # residual: every such block also pools over the whole board; 0: none does
    policy_head: PolicyHead = "linear"
    # residual: a linear layer over all cells, or a convolution that gives each cell its own actions, for
    # games whose action is a plane times the cells plus a cell
    policy_channels: int = 8  # channels that the residual policy head reads
    value_channels: int = 4  # channels that the residual value head flattens
    value_hidden: int = 64  # units of the value head's hidden layer
    value_counts: bool = (
        False  # residual: each plane's mean over the board, what there is of each, also reaches the value
    )

    def __post_init__(self) -> None:
        """Refuse what can't be built."""
        if self.kind not in get_args(Kind):
            raise ConfigError(f"unknown network.kind `{self.kind}`; {hint(str(self.kind), get_args(Kind))}")
        if self.policy_head not in get_args(PolicyHead):
            raise ConfigError(
                f"unknown network.policy_head `{self.policy_head}`;"
                f" {hint(str(self.policy_head), get_args(PolicyHead))}"
            )
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "value_counts" and type(value) is not bool:
                raise ConfigError(f"network.value_counts is {value!r}; allowed: true, false")
            if field.name in ("kind", "policy_head", "value_counts"):
                continue
            counts_blocks = field.name in ("blocks", "pooling_every")
            least, most = (0, MOST_BLOCKS) if counts_blocks else (1, MOST_UNITS)
            if type(value) is not int or not least <= value <= most:
                raise ConfigError(
                    f"network.{field.name} is {value!r}; allowed: a whole number from {least} to {most};"
                    f" the default is {field.default}"
                )
        if self.kind == "mlp" and (self.pooling_every > 0 or self.value_counts):
            raise ConfigError(
                f"network.pooling_every is {self.pooling_every} and network.value_counts {self.value_counts}"
                " with network.kind `mlp`, whose layers see the whole board; allowed: 0 and false"
            )


@dataclass(frozen=True)
class HeadsConfig:
    """Weights of auxiliary heads: what a network also learns to foresee, so that its tower sees more.

    A head of weight 0 is not there. None plays, so none is in what acts: engines and exports lack them.

    Raises:
        ConfigError: a number out of range.
    Source: KataGo (Wu 2019), Section 4.1, for auxiliary targets; these are three-player shogi's.
    """

    rank: float = 0.0  # each seat's place at the end; cross-entropy in nats, mean over the seats
    next_eliminated: float = 0.0  # which seat falls next, or none; cross-entropy in nats
    final_material: float = 0.0  # each seat's share of the material at the end; cross-entropy in nats
    plies_left: float = 0.0  # moves to the end, as log(1 + n): an error is a share, whatever a game's length
    hidden: int = 64  # units of the layer that the heads share

    @property
    def weights(self) -> dict[str, float]:
        """The heads that there are, with their weights."""
        every = {name: float(getattr(self, name)) for name in HEADS}
        return {name: weight for name, weight in every.items() if weight > 0.0}

    def __post_init__(self) -> None:
        """Refuse what can't be."""
        for name in HEADS:
            value = getattr(self, name)
            if (
                isinstance(value, bool)
                or not isinstance(value, int | float)
                or not 0.0 <= value <= MOST_WEIGHT
            ):
                raise ConfigError(f"heads.{name} is {value!r}; allowed: numbers from 0 to {MOST_WEIGHT:g}")
        if type(self.hidden) is not int or not 1 <= self.hidden <= MOST_UNITS:
            raise ConfigError(
                f"heads.hidden is {self.hidden!r}; allowed: a whole number from 1 to {MOST_UNITS}"
            )
