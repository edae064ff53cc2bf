"""Taking things away from a page: nothing is made before it is asked for, and what is made is what is shown."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.__main__ import main
from model.files.checkpoint import EMBEDDED, load_folder, load_model
from model.trace.file import read_trace
from model.trace.trace import run_trace
from tests.models import make_config, random_network, write_checkpoint
from tests.vocabularies import like_llama3, write_tokenizer
from viz.shell import charts, take_away
from viz.state.focus import Focus
from viz.state.view import View

OpenApp = Callable[..., AppTest]
TEXT = "a robot must obey a robot"


class Saved:
    """What the download buttons of the open menus would give, by their keys."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.files: dict[str, tuple[str, Callable[[], bytes]]] = {}
        monkeypatch.setattr(charts.st, "download_button", self._button)

    def _button(self, label: str, *, data: Callable[[], bytes], file_name: str, key: str, **options: object) -> bool:
        assert options["on_click"] == "ignore"
        self.files[key] = (file_name, data)
        return False

    def rows(self, key: str) -> list[dict[str, str]]:
        text = self.files[key][1]().decode("utf-8-sig")
        return list(csv.DictReader(io.StringIO(text, newline="")))


def test_a_charts_menu_makes_nothing_until_it_is_open(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    saved = Saved(monkeypatch)
    app = open_app(text=TEXT, model="tiny", layer="1", head="2", query="5")
    assert not app.exception
    assert saved.files == {}
    app.session_state["save_matrices"] = True
    app.session_state["save_bars"] = True
    app.run()
    assert not app.exception
    names = {key: name for key, (name, _) in saved.files.items()}
    assert names == {
        "CSV_bars": "headlight-L1H2-bars.csv",
        "HTML_bars": "headlight-L1H2-bars.html",
        "CSV_matrices": "headlight-L1H2-matrices.csv",
        "HTML_matrices": "headlight-L1H2-matrices.html",
    }
    model = load_model(tmp_path / "tiny")
    trace = run_trace(model.network, model.tokenizer.encode(TEXT))
    weights = trace.pattern(1, 2)
    rows = saved.rows("CSV_matrices")
    assert [row["query label"] for row in rows[:: trace.n_pos]] == [t.label for t in model.tokenizer.tokens(trace.ids)]
    for row in rows:
        query, key = int(row["query"]) - 1, int(row["key"]) - 1
        assert (row["Weights"] == "") == (key > query)
        assert key > query or float(row["Weights"]) == pytest.approx(weights[query, key], abs=1e-6)
    drawn = [float(row["weight L1H2"]) for row in saved.rows("CSV_bars")]
    np.testing.assert_allclose(drawn, weights[4], atol=1e-6)
    page = saved.files["HTML_matrices"][1]().decode()
    assert f"Headlight, tiny, “{TEXT}”" in page


def test_the_trace_is_offered_with_its_size_and_as_a_command(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    saved, labels = Saved(monkeypatch), []
    button = saved._button
    monkeypatch.setattr(charts.st, "download_button", lambda label, **o: labels.append(label) or button(label, **o))
    app = open_app(text="the robot", model="tiny", layer="0", head="1")
    app.session_state["take_away"] = True
    app.run()
    assert not app.exception
    name, make = saved.files["trace_file"]
    assert name == "headlight-tiny-trace.safetensors"
    assert labels[-1].startswith("Trace, 0.")
    (tmp_path / "app").write_bytes(make())
    words = shlex.split(app.code[0].value)
    assert words[:4] == [".venv/bin/python", "-m", "model", "trace"]
    assert any("tiny stands for the path" in caption.value for caption in app.caption)
    words[words.index("tiny")] = str(tmp_path / "tiny")
    assert main([*words[3:-1], str(tmp_path / "command")]) == 0
    arrays, metadata = read_trace(tmp_path / "app")
    others, again = read_trace(tmp_path / "command")
    assert metadata == again
    assert set(arrays) == set(others)
    for key, array in arrays.items():
        np.testing.assert_allclose(array, others[key], atol=1e-5, err_msg=key)

    app.session_state["trace_parts"] = ["logits", "result"]
    app.run()
    assert app.code[0].value.split(" --model ")[0] == ".venv/bin/python -m model trace 'the robot'"
    assert "--no-patterns --no-mlp --result" in app.code[0].value


def test_a_trace_too_large_for_the_browser_is_not_made(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = Saved(monkeypatch)
    monkeypatch.setattr(take_away, "MOST_BYTES", 1000)
    app = open_app(text=TEXT, model="tiny", layer="0", head="0")
    app.session_state["take_away"] = True
    app.run()
    assert not app.exception
    assert "trace_file" not in saved.files
    assert any("more than the" in warning.value for warning in app.warning)
    assert app.code[0].value.startswith(".venv/bin/python -m model trace")


def test_the_command_quotes_what_was_typed_and_tells_no_path(tmp_path: Path) -> None:
    model, said = replace(load_model(EMBEDDED), source="folder", folder=tmp_path), take_away.command

    def view(text: str, *, start_token: bool = False) -> View:
        return View(Focus(EMBEDDED, text, start_token=start_token), model, (0,), (), 1)

    words = shlex.split(said(view("it's $HOME; `x`"), ["patterns", "mlp", "logits"]))
    assert words[4] == "it's $HOME; `x`"
    assert str(tmp_path) not in words  # where a folder lies is nobody's business
    assert said(view("a " * 400, start_token=True), []).endswith("--start-token --out trace.safetensors < text.txt")
    special = replace(view("a"), focus=view("a").focus.with_special(True))
    assert said(special, []).endswith("--special --out trace.safetensors")


def test_the_command_names_the_start_token_where_the_model_would_choose_otherwise(tmp_path: Path) -> None:
    tokenizer = like_llama3()
    network = random_network(make_config(d_vocab=tokenizer.get_vocab_size()))
    model = load_folder(write_tokenizer(write_checkpoint(tmp_path, network, vocabulary=False), tokenizer))
    for wanted, words in ((None, ""), (True, ""), (False, "--no-start-token ")):
        view = View(Focus(model.name, "a", start_token=wanted), model, (0,), (), 1)
        assert take_away.command(view, ["patterns", "mlp", "logits"]).endswith(f"{words}--out trace.safetensors")
        assert ("start-token" in take_away.command(view, [])) == bool(words)
