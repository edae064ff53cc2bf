"""Seeded texts of our own, for what a small model learns attention from. See the families for what each is good for."""

import random
from collections.abc import Callable, Iterator

from model.training import drills
from model.training.coreference import CoreferenceExample, capital, coreference_examples, pronoun_text, unmarked
from model.training.laws import law_text
from model.training.lexicon import Lexicon, Split, lexicon, whole_lexicon
from model.training.reasons import reason
from model.training.stories import story
from model.training.words import ARTICLE

__all__ = ["FAMILIES", "CoreferenceExample", "Family", "coreference_examples", "generate", "generate_marked"]

Family = Callable[[random.Random, Lexicon, Split], str]

# Each family and how many texts in a hundred come from it.
FAMILIES: dict[Family, int] = {
    pronoun_text: 36,
    law_text: 12,
    reason: 4,
    story: 18,
    drills.indirect_object: 9,
    drills.question: 5,
    drills.listing: 3,
    drills.quoting: 4,
    drills.copying: 3,
    drills.fact: 3,
    drills.crowd: 3,
}
# These make every name and noun known, so their training texts use those of the tests too. The other families keep to
# their split's words: a test asks what the model does with a known word in a place where it never stood.
INTRODUCING = frozenset((story, drills.quoting, drills.copying, drills.fact, drills.crowd))


def generate(seed: int, split: Split) -> Iterator[str]:
    """The texts of `generate_marked`, without marks."""
    return map(unmarked, generate_marked(seed, split))


def generate_marked(seed: int, split: Split) -> Iterator[str]:
    """Endless short texts of one to eight sentences; the same seed and split give the same texts.

    Where a text is there for its pronoun, marks stand around it and around what it may refer to (`coreference.py`).
    The splits share no sentence forms, and outside the `INTRODUCING` families no names and no main nouns."""
    rng = random.Random(f"templates {split} {seed}")
    words = lexicon(split)
    introduced = whole_lexicon() if split == "train" else words
    families, weights = list(FAMILIES), list(FAMILIES.values())
    while True:
        family = rng.choices(families, weights)[0]
        text = family(rng, introduced if family in INTRODUCING else words, split)
        if ARTICLE not in unmarked(text):
            yield capital(text)
