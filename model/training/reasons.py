"""Sentences whose "it" only the reason decides: too big, so the trophy; too small, so the suitcase."""

import random

from model.training.coreference import a
from model.training.lexicon import Lexicon, Split, share
from model.training.words import ANIMALS_ON_FOOT, BREAKABLE, CARRIERS, HARD, LOADS, VESSELS, WAYS, word_list

# The sentence with the nouns {u} and {v}, what each may be, what it says of {u} and what of {v}.
_FORMS = (
    (
        "The {u} did not fit {into} the {v} because it was too {d}.",
        (LOADS, VESSELS),
        word_list("big large long wide heavy tall"),
        word_list("small little narrow short tiny"),
    ),
    (
        "The {u} {didnot} cross the {v} because it was too {d}.",
        (ANIMALS_ON_FOOT, WAYS),
        word_list("tired hungry old weak lazy slow sleepy"),
        word_list("wide long busy wet dark dangerous deep"),
    ),
    (
        "The {u} could not carry the {v} because it was too {d}.",
        (CARRIERS, LOADS),
        word_list("weak tired old small slow young"),
        word_list("heavy big large long tall"),
    ),
    (
        "The {u} broke the {v} because it was made of {d}.",
        (HARD, BREAKABLE),
        word_list("steel iron stone rock metal"),
        word_list("glass paper ice sand straw"),
    ),
    (
        "The {u} {didnot} run to the {v} because it was {d}.",
        (ANIMALS_ON_FOOT, VESSELS),
        word_list("asleep hungry tired ill afraid"),
        word_list("empty broken full closed dirty"),
    ),
    (
        "The {u} {didnot} stop at the {v} because it was {d}.",
        (CARRIERS, WAYS),
        word_list("late fast full old"),
        word_list("dark empty wet closed dangerous"),
    ),
)
_TAILS = (
    "",
    " The {r} was {much}{d}.",
    " What was {much}{d}? The {r}.",
    " I mean that the {r} was {much}{d}.",
    " Yes, the {r} was {much}{d}, not the {o}.",
    " It was the {r} that was {much}{d}.",
    " {Ar} can be {much}{d}.",
)


def reason(rng: random.Random, _: Lexicon, split: Split) -> str:
    """One sentence with a reason, and often one that says what it was."""
    text, (firsts, seconds), of_first, of_second = rng.choice(share(_FORMS, split, 5))
    u = rng.choice(firsts)
    v = rng.choice([noun for noun in seconds if noun != u])
    first = rng.random() < 0.5
    r, o = (u, v) if first else (v, u)
    quality = rng.choice(of_first if first else of_second)
    much = "too " if "too {d}" in text else "made of " if "made of" in text else ""
    return (text + rng.choice(share(_TAILS, split, 5))).format(
        u=u,
        v=v,
        r=r,
        o=o,
        d=quality,
        much=much,
        Ar=a(r).capitalize(),
        into=rng.choice(("in", "into")),
        didnot=rng.choice(("did not", "didn't", "would not")),
    )
