"""Draw a board beside the search tree of a run's agent, as in the README.

python examples/draw_search.py RUN picture.svg 4 4 3     # the moves that lead to the position
"""

import sys
from pathlib import Path

from zelkova.agents.load import load_agent
from zelkova.games import Position
from zelkova.reports.picture import Node, draw_tree_picture
from zelkova.search.view import Branch, read_branches

WIDTHS = (4, 2, 2)


def to_node(branch: Branch, position: Position, move: str = "") -> Node:
    """Give a branch as a node of the picture: moves as text, values as the first player's share."""
    children = []
    for child in branch.children:
        text = position.action_to_text(child.action)
        children.append(to_node(child, position.copy().play(child.action), text))
    low, high = position.game.return_range
    return Node(move, branch.visits, (float(branch.value[0]) - low) / (high - low), tuple(children))


def draw_search(run: str, moves: list[str], num_simulations: int = 256) -> str:
    """Search a position with a run's agent and draw what it looked at.

    Args:
        run: the run's folder.
        moves: that lead to the position.
        num_simulations: of the search.
    """
    agent = load_agent(run, num_simulations=num_simulations)
    position = agent.game.position()
    for move in moves:
        position.play(move)
    agent.act(position.state)
    tree = to_node(read_branches(agent.search, WIDTHS), position)
    title = f"A position of {agent.game.name} and the search tree of its agent, {num_simulations} simulations"
    return draw_tree_picture(position._repr_svg_() or "", tree, title, widths=WIDTHS)


if __name__ == "__main__":
    run, path, *moves = sys.argv[1:]
    Path(path).write_text(draw_search(run, moves), encoding="utf-8")
