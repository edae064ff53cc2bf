"""Values in the session: of widgets that only show a state, and of what belongs to a text, a model or the like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import streamlit as st

Value = TypeVar("Value")


def bound(key: str, value: Any, put: Callable[[Any], object]) -> dict[str, Any]:
    """The arguments of a widget that shows `value` and hands each choice to `put`: it keeps no value of its own."""
    st.session_state[key] = value
    return {"key": key, "on_change": lambda: put(st.session_state[key])}


@dataclass(frozen=True)
class Kept(Generic[Value]):
    """A value that the session keeps under `key` as long as what it belongs to, such as a text, is the same."""

    key: str

    def get(self, of: object) -> Value | None:
        """The value that belongs to `of`; None if the kept one belongs to something else."""
        kept = st.session_state.get(self.key)
        return kept[1] if kept is not None and kept[0] == of else None

    def put(self, of: object, value: Value) -> Value:
        """Keep `value`, which belongs to `of`, in place of the one before."""
        st.session_state[self.key] = (of, value)
        return value

    def drop(self) -> None:
        """Keep nothing."""
        st.session_state.pop(self.key, None)
