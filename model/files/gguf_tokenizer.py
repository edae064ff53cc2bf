"""The tokenizer in the metadata of a `.gguf` file, rebuilt with `tokenizers`.

Two kinds are read, by GGUF's names: `gpt2` is byte-level BPE, whose texts are first cut as `tokenizer.ggml.pre` says;
`llama` is SentencePiece's BPE, whose merges follow from the scores, with bytes for characters that have no token.
Sources: llama.cpp, `llama-vocab.cpp`; the published `tokenizer.json` of GPT-2, Llama 3, Qwen2 and SmolLM.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from gettext import gettext as _
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE

from model.errors import TokenizerError

_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN2 = _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


@dataclass(frozen=True)
class _Rule:
    """What `pre` stands for: texts are cut by each of `splits` in turn.

    `whole`: a word that is a token is taken as it is, whatever the merges make of it. `starts`: as `GGUFVocabulary`.
    """

    splits: tuple[str, ...]
    composed: bool = False
    whole: bool = False
    starts: bool = False


_DIGITS = _Rule((r"\p{N}", _GPT2))
_PLAIN = _Rule((_GPT2,))
_LLAMA = _Rule((_LLAMA3,), whole=True, starts=True)
_QWEN = _Rule((_QWEN2,), composed=True)
_RULES = {
    "default": _Rule((r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]")),
    "gpt-2": _PLAIN,
    "olmo": _PLAIN,
    "llama-bpe": _LLAMA,
    "llama3": _LLAMA,
    "llama-v3": _LLAMA,
    "falcon3": _LLAMA,
    "smaug-bpe": _Rule((_LLAMA3,)),
    "qwen2": _QWEN,
    "deepseek-r1-qwen": _QWEN,
    "smollm": _DIGITS,
    "starcoder": _DIGITS,
}
_ENDS = ("<|endoftext|>", "<|end_of_text|>", "<|im_end|>", "<|eot_id|>")
"""Tokens that end a text or a turn by name, as in llama.cpp, whatever `eos_token_id` says."""


@dataclass(frozen=True)
class GGUFVocabulary:
    """A tokenizer and what the file says about it; `starts`: texts begin with the start token."""

    tokenizer: Tokenizer
    start_id: int | None
    end_ids: frozenset[int]
    starts: bool


def read_vocabulary(metadata: Mapping[str, Any], file: str) -> GGUFVocabulary:
    """The tokenizer in `metadata`; `file` is its name in messages.

    Raises:
        TokenizerError: there is none, of an unknown kind, with an unknown `pre`, or one that contradicts itself.
    """
    told = _Told(metadata, file)
    kind = told.get("model", str)
    if kind not in _BUILDERS:
        raise TokenizerError(
            _("{file} has a tokenizer of the kind {kind!r}; known are {kinds}.").format(
                file=file, kind=kind, kinds=", ".join(_BUILDERS)
            )
        )
    try:
        tokenizer = _BUILDERS[kind](told)
        for types, special in ((_CONTROL, True), (_USER_DEFINED, False)):
            added = [AddedToken(text, special=special, normalized=False) for text in told.of_type(types)]
            (tokenizer.add_special_tokens if special else tokenizer.add_tokens)(added)
    except TokenizerError:
        raise
    except Exception as error:  # `tokenizers` raises nothing more precise
        raise TokenizerError(
            _("The tokenizer in {file} contradicts itself ({error}).").format(file=file, error=error)
        ) from error
    sentencepiece = kind == "llama"
    start_id = told.id_of("bos", 1 if sentencepiece else None)
    ends = [told.id_of("eos", 2 if sentencepiece else None), told.id_of("eot"), told.id_of("eom")]
    ends += map(tokenizer.token_to_id, _ENDS)
    starts = told.get("add_bos_token", bool, sentencepiece or told.rule().starts)
    return GGUFVocabulary(
        tokenizer, start_id, frozenset(end for end in ends if end is not None), starts and start_id is not None
    )


class _Told:
    """`tokenizer.ggml` of the metadata."""

    def __init__(self, metadata: Mapping[str, Any], file: str) -> None:
        self._metadata, self._file = metadata, file
        self.tokens: list[str] = self.list_of("tokens", str)
        self.types: list[int] = self.list_of("token_type", int, [_NORMAL] * len(self.tokens))

    def get(self, name: str, kind: type, missing: Any = None) -> Any:
        """The value called `name`."""
        value = self._metadata.get(f"tokenizer.ggml.{name}", missing)
        if not isinstance(value, kind):
            raise TokenizerError(
                _("{file} says tokenizer.ggml.{name} = {value}; expected {kind}.").format(
                    file=self._file, name=name, value=repr(value)[:80], kind=kind.__name__
                )
            )
        return value

    def list_of(self, name: str, kind: type, missing: Any = None) -> list[Any]:
        """The list called `name`, as long as that of the tokens, if it tells something of each."""
        values: list[Any] = self.get(name, list, missing)
        if not values or type(values[0]) is not kind:
            raise TokenizerError(
                _("{file}: tokenizer.ggml.{name} must be a list of {kind}.").format(
                    file=self._file, name=name, kind=kind.__name__
                )
            )
        if name in ("scores", "token_type") and len(values) != len(self.tokens):
            raise TokenizerError(
                _("{file}: tokenizer.ggml.{name} has {n:,} entries for {n_tokens:,} tokens.").format(
                    file=self._file, name=name, n=len(values), n_tokens=len(self.tokens)
                )
            )
        return values

    def id_of(self, name: str, missing: int | None = None) -> int | None:
        """The id of a token with a role: `bos`, `eos`; None if no token has it."""
        value = self._metadata.get(f"tokenizer.ggml.{name}_token_id", missing)
        return value if type(value) is int and 0 <= value < len(self.tokens) else None

    def of_type(self, wanted: int) -> list[str]:
        """The tokens of a type, by their ids."""
        return [text for text, given in zip(self.tokens, self.types, strict=True) if given == wanted]

    def rule(self) -> _Rule:
        """How texts are cut before merging."""
        pre = self.get("pre", str, "default")
        if pre not in _RULES:
            raise TokenizerError(
                _("{file} cuts texts by the rule {pre!r} (tokenizer.ggml.pre); known are {rules}.").format(
                    file=self._file, pre=pre, rules=", ".join(_RULES)
                )
            )
        return _RULES[pre]


def _byte_level(told: _Told) -> Tokenizer:
    rule = told.rule()
    merges = [tuple(merge.split(" ")) for merge in told.list_of("merges", str)]
    ids = {text: token_id for token_id, text in enumerate(told.tokens)}
    tokenizer = Tokenizer(BPE(ids, merges, ignore_merges=rule.whole))
    if rule.composed:
        tokenizer.normalizer = normalizers.NFC()
    splits = [pre_tokenizers.Split(Regex(split), "isolated") for split in rule.splits]
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*splits, to_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _sentencepiece(told: _Told) -> Tokenizer:
    ids = {text: token_id for token_id, text in enumerate(told.tokens)}
    scores = told.list_of("scores", float)
    unknown = told.id_of("unknown", 0)
    model = BPE(
        ids,
        _merges(ids, [(text, scores[ids[text]]) for text in told.of_type(_NORMAL)]),
        unk_token=None if unknown is None else told.tokens[unknown],
        fuse_unk=True,
        byte_fallback=True,
    )
    prefixed = told.get("add_space_prefix", bool, True)
    tokenizer = Tokenizer(model)
    spaces = normalizers.Replace(" ", "▁")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), spaces] if prefixed else [spaces])
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence([*parts, decoders.Strip(" ", 1, 0)] if prefixed else parts)
    return tokenizer


def _merges(ids: Mapping[str, int], scored: list[tuple[str, float]]) -> list[tuple[str, str]]:
    """All pairs of tokens that make a token, those of the highest score first.

    SentencePiece has no merges: of all neighbours that together are a token, it joins those whose token scores highest.
    """
    found = []
    for text, score in scored:
        pairs = [(text[:cut], text[cut:]) for cut in range(1, len(text))]
        pairs = [pair for pair in pairs if pair[0] in ids and pair[1] in ids]
        found += [(score, pair) for pair in sorted(pairs, key=lambda pair: (ids[pair[0]], ids[pair[1]]))]
    found.sort(key=lambda scored_pair: -scored_pair[0])
    return [pair for _score, pair in found]


_BUILDERS: dict[str, Callable[[_Told], Tokenizer]] = {"gpt2": _byte_level, "llama": _sentencepiece}
