"""The token strip's numbers and sentences, as `words.js` itself writes them."""

from __future__ import annotations

import json

import pytest

from tests.javascript.scripts import called
from viz.components.strip_words import strip_words

WORDS = "token_strip/words.js"


@pytest.fixture(scope="module")
def words() -> dict[str, object]:
    """What the functions say, asked in one run of Node."""
    expressions = {
        "percents": "[0, 1e-5, 0.0003, 0.00046, 0.004, 0.0107, 0.18, 0.5, 0.9949, 1].map(w => percent(w, 1))",
        "rounded": "[0, 0.0001, 0.001, 0.5].map(w => percent(w, 1000))",
        "exact": "[0, 1e-9, 0.0107, 0.5].map(w => exact(w, 1, SAID))",
        "about": "[0.12345, 0.5].map(w => exact(w, 3000, SAID))",
        "quotes": "['·it', 'x'.repeat(19), '👩‍👩‍👧‍👦'.repeat(18)].map(quote)",
        "isolated": "isolate('שלום')",
        "favourites": "[[0.1, 0.7, 0.2], [0.9, 0.05, 0.05], [1], [0.2, 0.2, 0.6]].map(row => favourites(row, 1))",
        "looks": """[[[1], 0], [[0.3, 0.5, 0.2], 2], [[0.9, 0.05, 0.05], 2], [[0.2, 0.2, 0.2, 0.2, 0.2], 1]]
          .map(([row, query]) => describeLook(row, query, 1, SAID))""",
        "scaled": "describeLook([100, 900], 1, 1000, SAID)",
        "parts": "[['a', 'b'], ['⟨E6⟩⟨A9⟩', '⟨9F⟩'], ['⟨F0⟩⟨9F⟩'], ['⟨C2⟩', '⟨AD⟩']].map(part => sayParts(part, SAID))",
        "is_part": "['⟨E6⟩', '<E6>', '⟨e6⟩', 'a⟨FF⟩'].map(isPart)",
    }
    said = json.dumps(strip_words("token"))
    whole = ", ".join(f"{name}: {expression.replace('SAID', said)}" for name, expression in expressions.items())
    found: dict[str, object] = called(WORDS, f"{{{whole}}}")
    return found


def test_a_weight_is_a_short_percentage_and_what_is_not_nothing_is_not_rounded_to_it(words) -> None:
    assert words["percents"] == ["0%", "<0.01%", "0.03%", "0.05%", "0.4%", "1%", "18%", "50%", "99%", "100%"]
    assert words["rounded"] == ["<0.05%", "<0.05%", "0.1%", "50%"]  # a rounded 0 may have been half a step


def test_the_pointer_says_as_many_digits_as_the_weight_has(words) -> None:
    assert words["exact"] == ["0%", "1.000e-7%", "1.070%", "50.00%"]
    assert words["about"] == ["about 12.35%", "about 50.00%"]


def test_a_quoted_label_is_cut_by_characters_as_a_person_counts_them(words) -> None:
    assert words["quotes"] == ["·it", "x" * 17 + "…", "👩‍👩‍👧‍👦" * 18]
    assert words["isolated"] == "\u2068שלום\u2069"


def test_the_two_favourites_are_the_largest_and_a_crumb_is_not_named(words) -> None:
    first, alone, only, last = words["favourites"]  # type: ignore[misc]
    assert [found["at"] for found in first] == [1, 2]
    assert [found["weight"] for found in first] == [0.7, 0.2]
    assert [[found["at"] for found in row] for row in (alone, only, last)] == [[0], [0], [2, 0]]


def test_what_a_head_looks_at_is_told_with_places_and_shares(words) -> None:
    single, mostly, one, widely = words["looks"]  # type: ignore[misc]
    assert single == ["can look only at itself (100%)"]
    assert mostly == [
        "looks mostly at ", "2\u00a0", {"token": 1}, "\u00a0(50%)", " and ", "1\u00a0", {"token": 0}, "\u00a0(30%)",
    ]  # fmt: skip
    assert one == ["looks mostly at ", "1\u00a0", {"token": 0}, "\u00a0(90%)"]
    assert widely[0] == "looks widely, most at "
    assert "itself" in widely
    assert words["scaled"] == ["looks mostly at ", "itself", "\u00a0(90%)"]


def test_tokens_that_are_parts_of_a_character_are_explained_and_named_where_it_is_whole(words) -> None:
    rest = ", which this vocabulary spells in several tokens."
    assert words["parts"] == [
        "",
        f"⟨E6⟩⟨A9⟩ is only a part of the character “\u2068機\u2069”{rest}",
        f"⟨F0⟩⟨9F⟩ is only a part of a character{rest}",
        f"⟨C2⟩ is only a part of the character U+00AD{rest}",
    ]
    assert words["is_part"] == [True, False, False, True]
