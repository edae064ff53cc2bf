"""GPT-2 and its successors with every step of their attention open to inspection. Imports neither Streamlit nor plotly.

>>> from model import load_model, run_trace
>>> gpt2 = load_model()
>>> trace = run_trace(gpt2.network, gpt2.tokenizer.encode("A robot must obey the orders given it"))
>>> weights = trace.pattern(layer=0, head=3)  # from each token (row) to each token (column)
"""

from model.network import openmp  # noqa: F401 - before anything imports torch

# isort: split
from model.errors import (
    CheckpointError,
    ConfigError,
    HeadlightError,
    MemoryShortError,
    SelectionError,
    TextError,
    TokenizerError,
)
from model.files.checkpoint import LoadedModel, load_model
from model.network.config import GPT2Config
from model.network.gpt2 import GPT2
from model.network.llama import Llama
from model.network.llama_config import LlamaConfig
from model.network.network import Network
from model.text.tokenizer import Token, Tokenizer
from model.trace.trace import Trace, run_trace

__all__ = [
    "GPT2",
    "CheckpointError",
    "ConfigError",
    "GPT2Config",
    "HeadlightError",
    "Llama",
    "LlamaConfig",
    "LoadedModel",
    "MemoryShortError",
    "Network",
    "SelectionError",
    "TextError",
    "Token",
    "Tokenizer",
    "TokenizerError",
    "Trace",
    "load_model",
    "run_trace",
]
