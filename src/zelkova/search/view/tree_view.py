"""One search tree for people: a picture, a graph for Graphviz, its best lines as a table."""

from collections.abc import Sequence

from zelkova.search.batch import BatchSearch
from zelkova.search.view.branches import Branch, read_branches
from zelkova.search.view.graphviz import write_graphviz
from zelkova.search.view.svg import draw_svg
from zelkova.search.view.text import Names, name_of, show_table, show_values


class TreeView:
    """The most visited part of a tree, as it stands when this is made. Notebooks show it as a picture.

    What the search plays (without a temperature) comes first, then the most visited. Priors are the model's
    own, without root noise.
    """

    def __init__(
        self,
        search: BatchSearch,
        tree: int = 0,
        *,
        names: Names = str,
        widths: Sequence[int] = (4, 3, 2, 2),
        lines: tuple[int, int] = (5, 8),
    ) -> None:
        """Read the tree.

        Args:
            search: with nothing waiting for an evaluation.
            tree: which of the batch.
            names: gives an action's text; anything it gives is shown safely.
            widths: children that are shown of a node, a number for each level; its length is the depth.
            lines: how many best lines are kept, and actions of a line at most.
        """
        self.root = read_branches(search, widths, tree)
        self.names = names
        self._lines = read_branches(search, [lines[0]] + [1] * (lines[1] - 1), tree)

    def svg(self) -> str:
        """Draw the tree as an `<svg>` document: visits and each player's value in boxes, priors on lines."""
        return draw_svg(self.root, self.names)

    def to_graphviz(self) -> str:
        """Write the tree in Graphviz's DOT language."""
        return write_graphviz(self.root, self.names)

    def principal_variations(self) -> str:
        """Write the best lines as a table: action, visits, prior, each player's value, what follows."""
        rows = [["action", "visits", "prior", "values", "line"]]
        for branch in self._lines.children:
            line = " ".join(name_of(self.names, action) for action in main_line(branch))
            rows.append(
                [
                    name_of(self.names, branch.action),
                    f"{branch.visits}",
                    f"{branch.prior:.3f}",
                    show_values(branch.value),
                    line,
                ]
            )
        return show_table(rows)

    def __str__(self) -> str:
        return self.principal_variations()

    def _repr_svg_(self) -> str:
        return self.svg()


def main_line(branch: Branch) -> list[int]:
    """List a branch's action and the most visited actions after it, as far as they were read."""
    line = [branch.action]
    while branch.children:
        branch = branch.children[0]
        line.append(branch.action)
    return line
