"""A classic search over batches of positions: memory, threads, answers."""

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from zelkova.errors import ConfigError, GameError, require_memory
from zelkova.search.classic.calls import Rules
from zelkova.search.classic.config import ClassicConfig
from zelkova.search.classic.deepening import search_rows
from zelkova.search.classic.frames import Terms, memory_bytes, new_frames
from zelkova.search.classic.table import GENERATIONS, Table, new_table


@dataclasses.dataclass(frozen=True)
class ClassicResult:
    """What a search of a batch of n positions found."""

    actions: NDArray[np.int32]  # [n] best action
    values: NDArray[np.float32]  # [n, P] values of the best line, in the game's return_range
    depths: NDArray[np.int32]  # [n] plies that the last finished iteration looked ahead
    visited: NDArray[np.int64]  # [n] positions visited, all iterations together
    settled: NDArray[np.bool_]  # [n] does the answer rest on endings alone, whatever lies deeper
    lines: NDArray[np.int32]  # [n, D] best line as far as it is known, the action first; -1 after its end

    def line(self, row: int) -> list[int]:
        """Give the best line of one position."""
        return [int(action) for action in self.lines[row] if action >= 0]


class ClassicSearch:
    """Max^n or paranoid alpha-beta for one game, on one or more threads. It has no chance of its own."""

    def __init__(self, rules: Rules, config: ClassicConfig, *, threads: int = 1) -> None:
        """Allocate the memory of one search a thread.

        Args:
            rules: of the game.
            config: rule and budget.
            threads: slices of a batch that are searched side by side, 1 or more.
        Raises:
            ConfigError: the memory doesn't fit into this machine.
        """
        if threads < 1:
            raise ConfigError(f"threads = {threads}; allowed: 1 or more")
        what = f"{config.reading} with a table of {config.table_size} entries on {threads} threads"
        require_memory(threads * memory_bytes(rules, config), what)
        self.rules = rules
        self.config = config
        self._memories = [
            (new_frames(rules, config), new_table(config.table_size, rules.num_players))
            for _ in range(threads)
        ]
        self._generations = [1] * threads

    def search(self, states: NDArray[np.uint64]) -> ClassicResult:
        """Search every position; a row's answer depends on its state only.

        Args:
            states: [n, words], none of them an ending.
        Raises:
            ShapeError: states have another width.
            GameError: a position is an ending, or below it one has no legal action or NaN as its evaluation.
        """
        self.rules.check_states(states)
        count = len(states)
        result = ClassicResult(
            actions=np.zeros(count, np.int32),
            values=np.zeros((count, self.rules.num_players), np.float32),
            depths=np.zeros(count, np.int32),
            visited=np.zeros(count, np.int64),
            settled=np.zeros(count, np.bool_),
            lines=np.full((count, self.config.last_depth), -1, np.int32),
        )
        threads = min(len(self._memories), count)
        states = np.ascontiguousarray(states, np.uint64)
        if threads <= 1:
            self._search_slice(0, slice(0, count), states, result)
            return result
        edges = np.linspace(0, count, threads + 1).astype(int)
        with ThreadPoolExecutor(threads) as pool:
            jobs = [
                pool.submit(self._search_slice, k, slice(int(edges[k]), int(edges[k + 1])), states, result)
                for k in range(threads)
            ]
            for job in jobs:
                job.result()
        return result

    def _search_slice(
        self, thread: int, part: slice, states: NDArray[np.uint64], result: ClassicResult
    ) -> None:
        """Search one slice of the batch with one thread's memory."""
        frames, table = self._memories[thread]
        depths = np.array([self.config.first_depth, self.config.last_depth], np.int64)
        status = search_rows(
            self.rules.calls,
            frames,
            table,
            self._terms(thread, table, part.stop - part.start),
            depths,
            states[part],
            result.actions[part],
            result.values[part],
            result.depths[part],
            result.visited[part],
            result.settled[part],
            result.lines[part],
        )
        if status < 0:
            raise GameError(
                f"{self.rules.name}: row {part.start - 1 - status} is an ending, or below it legal_actions"
                " gives none or evaluate writes NaN; next: search before the end, or mend a game of your own"
            )

    def _terms(self, thread: int, table: Table, rows: int) -> Terms:
        """Give the numbers that steer a search of so many rows; each takes a generation of the table."""
        if self._generations[thread] + rows >= GENERATIONS:
            table.words[:] = 0
            self._generations[thread] = 1
        generation = self._generations[thread]
        self._generations[thread] += rows
        low, high = self.rules.return_range
        return Terms(
            seat=np.int64(0 if self.config.reading == "paranoid" else -1),
            low=np.float32(low),
            high=np.float32(high),
            winning=np.float32(self.rules.winning),
            even=np.float32(self.rules.even),
            limit=np.int64(2**62 if self.config.nodes is None else self.config.nodes),
            has_hash=np.bool_(self.rules.has_hash),
            generation=np.int64(generation),
        )
