"""Matches: many games between two players at once, seats and openings balanced.

Every opening is played once with the first player A in each seat, B in all the others: twice in a game for
two, three times in a game for three (one A against two B). All games of a batch move in step, and each player
is asked once a step for all positions where it is to move.

Openings are 0 to 2 random plies and may repeat, for a player of chance makes another game of the same
opening. Two deterministic players would play one game twice: theirs are 0 to 4 plies, each different. (Short,
because from longer random openings even perfect play gives points away: at connect four it scored 100 %
against uct:1000 without an opening, 99 % from these of 0 to 2 plies, 97 % from different ones of 0 to 4.)

In a game for one player, A and B each play every opening alone, and whoever reaches the higher return wins.
Where nature moves (dice, a new tile), each game draws from a seed of its own.

Scores are shares from 0 to 1: the return scaled by the game's return range, so a draw of two counts a half.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from zelkova.errors import GameError, IllegalActionError
from zelkova.evaluation.config import MatchConfig
from zelkova.evaluation.elo import elo_gap
from zelkova.evaluation.openings import even_openings
from zelkova.evaluation.players import Player
from zelkova.games.game import Game, Position
from zelkova.games.playout import roll
from zelkova.games.statistic import wilson_interval

_MAX_PLIES = 100_000
_NATURE = 0x2545F491  # told apart from moves in a game's seeds


@dataclasses.dataclass(frozen=True)
class MatchResult:
    """What came out of a match of G games; A against B."""

    game: str  # its name
    names: tuple[str, str]  # of A and of B
    num_players: int  # P; 2 for a game for one player, which A and B play apart
    seats: NDArray[np.int32]  # [G] A's seat
    openings: NDArray[np.int32]  # [G] which opening was played
    returns: NDArray[np.float32]  # [G, P] by seat, in the game's return_range; apart: of A and of B
    scores: NDArray[np.float64]  # [G] A's share, 0..1
    plies: NDArray[np.int32]  # [G] length of the game, opening included, outcomes left out; apart: A's
    is_apart: bool = False  # the game is for one player

    @property
    def num_games(self) -> int:
        """How many games were played."""
        return len(self.seats)

    @property
    def score(self) -> float:
        """A's mean share, 0..1; equals score 1/P."""
        return float(self.scores.mean())

    @property
    def score_interval(self) -> tuple[float, float]:
        """The score's 95 % interval by Wilson; on the safe side where there are draws."""
        return wilson_interval(float(self.scores.sum()), self.num_games)

    @property
    def elo(self) -> float:
        """How many Elo points A is above B, with one drawn game added so that it is finite."""
        return elo_gap(self._padded_score(), self.num_players)

    @property
    def elo_interval(self) -> tuple[float, float]:
        """The gap's 95 % interval: Wilson's, with one drawn game added, so that it is finite."""
        padded = float(self.scores.sum()) + 1 / self.num_players
        low, high = wilson_interval(padded, self.num_games + 1)
        return elo_gap(low, self.num_players), elo_gap(high, self.num_players)

    def tally(self, seat: int | None = None) -> tuple[int, int, int]:
        """Count A's wins, draws and losses, in one seat or in all.

        A win is a return above everyone else's, a draw shares the best return, all else is a loss.
        """
        chosen = np.ones(self.num_games, np.bool_) if seat is None else self.seats == seat
        returns = self.returns[chosen]
        mine = np.take_along_axis(returns, self.seats[chosen, None].astype(np.intp), axis=1)
        best = mine[:, 0] >= returns.max(axis=1)
        alone = (returns == mine).sum(axis=1) == 1
        wins = int((best & alone).sum())
        draws = int((best & ~alone).sum())
        return wins, draws, int(chosen.sum()) - wins - draws

    def seat_wins(self) -> NDArray[np.int64]:
        """Count the games that each seat won alone, whoever sat there, int64[P]."""
        best = self.returns == self.returns.max(axis=1, keepdims=True)
        return np.asarray(best[best.sum(axis=1) == 1].sum(axis=0), np.int64)

    def _padded_score(self) -> float:
        return (float(self.scores.sum()) + 1 / self.num_players) / (self.num_games + 1)


@njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _step_games(
    step: Any,
    legal_actions: Any,
    is_terminal: Any,
    returns: Any,
    chance: Any,
    states: Any,
    actions: Any,
    seeds: Any,
    legal: Any,
    probs: Any,
    out: Any,
) -> Any:
    """Play one action in every row of states uint64[n, words] in place, and let nature move.

    Args:
        actions: int32[n] in; out: 1 where the game has ended, 0 where it goes on.
        seeds: uint64[n], each row's for nature, used up.
        legal: int32[M], probs: float32[C], scratch.
        out: float32[n, P], the returns of games that have ended, written.
    Returns: -1, or the first row whose action is not legal; nothing from there on is played.
    """
    base = np.intp(states.ctypes.data)
    stride = states.shape[1] * 8
    for row in range(len(states)):
        address = base + row * stride
        count = legal_actions(address, legal)
        is_legal = False
        for k in range(count):
            if legal[k] == actions[row]:
                is_legal = True
        if not is_legal:
            return row
        step(address, np.int64(actions[row]))
        roll(step, chance, address, seeds[row : row + 1], legal, probs)
        actions[row] = 0
        if is_terminal(address):
            actions[row] = 1
            returns(address, out[row])
    return -1


def most_opening_plies(config: MatchConfig, first: Player, second: Player) -> int:
    """Give the longest opening of a match: as set, or by whether chance makes games differ."""
    if config.opening_plies is not None:
        return config.opening_plies
    return 4 if first.is_deterministic and second.is_deterministic else 2


def play_match(
    game: Game,
    first: Player,
    second: Player,
    config: MatchConfig,
    on_progress: Callable[[int, int], None] | None = None,
) -> MatchResult:
    """Play A (`first`) against B (`second`), seats and openings balanced.

    Args:
        game: for one player, two or more.
        first: sits in every seat in turn.
        second: sits in all the others.
        config: games (rounded up to a multiple of P; pairs of games for one player), seed, openings.
        on_progress: is told how many games have ended, and of how many.
    Raises:
        ConfigError: the game's random openings all end.
        IllegalActionError: a player answered an action that is not legal.
        GameError: a game does not end.
    """
    players = game.num_players
    sides = max(players, 2)  # alone, A sits down in one of two games and B in the other
    count = -(-config.games // players)
    root = np.random.SeedSequence(config.seed)
    opening_rng, game_rng = (np.random.default_rng(child) for child in root.spawn(2))
    distinct = first.is_deterministic and second.is_deterministic
    most = most_opening_plies(config, first, second)
    starts, lengths = even_openings(game, count, most, opening_rng, distinct=distinct)
    openings = np.repeat(np.arange(count, dtype=np.int32), sides)
    seats = np.tile(np.arange(sides, dtype=np.int32), count)
    seeds = game_rng.integers(2**63, size=len(seats)).astype(np.uint64)
    returns = np.zeros((len(seats), players), np.float32)
    plies = np.repeat(lengths, sides)
    for begin in range(0, len(seats), config.parallel):
        part = slice(begin, begin + config.parallel)
        table = _Table(game, (first, second), starts[openings[part]], seats[part], seeds[part])
        while table.alive.any():
            table.play_step()
            if on_progress is not None:
                on_progress(begin + int((~table.alive).sum()), len(seats))
        returns[part] = table.returns
        plies[part] += table.plies
    names = (first.name, second.name)
    if players == 1:
        returns, alone = returns.reshape(count, 2), np.zeros(count, np.int32)
        duels = (np.sign(returns[:, 0] - returns[:, 1]).astype(np.float64) + 1.0) / 2.0
        return MatchResult(game.name, names, 2, alone, openings[::2], returns, duels, plies[::2], True)
    low, high = game.return_range
    mine = returns[np.arange(len(seats)), seats].astype(np.float64)
    scores = (mine - low) / (high - low)
    return MatchResult(game.name, names, players, seats, openings, returns, scores, plies)


class _Table:
    """Games in play side by side."""

    def __init__(
        self,
        game: Game,
        players: tuple[Player, Player],
        states: NDArray[np.uint64],
        seats: NDArray[np.int32],
        seeds: NDArray[np.uint64],
    ) -> None:
        """Set up one game a row; `seats` are those of the first player."""
        self.game = game
        self.players = players
        self.states = states
        self.seats = seats
        self.seeds = seeds
        self.alive = np.ones(len(seats), np.bool_)
        self.returns = np.zeros((len(seats), game.num_players), np.float32)
        self.plies = np.zeros(len(seats), np.int32)
        self._moves = 0
        self._scratch = game.new_scratch()

    def play_step(self) -> None:
        """Play one ply in every game that goes on."""
        to_play = self.game.view_states(self.states)["to_play"].copy()
        turn = _mix(self.seeds, self._moves)
        for which, player in enumerate(self.players):
            rows = np.flatnonzero(self.alive & ((to_play == self.seats) == (which == 0)))
            if len(rows):
                self._answer(player, rows, turn[rows])
        self._moves += 1
        if self._moves > _MAX_PLIES:
            raise GameError(f"{self.game.source}: a game did not end within {_MAX_PLIES} plies")

    def _answer(self, player: Player, rows: NDArray[np.intp], seeds: NDArray[np.uint64]) -> None:
        """Ask a player and play its answers in some of the games; nature draws from other seeds than it."""
        chosen = player.choose(self.states[rows], seeds)
        rules = self.game.native
        states, out = self.states[rows], self.returns[rows]
        flags = np.array(chosen, np.int32)
        bad = _step_games(
            rules.step, rules.legal_actions, rules.is_terminal, rules.returns, rules.chance,
            states, flags, _mix(seeds, _NATURE), *self._scratch, out,
        )  # fmt: skip
        if bad >= 0:
            raise IllegalActionError(
                f"player {player.name} answered action {int(chosen[bad])}, which is not legal in "
                f"{self.game.name} here:\n{Position(self.game, states[bad : bad + 1])}"
            )
        self.states[rows], self.returns[rows] = states, out
        self.plies[rows] += 1
        self.alive[rows] = flags == 0


def _mix(seeds: NDArray[np.uint64], move: int) -> NDArray[np.uint64]:
    """Give every game's seed for one of its moves."""
    mixed = (seeds ^ np.uint64(move)) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray((mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xD6E8FEB86659FD93))
