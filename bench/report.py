"""Join what the benches wrote into bench/results.md and bench/results.json.

    bench/.venv/bin/python -m bench.report bench/parts/*.json

The figures of a missing part are "not measured" in the table and null in the JSON, so each bench can run alone.
"""

from __future__ import annotations

import argparse
import datetime
import json
from pathlib import Path
from typing import Any

import model  # noqa: F401 - before torch: it sets how idle threads wait
from bench.clock import machine

HERE = Path(__file__).parent
LENGTHS = ("16", "64", "256", "1024")
TRACE_KEYS = ("vs_floor", "vs_transformers", "vs_transformer_lens", "held_mb", "peak_mb")
BROWSER_KEYS = (
    "key_to_strip_p95_ms",
    "key_to_charts_p95_ms_32",
    "key_to_charts_p95_ms_1024",
    "overview_p95_ms",
    "first_page_s",
    "new_tab_s",
)

Target = tuple[str, float | None, float]  # what, measured, at most


def joined(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """One object with the keys `trace`, `llama`, `append`, `derive`, `load`, `browser`, whatever parts there are."""
    found: dict[str, Any] = {}
    for part in parts:
        found |= {"browser": part} if "key_to_strip_p95_ms" in part else part
    trace, browser = found.get("trace", {}), found.get("browser", {})
    found["trace"] = {n: dict.fromkeys(TRACE_KEYS) | trace.get(n, {}) for n in (*LENGTHS, *trace)}
    found["browser"] = dict.fromkeys(BROWSER_KEYS) | browser
    return {name: found.get(name, {}) for name in ("trace", "llama", "append", "derive", "load", "browser")} | found


def figures(found: dict[str, Any]) -> dict[str, Any]:
    """What results.json holds: the six parts, each figure by its key, without what only the tables show."""
    browser, trace = found["browser"], found["trace"]
    return {
        "trace": {n: {key: trace[n][key] for key in TRACE_KEYS} for n in trace},
        "llama": found["llama"],
        "append": found["append"],
        "derive": found["derive"],
        "load": found["load"],
        "browser": {key: browser[key] for key in BROWSER_KEYS},
    }


def targets(found: dict[str, Any]) -> list[Target]:
    """Every figure that has a target."""
    trace, browser, derived = found["trace"], found["browser"], found["derive"].get("1024", {})
    rows: list[Target] = [
        (f"Trace of {n} tokens, time against a bare forward", trace[n]["vs_floor"], most)
        for n, most in zip(LENGTHS, (0.60, 0.70, 0.90, 0.95), strict=True)
    ]
    rows += [
        (f"Trace of {n} tokens, time against TransformerLens", trace[n]["vs_transformer_lens"], 0.5) for n in LENGTHS
    ]
    for n, one in found["llama"].items():
        rows += [
            (f"SmolLM2's shape, trace of {n} tokens, time against {name}", one[key], 1.0)
            for name, key in (("transformers", "vs_transformers"), ("TransformerLens", "vs_transformer_lens"))
        ]
    rows += [("Trace of 1024 tokens, MB held", trace["1024"]["held_mb"], 250)]
    rows += [("Largest difference to transformers' numbers", found.get("largest_difference"), 1e-5)]
    rows += [
        (f"One token after {n}, time against transformers' cache", step["vs_transformers"], 0.60)
        for n, step in found["append"].items()
    ]
    if steps := [step["ms"]["own"] for step in found["append"].values()]:
        rows += [("The slowest of these steps against the fastest", max(steps) / min(steps), 1.25)]
    rows += [
        ("One head's pattern at 1024 tokens, ms", derived.get("pattern_ms"), 5),
        ("One row of all heads at 1024 tokens, ms", derived.get("rows_ms"), 15),
        ("Thumbnails of all heads at 1024 tokens, ms", derived.get("thumbnails_ms"), 50),
        ("124M parameters read, s", found["load"].get("read_s"), 0.5),
        ("124M parameters packed, s", found["load"].get("packed_s"), 2),
        ("A pass beside a busy core against an idle one", found["load"].get("under_load", {}).get("busy_vs_idle"), 3),
        ("Key press to token strip, p95 ms", browser["key_to_strip_p95_ms"], 50),
        ("Key press or head change to last chart at 32 tokens, p95 ms", browser["key_to_charts_p95_ms_32"], 400),
        ("Key press or head change to last chart at 1024 tokens, p95 ms", browser["key_to_charts_p95_ms_1024"], 1500),
        ("Page of all heads opened, until its grid of 144 heads is painted, p95 ms", browser["overview_p95_ms"], 600),
        ("Most bytes for one interaction at 1024 tokens", browser.get("most_bytes_1024"), 1_500_000),
    ]
    return rows


def markdown(found: dict[str, Any], where: str, day: str) -> str:
    """The report: a section for each part that was measured."""
    traces = {n: one for n, one in found["trace"].items() if "ms" in one}
    sections = [_targets(found, where, day)]
    sections += [_traces(traces)] if traces else []
    sections += [_typing_on(found["append"])] if found["append"] else []
    sections += [_derived(found["derive"])] if found["derive"] else []
    sections += [_loading(found["load"])] if found["load"] else []
    browser = found["browser"]
    sections += [_pages(browser[f"pages_{n}"], n) for n in (32, 1024) if f"pages_{n}" in browser]
    if whole := browser.get("overview_page_p95_ms"):
        sections += [
            f"The page of all heads, opened again and again, has painted its tables, too, after {whole} ms (p95)."
        ]
    notes = HERE / "notes.md"
    sections += [notes.read_text().rstrip("\n")] if notes.exists() else []
    return "\n\n".join(sections) + "\n"


def _targets(found: dict[str, Any], where: str, day: str) -> str:
    rows = []
    for what, value, most in targets(found):
        met = "not measured" if value is None else "met" if value <= most else "**missed**"
        rows.append([what, _shown(value), _shown(most), met])
    return f"""\
# What was measured

Written by `make bench` on {day}; {where}. Random weights of GPT-2 small's shape (124M parameters), the same
in all. Each figure is the median of at least seven runs, taken in turn with those it is compared with. A
ratio is the own time divided by the other's: less than 1 is faster.

## Targets

{_rows("| Figure | Measured | At most | |", "|---|---:|---:|---|", rows)}"""


def _traces(traces: dict[str, Any]) -> str:
    sizes = {
        n: {name: f"{m['held_mb']:.0f} / {m['peak_mb']:.0f}" for name, m in one["memory"].items()}
        for n, one in traces.items()
    }
    return f"""\
## A trace, milliseconds

{_table(_milliseconds(traces), "ms, by tokens")}

The first, and every contestant without “all logits”, computes the last position's logits only. The bare
forward is the own network in plain PyTorch with the fused attention kernel; it keeps nothing.
`transformers` is eager, with attentions and hidden states kept and q, k, v taken by hooks;
TransformerLens is `run_with_cache`. With all logits on both sides, own against TransformerLens: \
{_ratios(traces, "all_logits_vs_transformer_lens")}; against the bare forward: {_ratios(traces, "all_logits_vs_floor")}.

## A trace, megabytes held / added at the peak

{_table(sizes, "MB, by tokens")}"""


def _typing_on(append: dict[str, Any]) -> str:
    return f"""\
## Typing on, milliseconds

{_table(_milliseconds(append), "after tokens")}

`transformers` takes one step with its own cache, with the logits that it always computes. A trace
computes logits when a page asks for them; with them the step takes \
{_ratios(append, "with_logits_vs_transformers")} of transformers' time."""


def _derived(derive: dict[str, Any]) -> str:
    return f"""\
## Derived from a trace

{_table(derive, "by tokens")}

`rows` are one query's weights in all heads; thumbnails have 32 and 64 cells a side."""


def _loading(load: dict[str, Any]) -> str:
    busy = load["under_load"]
    return f"""\
## Loading

Read in {load["read_s"]:.2f} s (every number checked), {load["read_resident_mb"]:.0f} MB in RAM,
of which the system may drop the file's part again. Packed in {load["packed_s"]:.2f} s; then
{load["packed_resident_mb"]:.0f} MB in RAM.

A trace of {busy["tokens"]} tokens beside a process that keeps one core busy takes
{busy["passive"]["busy_vs_idle"]:.1f} times as long as alone; with OpenMP's spinning threads
(`OMP_WAIT_POLICY=active`) {busy["active"]["busy_vs_idle"]:.1f} times."""


def _pages(pages: dict[str, Any], n_tokens: int) -> str:
    kinds = ("open", "step", "head")
    rows = []
    for title, page in pages.items():
        found = [page.get(kind, {}) for kind in kinds]
        most = max(one.get("bytes", 0) for one in found) / 1e6
        rows.append([title, page.get("strip_p95_ms", ""), *(one.get("p95_ms", "") for one in found), f"{most:.2f}"])
    corner = "| Page | strip p95 ms | open p95 ms | step p95 ms | head p95 ms | most MB sent |"
    return f"## In the browser, {n_tokens} tokens\n\n" + _rows(corner, "|---|---:|---:|---:|---:|---:|", rows)


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _milliseconds(by_length: dict[str, Any]) -> dict[str, Any]:
    return {n: one["ms"] for n, one in by_length.items()}


def _ratios(by_length: dict[str, Any], key: str) -> str:
    return ", ".join(f"{one[key]:.2f} ({n})" for n, one in by_length.items())


def _table(by_length: dict[str, Any], corner: str) -> str:
    """A table with a column for each length and a row for each thing measured."""
    names = next(iter(by_length.values()))
    rows = [[name, *(one.get(name, "") for one in by_length.values())] for name in names]
    return _rows(f"| {corner} | " + " | ".join(by_length) + " |", "|---|" + "---:|" * len(by_length), rows)


def _rows(head: str, rule: str, rows: list[list[Any]]) -> str:
    return "\n".join([head, rule, *("| " + " | ".join(map(str, row)) + " |" for row in rows)])


def main() -> None:
    """Join, print the targets, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", type=Path, nargs="*")
    parser.add_argument("--out", type=Path, default=HERE)
    options = parser.parse_args()
    found = joined([json.loads(path.read_text()) for path in options.parts])
    where, day = machine(), datetime.date.today().isoformat()
    (options.out / "results.json").write_text(json.dumps(figures(found), indent=1) + "\n")
    (options.out / "results.md").write_text(markdown(found, where, day))
    for what, value, most in targets(found):
        if value is not None:
            print(f"{'met   ' if value <= most else 'MISSED'}  {what}: {_shown(value)} (at most {_shown(most)})")


if __name__ == "__main__":
    main()
