"""Marks the sentences that a person reads, so that they can be collected in a catalogue and translated.

A message is one whole sentence with named places: `_("{model} reads {limit} tokens.", model=name, limit=n)`. Where it
depends on a number it is `ngettext("{n} token", "{n} tokens", n)`; no sentence is put together from pieces. A message
in a constant is marked with `N_` there, and looked up with `_` where it is shown. The package `model` marks its own
messages with the standard library's `gettext`.
"""

from __future__ import annotations

import functools
import gettext
from typing import Any


def N_(message: str) -> str:
    """`message` itself, marked to be collected."""
    return message


# gettext looks for a catalogue's file at every call, which takes 30 µs: pages look up a message for each token.
_look_up = functools.cache(gettext.gettext)


def _(message: str, **places: Any) -> str:
    """The message in the reader's language, its places filled in; without places it is left as it is."""
    found = _look_up(message)
    return found.format(**places) if places else found


def ngettext(one: str, many: str, n: int, **places: Any) -> str:
    """`one` or `many`, whichever form the number asks for; the place `{n}` is the number, in groups of three digits."""
    return gettext.ngettext(one, many, n).format(n=f"{n:,}", **places)
