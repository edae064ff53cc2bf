"""The report joins whatever was measured, under the keys that others read."""

from __future__ import annotations

import json

import pytest

from bench import report

TRACE = dict.fromkeys(report.TRACE_KEYS, 0.5) | {
    "all_logits_vs_floor": 0.6,
    "all_logits_vs_transformer_lens": 0.3,
    "ms": {"own trace": 1.0},
    "memory": {"own trace": {"held_mb": 1, "peak_mb": 2}},
}
STEP = {"vs_transformers": 0.5, "with_logits_vs_transformers": 0.7, "edit_vs_anew": 0.5, "ms": {"own": 20.0}}
PARTS = [
    {"trace": dict.fromkeys(report.LENGTHS, TRACE), "largest_difference": 2e-6},
    {"append": {"16": STEP, "1023": {**STEP, "ms": {"own": 30.0}}}, "derive": {"1024": {"pattern_ms": 4.0}}},
    {
        "load": {
            "read_s": 0.1,
            "packed_s": 1.5,
            "read_resident_mb": 500,
            "packed_resident_mb": 990,
            "under_load": {
                "busy_vs_idle": 2.0,
                "tokens": 64,
                "passive": {"busy_vs_idle": 2.0},
                "active": {"busy_vs_idle": 9.0},
            },
        }
    },
    {
        **dict.fromkeys(report.BROWSER_KEYS, 10),
        "most_bytes_1024": 2_000_000,
        "pages_32": {"Attention": {"strip_p95_ms": 9, "step": {"p95_ms": 200, "bytes": 4_000}}},
    },
]


def test_the_keys_are_the_same_whatever_was_measured():
    for parts in ([], PARTS[:1], PARTS):
        figures = report.figures(report.joined(parts))
        assert list(figures) == ["trace", "llama", "append", "derive", "load", "browser"]
        assert list(figures["trace"]) == list(report.LENGTHS)
        assert all(tuple(one) == report.TRACE_KEYS for one in figures["trace"].values())
        assert tuple(figures["browser"]) == report.BROWSER_KEYS
        json.dumps(figures)


def test_what_is_met_missed_and_not_measured_is_said():
    text = report.markdown(report.joined(PARTS), "a machine", "today")
    assert "| Trace of 16 tokens, time against a bare forward | 0.5 | 0.6 | met |" in text
    assert "| The slowest of these steps against the fastest | 1.5 | 1.25 | **missed** |" in text
    assert "| Most bytes for one interaction at 1024 tokens | 2,000,000 | 1,500,000 | **missed** |" in text
    assert "| One row of all heads at 1024 tokens, ms |  | 15 | not measured |" in text
    assert "| Attention | 9 |  | 200 |  | 0.00 |" in text


@pytest.mark.parametrize("parts", [[], *([part] for part in PARTS), PARTS])
def test_any_parts_make_a_report(parts):
    text = report.markdown(report.joined(parts), "a machine", "today")
    assert text.startswith("# What was measured")
    assert "None" not in text
