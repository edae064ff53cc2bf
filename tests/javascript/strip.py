"""The choices of the real token strip: its class in Node, without a page, its timers run by hand."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.javascript.scripts import COMPONENTS, NODE

_STAGE = """
import { createInterface } from "node:readline";
const timers = new Map();
let last = 0;
globalThis.setTimeout = (task) => (timers.set((last += 1), task), last);
globalThis.clearTimeout = (timer) => timers.delete(timer);
"""
_DRIVER = """
const nothing = () => {};
const element = { setAttribute: nothing, classList: { toggle: nothing } };
const picture = { load: nothing, show: nothing, showUnit: nothing, catchUp: nothing };
const strips = new Map();
function stripOf(id) {
  if (!strips.has(id)) {
    const strip = Object.assign(Object.create(Strip.prototype), {
      picture, root: { querySelectorAll: () => [] },
      buttons: { previous: element, play: element, next: element }, lockButton: { ...element },
      locked: false, choice: null, timer: null, settling: null, report: null,
    });
    strip.send = (choice) => { strip.report = { ...choice }; };
    strips.set(id, strip);
  }
  return strips.get(id);
}
const acts = {
  receive: (strip, data) => strip.take(data, []),
  step: (strip, query) => strip.choose(query),
  settle: () => { for (const [timer, task] of [...timers]) { timers.delete(timer); task(); } },
};
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, act, value } = JSON.parse(line);
  const strip = stripOf(id);
  acts[act](strip, value);
  const { query, count } = strip.choice;
  console.log(JSON.stringify({ query, count, report: strip.report }));
});
"""


class Stage:
    """Node with the strip's script; each `StripInNode` is a strip of its own there."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._ids = itertools.count()

    def strip(self) -> StripInNode:
        """A strip that nothing was told yet."""
        return StripInNode(self, f"strip {next(self._ids)}")

    def ask(self, **message: Any) -> dict[str, Any]:
        """Act, and the strip's state then."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


class StripInNode:
    """One strip: `query` is the token it shows, `report` what it last told Python."""

    def __init__(self, stage: Stage, name: str) -> None:
        self._stage, self._name = stage, name
        self.query, self.count = 0, 0
        self.report: dict[str, Any] | None = None

    def _act(self, act: str, value: Any = None) -> None:
        state = self._stage.ask(id=self._name, act=act, value=value)
        self.query, self.count, self.report = state["query"], state["count"], state["report"]

    def receive(self, *, command: str, query: int, seen: int, revision: str) -> None:
        """Python's message arrives."""
        told = {"id": command, "query": query, "seen": seen}
        data = {"id": self._name, "revision": revision, "labels": ["t"] * 20, "hover": False, "words": {}}
        self._act("receive", {**data, "command": told})

    def step(self, query: int) -> None:
        """The person chooses a token."""
        self._act("step", query)

    def settle(self) -> None:
        """The choice has stood for a while."""
        self._act("settle")


@contextmanager
def stage() -> Iterator[Stage]:
    """Node, started."""
    script = "".join((COMPONENTS / file).read_text("utf-8") for file in ("shared.js", "token_strip/strip.js"))
    command = [NODE, "--input-type=module", "--eval", _STAGE + script + _DRIVER]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Stage(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
