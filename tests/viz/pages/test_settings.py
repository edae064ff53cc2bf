"""Each page's own choices: in its link where they are not what the page starts with, and back again."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from model.heads.all_heads import MEASURES
from model.steps.block import STEPS
from tests.viz.decode import as_read, charts
from tests.viz.navigation import go_to
from viz.registry import PAGES
from viz.state.focus import Focus
from viz.state.settings import Setting, Sizes

OpenApp = Callable[..., AppTest]
TEXT = "a robot must obey a robot"
SIZES = Sizes(n_pos=6, d_vocab=50, n_layers=2, n_heads=3)
LINKS: list[tuple[str, dict[str, str]]] = [
    ("attention", {"matrices": "qkv"}),
    ("three_steps", {"step": "2", "mask": "0"}),
    ("three_steps", {"behind": "tokens"}),
    ("mask", {"masked": "1e10"}),
    ("generation", {"way": "sampled", "temperature": "0.7", "topk": "40", "topp": "0.95", "seed": "12", "logits": "1"}),
    ("block", {"part": "mlp_pre", "zoom": "blocks", "table": "1"}),
    ("compare", {"pair": "2-3"}),
    ("heads", {"find": "from", "others": "1", "sheet": "1", "measure": "entropy"}),
    ("heads", {"find": "to", "to": "5"}),
    ("change", {"rank": "mean", "later": "L1H2"}),
    ("lens", {"token": "9", "less": "average"}),
    ("weights", {"statistic": "mean"}),
]
# What is told of a damaged value, for every setting of every page.
ALLOWED = {
    "matrices": "one of weights, qkv",
    "step": "one of 1, 2, 3, all",
    "mask": "one of 1, 0",
    "behind": "one of weights, biases, tokens",
    "masked": "one of infinity, 1e10",
    "way": "one of greedy, sampled",
    "temperature": "a number from 0.1 to 2",
    "topk": "one of 0, 1, 2, 3, 5, 10, 20, 40, 100, 200, 500, 1000",
    "topp": "a number from 0.05 to 1",
    "seed": "a whole number from 0 to 9999",
    "logits": "one of 0, 1",
    "part": f"one of {', '.join(STEPS)}",
    "zoom": "one of numbers, blocks, heads",
    "table": "one of 0, 1",
    "pair": "one of all, 1-2, 1-3, 1-4, 2-3, 2-4, 3-4",
    "find": "one of both, from, to",
    "to": "a token of this text",
    "others": "one of 0, 1",
    "measure": f"one of {', '.join(entry.name for entry in MEASURES)}",
    "sheet": "one of 0, 1",
    "rank": "one of largest, mean",
    "later": "a head of this model",
    "token": "a token's id",
    "less": "one of nothing, average",
    "statistic": "one of farthest, mean, smallest, largest",
}
SETTINGS = {page.id: page.settings for page in PAGES.values() if page.settings}
EVERY = [setting for settings in SETTINGS.values() for setting in settings]
EACH = st.sampled_from(EVERY)


def open_page(open_app: OpenApp, page: str, **params: str) -> AppTest:
    here = {"text": TEXT, "query": "4", "model": "tiny", "compare": "L0H1,L1H2", "off": "L0H0:zero"}
    app = open_app(page, **(here | params)).run()
    assert not app.exception, app.exception
    assert not app.error, [error.value for error in app.error]
    return app


def told(app: AppTest, page: str) -> dict[str, str]:
    """What the address says of the page's settings."""
    return {one.param: app.query_params[one.param] for one in SETTINGS[page] if one.param in app.query_params}


@pytest.mark.parametrize(("page", "link"), LINKS, ids=lambda part: part if isinstance(part, str) else "-".join(part))
def test_a_link_brings_the_pages_choices_back(open_app: OpenApp, page: str, link: dict[str, str]) -> None:
    app = open_page(open_app, page, **link)
    assert not app.warning
    for setting in SETTINGS[page]:
        if setting.param in link:
            assert app.session_state[setting.key] == setting.read(link[setting.param], SIZES) != setting.default
        elif not setting.of_text:
            assert app.session_state[setting.key] == setting.default
    assert {name: value for name, value in told(app, page).items() if name in link or name != "to"} == link


def test_the_links_above_hold_every_setting() -> None:
    assert {name for _, link in LINKS for name in link} == {setting.param for setting in EVERY} == set(ALLOWED)


def test_no_two_choices_have_the_same_name() -> None:
    focus = Focus("m", "text", query=0, start_token=True, second="s", by_word=True, without_first=True)
    others = ["textz", "secondz", "written", "at", "off", "cut", "renorm", *focus.to_params()]
    names = [setting.param for setting in EVERY] + others
    assert len(set(names)) == len(names)
    assert len({setting.key for setting in EVERY}) == len(EVERY)


def test_a_choice_is_in_the_link_of_its_page_alone_and_kept(open_app: OpenApp) -> None:
    app = open_page(open_app, "three_steps")
    assert told(app, "three_steps") == {}
    app.segmented_control(key="three_step").set_value("3").run()
    app.toggle(key="three_mask").set_value(False).run()
    assert told(app, "three_steps") == {"step": "3", "mask": "0"}
    go_to(app, "mask")
    assert told(app, "three_steps") == {}
    go_to(app, "models")
    assert told(app, "three_steps") == {}
    go_to(app, "three_steps")
    assert told(app, "three_steps") == {"step": "3", "mask": "0"}
    assert set(charts(app)) == {"map", "sum"}
    app.segmented_control(key="three_step").set_value("1").run()
    assert told(app, "three_steps") == {"mask": "0"}


def test_a_token_that_was_chosen_in_a_text_goes_with_it(open_app: OpenApp) -> None:
    app = open_page(open_app, "heads", to="2", head="0", layer="0")
    assert told(app, "heads") == {"to": "2"}
    app.session_state["focus"] = app.session_state["focus"].with_text("another text")
    app.run()
    strongest = app.session_state["heads_key"] + 1
    assert told(app.run(), "heads") == {"to": str(strongest)}


@pytest.mark.parametrize("page", SETTINGS)
def test_a_damaged_link_is_left_out_and_named(open_app: OpenApp, page: str) -> None:
    here = {"text": TEXT, "query": "4", "model": "tiny", "layer": "0", "head": "0", "compare": "L0H1,L1H2"}
    app = open_app(page, **here, **{setting.param: "<b>" for setting in SETTINGS[page]})
    assert not app.exception, app.exception
    notices = [as_read(warning.value) for warning in app.warning]
    assert notices == [f"The link's {one.param} is not {ALLOWED[one.param]}; it is left out." for one in SETTINGS[page]]
    assert set(told(app, page)) <= {"to"}
    assert all(app.session_state[one.key] == one.default for one in SETTINGS[page] if not one.of_text)


def test_what_is_wrong_with_a_link_is_told_once(open_app: OpenApp) -> None:
    here = {
        "text": TEXT,
        "model": "tiny",
        "layer": "0",
        "head": "0",
        "compare": "L0H1",
        "way": "<b>",
        "temperature": "99",
        "topk": "4",
        "seed": "1.5",
    }
    app = open_app("generation", **here)
    words = [warning.value.replace("\\", "") for warning in app.warning]
    assert words == [
        "The link's way is not one of greedy, sampled; it is left out.",
        "The link's temperature is not a number from 0.1 to 2; it is left out.",
        "The link's topk is not one of 0, 1, 2, 3, 5, 10, 20, 40, 100, 200, 500, 1000; it is left out.",
        "The link's seed is not a whole number from 0 to 9999; it is left out.",
    ]
    assert not app.run().warning


@given(EACH, st.text(max_size=12) | st.integers(-10, 10**10).map(str) | st.floats().map(str))
def test_no_link_fails_and_what_is_read_is_written_again(setting: Setting, raw: str) -> None:
    value, notices = setting.from_params({setting.param: raw}, SIZES)
    assert bool(notices) == (setting.read(raw, SIZES) is None)
    again = setting.to_params(value)
    assert setting.from_params(again, SIZES) == (value, [])


@given(EACH, st.integers(0, 60))
def test_positions_ids_and_heads_stay_in_their_range(setting: Setting, number: int) -> None:
    kind = ALLOWED[setting.param]
    for raw in (str(number), f"L{number}H{number}"):
        value = setting.read(raw, SIZES)
        if kind == "a token of this text":
            assert value == (number - 1 if raw.isdigit() and 1 <= number <= SIZES.n_pos else None)
        elif kind == "a token's id":
            assert value == (number if raw.isdigit() and number < SIZES.d_vocab else None)
        elif kind == "a head of this model":
            there = not raw.isdigit() and number < min(SIZES.n_layers, SIZES.n_heads)
            assert value == ((number, number) if there else None)
        elif kind.startswith("one of"):
            assert (value is not None) == (raw in kind.removeprefix("one of ").split(", "))
        else:
            least, most = (float(word) for word in re.findall(r"[0-9.]+", kind))
            assert value == (number if raw.isdigit() and least <= number <= most else None)
