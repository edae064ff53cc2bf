"""A figure to take away: its numbers as CSV, itself as an HTML file that needs no network, and the files' names."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from plotly.offline import get_plotlyjs

from viz.figures.chart import Chart
from viz.figures.data import Table
from viz.figures.look import CONFIG
from viz.text.html import as_html

_FORMULA = tuple("=+-@\t\r＝＋－＠")
"""A text that begins with one of these is a formula to a spreadsheet, whatever the file says."""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; \
style-src 'unsafe-inline'; img-src data: blob:">
<title>{title}</title>
<style>
body {{ margin: 1.5rem auto; padding: 0 1rem; max-width: {width}px; background: {paper}; color: {ink}; \
font: 16px/1.45 {font}; }}
h1 {{ font-size: 1.1rem; margin: 0 0 0.2rem; }}
p {{ margin: 0 0 1rem; opacity: 0.8; overflow-wrap: anywhere; }}
.wide {{ overflow-x: auto; }}
.wide > div {{ min-width: {min_width}px; }}
</style>
<script>{script}</script>
</head>
<body>
<h1>{title}</h1>
<p>{note}</p>
<div class="wide" role="figure" aria-label="{title}">{chart}</div>
</body>
</html>
"""


def to_csv(make: Callable[[], Table]) -> bytes:
    """The table that `make` makes as CSV (UTF-8, with the mark that makes spreadsheets read it as such).

    A typed text that a spreadsheet would run as a formula gets an apostrophe in front; numbers stay numbers.
    """
    table = make()
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([_cell(title) for title in table.columns])
    writer.writerows(map(_cell, row) for row in table.rows)
    return text.getvalue().encode("utf-8-sig", errors="replace")


def to_html(chart: Chart, *, title: str, note: str, name: str) -> bytes:
    """The figure on a page of its own, plotly.js inside it: it can be moved, read and zoomed without any network.

    `title` and `note` are plain text; `name` is what its own image exports are called.
    """
    layout = chart.figure.layout
    drawn = chart.figure.to_html(
        config=chart_config(name), full_html=False, include_plotlyjs=False, default_width="100%", div_id="chart"
    )
    page = _PAGE.format(
        title=as_html(title),
        note=as_html(note),
        width=1240,
        min_width=chart.min_width,
        paper=layout.paper_bgcolor,
        ink=layout.font.color,
        font=as_html(layout.font.family),
        script=get_plotlyjs(),
        chart=drawn,
    )
    return page.encode("utf-8", errors="replace")


def chart_config(name: str) -> dict[str, Any]:
    """What to show a figure with so that the images it saves are called `name`."""
    return CONFIG | {"toImageButtonOptions": CONFIG["toImageButtonOptions"] | {"filename": name}}


def file_name(key: str, heads: Sequence[str]) -> str:
    """What a chart's files are called, without the ending: `headlight-L3H7-weights`."""
    return re.sub(r"[^A-Za-z0-9.-]+", "-", "-".join(["headlight", *heads, key])).strip("-.")


def _cell(value: Any) -> Any:
    """A cell as CSV has it: numbers by their own digits, texts so that they stay texts."""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return str(value) if isinstance(value, np.generic) else value
