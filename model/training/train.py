"""Train the embedded model: `python -m model.training.train`.

Goes on from the run's last checkpoint, if there is one. Stops after `--minutes`, at Ctrl-C, or when the decay of the
learning rate is done. The decay is started by hand (`--decay-minutes` or `--decay-tokens`), from any state of the run;
`stable.pt` keeps that state, so that a longer run can go on from there.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from model.errors import HeadlightError
from model.training.log import Log
from model.training.run import Run
from model.training.settings import DEFAULT, load_settings


def train(
    run: Run,
    *,
    minutes: float | None = None,
    steps: int | None = None,
    decay_tokens: int | None = None,
    decay_minutes: float | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Train until the time or the steps are over, the decay is done, or `stop()`; then save."""
    pace, progress = run.settings.pace, run.progress
    run.keep_vocabulary()
    log, begin = Log(run), time.monotonic()
    last, saved = begin, begin
    first_step = progress.step
    if decay_tokens is not None:
        run.start_decay(decay_tokens)
    while not (progress.finished or stop() or (steps is not None and progress.step - first_step >= steps)):
        log.add(*run.step())
        if progress.step % pace.measure_steps == 0:
            run.measure()
        now = time.monotonic()
        progress.seconds, last = progress.seconds + now - last, now
        if progress.step % pace.log_steps == 0:
            log.write(_seconds_left(run, log.speed, None if minutes is None else minutes * 60 - (now - begin)))
        if decay_minutes is not None and progress.decay_from is None and log.speed == log.speed:
            run.start_decay(int(decay_minutes * 60 * log.speed))  # known only once a few steps were timed
        if now - saved > pace.checkpoint_seconds:
            run.save()
            saved = now
        if minutes is not None and now - begin > minutes * 60:
            break
    run.save()


def _seconds_left(run: Run, speed: float, of_minutes: float | None) -> float | None:
    progress, known = run.progress, [] if of_minutes is None else [of_minutes]
    if progress.decay_from is not None:
        known.append((progress.decay_from + progress.decay_tokens - progress.tokens) / max(1.0, speed))
    return min(known, default=None)


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, go on with the run, say where it stands."""
    parser = argparse.ArgumentParser(
        prog="python -m model.training.train", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--config", type=Path, default=DEFAULT, help="settings (TOML); default: %(default)s")
    parser.add_argument("--minutes", type=float, help="stop after this time; a later call goes on")
    parser.add_argument(
        "--decay-minutes", type=float, help="let the learning rate fall to 0 in about this time, then end"
    )
    parser.add_argument("--decay-tokens", type=int, help="the same, by tokens")
    parser.add_argument(
        "--workers", type=int, help="parts of a batch that are computed side by side; default: CPU cores"
    )
    given = parser.parse_args(arguments)
    stopping: list[int] = []
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, lambda number, frame: stopping.append(number))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    workers = given.workers or (1 if device == "cuda" else torch.get_num_threads())
    try:
        run = Run(load_settings(given.config), device, workers)
        if run.resume():
            print(f"Going on from step {run.progress.step}, {run.progress.tokens:,} tokens ({run.path}).")
        train(run, minutes=given.minutes, decay_tokens=given.decay_tokens, decay_minutes=given.decay_minutes,
              stop=lambda: bool(stopping))  # fmt: skip
    except HeadlightError as error:
        print(f"Training stopped: {error}", file=sys.stderr)
        return 1
    print(f"\nSaved {run.path}: step {run.progress.step}, {run.progress.tokens:,} tokens"
          f"{', decay finished' if run.progress.finished else ''}.")  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
