"""What `import model` gives a notebook."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import model

ROOT = Path(__file__).resolve().parents[2]


def test_every_name_is_there_and_says_what_it_is():
    for name in model.__all__:
        assert getattr(model, name).__doc__, name


def test_the_readme_lists_the_public_names_and_no_others():
    """Each by its table's first column, as a person reads it: no name is exported that is not documented."""
    rows = re.findall(r"^\| `(\w+)[`(]", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(model.__all__)
    public = {name for name in vars(model) if name[0].isupper()} | {"load_model", "run_trace"}
    assert public == set(rows)


def test_what_the_readme_says_of_each_name_is_there():
    """The attributes and methods that the table names in backticks."""
    text = (ROOT / "README.md").read_text("utf-8")
    gpt2 = model.load_model()
    ids = gpt2.tokenizer.encode("A robot must obey")
    owners = {
        "LoadedModel": gpt2,
        "GPT2": gpt2.network,
        "GPT2Config": gpt2.config,
        "Tokenizer": gpt2.tokenizer,
        "Token": gpt2.tokenizer.token(ids[0]),
    }
    for name, owner in owners.items():
        assert isinstance(owner, getattr(model, name))
        said = re.search(rf"^\| `{name}[`(].*?\| (.*) \|$", text, re.MULTILINE)
        assert said, name
        for attribute in re.findall(r"`(?:network\.)?([a-z]\w*)[`(]", said[1]):
            assert hasattr(owner, attribute) or attribute == "network", (name, attribute)
    trace = model.run_trace(gpt2.network, ids)
    section = text[text.index("A trace also has") : text.index("These names are the public")]
    on_trace, on_network = section.split("The network gives")
    for attribute in re.findall(r"`(?:gpt2\.network\.)?(\w+)[`(]", on_trace):
        assert hasattr(trace, attribute), attribute
    for attribute in re.findall(r"`(?:gpt2\.network\.)?(\w+)[`(]", on_network):
        assert hasattr(gpt2.network, attribute), attribute


def test_the_errors_have_one_base():
    errors = [getattr(model, name) for name in model.__all__ if name.endswith("Error")]
    assert len(errors) == 7
    assert all(issubclass(error, model.HeadlightError) for error in errors)


def test_a_heads_weights_in_three_lines():
    gpt2 = model.load_model()
    trace = model.run_trace(gpt2.network, gpt2.tokenizer.encode("A robot must obey the orders given it"))
    assert trace.pattern(layer=0, head=0).shape == (trace.n_pos, trace.n_pos)


def test_importing_it_brings_no_streamlit_no_plotly_and_no_hub():
    heavy = "streamlit", "plotly", "huggingface_hub", "transformers", "viz"
    program = f"import sys, model; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
