"""What a run tells while it goes on: a row of `log.csv` every few steps, and a line on the terminal."""

from __future__ import annotations

import csv
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from model.training.optimizer import rate_factor
from model.training.run import Run

LOG_FIELDS = ("step", "tokens", "stage", "loss", "loss_by_source", "rate", "induction", "previous_token",
              "tokens_per_second", "seconds")  # fmt: skip


class Log:
    """A row of `log.csv` every few steps, and a line on the terminal."""

    def __init__(self, run: Run) -> None:
        self.run, self.path = run, run.settings.run / "log.csv"
        self._losses: list[float] = []
        self._by_source: dict[str, list[float]] = defaultdict(list)
        self._mark = (run.progress.tokens, time.monotonic())
        self.speed = float("nan")
        self._cut()

    def _cut(self) -> None:
        """Drop the rows after the checkpoint: a killed run wrote them, and they will be written again."""
        rows: list[dict[str, Any]] = []
        if self.path.exists():
            with self.path.open(newline="") as file:
                rows = [row for row in csv.DictReader(file) if int(row["step"]) <= self.run.progress.step]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("w", newline="") as file:
            writer = csv.DictWriter(file, LOG_FIELDS)
            writer.writeheader()
            writer.writerows(rows)

    def add(self, loss: float, by_source: Mapping[str, float]) -> None:
        """Take one step's loss."""
        self._losses.append(loss)
        for source, value in by_source.items():
            self._by_source[source].append(value)

    def write(self, seconds_left: float | None) -> None:
        """Write the mean of the steps since the last row."""
        run, progress = self.run, self.run.progress
        now, (tokens, then) = time.monotonic(), self._mark
        self.speed, self._mark = (progress.tokens - tokens) / max(1e-9, now - then), (progress.tokens, now)
        loss = sum(self._losses) / max(1, len(self._losses))
        sources = " ".join(f"{name}={sum(v) / len(v):.3f}" for name, v in sorted(self._by_source.items()))
        stage = run.settings.stages[progress.stage].name
        rate = rate_factor(progress.step, run.settings.optimizer.warmup_steps, progress.decay_done)
        row = (progress.step, progress.tokens, stage, f"{loss:.4f}", sources, f"{rate:.4f}", f"{run.induction:.3f}",
               f"{run.previous_token:.3f}", f"{self.speed:.0f}", f"{progress.seconds:.0f}")  # fmt: skip
        with self.path.open("a", newline="") as file:
            csv.writer(file).writerow(row)
        left = "" if seconds_left is None else f"  {max(0.0, seconds_left) / 60:.0f} min left"
        line = (
            f"{stage} step {progress.step}  {progress.tokens / 1e6:.2f} M tokens  loss {loss:.3f}  rate {rate:.2f}  "
            f"induction {run.induction:.2f}  previous {run.previous_token:.2f}  {self.speed:.0f} tokens/s{left}"
        )
        terminal = sys.stdout.isatty()
        print(f"\r\033[K{line}" if terminal else line, end="" if terminal else "\n", flush=True)
        self._losses.clear()
        self._by_source.clear()
