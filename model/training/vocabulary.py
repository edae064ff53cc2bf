"""A small vocabulary inside GPT-2's: its most used tokens and everything they are merged from.

GPT-2 joins the pieces of a word two at a time, always the pair of lowest rank. If a set of tokens holds, with each
token, the two pieces that it is joined from, then for a word whose GPT-2 tokens are all in the set the same joins
happen in the same order, and the word splits exactly as in GPT-2. Other words fall into smaller kept pieces, at worst
single bytes."""

import base64
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import tiktoken

from model.training.errors import TrainingDataError

END_OF_TEXT = "<|endoftext|>"
# GPT-2's rule for cutting text into words before joining anything.
PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""


def gpt2_ranks() -> dict[bytes, int]:
    """GPT-2's tokens and their ranks, 50,256 of them."""
    return tiktoken.get_encoding("gpt2")._mergeable_ranks


def encoding(ranks: dict[bytes, int]) -> tiktoken.Encoding:
    """The tokenizer of a vocabulary; the end-of-text token has the id after the last rank."""
    return tiktoken.Encoding(
        "gpt2-small", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={END_OF_TEXT: len(ranks)}
    )


def parents(token: bytes, ranks: dict[bytes, int]) -> tuple[bytes, bytes] | None:
    """The two pieces that GPT-2 joins last to make `token`; None for a single byte."""
    if len(token) == 1:
        return None
    pieces = [token[i : i + 1] for i in range(len(token))]
    while len(pieces) > 2:
        rank, place = min((ranks.get(a + b, len(ranks)), i) for i, (a, b) in enumerate(pairwise(pieces)))
        if rank >= ranks[token]:
            raise TrainingDataError(f"the token {token!r} is not made by merges of lower rank")
        pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]
    return pieces[0], pieces[1]


def single_tokens(forms: Iterable[str]) -> set[bytes]:
    """The forms, leading space and case as given, that GPT-2 has as one token."""
    ranks = gpt2_ranks()
    return {token for form in forms if (token := form.encode("utf-8")) in ranks}


def build_vocabulary(texts: Iterable[str], size: int, must_have: Iterable[bytes] = ()) -> dict[bytes, int]:
    """Token -> rank of at most `size` - 1 tokens, numbered from 0 in GPT-2's order (the last id is the end of text's).

    All 256 bytes and the tokens `must_have` come first, then the tokens of `texts` by how often GPT-2
    uses them, each with all that it is merged from."""
    ranks = gpt2_ranks()
    gpt2 = tiktoken.get_encoding("gpt2")
    counts: Counter[int] = Counter()
    for text in texts:
        counts.update(gpt2.encode_ordinary(text))
    by_id = {rank: token for token, rank in ranks.items()}

    kept = {bytes([value]) for value in range(256)}
    for token in sorted(must_have):
        kept |= _with_ancestors(token, kept, ranks)
    if len(kept) > size - 1:
        raise TrainingDataError(
            f"bytes and required words alone need {len(kept)} tokens; the vocabulary has {size - 1}"
        )
    for rank, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        new = _with_ancestors(by_id[rank], kept, ranks)
        if len(kept) + len(new) <= size - 1:
            kept |= new
    return {token: new_rank for new_rank, token in enumerate(sorted(kept, key=ranks.__getitem__))}


def _with_ancestors(token: bytes, kept: set[bytes], ranks: dict[bytes, int]) -> set[bytes]:
    """The token and what it is merged from, as far as not kept yet."""
    new: set[bytes] = set()
    waiting = [token]
    while waiting:
        piece = waiting.pop()
        if piece not in kept and piece not in new:
            new.add(piece)
            waiting.extend(parents(piece, ranks) or ())
    return new


def write_vocabulary(ranks: dict[bytes, int], path: Path) -> None:
    """Write tiktoken's own format: a token in base64, a space and its rank a line, in rank order."""
    lines = [
        f"{base64.b64encode(token).decode()} {rank}\n"
        for token, rank in sorted(ranks.items(), key=lambda item: item[1])
    ]
    path.write_text("".join(lines), encoding="ascii")


def read_vocabulary(path: Path) -> dict[bytes, int]:
    """The inverse of write_vocabulary."""
    try:
        pairs = [line.split() for line in path.read_text("ascii").splitlines()]
        return {base64.b64decode(token): int(rank) for token, rank in pairs}
    except (OSError, ValueError) as error:
        raise TrainingDataError(f"{path} is not a vocabulary (base64 token, space, rank a line): {error}") from error
