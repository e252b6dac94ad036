"""What a lead is worth: how often who is ahead wins, and whether what is said to be a chance is one."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zelkova.games.game import Game
from zelkova.games.played import PlayedGame, lay_on_chances
from zelkova.games.statistic import Cell, Statistic, share_by_game

ROUND_UP = 1e-6  # of a tenth: 0.6 - 0.4 is among those from 0.2 on, whatever its last bit

Floats = NDArray[np.float64]


def measure_leads(
    key: str, source: str, games: Sequence[PlayedGame], chances: Sequence[Floats]
) -> list[Statistic]:
    """Say what leads and chances came to.

    Args:
        key: ends the names of the figures.
        source: who says the chances, in words.
        games: for two players or more.
        chances: [T + 1, P] of each game, 0..1; NaN where nothing is said.
    Returns: two tables; none where no chance is known of a game that ended.
    """
    leads: list[tuple[float, float, int]] = []  # lead, the leader's share of the win, game
    said: list[tuple[float, float, int]] = []  # chance, what came, game
    for number, (played, by_step) in enumerate(zip(games, chances, strict=True)):
        if played.returns is None:
            continue
        result = played.chances[-1]
        steps = played.chosen_steps()
        for values in by_step[steps[np.isfinite(by_step[steps]).all(axis=1)]]:
            order = np.sort(values)
            leaders = values == order[-1]
            leads.append((float(order[-1] - order[-2]), float(played.wins[leaders].mean()), number))
            said += [(float(value), float(came), number) for value, came in zip(values, result, strict=True)]
    if not leads:
        return []
    lead = Statistic(
        f"lead_{key}",
        f"Lead against result: {source}",
        f"At every position where a player chose a move, who has the best chance by {source} leads by what it"
        " is above the next one's. The share is of the win: 1, or a part where several end equally well."
        " Equal chances count as a lead of 0 of each of the equals.",
        ("lead", "mean lead", "positions", "the leader won"),
        _fill_bins(leads),
        ("mean lead", ("the leader won",)),
    )
    kept = Statistic(
        f"chance_{key}",
        f"Chance against result: {source}",
        f"Each player's chance by {source}, at the same positions, and what came: a win is 1, a draw of two a"
        " half. Where the two differ, the chance is not what it says.",
        ("chance", "mean chance", "positions", "what came"),
        _fill_bins(said),
        ("mean chance", ("what came", "mean chance")),
    )
    return [lead, kept]


def _fill_bins(seen: Sequence[tuple[float, float, int]]) -> tuple[tuple[Cell, ...], ...]:
    """Sort observations (value, result, game) into tenths of the value."""
    table = np.array(seen, np.float64).reshape(-1, 3)
    place = np.clip(np.floor(10 * table[:, 0] + ROUND_UP), 0, 9)
    rows: list[tuple[Cell, ...]] = []
    for k in range(10):
        chosen = table[place == k]
        if not len(chosen):
            continue
        label = f"{10 * k} to {10 * k + 10} %"
        share = share_by_game(chosen[:, 1], chosen[:, 2].astype(np.int64))
        rows.append((label, float(chosen[:, 0].mean()), len(chosen), share))
    return tuple(rows)


def judge_by_game(game: Game, games: Sequence[PlayedGame]) -> list[Floats] | None:
    """Let the game itself say the chances before each chosen move; None where it has no `evaluate`."""
    if "evaluate" not in game.functions or game.has_chance:
        return None
    from zelkova.agents import kernels

    answers = []
    for played in games:
        steps = played.chosen_steps()
        states, size = np.ascontiguousarray(played.states[steps]), len(steps)
        values = np.zeros((size, game.num_players), np.float32)
        logits, count = np.zeros((size, 1), np.float32), np.zeros(size, np.int32)
        kernels.judge_rows(
            game.native.evaluate, None, states, np.arange(size), np.ones(size, np.float32), count,
            np.zeros((size, 1), np.int32), logits, values,
        )  # fmt: skip
        chances = np.full_like(played.chances, np.nan)
        chances[steps] = lay_on_chances(game, values)
        answers.append(chances)
    return answers
