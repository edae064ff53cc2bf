"""Short stories: one or two people, a thing or an animal; names, pronouns and things come again."""

import random

from model.training.coreference import PRONOUNS, a, capital
from model.training.lexicon import Lexicon, Split, share
from model.training.words import FOODS, LOOKS, PLACES, TRAITS

# A plot is a row of scenes, a scene a choice of sentences. {N} {p} {P} {o} {s} {child} the hero, {M} {q} {Q} {qo} {qs}
# the friend, {t} the thing, {c} what it looks like, {x} the animal, {place} {home} places, {f} {g} foods, {w} a trait.
_BEGIN = (
    "Once there was {aw} {child} named {N}.",
    "Once upon a time there was {aw} {child} called {N}.",
    "{N} was {aw} {child}.",
    "There once lived {aw} {child} in a small {home}. {P} was called {N}.",
    "{N} was {aw} {child} who lived near the {place}.",
    "Long ago {aw} {child} lived by the {home}. The name of the {child} was {N}.",
    "This is the story of {N}, {aw} {child}.",
    "{N} lived in a {home} near the {place}. {P} was {w}.",
    "A long time ago there lived {aw} {child}, and everybody called {o} {N}.",
    "In a little {home} lived {aw} {child}. {P} was called {N}.",
)
_LOST = (
    _BEGIN,
    (
        "{N} had {ac} {t}.",
        "{P} had {ac} {t} and loved it.",
        "{P} always carried {ac} {t}.",
        "{S} mother gave {o} {ac} {t}.",
        "{P} owned {ac} {t}.",
        "The thing {p} loved most was {ac} {t}.",
    ),
    (
        "One day {p} lost the {t} in the {place}.",
        "One morning the {t} was gone.",
        "One day {N} could not find the {c} {t}.",
        "But one day {p} left it in the {place}.",
        "Then one evening the {t} was not in its place.",
    ),
    (
        "{P} looked for it everywhere, but {p} could not find it.",
        "{N} began to cry.",
        "{P} was very sad.",
        "{P} looked under the bed and behind the door, but it was not there.",
        "{P} searched the whole {home}, but in vain.",
    ),
    (
        '{S} friend {M} asked, "What is wrong, {N}?" "I have lost my {t}," said {N}.',
        '{M} saw {o} and said, "Why are you sad, {N}?" "My {t} is gone," {p} said.',
        '"Where is my {t}?" {p} asked {M}. "I do not know, {N}," said {M}.',
        'Then {p} met {M}. "{M}, have you seen my {c} {t}?" asked {N}.',
        '{M} came to help. "Do not worry, {N}," {q} said. "We will find your {t}."',
    ),
    (
        "{M} found the {t} in the {place} and gave it to {N}.",
        "Together they looked for the {t}, and {M} found it.",
        "{M} went to the {place}, and there was the {c} {t}. {Q} brought it back to {N}.",
        "They went to the {place}, and there it was: {ac} {t}.",
        "At last {M} saw the {c} {t} in the {place}.",
    ),
    (
        '"Thank you, {M}!" said {N}.',
        "{N} thanked {M}, and they went home.",
        "{N} was happy, because {p} had the {t} again.",
        "From then on {N} took better care of the {t}.",
        "{N} never lost the {t} again.",
    ),
)
_GIFT = (
    _BEGIN,
    (
        "It was the birthday of {M}, the friend of {N}.",
        "{S} friend {M} was ill.",
        "{N} wanted to make {M} happy.",
        "{N} had a friend named {M}.",
        "{M} lived next door to {N}.",
    ),
    (
        "{N} went to the {place} to buy {ac} {t} for {M}.",
        "{P} bought {ac} {t} for {M}.",
        "{P} made {ac} {t} for {M}.",
        "{P} saw {ac} {t} in the {place} and thought of {M}.",
        "{P} found {ac} {t} for {qo} in the {place}.",
    ),
    (
        "{N} gave the {t} to {M}.",
        "{P} put the {t} in a box and took it to {M}.",
        '"This {t} is for you, {M}," said {N}.',
        "When {M} opened the door, {N} gave {qo} the {c} {t}.",
        "{N} handed the {c} {t} to {M}.",
    ),
    (
        '"Oh, {N}, what a beautiful {t}!" said {M}. "Thank you!"',
        "{M} was very happy with the {t}.",
        "{M} smiled and thanked {N}.",
        '"{Ac} {t}! Thank you, {N}!" said {M}.',
        "{M} looked at the {t} and laughed.",
    ),
    (
        "{N} and {M} were friends for the rest of their lives.",
        "Then {M} gave {f} to {N}, and they ate together.",
        "{M} kept the {t} for many years.",
        "{M} put the {t} on the table, and {N} sat down beside {qo}.",
        "The next day {M} gave {N} some {f}, because {q} was kind too.",
    ),
)
_ANIMAL = (
    _BEGIN,
    (
        "One day {p} saw {ax} in the {place}.",
        "In the {place} {p} found {ax}.",
        "{N} wanted {ax} more than anything.",
        "{Ax} lived near the {home} of {N}.",
        "On the way to the {place} {N} met {ax}.",
    ),
    (
        "The {x} was hungry and cold.",
        "The {x} had hurt its leg.",
        "The {x} was {w} and small.",
        "The {x} looked at {N}.",
        "The {x} did not run away from {o}.",
    ),
    (
        "{N} gave it some {f}.",
        "{P} took the {x} home and gave it {f}.",
        "{P} gave the {x} some {f}, and it ate the {f}.",
        '"Are you hungry, little {x}?" asked {N}, and {p} gave it some {f}.',
        "{N} brought {f} and {g} for the {x}.",
    ),
    (
        "The {x} {d}.",
        "Then the {x} {d}, and {N} laughed.",
        "It {d}, and {N} was happy.",
        "After that it {d}.",
        "The next morning the {x} {d}.",
    ),
    (
        "{N} called it {Z}. {Z} and {N} became friends.",
        "From that day the {x} went wherever {N} went.",
        "{N} and the {x} were never alone again.",
        '"I will call you {Z}," said {N}. So the {x} was called {Z}.',
        "Every day {N} came back, and every day the {x} was there.",
    ),
)
_ERRAND = (
    _BEGIN,
    (
        '{S} mother said, "{N}, please buy some {f} and some {g}."',
        "One day {p} had to buy {f} and {g}.",
        "They had no {f} in the house, and no {g}.",
        "{M} asked {N} to bring {f} and {g}.",
        "{N} needed {f} for {s} mother and {g} for {M}.",
    ),
    (
        "{P} went to the {place} with a basket.",
        "{N} took some money and went to the {place}.",
        "So {N} walked to the {place}.",
        "{P} ran all the way to the {place}.",
        "Off {p} went to the {place}, a bag in {s} hand.",
    ),
    (
        "There {p} bought the {f}, but {p} forgot the {g}.",
        "{P} bought {f}, but there was no {g}.",
        "{P} found the {g}, but all the {f} had been sold.",
        "{P} put the {f} and the {g} in the bag.",
        "On the way home {p} met {M}, and {M} was hungry.",
    ),
    (
        '{M} said, "I have some {g} for you, {N}."',
        "{M} gave {o} the {g}.",
        "{M} helped {o} to carry the {f}.",
        '"Did you buy the {g}, {N}?" asked {M}. {N} had to go back for the {g}.',
        "So {N} shared the {f} with {M}.",
    ),
    (
        "In the evening they ate the {f} and the {g}.",
        "{N} was tired, but {p} was proud.",
        "Then {N} went home with the {f} and the {g}.",
        '{S} mother was pleased. "Well done, {N}," she said.',
        "After that {N} always made a list: {f}, {g}.",
    ),
)
_QUARREL = (
    (
        "{N} and {M} both wanted the {c} {t}.",
        "{N} and {M} had only one {t}.",
        "{N} took the {t} of {M}.",
        "{M} broke the {t} of {N}.",
        "Both {N} and {M} said that the {t} was theirs.",
    ),
    (
        '"It is my {t}!" said {N}. "No, it is mine!" said {M}.',
        "{N} was angry with {M}, and {M} was angry with {N}.",
        '"Give me the {t}, {M}!" {p} said.',
        "{M} would not speak to {N}.",
        "{N} pulled the {t}, and {M} pulled it too.",
    ),
    (
        "Their teacher came and asked what had happened.",
        "Then the {t} fell on the floor.",
        "The whole day they did not play together.",
        "{N} went home alone, and so did {M}.",
        "At last the {t} was broken, and nobody could use it.",
    ),
    (
        '{N} said, "I am sorry, {M}."',
        '"I am sorry, {N}," said {M}.',
        '{M} said, "You can have the {t}, {N}."',
        "{N} gave the {t} to {M}.",
        "{M} gave the {t} back to {N}.",
    ),
    (
        "After that they shared the {t}.",
        "So {N} and {M} were friends again.",
        "Then they played together with the {t}.",
        "{N} smiled at {M}, and {q} smiled at {o}.",
        "They never quarrelled about the {t} again.",
    ),
)
_PLOTS = (_LOST, _GIFT, _ANIMAL, _ERRAND, _QUARREL)
_PETS = ("Star", "Lucky", "Snow", "Shadow", "Prince", "Spot", "Rex", "Gold", "King", "Blue")


def story(rng: random.Random, words: Lexicon, split: Split) -> str:
    """A story of four to eight sentences."""
    kind, friend = rng.choice(
        (("he", "she"), ("she", "he"), ("he", "she"), ("she", "he"), ("he", "he"), ("she", "she"))
    )
    name = rng.choice(words.male if kind == "he" else words.female)
    other = rng.choice([one for one in (words.male if friend == "he" else words.female) if one != name])
    thing, animal = rng.choice(words.portable), rng.choice(words.animals)
    look, trait = rng.choice(LOOKS), rng.choice(TRAITS)
    food, second = rng.sample(FOODS, 2)
    (p, o, s), (q, qo, qs) = PRONOUNS[kind], PRONOUNS[friend]
    who = rng.choice(("boy", "child", "man") if kind == "he" else ("girl", "child", "woman"))
    slots = {
        "N": name,
        "M": other,
        "p": p,
        "P": capital(p),
        "o": o,
        "s": s,
        "S": capital(s),
        "q": q,
        "Q": capital(q),
        "qo": qo,
        "qs": qs,
        "child": who,
        "t": thing.noun,
        "c": look,
        "ac": a(look),
        "Ac": capital(a(look)),
        "x": animal.noun,
        "ax": a(animal.noun),
        "Ax": capital(a(animal.noun)),
        "d": rng.choice(animal.deeds),
        "f": food,
        "g": second,
        "w": trait,
        "aw": a(trait),
        "Z": rng.choice(_PETS),
        "place": rng.choice(PLACES),
        "home": rng.choice(("house", "village", "town", "hut", "castle")),
    }
    sentences = [rng.choice(share(scene, split, 5)).format(**slots) for scene in rng.choice(_PLOTS)]
    return " ".join(sentences)
