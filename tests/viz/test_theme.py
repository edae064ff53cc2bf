"""The theme is the only source of colours, and style sheets get them from it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from viz.theme import DARK, LIGHT, css_variables, ink_on, luminance

ROOT = Path(__file__).parents[2]
SHEETS = [ROOT / "assets" / "style.css", *sorted((ROOT / "viz").rglob("*.css"))]
SCRIPTS = sorted((ROOT / "viz").rglob("*.js"))
NAMES = (
    "aqua|black|blue|brown|crimson|cyan|fuchsia|gold|gray|green|grey|indigo|ivory|khaki|lavender|lime|magenta|maroon|"
    "navy|olive|orange|orchid|pink|plum|purple|red|salmon|silver|tan|teal|tomato|turquoise|violet|wheat|white|yellow"
)
NUMBERS = re.compile(
    r"#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})\b|\b(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch)\(", re.IGNORECASE
)
WORDS = re.compile(rf"(?<![\w-])(?:light|dark|medium|deep|pale)?(?:{NAMES})(?![\w-])", re.IGNORECASE)


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/|(?<!:)//[^\n]*", "", text, flags=re.DOTALL)


def literals(path: Path) -> list[str]:
    """The colours written out in a style sheet or script; names only where a value can stand."""
    code = without_comments(path.read_text("utf-8"))
    values = r":([^;{}]*);" if path.suffix == ".css" else r"[\"'`]([^\"'`\n]*)[\"'`]"
    return NUMBERS.findall(code) + [word for value in re.findall(values, code) for word in WORDS.findall(value)]


@pytest.mark.parametrize("path", [*SHEETS, *SCRIPTS], ids=lambda path: path.name)
def test_no_style_sheet_or_script_writes_a_colour_of_its_own(path):
    assert literals(path) == []


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.css", "a { color: #fff; mask: none #000 2px; }", ["#fff", "#000"]),
        ("a.css", "a { --b: light-dark(white, DarkGreen); white-space: pre; }", ["white", "DarkGreen"]),
        ("a.css", "#bad a { color: rgb(1 2 3); background: hsl(1 2% 3%); }", ["#bad", "rgb(", "hsl("]),
        ("a.css", "/* #fff */ a { color: color-mix(in srgb, currentColor 9%, transparent); }", []),
        ("a.js", "context.fillStyle = 'red'; // blue\nconst white = `#${hex}`;", ["red"]),
    ],
)
def test_the_search_for_colours_finds_them(tmp_path, name, text, found):
    (tmp_path / name).write_text(text)
    assert literals(tmp_path / name) == found


def test_every_custom_property_used_is_defined_and_every_shared_one_used():
    shared = set(re.findall(r"--hl-[\w-]+(?=:)", css_variables()))
    used = set()
    for sheet in SHEETS:
        in_front = ROOT / "viz" / "components" / "shared.css"  # of every component's own sheet
        css = without_comments("".join(path.read_text("utf-8") for path in {in_front, sheet}))
        code = "".join(
            script.read_text("utf-8") for script in [*sheet.parent.glob("*.js"), *sheet.parent.glob("*.html")]
        )
        own = set(re.findall(r"(--[\w-]+)\s*:", css)) | set(re.findall(r"[\"'`](--[\w-]+)[\"'`]", code))
        required = set(re.findall(r"var\((--[\w-]+)\)", css))
        assert {name for name in required if not name.startswith("--st-")} <= own | shared, sheet.name
        assert not {name for name in own if name.startswith("--hl-")}, sheet.name
        used |= required
    assert used & shared >= {"--hl-query", "--hl-key", "--hl-score", "--hl-masked-ink", "--hl-weights"}


def test_the_properties_hold_both_themes_colours():
    css = css_variables()
    for role in LIGHT.roles:
        assert f"--hl-{role}: light-dark({LIGHT.roles[role]}, {DARK.roles[role]});" in css
        assert f"--hl-{role}-ink: light-dark({LIGHT.inks[role]}, {DARK.inks[role]});" in css
    weights = re.search(r"--hl-weights: ([^;]*);", css)
    assert weights
    assert weights[1].startswith(f"light-dark({LIGHT.sequential[0][1]}, {DARK.sequential[0][1]}) 0%, ")
    assert [at for at, _ in LIGHT.sequential] == [at for at, _ in DARK.sequential]


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_what_the_style_sheets_write_can_be_read(theme):
    def contrast(a: str, b: str) -> float:
        low, high = sorted((luminance(a), luminance(b)))
        return (high + 0.05) / (low + 0.05)

    assert contrast(theme.chosen, theme.paper) >= 4.5
    assert contrast(theme.score_pale, theme.paper) >= 4.5
    assert contrast(theme.paper, theme.roles["query"]) >= 4.5  # the words of a pressed button
    assert contrast(ink_on(theme.roles["key"]), theme.roles["key"]) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_streamlit_and_charts_share_their_ground_and_text(theme):
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))["theme"][theme.kind]
    assert settings["backgroundColor"] == theme.paper
    assert settings["textColor"] == theme.text
