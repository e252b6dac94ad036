"""Where games begin: at the start, after random moves, or where an earlier game had become lopsided.

Source: KataGo (Wu 2019) for random openings; Go-Exploit (Trudeau and Bowling 2023) for restarts.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zelkova.games import Game
from zelkova.games.single import Single
from zelkova.replay.episode import Episode
from zelkova.selfplay.config import SelfPlayConfig

KEPT = 64  # lopsided positions, the newest
CLEAR = 0.98  # a seat whose share of the value is above this has won: nothing is to be learnt there
PLIES_LEFT = 8  # positions nearer to their game's end are not played on from


class Opening(NamedTuple):
    """Moves that nobody is trained on, before a game's first searched position."""

    states: NDArray[np.uint64]  # [n, words], before each move
    actions: NDArray[np.int32]  # [n]


class Openings:
    """Puts new games on the board, and remembers positions to come back to."""

    def __init__(self, game: Game, config: SelfPlayConfig) -> None:
        """Remember nothing yet.

        Args:
            game: the rules.
            config: how many games open in which way.
        """
        self.game, self.config = game, config
        self.kept: list[Opening] = []
        self._rules = Single(game)

    def begin(
        self, first: NDArray[np.uint64], rng: np.random.Generator
    ) -> tuple[NDArray[np.uint64], Opening]:
        """Give a position [1, words] to play from, and how it came about.

        Args:
            first: [1, words] where the game would begin, nature's moves made.
            rng: draws which.
        """
        config = self.config
        if config.restart_share > 0.0 and rng.random() < config.restart_share and self.kept:
            past = self.kept[int(rng.integers(len(self.kept)))]
            state = past.states[-1:].copy()
            self._rules.step(state, int(past.actions[-1]))
            self.game.roll(state, rng)
            if not self._rules.is_terminal(state):  # nature may have ended it this time
                return state, past
        opens = rng.random() < config.random_opening
        moves = int(rng.integers(1, config.random_opening_moves + 1)) if opens else 0
        while True:
            state, opening = self._play(first, moves, rng)
            if not self._rules.is_terminal(state):
                return state, opening
            moves //= 2

    def _play(
        self, first: NDArray[np.uint64], moves: int, rng: np.random.Generator
    ) -> tuple[NDArray[np.uint64], Opening]:
        """Play random legal moves until the game ends or their number is reached."""
        state = first.copy()
        states, actions = np.zeros((moves, self.game.words), np.uint64), np.zeros(moves, np.int32)
        for move in range(moves):
            legal = self._rules.legal_actions(state)
            states[move], actions[move] = state[0], legal[rng.integers(len(legal))]
            self._rules.step(state, int(actions[move]))
            self.game.roll(state, rng)
            if self._rules.is_terminal(state):
                break
        return state, Opening(states, actions)

    def keep(self, episode: Episode, rng: np.random.Generator) -> None:
        """Look at one drawn position of a game, and remember it where one seat is far ahead.

        Args:
            episode: ended.
            rng: draws which position.
        """
        if self.config.restart_share == 0.0 or len(episode) <= PLIES_LEFT + 1:
            return
        move = int(rng.integers(1, len(episode) - PLIES_LEFT))
        low, high = self.game.return_range
        share = (float(episode.root_values[move].max()) - low) / (high - low)
        if episode.recorded[move] and self.config.restart_lead <= share <= CLEAR:
            self.kept.append(Opening(episode.states[:move].copy(), episode.actions[:move].copy()))
            del self.kept[:-KEPT]

    def state(self) -> dict[str, NDArray[Any]]:
        """Give what is remembered, as arrays by name."""
        return join_openings("kept", self.kept, self.game.words)

    def set_state(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from what `state` gave."""
        self.kept = split_openings("kept", arrays)


def join_openings(name: str, openings: list[Opening], words: int) -> dict[str, NDArray[Any]]:
    """Lay openings one behind the other, as arrays whose names begin with `name`."""
    states = [np.zeros((0, words), np.uint64), *(opening.states for opening in openings)]
    actions = [np.zeros(0, np.int32), *(opening.actions for opening in openings)]
    return {
        f"{name}_states": np.concatenate(states),
        f"{name}_actions": np.concatenate(actions),
        f"{name}_lengths": np.array([len(opening.actions) for opening in openings], np.int64),
    }


def split_openings(name: str, arrays: dict[str, NDArray[Any]]) -> list[Opening]:
    """Take apart what `join_openings` joined."""
    ends = np.cumsum(arrays[f"{name}_lengths"])
    if not len(ends):
        return []
    states = np.split(arrays[f"{name}_states"], ends[:-1])
    actions = np.split(arrays[f"{name}_actions"], ends[:-1])
    return [Opening(one.copy(), other.copy()) for one, other in zip(states, actions, strict=True)]
