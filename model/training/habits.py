"""What a guided head is asked to look at; `guidance.py` does the asking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Habit = Literal["previous", "induction", "antecedent"]
HABITS: tuple[Habit, ...] = get_args(Habit)


@dataclass(frozen=True)
class Guided:
    """A head and what it is asked to look at."""

    layer: int
    head: int
    habit: Habit

    @property
    def name(self) -> str:
        """`L0H5`."""
        return f"L{self.layer}H{self.head}"
