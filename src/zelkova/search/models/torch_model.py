"""The search's door to PyTorch: your root and step functions as a `Model`.

Embeddings never leave their device: one buffer holds a row for each node of each tree, and a step gathers its
parents' rows and writes the children's by index. What the search reads (logits, values, rewards) leaves in
one packed tensor a simulation, and the numbers of nodes and actions come in one. Shapes are the same at every
step, so that a compiled model or a captured graph keeps fitting: rows without work (a finished tree, a known
ending) repeat the root's embedding with action 0, and nobody reads what comes of them.

This module and its parts, torch_*.py, alone import PyTorch here, and the search imports them only when they
are used.
"""

import math
import numbers
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from zelkova.errors import ConfigError, ShapeError, require_memory
from zelkova.search.batch import BatchSearch
from zelkova.search.kernels.native import I32
from zelkova.search.model import Evaluation
from zelkova.search.models.table_model import blank_evaluation
from zelkova.search.models.torch_answers import Numbers, Outlet, described
from zelkova.search.models.torch_draws import (
    Drawn,
    Proposal,
    SquashedGaussian,
    allowed_of,
    both,
    merge_draws,
)  # fmt: skip
from zelkova.search.models.torch_rows import Inlet, NodeRows, leaves_of
from zelkova.search.policies import Policy

NO_ROOTS = blank_evaluation(0, 0, 1)
DEFAULT_SAMPLES = 20  # K_s of Sampled MuZero at continuous control


class Root(NamedTuple):
    """What your model says about B positions."""

    embedding: Any  # a tensor [B, ...], or tuples, lists and dicts of such; what step will get
    prior_logits: Tensor | Proposal | SquashedGaussian  # [B, A] need not be normalised; any float type
    value: Tensor  # [B] or [B, P] expected return of each player
    to_play: Tensor | int = 0  # [B] mover, 0..P-1
    legal: Tensor | None = None  # bool[B, A] True where legal; None: all actions


class Step(NamedTuple):
    """What your model says about R positions after an action each."""

    embedding: Any  # as in Root
    prior_logits: Tensor | Proposal | SquashedGaussian  # [R, A] of the position after the action
    value: Tensor  # [R] or [R, P] of the position after the action
    reward: Tensor | float = 0.0  # [R] or [R, P] on the way
    discount: Tensor | float = 1.0  # [R] on the way, 0..1; 0 where the episode ended
    to_play: Tensor | int = 0  # [R] mover, 0..P-1; -1: nature, with log-probabilities as prior_logits
    legal: Tensor | None = None  # bool[R, A]; none legal: an ending, which needs discount 0


def two_player_value(value: Tensor, to_play: Tensor | int) -> Tensor:
    """Turn the mover's value of a zero-sum game into both players'.

    Args:
        value: [R] or [R, 1] from the mover's side; whole numbers become float32.
        to_play: [R] 0 or 1; or one of them for all rows.
    Returns:
        [R, 2] value at the mover's place, its negative at the other.
    Raises:
        ShapeError: value or to_play is something else.
    """
    is_values = isinstance(value, Tensor) and value.ndim > 0 and value.shape[1:] in ((), (1,))
    if not is_values or value.dtype == torch.bool:
        raise ShapeError(
            f"two_player_value() got value {described(value)}; needs a tensor of numbers [R] or [R, 1]"
        )
    value = value.flatten() if value.is_floating_point() else value.flatten().float()
    is_one = isinstance(to_play, numbers.Integral) and to_play in (0, 1)
    if not is_one and not (isinstance(to_play, Tensor) and to_play.shape == value.shape):
        given = described(to_play) if isinstance(to_play, Tensor) else f"= {to_play!r:.100}"
        raise ShapeError(
            f"two_player_value() got to_play {given}; needs a tensor {tuple(value.shape)}, or 0 or 1 for all"
        )
    if isinstance(to_play, Tensor):
        mine = torch.where(to_play == 0, value, -value)
    else:
        mine = value if to_play == 0 else -value
    return torch.stack([mine, -mine], dim=-1)


class TorchModel:
    """A search `Model` made of your PyTorch functions.

    Args:
        model: anything with `root(observation) -> Root` and `step(embedding, action) -> Step`, a module for
            instance, or the pair of functions. action is int64[R], or [R, D] vectors where actions are drawn.
            Both run in inference mode; a module's own mode is left alone, so call `eval()` first.
        policy: its num_simulations, num_leaves and num_samples are read.
    Raises:
        ConfigError: the model has no such functions.
    """

    def __init__(self, model: Any, policy: Policy) -> None:
        given = (
            model
            if isinstance(model, tuple)
            else (getattr(model, "root", None), getattr(model, "step", None))
        )
        pair: tuple[Any, ...] = given
        if len(pair) != 2 or not all(map(callable, pair)):
            raise ConfigError(
                f"model = {model!r:.200}; allowed: anything with the methods root(observation) and"
                " step(embedding, action), or the pair of functions (root, step)"
            )
        self._ask_root: Callable[[Any], Root] = pair[0]
        self._ask_step: Callable[[Any, Tensor], Step] = pair[1]
        self.num_nodes, self.num_leaves = policy.num_simulations + 1, policy.num_leaves
        self.num_samples = policy.num_samples or DEFAULT_SAMPLES
        self.num_trees = self.num_actions = self.num_players = 0  # B, A, P of the last roots
        self.sampled_actions: NDArray[Any] | None = None  # [B, K] or [B, K, D] drawn at the roots
        self._sizes: Any = None
        self._roots: Outlet | None = None
        self.roots = NO_ROOTS
        self._embeddings: NodeRows | None = None
        self._vectors: NodeRows | None = None
        self._noise: Tensor | None = None  # [N * B + 1, K, D] what each node's actions are drawn with

    @torch.inference_mode()
    def observe(
        self, observation: Any, legal: Any = None, rngs: Sequence[np.random.Generator] | None = None
    ) -> Evaluation:
        """Ask the model about the roots; buffers are kept where they fit.

        Args:
            observation: what your root function takes.
            legal: bool[B, A] True where legal, beside the model's own mask; None: all.
            rngs: one generator for each tree, needed where the model gives a distribution to draw from.
        Raises:
            ShapeError: an output has a wrong shape or kind, or rngs are needed.
            SearchError: a number that can't be used, naming the tree.
        """
        found = self._ask_root(observation)
        if not isinstance(found, Root):
            raise ShapeError(f"root() gives a {type(found).__name__}; needs search.Root(embedding, ...)")
        if not isinstance(found.value, Tensor) or found.value.ndim not in (1, 2) or not len(found.value):
            raise ShapeError(
                f"root() gives value {described(found.value)}; needs a tensor [B] or [B, P], B from 1"
            )
        self.num_trees = len(found.value)
        if isinstance(found.prior_logits, SquashedGaussian):
            self._draw_noise(rngs, found.prior_logits.mean)
        self._vectors = None if isinstance(found.prior_logits, Tensor) else self._vectors
        drawn = self._draw("root()", found.prior_logits, slice(0, self.num_trees))
        self._allocate(drawn.logits.shape[-1], 1 if found.value.ndim == 1 else found.value.shape[1], found)
        self._embeddings = self._plant("embedding", self._embeddings, found.embedding)
        if drawn.actions is not None:
            self._vectors = self._plant("drawn actions", self._vectors, drawn.actions)
        self.sampled_actions = None if drawn.actions is None else drawn.actions.cpu().numpy().copy()
        mask = allowed_of("root()", found.legal, drawn)
        if legal is not None:
            given, shape = np.asarray(legal), tuple(drawn.logits.shape)
            if given.dtype != np.bool_ or given.shape != shape:
                draws = (
                    "" if drawn.actions is None else ", for the draws; next: draw what is legal, without it"
                )
                raise ShapeError(
                    f"plan(legal=...) has shape {given.shape} and dtype {given.dtype}; needs {shape} and"
                    f" bool, True where legal{draws}"
                )
            mask = both(torch.as_tensor(given, device=found.value.device), mask)
        numbers = Numbers(drawn.logits, mask, found.value, 0.0, 1.0, found.to_play)
        assert self._roots is not None
        self.roots = self._roots.send(numbers)
        return self.roots

    def root(self) -> Evaluation:
        """Give what the model said about the roots.

        Raises:
            ShapeError: nothing was observed.
        """
        if self._roots is None:
            raise ShapeError("root() before observe(observation): there are no roots yet")
        return self.roots

    @torch.inference_mode()
    def step(self, parent: I32, action: I32, node: I32) -> Evaluation:
        """Evaluate the positions after the actions and keep their embeddings."""
        return self._step(parent, action, node)

    @torch.inference_mode()
    def search_natively(self, search: BatchSearch) -> None:
        """Run a search to its end without leaving inference mode."""
        while not search.is_done:
            search.expand(self._step(*search.select()))

    def _step(self, parent: I32, action: I32, node: I32) -> Evaluation:
        assert self._embeddings is not None
        inlet = self._inlet
        inlet.fetch(parent, action, node)
        embedding = self._embeddings.read(inlet.parent)
        chosen = inlet.action
        if self._vectors is not None:
            chosen = self._vectors.buffers[0].tensor.flatten(0, 1).index_select(0, inlet.vector)
        found = self._ask_step(embedding, chosen)
        if not isinstance(found, Step):
            raise ShapeError(f"step() gives a {type(found).__name__}; needs search.Step(embedding, ...)")
        after, logits, value, reward, discount, to_play, mask = found
        self._embeddings.write(inlet.node, after)
        if not isinstance(logits, Tensor) or self._vectors is not None:
            logits, mask = self._keep_draws(logits, mask)
        return self._outlet.send(Numbers(logits, mask, value, reward, discount, to_play), node)

    def _keep_draws(
        self, prior: Tensor | Proposal | SquashedGaussian, mask: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """Keep the actions that were drawn at the new nodes; give their logits and which are legal."""
        drawn = self._draw("step()", prior, self._inlet.node.there)
        if drawn.actions is None or self._vectors is None:
            raise ShapeError("one of root() and step() gives logits and the other drawn actions")
        self._vectors.write(self._inlet.node, drawn.actions)
        return drawn.logits, allowed_of("step()", mask, drawn)

    def _draw(self, source: str, prior: Tensor | Proposal | SquashedGaussian, rows: Any) -> Drawn:
        """Bring the policy of root() or step() to numbered actions; rows of the noise are the nodes'."""
        if isinstance(prior, Tensor):
            return Drawn(prior)
        try:
            if isinstance(prior, SquashedGaussian):
                if self._noise is None:
                    raise ShapeError("a distribution where root() gave none")
                prior = prior.propose(self._noise[rows])
            if isinstance(prior, Proposal):
                return merge_draws(prior)
        except (ConfigError, ShapeError) as error:
            raise type(error)(f"{source} gives a policy that can't be drawn from: {error}") from None
        raise ShapeError(
            f"{source} gives prior_logits {described(prior)}; needs a tensor, a SquashedGaussian or a"
            " Proposal"
        )

    def _draw_noise(self, rngs: Sequence[np.random.Generator] | None, mean: Tensor) -> None:
        """Draw what the actions of every node will be made of, one generator a tree."""
        if rngs is None:
            raise ShapeError("root() gives a distribution to draw actions from; next: give a seed")
        if not isinstance(mean, Tensor) or mean.ndim != 2:
            raise ShapeError(
                f"root() gives a SquashedGaussian's mean {described(mean)}; needs a tensor [R, D]"
            )
        size = (self.num_nodes, self.num_samples, mean.shape[1])
        what = f"drawing {size[1]} actions of {size[2]} numbers at {size[0]} nodes of {self.num_trees} trees"
        require_memory(8 * self.num_trees * math.prod(size), what)
        noise = np.zeros((self.num_nodes * self.num_trees + 1, *size[1:]), np.float32)
        by_node = noise[:-1].reshape(self.num_nodes, self.num_trees, *size[1:])
        for b in range(self.num_trees):
            by_node[:, b] = rngs[b].standard_normal(size, dtype=np.float32)
        self._noise = torch.from_numpy(noise).to(mean.device)

    def _allocate(self, actions: int, players: int, found: Root) -> None:
        """Make the buffers for a batch of another size."""
        device = found.value.device
        sizes = (self.num_trees, actions, players, device)
        if sizes != self._sizes:
            rows = self.num_trees * self.num_leaves
            self._roots = Outlet(self.num_trees, actions, players, device, "root()")
            self._outlet = Outlet(rows, actions, players, device, "step()", self.num_leaves)
            self._inlet = Inlet(rows, self.num_leaves, self.num_nodes, actions, device)
            self._sizes = sizes
            self.num_actions, self.num_players = actions, players

    def _plant(self, name: str, kept: NodeRows | None, template: Any) -> NodeRows:
        """Write the roots' rows, into the old buffers where they fit."""
        size = self.num_trees * self.num_nodes + 1
        for leaf in leaves_of(template):
            if leaf.ndim == 0 or len(leaf) != self.num_trees:
                raise ShapeError(
                    f"root() gives {name} {described(leaf)}; needs {self.num_trees} rows, as its value has"
                )
        if kept is None or not kept.fits(template, size):
            kept = NodeRows(name, template, size, self.num_trees * self.num_leaves)
        kept.plant(template)
        return kept


def random_mlp(
    width: int, actions: int, seed: int = 0
) -> tuple[Callable[[Any], Root], Callable[[Any, Tensor], Step]]:
    """Make the root and step functions of a learned model of random weights, to measure the search beside it.

    Dynamics of two layers with latents brought to 0..1, and a hidden layer in each of the heads of policy,
    value and reward.

    Source: MuZero (Schrittwieser et al. 2020), Appendix G, with fully connected layers.
    """
    rng = torch.Generator().manual_seed(seed)

    def layers(*sizes: int) -> nn.Sequential:
        parts: list[nn.Module] = []
        for before, after in pairwise(sizes):
            layer = nn.Linear(before, after)
            nn.init.normal_(layer.weight, std=before**-0.5, generator=rng)
            nn.init.zeros_(layer.bias)
            parts += [layer, nn.ReLU()]
        return nn.Sequential(*parts[:-1])

    def unit_range(latent: Tensor) -> Tensor:
        low, high = latent.aminmax(dim=1, keepdim=True)
        return (latent - low) / (high - low).clamp_min(1e-5)

    dynamics = layers(width + actions, width, width)
    policy, value, reward = (layers(width, width, size) for size in (actions, 1, 1))

    def root(observation: Any) -> Root:
        embedding = torch.as_tensor(observation)
        return Root(embedding, policy(embedding), value(embedding))

    def step(embedding: Any, action: Tensor) -> Step:
        one_hot = nn.functional.one_hot(action, actions).to(embedding.dtype)
        after = unit_range(dynamics(torch.cat([embedding, one_hot], dim=1)))
        return Step(after, policy(after), value(after), reward(after), discount=0.99)

    return root, step


@contextmanager
def single_thread() -> Iterator[None]:
    """Let PyTorch compute in one thread for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
