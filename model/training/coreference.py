"""Texts in which a pronoun has one antecedent that its form gives away: he, she, it or they.

Each text names two candidates that take different pronouns, in either order, then goes on with the pronoun and with
what just that candidate would do: balls roll, dogs bark, a baker bakes. So whoever predicts the word after the pronoun
gains by looking back from the pronoun to its antecedent, whichever of the two came first.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from model.training.lexicon import Lexicon, Split, lexicon, share
from model.training.pronoun_forms import ABOUT, ACTING_PAIR, ANY, BOTH, OBJECT, PAIR, SUBJECT, TAILS
from model.training.words import ADJECTIVES, PLACES, TRAITS, word_list

Span = tuple[int, int]
# Marks around a word while a text is put together; private-use characters, so no text holds them.
ANTECEDENT, WRONG, PRONOUN, END = "\ue000", "\ue001", "\ue002", "\ue003"
_MARKS = (ANTECEDENT, WRONG, PRONOUN, END)

PRONOUNS = {  # kind: subject, object, possessive
    "he": ("he", "him", "his"),
    "she": ("she", "her", "her"),
    "it": ("it", "it", "its"),
    "they": ("they", "them", "their"),
}
_FREE_DEEDS = (
    "laughed",
    "smiled",
    "went home",
    "sat down",
    "was very happy",
    "began to cry",
    "fell asleep",
    "was tired",
    "was very hungry",
    "said nothing",
    "waved",
    "was late again",
    "drank some tea",
    "opened the window",
    "told a joke",
    "looked up",
    "felt cold",
    "ate an apple",
    "wrote a letter",
    "put on a coat",
    "went to bed",
    "played the piano",
    "was not afraid",
    "could not find the key",
    "forgot the money",
    "had a good idea",
    "asked for help",
    "called a friend",
    "closed the door",
    "got up early",
    "thought of home",
    "lost a shoe",
)
_UNCOUNTED = frozenset(("bread", "cheese", "soup", "snow", "ice"))
_MEN = word_list("boy man king prince father brother uncle grandfather")
_WOMEN = word_list("girl woman queen princess mother sister aunt grandmother")


@dataclass(frozen=True)
class CoreferenceExample:
    """A text, its pronoun, the word it stands for and the words it could not stand for, as character spans."""

    text: str
    pronoun: Span
    antecedent: Span
    wrong: tuple[Span, ...]
    kind: str


@dataclass(frozen=True)
class Candidate:
    """Somebody or something that a pronoun may stand for. `phrase` holds `{}` where the marked word stands."""

    kind: str
    phrase: str
    word: str
    deed: str
    animate: bool
    short: str  # how it is named the second time

    def marked(self, mark: str) -> str:
        """The phrase with its word between marks."""
        return self.phrase.format(f"{mark}{self.word}{END}")


def a(noun: str) -> str:
    """The noun with its indefinite article, or "some" where it has none."""
    if noun in _UNCOUNTED:
        return f"some {noun}"
    return f"an {noun}" if noun[0] in "aeio" or noun.startswith(("um", "hones")) else f"a {noun}"


def capital(text: str) -> str:
    """The text with its first letter capitalised, marks skipped."""
    place = next(i for i, character in enumerate(text) if character not in _MARKS)
    return text[:place] + text[place].upper() + text[place + 1 :]


def candidate(kind: str, rng: random.Random, words: Lexicon) -> Candidate:
    """A random candidate that takes the pronoun `kind`."""
    if kind in ("he", "she"):
        if rng.random() < 0.15:
            noun = rng.choice(_MEN if kind == "he" else _WOMEN)
            return Candidate(kind, "the {}", noun, rng.choice(_FREE_DEEDS), True, f"the {noun}")
        name = rng.choice(words.male if kind == "he" else words.female)
        if rng.random() < 0.35:
            phrase = "{}" if rng.random() < 0.6 else rng.choice(TRAITS) + " {}"
            return Candidate(kind, phrase, name, rng.choice(_FREE_DEEDS), True, name)
        # The role stands before the name: all that the pronoun needs can be found at the name.
        role = rng.choice(words.roles)
        phrase = rng.choice((f"the {role.noun} {{}}", f"{a(role.noun)} named {{}}", f"{a(role.noun)} called {{}}"))
        return Candidate(kind, phrase, name, rng.choice(role.deeds), True, name)
    if kind == "they":
        group = rng.choice(words.groups)
        phrase = "the {}" if rng.random() < 0.7 else f"the {rng.choice(('two', 'three', 'four', 'other', 'old'))} {{}}"
        return Candidate(kind, phrase, group.noun, rng.choice(group.deeds), True, f"the {group.noun}")
    animate = rng.random() < 0.5
    being = rng.choice(words.animals if animate else words.things)
    adjective = rng.choice(("old", "little", "big", "young", "brown", "white") if animate else ADJECTIVES)
    phrase = "the {}" if rng.random() < 0.7 else f"the {adjective} {{}}"
    return Candidate(kind, phrase, being.noun, rng.choice(being.deeds), animate, f"the {being.noun}")


_OTHERS = {
    "he": ("she", "she", "she", "it", "they"),
    "she": ("he", "he", "he", "it", "they"),
    "it": ("he", "she", "they"),
    "they": ("he", "she", "it"),
}


def _marked_text(rng: random.Random, words: Lexicon, split: Split, kind: str, other_kind: str) -> str:
    """One text with marks; the antecedent takes `kind`, the other candidate `other_kind`."""
    right = candidate(kind, rng, words)
    other = candidate(other_kind, rng, words)
    first = rng.random() < 0.5
    u, v = (right, other) if first else (other, right)
    both = u.animate and v.animate
    lists = [ANY, ABOUT] + [SUBJECT] * u.animate + [OBJECT] * v.animate + [BOTH] * both
    if kind != "they":
        lists += [PAIR] + [ACTING_PAIR] * (2 * both)
    form = rng.choice(share(rng.choice(lists), split, 5)) + rng.choice(share(TAILS, split, 5))
    if rng.random() < 0.1:  # now and then say who is meant, right after the pronoun
        aside = rng.choice(("({a})", ", I mean {a},", ", that is {a},", "({a})")).replace("(", " (")
        form = form.replace("{p} {d}", "{p}" + aside + " {d}").replace("{P} {d}", "{P}" + aside + " {d}")
    return fill(form, right, other, first, rng)


def fill(form: str, right: Candidate, other: Candidate, first: bool, rng: random.Random) -> str:
    """The form with its slots filled: {u} {v} the candidates in order, {a} {b} right and other again, {d} {e} their
    deeds, {p} {o} the right one's pronoun, {q} the other's, {uw} {vw} was or were."""
    u = right.marked(ANTECEDENT) if first else other.marked(WRONG)
    v = other.marked(WRONG) if first else right.marked(ANTECEDENT)
    kinds = (right.kind, other.kind) if first else (other.kind, right.kind)
    uw, vw = ("were" if kind == "they" else "was" for kind in kinds)
    q = PRONOUNS[other.kind][0]
    p, o = (f"{PRONOUN}{form}{END}" for form in PRONOUNS[right.kind][:2])
    return form.format(
        u=u,
        v=v,
        U=capital(u),
        V=capital(v),
        uw=uw,
        vw=vw,
        p=p,
        P=capital(p),
        o=o,
        q=q,
        Q=capital(q),
        d=right.deed,
        e=other.deed,
        a=right.short,
        A=capital(right.short),
        b=other.short,
        B=capital(other.short),
        who="Who" if right.animate else "What",
        place=rng.choice(PLACES),
    )


def parse(marked: str, kind: str) -> CoreferenceExample:
    """Take the marks out of a text and turn them into spans; candidates count only where they precede the pronoun."""
    text: list[str] = []
    found: dict[str, list[Span]] = {ANTECEDENT: [], WRONG: [], PRONOUN: []}
    opened = ("", 0)
    for character in marked:
        if character in found:
            opened = (character, len(text))
        elif character == END:
            mark, start = opened
            if not found[PRONOUN]:
                found[mark].append((start, len(text)))
        else:
            text.append(character)
    return CoreferenceExample("".join(text), found[PRONOUN][0], found[ANTECEDENT][-1], tuple(found[WRONG]), kind)


def unmarked(marked: str) -> str:
    """The text without marks."""
    return marked.translate({ord(mark): None for mark in _MARKS})


def tokens_of(text: str, span: Span, pieces: Sequence[bytes]) -> list[int]:
    """The positions of the tokens (`pieces`, their bytes) that share bytes with the characters `span` of `text`."""
    begin, end = len(text[: span[0]].encode()), len(text[: span[1]].encode())
    ends = list(accumulate(len(piece) for piece in pieces))
    return [at for at, piece in enumerate(pieces) if ends[at] - len(piece) < end and ends[at] > begin]


def antecedent_link(marked: str, pieces: Sequence[bytes]) -> tuple[int, int] | None:
    """The last token of a marked text's first pronoun, and how many tokens before it its antecedent's last one stands;
    None for a text without marks."""
    if PRONOUN not in marked:
        return None
    example = parse(marked, "")
    pronoun, antecedent = (tokens_of(example.text, span, pieces)[-1] for span in (example.pronoun, example.antecedent))
    return pronoun, pronoun - antecedent


def pronoun_text(rng: random.Random, words: Lexicon, split: Split) -> str:
    """One text with a pronoun, marks included."""
    kind = rng.choice(("he", "she", "it", "it", "they"))
    return _marked_text(rng, words, split, kind, rng.choice(_OTHERS[kind]))


def coreference_examples(seed: int, n: int, split: Split) -> list[CoreferenceExample]:
    """`n` examples, the four kinds in turn. He and she stand against each other; it against a person or a group; they
    against a person or a thing. The antecedent comes first in about half of them."""
    rng = random.Random(f"coreference {split} {seed}")
    words = lexicon(split)
    return list(_examples(rng, words, n, split))


def _examples(rng: random.Random, words: Lexicon, n: int, split: Split) -> Iterator[CoreferenceExample]:
    for i in range(n):
        kind = ("he", "she", "it", "they")[i % 4]
        other = {"he": "she", "she": "he"}.get(kind) or rng.choice(_OTHERS[kind])
        yield parse(_marked_text(rng, words, split, kind, other), kind)
