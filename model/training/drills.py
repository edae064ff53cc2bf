"""Texts that can only be continued by looking back: who got what, lists, questions, quotes, brackets, repeats."""

import random

from model.training.coreference import PRONOUNS, a, capital
from model.training.lexicon import Lexicon, Split, share
from model.training.words import ADJECTIVES, COLOURS, FOODS, NUMBERS, PLACES, TRAITS


def _two_people(rng: random.Random, words: Lexicon) -> tuple[str, str]:
    """Two different names of any gender."""
    names = [rng.choice(words.male), rng.choice(words.female), rng.choice(rng.choice((words.male, words.female)))]
    rng.shuffle(names)
    first = names.pop()
    return first, next(name for name in names if name != first)


_INDIRECT = (
    "When {X} and {Y} went to the {place}, {A} gave {thing} to {B}.",
    "After {X} and {Y} had gone to the {place}, {A} gave {thing} to {B}.",
    "Then {X} and {Y} went to the {place}. {A} gave {thing} to {B}.",
    "While {X} and {Y} were working at the {place}, {A} showed {thing} to {B}.",
    "{X} and {Y} had a long talk, and {A} said good night to {B}.",
    "{X} and {Y} were in the {place}. {A} threw {thing} to {B}.",
    "Friends told {X} and {Y} about the {place}, and {A} sent {thing} to {B}.",
    "When {X} met {Y} in the {place}, {A} handed {thing} to {B}.",
    "Then {X} and {Y} had lunch. Afterwards {A} brought {thing} to {B}.",
    "{X} sat beside {Y}. {A} lent {thing} to {B}.",
    "{X} and {Y} went to the {place}. {A} bought {thing} and gave it to {B}.",
    "At the {place} {X} saw {Y}. {A} passed {thing} to {B}.",
    "The {place} was empty except for {X} and {Y}. {A} took {thing} from {B}.",
    "{X} wrote a letter to {Y}. {A} got an answer from {B}.",
    "{X} played with {Y} in the {place}. {A} won the game against {B}.",
)
_INDIRECT_TAILS = (
    "",
    "",
    ' "Thank you, {A}," said {B}.',
    " {B} thanked {A}.",
    " Then {B} gave it back to {A}.",
    " Later {B} told {A} about it.",
    ' "Here you are, {B}," said {A}.',
    " So {B} was happy with {A}.",
)


def indirect_object(rng: random.Random, words: Lexicon, split: Split) -> str:
    """Two people; one gives something to the other, who is named again."""
    x, y = _two_people(rng, words)
    giver, taker = (x, y) if rng.random() < 0.5 else (y, x)
    thing = rng.choice(
        (
            a(rng.choice(words.portable).noun),
            f"some {rng.choice(FOODS)}",
            f"the {rng.choice(words.portable).noun}",
            "a drink",
            "a present",
            "the money",
        )
    )
    form = rng.choice(share(_INDIRECT, split, 5)) + rng.choice(share(_INDIRECT_TAILS, split, 5))
    return form.format(X=x, Y=y, A=giver, B=taker, thing=thing, place=rng.choice(PLACES))


_LISTS = (
    "{N} bought {l}. At home {p} took the {l1} out of the bag, then the {l2}, then the {l3}.",
    "We need {l}. Do not forget: {l1}, {l2}, {l3}.",
    "{N} likes {l}. {M} likes {l1} and {l2} too, but not {l3}.",
    "First comes {l1}, then {l2}, then {l3}. So the order is {l1}, {l2}, {l3}.",
    "The list says: {l1}, {l2}, {l3}. {N} reads it aloud: {l1}, {l2}, {l3}.",
    "On the table {N} saw {l}. {N} took the {l1}, {M} took the {l2}, and nobody took the {l3}.",
    '"{l1}, {l2}, {l3}," said {N}. "{l1}, {l2}, {l3}," repeated {M}.',
    "{N} wanted {l1}, {M} wanted {l2}, and the teacher wanted {l3}. So they bought {l1}, {l2} and {l3}.",
    "There were three things on the list: {l1}, {l2} and {l3}. {N} bought the {l1} and the {l2} and the {l3}.",
    "{N} sells {l} in the {place}. Who sells {l1}? {N} sells {l1}. Who sells {l3}? {N} sells {l3}.",
)


def listing(rng: random.Random, words: Lexicon, split: Split) -> str:
    """A list of three, gone through again."""
    x, y = _two_people(rng, words)
    foods = rng.sample(FOODS, 3)
    p = PRONOUNS["he" if x in words.male else "she"][0]
    return rng.choice(share(_LISTS, split, 5)).format(
        N=x,
        M=y,
        p=p,
        l=f"{foods[0]}, {foods[1]} and {foods[2]}",
        l1=foods[0],
        l2=foods[1],
        l3=foods[2],
        place=rng.choice(PLACES),
    )


_QUESTIONS = (
    "{X} has {ac} {t}, and {Y} has {ad} {k}. Who has the {r}? {W} has the {r}.",
    "{X} has {ac} {t}. {Y} has {ad} {k}. What does {W} have? {W} has {az} {r}.",
    "The {t} is {c}, and the {k} is {d}. What colour is the {r}? The {r} is {z}.",
    "The {t} of {X} is {c}. The {k} of {Y} is {d}. What colour is the {r} of {W}? It is {z}.",
    "Question: {X} went to the {place} and {Y} went to the {place2}. Where is {W}? Answer: in the {wp}.",
    "{X} is in the {place}. {Y} is in the {place2}. Where is {W}? {W} is in the {wp}.",
    "{X} put the {t} in the {place}, and {Y} put the {k} in the {place2}. Where is the {r}? The {r} is in the {wp}.",
    '"Who lost the {t}?" "{X} lost the {t}." "And who lost the {k}?" "{Y} lost the {k}."',
    "Q: Who is {u}? A: {X} is {u}. Q: Who is {v}? A: {Y} is {v}.",
    "{X} is {u} and {Y} is {v}. Is {X} {v}? No, {X} is {u}. Is {Y} {v}? Yes, {Y} is {v}.",
    "{X} is {u}. {Y} is {v}. Who is {v}? {Y}. Who is {u}? {X}.",
    "{X} found the {t} in the {place}. What did {X} find? The {t}. Where did {X} find it? In the {place}.",
    "{X} has {n} {f}. {Y} has {m} {f}. How many {f} does {W} have? {W} has {wn} {f}.",
    "My name is {X}. I work in a {place}. What is my name? My name is {X}. Where do I work? I work in a {place}.",
    "Who has the {t}? {X} has it. Who wants the {t}? {Y} wants it. So {X} gives the {t} to {Y}.",
)


def question(rng: random.Random, words: Lexicon, split: Split) -> str:
    """Something is told, then asked, then answered."""
    x, y = _two_people(rng, words)
    thing, other = (being.noun for being in rng.sample(words.portable, 2))
    (c, d), (place, place2), (n, m), (u, v) = (rng.sample(pool, 2) for pool in (COLOURS, PLACES, NUMBERS[1:], TRAITS))
    first = rng.random() < 0.5
    return rng.choice(share(_QUESTIONS, split, 5)).format(
        X=x,
        Y=y,
        W=x if first else y,
        t=thing,
        k=other,
        r=thing if first else other,
        c=c,
        d=d,
        z=c if first else d,
        ac=a(c),
        ad=a(d),
        az=a(c if first else d),
        place=place,
        place2=place2,
        wp=place if first else place2,
        n=n,
        m=m,
        wn=n if first else m,
        u=u,
        v=v,
        f=rng.choice(("apples", "eggs", "oranges", "books", "coins", "sheep", "horses")),
    )


_QUOTES = (
    '"I am {u}," said {X}. "Are you {u} too?" asked {Y}. "Yes, {X}, I am {u}," said {Y}.',
    '{X} (the {g}) met {Y} (the {h}). "Good morning, {h}," said {X}. "Good morning, {g}," said {Y}.',
    'The sign said "{place}". {X} read it aloud: "{place}".',
    "The {t} (a very {c} {t}) belongs to {X} (not to {Y}).",
    '{X} said, "My {t} is {c}." {Y} said, "Your {t} is {c}, {X}."',
    "{X} wrote: [{t}]. {Y} wrote: [{k}]. Then {X} wrote again: [{t}].",
    '"What is this?" asked {X}. "It is {at}," said {Y}. "{At}?" "Yes, {X}, {at}."',
    "The names (in order) are: ({X}), ({Y}), ({X}), ({Y}).",
    '{X} called: "{Y}! {Y}!" And {Y} answered: "{X}! {X}!"',
    "({X} is {u}.) ({Y} is {v}.) [{X} has {at}.] [{Y} has {ak}.]",
    '"Do you know {Y}?" asked {X}. "{Y}? No, I do not know {Y}," said the {g}.',
    "{Y} said, \"{X} said, 'I am {u}.'\" So {X} is {u}, says {Y}.",
)


def quoting(rng: random.Random, words: Lexicon, split: Split) -> str:
    """Quotation marks and brackets, opened and closed."""
    x, y = _two_people(rng, words)
    thing, other = (being.noun for being in rng.sample(words.portable, 2))
    (g, h), (u, v) = ([being.noun for being in rng.sample(words.roles, 2)], rng.sample(TRAITS, 2))
    return rng.choice(share(_QUOTES, split, 5)).format(
        X=x,
        Y=y,
        t=thing,
        at=a(thing),
        At=capital(a(thing)),
        k=other,
        ak=a(other),
        c=rng.choice(ADJECTIVES),
        g=g,
        h=h,
        u=u,
        v=v,
        place=capital(rng.choice(PLACES)),
    )


_COPIES = (
    "{w}. Again: {w}.",
    "The words are {w}. Say them again: {w}.",
    "{N} said: {w}. {M} said: {w}.",
    "{w}, {w}, {w}.",
    "Remember this: {w}. What did I say? I said: {w}.",
    "{n1}: {w}. {n2}: {v}. {n1}: {w}. {n2}: {v}.",
    "First line: {w}\nSecond line: {v}\nFirst line: {w}\nSecond line: {v}",
    "{w} | {v} | {w} | {v}",
    "The first word is {w0}, and the last word is {w9}. The words are: {w}.",
    "{N} = {w0}, {M} = {w9}. {N} = {w0}, {M} = {w9}.",
)


def copying(rng: random.Random, words: Lexicon, split: Split) -> str:
    """A row of words that comes again, word for word."""
    x, y = _two_people(rng, words)
    pool = (
        [being.noun for beings in (words.things, words.animals, words.roles) for being in beings]
        + FOODS
        + PLACES
        + ADJECTIVES
    )
    row, other = (rng.sample(pool, rng.randint(2, 8)) for _ in range(2))
    joint = rng.choice((", ", " ", ", ", " and "))
    return rng.choice(share(_COPIES, split, 5)).format(
        w=joint.join(row),
        v=joint.join(other),
        N=x,
        M=y,
        n1=rng.choice(("A", "1")),
        n2=rng.choice(("B", "2")),
        w0=row[0],
        w9=row[-1],
    )


_FACTS = (
    "What did the {n} do? It {d}. Every {n} I knew did that.",
    "I once had {an}. It {d}. I never had another {n}.",
    "{N} had {an}, and it {d}. {M} had {am}, and it {e}.",
    "The {n} {d}, and the {m} {e}.",
    "{An} and {am} are not the same. The {n} {d}. The {m} {e}.",
    "There was {an}. It {d}. There was {am} too. It {e}.",
    "Look, {an}! It {d} only yesterday. The {n} {d} again today.",
    "{N} talked about the {n} that {d}, and {M} talked about the {m} that {e}.",
    "One was {an}, and the other was {am}. The first {d}. The second {e}.",
    "It {d}. What was it? It was {an}. It {e}. What was it? It was {am}.",
)


def fact(rng: random.Random, words: Lexicon, split: Split) -> str:
    """What things and animals do."""
    x, y = _two_people(rng, words)
    one, two = rng.sample(words.things + words.animals, 2)
    return rng.choice(share(_FACTS, split, 5)).format(
        n=one.noun,
        an=a(one.noun),
        An=capital(a(one.noun)),
        d=rng.choice(one.deeds),
        m=two.noun,
        am=a(two.noun),
        e=rng.choice(two.deeds),
        N=x,
        M=y,
    )


_CROWDS = (
    "The {g} {d}. Then the {r} {e}.",
    "First the {r} {e}, then the {g} {d}.",
    "What did the {g} do? They {d}. What did the {r} do? The {r} {e}.",
    "Yesterday the {g} {d}. Today the {r} {e}.",
    '"The {g} {d}," said {N} the {r}. "Yes," said {M}, "they {d}."',
    "While the {g} waited, the {r} {e}. Then the {g} {d}.",
    "{N} saw that the {g} {d}. {M} saw that the {r} {e}.",
    "I remember the {g}: they {d}. And I remember {ar} who {e}.",
    "{N} was {ar}, and {p} {e}. {M} only watched the {g}.",
    "Who {d}? The {g}. Who {e}? The {r}, whose name was {N}.",
)


def crowd(rng: random.Random, words: Lexicon, split: Split) -> str:
    """What people of a trade and groups do."""
    x, y = _two_people(rng, words)
    group, role = rng.choice(words.groups), rng.choice(words.roles)
    p = PRONOUNS["he" if x in words.male else "she"][0]
    return rng.choice(share(_CROWDS, split, 5)).format(
        g=group.noun, d=rng.choice(group.deeds), r=role.noun, ar=a(role.noun), e=rng.choice(role.deeds), p=p, N=x, M=y
    )
