"""Sentences about who must obey whom: robots, soldiers, servants, and the orders given them."""

import random

from model.training.coreference import a, capital
from model.training.lexicon import Lexicon, Split, share
from model.training.words import COMMANDS, MASTERS, ORDINALS, word_list

# Who must obey, and what each is typically told to do: the orders after the pronoun depend on whom it stands for.
_MACHINES = {
    "robot": ("lift the box", "carry the stone", "clean the factory"),
    "computer": ("add the numbers", "print the list", "store the file"),
    "machine": ("stop", "start again", "cut the steel"),
    "android": ("walk to the door", "speak", "shake hands"),
    "drone": ("fly over the hill", "land", "take a picture"),
    "program": ("count the words", "print the list", "end"),
    "engine": ("start", "pull the train", "stop"),
    "ship": ("sail home", "turn to the west", "leave the harbour"),
    "dog": ("fetch the ball", "sit", "guard the sheep"),
    "horse": ("pull the cart", "jump over the fence", "stand still"),
    "train": ("stop at the station", "wait", "leave the station"),
    "car": ("turn left", "stop", "drive home"),
}
_PEOPLE = {
    "soldier": ("march", "hold the bridge", "put down the gun"),
    "servant": ("bring the tea", "light the fire", "open the door"),
    "worker": ("dig a hole", "build a wall", "mend the road"),
    "guard": ("lock the gate", "watch the prison", "open the cell"),
    "pilot": ("land the plane", "fly lower", "turn back"),
    "driver": ("stop the bus", "drive slowly", "turn left"),
    "student": ("read the book", "learn the words", "write the test"),
    "child": ("go to bed", "eat the soup", "wash"),
    "sailor": ("raise the sail", "clean the deck", "row the boat"),
    "clerk": ("type the letter", "file the papers", "copy the list"),
    "prisoner": ("stay in the cell", "stand up", "eat"),
    "cook": ("make the soup", "bake a cake", "cut the onions"),
}
# fmt: off
_TASKS = (
    "open the door", "close the gate", "carry the water", "clean the room", "stop the car", "bring the letter",
    "wait", "stand still", "count the boxes", "turn on the light", "put out the fire", "go home", "lift the stone",
    "follow the road", "wash the dishes", "keep the secret", "guard the house", "cut the grass", "cross the bridge",
)
# fmt: on
_VERBS = ("picked up", "carried", "moved", "dropped", "brought", "found", "hid", "pushed", "took", "washed")
_BURDENS = word_list("box bag stone basket cup key book chair lamp bottle plate hammer")

# {m} who must obey, {o} its pronoun as object, {p} as subject, {s} possessive, {h} who commands, {c} what is commanded.
_FORMS = (
    "{Am} must obey the {c} given {o} by {h} except where such {c} would conflict with the {n} Law.",
    "{Am} must obey the {c} given {o} by {h}. The {m} may refuse only where such {c} would break the {n} Law.",
    "{Am} shall follow the {c} given {o} by {h}, unless those {c} would harm somebody.",
    "The {m} obeyed the {c} given {o} by the {h}, and {p} was proud of {s} work.",
    "No {m} may ignore the {c} given {o} by {h}. That is the {n} Law, and every {m} knows the {n} Law.",
    "{Am} must protect {self} as long as the {c} given {o} by {h} do not conflict with this rule.",
    "When {h} give {c} to {am}, {p} must obey them. The {m} must {t} when {p} is told to {t}.",
    "The {h} gave {am} {c}. {P} was told to {t}, so the {m} had to {t}.",
    "The {c} of the {h} were clear. The {m} heard them, and {p} obeyed. {P} began to {t}.",
    "The {m} was told to {t}. {P} did not want to {t}, but {p} had to obey the {h}.",
    '"{Ct}," said the {h} to the {m}. {P} obeyed, because {am} must obey the {c} given {o}.',
    "The {n} Law says that {am} must obey {h}. The {m} knew the {n} Law, so {p} obeyed.",
    "{Am} will not obey {c} that would harm {h}. {P} must not hurt them, whatever {c} are given {o}.",
    "If the {h} ask the {m} to {t}, {p} must {t}. If they ask {o} to stop, the {m} must stop.",
    "What must {am} do? {P} must obey the {c} given {o} by {h}.",
    "Who gave the {m} {s} {c}? The {h} did. {P} must obey them.",
    "{Am} was given {c} by {h}. The {c} told {o} to {t}. The {m} obeyed.",
    "Every {m} has to do what {h} say. If they tell {o} to {t}, {p} has to {t}.",
    "The {c} given to the {m} by {h} were hard to follow, but {p} tried. In the end the {m} could {t}.",
    "Such {c} would conflict with the {n} Law, and {am} must not break the {n} Law, even where {h} want {o} to.",
    "{Am} must obey the {c} given {o} by {h}. They can make {o} {t}.",
    "The {c} were given to the {m} by {h}. They made {o} {t}.",
    "The {h} saw the {m} and let {o} {t}. The {m} began to {t}.",
    "The {m} stood before the {h}, and their {c} made {o} {t}.",
    "The {h} had {c} for the {m}. First they made {o} {t}, and then they let {o} go.",
)
# Two who must obey, {x} and {y} in any order; {o} {p} {t} one of them and its task, {o2} {p2} {t2} the other's.
_PAIRS = (
    "The {h} called {ax} and {ay}. They made {o} {t}.",
    "{Ax} and {ay} stood before the {h}. They told {o} to {t}, and they told {o2} to {t2}.",
    "{Ax} and {ay} got {c} from {h}. The {c} made {o} {t} and {o2} {t2}.",
    "The {x} and the {y} must obey {h}. If they are told to, {p} must {t}, and {p2} must {t2}.",
    "The {h} gave {c} to the {x} and to the {y}. They made {o} {t}. Then they made {o2} {t2}.",
    "{Ax} works with {ay}. The {h} made {o} {t}, because only the {m} could {t}.",
    "The {h} did not need the {x} and the {y} any more. They let {o} {t} for the last time.",
    "Both {ax} and {ay} must obey the {c} given them by {h}. These {c} made {o} {t}.",
    "The {x} waited for the {y}. Then the {h} came and made {o} {t}, so the {m} had to {t}.",
    "The {h} want the {x} and the {y} to work. They have {o} {t}, and they have {o2} {t2}.",
)
_REASONS = (
    "The {m} {v} the {k} because {p} was {w} to. The {m} always did as {p} was {w}.",
    "The {m} {v} the {k} because {p} had been {w} to do so by the {h}.",
    "The {m} {v} the {k}. {P} was {w} to by the {h}.",
    "Why did the {m} take the {k}? {P} was {w} to take the {k}.",
    "The {m} {v} the {k} when {p} heard the {c} of the {h}.",
    "The {m} {v} the {k}, since {p} was {w} to. The {k} was heavy.",
    "The {m} {v} the {k} because the {h} had {w} {o} to. Then the {m} went back to {s} place.",
    "Because {p} was {w} to, the {m} {v} the {k}.",
    "The {m} was {w} to find the {k}. {P} looked everywhere, and then {p} found the {k} under a table.",
    "The {h} {w} the {m} to bring the {k}, and {p} brought the {k} to them.",
)


def law_text(rng: random.Random, _: Lexicon, split: Split) -> str:
    """One to three sentences about somebody who must obey."""
    text = _pair(rng, split) if rng.random() < 0.25 else _single(rng, split)
    return text.replace("the human beings", "human beings").replace("The human beings", "Human beings")


def _pair(rng: random.Random, split: Split) -> str:
    """A text about a machine and a person who must obey."""
    machine, person = rng.choice(list(_MACHINES)), rng.choice(list(_PEOPLE))
    his = rng.choice((("him", "he"), ("her", "she")))
    sides = [(machine, ("it", "it"), rng.choice(_MACHINES[machine])), (person, his, rng.choice(_PEOPLE[person]))]
    rng.shuffle(sides)
    (x, _, _), (y, _, _) = sides
    rng.shuffle(sides)
    (m, (o, p), t), (_, (o2, p2), t2) = sides
    h = rng.choice([master for master in MASTERS if master.rstrip("s") != person])
    return rng.choice(share(_PAIRS, split, 5)).format(
        x=x,
        y=y,
        ax=a(x),
        ay=a(y),
        Ax=capital(a(x)),
        m=m,
        o=o,
        p=p,
        t=t,
        o2=o2,
        p2=p2,
        t2=t2,
        h=h,
        c=rng.choice(COMMANDS),
    )


def _single(rng: random.Random, split: Split) -> str:
    """A text about one who must obey."""
    machine = rng.random() < 0.75
    kinds = _MACHINES if machine else _PEOPLE
    m = "robot" if machine and rng.random() < 0.35 else rng.choice(list(kinds))
    o, p, s, own = (
        ("it", "it", "its", "itself")
        if machine
        else rng.choice((("him", "he", "his", "himself"), ("her", "she", "her", "herself")))
    )
    h = "human beings" if rng.random() < 0.3 else rng.choice([master for master in MASTERS if master.rstrip("s") != m])
    form = rng.choice(share(_FORMS if rng.random() < 0.7 else _REASONS, split, 5))
    t = rng.choice(_TASKS if rng.random() < 0.3 else kinds[m])
    return form.format(
        m=m,
        am=a(m),
        Am=capital(a(m)),
        o=o,
        p=p,
        P=capital(p),
        s=s,
        self=own,
        h=h,
        c=rng.choice(COMMANDS),
        n=rng.choice(ORDINALS),
        t=t,
        Ct=capital(t),
        v=rng.choice(_VERBS),
        k=rng.choice(_BURDENS),
        w=rng.choice(("told", "ordered", "asked", "told", "ordered")),
    )
