"""One token at a time: the iterations, the cache, the choice of the next token, and writing on."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.files.checkpoint import EMBEDDED, LoadedModel, load_model
from model.logits.generation import written
from model.logits.sampling import Sampling, choose, shortlist
from model.trace.trace import Trace, run_trace
from tests.models import N_REDUCED, make_config, random_network, write_checkpoint
from tests.viz.decode import array, charts, strip_data
from tests.viz.navigation import go_to
from viz.figures.blocks import strongest
from viz.pages.generation.controls import TOP_K
from viz.pages.generation.figures import cell_starts
from viz.state.writing import Writing

OpenApp = Callable[..., AppTest]
TEXT = "a robot must obey a robot"


def fine(app: AppTest) -> AppTest:
    assert not app.exception, app.exception
    assert not app.error, [error.value for error in app.error]
    return app


def open_page(open_app: OpenApp, **params: str) -> AppTest:
    return fine(open_app("generation", **{"text": TEXT, **params}))


def params(app: AppTest) -> dict[str, str]:
    """The address's parameters; AppTest holds a list where the app has written them."""
    return {name: held if isinstance(held, str) else held[0] for name, held in app.query_params.items()}


def words(app: AppTest) -> str:
    return " ".join(element.value for element in [*app.markdown, *app.caption]).replace("\\", "")


def press(app: AppTest, key: str) -> AppTest:
    app.button(key=key).click().run()
    while any(button.key == "gen_stop" for button in app.button):
        app.run()  # as the browser does while the model writes
    return fine(app)


def sampled(app: AppTest, **settings: object) -> AppTest:
    app.segmented_control(key="gen_way").set_value("sampled").run()
    for name, value in settings.items():
        kinds = {"seed": app.number_input, "top_k": app.select_slider}
        kinds.get(name, app.slider)(key=f"gen_{name}").set_value(value)
    app.run()
    return fine(app)


def trace_of(name: str) -> Trace:
    model = load_model(name)
    return run_trace(model.network, model.tokenizer.encode(TEXT))


def bars(app: AppTest, *, kept: bool) -> np.ndarray:
    found = [t for t in charts(app)["next"]["data"] if t.get("meta") == {"kept": kept, "rest": False}]
    return array(found[0]["x"]) if found else np.array([])


@pytest.mark.parametrize("position", range(6))
def test_each_iteration_draws_the_models_numbers_and_their_check(open_app: OpenApp, position: int) -> None:
    app = open_page(open_app, query=str(position + 1), head="2")
    trace = trace_of(EMBEDDED)
    values = array(charts(app)["cache"]["data"][0]["customdata"])
    starts = cell_starts(*trace.k[:, 2, 0].shape)
    cells = strongest(trace.k[:, 2], starts)  # (layer, pos, cell)
    rows = cells.shape[-1]
    for layer in range(len(cells)):
        part = values[layer * (rows + 2) :][:rows]
        np.testing.assert_allclose(part[:, 1::4].T, cells[layer, : position + 1], atol=1e-5)
        np.testing.assert_allclose(part[:, 4 * position], strongest(trace.q[layer, 2, position], starts), atol=1e-5)
    expected = shortlist(choose(trace.logits(position), Sampling(greedy=True), position), 20)
    np.testing.assert_allclose(bars(app, kept=True), expected.final, atol=1e-5)
    assert f"Iteration {position + 1} of 6" in words(app)
    n_layers, d_model = trace.network.config.n_layers, trace.network.config.d_model
    n_numbers = 2 * n_layers * (position + 1) * d_model
    assert f"{n_numbers:,} numbers, {4 * n_numbers:,} bytes" in words(app)
    difference = float(re.search(r"\*\*([\d.]+e−\d+|0)\*\*, below", words(app))[1].replace("−", "-"))
    assert difference < 1e-4


def test_stepping_back_and_forward_is_the_focus(open_app: OpenApp) -> None:
    app = open_page(open_app, query="3")
    assert strip_data(app)["command"]["query"] == 2
    assert app.query_params["query"] == "3"
    assert len(charts(app)) == 2


def tiny() -> LoadedModel:
    """The model of the fixture's that the app calls `tiny`."""
    return load_model(os.environ["HEADLIGHT_MODELS"] + "/tiny")


def greedy(logits: np.ndarray, position: int) -> int:
    return choose(logits, Sampling(greedy=True), position).id


def written_ids(app: AppTest) -> tuple[int, ...]:
    return app.session_state["writing"].ids


def test_what_is_written_is_what_the_model_writes(open_app: OpenApp) -> None:
    app = open_page(open_app, model="tiny")
    model = tiny()
    ids = model.tokenizer.encode(TEXT)
    expected = [token for token, _ in zip(written(run_trace(model.network, ids), greedy), range(6), strict=False)]
    press(app, "gen_write_1")
    assert written_ids(app) == tuple(expected[:1])
    app.number_input(key="gen_n").set_value(5).run()
    press(app, "gen_write_n")
    assert written_ids(app) == tuple(expected)
    data = strip_data(app)
    assert data["labels"] == [token.label for token in model.tokenizer.tokens((*ids, *expected))]
    assert data["command"]["query"] == len(ids) + 5  # the last written one is the iteration
    assert f"Iteration {len(ids) + 6} of {len(ids) + 6}" in words(app)
    assert app.query_params["text"] == TEXT
    press(app, "gen_clear")
    assert len(strip_data(app)["labels"]) == len(ids)


def test_writing_stops_at_the_models_context_and_says_so(open_app: OpenApp) -> None:
    app = open_page(open_app, model="tiny")
    app.number_input(key="gen_n").set_value(500).run()
    press(app, "gen_write_n")
    assert len(strip_data(app)["labels"]) == 32
    assert any("32 tokens, as many as this model can read" in info.value for info in app.info)
    assert app.button(key="gen_write_1").disabled
    assert app.button(key="gen_write_n").disabled


def test_a_text_that_fills_the_context_is_not_written_on(open_app: OpenApp) -> None:
    app = fine(open_app("generation", text="a robot " * 40, model="tiny"))
    assert app.button(key="gen_write_1").disabled
    assert any("cannot write on" in info.value for info in app.info)


def test_written_text_becomes_the_sentence_of_all_pages(open_app: OpenApp) -> None:
    app = open_page(open_app)
    press(app, "gen_write_1")
    ids, text = written_ids(app), load_model(EMBEDDED).tokenizer
    press(app, "gen_take")
    assert app.query_params["text"] == TEXT + text.decode(ids)
    assert app.query_params["query"] == "7"
    assert not any(button.key == "gen_clear" for button in app.button)


def test_a_link_shows_what_was_written_and_keeps_it_on_all_pages(open_app: OpenApp) -> None:
    app = press(open_page(open_app), "gen_write_1")
    link = params(app)
    assert (len(link["written"].split(".")), link["at"]) == (1, "7")
    again = fine(open_app(**link))  # another page first
    assert params(again)["written"] == link["written"]
    again = fine(go_to(again, "generation"))
    assert strip_data(again)["labels"] == strip_data(app)["labels"]
    assert "Iteration 7 of 7" in words(again)
    tampered = fine(open_app("generation", **link | {"written": "zzzzz"}))
    assert "Iteration 6 of 6" in words(tampered)
    assert "written" not in tampered.query_params


def taken_over(app: AppTest, model: LoadedModel, ids: tuple[int, ...]) -> AppTest:
    """The page after "Use as the sentence" where the model has written `ids`."""
    app.session_state["writing"] = Writing(f"{model.name}:{hash(model.tokenizer.encode(TEXT))}", ids)
    return press(fine(app.run()), "gen_take")


def warnings(app: AppTest) -> str:
    return " ".join(warning.value for warning in app.warning).replace("\\", "")


def test_pieces_that_read_differently_are_told_and_counted_without_the_sentence(open_app: OpenApp) -> None:
    model = tiny()
    half = model.tokenizer.encode("\u00e9")[:1]  # the first byte of a character of two
    told = warnings(taken_over(open_page(open_app, model="tiny"), model, half))
    assert "The model wrote 1 tokens in pieces" in told
    assert "read as text, they are 3 tokens." in told  # U+FFFD is three bytes


def test_written_tokens_without_text_are_not_lost(open_app: OpenApp, tmp_path: Path) -> None:
    """Rows beyond the vocabulary, as padding or a resized model has them."""
    write_checkpoint(tmp_path / "padded", random_network(make_config(d_vocab=N_REDUCED + 9)))
    model = load_model(str(tmp_path / "padded"))
    ids = (*model.tokenizer.encode("ab"), N_REDUCED + 3, N_REDUCED + 4)
    app = taken_over(open_page(open_app, model="padded"), model, ids)
    assert "2 of the 4 tokens that the model wrote stand for no text" in warnings(app)
    assert app.query_params["text"] == TEXT
    assert written_ids(app) == ids


def test_what_stands_behind_the_end_of_the_text_is_left_out_and_counted(open_app: OpenApp) -> None:
    model = tiny()
    (end,) = model.tokenizer.end_ids
    app = taken_over(open_page(open_app, model="tiny"), model, (97, end, 98, 99))
    assert "its 2 tokens are left out of the sentence" in warnings(app)
    assert app.query_params["text"] == TEXT + model.tokenizer.decode([97])


def test_another_sentence_or_model_starts_afresh(open_app: OpenApp) -> None:
    app = press(open_page(open_app), "gen_write_1")
    app.selectbox(key="model_box").set_value("tiny").run()
    assert "gen_clear" not in [button.key for button in fine(app).button]
    app.selectbox(key="model_box").set_value(EMBEDDED).run()
    assert len(strip_data(fine(app))["labels"]) == 7  # what it wrote for this sentence is still here


SETTINGS = [
    {"temperature": 0.1},
    {"temperature": 2.0},
    *({"top_k": k} for k in TOP_K),
    {"top_p": 0.05},
    {"top_p": 0.5},
    {"temperature": 0.7, "top_k": 40, "top_p": 0.9, "seed": 9999},
]


def test_every_setting_draws_and_explains_its_choice(open_app: OpenApp) -> None:
    app = open_page(open_app, model="tiny", query="4")
    model = tiny()
    trace = run_trace(model.network, model.tokenizer.encode(TEXT))
    plain = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "seed": 0}
    for settings in SETTINGS:
        sampled(app, **(plain | settings))
        choice = choose(trace.logits(3), Sampling(**(plain | settings)), 3)
        expected = shortlist(choice, 20)
        np.testing.assert_allclose(bars(app, kept=True), expected.final[expected.kept], atol=1e-5)
        np.testing.assert_allclose(bars(app, kept=False), expected.tempered[~expected.kept], atol=1e-5)
        told = words(app)
        assert f"gives the random number {choice.dice:.4f} here" in told
        assert f"lands on “{model.tokenizer.token(choice.id).label}”" in told


def test_a_seed_repeats_and_another_one_differs(open_app: OpenApp) -> None:
    texts = []
    for seed in (1, 1, 2):
        app = sampled(open_page(open_app, model="tiny"), seed=seed, temperature=2.0)
        app.number_input(key="gen_n").set_value(10).run()
        texts.append(written_ids(press(app, "gen_write_n")))
    assert texts[0] == texts[1] != texts[2]


def test_all_logits_are_shown_on_demand(open_app: OpenApp) -> None:
    app = open_page(open_app)
    assert not app.dataframe
    app.toggle(key="gen_logits").set_value(True).run()
    table = fine(app).dataframe[0].value
    assert len(table) == load_model(EMBEDDED).config.d_vocab
    assert table["probability"].sum() == pytest.approx(1)
    assert table["logit"].is_monotonic_decreasing


def test_a_long_pass_is_made_only_when_asked_for(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viz.pages.generation.state.FREE_MULTIPLICATIONS", 0)
    app = open_page(open_app, model="tiny")
    assert "not measured" in words(app)
    press(app, "gen_again")
    assert "largest difference" in words(app)
    assert "not measured" not in words(app)


@pytest.mark.parametrize("text", ["a", "مرحبا 👩\u200d👩", "<b>x</b> **y** :red[y]|-|", "one\ntwo\t\0"])
def test_hard_texts_are_read_and_written_on(open_app: OpenApp, text: str) -> None:
    app = press(fine(open_app("generation", text=text, model="tiny")), "gen_write_1")
    assert len(charts(app)) == 2


def test_an_empty_text_asks_for_one(open_app: OpenApp) -> None:
    app = open_app("generation", text="")
    assert not app.exception
    assert len(app.error) == 1
    assert not charts(app)


def test_the_settings_outlive_a_change_of_page(open_app: OpenApp) -> None:
    app = sampled(open_page(open_app), temperature=0.5, seed=7)
    go_to(app, "attention")
    go_to(app, "generation")
    assert fine(app).number_input(key="gen_seed").value == 7
    assert app.slider(key="gen_temperature").value == 0.5
