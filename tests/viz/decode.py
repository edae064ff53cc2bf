"""Reading what the app drew: plotly's specifications and the components' data."""

from __future__ import annotations

import base64
import json
from typing import Any, NamedTuple

import numpy as np
from streamlit.testing.v1 import AppTest

_TYPES = {"f4": np.float32, "f8": np.float64, "i1": np.int8, "i2": np.int16, "i4": np.int32, "u1": np.uint8}


def charts(app: AppTest) -> dict[str, dict[str, Any]]:
    """The specifications of the charts on the page, by their keys."""
    plots = [element.proto for element in app.get("bidi_component") if element.proto.component_name == "headlight_plot"]
    told = {proto.id.rsplit("-", 1)[-1]: json.loads(proto.bytes) for proto in plots}
    return {key: message["figure"] for key, message in told.items() if "figure" in message}


def array(encoded: Any) -> np.ndarray:
    """An array of a specification: a list, or plotly's base64 form."""
    if not isinstance(encoded, dict):
        return np.asarray(encoded)
    values = np.frombuffer(base64.b64decode(encoded["bdata"]), _TYPES[encoded["dtype"]])
    shape = encoded.get("shape")
    return values.reshape([int(n) for n in shape.split(",")]) if shape else values


class Tile(NamedTuple):
    """Where a panel's cells lie: the first column and row, and how many there are."""

    x0: int
    y0: int
    n_columns: int
    n_rows: int

    def of(self, cells: Any) -> np.ndarray:
        """The panel's part of what all cells have."""
        return np.asarray(cells)[self.y0 : self.y0 + self.n_rows, self.x0 : self.x0 + self.n_columns]


def tile(spec: dict[str, Any], panel: int) -> Tile:
    """A panel's place: the first shapes of a figure of tiles are the frames around them."""
    frame = spec["layout"]["shapes"][panel]
    x0, y0 = (round(frame[start] + 0.5) for start in ("x0", "y0"))
    return Tile(x0, y0, round(frame["x1"] + 0.5) - x0, round(frame["y1"] + 0.5) - y0)


def panel_values(spec: dict[str, Any], panel: int) -> np.ndarray:
    """The values of a tiled figure's panel as its hovers tell them, row by row; masked cells are NaN."""
    place = tile(spec, panel)
    values = np.full((place.n_rows, place.n_columns), np.nan)
    for trace in spec["data"]:
        meta = trace.get("meta") or {}
        if meta.get("panel") == panel and not meta["masked"]:
            rows, columns = array(trace["y"]) - place.y0, array(trace["x"]) - place.x0
            data = array(trace["customdata"])
            values[rows, columns] = data if data.ndim == 1 else data[:, 0]
    return values


def panel_range(spec: dict[str, Any], panel: int) -> tuple[float, float]:
    """The values at the two ends of a panel's colours: those of its cells, and how far up their scale they lie."""
    values = panel_values(spec, panel)
    heights = tile(spec, panel).of(array(spec["data"][0]["z"]))[np.isfinite(values)]
    values = values[np.isfinite(values)]
    slope, low = np.polyfit(heights - 2 * np.floor(heights.min() / 2), values, 1)
    return float(low), float(low + slope)


def component(app: AppTest, name: str) -> Any:
    """What Python sent to the component called `name`."""
    found = [element.proto for element in app.get("bidi_component") if element.proto.component_name == name]
    assert len(found) == 1, f"{len(found)} components called {name}"
    return found[0]


def strip_data(app: AppTest) -> dict[str, Any]:
    """The token strip's data without its weights."""
    return json.loads(component(app, "headlight_token_strip").mixed.json)


def as_read(markdown: str) -> str:
    """Escaped text in Markdown as it is read on screen."""
    return markdown.replace(":color[]", "").replace("\\", "")
