"""The tokenizer of a model folder, from whichever of its files describe one.

Where a folder has any tokenizer file, it is used or the folder is refused: another vocabulary would show the numbers of
this model under the tokens of another. GPT-2's own is for folders without any.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from gettext import gettext as _
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import AddedToken, models, pre_tokenizers

from model.errors import CheckpointError, TokenizerError
from model.files.family import CONFIG_FILE
from model.text.hugging_face import HuggingFaceTokenizer
from model.text.tokenizer import START_TOKEN, TiktokenTokenizer, Tokenizer

TIKTOKEN_FILE, TOKENIZER_FILE, VOCAB_FILE, MERGES_FILE = "vocab.tiktoken", "tokenizer.json", "vocab.json", "merges.txt"
_TOKENIZER_CONFIG, _SPECIAL_TOKENS, _ADDED_TOKENS = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
)
TOKENIZER_FILES = (
    *(TOKENIZER_FILE, VOCAB_FILE, MERGES_FILE, TIKTOKEN_FILE, _TOKENIZER_CONFIG, _SPECIAL_TOKENS, _ADDED_TOKENS),
    *("generation_config.json", "tokenizer.model"),
)
"""All files beside the weights that tell how a text is read."""
# What a tokenizer may be kept in, whether it is read here or not.
_PATTERNS = ("tokenizer*", "vocab*", "merges*", "*.tiktoken", "*.model", "*.spm", "*tokens*.json", "encoder.json")
_GPT2_CLASSES = ("GPT2Tokenizer", "GPT2TokenizerFast")
_GPT2_ROWS = range(50_257, 50_688 + 1)  # GPT-2's tokens, padded to a multiple of up to 512


def read_vocabulary(folder: Path, d_vocab: int) -> tuple[Tokenizer, tuple[str, ...]]:
    """The tokenizer of a model with `d_vocab` rows, and sentences on what had to be assumed.

    Raises:
        CheckpointError: the folder does not say which vocabulary it has, or it has more tokens than the model has rows.
        TokenizerError: a tokenizer file is damaged, or of a kind that is not read.
    """
    tokenizer, notes = _read(folder, d_vocab)
    check_fit(folder.name, tokenizer, d_vocab)
    return tokenizer, notes


def check_fit(name: str, tokenizer: Tokenizer, d_vocab: int) -> None:
    """Raise unless the model called `name` has a row for every token.

    Raises:
        CheckpointError: it has too few.
    """
    if tokenizer.n_vocab > d_vocab:
        raise CheckpointError(
            _(
                "{name}: the vocabulary has {n_vocab:,} tokens, but the model has only {d_vocab:,} rows for them "
                "(vocab_size); the two do not belong together."
            ).format(name=name, n_vocab=tokenizer.n_vocab, d_vocab=d_vocab)
        )


def _read(folder: Path, d_vocab: int) -> tuple[Tokenizer, tuple[str, ...]]:
    if (folder / TIKTOKEN_FILE).is_file():
        return TiktokenTokenizer.from_file(folder / TIKTOKEN_FILE), ()
    if (folder / TOKENIZER_FILE).is_file():
        return _with_its_settings(folder, _from_tokenizer_json(folder / TOKENIZER_FILE)), ()
    if (folder / VOCAB_FILE).is_file() and (folder / MERGES_FILE).is_file():
        return _with_its_settings(folder, _from_vocab_and_merges(folder)), ()
    read = ", ".join((TOKENIZER_FILE, f"{VOCAB_FILE} + {MERGES_FILE}", TIKTOKEN_FILE))
    if found := next((path.name for pattern in _PATTERNS for path in sorted(folder.glob(pattern))), None):
        raise TokenizerError(
            _(
                "{name} has {file}, but no vocabulary that can be read: {read}. transformers writes {wanted}: "
                "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)."
            ).format(name=folder.name, file=found, read=read, wanted=TOKENIZER_FILE)
        )
    if d_vocab not in _GPT2_ROWS:
        raise CheckpointError(
            _(
                "{name} has {d_vocab:,} tokens and no file that lists them: expected {read}. (Only for {n:,} tokens, "
                "or a few more rows as padding, is GPT-2's own vocabulary assumed.)"
            ).format(name=folder.name, d_vocab=d_vocab, read=read, n=_GPT2_ROWS[0])
        )
    note = _(
        "The folder has no vocabulary. Since the model has {d_vocab:,} rows, GPT-2's own is assumed; if it was trained "
        "with another one, its tokens are shown wrongly: put its {file} into the folder."
    )
    return TiktokenTokenizer.gpt2(), (note.format(d_vocab=d_vocab, file=TOKENIZER_FILE),)


def _from_tokenizer_json(path: Path) -> tokenizers.Tokenizer:
    tokenizer = _built(path.name, lambda: tokenizers.Tokenizer.from_file(str(path)))
    for entry in _object(path).get("added_tokens") or ():
        _check_id(path.name, tokenizer, entry["content"], entry["id"])
    return tokenizer


def _from_vocab_and_merges(folder: Path) -> tokenizers.Tokenizer:
    settings = _object(folder / _TOKENIZER_CONFIG)
    kind, family = settings.get("tokenizer_class"), _object(folder / CONFIG_FILE).get("model_type")
    if kind not in _GPT2_CLASSES and (kind or family != "gpt2"):
        raise TokenizerError(
            _(
                "{vocab} and {merges} in {name} do not say how {kind} cuts words; only GPT-2's way is known. "
                "transformers writes it into {wanted}: AutoTokenizer.from_pretrained(folder).save_pretrained(folder)."
            ).format(vocab=VOCAB_FILE, merges=MERGES_FILE, name=folder.name, kind=kind or family, wanted=TOKENIZER_FILE)
        )
    ids = _object(folder / VOCAB_FILE)

    def build() -> tokenizers.Tokenizer:
        lines = (folder / MERGES_FILE).read_text("utf-8").splitlines()
        merges = [(left, right) for left, right in (x.split() for x in lines if x and not x.startswith("#version"))]
        return tokenizers.Tokenizer(models.BPE(vocab=ids, merges=merges))

    tokenizer = _built(f"{VOCAB_FILE} + {MERGES_FILE}", build)
    if len(set(ids.values())) < len(ids):
        raise TokenizerError(_("{name} gives two tokens the same id.").format(name=VOCAB_FILE))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=bool(settings.get("add_prefix_space")))
    return tokenizer


def _with_its_settings(folder: Path, tokenizer: tokenizers.Tokenizer) -> HuggingFaceTokenizer:
    """Tokens that other files add, which ones stand for no text, and where the model's texts start and end."""
    settings = _object(folder / _TOKENIZER_CONFIG)
    names = _object(folder / _SPECIAL_TOKENS) | settings
    configs = _object(folder / CONFIG_FILE), _object(folder / "generation_config.json")
    special = {_content(value) for name, value in names.items() if name.endswith("_token")} | {START_TOKEN}
    for name in ("additional_special_tokens", "extra_special_tokens"):
        if isinstance(more := names.get(name), list):
            special |= set(map(_content, more))
    _add_tokens(folder, tokenizer, settings, special)
    known = _special_ids(tokenizer)
    tokenizer.add_special_tokens([name for name in special if tokenizer.token_to_id(name) not in {None, *known}])
    known = _special_ids(tokenizer)

    def ids(role: str) -> list[int]:
        """The special tokens that the files give a role, the tokenizer's own word first."""
        said = [config.get(f"{role}_token_id") for config in configs]
        listed = [tokenizer.token_to_id(_content(names.get(f"{role}_token")))]
        for value in said:
            listed += value if isinstance(value, list) else [value]
        return [token_id for token_id in listed if type(token_id) is int and token_id in known]

    usual = [token_id for token_id in [tokenizer.token_to_id(START_TOKEN)] if token_id is not None]
    in_front = _in_front(tokenizer)
    start_id = next(iter([*ids("bos")[:1], *in_front, *usual]), None)
    starts = start_id is not None and (start_id in in_front or settings.get("add_bos_token") is True)
    return HuggingFaceTokenizer(tokenizer, start_id=start_id, starts=starts, end_ids=ids("eos") or usual)


def _add_tokens(folder: Path, tokenizer: tokenizers.Tokenizer, settings: dict[str, Any], special: set[str]) -> None:
    """Add what other files list and the tokenizer's own does not, under the ids that they give."""
    listed = settings.get("added_tokens_decoder")
    flags = ("special", "lstrip", "rstrip", "single_word", "normalized")
    missing: dict[str, tuple[Any, AddedToken, str]] = {}
    for content, token_id in _object(folder / _ADDED_TOKENS).items():
        missing[content] = token_id, AddedToken(content, special=content in special, normalized=False), _ADDED_TOKENS
    for token_id, entry in (listed if isinstance(listed, dict) else {}).items():
        if content := _content(entry):
            given = {flag: entry[flag] for flag in flags if isinstance(entry.get(flag), bool)}
            missing[content] = token_id, AddedToken(content, **given), _TOKENIZER_CONFIG
    for content in {token.content for token in tokenizer.get_added_tokens_decoder().values()} & set(missing):
        token_id, _token, name = missing.pop(content)
        _check_id(name, tokenizer, content, token_id)
    for content, (token_id, token, name) in sorted(
        missing.items(), key=lambda item: (len(str(item[1][0])), str(item[1][0]))
    ):
        tokenizer.add_tokens([token])
        _check_id(name, tokenizer, content, token_id)


def _special_ids(tokenizer: tokenizers.Tokenizer) -> set[int]:
    return {token_id for token_id, token in tokenizer.get_added_tokens_decoder().items() if token.special}


def _in_front(tokenizer: tokenizers.Tokenizer) -> list[int]:
    """The token that the tokenizer's own template puts in front of a text, if any."""
    encoded = tokenizer.encode("a", add_special_tokens=True)
    mask = encoded.special_tokens_mask
    return encoded.ids[:1] if mask and mask[0] and not all(mask) else []


def _check_id(name: str, tokenizer: tokenizers.Tokenizer, content: str, token_id: object) -> None:
    """Raise where an added token did not get its id: the library numbers them on, whatever the file says."""
    if str(tokenizer.token_to_id(content)) != str(token_id):
        raise TokenizerError(
            _("{name} gives {content!r} the id {token_id}, which does not follow the ids before it.").format(
                name=name, content=content, token_id=token_id
            )
        )


def _content(value: object) -> str:
    """The token in a settings file: a text, or an object that holds it; empty if neither."""
    content = value.get("content") if isinstance(value, dict) else value
    return content if isinstance(content, str) else ""


def _object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; an empty one where there is no such file."""
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise TokenizerError(
            _("{name} cannot be read as JSON ({error}).").format(name=path.name, error=error)
        ) from error
    if not isinstance(found, dict):
        raise TokenizerError(
            _("{name} must hold an object, not {type}.").format(name=path.name, type=type(found).__name__)
        )
    return found


def _built(name: str, build: Callable[[], tokenizers.Tokenizer]) -> tokenizers.Tokenizer:
    try:
        return build()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # of a damaged file the library raises `Exception`, or panics, which is none
        raise TokenizerError(
            _("{name} cannot be read as a tokenizer ({error}).").format(name=name, error=error)
        ) from error
