"""One group of games in lockstep: every game searches, every game moves.

A group is deterministic: its weights, its generator and its games in play settle all that follows.
Its whole state between two rounds can be saved and set again.
"""

import dataclasses
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zelkova.agents import kernels
from zelkova.agents.agent import Agent, SearchResult, draw_actions
from zelkova.errors import CheckpointError, GameError
from zelkova.games import Game
from zelkova.games.single import Single
from zelkova.replay.episode import Episode
from zelkova.selfplay.config import SelfPlayConfig

SAVED = ("states", "began", "opened", "opening_states", "opening_actions", "seeds")
"""Arrays of a group that belong to its state, beside the ticks."""


@dataclasses.dataclass
class Tick:
    """What all B games of a group did in one move."""

    states: NDArray[np.uint64]  # [B, words], before the move
    to_play: NDArray[np.int8]  # [B]
    legal: NDArray[np.int32]  # [B, M], padded with -1
    policy: NDArray[np.float32]  # [B, M], the policy target
    values: NDArray[np.float32]  # [B, P], root values, absolute players
    actions: NDArray[np.int32]  # [B]


class Group:
    """B games in play, their past since the oldest began, and what they draw from.

    Another thread may set `is_abandoned`: then `play` leaves at its next move, and its games are lost.
    """

    def __init__(
        self, game: Game, agent: Agent, config: SelfPlayConfig, seed: np.random.SeedSequence, first: int
    ) -> None:
        """Start B new games.

        Args:
            game: the rules.
            agent: searches for B positions; B is the group's share of the games.
            config: how to play.
            seed: of this group alone.
            first: which group this is; game numbers run first, first + groups, ...
        """
        self.game, self.agent, self.config = game, agent, config
        self.rng = np.random.default_rng(seed)
        self.is_abandoned = False
        self._rules = Single(game)
        # games with the same number differ by run
        self._first_position: NDArray[np.uint64] = seed.generate_state(1, np.uint64).astype(np.uint64)
        size = agent.batch
        self.states = np.zeros((size, game.words), np.uint64)
        self.began = np.zeros(size, np.int64)  # index in `past` of each game's first tick
        self.opened = np.zeros(size, np.int64)  # random moves that each game opened with
        most = config.random_opening_moves
        self.opening_states = np.zeros((size, most, game.words), np.uint64)  # before each of those moves
        self.opening_actions = np.zeros((size, most), np.int32)
        self.seeds = np.zeros(size, np.int64)  # each game's number
        self.next_seed = first
        self.past: list[Tick] = []
        for row in range(size):
            self._begin(row)

    def _begin(self, row: int) -> None:
        """Put a new game into a row."""
        self.seeds[row] = self.next_seed
        self.next_seed += self.config.groups
        self.began[row] = len(self.past)
        opens = self.rng.random() < self.config.random_opening
        self.opened[row] = self.rng.integers(1, self.config.random_opening_moves + 1) if opens else 0
        while not self._open(row):
            self.opened[row] //= 2

    def _open(self, row: int) -> bool:
        """Put the first position into a row and play its random moves; say whether the game still goes on.

        Nothing is searched for these moves, and none of them is trained on.
        """
        position = self._first_position + self.seeds[row : row + 1].astype(np.uint64)
        state = self.states[row : row + 1]
        state[:] = self.game.initial_states(position)
        self.game.roll(state, self.rng)
        for move in range(int(self.opened[row])):
            legal = self._rules.legal_actions(state)
            action = int(legal[self.rng.integers(len(legal))])
            self.opening_states[row, move] = state[0]
            self.opening_actions[row, move] = action
            self._rules.step(state, action)
            self.game.roll(state, self.rng)
            if self._rules.is_terminal(state):
                return False
        return True

    def play(self, moves: int) -> list[Episode]:
        """Let every game make some moves; give the episodes that ended, by game number.

        Raises:
            GameError: a game does not end.
        """
        ended: list[Episode] = []
        for _ in range(moves):
            if self.is_abandoned:
                break
            result = self.agent.search_batch(self.states, self.rng)
            self._move(result, ended)
        self._drop_past()
        return sorted(ended, key=lambda episode: episode.seed)

    def _move(self, result: SearchResult, ended: list[Episode]) -> None:
        """Record one tick, play it, let nature move, and put new games where one ended."""
        wide = self.game.max_legal_actions  # a search has room for outcomes too
        legal = np.where(np.arange(wide)[None] < result.count[:, None], result.actions[:, :wide], -1)
        actions = self._choose(result, self.opened + len(self.past) - self.began)
        self.past.append(
            Tick(
                states=self.states.copy(),
                to_play=self.game.view_states(self.states)["to_play"].copy(),
                legal=legal.astype(np.int32),
                policy=result.action_weights[:, :wide].copy(),
                values=result.improved_value.copy(),
                actions=actions,
            )
        )
        over = np.zeros(len(actions), np.bool_)
        outcome = np.zeros((len(actions), self.game.num_players), np.float32)
        native, count = self.game.native, len(actions) if self.game.has_chance else 0
        seeds = self.rng.integers(2**63, size=count).astype(np.uint64)
        kernels.move_rows(
            native.step, native.is_terminal, native.returns, native.chance, self.states, actions, seeds,
            *self.game.new_scratch(), over, outcome,
        )  # fmt: skip
        for row in np.flatnonzero(over).tolist():
            ended.append(self._episode(row, outcome[row]))
            self._begin(row)

    def _choose(self, result: SearchResult, age: NDArray[np.int64]) -> NDArray[np.int32]:
        """Pick each game's move: drawn in its first moves, then the search's own choice."""
        sampled = draw_actions(self.agent.config, result, self.config.temperature, self.rng.random(len(age)))
        return np.where(age < self.config.exploration_moves, sampled, result.action).astype(np.int32)

    def _episode(self, row: int, returns: NDArray[np.float32]) -> Episode:
        """Gather a row's game: its random opening, not trained on, and the ticks since it began."""
        ticks, opened = self.past[self.began[row] :], int(self.opened[row])
        opening = self.opening_states[row, :opened]

        def gather(name: str, before: Any) -> NDArray[Any]:
            first = getattr(ticks[0], name)[row]
            head = np.full((opened, *first.shape), before, first.dtype)
            return np.concatenate([head, np.stack([getattr(tick, name)[row] for tick in ticks])])

        to_play, states, actions = gather("to_play", 0), gather("states", 0), gather("actions", 0)
        states[:opened], actions[:opened] = opening, self.opening_actions[row, :opened]
        to_play[:opened] = self.game.view_states(np.ascontiguousarray(states))["to_play"][:opened]
        return Episode(
            seed=int(self.seeds[row]),
            states=states,
            to_play=to_play,
            legal=gather("legal", -1),
            policy=gather("policy", 0.0),
            actions=actions,
            root_values=gather("values", 0.0),
            returns=returns,
            recorded=np.arange(len(states)) >= opened,
        )

    def _drop_past(self) -> None:
        """Forget the ticks before the oldest game in play began."""
        oldest = int(self.began.min())
        del self.past[:oldest]
        self.began -= oldest
        if len(self.past) >= self.config.longest_game:
            raise GameError(
                f"{self.game.source}: a game has not ended after {len(self.past)} moves; every game must end;"
                " next: end it as a draw in the rules, or allow more with --set selfplay.longest_game=N"
            )

    def state(self) -> tuple[dict[str, NDArray[Any]], str]:
        """Give the whole state: arrays by name, and the rest as JSON text."""
        arrays: dict[str, NDArray[Any]] = {name: getattr(self, name) for name in SAVED}
        if self.past:
            for field in dataclasses.fields(Tick):
                arrays[f"past_{field.name}"] = np.stack([getattr(tick, field.name) for tick in self.past])
        return arrays, json.dumps({"next_seed": self.next_seed, "rng": self.rng.bit_generator.state})

    def set_state(self, arrays: dict[str, NDArray[Any]], text: str) -> None:
        """Go on from a state that `state` gave.

        Raises:
            CheckpointError: it is of another number of games or of another game; nothing changed.
        """
        shapes = [array.shape for name, array in arrays.items() if name in ("states", "past_states")]
        if not shapes or any(shape[-2:] != self.states.shape for shape in shapes):
            raise CheckpointError(
                f"the games in play have the shapes {shapes} (games, words); this group has"
                f" {self.states.shape}; resume with the settings that the run was started with"
            )
        rest = json.loads(text)
        self.next_seed = int(rest["next_seed"])
        self.rng.bit_generator.state = rest["rng"]
        for name in SAVED:
            setattr(self, name, arrays[name].copy())
        missing = self.config.random_opening_moves - self.opening_actions.shape[1]
        if missing > 0:  # the settings allow longer openings than when it was saved
            self.opening_states = np.pad(self.opening_states, ((0, 0), (0, missing), (0, 0)))
            self.opening_actions = np.pad(self.opening_actions, ((0, 0), (0, missing)))
        names = [field.name for field in dataclasses.fields(Tick)]
        count = len(arrays["past_states"]) if "past_states" in arrays else 0
        self.past = [
            Tick(**{name: arrays[f"past_{name}"][index].copy() for name in names}) for index in range(count)
        ]
