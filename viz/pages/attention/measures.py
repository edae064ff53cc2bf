"""The chosen head's measures in one row, each with its unit, and what they mean."""

from __future__ import annotations

import math

import streamlit as st

from model.heads.all_heads import MEASURES, ROLES, TEXT, Measure, measure_head, roles, scores_of
from viz.state.focus import head_name
from viz.state.measured import repeated_measures
from viz.state.view import View
from viz.text.catalogue import N_, _
from viz.text.html import as_html

_ON = {True: N_("On this text"), False: N_("On random tokens, read twice")}


def measures_section(view: View, *, changed: bool) -> None:
    """Draw the row. `changed` says that the page shows the head's weights in another form than it is measured in."""
    layer, head = view.focus.head
    scores = measure_head(view.trace, layer, head) | scores_of(repeated_measures(view.model), layer, head)
    with st.container(key="measures", gap="small"):
        groups = [
            f"<section><h5>{_(_ON[on_text])}</h5>"
            f"<dl>{''.join(_tile(entry, scores[entry.name]) for entry in entries)}</dl></section>"
            for on_text in (True, False)
            if (entries := [entry for entry in MEASURES if (entry.needs == TEXT) is on_text])
        ]
        st.html(f'<div class="measures">{_heading(view, scores)}{"".join(groups)}</div>')
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            with st.popover(_("What these measure"), type="tertiary"):
                st.markdown(_explained())
            if changed:
                st.caption(_("Measured on the model’s own weights, token by token, token 1 included."), width="content")


def value_in_words(entry: Measure, value: float) -> tuple[str, str]:
    """A measure's value and its unit as they are shown; a dash where the text has nothing to measure."""
    if math.isnan(value):
        return "–", ""
    if entry.unit == "share of weight":
        return f"{value * 100:.0f}" if value >= 0.0995 or value == 0 else f"{value * 100:.1f}", "%"
    return f"{value:.1f}", entry.unit


def _heading(view: View, scores: dict[str, float]) -> str:
    meanings = {role.name: role.meaning for role in ROLES}
    found = roles(scores)
    badges = "".join(f"<b>{_(name)}</b> <span>{meanings[name]}</span> " for name in found)
    badges = badges or f"<span>{_('No standard role')}</span>"
    return f"<h4>{head_name(view.focus.head)}</h4><p>{badges}</p>"


def _tile(entry: Measure, value: float) -> str:
    shown, unit = value_in_words(entry, value)
    share = entry.unit == "share of weight" and not math.isnan(value)
    bar = f'<i style="--share: {value:.4f}"></i>' if share else "<i></i>"
    title = entry.title.removesuffix(", random")
    return f'<div title="{as_html(entry.definition)}"><dt>{title}</dt><dd>{shown}<small>{unit}</small></dd>{bar}</div>'


def _explained() -> str:
    """Every measure with its definition, range and source, and when a head is given a role, in Markdown."""
    parts = [_("Every measure is computed from the head’s weights.")]
    for on_text in (True, False):
        entries = [entry for entry in MEASURES if (entry.needs == TEXT) is on_text]
        parts.append(f"**{_(_ON[on_text])}**")
        parts.append(
            "\n".join(
                f"- **{entry.title}** ({entry.unit}, {_range(entry)}): {entry.definition} *{entry.source}*"
                for entry in entries
            )
        )
    titles = {entry.name: entry.title for entry in MEASURES}
    parts.append(_("**Roles** are named only above these values:"))
    above = [
        _(
            "- **{role}**: {measure} above {least:.0%}",
            role=_(role.name),
            measure=titles[role.measure],
            least=role.threshold,
        )
        for role in ROLES
    ]
    parts.append("\n".join(above))
    return "\n\n".join(parts)


def _range(entry: Measure) -> str:
    if entry.unit == "share of weight":
        return _("{low:.0%} to {high:.0%}", low=entry.low, high=entry.high)
    return _("from {low:.0f}, at most as the text’s length allows", low=entry.low)
