"""The text half of training: vocabulary, templates, readers. Small hand-made inputs, no network."""

import random
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
import tiktoken

from model.training import readers, sources
from model.training.cleaning import passages, plain, sentences
from model.training.coreference import PRONOUN, PRONOUNS, unmarked
from model.training.errors import TrainingDataError
from model.training.lexicon import lexicon, whole_lexicon
from model.training.prepare import encode, links, required_tokens, split_units
from model.training.templates import (
    FAMILIES,
    INTRODUCING,
    CoreferenceExample,
    coreference_examples,
    generate,
    generate_marked,
)
from model.training.vocabulary import (
    build_vocabulary,
    encoding,
    gpt2_ranks,
    parents,
    read_vocabulary,
    single_tokens,
    write_vocabulary,
)
from model.training.words import ARTICLE

SMALL = 4500


@pytest.fixture(scope="module", autouse=True)
def gpt2_files() -> Iterator[None]:
    """tiktoken reads GPT-2's own files from the repository, not from the network."""
    patch = pytest.MonkeyPatch()
    patch.setenv("TIKTOKEN_CACHE_DIR", str(Path(__file__).parents[3] / "assets" / "tiktoken"))
    yield
    patch.undo()


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return list(islice(generate(1, "train"), 300))


@pytest.fixture(scope="module")
def ranks(texts: list[str]) -> dict[bytes, int]:
    return build_vocabulary(texts, SMALL, required_tokens())


class TestVocabulary:
    def test_holds_all_bytes_and_is_numbered_without_gaps(self, ranks):
        assert all(bytes([value]) in ranks for value in range(256))
        assert sorted(ranks.values()) == list(range(len(ranks)))
        assert len(ranks) <= SMALL - 1
        assert encoding(ranks).eot_token == len(ranks)

    def test_is_closed_under_merges_and_in_gpt2s_order(self, ranks):
        full = gpt2_ranks()
        for token in ranks:
            assert all(piece in ranks for piece in parents(token, full) or ())
        assert sorted(ranks, key=ranks.__getitem__) == sorted(ranks, key=full.__getitem__)

    def test_splits_as_gpt2_where_all_its_tokens_are_kept(self, ranks, texts):
        gpt2, small = tiktoken.get_encoding("gpt2"), encoding(ranks)
        kept = 0
        for text in [*texts, ARTICLE]:
            pieces = gpt2.decode_tokens_bytes(gpt2.encode_ordinary(text))
            if all(piece in ranks for piece in pieces):
                kept += 1
                assert small.decode_tokens_bytes(small.encode_ordinary(text)) == pieces
        assert kept > 100

    @pytest.mark.parametrize(
        "text", ["", "Zürich, 東京, 🤖!", "x\n\n  y\t\0", "Once upon a time there was a xylophone.", "a" * 999]
    )
    def test_encodes_and_decodes_every_text(self, ranks, text):
        small = encoding(ranks)
        assert small.decode(small.encode_ordinary(text)) == text

    def test_required_words_are_one_token(self, ranks):
        small, gpt2 = encoding(ranks), tiktoken.get_encoding("gpt2")
        for word in ARTICLE.split():
            for form in (word, " " + word, word.lower(), word.capitalize(), " " + word.capitalize()):
                if len(gpt2.encode_ordinary(form)) == 1:
                    assert len(small.encode_ordinary(form)) == 1, form
        assert len(small.encode_ordinary("A robot must obey")) == 4

    def test_sentence_initial_and_inner_forms_are_different_tokens(self):
        assert single_tokens(["Tom", " Tom", " qqqq"]) == {b"Tom", b" Tom"}

    def test_too_small_for_what_it_must_hold(self):
        with pytest.raises(TrainingDataError, match="need"):
            build_vocabulary([], 300, required_tokens())

    def test_file_round_trip(self, ranks, tmp_path):
        write_vocabulary(ranks, tmp_path / "v.tiktoken")
        assert read_vocabulary(tmp_path / "v.tiktoken") == ranks
        (tmp_path / "bad").write_text("not a vocabulary\n")
        with pytest.raises(TrainingDataError, match="not a vocabulary"):
            read_vocabulary(tmp_path / "bad")


class TestTemplates:
    def test_same_seed_same_texts(self):
        first, again, other = (list(islice(generate(seed, "train"), 50)) for seed in (3, 3, 4))
        assert first == again != other

    @pytest.mark.parametrize("split", ["train", "test"])
    def test_texts_are_clean_and_short(self, split):
        for text in islice(generate(5, split), 500):
            assert text.strip() == text
            assert 10 < len(text) < 900
            assert not any(mark in text for mark in "{}\ue000\ue001\ue002\ue003"), text
            assert "  " not in text
            assert text[0].isupper() or not text[0].isalpha()

    def test_splits_share_no_names_and_nouns(self):
        train, test, whole = lexicon("train"), lexicon("test"), whole_lexicon()
        for kind in ("male", "female", "roles", "things", "animals", "groups"):
            assert not set(getattr(train, kind)) & set(getattr(test, kind))
            assert set(getattr(train, kind)) | set(getattr(test, kind)) == set(getattr(whole, kind))
            assert len(getattr(test, kind)) >= 3
        assert not set(whole.male) & set(whole.female)

    def test_held_out_names_stay_out_of_the_other_families(self):
        rng, words, test = random.Random(0), lexicon("train"), lexicon("test")
        held_out = {*test.male, *test.female}
        for family in FAMILIES.keys() - INTRODUCING:
            for _ in range(100):
                text = family(rng, words, "train")
                assert not held_out & set("".join(c if c.isalpha() else " " for c in text).split()), text

    def test_splits_share_no_texts(self):
        def shapes(split):
            return {example.text[example.antecedent[1] :] for example in coreference_examples(0, 300, split)}

        assert not shapes("train") & shapes("test")


@pytest.fixture(scope="module", params=["train", "test"])
def examples(request) -> list[CoreferenceExample]:
    return coreference_examples(7, 800, request.param)


class TestCoreference:
    def test_spans_are_the_words(self, examples):
        words = {"train": lexicon("train"), "test": lexicon("test")}
        male = {name for split in words.values() for name in split.male}
        female = {name for split in words.values() for name in split.female}
        forms = {"he": ("he", "him"), "she": ("she", "her"), "it": ("it",), "they": ("they", "them")}
        for example in examples:
            assert example.text[slice(*example.pronoun)].lower() in forms[example.kind]
            assert example.wrong
            for start, end in (example.antecedent, *example.wrong):
                assert end <= example.pronoun[0]
                assert example.text[start:end].isalpha()
                assert not example.text[start - 1 : start].isalpha()
                assert not example.text[end].isalpha()
            antecedent = example.text[slice(*example.antecedent)]
            wrong = {example.text[slice(*span)] for span in example.wrong}
            right_names = {"he": male, "she": female}.get(example.kind, set())
            assert antecedent not in (male | female) - right_names
            assert not wrong & right_names

    def test_kinds_in_equal_numbers(self, examples):
        assert Counter(example.kind for example in examples) == dict.fromkeys(("he", "she", "it", "they"), 200)

    def test_neither_first_nor_nearest_is_a_good_guess(self, examples):
        for kind in ("he", "she", "it", "they"):
            firsts = [e.antecedent < min(e.wrong) for e in examples if e.kind == kind]
            assert 0.4 < sum(firsts) / len(firsts) < 0.6

    def test_same_seed_same_examples(self, examples):
        assert coreference_examples(7, 5, "test") == coreference_examples(7, 5, "test")
        assert coreference_examples(7, 5, "test") != coreference_examples(8, 5, "test")


class TestReaders:
    def test_osis(self):
        book = (
            '<div type="book"/><title>Heading</title><chapter osisID="A.1" sID="A.1"/>'
            '<div sID="1" type="x-p"/><w>In</w> '
            '<w>the</w> beginning,<note placement="foot">a note</note><w>God</w> “<w>spoke</w>”. '
            '<div eID="1" type="x-p"/>'
            '<l sID="2"/>One line,<l eID="2"/> <l sID="3"/>one more.<l eID="3"/><chapter eID="A.1"/>Glossary'
        )
        assert list(readers.osis_chapters(book)) == [['In the beginning, God "spoke".', "One line,\none more."]]
        assert list(readers.osis_chapters("<div/>A preface")) == []

    def test_sword_blocks(self, tmp_path):
        block = "Größe".encode()
        data = zlib.compress(block)
        (tmp_path / "ot.bzz").write_bytes(data)
        (tmp_path / "ot.bzs").write_bytes(struct.pack("<III", 0, len(data), len(block)))
        assert list(readers.sword_blocks(tmp_path, "ot")) == ["Größe"]
        (tmp_path / "ot.bzs").write_bytes(struct.pack("<III", 0, len(data), 99))
        with pytest.raises(TrainingDataError, match="99"):
            list(readers.sword_blocks(tmp_path, "ot"))

    def test_r_strings_from_a_database(self):
        strings = [b"CHAPTER I", b"", b"She was _very_", b"happy.", b"FINIS"]
        payload = b"X\n" + struct.pack(">iiii", 3, 0, 0, 5) + b"UTF-8" + struct.pack(">ii", 16, len(strings))
        payload += b"".join(struct.pack(">ii", 9, len(text)) + text for text in strings)
        packed = struct.pack(">i", len(payload)) + zlib.compress(payload)
        first, second = readers.r_database(packed * 2)
        assert first == second == payload
        assert list(readers.novel_chapters(readers.r_strings(payload))) == [["She was very happy."]]
        with pytest.raises(TrainingDataError, match="XDR"):
            readers.r_strings(b"RDX3")

    @pytest.mark.parametrize(
        ("quoted", "sentence"),
        [
            ("he paid the bill", "He paid the bill."),
            ("the cat is on the mat", "The cat is on the mat."),
            ("a dainty teacup", None),
            ("an exhausting job in the hot sun", None),
        ],
    )
    def test_examples_are_sentences(self, quoted, sentence):
        assert readers.example_sentence(quoted) == sentence


class TestCleaning:
    def test_plain(self):
        assert plain("“It’s  late” —he said ,\n and  went .") == '"It\'s late" --he said,\nand went.'

    def test_sentences_give_the_paragraph_back(self):
        paragraph = 'Mr. Smith said, "Go." Then he left. "Why?" she asked.'
        assert " ".join(sentences(paragraph)) == paragraph
        assert len(sentences(paragraph)) == 3

    def test_passages_lose_nothing_and_keep_to_the_limit(self):
        paragraphs = ["One two three. " * 20 + "End.", "Short."]
        packed = passages(paragraphs, limit=100)
        assert " ".join(packed).split() == " ".join(paragraphs).split()
        assert max(map(len, packed)) <= 100

    def test_units_are_held_out_whole_and_spread(self):
        units = [[f"Chapter {i}. " * 3000] for i in range(100)]
        train, val = split_units(units)
        assert (len(train), len(val)) == (96, 4)
        assert not {unit[0] for unit in train} & {unit[0] for unit in val}


def test_links_lead_from_a_pronoun_to_the_word_it_stands_for(ranks):
    tokenizer = encoding(ranks)
    marked = list(islice(generate_marked(1, "train"), 200))
    ids, offsets = encode(map(unmarked, marked), tokenizer)[0].tolist(), links(marked, tokenizer).tolist()
    assert len(ids) == len(offsets)
    queries = [at for at, offset in enumerate(offsets) if offset]
    assert len(queries) == sum(PRONOUN in text for text in marked) > 20
    pronouns = {form for forms in PRONOUNS.values() for form in forms}
    for query in queries:
        assert 0 < offsets[query] <= query
        assert tokenizer.decode([ids[query]]).strip().lower() in pronouns
        assert tokenizer.eot_token not in ids[query - offsets[query] : query + 1]  # both in one text


def test_each_document_is_preceded_by_the_end_of_text(ranks):
    ids, count, size = encode(["A robot", "must obey"], encoding(ranks))
    assert (count, size, ids.dtype.name) == (2, 16, "uint16")
    assert [i for i, token in enumerate(ids) if token == len(ranks)] == [0, 3]


def test_changed_content_is_refused(tmp_path):
    source = sources.SOURCES[0]
    with pytest.raises(TrainingDataError, match=source.package):
        sources.verify(source, tmp_path)
