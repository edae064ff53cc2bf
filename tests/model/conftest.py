"""The model that most of these tests look at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from model.network.gpt2 import GPT2
from model.text.tokenizer import TiktokenTokenizer
from model.trace.trace import Trace, run_trace
from tests.models import random_network

IDS = (5, 17, 260, 5, 17, 260, 99, 0, 263, 5)


@pytest.fixture(scope="session")
def network() -> GPT2:
    """Two layers, three heads."""
    return random_network()


@pytest.fixture(scope="session")
def trace(network: GPT2) -> Trace:
    """`network` over ten tokens, some of them equal."""
    return run_trace(network, IDS)


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    """Networks this small gain nothing by a second thread, and lose much when the cores are busy."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def gpt2() -> TiktokenTokenizer:
    """GPT-2's own vocabulary."""
    return TiktokenTokenizer.gpt2()
