"""Load on a served app: one visitor who keeps typing, then many at once. Measures its memory and their waits.

Shared by the short form (in the test suite, a small model) and the long one (`make soak`, GPT-2 small's shape).
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from tests.soak.visitor import Visitor, gather_all

_PROSE = (
    "a robot must obey the orders given it by human beings except where such orders would conflict with its first law "
    "when she opened the old wooden door nobody had expected that much light so they waited until morning and then left"
)
WORDS = _PROSE.split()
PAGES = ("", "steps", "mask", "block", "weights")
_MARK = re.compile(rb"visitor(\d+)q")


def sentence(rng: random.Random, n_words: int) -> str:
    """Words in a random order."""
    return " ".join(rng.choices(WORDS, k=n_words))


class Memory:
    """Resident memory of a process in MB, sampled every half second."""

    def __init__(self, pid: int) -> None:
        self.pid, self.seen = pid, list[float]()
        self._stop = Event()

    def now(self) -> float:
        """Resident memory now, in MB."""
        status = Path(f"/proc/{self.pid}/status").read_text("utf-8")
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Sample memory into `seen` inside this context."""

        def look() -> None:
            while not self._stop.wait(0.5):
                self.seen.append(self.now())

        thread = Thread(target=look)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()


async def one_types_on(
    url: str, model: str, n_sentences: int, memory: Memory, n_words: tuple[int, int] = (5, 40)
) -> list[float]:
    """One visitor types `n_sentences` different sentences of so many words; the memory after each.

    (For each of the latest lengths torch's kernels keep about a megabyte: with many lengths it takes many sentences
    until that has levelled off.)
    """
    rng, held = random.Random(0), []
    async with Visitor(url) as visitor:
        await visitor.open(text="a robot", model=model, layer="0", head="0")
        for number in range(n_sentences):
            await visitor.type(f"{number} {sentence(rng, rng.randint(*n_words))}")
            held.append(memory.now())
    return held


@dataclass
class Waits:
    """Seconds that visitors waited until a page was drawn, by what they had done."""

    by_action: dict[str, list[float]] = field(default_factory=dict)

    def add(self, action: str, seconds: float) -> None:
        """Record one wait."""
        self.by_action.setdefault(action, []).append(seconds)

    def all(self) -> list[float]:
        """Every wait."""
        return [seconds for waits in self.by_action.values() for seconds in waits]


def share(values: list[float], part: float) -> float:
    """The value that `part` of the values do not exceed."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


@dataclass(frozen=True)
class Crowd:
    """Many visitors at once. Each looks at a page for `think` seconds on average before the next step."""

    url: str
    model: str
    n_visitors: int
    n_steps: int
    think: float
    n_writing: int = 0  # of them: who has a long text and lets the model write on, step after step
    long_words: int = 900
    pages: tuple[str, ...] = PAGES


async def many_at_once(crowd: Crowd, waits: Waits) -> None:
    """All of the crowd's visits. Fails if a visitor is sent a word of another's text."""
    visits = [_visit(crowd, number, waits) for number in range(crowd.n_visitors)]
    visits += [_write(crowd, crowd.n_visitors + number, waits) for number in range(crowd.n_writing)]
    await gather_all(iter(visits))


async def _think(rng: random.Random, seconds: float) -> None:
    await asyncio.sleep(rng.uniform(0.5, 1.5) * seconds)


async def _visit(crowd: Crowd, number: int, waits: Waits) -> None:
    rng = random.Random(number)
    await asyncio.sleep(rng.uniform(0, crowd.think))
    async with Visitor(crowd.url) as visitor:
        visitor.keep_received = True
        text = f"visitor{number}q {sentence(rng, rng.randint(4, 24))}"
        waits.add("open a link", await visitor.open(text=text, model=crowd.model, layer="0", head="0"))
        for _ in range(crowd.n_steps):
            await _think(rng, crowd.think)
            dice = rng.random()
            if dice < 0.55 and visitor.page != "weights":  # which has no token strip
                waits.add("choose a token", await visitor.step(rng.randrange(len(visitor.strip["labels"]))))
            elif dice < 0.7:
                waits.add("choose a head", await visitor.press("Head", str(rng.randrange(3))))
            elif dice < 0.9:
                text += " " + sentence(rng, 1)
                waits.add("type a word", await visitor.type(text))
                assert visitor.params["text"] == text
            else:
                waits.add("open a page", await visitor.go(rng.choice(crowd.pages)))
            check_texts(visitor, number)


async def _write(crowd: Crowd, number: int, waits: Waits) -> None:
    rng = random.Random(number)
    async with Visitor(crowd.url) as visitor:
        visitor.keep_received = True
        text = f"visitor{number}q {sentence(rng, crowd.long_words)}"
        await visitor.open(text="a robot", model=crowd.model)
        for step in range(max(1, crowd.n_steps // 4)):
            waits.add("type a long text", await visitor.type(f"{step} {text}"))
            check_texts(visitor, number)
            await visitor.go("generation")
            waits.add("write on after a long text", await visitor.click("Write 1 token"))
            check_texts(visitor, number)
            await visitor.go("")


def check_texts(visitor: Visitor, number: int) -> None:
    """Raise if another visitor's mark was received, then forget the messages checked."""
    for payload in visitor.received:
        strangers = {int(mark) for mark in _MARK.findall(payload)} - {number}
        assert not strangers, f"visitor {number} was sent the text of visitor {strangers}"
    visitor.received.clear()


async def type_on_and_leave(url: str, model: str, n_words: int) -> tuple[float, float]:
    """Two long texts that nobody waits for: one is typed over, one's tab is closed. Seconds until both are let go.

    The first number is the wait for the short text typed over the long one, the second what a newcomer waits.
    """
    rng = random.Random(99)
    async with Visitor(url) as visitor:
        await visitor.open(text="a robot", model=model)
        await visitor.start_typing(sentence(rng, n_words))
        await asyncio.sleep(0.2)
        over = await visitor.type("a short text")
        assert visitor.params["text"] == "a short text"
        await visitor.start_typing(sentence(rng, n_words))
    started = time.perf_counter()
    async with Visitor(url) as newcomer:
        await newcomer.open(text="somebody else", model=model)
    return over, time.perf_counter() - started
