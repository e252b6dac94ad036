"""OpenSpiel: random playouts through Python, and its C++ UCT with one random rollout a simulation."""

import random
from importlib.metadata import version

import dialogue
import pyspiel

GAMES = {  # by Zelkova's name; of the same sizes and rules
    "tic_tac_toe": "tic_tac_toe",
    "connect_four": "connect_four",
    "othello": "othello",
    "hex": "hex(board_size=11)",
    "breakthrough": "breakthrough",
}


def prepare_playouts(params: dialogue.Params) -> dialogue.Job | None:
    """Count moves of uniformly random games."""
    name = GAMES.get(params["game"])
    if name is None:
        return None
    game = pyspiel.load_game(name)

    def work() -> int:
        moves, draw = 0, random.random
        for _ in range(20):
            state = game.new_initial_state()
            while not state.is_terminal():
                legal = state.legal_actions()
                state.apply_action(legal[int(draw() * len(legal))])
                moves += 1
        return moves

    return dialogue.Job(work, "one state at a time through Python")


def prepare_uct(params: dialogue.Params) -> dialogue.Job | None:
    """Count simulations of its MCTSBot from the start of a game."""
    name = GAMES.get(params["game"])
    if name is None:
        return None
    game = pyspiel.load_game(name)
    count = int(params["simulations"])
    state = game.new_initial_state()
    bot = pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(1, 7), 1.0, count, 1000, False, 7, False)

    def work() -> int:
        bot.mcts_search(state)
        return count

    return dialogue.Job(work, "MCTSBot in C++, RandomRolloutEvaluator(1), uct_c 1, solve off")


if __name__ == "__main__":
    dialogue.keep_to_one_core()
    dialogue.main(
        dialogue.Peer(
            "OpenSpiel",
            version("open_spiel"),
            {"rules/moves_per_s": prepare_playouts, "uct/simulations_per_s": prepare_uct},
            [("rules/moves_per_s", {"game": game}) for game in GAMES]
            + [("uct/simulations_per_s", {"game": "connect_four", "simulations": 1000})],
        )
    )
