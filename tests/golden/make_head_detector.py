"""Make `head_detector.json`: what TransformerLens' own `detect_head` finds in the heads of a small random GPT-2.

The tests compare our own measures with that file, so that they need not install the package. To make it again,
from the project's root, in an environment of its own:

    python -m venv /tmp/golden
    /tmp/golden/bin/pip install torch==2.13.0 transformer_lens==4.3.0 tiktoken==0.14.0
    /tmp/golden/bin/python -m tests.golden.make_head_detector

The weights and the token ids are random with the seeds below; the tests build the same network from the same seed. The
package runs the network itself (as a `TransformerBridge` around `transformers.GPT2LMHeadModel`) and measures its own
patterns.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from tests.models import hugging_face_model, make_config, random_network

FILE = Path(__file__).with_name("head_detector.json")
SEED = 7
KINDS = ("previous_token_head", "duplicate_token_head", "induction_head")
ERROR_MEASURES = ("mul", "abs")


def texts(d_vocab: int) -> dict[str, list[int]]:
    """Token ids by name: a few words drawn again and again, and a random run read twice."""
    generator = torch.Generator().manual_seed(SEED)
    few = torch.randint(0, d_vocab, (6,), generator=generator)
    words = few[torch.randint(0, len(few), (20,), generator=generator)]
    run = torch.randperm(d_vocab, generator=generator)[:15]
    return {"few words": words.tolist(), "repeated run": torch.cat([run, run]).tolist()}


def main() -> None:
    """Run the package and write the file."""
    from transformer_lens.head_detector import detect_head
    from transformer_lens.model_bridge import TransformerBridge

    network = random_network(make_config(), seed=SEED)
    model: Any = TransformerBridge.boot_transformers(
        "gpt2", hf_model=hugging_face_model(network), tokenizer=_no_words()
    )
    model.to_tokens = lambda ids: torch.tensor([ids])  # the texts are token ids from the start
    found = []
    for name, ids in texts(network.config.d_vocab).items():
        scores = {
            f"{kind} {error}": detect_head(model, tuple(ids), kind, error_measure=error).tolist()
            for kind in KINDS
            for error in ERROR_MEASURES
        }
        found.append({"text": name, "ids": ids, "scores": scores})
    packages = {package: version(package) for package in ("transformer_lens", "transformers", "torch")}
    FILE.write_text(json.dumps({"made_with": packages, "seed": SEED, "texts": found}) + "\n")


def _no_words() -> Any:
    """A tokenizer for a model that only ever reads ids: the package wants one."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"none": 0}, "none")))


if __name__ == "__main__":
    main()
