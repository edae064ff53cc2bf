"""Reading what the app drew: plotly's specifications and the components' data."""

from __future__ import annotations

import base64
import json
from typing import Any

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


def panel_values(spec: dict[str, Any], panel: int) -> np.ndarray:
    """The values of a tiled figure's panel as its hovers tell them, row by row; masked cells are NaN."""
    tile = spec["layout"]["meta"]["tiles"][panel]
    values = np.full((tile["rows"], tile["columns"]), np.nan)
    for trace in spec["data"]:
        meta = trace.get("meta") or {}
        if meta.get("panel") == panel and not meta["masked"]:
            rows, columns = array(trace["y"]) - tile["y0"], array(trace["x"]) - tile["x0"]
            values[rows, columns] = array(trace["customdata"])
    return values


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
