"""The messages that the browser shows in and around the token strip."""

from __future__ import annotations

from typing import Literal

from viz.text.catalogue import N_, _

Unit = Literal["token", "word"]
"""What a position of a strip is."""

_BY_UNIT: dict[Unit, dict[str, str]] = {
    "token": {
        "chosen": N_("chosen token"),
        "choose": N_("Choose the token whose attention is shown"),
        "previous": N_("Previous token"),
        "previous_key": N_("Previous token (left arrow)"),
        "next": N_("Next token"),
        "next_key": N_("Next token (right arrow)"),
        "play": N_("Play: step through the tokens"),
        "place": N_("token {at}: “{token}”"),
        "intro": N_("token {at} of {n} · {token}"),
        "masked": N_("masked: it comes after the chosen token"),
    },
    "word": {
        "chosen": N_("chosen word"),
        "choose": N_("Choose the word whose attention is shown"),
        "previous": N_("Previous word"),
        "previous_key": N_("Previous word (left arrow)"),
        "next": N_("Next word"),
        "next_key": N_("Next word (right arrow)"),
        "play": N_("Play: step through the words"),
        "place": N_("word {at}: “{token}”"),
        "intro": N_("word {at} of {n} · {token}"),
        "masked": N_("masked: it comes after the chosen word"),
    },
}
_ALWAYS = {
    "strip": N_("Attention over the tokens"),
    "scale": N_("attention 0 to 100%"),
    "later": N_("masked: comes later"),
    "more": N_("more below"),
    "pause": N_("Pause"),
    "locked": N_("Locked · Esc unlocks"),
    "open": N_("Hover shows · click locks"),
    "head": N_("Head {heads}"),
    "heads": N_("Heads {heads}"),
    "and": N_("and"),
    "part": N_("only a part of a character, not a whole one"),
    "about": N_("about {share}"),
    "alone": N_("can look only at itself (100%)"),
    "itself": N_("itself"),
    "mostly": N_("looks mostly at {first}"),
    "mostly_two": N_("looks mostly at {first} and {second}"),
    "widely": N_("looks widely, most at {first}"),
    "widely_two": N_("looks widely, most at {first} and {second}"),
    "part_of": N_(
        "{part} is only a part of the character {character}, which this vocabulary spells in several tokens."
    ),
    "part_of_some": N_("{part} is only a part of a character, which this vocabulary spells in several tokens."),
}


def strip_words(unit: Unit) -> dict[str, str]:
    """Each message by its name in the strip's scripts and HTML; the browser fills in the places."""
    return {name: _(message) for name, message in (_ALWAYS | _BY_UNIT[unit]).items()}
