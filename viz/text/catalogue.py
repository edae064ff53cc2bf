"""Marks the sentences that a person reads, so that they can be collected in a catalogue and translated.

A message is one whole sentence with named places: `_("{model} reads {n} tokens.").format(model=name, n=n)`. Where it
depends on a number it is `ngettext("{n} token", "{n} tokens", n).format(n=n)`; no sentence is put together from pieces.
A message in a constant is marked with `N_` there, and looked up with `_` where it is shown. The package `model` marks
its own messages with the standard library's `gettext`, which these are.
"""

from __future__ import annotations

from gettext import gettext as _
from gettext import ngettext

__all__ = ["N_", "_", "ngettext"]


def N_(message: str) -> str:
    """`message` itself, marked to be collected."""
    return message
