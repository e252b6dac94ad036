"""Three-player shogi's positions as sets of cells: who stands where, and who attacks what.

A set is a Python integer whose bit is a cell's number.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np

from zelkova.games.game import Game
from zelkova.games.played import PlayedGame
from zelkova.games.shogi3 import rules

KING_WORTH = 1_000_000  # a king has no points; nothing that is taken weighs more


@dataclasses.dataclass(frozen=True)
class View:
    """One position."""

    owned: tuple[int, ...]  # [3] set of cells of each seat
    bits: tuple[int, ...]  # [4] sets: the bits of the code of what stands on a cell
    attacked: tuple[int, ...]  # [3] set of cells that each living seat attacks, its own pieces' among them
    alive: tuple[bool, ...]  # [3]
    points: tuple[int, ...]  # [3] material
    in_hand: tuple[int, ...]  # [3] pieces in hand
    is_over: bool

    @property
    def num_alive(self) -> int:
        """How many players are in the game."""
        return sum(self.alive)

    def owner(self, cell: int) -> int | None:
        """Say whose piece stands on a cell; None where it is empty."""
        return next((seat for seat in range(3) if self.owned[seat] >> cell & 1), None)

    def worth(self, cell: int) -> int:
        """Give the points of what stands on a cell; a king's is KING_WORTH."""
        code = sum((word >> cell & 1) << bit for bit, word in enumerate(self.bits))
        return KING_WORTH if code == rules.KING else int(rules.BOARD_WORTH[code])

    def hanging(self, seat: int) -> dict[int, int]:
        """Give where a living opponent could take a seat's piece that nothing guards: cells and points.

        Kings are left out.
        """
        danger = 0
        for other in range(3):
            danger |= self.attacked[other] if other != seat and self.alive[other] else 0
        found = {
            cell: self.worth(cell) for cell in cells_of(self.owned[seat] & danger & ~self.attacked[seat])
        }
        return {cell: worth for cell, worth in found.items() if worth < KING_WORTH}


def cells_of(cells: int) -> Iterator[int]:
    """List the cells of a set, ascending."""
    while cells:
        yield (cells & -cells).bit_length() - 1
        cells &= cells - 1


@numba.njit(cache=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _measure(records: Any, attacked: Any, points: Any) -> None:
    """Write what cells each living seat attacks, uint64[n, 3, 2], and each seat's material, int64[n, 3]."""
    for row in range(len(records)):
        record = records[row]
        sets = record["sets"]
        for seat in range(3):
            points[row, seat] = rules.material_of(record, seat)
            if record["fallen"][seat] != 0:
                continue
            low, high = sets[seat, 0], sets[seat, 1]
            while (low | high) != rules.NONE:
                seen0, seen1 = rules.reach(sets, seat, rules.first(low, high))
                attacked[row, seat, 0] |= seen0
                attacked[row, seat, 1] |= seen1
                low, high = rules.drop_first(low, high)


def view_game(game: Game, played: PlayedGame) -> list[View]:
    """Look at every position of a game, T + 1 of them."""
    records = game.view_states(played.states)
    count = len(records)
    attacked, worths = np.zeros((count, 3, 2), np.uint64), np.zeros((count, 3), np.int64)
    _measure(records, attacked, worths)
    points = [tuple(row) for row in worths.tolist()]
    sets = [[low | high << 64 for low, high in row] for row in records["sets"].tolist()]
    danger = [tuple(low | high << 64 for low, high in row) for row in attacked.tolist()]
    alive = [tuple(row) for row in (records["fallen"] == 0).tolist()]
    hands = [tuple(row) for row in records["hands"].sum(axis=2).tolist()]
    over = (records["winner"] >= 0).tolist()
    return [
        View(tuple(sets[k][:3]), tuple(sets[k][3:]), danger[k], alive[k], points[k], hands[k], over[k])
        for k in range(count)
    ]


def capture_of(before: View, action: int) -> int | None:
    """Give the cell of what a move takes; None where it takes nothing.

    Args:
        before: the position in which it is played.
        action: its number; below 0 for a resignation.
    """
    if action < 0 or action // 81 >= rules.DROP or before.owner(action % 81) is None:
        return None
    return action % 81
