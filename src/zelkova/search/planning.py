"""One call: your PyTorch model, observations and a policy in, actions and policy targets out.

`plan` searches once; a `Searcher` keeps its memory between calls of equal sizes.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import LARGEST_SEED, ConfigError, SearchError
from zelkova.search.batch import BatchSearch, run
from zelkova.search.config import SearchConfig
from zelkova.search.draws import draw_actions, draw_noise, read_temperature
from zelkova.search.kernels.native import F32, I32
from zelkova.search.model import Evaluation, SearchResult
from zelkova.search.models.sampled import SampledModel
from zelkova.search.notice import compile_notice
from zelkova.search.policies import Policy, as_policy

Seed = int | np.integer[Any] | Sequence[int] | np.random.Generator
TINY = 1e-300  # keeps a draw of nothing but zeros a distribution
SMALL_ALPHA = 0.01  # below it gamma draws round to 0, and a whole row of them is no distribution
NOISE, ACTING, SAMPLES = range(3)  # what a row draws for, each from a stream of its own


@dataclass(frozen=True)
class Plan:
    """What a batch of searches found. Columns of [B, A] are action numbers, or draws where there are such."""

    action: NDArray[Any]  # [B] action numbers, or [B, D] vectors, to play
    index: I32  # [B] column of that action
    action_weights: F32  # [B, A] policy target, 0 where illegal or not drawn; sums to 1
    visit_counts: I32  # [B, A]
    q_values: F32  # [B, A] mover's component of reward + discount * V(child); 0 where unvisited
    prior: F32  # [B, A] the model's probabilities, noise left out
    legal: NDArray[np.bool_]  # [B, A] what the search could choose
    value: F32  # [B, P] mean of the root's back-ups
    raw_value: F32  # [B, P] the model's value of the root
    improved_value: F32  # [B, P] value of the root under action_weights
    sampled_actions: NDArray[Any] | None  # [B, A] or [B, A, D] the drawn actions; None where all are numbered
    tree: BatchSearch  # the trees; a Searcher's next call uses their memory anew


class Streams(Sequence[np.random.Generator]):
    """A stream of random numbers for every row; a row's numbers don't depend on the other rows.

    Args:
        seed: one for all, whose rows have streams of their own; or one a row, whose stream then is the same
            wherever the row stands, and that of a batch of one with this seed.
        purpose: what is drawn; other purposes draw other numbers.
    Raises:
        ConfigError: a seed is out of range.
    """

    def __init__(self, seed: int | Sequence[int], purpose: int) -> None:
        self.seeds = [seed] if isinstance(seed, int | np.integer) else list(seed)
        self.is_shared = isinstance(seed, int | np.integer)
        for number in self.seeds:
            if not 0 <= number <= LARGEST_SEED:
                raise ConfigError(f"seed = {number} is not from 0 to {LARGEST_SEED}")
        self._purpose = purpose

    @cached_property
    def _turned(self) -> tuple[np.random.Philox, Any, np.random.Generator]:
        """The generator, and its state at the start of a stream."""
        bits = np.random.Philox(key=0)
        state: Any = bits.state
        state["state"]["counter"][:] = (0, 0, 0, self._purpose)
        return bits, state, np.random.Generator(bits)

    @overload
    def __getitem__(self, b: int) -> np.random.Generator: ...
    @overload
    def __getitem__(self, b: slice) -> Sequence[np.random.Generator]: ...
    def __getitem__(self, b: Any) -> Any:
        """Turn the generator to the start of row b's stream; what it gave for another row goes no further."""
        seed, row = (self.seeds[0], b) if self.is_shared else (self.seeds[b], 0)
        bits, state, generator = self._turned
        state["state"]["key"][:] = (seed, row)
        bits.state = state
        return generator

    def __len__(self) -> int:
        """Count the seeds."""
        return len(self.seeds)


def root_noise(config: SearchConfig, count: I32, most: int, streams: Streams) -> F32:
    """Draw root noise.

    Where one seed serves all rows and they need equally many numbers, all come from one stream at once, M for
    each row, legal or not; elsewhere each row has its stream. Either way rows don't touch each other.
    """
    if not streams.is_shared or config.candidates == "replacement" or config.policy in ("trpo", "mpo"):
        return draw_noise(config, count, most, streams)
    size = (len(count), most)
    if config.policy == "gumbel":
        return streams[0].gumbel(size=size).astype(np.float32)
    if config.dirichlet_alpha == "auto" or config.dirichlet_alpha < SMALL_ALPHA:
        return draw_noise(config, count, most, streams)
    drawn = streams[0].standard_gamma(config.dirichlet_alpha, size)
    drawn = np.where(np.arange(most) < count[:, None], np.maximum(drawn, TINY), 0.0)
    drawn /= np.maximum(drawn.sum(axis=1, keepdims=True), TINY)
    return drawn.astype(np.float32)


def read_seeds(seed: Seed | None, is_needed: bool) -> int | list[int] | None:
    """Take one seed for all rows, or a list with one for each.

    Raises:
        ConfigError: there is none and one is needed, or it is of another kind.
    """
    if seed is None:
        if is_needed:
            raise ConfigError(
                "the search draws numbers (root noise, sampled actions or a temperature) and has no seed; "
                "give seed=..., or take policy.without_noise() and temperature 0"
            )
        return None
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(LARGEST_SEED))
    try:
        numbers = np.asarray(seed)
    except (TypeError, ValueError):
        numbers = np.zeros(())  # of a kind that is refused
    whole = numbers.dtype.kind in "iu" or (isinstance(seed, int) and not isinstance(seed, bool))
    if not whole or numbers.ndim > 1:
        raise ConfigError(
            f"seed = {seed!r}; allowed: a whole number from 0 to {LARGEST_SEED}, one for each row, or a"
            " numpy.random.Generator"
        )
    return int(numbers) if numbers.ndim == 0 else [int(number) for number in numbers]


class Searcher:
    """Searches for one model and one policy, again and again, in memory that is kept where sizes stay.

    Args:
        model: see `TorchModel`.
        policy: `Puct`, `Gumbel`, or a `SearchConfig`.
    """

    def __init__(self, model: Any, policy: Policy | SearchConfig) -> None:
        from zelkova.search.models.torch_model import TorchModel  # PyTorch is imported only when it is used

        self.policy = as_policy(policy)
        self.model = TorchModel(model, self.policy)
        self._config = self.policy.config()
        self._search: BatchSearch | None = None
        self._is_free = threading.Lock()

    def plan(
        self,
        observation: Any,
        *,
        seed: Seed | None = None,
        temperature: float | F32 = 0.0,
        legal: NDArray[np.bool_] | None = None,
    ) -> Plan:
        """Search from a batch of observations.

        Args:
            observation: what the model's root function takes.
            seed: of the noise, of drawn actions and of acting; one number, one for each row, or a generator,
                which is asked for one number. Equal seeds give equal answers.
            temperature: 0 plays the search's own choice; above 0, an action is drawn in proportion to
                visits ** (1 / temperature), of `Regularised` to its weights ** (1 / temperature). A number,
                or [B].
            legal: [B, A] True where legal at the root, beside the model's own mask; where actions are drawn
                by the model's distribution or Proposal, [B, K] of the draws.
        Raises:
            ConfigError: something is to be drawn and there is no seed.
            ShapeError: an output of the model has a wrong shape or kind.
            SearchError: numbers that can't be used, naming the tree; or another call of this searcher is at
                work.
        """
        if not self._is_free.acquire(blocking=False):
            raise SearchError(
                "plan() while another plan() of this Searcher is at work, in another thread or around this"
                " call; next: a Searcher for each"
            )
        try:
            with compile_notice:
                return self._plan(observation, seed, temperature, legal)
        finally:
            self._is_free.release()

    def _plan(
        self, observation: Any, seed: Seed | None, temperature: float | F32, legal: NDArray[np.bool_] | None
    ) -> Plan:
        model, policy, config = self.model, self.policy, self._config
        is_warm = bool((read_temperature(temperature, np.size(temperature)) > 0).any())
        seeds = read_seeds(seed, policy.has_noise or is_warm or policy.num_samples > 0)
        model.observe(observation, legal, None if seeds is None else Streams(seeds, SAMPLES))
        if isinstance(seeds, list) and len(seeds) != model.num_trees:
            raise ConfigError(f"{len(seeds)} seeds for {model.num_trees} rows; give one each, or one for all")
        read_temperature(temperature, model.num_trees)
        search = self._memory()
        asked: Any = model
        if policy.num_samples and model.sampled_actions is None:
            assert seeds is not None
            streams = Streams(seeds, SAMPLES)
            asked = SampledModel(model, model.num_nodes, policy.num_samples, streams, policy.proposal_tau)

        def noise(count: I32) -> F32:
            assert seeds is not None
            return root_noise(config, count, model.num_actions, Streams(seeds, NOISE))

        found = run(search, asked, noise if policy.has_noise else None)
        if is_warm and seeds is not None:
            streams = Streams(seeds, ACTING)
            uniform = np.array([streams[b].random() for b in range(model.num_trees)], np.float32)
            heat = np.broadcast_to(np.asarray(temperature, np.float64), (model.num_trees,))
            drawn = draw_actions(config, found, np.where(heat > 0, heat, 1.0), uniform)
            found = found._replace(action=np.where(heat > 0, drawn, found.action))
        return spread(found, asked.roots, model.sampled_actions, search)

    def _memory(self) -> BatchSearch:
        """Give the trees for the model's sizes."""
        sizes = (self.model.num_trees, self.model.num_actions, self.model.num_players)
        kept = self._search
        if kept is None or sizes != (kept.num_trees, kept.max_actions, kept.num_players):
            kept = BatchSearch(self._config, *sizes, self.policy.q_range, self.policy.num_leaves)
            self._search = kept
        return kept


def plan(
    model: Any,
    observation: Any,
    policy: Policy | SearchConfig,
    *,
    seed: Seed | None = None,
    temperature: float | F32 = 0.0,
    legal: NDArray[np.bool_] | None = None,
) -> Plan:
    """Search once from a batch of observations; `Searcher` says what the arguments are."""
    return Searcher(model, policy).plan(observation, seed=seed, temperature=temperature, legal=legal)


def spread(found: SearchResult, roots: Evaluation, sampled: NDArray[Any] | None, search: BatchSearch) -> Plan:
    """Spread answers over all actions.

    Args:
        found: columns follow the legal actions.
        roots: the model's evaluation.
        sampled: [B, A] or [B, A, D] what the action numbers stand for; None: themselves.
        search: kept in the answer.
    """
    trees, most = found.actions.shape
    rows = np.arange(trees)
    place = (rows[:, None], np.where(found.actions < 0, most, found.actions))  # -1: to a spare column

    def dense(values: NDArray[Any]) -> NDArray[Any]:
        out = np.zeros((trees, most + 1), values.dtype)
        out[place] = values
        return np.ascontiguousarray(out[:, :most])

    inside = np.arange(most) < found.count[:, None]
    logits = np.where(inside, roots.prior_logits.astype(np.float64), -np.inf)
    weight = np.exp(logits - logits.max(axis=1, keepdims=True))
    prior = (weight / weight.sum(axis=1, keepdims=True)).astype(np.float32)
    return Plan(
        action=found.action if sampled is None else sampled[rows, found.action],
        index=found.action,
        action_weights=dense(found.action_weights),
        visit_counts=dense(found.visit_counts),
        q_values=dense(found.q_values),
        prior=dense(prior),
        legal=dense(inside),
        value=found.value,
        raw_value=found.raw_value,
        improved_value=found.improved_value,
        sampled_actions=sampled,
        tree=search,
    )
