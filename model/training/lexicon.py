"""The words of the template texts, shared out between the two splits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from model.training.words import (
    ADJECTIVES,
    ANIMALS,
    ANIMALS_ON_FOOT,
    BREAKABLE,
    CARRIERS,
    COLOURS,
    COMMANDS,
    FEMALE,
    FIXED,
    FOODS,
    GROUPS,
    HARD,
    LOADS,
    LOOKS,
    MALE,
    MASTERS,
    NUMBERS,
    ORDINALS,
    PLACES,
    PORTABLE,
    ROLES,
    TRAITS,
    VESSELS,
    WAYS,
)

T = TypeVar("T")
Split = Literal["train", "test"]


@dataclass(frozen=True)
class Being:
    """A noun and what it typically does."""

    noun: str
    deeds: tuple[str, ...]


def _beings(block: str) -> tuple[Being, ...]:
    rows = [line.split(" / ") for line in block.strip().splitlines()]
    return tuple(Being(row[0], tuple(row[1:])) for row in rows)


def share(items: Sequence[T], split: Split, every: int = 8) -> tuple[T, ...]:
    """A split's part of the items: one in `every` is held out for the tests, and only those are theirs."""
    return tuple(item for i, item in enumerate(items) if (i % every == every - 1) == (split == "test"))


@dataclass(frozen=True)
class Lexicon:
    """The words of one split."""

    male: tuple[str, ...]
    female: tuple[str, ...]
    roles: tuple[Being, ...]
    portable: tuple[Being, ...]
    fixed: tuple[Being, ...]
    animals: tuple[Being, ...]
    groups: tuple[Being, ...]

    @property
    def things(self) -> tuple[Being, ...]:
        """All things, portable or not."""
        return self.portable + self.fixed


def whole_lexicon() -> Lexicon:
    """The names and nouns of both splits."""
    return Lexicon(
        male=tuple(MALE),
        female=tuple(FEMALE),
        roles=_beings(ROLES),
        portable=_beings(PORTABLE),
        fixed=_beings(FIXED),
        animals=_beings(ANIMALS),
        groups=_beings(GROUPS),
    )


def lexicon(split: Split) -> Lexicon:
    """The names and nouns of a split; the two splits share none."""
    whole = whole_lexicon()
    return Lexicon(
        male=share(whole.male, split),
        female=share(whole.female, split),
        roles=share(whole.roles, split),
        portable=share(whole.portable, split),
        fixed=share(whole.fixed, split),
        animals=share(whole.animals, split),
        groups=share(whole.groups, split),
    )


def names() -> set[str]:
    """The first names of both splits."""
    return {*MALE, *FEMALE}


def lexicon_words() -> set[str]:
    """Every word of the lexicon, names included."""
    text = " ".join((ROLES, PORTABLE, FIXED, ANIMALS, GROUPS, *MASTERS)).replace("/", " ")
    lists = [MALE, FEMALE, PLACES, ADJECTIVES, LOOKS, TRAITS, FOODS, COLOURS, NUMBERS, COMMANDS, ORDINALS]
    lists += [LOADS, VESSELS, ANIMALS_ON_FOOT, WAYS, CARRIERS, HARD, BREAKABLE]
    return {word for words in lists for word in words} | set(text.split())
