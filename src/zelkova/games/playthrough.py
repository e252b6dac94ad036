"""Writes a random game out as text: every move, some positions, the planes' sums and the returns.

A change of the rules shows as a diff of the files that come from here:

    python -m zelkova.games.playthrough connect_four > tests/golden/playthroughs/connect_four.txt
"""

import sys

import numpy as np

from zelkova.errors import ZelkovaError
from zelkova.games.game import Game
from zelkova.games.playout import draw_outcome, random_below
from zelkova.games.registry import load

_MOVES_SHOWN = 12  # legal moves written at a position


def playthrough(game: Game, seed: int = 1) -> str:
    """Play random moves to the end and write the game; outcomes of chance are drawn by their probabilities.

    Args:
        game: whose rules are shown.
        seed: of init and of the moves.
    """
    position = game.position(seed)
    counter = np.array([seed], np.uint64)
    shown = (
        ", ".join(f"{key}={value}" for key, value in vars(game.options).items()) if game.options else "none"
    )
    lines = [
        f"# python -m zelkova.games.playthrough {game.source}",
        f"game {game.name}, options {shown}",
        f"players {game.num_players}, actions {game.num_actions}, at most {game.max_legal_actions} legal",
        f"planes {' x '.join(map(str, game.observation_shape))}, view {game.view}, "
        f"symmetries {len(game.symmetries)}, draws {'yes' if game.has_draws else 'no'}",
    ]
    if game.has_chance:
        lines.append(f"outcomes {game.num_outcomes}")
    ply = 0
    while True:
        legal, probs = position.outcomes() if position.is_chance else (position.legal_actions(), None)
        if ply < 3 or ply % 20 == 0 or len(legal) == 0:
            sums = " ".join(f"{value:g}" for value in position.observe().sum(axis=(1, 2)))
            lines += ["", *(line.rstrip() for line in str(position).splitlines()), f"plane sums {sums}", ""]
        if len(legal) == 0:
            break
        texts = [position.action_to_text(int(action)) for action in legal]
        more = f" and {len(texts) - _MOVES_SHOWN} more" if len(texts) > _MOVES_SHOWN else ""
        drawn = (
            random_below(counter, len(legal)) if probs is None else draw_outcome(counter, probs, len(probs))
        )
        action, who = int(legal[drawn]), f"player {position.to_play} plays"
        kind = "action"
        if probs is not None:
            who, kind = "chance gives", f"probability {probs[drawn]:.4g}, outcome"
        moves = " ".join(texts[:_MOVES_SHOWN]) + more
        lines.append(f"{ply} {who} {texts[drawn]} ({kind} {action}) of {moves}")
        position.play(action)
        ply += 1
    lines.append("returns " + " ".join(f"{value:g}" for value in position.returns))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    try:
        sys.stdout.write(playthrough(load(sys.argv[1] if len(sys.argv) > 1 else "tic_tac_toe")))
    except ZelkovaError as error:
        sys.exit(str(error))
