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
from zelkova.agents.agent import SearchResult, draw_actions
from zelkova.errors import CheckpointError, GameError
from zelkova.games import Game
from zelkova.replay.choices.rows import CHOICE_FIELDS, gather_rows, own_part, remove_padding
from zelkova.replay.episode import Episode
from zelkova.selfplay.config import SelfPlayConfig
from zelkova.selfplay.openings import Opening, Openings, join_openings, split_openings
from zelkova.selfplay.searchers import Searchers

SAVED = ("states", "began", "seeds", "past_seats")
"""Arrays of a group that belong to its state, beside the ticks."""


@dataclasses.dataclass
class Tick:
    """What all B games of a group did in one move."""

    states: NDArray[np.uint64]  # [B, words], before the move
    to_play: NDArray[np.int8]  # [B]
    counts: NDArray[np.int32]  # [B] legal actions of each game
    legal: NDArray[np.int32]  # [L], one game behind the other; L is the sum of counts
    policy: NDArray[np.float32]  # [L], the policy target
    values: NDArray[np.float32]  # [B, P], root values, absolute players
    actions: NDArray[np.int32]  # [B]
    recorded: NDArray[np.bool_]  # [B] searched fully, and by the newest network

    def own(self, name: str, row: int) -> NDArray[Any]:
        """Give a game's part of `legal` or `policy`."""
        part: NDArray[Any] = getattr(self, name)[own_part(self.counts, row)]
        return part


class Group:
    """B games in play, their past since the oldest began, and what they draw from.

    Another thread may set `is_abandoned`: then `play` leaves at its next move, and its games are lost.
    """

    def __init__(
        self,
        game: Game,
        searchers: Searchers,
        config: SelfPlayConfig,
        seed: np.random.SeedSequence,
        first: int,
    ) -> None:
        """Start B new games.

        Args:
            game: the rules.
            searchers: search B positions; B is the group's share of the games.
            config: how to play.
            seed: of this group alone.
            first: which group this is; game numbers run first, first + groups, ...
        """
        self.game, self.searchers, self.config = game, searchers, config
        self.rng = np.random.default_rng(seed)
        self.is_abandoned = False
        self.has_past = False  # is there an older network to play against
        self.openings = Openings(game, config)
        # games with the same number differ by run
        self._first_position: NDArray[np.uint64] = seed.generate_state(1, np.uint64).astype(np.uint64)
        size = searchers.batch
        self.states = np.zeros((size, game.words), np.uint64)
        self.began = np.zeros(size, np.int64)  # index in `past` of each game's first tick
        nothing = Opening(np.zeros((0, game.words), np.uint64), np.zeros(0, np.int32))
        self.opened = [nothing] * size  # how each game opened
        self.past_seats = np.zeros((size, game.num_players), np.bool_)  # whose seats an older network has
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
        first = self.game.initial_states(self._first_position + self.seeds[row : row + 1].astype(np.uint64))
        self.game.roll(first, self.rng)
        state, self.opened[row] = self.openings.begin(first, self.rng)
        self.states[row] = state[0]
        self.past_seats[row] = False
        players = self.game.num_players
        if self.config.past_share > 0.0 and self.rng.random() < self.config.past_share and self.has_past:
            self.past_seats[row, self.rng.permutation(players)[: self.rng.integers(1, players)]] = True

    def play(self, moves: int) -> list[Episode]:
        """Let every game make some moves; give the episodes that ended, by game number.

        Raises:
            GameError: a game does not end.
        """
        ended: list[Episode] = []
        for _ in range(moves):
            if self.is_abandoned:
                break
            movers = self.game.view_states(self.states)["to_play"].astype(np.int64)
            is_past = self.past_seats[np.arange(len(movers)), movers]
            result, is_full = self.searchers.search(self.states, is_past, self.rng)
            self._move(result, ~is_past & is_full, ended)
        self._drop_past()
        return sorted(ended, key=lambda episode: episode.seed)

    def _move(self, result: SearchResult, recorded: NDArray[np.bool_], ended: list[Episode]) -> None:
        """Record one tick, play it, let nature move, and put new games where one ended."""
        opened = np.array([len(opening.actions) for opening in self.opened])
        actions = self._choose(result, opened + len(self.past) - self.began)
        self.past.append(
            Tick(
                states=self.states.copy(),
                to_play=self.game.view_states(self.states)["to_play"].copy(),
                **gather_rows(result.actions, result.action_weights, result.count)._asdict(),
                values=result.improved_value.copy(),
                actions=actions,
                recorded=recorded,
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
            episode = self._episode(row, outcome[row])
            ended.append(episode)
            self.openings.keep(episode, self.rng)
            self._begin(row)

    def _choose(self, result: SearchResult, age: NDArray[np.int64]) -> NDArray[np.int32]:
        """Pick each game's move: drawn in its first moves, then the search's own choice; some at random."""
        search, share = self.searchers.full.config, self.searchers.random_moves
        sampled = draw_actions(search, result, self.config.temperature, self.rng.random(len(age)))
        chosen = np.where(age < self.config.exploration_moves, sampled, result.action).astype(np.int32)
        if share > 0.0:
            is_random, draws = self.rng.random((2, len(age)))
            places = (draws * result.count).astype(np.intp)
            any_legal = result.actions[np.arange(len(age)), places].astype(np.int32)
            chosen = np.where(is_random < share, any_legal, chosen)
        return chosen

    def _episode(self, row: int, returns: NDArray[np.float32]) -> Episode:
        """Gather a row's game: its opening, not trained on, and the ticks since it began."""
        ticks, opening = self.past[self.began[row] :], self.opened[row]
        opened = len(opening.actions)

        def gather(name: str, before: Any) -> NDArray[Any]:
            first = getattr(ticks[0], name)[row]
            head = np.full((opened, *first.shape), before, first.dtype)
            return np.concatenate([head, np.stack([getattr(tick, name)[row] for tick in ticks])])

        to_play, states, actions = gather("to_play", 0), gather("states", 0), gather("actions", 0)
        states[:opened], actions[:opened] = opening
        to_play[:opened] = self.game.view_states(np.ascontiguousarray(states))["to_play"][:opened]
        return Episode(
            seed=int(self.seeds[row]),
            states=states,
            to_play=to_play,
            counts=gather("counts", 0),
            legal=np.concatenate([tick.own("legal", row) for tick in ticks]),
            policy=np.concatenate([tick.own("policy", row) for tick in ticks]),
            actions=actions,
            root_values=gather("values", 0.0),
            returns=returns,
            recorded=gather("recorded", False),
            ending=self.states[row].copy(),
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
        arrays |= join_openings("opened", self.opened, self.game.words) | self.openings.state()
        if self.past:
            for field in dataclasses.fields(Tick):
                parts = [getattr(tick, field.name) for tick in self.past]
                joined = np.concatenate(parts) if field.name in CHOICE_FIELDS else np.stack(parts)
                arrays[f"past_{field.name}"] = joined
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
        self.opened = split_openings("opened", arrays)
        self.openings.set_state(arrays)
        self.past = split_ticks(arrays) if "past_states" in arrays else []


def split_ticks(arrays: dict[str, NDArray[Any]]) -> list[Tick]:
    """Take apart the ticks that `Group.state` joined; older versions padded their legal actions [T, B, M]."""
    names = [field.name for field in dataclasses.fields(Tick)]
    past = {name: arrays[f"past_{name}"] for name in names if f"past_{name}" in arrays}
    if "counts" not in past:
        past |= remove_padding(past["legal"], past["policy"])._asdict()
    ends = np.cumsum(past["counts"].sum(axis=1))[:-1]
    pieces = {
        name: np.split(array, ends) if name in CHOICE_FIELDS else list(array) for name, array in past.items()
    }
    return [
        Tick(**{name: part[index].copy() for name, part in pieces.items()})
        for index in range(len(past["counts"]))
    ]
