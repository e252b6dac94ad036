"""One search tree over a game's rules as exported functions; whoever calls them evaluates positions.

All arrays of a search lie in one block, whose size and places the module's description gives. The caller
fills `desk.logits` and `rows.value` (absolute players) for the rows that `desk.asks` marks, by a network or
by `search_rollouts`:

    search_begin(search, state) -> rows that ask       search_plant(search, has_noise) -> 1
    then, while there is 1 more to do:
    search_select(search) -> rows that ask             search_expand(search) -> 1, or 0 at the end
    and at last search_read(search), which fills `answer`

Every argument but has_noise (0 or 1) is an address. An answer below 0 says what is wrong with an evaluation:
-(row * 16 + status), as in search/batch.py.
"""

import base64
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from zelkova.errors import GameError
from zelkova.export.entries import AddressedRules
from zelkova.export.memory import Block, array_reader
from zelkova.export.wasm import Entry
from zelkova.games.game import Game
from zelkova.games.playout import playout
from zelkova.search.batch import BatchSearch
from zelkova.search.config import SearchConfig
from zelkova.search.kernels.answer import read_roots
from zelkova.search.kernels.simulate import plant_roots, select_leaves, settle_leaves
from zelkova.search.kernels.tree import Answer, Rows
from zelkova.search.model import Selection
from zelkova.search.models.table_model import blank_evaluation

_KERNELS: Any = (plant_roots, select_leaves, settle_leaves, read_roots)
CONSTANTS = ("forest.settings", "forest.explore", "forest.halving")


class Desk(NamedTuple):
    """What passes between the search and whoever evaluates; R rows, one a leaf."""

    states: NDArray[np.uint64]  # [N + 1, words] position of each node; the last one is scratch
    asks: NDArray[np.int32]  # [R] 1 where the row wants logits and value
    planes: NDArray[np.float32]  # [R, C, H, W] the network's input, in the game's VIEW
    logits: NDArray[np.float32]  # [R, A] over all actions, filled by the caller
    held: NDArray[np.int32]  # [R] the search's own
    scratch: NDArray[np.int32]  # [M] the rollouts' own


class SearchMemory:
    """The block of one search of one game."""

    def __init__(self, game: Game, config: SearchConfig, num_leaves: int) -> None:
        """Lay the arrays out.

        Args:
            game: whose positions are searched.
            config: how.
            num_leaves: R, rows gathered at a time.
        """
        most, players = game.max_legal_actions, game.num_players
        sample = BatchSearch(config, 1, most, players, game.return_range, num_leaves)
        self.block = Block()
        _, self.forest_at = self.block.add("forest", sample.forest)
        self.rows_at, self.plain_rows_at = self.block.add(
            "rows", Rows(*blank_evaluation(num_leaves, most, players))
        )
        self.selection_at, self.plain_selection_at = self.block.add(
            "selection", Selection(*(np.zeros(num_leaves, np.int32) for _ in range(3)))
        )
        self.desk_at, _ = self.block.add(
            "desk",
            Desk(
                states=game.new_states(config.num_simulations + 2),
                asks=np.zeros(num_leaves, np.int32),
                planes=np.zeros((num_leaves, *game.observation_shape), np.float32),
                logits=np.zeros((num_leaves, game.num_actions), np.float32),
                held=np.zeros(num_leaves, np.int32),
                scratch=np.zeros(most, np.int32),
            ),
        )
        _, self.answer_at = self.block.add(
            "answer",
            Answer(
                action=np.zeros(1, np.int32),
                actions=np.zeros((1, most), np.int32),
                count=np.zeros(1, np.int32),
                weights=np.zeros((1, most), np.float32),
                visits=np.zeros((1, most), np.int32),
                q=np.zeros((1, most), np.float32),
                value=np.zeros((1, players), np.float32),
                raw=np.zeros((1, players), np.float32),
                improved=np.zeros((1, players), np.float32),
            ),
        )
        self.constants = {f"forest.{name}": array for name, array in sample.forest._asdict().items()}

    def describe(self) -> dict[str, Any]:
        """Give size, places and constant contents of the block, as plain values for JSON."""
        return {
            "size": self.block.size,
            "fields": {
                name: {"offset": field.offset, "shape": list(field.shape), "type": field.dtype.name}
                for name, field in self.block.fields.items()
            },
            "constants": {
                name: base64.b64encode(self.constants[name].tobytes()).decode() for name in CONSTANTS
            },
        }


def search_entries(game: Game, memory: SearchMemory) -> list[Entry]:
    """List the functions of a search.

    Args:
        game: whose positions are searched.
        memory: the layout of the search's block.
    Raises:
        GameError: the game has chance.
    """
    if game.has_chance:
        raise GameError(
            f"{game.source}: the search of a game with chance isn't exported; "
            "next: export its rules and playouts, with search=None"
        )
    rules = AddressedRules(game)
    step, look = rules.step, _looker(rules, game.words)
    forest_at, rows_at, plain_rows_at = memory.forest_at, memory.rows_at, memory.plain_rows_at
    selection_at, plain_selection_at = memory.selection_at, memory.plain_selection_at
    plant, select, settle, read = _KERNELS
    desk_at, answer_at, state_at = memory.desk_at, memory.answer_at, array_reader(types.uint64, ())
    words, num_leaves = game.words, memory.block.fields["desk.asks"].shape[0]

    @numba.njit(error_model="numpy")
    def take_answers(rows, desk):  # type: ignore[no-untyped-def]
        """Bring the logits of the rows that asked into the order of the legal actions."""
        for row in range(desk.asks.shape[0]):
            if desk.asks[row] == 1:
                for k in range(rows.count[row]):
                    rows.prior_logits[row, k] = desk.logits[row, rows.actions[row, k]]

    def search_begin(block, state):  # type: ignore[no-untyped-def]
        desk = desk_at(np.intp(block))
        root = state_at(np.intp(state), words)
        for word in range(words):
            desk.states[0, word] = root[word]
        chosen = selection_at(np.intp(block))
        for row in range(num_leaves):
            desk.asks[row] = 0
            chosen.node[row] = -1
        return look(desk, rows_at(np.intp(block)), 0, 0)

    def search_plant(block, has_noise):  # type: ignore[no-untyped-def]
        take_answers(rows_at(np.intp(block)), desk_at(np.intp(block)))
        status = plant(*forest_at(np.intp(block)), *plain_rows_at(np.intp(block)), has_noise == 1)
        return -status if status else 1

    def search_select(block):  # type: ignore[no-untyped-def]
        rows = rows_at(np.intp(block))
        chosen, desk = selection_at(np.intp(block)), desk_at(np.intp(block))
        select(*forest_at(np.intp(block)), num_leaves, *plain_selection_at(np.intp(block)), desk.held)
        base = np.intp(desk.states.ctypes.data)
        asking = 0
        for row in range(num_leaves):
            desk.asks[row] = 0
            node = np.intp(chosen.node[row])
            if node >= 0:
                for word in range(words):
                    desk.states[node, word] = desk.states[chosen.parent[row], word]
                step(base + node * words * 8, np.int64(chosen.action[row]))
                asking += look(desk, rows, row, node)
        return asking

    def search_expand(block):  # type: ignore[no-untyped-def]
        desk = desk_at(np.intp(block))
        take_answers(rows_at(np.intp(block)), desk)
        chosen = selection_at(np.intp(block))
        rows = plain_rows_at(np.intp(block))
        left = settle(*forest_at(np.intp(block)), num_leaves, chosen.node, desk.held, *rows)
        return left

    def search_read(block):  # type: ignore[no-untyped-def]
        read(*forest_at(np.intp(block)), *answer_at(np.intp(block)))

    u32, i32 = types.uint32, types.int32
    return [
        Entry("search_begin", search_begin, i32(u32, u32), rules.parts),
        Entry("search_plant", search_plant, i32(u32, i32)),
        Entry("search_select", search_select, i32(u32)),
        Entry("search_expand", search_expand, i32(u32)),
        Entry("search_read", search_read, types.void(u32)),
        _rollouts(rules, game, memory),
    ]


def _looker(rules: AddressedRules, words: int) -> Any:
    """Make the function that asks the rules about a position and says whether it wants an evaluation."""
    legal_actions, is_terminal, returns = rules.legal_actions, rules.is_terminal, rules.returns
    observe, to_play = rules.observe, rules.to_play

    @numba.njit(error_model="numpy")
    def look(desk, rows, row, node):  # type: ignore[no-untyped-def]
        address = np.intp(desk.states.ctypes.data) + np.intp(node) * words * 8
        for player in range(rows.value.shape[1]):
            rows.reward[row, player] = 0.0
            rows.value[row, player] = 0.0
        rows.to_play[row] = to_play(address)
        if is_terminal(address):
            returns(address, rows.reward[row])
            rows.discount[row] = 0.0
            rows.count[row] = 0
            desk.asks[row] = 0
        else:
            rows.discount[row] = 1.0
            rows.count[row] = legal_actions(address, rows.actions[row])
            desk.planes[row, :, :, :] = 0.0
            observe(address, desk.planes[row])
            desk.asks[row] = 1
        return desk.asks[row]

    return look


def _rollouts(rules: AddressedRules, game: Game, memory: SearchMemory) -> Entry:
    """Make search_rollouts(search, counter uint64[1]): equal logits, a random playout's returns as value."""
    words, last = game.words, memory.block.fields["desk.states"].shape[0] - 1
    step, legal_actions, is_terminal, returns = (
        rules.step,
        rules.legal_actions,
        rules.is_terminal,
        rules.returns,
    )
    rows_at, desk_at, selection_at = memory.rows_at, memory.desk_at, memory.selection_at
    numbers_at, probs_at = array_reader(types.uint64, ()), array_reader(types.float32, ())

    def search_rollouts(block, counter):  # type: ignore[no-untyped-def]
        rows, desk, chosen = rows_at(np.intp(block)), desk_at(np.intp(block)), selection_at(np.intp(block))
        scratch = np.intp(desk.states.ctypes.data) + last * words * 8
        for row in range(desk.asks.shape[0]):
            if desk.asks[row] == 1:
                node = max(chosen.node[row], 0)
                for word in range(words):
                    desk.states[last, word] = desk.states[node, word]
                random = numbers_at(np.intp(counter), 1)
                playout(
                    step,
                    legal_actions,
                    is_terminal,
                    None,
                    scratch,
                    random,
                    desk.scratch,
                    probs_at(scratch, 0),
                )
                returns(scratch, rows.value[row])
                for action in range(desk.logits.shape[1]):
                    desk.logits[row, action] = 0.0

    return Entry("search_rollouts", search_rollouts, types.void(types.uint32, types.uint32))
