"""The chosen token after an edit: the same one wherever it was left alone, else what stands in its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz.state.follow import followed


def tokens(text: str) -> list[bytes]:
    """`a| robot` as two tokens."""
    return [token.encode() for token in text.split("|")] if text else []


@pytest.mark.parametrize(
    ("before", "query", "now", "expected"),
    [
        ("a| robot| must", 1, "Now| a| robot| must", " robot"),  # in front
        ("a| robot| must", 1, "a| big| robot| must", " robot"),  # right in front
        ("a| robot| must", 1, "a| robot| must| obey", " robot"),  # behind
        ("a| robot| must", 1, "a| robot| of| must", " robot"),  # right behind
        ("Now| a| robot", 2, "a| robot", " robot"),  # taken away
        ("<start>|a| robot", 2, "a| robot", " robot"),
        ("a| robot", 1, "<start>|a| robot", " robot"),
        ("robot| must", 0, "The| robot| must", " robot"),  # the edit cuts what stands beside it into other tokens
        ("robot| must", 0, "Tro|bot| must", "bot"),
        ("a| robot| must", 1, "a| robots| must", " robots"),
        ("a| robot| must", 1, "a| robo| must", " robo"),
        ("a| robot| must", 1, "a| rob|ots| must", "ots"),
        ("a| robot| must", 1, "a| rob| x|ot| must", "ot"),
        ("Super|cali| must", 2, "S|up|er|ca|li| must", " must"),  # the same text in other tokens
        ("a| robot| must", 1, "a| dog| must", " dog"),  # something else in its place
        ("a| robot| must", 1, "a| big| dog| must", " dog"),
        ("a| robot| must", 1, "a| must", " must"),  # nothing: the space that it leaves
        ("a| robot| must", 2, "a| robot", " robot"),
        ("a| robot", 0, " robot", " robot"),
        ("a|a|a", 1, "a|a|a|a", "a"),
    ],
)
def test_where_the_chosen_token_is(before: str, query: int, now: str, expected: str) -> None:
    assert tokens(now)[followed(query, tokens(before), tokens(now))].decode() == expected


# Pieces of a text in which no byte comes twice, so that there is one way only to see what was edited.
PIECES = st.lists(st.integers(1, 3), min_size=1, max_size=12).map(
    lambda sizes: [bytes(range(sum(sizes[:i]), sum(sizes[: i + 1]))) for i in range(len(sizes))]
)
OTHERS = st.lists(st.binary(min_size=1, max_size=3).map(lambda raw: bytes(128 | byte for byte in raw)), max_size=4)


@given(PIECES, OTHERS, st.data())
def test_an_edit_beside_the_token_leaves_it_and_one_over_it_has_it(
    before: list[bytes], put: list[bytes], data: st.DataObject
) -> None:
    query = data.draw(st.integers(0, len(before) - 1))
    first = data.draw(st.integers(0, len(before)))
    last = data.draw(st.integers(first, len(before)))
    now = before[:first] + put + before[last:]
    there = followed(query, before, now)
    if query < first:
        assert there == query
    elif query >= last:
        assert there == query + len(now) - len(before)
    elif put:
        assert first <= there < first + len(put)
    elif now:
        assert there == max(first - 1, 0)


ANY = st.lists(st.binary(min_size=1, max_size=3), max_size=8)


@given(ANY, ANY, st.integers(-2, 10))
def test_any_texts_have_a_token_for_it(before: list[bytes], now: list[bytes], query: int) -> None:
    there = followed(query, before, now)
    if query in range(len(before)) and now:
        assert there in range(len(now))
    else:
        assert there == query
    assert followed(query, before, before) == query
