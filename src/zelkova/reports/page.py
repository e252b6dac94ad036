"""Writes a run as one HTML page that needs nothing else: no network, no script, no font.

Whatever comes from the run's folder is escaped; the board is an image of its own, in which nothing runs; and
the page forbids the browser to fetch anything.
"""

import base64
import errno
import os
import tempfile
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from zelkova.errors import ConfigError
from zelkova.games.game import Position
from zelkova.reports.charts import Chart, describe, draw_chart
from zelkova.reports.curves import choose_charts
from zelkova.reports.diagnosis import Findings, choose_diagnosis, describe_findings
from zelkova.reports.metrics import find_metric
from zelkova.reports.run import Run
from zelkova.reports.summary import show_alarms, show_size, show_strength, show_value

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

_FIRST = "<!DOCTYPE html>"  # how a page begins

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1d1f; --soft: #5b6168; --paper: #fdfdfb; --line: #d9dbd6; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e6e1; --soft: #a3a8ad; --paper: #17191b; --line: #3a3e42; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 72rem; margin: 0 auto; padding: 1.5rem; }
h1 { margin: 0; font-size: 1.6rem; } h2 { margin: 2rem 0 .6rem; font-size: 1.15rem; }
.head { display: flex; flex-wrap: wrap; gap: 2rem; align-items: flex-start; } .head > div { flex: 1 1 22rem; }
.board { width: 15rem; max-width: 100%; } figure { margin: 0; } figcaption, .soft { color: var(--soft); }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr)); gap: 1.2rem; }
.charts svg { width: 100%; height: auto; display: block; color: var(--ink);
  stroke-linejoin: round; stroke-linecap: butt; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
code { font-size: .92em; overflow-wrap: anywhere; }
.note { border-left: 3px solid #d55e00; padding-left: .8rem; }
"""


def write_page(run: Run, path: Path, findings: Findings | None = None) -> None:
    """Write a run's page.

    Args:
        run: as read.
        path: of the file.
        findings: of a learned model's diagnosis, where there was one.
    Raises:
        ConfigError, OSError: as for `write_document`.
    """
    write_document(path, make_page(run, findings))


def write_document(path: Path, text: str) -> None:
    """Write a page, whole or not at all; a device or a pipe is written as it is, never replaced.

    Args:
        path: of the file.
        text: HTML.
    Raises:
        ConfigError: a file that is no page is there.
        OSError: it can't be written; it names the path.
    """
    refuse_place(path)
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8", errors="replace")
        return
    try:
        handle, draft = tempfile.mkstemp(prefix=f".{path.name}-", suffix=".part", dir=path.parent)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(draft, 0o666 & ~mask)
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def refuse_place(path: Path) -> None:
    """Refuse to write a page where it would replace what is none, such as a run's settings.

    Args:
        path: of the file.
    Raises:
        ConfigError: a file of another kind is there.
        OSError: it is a folder, or can't be read; it names the path.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.is_file():
        with path.open("rb") as file:
            begin = file.read(len(_FIRST))
        if begin and begin.lower() != _FIRST.lower().encode():
            raise ConfigError(
                f"{path} is there and no page; allowed: a new file, or a page, which is replaced; next: name"
                " another with --out"
            )


def make_page(run: Run, findings: Findings | None = None) -> str:
    """Give the page's HTML.

    Args:
        run: as read.
        findings: as for `write_page`.
    """
    title = f"{run.game}: {run.folder.resolve().name}"
    parts = [
        _head(run, escape(title)),
        _remarks(run),
        _charts(run),
        _diagnosis(findings) if findings is not None else "",
        _table(run),
        _config(run.config),
    ]
    return make_document(title, parts)


def make_document(title: str, parts: Sequence[str]) -> str:
    """Give the HTML of a page that needs nothing else.

    Args:
        title: plain text.
        parts: HTML, whatever came from elsewhere escaped.
    """
    head = [
        _FIRST,
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
    ]
    return "\n".join([*head, *parts, "</body></html>\n"])


def _head(run: Run, title: str) -> str:
    """Give the title, the run in a few words, and the board of a game that it played."""
    strength = "".join(f"<li>{escape(line)}</li>" for line in show_strength(run))
    words = f"<h1>{title}</h1><p class='soft'>{escape(show_size(run))}</p>"
    words += f"<ul>{strength}</ul>" if strength else ""
    return f"<div class='head'><div>{words}</div>{_board(run)}</div>"


def _board(run: Run) -> str:
    """Give the last position of the sample game, with its moves below."""
    sample = run.sample
    if sample is None:
        return ""
    moves = escape(" ".join(sample.moves))
    caption = f"a game of self-play ({escape(sample.origin)}): <code>{moves}</code>"
    alt = f"The last position of a game of {run.game} after {len(sample.moves)} moves"
    return show_board(sample.position, alt, caption)


def show_board(position: Position, alt: str, caption: str) -> str:
    """Give the picture of a position as an image in which nothing runs; the caption alone where it has none.

    Args:
        position: of any game.
        alt: what the picture shows, plain text.
        caption: HTML.
    """
    svg = position._repr_svg_()
    below = f"<figcaption>{caption}</figcaption>"
    if svg is None:
        return f"<figure class='board'>{below}</figure>"
    data = base64.b64encode(svg.encode()).decode()
    words = escape(alt, quote=True)
    image = f'<img width="100%" alt="{words}" src="data:image/svg+xml;base64,{data}">'
    return f"<figure class='board'>{image}{below}</figure>"


def _remarks(run: Run) -> str:
    """Say what alarmed and what could not be read."""
    return "".join(f"<p class='note'>{escape(line)}</p>" for line in [*show_alarms(run), *run.remarks])


def _charts(run: Run) -> str:
    """Draw the curves."""
    charts = choose_charts(run)
    if not charts:
        return "<h2>Curves</h2><p>This run has no figures yet: its first round is not over.</p>"
    return "<h2>Curves</h2>" + draw_charts(charts, "c")


def draw_charts(charts: Sequence[Chart], key: str) -> str:
    """Draw charts beside each other; the key begins their ids."""
    figures = []
    for index, chart in enumerate(charts):
        words = escape(describe(chart), quote=True)
        svg = draw_chart(chart, f"{key}{index}").replace("<svg", f'<svg role="img" aria-label="{words}"', 1)
        figures.append(f"<figure>{svg}</figure>")
    return "<div class='charts'>" + "\n".join(figures) + "</div>"


def _diagnosis(findings: Findings) -> str:
    """Give what was measured of a learned model, with an episode to look at."""
    lines = "".join(f"<li>{escape(line)}</li>" for line in describe_findings(findings))
    rows = "".join(_row(name, [value]) for name, value in findings.figures.items())
    head = "<tr><th>metric</th><th>unit</th><th>found</th><th>meaning</th></tr>"
    table = f"<div class='wide'><table>{head}{rows}</table></div>"
    about = escape(findings.film_about, quote=True)
    film = f"<p class='soft'>{about}</p>" if about else ""
    if findings.film is not None:
        data = base64.b64encode(findings.film).decode()
        image = f'<img width="100%" alt="{about}" src="data:image/gif;base64,{data}">'
        film = f"<figure class='board'>{image}<figcaption>{about}</figcaption></figure>"
    words = f"<div class='head'><div><ul>{lines}</ul></div>{film}</div>"
    return f"<h2>Diagnosis</h2>{words}{draw_charts(choose_diagnosis(findings), 'd')}{table}"


def _table(run: Run) -> str:
    """Give every metric's first and last figure, and what it means."""
    if not run.rounds:
        return ""
    rows = []
    for name in run.names():
        values = [value for _, value in run.series(name)]
        rows.append(_row(name, [values[0], values[-1]]))
    head = "<tr><th>metric</th><th>unit</th><th>first</th><th>last</th><th>meaning</th></tr>"
    return f"<h2>Figures</h2><div class='wide'><table>{head}{''.join(rows)}</table></div>"


def _row(name: str, values: Sequence[float]) -> str:
    """Give a metric's row: name, unit, figures, meaning."""
    metric = find_metric(name)
    unit, meaning = (metric.unit, metric.meaning) if metric else ("", "")
    cells = "".join(f"<td class='n'>{show_value(value)}</td>" for value in values)
    return (
        f"<tr><td><code>{escape(name)}</code></td><td>{escape(unit)}</td>{cells}"
        f"<td class='soft'>{escape(meaning)}</td></tr>"
    )


def _config(config: Mapping[str, Any]) -> str:
    """Give the settings, folded away."""
    if not config:
        return ""
    rows = "".join(
        f"<tr><td><code>{escape(key)}</code></td><td><code>{escape(value)}</code></td></tr>"
        for key, value in flatten(config)
    )
    return (
        "<h2>Settings</h2><details><summary>as resolved (config.toml)</summary>"
        f"<div class='wide'><table>{rows}</table></div></details>"
    )


def flatten(table: Mapping[str, Any], section: str = "") -> list[tuple[str, str]]:
    """List nested settings as section.key and value, plain keys first."""
    plain = [(section + key, str(value)) for key, value in table.items() if not isinstance(value, Mapping)]
    for key, value in table.items():
        if isinstance(value, Mapping):
            plain += flatten(value, f"{section}{key}.")
    return plain
