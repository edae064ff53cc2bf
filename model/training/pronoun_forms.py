"""The sentence forms in which a pronoun stands for one of two candidates."""

# {u} and {v} are the candidates in their order, {p} the pronoun ({o} as object); see coreference.fill for the rest.
# One form in five is held out.

# A pair joined by "and" is itself a plural, so these are not for `they`.
PAIR = (
    "I saw {u} and {v} yesterday. {P} {d}.",
    "We talked about {u} and {v}. {P} {d}.",
    "Do you remember {u} and {v}? {P} {d}.",
    "This is a story about {u} and {v}. {P} {d}.",
    "{U} and {v} were in the {place}. {P} {d}.",
    "In the {place} we found {u} and also {v}. {P} {d}.",
    "I dreamed of {u} and {v}. {P} {d}, and then I woke up.",
    "Here are {u} and {v}. {P} {d} only yesterday.",
    "There {uw} {u}, and there {vw} {v}. {P} {d}.",
    "Everybody in the {place} knew {u} and {v}. {P} {d}.",
)
ACTING_PAIR = (
    "{U} and {v} went to the {place}. {P} {d}.",
    "{U} and {v} were friends. {P} {d}.",
    "{U} and {v} lived in the {place}. {P} {d}, and {b} {e}.",
    "When {u} and {v} came to the {place}, {p} {d}.",
    "{U} and {v} waited in the {place}. {P} {d}.",
    "{U} and {v} came home late. {P} {d}.",
    "{U} and {v} were in the {place} all day. In the evening {p} {d}.",
    "{U} and {v} arrived at the same time. {P} {d}, but {b} only watched.",
    "After {u} and {v} had left the {place}, {p} {d}.",
    "{U} and {v} sat in the {place}. {P} {d}.",
)
ANY = (
    "In the {place} {uw} {u}, not far from {v}. {P} {d}.",
    "{U} {uw} near {v}. {P} {d}.",
    "{U} {uw} not far from {v} when {p} {d}.",
    "Here is a picture of {u} with {v}. {P} {d}.",
    "First came {u}, then came {v}. {P} {d}.",
    "In those days {u} {uw} in the {place}, next to {v}. {P} {d}.",
    "{U} came to the {place} after {v}, and everybody was surprised when {p} {d}.",
    "Everybody talked about {u}, and nobody about {v}. {P} {d}.",
    "They told me about {u} before they told me about {v}. {P} {d}.",
    "{U} {uw} in front of {v}. {P} {d}.",
)
ABOUT = (  # the pronoun as object
    "{U} {uw} near {v}. I saw {o} when {a} {d}.",
    "First came {u}, and after that {v}. We liked {o}, because {a} {d}.",
    "Do you know {u}, or only {v}? I know {o} well. {A} {d}.",
    "In the {place} {uw} {u}, not far from {v}. Everybody looked at {o} when {a} {d}.",
    "{U} came to the {place} before {v}. Nobody had seen {o} before. {A} {d}.",
)
SUBJECT = (  # the first can act
    "{U} saw {v}. {P} {d}.",
    "{U} looked at {v} in the {place}. {P} {d}.",
    "{U} found {v} in the {place}. {P} {d}.",
    "{U} liked {v} very much. {P} {d}.",
    "{U} ran to {v}. Then {p} {d}.",
    "When {u} came near {v}, {p} {d}.",
    "{U} walked past {v}. {P} {d}.",
    "{U} {uw} afraid of {v}. {P} {d}.",
    "{U} stood behind {v} while {p} {d}.",
    "After {u} had passed {v}, {p} {d}.",
    "{U} did not see {v}, but {p} {d}.",
    "{U} waited for {v} in the {place}. At last {p} {d}.",
    "{U} heard {v} in the night. In the morning {p} {d}.",
    "One day {u} met {v}. {P} {d}.",
    "{U} wanted to see {v} again. {P} {d}.",
)
OBJECT = (  # the second can act
    "{U} {uw} seen by {v}. {P} {d}.",
    "{U} {uw} found by {v} in the {place}. {P} {d}.",
    "As for {u}, nobody knew more than {v}. {P} {d}.",
    "{U} {uw} well known to {v}. {P} {d}.",
    "Because of {u}, {v} could not sleep. {P} {d}.",
    "{U} {uw} behind {v}, and {p} {d}.",
    "Not far from {u} {v} stood still. {P} {d}.",
    "{U} {uw} far away from {v}. {P} {d}.",
    "Without {u}, {v} felt lonely. {P} {d}.",
    "{U} {uw} watched by {v} all day. {P} {d}.",
)
BOTH = (  # both can act
    "{U} followed {v} to the {place}. There {p} {d}.",
    "{U} ran after {v}. Then {p} {d}.",
    "{U} lived with {v} in the {place}. {P} {d}.",
    "{U} waited until {v} came. {P} {d}.",
    "{U} sat down beside {v}. {P} {d}.",
    "{U} helped {v}. After that {p} {d}.",
    "{U} {uw} stronger than {v}. {P} {d}.",
    "{U} could not sleep, because {v} {vw} so loud. At last {p} {d}.",
    "{U} had lost {v} in the {place}. Suddenly {p} {d}.",
    "{U} said goodbye to {v}. {P} {d}.",
)
TAILS = (
    "",
    "",
    "",
    ' "{who} {d}?" asked the child. "{A}."',
    " I mean {a}, not {b}.",
    " Then {b} {e}.",
    " {Q} {e}.",
    " And then {q} {e}.",
    " {B} only watched.",
    " Everyone looked at {a}.",
    " {B} never forgot {a}.",
    " That was all that {a} did.",
    " The next day {a} came back to the {place}.",
    " {A} did not see {b} again.",
    ' "Look at {a}!" said the teacher.',
)
