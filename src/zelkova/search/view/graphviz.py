"""Writes a tree in Graphviz's DOT language, for whoever has the program."""

from zelkova.search.view.branches import Branch
from zelkova.search.view.text import Names, name_of, show_values


def write_graphviz(root: Branch, names: Names) -> str:
    """Write a tree as a directed graph.

    Args:
        root: the tree.
        names: gives an action's text.
    """
    lines = ["digraph search {", "  rankdir=LR;", '  node [shape=box, style=rounded, fontname="sans-serif"];']
    waiting = [(root, -1)]
    count = 0
    while waiting:
        branch, parent = waiting.pop()
        label = quoted(f"{branch.visits:,}", show_values(branch.value))
        lines.append(f"  n{count} [label={label}];")
        if parent >= 0:
            edge = quoted(name_of(names, branch.action), f"{branch.prior:.3f}")
            lines.append(f"  n{parent} -> n{count} [label={edge}];")
        waiting += [(child, count) for child in reversed(branch.children)]
        count += 1
    return "\n".join([*lines, "}"]) + "\n"


def quoted(*lines: str) -> str:
    r"""Quote lines of text as one DOT string: backslashes and quotes escaped, `\n` between the lines."""
    escaped = [line.replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + "\\n".join(escaped) + '"'
