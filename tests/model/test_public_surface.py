"""What `import model` gives a notebook."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import model

ROOT = Path(__file__).resolve().parents[2]


def test_every_name_is_there_and_says_what_it_is():
    for name in model.__all__:
        assert getattr(model, name).__doc__, name


def test_the_names():
    assert set(model.__all__) == {
        "GPT2",
        "CheckpointError",
        "ConfigError",
        "GPT2Config",
        "HeadlightError",
        "LoadedModel",
        "SelectionError",
        "TextError",
        "Token",
        "Tokenizer",
        "TokenizerError",
        "Trace",
        "load_model",
        "run_trace",
    }


def test_the_errors_have_one_base():
    errors = [getattr(model, name) for name in model.__all__ if name.endswith("Error")]
    assert len(errors) == 6
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
