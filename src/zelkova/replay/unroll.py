"""Targets of a learned model: n-step values, rewards or prefixes, policies, and what is masked out.

An unroll begins at a drawn decision t and follows the actions that were taken. Values are vectors over
absolute players, and rewards belong to the edge on which they were received.

Source: MuZero (Schrittwieser et al. 2020), Appendix G and H; EfficientZero (Ye et al. 2021) for prefixes and
the shorter horizon of old data.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ConfigError
from zelkova.replay.config import UnrollConfig
from zelkova.replay.trajectories import Picks, TrajectoryBuffer

Floats = NDArray[np.float32]


class UnrollBatch(NamedTuple):
    """What one optimiser step is made of, K steps from B decisions."""

    observations: Any  # [B, *shape] at step 0
    actions: Any  # int32[B, K], or float32[B, K, D]; random ones beyond an end
    rewards: Any  # [B, K, P] on the way into steps 1..K, or their sums since the last reset
    values: Any  # [B, K + 1, P]
    policy: Any  # [B, K + 1, M]
    candidates: Any  # [B, K + 1, M, D] or None
    reward_mask: Any  # bool[B, K]
    value_mask: Any  # bool[B, K + 1]
    policy_mask: Any  # bool[B, K + 1]
    next_observations: Any  # [B, K, *shape] at steps 1..K, or None
    next_mask: Any  # bool[B, K] where there is one, or None
    to_play: Any  # int8[B, K + 1]
    weights: Any  # [B]
    augment: Any = None  # [B, K + 1, 3] how each step's image is changed, see `draw_changes`; or None


class Fresh(NamedTuple):
    """New targets for a batch, in place of those stored."""

    values: Floats | None = None  # [B, K + 1, P] of the rows that `bootstrap_rows` gives
    policy: Floats | None = None  # [B, K + 1, M]
    candidates: Floats | None = None  # [B, K + 1, M, D]
    is_fresh: Any = None  # bool[B, K + 1] where policy and candidates are new
    estimates: Floats | None = None  # [B, K + 1, P] searched values, targets themselves
    is_estimated: Any = None  # bool[B, K + 1] where they stand in place of n-step values


class Steps(NamedTuple):
    """Rows of an unroll, and where they are beyond the end."""

    rows: NDArray[np.int64]  # [B, K + 1] clipped to the final observation
    ahead: NDArray[np.int64]  # [B, K + 1] decisions from each step to the end; 0 there, below 0 beyond
    last: NDArray[np.int64]  # [B]
    terminated: NDArray[np.bool_]  # [B, 1]


def find_steps(buffer: TrajectoryBuffer, picks: Picks, count: int) -> Steps:
    """Find the rows of B unrolls of `count` steps."""
    wanted = picks.rows[:, None] + np.arange(count + 1)
    ahead = picks.last[:, None] - wanted
    terminated = buffer.take("terminated", picks.rows)[:, None]
    return Steps(np.minimum(wanted, picks.last[:, None]), ahead, picks.last, terminated)


def horizons(buffer: TrajectoryBuffer, picks: Picks, config: UnrollConfig) -> NDArray[np.int64]:
    """Give n of each pick's targets [B, 1]: that of the config, or less for old data.

    Source: EfficientZero (Ye et al. 2021), Section 4.3, as its public code has it.
    """
    if config.td_steps == 0:
        return picks.last[:, None] - picks.rows[:, None] + 1
    horizon = np.full((len(picks.rows), 1), config.td_steps, np.int64)
    if not config.correction:
        return horizon
    age = buffer.total_added - buffer.take("number", picks.rows)[:, None]
    less = age // max(int(0.3 * config.correction_span), 1)
    shorter: NDArray[np.int64] = np.clip(horizon - less, 1, config.td_steps)
    return shorter


def bootstrap_rows(buffer: TrajectoryBuffer, picks: Picks, config: UnrollConfig) -> NDArray[np.int64]:
    """Give the rows [B, K + 1] whose values the targets of a batch begin with; -1 where they need none."""
    steps = find_steps(buffer, picks, config.unroll_steps)
    reached = np.minimum(horizons(buffer, picks, config), steps.ahead)
    is_end = reached == steps.ahead
    needed = (steps.ahead >= 0) & ~(is_end & steps.terminated)
    found: NDArray[np.int64] = np.where(needed, steps.rows + np.maximum(reached, 0), -1)
    return found


def value_targets(
    buffer: TrajectoryBuffer, picks: Picks, config: UnrollConfig, fresh: Floats | None
) -> Floats:
    """Give n-step values [B, K + 1, P]; 0 at and beyond a terminal state.

    z_t = sum over i < m of gamma^i u_{t+1+i}, and gamma^m nu_{t+m} unless the episode terminated there;
    m = min(n, decisions to the end).
    """
    steps = find_steps(buffer, picks, config.unroll_steps)
    horizon = np.minimum(horizons(buffer, picks, config), np.maximum(steps.ahead, 0))
    players = buffer.columns["rewards"].shape[1]
    total = np.zeros((*steps.rows.shape, players), np.float64)
    for ahead in range(int(horizon.max(initial=0))):
        inside = ahead < horizon
        reward = buffer.take("rewards", np.minimum(steps.rows + ahead, steps.last[:, None]).ravel())
        total += inside[..., None] * config.discount**ahead * reward.reshape(total.shape)
    where = bootstrap_rows(buffer, picks, config)
    values = fresh
    if values is None:
        values = buffer.take("values", np.maximum(where, 0).ravel()).reshape(total.shape)
    total += np.where(where >= 0, config.discount**horizon, 0.0)[..., None] * values
    return total.astype(np.float32)


def make_unroll(
    buffer: TrajectoryBuffer,
    picks: Picks,
    config: UnrollConfig,
    rng: np.random.Generator,
    fresh: Fresh | None = None,
    needs_next: bool = False,
) -> UnrollBatch:
    """Turn drawn decisions into what one optimiser step needs.

    Args:
        buffer: nothing may have been added since the picks were drawn.
        picks: B decisions.
        config: K, n and the rest.
        rng: draws the actions beyond an end.
        fresh: targets of a newer network.
        needs_next: give the observations of steps 1..K too.
    """
    fresh = fresh or Fresh()
    count, batch = config.unroll_steps, len(picks.rows)
    steps = find_steps(buffer, picks, count)
    flat = steps.rows.ravel()

    def read(name: str, rows: NDArray[np.int64], columns: int) -> NDArray[Any]:
        taken = buffer.take(name, rows)
        return taken.reshape(batch, columns, *taken.shape[1:])

    policy = read("policy", flat, count + 1)
    candidates = read("candidates", flat, count + 1) if "candidates" in buffer.columns else None
    if fresh.policy is not None:
        policy = np.where(fresh.is_fresh[..., None], fresh.policy, policy)
    if fresh.candidates is not None and candidates is not None:
        candidates = np.where(fresh.is_fresh[..., None, None], fresh.candidates, candidates)
    beyond_start = steps.ahead[:, :-1] <= 0  # the action would leave the final observation
    rewards = np.where(
        beyond_start[..., None], np.float32(0.0), read("rewards", steps.rows[:, :-1].ravel(), count)
    )
    if config.value_prefix:
        rewards = prefixes(rewards, config.prefix_reset)
    is_absorbing = steps.terminated & (config.absorbing == "train")
    next_rows = steps.rows[:, 1:].ravel()
    return UnrollBatch(
        observations=buffer.take("observations", picks.rows),
        actions=_draw_beyond(
            read("actions", steps.rows[:, :-1].ravel(), count), beyond_start, policy.shape[-1], rng
        ),
        rewards=rewards.astype(np.float32),
        values=_mix_values(value_targets(buffer, picks, config, fresh.values), fresh),
        policy=policy,
        candidates=candidates,
        reward_mask=~beyond_start | is_absorbing,
        value_mask=(steps.ahead > 0) | ((steps.ahead == 0) & ~steps.terminated) | is_absorbing,
        policy_mask=steps.ahead > 0,
        next_observations=read("observations", next_rows, count) if needs_next else None,
        next_mask=steps.ahead[:, 1:] >= 0 if needs_next else None,
        to_play=read("to_play", flat, count + 1),
        weights=picks.weights,
    )


def _mix_values(values: Floats, fresh: Fresh) -> Floats:
    """Put searched values in the place of n-step values [B, K + 1, P] where there are such."""
    if fresh.estimates is None:
        return values
    mixed: Floats = np.where(fresh.is_estimated[..., None], fresh.estimates, values)
    return mixed


def cycle_of(batch: UnrollBatch) -> NDArray[np.int64]:
    """Give whose turn each step [B, K + 1] is where turns go around; beyond an end the cycle goes on.

    Raises:
        ConfigError: they do not go around.
    """
    players = batch.values.shape[-1]
    mover: NDArray[np.int64] = (
        batch.to_play[:, :1].astype(np.int64) + np.arange(batch.values.shape[1])
    ) % players
    if ((mover != batch.to_play) & batch.policy_mask).any():
        raise ConfigError(
            "turns do not go around in this game: a player moves twice in a row, or is passed over;"
            " next: begin a run with latent.turns = learned"
        )
    return mover


def turn_to_mover(batch: UnrollBatch, learns_turns: bool = False) -> UnrollBatch:
    """Turn values and rewards so that each step's mover comes first.

    Args:
        batch: of absolute players.
        learns_turns: movers are those recorded, and to_play becomes how many seats on from the turn before
            (0 at step 0 and beyond an end), as a view from the mover's side can't tell seats; else a cycle.
    Raises:
        ConfigError: see cycle_of.
    """
    players = batch.values.shape[-1]
    mover = batch.to_play.astype(np.int64) if learns_turns else cycle_of(batch)
    if learns_turns:
        passed = np.diff(mover, axis=1, prepend=mover[:, :1]) % players
        batch = batch._replace(to_play=passed.astype(np.int8))
    seats = (mover[..., None] + np.arange(players)) % players
    return batch._replace(
        values=np.take_along_axis(batch.values, seats, axis=2),
        rewards=np.take_along_axis(batch.rewards, seats[:, 1:], axis=2),
    )


def draw_changes(batch: UnrollBatch, shift: int, intensity: float, rng: np.random.Generator) -> UnrollBatch:
    """Draw how the images of a batch are changed as they are learnt from; each step's is drawn apart.

    Args:
        batch: of B unrolls.
        shift: most pixels in each direction.
        intensity: deviation of the brightness' factor from 1, normal and cut at two deviations.
        rng: where the draws come from.
    Source: SPR (Schwarzer et al. 2021), Appendix; EfficientZero (Ye et al. 2021), Appendix.
    """
    shape = batch.values.shape[:2]
    pixels = rng.integers(-shift, shift, (*shape, 2), endpoint=True)
    factor = 1.0 + intensity * np.clip(rng.standard_normal((*shape, 1)), -2.0, 2.0)
    return batch._replace(augment=np.concatenate([pixels, factor], axis=-1).astype(np.float32))


def prefixes(rewards: NDArray[Any], reset: int) -> NDArray[Any]:
    """Sum rewards [B, K, P] since the last of the resets, which come every `reset` steps; not discounted."""
    summed = np.empty_like(rewards)
    for start in range(0, rewards.shape[1], reset):
        summed[:, start : start + reset] = np.cumsum(rewards[:, start : start + reset], axis=1)
    return summed


def _draw_beyond(
    actions: NDArray[Any], beyond: NDArray[np.bool_], num_actions: int, rng: np.random.Generator
) -> NDArray[Any]:
    """Put random actions where an unroll goes on beyond the end."""
    if actions.ndim == 2:
        return np.where(beyond, rng.integers(0, num_actions, actions.shape), actions).astype(np.int32)
    drawn = rng.uniform(-1.0, 1.0, actions.shape).astype(np.float32)
    return np.where(beyond[..., None], drawn, actions)
