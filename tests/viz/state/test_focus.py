"""The focus: kept in a link and read back, clamped, and never upset by what a link says."""

from __future__ import annotations

import base64
import dataclasses
import re
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz.state.focus import LAST, MAX_CHARACTERS, MEAN, Focus, clean_text, head_name

# The type check of a Focus looks at an item of `compare` picked at random.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")

DEFAULT = Focus("headlight-mini", "A robot must obey.", head=(2, 3), query=4, compare=((1, 1),), start_token=True)
HEADS = st.tuples(st.integers(0, 99), st.integers(0, 99))
FOCUSES = st.builds(
    Focus,
    model=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
    text=st.text(max_size=200).map(clean_text),
    head=HEADS,
    query=st.integers(0, 10_000),
    compare=st.lists(HEADS | st.tuples(st.integers(0, 99), st.just(MEAN)), min_size=1, max_size=3).map(tuple),
    start_token=st.none() | st.booleans(),
    special=st.booleans(),
    second=st.none() | st.text(max_size=200).map(clean_text),
    by_word=st.booleans(),
    without_first=st.booleans(),
)


def _read(**params: str) -> tuple[Focus, list[str]]:
    return Focus.from_params(params, DEFAULT)


def _packed(raw: bytes) -> str:
    return base64.urlsafe_b64encode(zlib.compress(raw, 9)).decode()


# --- there and back ------------------------------------------------------------------------------------------------


@given(FOCUSES)
def test_a_link_reopens_the_same_view(focus):
    assert Focus.from_params(focus.to_params(), DEFAULT) == (focus, [])


@given(st.text(min_size=1_001, max_size=3_000).map(clean_text), st.none() | st.booleans())
def test_a_link_with_a_long_text_too(text, start_token):
    focus = dataclasses.replace(DEFAULT, text=text, start_token=start_token)
    params = focus.to_params()
    assert len(params.keys() & {"text", "textz"}) == 1
    assert Focus.from_params(params, DEFAULT) == (focus, [])


def test_how_a_link_is_written():
    assert DEFAULT.to_params() == {
        "model": "headlight-mini",
        "layer": "2",
        "head": "3",
        "query": "5",
        "compare": "L1H1",
        "start": "1",
        "text": "A robot must obey.",
    }
    assert DEFAULT.with_start_token(False).to_params() == DEFAULT.to_params() | {"start": "0"}
    assert "start" not in dataclasses.replace(DEFAULT, start_token=None).to_params()  # as the model wants it
    assert DEFAULT.with_special(True).to_params() == DEFAULT.to_params() | {"special": "1"}
    read = DEFAULT.with_reading(by_word=True).with_reading(without_first=True)
    assert read.to_params() == DEFAULT.to_params() | {"words": "1", "hide": "1"}
    assert read.with_reading(by_word=False, without_first=False) == DEFAULT


def test_a_text_up_to_1000_bytes_is_readable_in_the_link():
    assert DEFAULT.with_text("é" * 500).to_params()["text"] == "é" * 500
    assert "textz" in DEFAULT.with_text("é" * 500 + "x").to_params()


def test_a_long_text_is_compressed():
    focus = DEFAULT.with_text("A robot must obey the orders given it. " * 400)
    params = focus.to_params()
    assert "text" not in params
    assert len(params["textz"]) < 500
    assert re.fullmatch(r"[A-Za-z0-9_=-]+", params["textz"])
    assert Focus.from_params(params, DEFAULT) == (focus, [])


@pytest.mark.parametrize("char", ["x", "é", "橩", "🤖"])
def test_the_longest_text_fits_into_a_link(char):
    focus = DEFAULT.with_text(char * MAX_CHARACTERS)
    assert Focus.from_params(focus.to_params(), DEFAULT) == (focus, [])


def test_a_text_that_would_make_the_link_too_long_stays_out():
    noise = "".join(chr(0x4E00 + (n * n * 7919) % 20_000) for n in range(MAX_CHARACTERS))
    params = DEFAULT.with_text(noise).to_params()
    assert not params.keys() & {"text", "textz"}
    assert sum(map(len, params.values())) < 16_000
    read, notices = Focus.from_params(params, DEFAULT)
    assert (read.text, read.head, notices) == (DEFAULT.text, DEFAULT.head, [])


# --- what a link lacks ---------------------------------------------------------------------------------------------


def test_an_empty_link_is_the_default():
    assert _read() == (DEFAULT, [])


def test_a_link_with_nothing_but_a_text():
    """The default's token and start token belong to the default's text."""
    for params in ({"text": "Hello"}, {"textz": _packed(b"Hello")}):
        assert _read(**params) == (dataclasses.replace(DEFAULT, text="Hello", query=LAST, start_token=None), [])


def test_a_link_with_an_empty_text():
    assert _read(text="")[0].text == ""


def test_text_goes_before_textz():
    assert _read(text="one", textz=_packed(b"two"))[0].text == "one"


def test_what_a_link_does_not_say_comes_from_the_default():
    assert _read(layer="7") == (dataclasses.replace(DEFAULT, head=(7, 3)), [])
    assert _read(compare="L0H9", query="1") == (dataclasses.replace(DEFAULT, compare=((0, 9),), query=0), [])
    assert _read(start="0") == (dataclasses.replace(DEFAULT, start_token=False), [])
    assert _read(words="1", hide="0") == (DEFAULT.with_reading(by_word=True), [])


# --- what a link says wrongly --------------------------------------------------------------------------------------


@pytest.mark.parametrize("raw", ["nan", "", "1.5", "1e3", "९", "0x1", " 1", "1\n", "9" * 10, "--1", "None"])
@pytest.mark.parametrize("name", ["layer", "head", "query"])
def test_a_number_that_is_none(name, raw):
    focus, notices = _read(**{name: raw})
    assert focus == DEFAULT
    assert notices == [f"The link's {name} is not a whole number; another one is shown instead."]


@pytest.mark.parametrize("raw", ["yes", "", "2", "1\n", "true", "<script>"])
@pytest.mark.parametrize(
    ("name", "field"),
    [("start", "start_token"), ("special", "special"), ("words", "by_word"), ("hide", "without_first")],
)
@pytest.mark.parametrize("on", [False, True])
def test_a_switch_that_is_neither_on_nor_off(name, field, raw, on):
    default = dataclasses.replace(DEFAULT, **{field: on})
    focus, notices = Focus.from_params({name: raw}, default)
    assert focus == default
    assert notices == [f"The link's {name} is neither 0 nor 1; it is left out."]


BAD_HEADS = ["xx", "", "0,1", "L0", "H1", "l0h1", "L-1H0", "L0H1x", "L99999H0", "L0H1\n", "L٣H1", "L0meanH1", "Lmean"]


@pytest.mark.parametrize("raw", BAD_HEADS)
def test_heads_to_compare_that_are_none(raw):
    focus, notices = _read(compare=raw)
    assert focus == DEFAULT
    assert notices == ["The link's heads to compare are not written like L0H1,L2H3; others are shown instead."]


def test_heads_to_compare_are_read_as_far_as_they_are_some():
    assert _read(compare="L0H9") == (DEFAULT.with_compare((0, 9)), [])  # one head: how links were written before
    assert _read(compare="L0H1,L2mean,L3H4") == (DEFAULT.with_compare((0, 1), (2, MEAN), (3, 4)), [])
    focus, notices = _read(compare="L0H1,<b>,L3H4")
    assert focus == DEFAULT.with_compare((0, 1), (3, 4))
    assert notices == ["Not all of the link's heads to compare are written like L0H1; the others are left out."]
    focus, notices = _read(compare="L0H1,L0H2,L0H3,L0H4,L0H5")
    assert focus == DEFAULT.with_compare((0, 1), (0, 2), (0, 3))
    assert notices == ["The link names 5 heads to compare with; the first 3 are shown."]


@pytest.mark.parametrize("heads", [(), ((0, 1),) * 4])
def test_no_more_and_no_fewer_heads_to_compare(heads):
    with pytest.raises(ValueError, match="one to 3 can stand beside the first"):
        DEFAULT.with_compare(*heads)


def test_the_second_text():
    """A link with a text of its own and no second one shows that text beside itself."""
    pair = DEFAULT.with_second("A robot may obey.")
    assert pair.to_params()["second"] == "A robot may obey."
    assert Focus.from_params({}, pair)[0].second == "A robot may obey."
    assert Focus.from_params({"text": "Hello"}, pair)[0].second is None
    assert Focus.from_params({"secondz": "damaged"}, pair) == (
        DEFAULT,
        ["The link's second text is damaged; the first one is shown beside itself."],
    )
    long = "".join(chr(0x4E00 + (n * n * 7919) % 20_000) for n in range(4_000))
    both = DEFAULT.with_text(long).with_second(long[::-1])
    assert both.to_params().keys() & {"textz", "secondz"} == {"textz"}  # no room for both: the first goes first
    assert DEFAULT.with_second("a\r\n\ud800").second == "a\n\ufffd"


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param("", id="empty"),
        pytest.param("damaged", id="no base64"),
        pytest.param("é" * 9, id="no ASCII"),
        pytest.param(base64.urlsafe_b64encode(b"not zlib").decode(), id="no zlib"),
        pytest.param(_packed(b"A robot must obey" * 99)[:-8], id="cut short"),
        pytest.param(_packed(b"\0" * 50_000_000), id="a bomb of 50 MB"),
        pytest.param(_packed(b"x" * (4 * MAX_CHARACTERS + 2)), id="longer than any text"),
    ],
)
def test_a_packed_text_that_is_damaged(raw):
    focus, notices = _read(textz=raw)
    assert focus.text == DEFAULT.text
    assert notices == ["The link's text is damaged; another one is shown instead."]


def test_a_bomb_is_not_unpacked(monkeypatch):
    """However much the link claims to hold, no more than the longest text is made of it."""
    made = []
    real = zlib.decompressobj

    class Watched:
        def __init__(self):
            self.inner = real()

        def decompress(self, data: bytes, limit: int) -> bytes:
            out = self.inner.decompress(data, limit)
            made.append(len(out))
            return out

        @property
        def eof(self) -> bool:
            return self.inner.eof

    monkeypatch.setattr(zlib, "decompressobj", Watched)
    _read(textz=_packed(b"\0" * 50_000_000))
    assert made == [4 * MAX_CHARACTERS + 1]


def test_bytes_that_are_no_text_become_replacement_characters():
    assert _read(textz=_packed(b"a\xffb"))[0].text == "a\ufffdb"


NAMES = [*DEFAULT.to_params(), "textz", "second", "secondz", "words", "hide", "other"]
LINKS = st.dictionaries(st.sampled_from(NAMES), st.text(max_size=30) | st.integers().map(str))


@given(LINKS)
def test_no_link_fails_and_whatever_it_says_can_be_shown(params):
    focus, notices = Focus.from_params(params, DEFAULT)
    shown = focus.clamped(n_layers=6, n_heads=4, n_pos=9)
    assert 0 <= shown.layer < 6
    assert 0 <= shown.head[1] < 4
    assert 0 <= shown.query < 9
    assert all(0 <= layer < 6 and MEAN <= head < 4 for layer, head in shown.compare)
    assert all(notices)
    again, none = Focus.from_params(dataclasses.replace(shown, model="m").to_params(), DEFAULT)
    assert (again, none) == (dataclasses.replace(shown, model="m"), [])


# --- clamping ------------------------------------------------------------------------------------------------------


def test_a_focus_within_the_ranges_stays_as_it_is():
    assert DEFAULT.clamped(n_layers=3, n_heads=4, n_pos=5) == DEFAULT
    assert DEFAULT.clamped(n_layers=3, n_heads=4, n_pos=5).correction(DEFAULT, DEFAULT.to_params()) == []


def test_a_model_with_fewer_layers_and_heads_and_a_shorter_text():
    wanted = DEFAULT.with_head(layer=999, head=-1).with_compare((5, 5), (0, 1), (7, MEAN)).with_query(30)
    shown = wanted.clamped(n_layers=2, n_heads=3, n_pos=4)
    assert (shown.head, shown.compare, shown.query) == ((1, 0), ((1, 2), (0, 1), (1, MEAN)), 3)
    assert shown.correction(wanted, wanted.to_params()) == [
        "There is no head L999H-1 in this model; L1H0 is shown.",
        "There is no second head L5H5 in this model; L1H2 is shown.",
        "There is no fourth head L7mean in this model; L1mean is shown.",
        "There is no token 31 in this text; token 4 is shown.",
    ]


def test_a_correction_is_told_only_of_what_the_link_asked_for():
    wanted = DEFAULT.with_head(layer=9, head=9).with_compare((5, 5)).with_query(30)
    shown = wanted.clamped(n_layers=1, n_heads=1, n_pos=1)
    assert shown.correction(wanted, {"model": "m", "text": "a"}) == []
    no_head = "There is no head L9H9 in this model; L0H0 is shown."
    assert shown.correction(wanted, {"layer": "9"}) == shown.correction(wanted, {"head": "9"}) == [no_head]
    second = "There is no second head L5H5 in this model; L0H0 is shown."
    assert shown.correction(wanted, {"compare": "L5H5"}) == [second]
    assert shown.correction(wanted, {"query": "31"}) == ["There is no token 31 in this text; token 1 is shown."]
    in_layer = DEFAULT.with_head(layer=0, head=9)
    assert in_layer.clamped(n_layers=1, n_heads=1, n_pos=9).correction(in_layer, {"layer": "0"}) == []


def test_a_text_without_tokens_has_query_0():
    assert DEFAULT.clamped(n_layers=9, n_heads=9, n_pos=0).query == 0


@given(FOCUSES, st.integers(1, 50), st.integers(1, 50), st.integers(0, 50))
def test_clamping_twice_is_clamping_once(focus, n_layers, n_heads, n_pos):
    once = focus.clamped(n_layers=n_layers, n_heads=n_heads, n_pos=n_pos)
    assert once.clamped(n_layers=n_layers, n_heads=n_heads, n_pos=n_pos) == once
    assert (once.model, once.text, once.start_token) == (focus.model, focus.text, focus.start_token)


# --- changes -------------------------------------------------------------------------------------------------------


def test_every_change_makes_another_focus():
    assert DEFAULT.with_query(7).query == 7
    assert DEFAULT.with_head(layer=0).head == (0, 3)
    assert DEFAULT.with_head(head=0).head == (2, 0)
    assert DEFAULT.with_compare((0, 1), (2, 2)).compare == ((0, 1), (2, 2))
    assert DEFAULT.with_second("b").second == "b"
    assert DEFAULT.with_second("b").with_second(None) == DEFAULT
    assert DEFAULT.with_model("other").model == "other"
    assert DEFAULT.with_start_token(False).with_start_token(True) == DEFAULT != DEFAULT.with_start_token(False)
    assert DEFAULT.with_text("other").text == "other"
    assert (DEFAULT.layer, DEFAULT.query, DEFAULT.text) == (2, 4, "A robot must obey.")
    with pytest.raises(dataclasses.FrozenInstanceError):
        DEFAULT.query = 1  # type: ignore[misc]


def test_head_names():
    assert head_name((3, 7)) == "L3H7"
    assert head_name((3, MEAN)) == "L3mean"


# --- typed text ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("a\r\nb\rc\n", "a\nb\nc\n"),
        ("a\ud800b", "a\ufffdb"),
        ("\ud83e\udd16", "🤖"),
        ("\x00\t ", "\x00\t "),
        ("\ufeffa", "\ufeffa"),
        ("e\u0301 👩‍👩‍👧 עברית", "e\u0301 👩‍👩‍👧 עברית"),
        ("<|endoftext|>", "<|endoftext|>"),
    ],
)
def test_typed_text_is_kept_as_it_is_but_for_what_cannot_be_sent(typed, kept):
    assert clean_text(typed) == kept


@given(st.text())
def test_cleaning_twice_is_cleaning_once_and_the_result_can_be_sent(text):
    cleaned = clean_text(text)
    assert clean_text(cleaned) == cleaned
    assert cleaned.encode().decode() == cleaned


def test_a_text_beyond_the_limit_is_cut():
    assert clean_text("🤖" * (MAX_CHARACTERS + 5)) == "🤖" * MAX_CHARACTERS
