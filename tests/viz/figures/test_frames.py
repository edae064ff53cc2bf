"""The frame primitive: where its line runs, and that every chart that frames something does it with this one."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import plotly.graph_objects as go

from viz.figures.frames import frame, many_frames, veil

VIZ = Path(__file__).resolve().parents[3] / "viz"


def test_a_sharp_frame_is_its_box():
    shape = go.layout.Shape(frame((1, 4), (2, 3), line="#123456", width=2, fill="#ffffff"))
    assert (shape.type, shape.layer) == ("rect", "below")
    assert (shape.x0, shape.x1, shape.y0, shape.y1) == (1, 4, 2, 3)
    assert (shape.line.color, shape.line.width, shape.fillcolor) == ("#123456", 2, "#ffffff")


def test_round_corners_stay_in_the_box_and_reach_its_sides():
    shape = go.layout.Shape(frame((0, 10), (20, 60), line="#123456", corner=(1, 4)))
    points = np.array([pair.split(",") for pair in re.findall(r"[\d.]+,[\d.]+", shape.path)], float)
    assert (points.min(0).tolist(), points.max(0).tolist()) == ([0, 20], [10, 60])
    # Along each side the line runs from where one corner ends to where the next one starts.
    for side in ([1, 20], [9, 20], [10, 24], [10, 56], [9, 60], [1, 60], [0, 56], [0, 24]):
        assert side in points.tolist()


def test_a_veil_is_paper_above_without_a_line():
    shape = go.layout.Shape(veil((0, 1), (0, 2), paper="#eeeeee", opacity=0.4))
    assert (shape.layer, shape.line.width, shape.fillcolor, shape.opacity) == ("above", 0, "#eeeeee", 0.4)


def test_many_frames_are_one_broken_line():
    boxes = [((0, 1), (0, 2)), ((3, 4), (5, 6))]
    trace = many_frames(boxes, name="new", line={"width": 1})
    for i, (x, y) in enumerate(boxes):
        corners = list(zip(trace.x, trace.y, strict=True))[6 * i : 6 * i + 6]
        assert corners == [(x[0], y[0]), (x[1], y[0]), (x[1], y[1]), (x[0], y[1]), (x[0], y[0]), (None, None)]


def test_no_figure_draws_a_frame_of_its_own():
    own = re.compile(r'"?type"?\s*[:=]\s*"(?:rect|path)"')
    files = {path.name for path in VIZ.rglob("*.py") if own.search(path.read_text("utf-8"))}
    assert files == {"frames.py"}
