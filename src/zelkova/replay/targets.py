"""What the network should answer for stored positions, in its own view of the seats.

The value head gives a distribution over P + 1 outcomes: each seat wins, or a draw (the last one).
With one player there are two: the share of the return range that was reached, and the rest.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ConfigError, GameError, ShapeError
from zelkova.replay.buffer import Batch

SHARE_TOLERANCE = 1e-3  # shares of three or more players sum to 1 within this; a tie is as near


@dataclass(frozen=True)
class OutcomeSpec:
    """What a game says of its outcomes.

    Raises:
        ConfigError: no player, an empty range or an unknown view.
    """

    num_players: int  # P
    return_range: tuple[float, float]  # lowest and highest return
    view: str = "mover"  # "mover": the network's first seat is the mover; "absolute": seats as they are
    has_draws: bool = True  # False: the draw outcome is never a target

    def __post_init__(self) -> None:
        """Refuse what no game can say."""
        low, high = self.return_range
        if self.num_players < 1 or not low < high or self.view not in ("mover", "absolute"):
            raise ConfigError(
                f"outcomes of {self.num_players} players, range {self.return_range}, view `{self.view}`;"
                " allowed: 1 player or more, low < high, view mover or absolute"
            )


class Targets(NamedTuple):
    """What a training step compares the network's answers with."""

    legal: NDArray[np.int32]  # [B, M] legal actions, padded with -1
    policy: NDArray[np.float32]  # [B, M] aligned to legal, sums to 1
    outcome: NDArray[np.float32]  # [B, P + 1] share of each outcome, sums to 1, network's view
    root_values: NDArray[np.float32]  # [B, P] in RETURN_RANGE, network's view
    alive: NDArray[np.bool_] | None = None  # [B, P] seats that can still win, network's view
    aftermath: NDArray[np.float32] | None = None  # [B, 2P + 2] network's view, see Aftermath


class Aftermath(NamedTuple):
    """How games went on after their positions: the columns of one array [B, 2P + 2], NumPy or torch."""

    places: Any  # [B, P] of the seats at the end, 1 for the best; who is equal shares the better place
    next_eliminated: Any  # [B] the seat that falls next, 0..P-1; P: none does
    material: Any  # [B, P] shares of the material at the end, sum to 1
    plies_left: Any  # [B] moves that players still make, 1 or more


def split_aftermath(columns: Any) -> Aftermath:
    """Name the columns of an array [B, 2P + 2], without a copy."""
    players = columns.shape[1] // 2 - 1
    return Aftermath(columns[:, :players], columns[:, players], columns[:, players + 1 : -1], columns[:, -1])


def make_targets(batch: Batch, spec: OutcomeSpec, alive: NDArray[np.bool_] | None = None) -> Targets:
    """Turn stored positions into training targets.

    Args:
        batch: positions with absolute seats.
        spec: the game's outcomes.
        alive: [B, P] seats that are still in the game, absolute; None: all are.
    Raises:
        GameError, ShapeError: see outcome_target and to_view.
    """
    outcome = outcome_target(batch.returns, spec)
    seats = outcome[:, : spec.num_players]
    root_values = batch.root_values
    if spec.view == "mover" and spec.num_players > 1:
        seats = to_view(seats, batch.to_play)
        root_values = to_view(root_values, batch.to_play)
        alive = None if alive is None else to_view(alive, batch.to_play)
    aftermath = batch.aftermath if batch.aftermath.shape[1] else None
    if aftermath is not None and spec.view == "mover" and spec.num_players > 1:
        aftermath = _turn_aftermath(aftermath, batch.to_play)
    turned = np.concatenate([seats, outcome[:, spec.num_players :]], axis=1)
    return Targets(batch.legal, batch.policy, turned, root_values, alive, aftermath)


def _turn_aftermath(columns: NDArray[np.float32], to_play: NDArray[np.int8]) -> NDArray[np.float32]:
    """Turn the seats of columns [B, 2P + 2] so that the mover comes first."""
    went, turned = split_aftermath(columns), columns.copy()
    players = went.places.shape[1]
    falls = went.next_eliminated < players
    own = split_aftermath(turned)
    own.places[:] = to_view(went.places, to_play)
    own.material[:] = to_view(went.material, to_play)
    own.next_eliminated[falls] = ((went.next_eliminated - to_play) % players)[falls]
    return turned


def to_view(values: NDArray[np.generic], to_play: NDArray[np.int8]) -> NDArray:  # type: ignore[type-arg]
    """Turn columns of absolute seats so that the mover comes first, then the others in turn order.

    Args:
        values: [B, P] absolute seats.
        to_play: [B] mover, 0..P-1.
    Returns:
        [B, P] of the same dtype; column k is seat (to_play + k) % P.
    Raises:
        ShapeError: the two do not have one length.
    """
    if values.ndim != 2 or to_play.shape != values.shape[:1]:
        raise ShapeError(f"values {values.shape} and to_play {to_play.shape}; allowed: [B, P] and [B]")
    players = values.shape[1]
    seats = (to_play.astype(np.int64)[:, None] + np.arange(players)) % players
    return np.take_along_axis(values, seats, axis=1)


def outcome_target(returns: NDArray[np.float32], spec: OutcomeSpec) -> NDArray[np.float32]:
    """Say which outcome the games had, as a distribution over seats and the draw.

    Two players: the winner, or the draw. Three or more: the shares of the seats; where all are
    equal and the game has draws, the draw. One player: the share of the range, and the rest.

    Args:
        returns: [B, P] absolute seats.
        spec: the game's outcomes.
    Returns:
        float32[B, P + 1], rows sum to 1.
    Raises:
        ShapeError: returns is not [B, P].
        GameError: a return out of the range, shares that do not sum to 1, or a tie between two
            players in a game without draws.
    """
    players = spec.num_players
    if returns.ndim != 2 or returns.shape[1] != players:
        raise ShapeError(f"returns has shape {returns.shape}; allowed: [B, {players}]")
    low, high = spec.return_range
    share = ((returns - low) / (high - low)).astype(np.float32)
    outside = (share < -SHARE_TOLERANCE) | (share > 1.0 + SHARE_TOLERANCE) | np.isnan(share)
    _refuse_where(
        np.any(outside, axis=1),
        returns, f"lie outside the game's RETURN_RANGE ({low:g}, {high:g})",
    )  # fmt: skip
    outcome = np.zeros((returns.shape[0], players + 1), np.float32)
    if players == 1:
        outcome[:, 0] = np.clip(share[:, 0], 0.0, 1.0)
        outcome[:, 1] = 1.0 - outcome[:, 0]
        return outcome
    tied = np.less_equal(np.ptp(share, axis=1), SHARE_TOLERANCE)
    if players == 2:
        if not spec.has_draws:
            _refuse_where(tied, returns, "are a draw in a game that says HAS_DRAWS = False")
        outcome[np.arange(len(share)), np.argmax(share, axis=1)] = 1.0
    else:
        total = share.sum(axis=1, keepdims=True)
        _refuse_where(
            np.abs(total[:, 0] - 1.0) > SHARE_TOLERANCE, returns, "do not share out 1 among the players"
        )
        outcome[:, :players] = share / total
    if spec.has_draws:
        outcome[tied] = 0.0
        outcome[tied, players] = 1.0
    return outcome


def _refuse_where(wrong: NDArray[np.bool_], returns: NDArray[np.float32], what: str) -> None:
    """Raise GameError naming the first row that is wrong."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise GameError(
            f"returns {returns[row].tolist()} {what}; correct the game's returns(), or its constants"
        )
