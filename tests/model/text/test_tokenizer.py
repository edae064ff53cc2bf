"""Text to tokens and back: GPT-2's own splits, any text exactly, and vocabularies from files, whole or broken."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest
import requests
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from model.errors import TokenizerError
from model.text import tokenizer as module
from model.text.tokenizer import ASSETS, TiktokenTokenizer, Token
from tests.models import PIECES, reduced_vocabulary, write_vocabulary

MERGES, VOCAB = "6d1cbeee0f20b3d9449abfede4726ed8212e3aee", "6c7ea1a7e38e3a7f062df639a5b80947f075ffe6"
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
TEXTS = [
    "A robot must obey the orders given it by human beings except where such orders would conflict",
    "a robot must obey a robot",
    "It's  the 1st of  2024,\n\n\tisn't it?  ",
    "   leading and trailing   ",
    "\x00 NUL and \x7f DEL \r\n",
    "عربي ועברית",
    "👩‍👩‍👧‍👦 and 🏳️‍🌈",
    "e\u0301 o\u0308\u0304",
    "橩 日本語のテキスト",
    "<b>&amp;</b> *_`[x](y)`_* $x^2$",
    "<|endoftext|>",
    "x" * 10_000,
]


@pytest.fixture(scope="module")
def reduced(tmp_path_factory) -> TiktokenTokenizer:
    """The 256 bytes and a few merges."""
    return TiktokenTokenizer.from_file(write_vocabulary(tmp_path_factory.mktemp("reduced") / "vocab.tiktoken"))


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    """A folder with GPT-2's vocab.json and merges.txt, as a checkpoint has them."""
    folder = tmp_path_factory.mktemp("published")
    shutil.copy(ASSETS / "tiktoken" / VOCAB, folder / "vocab.json")
    shutil.copy(ASSETS / "tiktoken" / MERGES, folder / "merges.txt")
    return folder


# --- GPT-2's own ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("A robot must obey the orders given it", (32, 9379, 1276, 22389, 262, 6266, 1813, 340)),
        ("Hello, world!", (15496, 11, 995, 0)),
        ("a robot must obey a robot", (64, 9379, 1276, 22389, 257, 9379)),
        ("\n", (198,)),
        (" ", (220,)),
        ("\x00", (188,)),
        ("", ()),
        ("<|endoftext|>", (27, 91, 437, 1659, 5239, 91, 29)),
    ],
)
def test_known_ids(gpt2, text, ids):
    assert gpt2.encode(text) == ids


def test_the_ids_are_those_of_transformers(gpt2, published):
    import transformers

    theirs = transformers.GPT2Tokenizer.from_pretrained(str(published), local_files_only=True)
    for text in TEXTS:
        assert gpt2.encode(text) == tuple(theirs.encode(text, split_special_tokens=True)), text
    assert gpt2.start_id == theirs.bos_token_id == 50256
    assert gpt2.n_vocab == len(theirs) == 50257


@pytest.mark.parametrize("text", TEXTS)
def test_texts_come_back_as_they_were(gpt2, reduced, text):
    for tokenizer in (gpt2, reduced):
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        assert b"".join(token.bytes for token in tokenizer.tokens(ids)) == text.encode()


@given(ANY_TEXT)
def test_any_text_comes_back_as_it_was(text):
    gpt2 = TiktokenTokenizer.gpt2()
    assert gpt2.decode(gpt2.encode(text)) == text


@given(st.binary(max_size=40).map(lambda raw: raw.decode("utf-16", "surrogatepass") if len(raw) % 2 == 0 else ""))
def test_texts_with_lone_surrogates_never_fail(text):
    gpt2 = TiktokenTokenizer.gpt2()
    assert gpt2.decode(gpt2.encode(text)) == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def test_a_lone_surrogate_becomes_the_replacement_character(gpt2):
    assert gpt2.decode(gpt2.encode("a\ud800b")) == "a\ufffdb"
    assert gpt2.decode(gpt2.encode("\udc00")) == "\ufffd"


def test_the_start_token_stands_in_front_when_asked_for(gpt2):
    assert gpt2.encode("Hello", start_token=True) == (50256, 15496)
    assert gpt2.encode("", start_token=True) == (50256,)
    assert gpt2.encode("<|endoftext|>", start_token=True) == (50256, 27, 91, 437, 1659, 5239, 91, 29)
    assert gpt2.token(50256) == Token(50256, b"<|endoftext|>", "<|endoftext|>")


def test_what_a_token_is(gpt2):
    assert gpt2.token(9379) == Token(9379, b" robot", "·robot")
    assert gpt2.token_bytes(447) == b"\xe2\x80"
    assert gpt2.token(447).label == "⟨E2⟩⟨80⟩"
    assert gpt2.decode([447]) == "\ufffd"


@pytest.mark.parametrize("beyond", [50257, 50303, -1, 2**40])
def test_an_id_beyond_the_vocabulary_is_shown_by_its_number(gpt2, beyond):
    assert gpt2.token(beyond) == Token(beyond, b"", f"⟨{beyond}⟩")
    assert gpt2.decode([15496, beyond]) == "Hello"


# --- where GPT-2's files come from ---------------------------------------------------------------------------------


@pytest.fixture
def fresh(monkeypatch):
    """Nothing remembered of an earlier reading, and no way to download."""

    def no_network(*args, **kwargs):
        raise AssertionError("tiktoken tried to download")

    monkeypatch.setattr(requests, "get", no_network)
    monkeypatch.setattr(requests.Session, "request", no_network)
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    module._gpt2_encoding.cache_clear()
    yield monkeypatch
    module._gpt2_encoding.cache_clear()


def _contents(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        path.name: (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) for path in folder.iterdir()
    }


@pytest.fixture
def cache_reads(monkeypatch):
    """The folders that tiktoken was pointed at."""
    seen = []
    get_encoding = tiktoken.get_encoding

    def watched(name: str):
        seen.append(os.environ["TIKTOKEN_CACHE_DIR"])
        return get_encoding(name)

    monkeypatch.setattr(tiktoken, "get_encoding", watched)
    return seen


def test_without_a_cache_of_the_users_the_projects_files_are_read(fresh, cache_reads):
    before = _contents(ASSETS / "tiktoken")
    assert TiktokenTokenizer.gpt2().encode("Hello") == (15496,)
    assert cache_reads == [str(ASSETS / "tiktoken")]
    assert "TIKTOKEN_CACHE_DIR" not in os.environ
    assert _contents(ASSETS / "tiktoken") == before


def test_a_whole_cache_of_the_users_is_used(fresh, cache_reads, tmp_path):
    for name in (MERGES, VOCAB):
        shutil.copy(ASSETS / "tiktoken" / name, tmp_path / name)
    (tmp_path / "other").write_text("the user's")
    before = _contents(tmp_path)
    fresh.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert TiktokenTokenizer.gpt2().encode("Hello") == (15496,)
    assert cache_reads == [str(tmp_path)]
    assert os.environ["TIKTOKEN_CACHE_DIR"] == str(tmp_path)
    assert _contents(tmp_path) == before


@pytest.mark.parametrize("damage", ["one missing", "one cut short", "one changed", "empty", "no folder", "no name"])
def test_a_damaged_cache_of_the_users_is_left_alone(fresh, cache_reads, tmp_path, damage):
    folder = tmp_path / "cache"
    if damage not in ("no folder", "no name"):
        folder.mkdir()
    if damage.startswith("one"):
        shutil.copy(ASSETS / "tiktoken" / VOCAB, folder / VOCAB)
    if damage == "one cut short":
        (folder / MERGES).write_bytes((ASSETS / "tiktoken" / MERGES).read_bytes()[:1000])
    if damage == "one changed":
        (folder / MERGES).write_bytes((ASSETS / "tiktoken" / MERGES).read_bytes().replace(b"t", b"T", 1))
    before = _contents(folder) if folder.exists() else None
    wanted = "" if damage == "no name" else str(folder)
    fresh.setenv("TIKTOKEN_CACHE_DIR", wanted)
    assert TiktokenTokenizer.gpt2().encode("Hello") == (15496,)
    assert cache_reads == [str(ASSETS / "tiktoken")]
    assert os.environ["TIKTOKEN_CACHE_DIR"] == wanted
    assert (_contents(folder) if folder.exists() else None) == before


def test_damaged_files_of_the_project_are_named_not_deleted(fresh, tmp_path):
    (tmp_path / "tiktoken").mkdir()
    (tmp_path / "tiktoken" / MERGES).write_text("nothing")
    fresh.setattr(module, "ASSETS", tmp_path)
    with pytest.raises(TokenizerError, match=r"assets/tiktoken are missing or damaged"):
        TiktokenTokenizer.gpt2()
    assert (tmp_path / "tiktoken" / MERGES).read_text() == "nothing"


# --- .tiktoken files -----------------------------------------------------------------------------------------------


def test_a_reduced_vocabulary(reduced):
    robot = 256 + PIECES.index(b" robot")
    assert reduced.n_vocab == 256 + len(PIECES) + 1
    assert reduced.start_id == 256 + len(PIECES)
    assert reduced.encode(" robot the robot") == (robot, 256 + PIECES.index(b" the"), robot)
    assert [token.label for token in reduced.tokens(reduced.encode("robot é"))] == ["robot", "·", "⟨C3⟩", "⟨A9⟩"]
    assert reduced.encode("", start_token=True) == (reduced.start_id,)


def test_a_closed_part_of_gpt2s_vocabulary_splits_its_words_the_same(gpt2, tmp_path):
    """The first 5,000 tokens are such a part: whatever a token is merged from has a lower rank."""
    ranks = {gpt2.token_bytes(rank): rank for rank in range(5_000)}
    small = TiktokenTokenizer.from_file(write_vocabulary(tmp_path / "v.tiktoken", ranks))
    text = "The first of these was the other and that one would not have been what they said"
    assert max(gpt2.encode(text)) < 5_000
    assert small.encode(text) == gpt2.encode(text)
    assert small.decode(small.encode("perpendicular 橩")) == "perpendicular 橩"


def _bytes_only(without: int = -1) -> dict[bytes, int]:
    return {bytes([n]): n for n in range(256) if n != without}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe\x00", r"broken\.tiktoken cannot be read.*base64"),
        (b"not base64! 0\n", r"broken\.tiktoken cannot be read.*base64"),
        (b"QQ==\n", r"broken\.tiktoken cannot be read"),
        (b"QQ== one\n", r"broken\.tiktoken cannot be read"),
        (b"QQ== 0 1\n", r"broken\.tiktoken cannot be read"),
        (b"", r"broken\.tiktoken lacks the single byte 0x00"),
        (b"QQ== 0\n", r"broken\.tiktoken lacks the single byte 0x00"),
    ],
)
def test_a_broken_tiktoken_file(tmp_path, content, message):
    path = tmp_path / "broken.tiktoken"
    path.write_bytes(content)
    with pytest.raises(TokenizerError, match=message):
        TiktokenTokenizer.from_file(path)


def test_a_tiktoken_file_that_is_not_there(tmp_path):
    with pytest.raises(TokenizerError, match=r"none\.tiktoken cannot be read"):
        TiktokenTokenizer.from_file(tmp_path / "none.tiktoken")


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (_bytes_only(without=0xA9), r"v\.tiktoken lacks the single byte 0xa9"),
        ({**_bytes_only(), b"ab": 300}, r"ranks in v\.tiktoken are not 0 to 256, each once"),
        ({**_bytes_only(), b"ab": 5}, r"ranks in v\.tiktoken are not 0 to 256, each once"),
        ({**_bytes_only(), b"ab": -1}, r"ranks in v\.tiktoken are not 0 to 256, each once"),
    ],
)
def test_a_tiktoken_file_whose_ranks_are_wrong(tmp_path, ranks, message):
    with pytest.raises(TokenizerError, match=message):
        TiktokenTokenizer.from_file(write_vocabulary(tmp_path / "v.tiktoken", ranks))


def test_the_reduced_vocabulary_of_the_tests_is_closed():
    """Each piece is two earlier tokens joined, as `from_file` expects of a BPE vocabulary."""
    ranks = reduced_vocabulary()
    for piece in PIECES:
        splits = [(piece[:cut], piece[cut:]) for cut in range(1, len(piece))]
        assert any(max(ranks.get(a, 999), ranks.get(b, 999)) < ranks[piece] for a, b in splits), piece
