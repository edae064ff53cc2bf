"""Streamlit may clean a component up and mount it again over what it drew: then it shows the same as a fresh one."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.javascript.scripts import COMPONENTS, joined
from viz.components.head_grid import grid_words
from viz.components.strip_words import strip_words

SCRIPTS = joined()

# Mounts a component in a shadow root of its own, as Streamlit does; the script is read anew each time if `afresh`.
MOUNT = """
window.table = (...columns) => ({ getChildAt: i => columns[i] && ({ toArray: () => columns[i] }) });
window.told = [];
const read = async js => (await import(URL.createObjectURL(new Blob([js], { type: 'text/javascript' })))).default;
window.place = html => {
  const host = document.body.appendChild(document.createElement('div'));
  const root = host.attachShadow({ mode: 'open' });
  root.innerHTML = html;
  return root;
};
window.mount = async (root, js, data) => {
  const run = await read(js);
  const report = (...news) => window.told.push(news);
  return run({ data, parentElement: root, setStateValue: report, setTriggerValue: report });
};
window.still = async look => {
  for (let last = null, now = look(), same = 0; same < 4; last = now, now = look()) {
    same = now === last ? same + 1 : 0;
    await new Promise(requestAnimationFrame);
    await new Promise(done => setTimeout(done));
  }
  return look();
};
"""

STRIP = """n => ({
  id: 'strip', revision: `text ${n}`, labels: Array.from({ length: n }, (_, i) => `t${i}`),
  titles: Array.from({ length: n }, (_, i) => `title ${i}`), heads: ['L0H0'], hover: false, scale: 1, words: WORDS,
  packed: null, weights: table(Float32Array.from({ length: n * (n + 1) / 2 }, () => 1 / n)),
  command: { id: `command ${n}`, query: 1, seen: 0 },
})""".replace("WORDS", json.dumps(strip_words("token")))
COLOURS = "{ scale: [[0, '#ffffff'], [1, '#204080']], masked: '#cccccc' }"
GRID = f"""n => ({{
  id: 'grid', revision: `text ${{n}}`, layers: 1, heads: n, queries: [0, 1], note: `note ${{n}}`,
  words: {json.dumps(grid_words())},
  weights: table(Uint8Array.from({{ length: 3 * n }}, (_, i) => (i * 40) % 256)),
  colours: {{ light: {COLOURS}, dark: {COLOURS} }},
}})"""
BOX = "n => ({ text: `text ${n}`, revision: n, max: 50, label: `Sentence ${n}`, words: {} })"
PLOT = """n => new TextEncoder().encode(JSON.stringify({
  revision: `${n}`, alt: `bars ${n}`, failed: 'failed', clicks: true, config: {}, min_width: 200, library: 'none',
  figure: { data: [{ type: 'bar', x: [0, 1, 2], y: [1, n, 2] }], layout: { width: 300, height: 200 } },
}))"""
BUTTONS = "n => ({ chart: `chart ${n}`, name: `name ${n}`, labels: { svg: 'SVG', png: 'PNG' } })"
DOM = "root => root.innerHTML"
CASES = {
    "token_strip": (STRIP, DOM),
    "head_grid": (GRID, "root => root.innerHTML + root.querySelector('.sheet canvas').toDataURL()"),
    "sentence_box": (BOX, "root => root.innerHTML + root.querySelector('textarea').value"),
    "plot": (
        PLOT,
        "root => [...root.querySelectorAll('.point path')].map(p => p.getAttribute('d')).join() + "
        "root.querySelector('.plot').getAttribute('aria-label')",
    ),
    "picture_buttons": (BUTTONS, DOM),
}


def html(name: str) -> str:
    """A component's markup and style."""
    style, markup = (
        "".join(path.read_text("utf-8") for path in (COMPONENTS / name).glob(f"*.{kind}")) for kind in ("css", "html")
    )
    return f"<style>{style}</style>{markup}"


@pytest.fixture
def bench(page: Page) -> Page:
    """A page that can mount components."""
    page.goto("about:blank")
    page.set_content("<!doctype html><meta charset=utf-8><div data-testid=stApp></div>")
    page.add_script_tag(content=MOUNT)
    return page


def looked_at(bench: Page, name: str, *steps: int, between: str = "") -> str:
    """What a component shows at last that gets one message after the other and is cleaned up between them."""
    data, look = CASES[name]
    program = f"""async ({{ html, js, steps }}) => {{
      const data = {data}, look = {look}, root = window.place(html);
      let clean;
      for (const step of steps) {{
        clean?.();
        clean = await window.mount(root, js, data(step));
        {between}
      }}
      const shown = await window.still(() => look(root));
      root.host.remove();
      return shown;
    }}"""
    shown: str = bench.evaluate(program, {"html": html(name), "js": SCRIPTS[f"headlight_{name}"], "steps": list(steps)})
    return shown


def test_a_component_mounted_over_what_it_drew_shows_what_a_fresh_one_shows(bench: Page) -> None:
    bench.add_script_tag(path=str(files("plotly") / "package_data" / "plotly.min.js"))
    bench.evaluate("globalThis[Symbol.for('headlight.plotly')] = Promise.resolve(Plotly)")
    for name in CASES:
        fresh = looked_at(bench, name, 3)
        assert fresh
        for between in ("", "await window.still(() => look(root));"):
            for steps in ((5, 3), (2, 3), (4, 5, 2, 3)):
                assert looked_at(bench, name, *steps, between=between) == fresh, (name, steps, between)


def test_every_component_with_markup_is_mounted_here() -> None:
    drawn = {path.parent.name for path in COMPONENTS.glob("*/*.html")}
    assert drawn == set(CASES)


def test_what_draws_nothing_is_set_up_once(bench: Page) -> None:
    told: Any = bench.evaluate(
        """async ({ address, marks, theme }) => {
          const root = window.place('');
          const push = history.pushState;
          const clean = await window.mount(root, address, { 'A – Headlight': 'a' });
          const once = history.pushState;
          clean?.();
          await window.mount(root, address, { 'A – Headlight': 'a' });
          const kept = [once !== push, history.pushState === once];
          let drawn = 0;
          globalThis.headlightHeadGrids = { marks: new Map(), redraw: new Map() };
          globalThis.headlightHeadGrids.redraw.set('grid', () => { drawn += 1; });
          for (const first of [[0, 0], [0, 1]]) {
            (await window.mount(root, marks, { grid: 'grid', revision: 'r', marks: { first } }))?.();
          }
          const first = globalThis.headlightHeadGrids.marks.get('grid').first;
          for (let i = 0; i < 3; i += 1) (await window.mount(root, theme, null))?.();
          window.told = [];
          const app = document.querySelector('[data-testid=stApp]');
          app.style.backgroundColor = 'rgb(1, 2, 3)';
          app.className = 'other';
          await window.still(() => window.told.length);
          return { kept, drawn, first, told: window.told };
        }""",
        {
            name: SCRIPTS[f"headlight_{key}"]
            for name, key in (("address", "address"), ("marks", "head_marks"), ("theme", "theme_change"))
        },
    )
    assert told["kept"] == [True, True]
    assert (told["drawn"], told["first"]) == (2, [0, 1])
    assert told["told"] == [["ground", "rgb(1, 2, 3)"]]


def test_every_assigned_handler_is_a_property_of_elements(bench: Page) -> None:
    """`element.oncompositionend = ...` is silently nothing: an element has no such property."""
    sources = "\n".join(path.read_text("utf-8") for path in COMPONENTS.rglob("*.js"))
    assigned = sorted(set(re.findall(r"\.(on[a-z]+) = ", sources)))
    assert len(assigned) > 8
    missing = bench.evaluate("names => names.filter(name => !(name in HTMLElement.prototype))", assigned)
    assert missing == []


# ---------------------------------------------------------------- what is typed


@pytest.fixture
def box(bench: Page) -> Page:
    """The sentence box, focused, and mounted once more over itself: handlers must not have doubled."""
    bench.evaluate(
        f"""async ({{ html, js }}) => {{
          const data = {BOX}, root = window.place(html);
          (await window.mount(root, js, data(1)))();
          window.clean = await window.mount(root, js, data(1));
          window.again = () => window.mount(root, js, data(1));
          root.querySelector('textarea').focus();
        }}""",
        {"html": html("sentence_box"), "js": SCRIPTS["headlight_sentence_box"]},
    )
    return bench


def typed(page: Page, text: str) -> None:
    """Wait until the box has told this text, once."""
    page.wait_for_function(
        "text => window.told.filter(([name, news]) => name === 'typed' && news.text === text).length === 1", arg=text
    )


def test_what_an_input_method_composes_is_sent_when_it_is_composed(box: Page) -> None:
    session = box.context.new_cdp_session(box)
    for part in ("n", "ni", "你"):
        session.send("Input.imeSetComposition", {"text": part, "selectionStart": len(part), "selectionEnd": len(part)})
    assert box.evaluate("window.told") == []  # not while it is being composed
    session.send("Input.insertText", {"text": "你好"})
    typed(box, "text 1你好")
    assert len(box.evaluate("window.told")) == 1


def test_what_was_typed_just_before_a_remount_is_sent_all_the_same(box: Page) -> None:
    box.keyboard.type("!")
    box.evaluate("async () => { window.clean(); await window.again(); }")
    typed(box, "text 1!")
    assert json.dumps(box.evaluate("window.told")).count("typed") == 1
