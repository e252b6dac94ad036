"""One game in play: positions and moves in, answers out, with a tree that outlives a move.

    planner.set_position(state) -> planner.think(seconds=2.0).action -> planner.play(action) -> ...

With PUCT the tree under the move that was played becomes the new tree (the rules are known, so its positions
are real ones); so it does with trpo and mpo, unless PUCT is the rule below their roots. Gumbel roots start
anew, since Sequential Halving starts without visits; what carries over is the evaluation cache. A tree has
room for a settled number of visits and never grows beyond it.
"""

import contextlib
import dataclasses
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from zelkova.agents.own_model import make_model
from zelkova.agents.position_model import PositionModel
from zelkova.agents.rollouts import with_rollouts
from zelkova.agents.rules_model import Evaluator
from zelkova.errors import ConfigError, SearchError, ShapeError, require_memory
from zelkova.games import Game
from zelkova.games.game import Position
from zelkova.search.batch import BatchSearch
from zelkova.search.config import SearchConfig
from zelkova.search.draws import draw_noise
from zelkova.search.kernels.tree import CHANCE
from zelkova.search.model import SearchResult
from zelkova.search.view.branches import Branch, find_child, read_branches

NODE_BYTES = 160  # of a tree's node with its kids, at least
MOST = {"num_leaves": 65_536, "num_lines": 1_000_000, "line_length": 10_000}
ROOM = 4  # a tree's room in searches of num_simulations, where it is not told

Ending = Literal["budget", "time", "stop", "full"]


@dataclass(frozen=True)
class PlannerConfig:
    """How a planner thinks.

    Raises:
        ConfigError: a value is out of range.
    """

    room: int = 0  # simulations that a tree has room for; 0: four times search.num_simulations
    num_leaves: int = 1  # leaves of the tree that the network evaluates at a time
    cache: int = 65536  # positions whose evaluation is kept
    budget: Literal["simulations", "total_visits"] = "simulations"
    # what `simulations` counts after a move: new ones, or also those that the tree holds already
    num_lines: int = 3  # best lines of an answer
    line_length: int = 8  # actions of a line at most

    def __post_init__(self) -> None:
        least = {"room": 0, "num_leaves": 1, "cache": 0, "num_lines": 0, "line_length": 1}
        for name, low in least.items():
            value, high = getattr(self, name), MOST.get(name, 2**62)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise ConfigError(f"planner.{name} = {value!r}; allowed: a whole number from {low} to {high}")
        if self.budget not in ("simulations", "total_visits"):
            raise ConfigError(f"planner.budget = {self.budget!r}; allowed: simulations, total_visits")


@dataclass(frozen=True, eq=False)
class Line:
    """A way on from the position."""

    actions: tuple[int, ...]  # at least one
    visits: int  # simulations that went through the first action
    value: NDArray[np.float32]  # [P] mean return of each absolute player after the first action


@dataclass(frozen=True, eq=False)
class Answer:
    """What a planner thinks of a position."""

    action: int  # to play
    result: SearchResult  # one row: weights, visits, Q and values of the whole tree
    simulations: int  # that were added this time
    ended: Ending  # budget: spent; time: up; stop: was called; full: the tree has no room for more
    lines: tuple[Line, ...]  # that of `action`, if visited; then most visited first, equals by the mover's Q


class Planner:
    """Thinks about one game as it goes on.

    `stop` may be called from any thread at any time; other calls wait for one another. Where the network
    fails, the error is passed on and the tree is dropped.
    """

    def __init__(
        self,
        game: Game,
        engine: Evaluator | None,
        config: SearchConfig,
        options: PlannerConfig | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Allocate the tree, at the game's initial position.

        Args:
            game: the rules.
            engine: the network; its batch holds options.num_leaves rows. None: the game's own evaluate and
                weigh.
            config: how to search; num_simulations is the budget where none is told.
            options: how to think.
            rng: draws root noise, anew for every root; None searches without.
        Raises:
            ConfigError: a tree can't be as large as asked for, or smaller than a search; or rng is given for
                candidates = replacement.
        """
        if rng is not None and config.candidates == "replacement":
            raise ConfigError(
                "search.candidates = 'replacement' is an ablation that a planner does not make; next:"
                " candidates = 'gumbel', or a planner without rng"
            )
        self.game, self.config, self.options = game, config, options or PlannerConfig()
        room = self.options.room or ROOM * config.num_simulations
        if room < config.num_simulations:
            raise ConfigError(
                f"planner.room = {room} is below search.num_simulations = {config.num_simulations};"
                " next: a larger room"
            )
        node = NODE_BYTES + 8 * game.words + 8 * game.max_edges + 16 * game.num_players
        cache, leaves = self.options.cache, self.options.num_leaves
        require_memory(
            room * node + cache * 4 * game.max_edges,
            f"a planner with room for {room} simulations and a cache of {cache}",
        )
        self._model = make_model(game, engine, 1, room + 1, leaves=leaves, cache=cache)
        self._asked = with_rollouts(self._model, config)
        self._search = BatchSearch(
            dataclasses.replace(config, num_simulations=room),
            num_trees=1,
            max_actions=game.max_edges,
            num_players=game.num_players,
            q_range=game.return_range,
            num_leaves=leaves,
        )
        self._rng = rng
        self._board: Position | None = None  # None: the initial position, not made yet
        self._node = -1  # of the tree that the position stands at: 0 the root, -1 there is no tree
        self._calls = threading.RLock()
        self._is_stopped = threading.Event()
        self._ponderer: threading.Thread | None = None
        self._failure: BaseException | None = None  # what ended the pondering

    @property
    def position(self) -> Position:
        """A copy of the position, with the moves that were played."""
        with self._calls:
            return self._here().copy()

    @property
    def search(self) -> BatchSearch:
        """The tree, for reading while nothing thinks; see `zelkova.search.view`."""
        return self._search

    @property
    def model(self) -> PositionModel:
        """What answers for the tree's positions; its `states` are those of the tree's nodes."""
        return self._model

    def set_position(self, state: NDArray[np.uint64]) -> None:
        """Put another position on the board; the tree starts anew.

        Args:
            state: [1, words], as `Position.state` gives it.
        Raises:
            ShapeError: it is no row of this game.
        """
        if getattr(state, "shape", None) != (1, self.game.words) or state.dtype != np.uint64:
            raise ShapeError(
                f"a position of {self.game.name} is uint64 of shape {(1, self.game.words)}; given: "
                f"{getattr(state, 'dtype', type(state))} of shape {getattr(state, 'shape', None)}"
            )
        with self._alone():
            self._board = Position(self.game, np.ascontiguousarray(state))
            self._node = -1

    def play(self, action: int | str) -> None:
        """Play a move on the board and keep the tree under it, where there is one that can be kept.

        Args:
            action: its number, or its text; where nature moves, the outcome that came.
        Raises:
            IllegalActionError: it is not legal here, or can't come; says which can.
            NotationError: the text is no move.
        """
        with self._alone():
            number = self._here().play(action).actions_played[-1]
            if self._node >= 0:
                self._node = find_child(self._search, number, self._node)
            if not self._search.can_keep:
                self._node = -1
            if self._node > 0:
                self._keep()

    def think(self, simulations: int | None = None, seconds: float | None = None) -> Answer:
        """Search the position until a budget is spent, and answer.

        With PUCT the search goes on in the tree that is there, and `seconds` alone fill the tree's room.
        A Gumbel search starts anew and follows its schedule of `simulations`; time can only cut it short.

        Args:
            simulations: new ones, 1 or more; with `budget = total_visits`, those that the tree holds count as
                well. None: the config's, or (PUCT) no limit where seconds are given.
            seconds: 0 or more; looked at after each step. None: no limit.
        Raises:
            SearchError: the game is over, or nature moves.
            ConfigError: a budget is out of range.
        """
        if simulations is not None and (not _is_number(simulations, Integral) or simulations < 1):
            raise ConfigError(f"think(simulations={simulations!r}); allowed: a whole number, 1 or more")
        if seconds is not None and (not _is_number(seconds, Real) or not seconds >= 0):
            raise ConfigError(f"think(seconds={seconds!r}); allowed: a number, 0 or more")
        start = time.monotonic()
        with self._alone():
            self._is_stopped.clear()
            if simulations is None and (seconds is None or self.config.policy == "gumbel"):
                simulations = self.config.num_simulations
            until = None if seconds is None else start + seconds
            with self._drop_on_failure():
                budget, ended = self._prepare(simulations)
                before = self._visits
                if budget:
                    ended = self._work(until, ended)
            return self._answer(self._visits - before, ended)

    def ponder(self) -> None:
        """Think in the background, until the next call or until the tree is full.

        With Gumbel this fills the evaluation cache; `think` starts anew.

        Raises:
            SearchError: the game is over, or nature moves.
        """
        with self._alone():
            self._require_choice()
            self._is_stopped.clear()
            self._ponderer = threading.Thread(target=self._ponder, name="zelkova-ponder", daemon=True)
            self._ponderer.start()

    def stop(self) -> Answer | None:
        """End the thinking that goes on in this moment, wherever it was asked for, after its present step.

        A `think` in another thread answers with what it has found so far.

        Returns:
            The answer of the tree as it is now; None where nothing was searched at this position.
        """
        self._is_stopped.set()
        if threading.current_thread() is self._ponderer:
            return None
        with self._alone():
            if self._node != 0 or self._search.is_waiting:
                return None
            return self._answer(0, "stop")

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Wait for other calls, end the pondering and pass on what went wrong with it."""
        with self._calls:
            if self._ponderer is not None:
                self._is_stopped.set()
                self._ponderer.join()
                self._ponderer = None
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure
            yield

    @contextlib.contextmanager
    def _drop_on_failure(self) -> Iterator[None]:
        """Drop the tree where a step fails: leaves may wait for an answer that never comes."""
        try:
            yield
        except BaseException:
            self._node = -1
            raise

    def _ponder(self) -> None:
        try:
            with self._drop_on_failure():
                budget, ended = self._prepare(None)
                if budget:
                    self._work(None, ended)
        except BaseException as error:  # given to whoever calls next
            self._failure = error

    @property
    def _visits(self) -> int:
        """Simulations that the tree holds."""
        return int(self._search.forest.nodes["visits"][0, 0]) - 1

    def _here(self) -> Position:
        if self._board is None:
            self._board = self.game.position()
        return self._board

    def _require_choice(self) -> None:
        here = self._here()
        if here.is_chance:
            raise SearchError(
                f"nature moves in this position of {self.game.name}, there is nothing to choose;"
                " next: play() the outcome that came"
            )
        if here.is_terminal or len(here.legal_actions()) == 0:
            raise SearchError(
                f"the game of {self.game.name} is over, there is no move to think about;"
                " next: set_position() with a position that has moves"
            )

    def _prepare(self, simulations: int | None) -> tuple[int, Ending]:
        """Make the position the tree's root and let the search have its budget; None: all the room.

        Returns:
            The simulations to do, 0 where none are left to do, and what it means to have done them.
        """
        self._require_choice()
        search, is_gumbel = self._search, self.config.policy == "gumbel"
        if self._node != 0 or is_gumbel:
            self._node = -1
            self._model.place(self._here().state)
            roots = self._asked.root()
            room = search.config.num_simulations
            planned = min(simulations or room, room) if is_gumbel else room
            noise = self._draw(int(roots.count[0]))
            search.set_roots(roots, None if noise is None else noise[None], planned)
            self._node = 0
            if is_gumbel:
                return planned, "full" if simulations is None or simulations > planned else "budget"
        wanted = search.room if simulations is None else simulations
        if self.options.budget == "total_visits" and simulations is not None:
            wanted -= self._visits
        budget = min(max(wanted, 0), search.room)
        if budget:
            search.extend(budget)
        return budget, "full" if simulations is None or wanted > budget else "budget"

    def _work(self, until: float | None, done: Ending) -> Ending:
        """Search on; give what ended it, `done` where that was the budget."""
        search, model = self._search, self._asked
        while not search.is_done:
            if self._is_stopped.is_set():
                return "stop"
            if until is not None and time.monotonic() >= until:
                return "time"
            search.expand(model.step(*search.select()))
        return done

    def _draw(self, count: int) -> NDArray[np.float32] | None:
        """Draw noise [M] for a root of so many legal actions."""
        if self._rng is None:
            return None
        counts = np.array([count], np.int32)
        noise = draw_noise(self.config, counts, self.game.max_edges, self._rng)
        return np.ascontiguousarray(noise[0], np.float32)

    def _keep(self) -> None:
        """Make the position's node the root, unless it is an ending or chance moves next there."""
        record = self._search.forest.nodes[0, self._node]
        count = int(record["num_edges"])
        if count == 0 or record["to_play"] == CHANCE:
            return
        with self._drop_on_failure():
            moved = self._search.keep(self._node, self._draw(count))
            self._model.keep(moved)
            self._node = 0

    def _answer(self, simulations: int, ended: Ending) -> Answer:
        result = self._search.result_so_far()
        lines: tuple[Line, ...] = ()
        if self.options.num_lines:
            widths = [self.options.num_lines] + [1] * (self.options.line_length - 1)
            tree = read_branches(self._search, widths, played=int(result.action[0]))
            lines = tuple(
                Line(tuple(_actions(branch)), branch.visits, branch.value) for branch in tree.children
            )
        return Answer(int(result.action[0]), result, simulations, ended, lines)


def _is_number(given: object, kind: type) -> bool:
    return isinstance(given, kind) and not isinstance(given, bool)


def _actions(branch: Branch) -> Iterator[int]:
    """List a branch's action and the most visited ones after it."""
    yield branch.action
    if branch.children:
        yield from _actions(branch.children[0])
