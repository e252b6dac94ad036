"""Words and tables of what is shown: names without harm, values with a sign, aligned columns, HTML tables."""

from collections.abc import Callable, Iterable, Sequence
from html import escape

Names = Callable[[int], str]  # what an action is called

LONGEST_NAME = 24


def name_of(names: Names, action: int) -> str:
    """Call an action by its name: short, and without signs that a terminal or a document would act on."""
    text = "".join(sign if sign.isprintable() else "?" for sign in str(names(action))[: LONGEST_NAME + 1])
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def show_values(values: Iterable[float]) -> str:
    """Write each player's value: +0.25 -0.25."""
    return " ".join(f"{value:+.2f}" for value in values)


def show_table(rows: Sequence[Sequence[str]]) -> str:
    """Align columns: the first and the last to the left, others to the right; the first row is the head."""
    wide = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for row in rows:
        middle = [f"{row[k]:>{wide[k]}}" for k in range(1, len(wide) - 1)]
        lines.append("  ".join([f"{row[0]:<{wide[0]}}", *middle, row[-1]]).rstrip())
    return "\n".join(lines)


def html_table(rows: Sequence[Sequence[str]]) -> str:
    """Write a table as HTML; the first row is the head."""
    head, *body = ["".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row) for tag, row in _tagged(rows)]
    lines = "".join(f"<tr>{line}</tr>" for line in body)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>"


def _tagged(rows: Sequence[Sequence[str]]) -> list[tuple[str, Sequence[str]]]:
    return [("td" if k else "th", row) for k, row in enumerate(rows)]
