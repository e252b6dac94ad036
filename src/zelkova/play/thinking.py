"""What the agent thinks of a position: the move it would play, its expected scores and its best lines.

A *share* is an expected return laid on 0..1 by the game's return range: for two players a win is 1, a
draw 0.5. Whoever thinks (a network with search, UCT, alpha-beta, chance) answers in the same form.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from zelkova.agents.reference.classic import ClassicAgent, MinimaxAgent
from zelkova.agents.reference.uct import UctSearch
from zelkova.games import Game
from zelkova.games.game import Position

if TYPE_CHECKING:
    from zelkova.agents.learned.load import HiddenRules
    from zelkova.agents.planner import Planner, PlannerConfig

Shares = tuple[float | None, ...]

MOST_LINES = 10_000  # all that a planner gives; more than most games have moves
MOST_THEN = 12  # moves that are read of the search's own tree after a candidate


@dataclass(frozen=True)
class Candidate:
    """One move that was considered."""

    action: int  # its number
    visits: int  # simulations that went through it; of a classic search, all positions that it visited
    shares: Shares  # [P] expected share of each player after it, 0..1; None where the search does not tell
    then: tuple[int, ...] = ()  # actions that follow in the search's own tree, as far as it goes


@dataclass(frozen=True)
class Thought:
    """An answer to one position."""

    action: int  # what would be played
    shares: Shares = ()  # [P] expected share of each player, 0..1; empty where there is no opinion
    candidates: tuple[Candidate, ...] = ()  # `action`, then by visits, then by the mover's share


class Thinker(Protocol):
    """Answers one position at a time."""

    @property
    def name(self) -> str:
        """How the session calls it."""

    def think(self, position: Position, rng: np.random.Generator) -> Thought:
        """Think about a position that is no ending.

        Args:
            position: left as it is.
            rng: the only source of chance.
        """


class RandomThinker:
    """Plays anything legal and has no opinion."""

    name = "random"

    def think(self, position: Position, rng: np.random.Generator) -> Thought:
        """Pick a legal action; see Thinker."""
        return Thought(int(rng.choice(position.legal_actions())))


class UctThinker:
    """Thinks by UCT with random rollouts."""

    def __init__(self, game: Game, num_simulations: int) -> None:
        """Allocate the search.

        Args:
            game: whose positions come.
            num_simulations: a move.
        Raises:
            ConfigError: num_simulations is below 1.
        """
        self.name = f"uct:{num_simulations}"
        self._search = UctSearch(game, num_simulations)

    def think(self, position: Position, rng: np.random.Generator) -> Thought:
        """Search; see Thinker."""
        found = self._search.search(position.state, rng.integers(2**63, size=1).astype(np.uint64))
        tried = np.flatnonzero(found.visit_counts[0])
        visits, values = found.visit_counts[0, tried], found.values[0, tried]
        candidates = tuple(
            Candidate(int(tried[k]), int(visits[k]), _shares(position.game, values[k]))
            for k in _best_first(tried, visits, values[:, position.to_play])
        )
        action = int(found.actions[0])
        shares = _shares(position.game, visits @ values / visits.sum())
        return Thought(action, shares, _lead(action, candidates))


class ClassicThinker:
    """Thinks by max^n, alpha-beta or minimax."""

    def __init__(self, agent: ClassicAgent | MinimaxAgent, name: str) -> None:
        """Wrap a classic search.

        Args:
            agent: has no chance of its own.
            name: how the session calls it.
        """
        self.name = name
        self._agent = agent

    def think(self, position: Position, rng: np.random.Generator) -> Thought:
        """Search; see Thinker."""
        candidates = tuple(
            Candidate(
                opinion.action,
                opinion.visited,
                tuple(_share(position.game, float(value)) for value in opinion.values),
                opinion.line[1 : MOST_THEN + 1],
            )
            for opinion in self._agent.consider(position.state)
        )
        return Thought(candidates[0].action, candidates[0].shares, candidates)


class AgentThinker:
    """Thinks by a network and a search."""

    def __init__(self, planner: "Planner", name: str) -> None:
        """Wrap a planner.

        Args:
            planner: with `planner_options`; it searches without noise, as it plays at its strongest.
            name: how the session calls it.
        """
        self.name = name
        self._planner = planner

    def think(self, position: Position, rng: np.random.Generator) -> Thought:
        """Search anew, so that a position has one answer; see Thinker."""
        self._planner.set_position(position.state)
        answer = self._planner.think()
        game = position.game
        candidates = tuple(
            Candidate(line.actions[0], line.visits, _shares(game, line.value), line.actions[1:])
            for line in answer.lines
        )
        shares = _shares(game, answer.result.improved_value[0])
        return Thought(answer.action, shares, _lead(answer.action, candidates))


class LearnedThinker:
    """Thinks by a learned model: it is shown observation, turn and legal moves, and no rules."""

    def __init__(self, agent: "HiddenRules", name: str) -> None:
        """Wrap an agent.

        Args:
            agent: of the game that is played.
            name: how the session calls it.
        """
        self.name = name
        self._agent = agent

    def think(self, position: Position, rng: np.random.Generator) -> Thought:
        """Search; see Thinker."""
        plan = self._agent.search(position.state)
        tried = np.flatnonzero(plan.visit_counts[0])
        drawn = plan.sampled_actions
        candidates = _candidates(
            position.game,
            position.to_play,
            tried if drawn is None else drawn[0, tried],
            plan.visit_counts[0, tried],
            plan.q_values[0, tried],
        )
        action = int(plan.action[0])
        return Thought(action, _shares(position.game, plan.improved_value[0]), _lead(action, candidates))


def planner_options(num_simulations: int, num_leaves: int) -> "PlannerConfig":
    """Give the options of a planner that an AgentThinker asks: every move's line, room for one search.

    Args:
        num_simulations: a move.
        num_leaves: of the tree that the network evaluates at a time.
    """
    from zelkova.agents.planner import PlannerConfig

    return PlannerConfig(
        room=num_simulations, num_leaves=num_leaves, num_lines=MOST_LINES, line_length=1 + MOST_THEN
    )


class LateThinker:
    """Stands for a thinker that is slow to make, and makes it when it is first needed."""

    def __init__(self, name: str, make: Callable[[], Thinker]) -> None:
        """Wait.

        Args:
            name: how the session calls it.
            make: gives the thinker.
        """
        self.name = name
        self._make = make
        self._thinker: Thinker | None = None

    def load(self) -> Thinker:
        """Make the thinker, if that was not done."""
        if self._thinker is None:
            self._thinker = self._make()
        return self._thinker

    def think(self, position: Position, rng: np.random.Generator) -> Thought:
        """Let the thinker think; see Thinker."""
        return self.load().think(position, rng)


def follow(
    thinker: Thinker, position: Position, candidate: Candidate, length: int, rng: np.random.Generator
) -> list[str]:
    """Write a line of play: a move, what followed it in the search, then a new search a move.

    Where nature moves, the search's line has its likeliest outcome; beyond it, one is drawn.

    Args:
        thinker: plays every seat where the search's own line has ended.
        position: where the line starts; left as it is.
        candidate: the first move.
        length: moves of the line at most; it is shorter where the game ends.
        rng: for the searches.
    """
    here = position.copy()
    moves: list[str] = []
    known = [candidate.action, *candidate.then]
    while len(moves) < length and not here.is_terminal:
        if known:
            action = known.pop(0)
        else:
            action = here.draw_outcome(rng) if here.is_chance else thinker.think(here, rng).action
        moves.append(here.action_to_text(action))
        here.play(action)
    return moves


def _candidates(
    game: Game, mover: int, actions: NDArray[Any], visits: NDArray[np.int32], q_values: NDArray[np.float32]
) -> tuple[Candidate, ...]:
    """Sort the visited actions [k], best first, where only the mover's mean returns [k] are known."""
    return tuple(
        Candidate(int(actions[k]), int(visits[k]), _mover_shares(game, mover, float(q_values[k])))
        for k in _best_first(actions, visits, q_values)
    )


def _lead(action: int, candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Put the move that is played before all others: it need not be the most visited one.

    Gumbel plays by its own score, a proven win is played at once, and a regularised policy may play a move
    that no simulation went through: it then leads without visits and without shares.
    """
    if not candidates or candidates[0].action == action:
        return candidates
    unknown: Shares = (None,) * len(candidates[0].shares)
    own = next((one for one in candidates if one.action == action), Candidate(action, 0, unknown))
    return (own, *(one for one in candidates if one.action != action))


def _best_first(actions: NDArray[Any], visits: NDArray[np.int32], q_values: NDArray[np.float32]) -> list[int]:
    """Give the places of actions [k] by their visits, then by the mover's mean return."""
    return sorted(range(len(actions)), key=lambda k: (-visits[k], -q_values[k], actions[k]))


def _shares(game: Game, values: NDArray[Any]) -> Shares:
    return tuple(_share(game, float(value)) for value in values)


def _mover_shares(game: Game, mover: int, value: float) -> Shares:
    """Give the shares that follow from the mover's value: for two players, what one gains the other loses."""
    share = _share(game, value)
    if game.num_players == 2:
        return (share, 1.0 - share) if mover == 0 else (1.0 - share, share)
    return tuple(share if seat == mover else None for seat in range(game.num_players))


def _share(game: Game, value: float) -> float:
    """Lay a return on 0..1."""
    low, high = game.return_range
    return min(max((value - low) / (high - low), 0.0), 1.0)
