"""What is drawn around a search: root noise before it, an action by its visits after it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ConfigError
from zelkova.search.config import DIRICHLET_SCALE, SearchConfig
from zelkova.search.kernels.native import F32, I32
from zelkova.search.model import Evaluation, SearchResult
from zelkova.search.models.sampled import sample_rows

F64 = NDArray[np.float64]


def sharpen(weights: NDArray[Any], temperature: Any) -> F64:
    """Sharpen visit counts or probabilities: (weight / largest) ** (1 / temperature); the sum need not be 1.

    Args:
        weights: [B, M], 0 or more. temperature: above 0, a number or [B].
    """
    heat = np.asarray(temperature, np.float64)
    most = weights.max(axis=1, keepdims=True).astype(np.float64)
    share = weights / np.where(most > 0, most, 1.0)
    sharpened: F64 = share ** (1.0 / heat[:, None] if heat.ndim else float(1.0 / heat))
    return sharpened


def read_temperature(temperature: Any, trees: int) -> F64:
    """Take a temperature.

    Args:
        temperature: a number or [B], finite, 0 or more.
        trees: B.
    Raises:
        ConfigError: it is another thing.
    """
    try:
        given = np.asarray(temperature)
    except (TypeError, ValueError):
        given = np.asarray(None)  # of a kind that is refused
    heat: F64 = given.astype(np.float64) if given.dtype.kind in "iuf" else np.full(trees, np.nan)
    if heat.shape not in ((), (trees,)) or not (np.isfinite(heat) & (heat >= 0)).all():
        raise ConfigError(
            f"temperature = {temperature!r}; allowed: a finite number, 0 or more, or {trees}, one a row"
        )
    return heat


def draw_actions(config: SearchConfig, result: SearchResult, temperature: Any, uniform: Any) -> I32:
    """Draw an action for every tree in proportion to visits ** (1 / temperature).

    A regularised policy (trpo, mpo) acts by its solution: there action_weights take the place of visits.

    Args:
        config: its policy is read.
        result: of the searches.
        temperature: above 0, a number or [B].
        uniform: [B] numbers in [0, 1) to draw with.
    Returns:
        [B] action numbers.
    """
    inside = np.arange(result.actions.shape[1])[None] < result.count[:, None]
    weights = result.action_weights if config.policy in ("trpo", "mpo") else result.visit_counts
    total = np.cumsum(sharpen(np.where(inside, weights, 0), temperature), axis=1)
    index = (total <= (uniform * total[:, -1])[:, None]).sum(axis=1)
    column = np.minimum(index, result.count - 1)  # where rounding led past the last one
    drawn: I32 = result.actions[np.arange(len(column)), column]
    return drawn


def draw_noise(
    config: SearchConfig,
    count: I32,
    max_actions: int,
    rngs: np.random.Generator | Sequence[np.random.Generator],
) -> F32:
    """Draw root noise for every tree.

    Gumbel(0), or a Dirichlet over the legal actions (puct), or numbers in [0, 1) to draw candidates with
    (candidates = replacement); trpo and mpo take none, so 0.

    Args:
        config: its policy, candidates and dirichlet_alpha are read.
        count: [B] legal actions of each root.
        max_actions: M.
        rngs: one generator for each tree (its draw then doesn't depend on its neighbours), or one for all.
    Returns:
        float32[B, M], 0 beyond the legal actions.
    """
    noise = np.zeros((len(count), max_actions), np.float32)
    for b, n in enumerate(count):
        rng = rngs if isinstance(rngs, np.random.Generator) else rngs[b]
        if config.candidates == "replacement":
            noise[b] = rng.random(max_actions)
        elif config.policy == "gumbel":
            noise[b, :n] = rng.gumbel(size=n)
        elif config.policy == "puct":
            alpha = (
                DIRICHLET_SCALE / max(int(n), 1)
                if config.dirichlet_alpha == "auto"
                else config.dirichlet_alpha
            )
            noise[b, :n] = rng.dirichlet(np.full(n, alpha))
    return noise


def draw_with_replacement(roots: Evaluation, config: SearchConfig, uniform: F32) -> Evaluation:
    """Draw the candidates of every root from its prior with replacement, as Gumbel's ablation does.

    Args:
        roots: B rows, not changed.
        config: min(max_considered, num_simulations) of the draws are used.
        uniform: [B, M] numbers in [0, 1), as `draw_noise` gives them.
    Returns:
        The roots with the distinct draws alone, log(count / draws) as their logits.
    Source: Gumbel MuZero (Danihelka et al. 2022), Section 6: the ablation Replacement.
    """
    draws = min(config.max_considered, config.num_simulations, uniform.shape[1])
    return sample_rows(roots, uniform[:, :draws].astype(np.float64), np.ones(len(uniform), np.bool_), 1.0)


def spread_over(found: SearchResult, roots: Evaluation) -> SearchResult:
    """Bring an answer about some actions of every root into the order of all its legal actions.

    Args:
        found: columns follow the drawn actions.
        roots: with all legal actions, ascending.
    """
    full = found._replace(
        actions=np.where(np.arange(roots.actions.shape[1]) < roots.count[:, None], roots.actions, -1),
        count=roots.count.copy(),
        action_weights=np.zeros_like(found.action_weights),
        visit_counts=np.zeros_like(found.visit_counts),
        q_values=np.zeros_like(found.q_values),
    )
    for b, count in enumerate(found.count):
        columns = np.searchsorted(roots.actions[b, : roots.count[b]], found.actions[b, :count])
        for name in ("action_weights", "visit_counts", "q_values"):
            getattr(full, name)[b, columns] = getattr(found, name)[b, :count]
    return full
