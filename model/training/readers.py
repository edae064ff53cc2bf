"""Readers of the packages' files.

Each takes the folder of an unpacked package and yields units (a chapter, a speech, a stretch of a dictionary); a unit
is a list of paragraphs in plain text, and is held out as a whole or not at all."""

import json
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from model.training.cleaning import plain, sentences
from model.training.errors import TrainingDataError
from model.training.words import word_list

Unit = list[str]

# --- SWORD zText with OSIS markup -------------------------------------------------------------------------------


def sword_blocks(folder: Path, testament: str) -> Iterator[str]:
    """The zlib blocks (one a book) of a zText module, decompressed. Index `.bzs`: per block offset, size, full size."""
    index = (folder / f"{testament}.bzs").read_bytes()
    data = (folder / f"{testament}.bzz").read_bytes()
    for offset, size, full in struct.iter_unpack("<III", index):
        block = zlib.decompress(data[offset : offset + size])
        if len(block) != full:
            raise TrainingDataError(
                f"{folder.name}/{testament}.bzz: a block has {len(block)} bytes, its index says {full}"
            )
        yield block.decode("utf-8")


def osis_chapters(book: str) -> Iterator[Unit]:
    """Chapters of one book in OSIS, as paragraphs: no notes, headings or numbers; lines of verse stay lines."""
    if 'type="book"' not in book:  # prefaces and glossaries
        return
    book = re.sub(r"<(note|title|speaker|rdg)\b[^>]*?(?<!/)>.*?</\1>", " ", book, flags=re.DOTALL)
    for chapter in re.split(r"<chapter [^>]*sID=[^>]*>", book)[1:]:
        chapter = chapter.split("<chapter ", 1)[0]  # up to its end mark: appendices follow the last one
        text = re.sub(r'<div [^>]*type="x-p"/>|<lg [^>]*/>', "\n\n", chapter)
        text = re.sub(r"<l [^>]*eID=[^>]*/>|<lb[^>]*/>|</item>", "\n", text)
        text = plain(re.sub(r"<[^>]*>", "", text))
        paragraphs = [part.strip() for part in re.split(r"\n{2,}", text) if part.strip()]
        if paragraphs:
            yield paragraphs


def read_sword(root: Path) -> Iterator[Unit]:
    """Chapters of the module's books."""
    folder = next(root.glob("usr/share/sword/modules/texts/ztext/*"), None)
    if folder is None:
        raise TrainingDataError(f"no SWORD zText module under {root}")
    for testament in ("ot", "nt"):
        for book in sword_blocks(folder, testament):
            yield from osis_chapters(book)


# --- R character vectors ----------------------------------------------------------------------------------------


def r_strings(payload: bytes) -> list[str]:
    """The strings of an R character vector, serialised in XDR format version 3 and nothing else."""
    if payload[:6] != b"X\n\x00\x00\x00\x03":
        raise TrainingDataError(f"not an R object in XDR format 3: begins with {payload[:6]!r}")
    position = 14
    position += 4 + struct.unpack_from(">i", payload, position)[0]  # the name of the encoding
    kind, count = struct.unpack_from(">II", payload, position)
    if kind & 0xFF != 16:
        raise TrainingDataError(f"expected an R character vector (type 16), found type {kind & 0xFF}")
    position += 8
    strings = []
    for _ in range(count):
        length = struct.unpack_from(">i", payload, position + 4)[0]
        position += 8
        strings.append(payload[position : position + max(length, 0)].decode("utf-8"))
        position += max(length, 0)
    return strings


def r_database(data: bytes) -> Iterator[bytes]:
    """Objects of an R lazy-load database: each a big-endian length, then a zlib stream."""
    position = 0
    while position < len(data):
        inflate = zlib.decompressobj()
        try:
            yield inflate.decompress(data[position + 4 :])
        except zlib.error as error:
            raise TrainingDataError(f"R database: no zlib stream at byte {position + 4}: {error}") from error
        position = len(data) - len(inflate.unused_data)


_HEADING = re.compile(r"^\s*(chapter|volume|vol\.|finis|the end)\b.{0,30}$", re.IGNORECASE)


def novel_chapters(lines: list[str]) -> Iterator[Unit]:
    """Chapters of a novel given as printed lines; what stands before the first chapter is left out."""
    chapter: Unit | None = None
    paragraph: list[str] = []
    for line in [*lines, ""]:
        heading = _HEADING.match(line) is not None
        if line.strip() and not heading:
            paragraph.append(line.strip())
            continue
        if paragraph and chapter is not None:
            text = plain(re.sub(r"_|\[\d+\]", "", " ".join(paragraph)))
            if len(text) > 3 and not text.isupper():
                chapter.append(text)
        paragraph = []
        if heading:
            if chapter:
                yield chapter
            chapter = []
    if chapter:
        yield chapter


def read_r_novels(root: Path) -> Iterator[Unit]:
    """Chapters of the novels in an R package's data."""
    file = next(root.glob("usr/lib/R/site-library/*/data/Rdata.rdb"), None)
    if file is None:
        raise TrainingDataError(f"no R data under {root}")
    for payload in r_database(file.read_bytes()):
        yield from novel_chapters(r_strings(payload))


# --- JSON -------------------------------------------------------------------------------------------------------


def read_chapters(root: Path) -> Iterator[Unit]:
    """Chapters from `data/chapter_N.json`, in order."""
    files = sorted(root.glob("data/chapter_*.json"), key=lambda file: int(file.stem.split("_")[1]))
    for file in files:
        text = plain(json.loads(file.read_text("utf-8"))["text"])
        yield [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


FIRST_MODERN_SPEECH = 1934
LONGEST_SPEECH = 80_000  # longer ones were never spoken: written reports full of numbered points


def read_speeches(root: Path) -> Iterator[Unit]:
    """Speeches from `data/YEAR_*.json`; they come without paragraphs, so stretches of five sentences stand for them."""
    for file in sorted(root.glob("data/*.json")):
        if not file.stem[:4].isdigit() or int(file.stem[:4]) < FIRST_MODERN_SPEECH:
            continue
        text = plain(json.loads(file.read_text("utf-8"))["text"])
        text = re.sub(r"\s*[\[(](?:laughter|applause)[^\])]*[\])]", "", text, flags=re.IGNORECASE)
        text = re.sub(r"(?<=[a-z][a-z][.?!])(?=[A-Z][a-z])", " ", text)  # a space lost between two sentences
        if len(text) > LONGEST_SPEECH:
            continue
        spoken = [sentence for sentence in sentences(" ".join(text.split())) if not sentence.isupper()]
        yield [" ".join(spoken[start : start + 5]) for start in range(0, len(spoken), 5)]


# --- WordNet ----------------------------------------------------------------------------------------------------

_SYNSETS_A_UNIT = 400  # neighbours in the files are neighbours in meaning: hold them out together
_PARTS = ("noun", "verb", "adj", "adv", "adj")  # by the digit of a sense key; the fifth are satellites of adjectives
_SUBJECTS = frozenset(word_list("i you he she it we they there these those this that let don't never please"))
_STARTS = frozenset(word_list("the a an his her my our your their all some many no every each"))
_VERBS = re.compile(
    r"\b(is|are|was|were|am|has|have|had|will|would|can|cannot|could|may|might|must|should|do|does|did|don't|doesn't|"
    r"didn't|isn't|wasn't|won't|can't|came|went|made|took|gave|fell|rose|ran|broke|stood|left|felt|saw|got|grew)\b"
)
_UNFIT = re.compile(
    r"\b(sex|sexual|sexually|rape|raped|whore|prostitutes?|fuck\w*|shit\w*|nigg\w*|jews?|negro\w*|slut|"
    r"bitch\w*|penis|vagina|breasts?|homosexual\w*|orgasm|erotic|naked|nude|faggot|piss\w*)\b",
    re.IGNORECASE,
)


def _glosses(root: Path) -> Iterator[tuple[str, str, bool]]:
    """(headword, gloss, whether the headword was ever seen in this sense in WordNet's tagged texts), in file order."""
    seen = set()
    for line in (root / "dict" / "index.sense").read_text("latin-1").splitlines():
        key, offset, _, count = line.split()
        if count != "0":
            lemma, _, kind = key.partition("%")
            seen.add((lemma, _PARTS[int(kind[0]) - 1], offset))
    for part in ("noun", "verb", "adj", "adv"):
        for line in (root / "dict" / f"data.{part}").read_text("latin-1").splitlines():
            if not line.startswith(" "):
                entry, gloss = line.split(" | ", 1)
                offset, _, _, _, word, *_ = entry.split()
                word = word.split("(")[0]
                yield word.replace("_", " "), plain(gloss), (word.lower(), part, offset) in seen


def example_sentence(quoted: str) -> str | None:
    """An example as a sentence of its own, or None where it is only a phrase or nothing to teach."""
    words = quoted.split()
    if not 4 <= len(words) <= 30 or "--" in quoted or quoted[-1] in ":;,-" or _UNFIT.search(quoted):
        return None
    first = words[0].lower()
    sentence = first in _SUBJECTS or ((first in _STARTS or words[0][0].isupper()) and _VERBS.search(quoted))
    return quoted[0].upper() + quoted[1:] + ("" if quoted[-1] in ".?!" else ".") if sentence else None


def read_examples(root: Path) -> Iterator[Unit]:
    """WordNet's example sentences; six neighbouring ones, a line each, make a paragraph."""

    def lines(_: str, gloss: str, __: bool) -> list[str]:
        quotes = (quoted.strip() for quoted in re.findall(r'"([^"]+)"', gloss))
        return [sentence for quoted in quotes if quoted and (sentence := example_sentence(quoted))]

    yield from _stretches(root, lines)


def read_definitions(root: Path) -> Iterator[Unit]:
    """WordNet's short definitions of words in use, `word: what it is.`; six neighbours make a paragraph."""

    def lines(word: str, gloss: str, seen: bool) -> list[str]:
        meaning = re.sub(r"\([^)]*\)\s*", "", gloss.split('"')[0]).strip(" ;")
        usable = (
            seen
            and word.isalpha()
            and word.islower()
            and 15 < len(meaning) < 90
            and ";" not in meaning
            and not _UNFIT.search(meaning)
        )
        return [f"{word}: {meaning}."] if usable else []

    yield from _stretches(root, lines)


def _stretches(root: Path, lines_of: Callable[[str, str, bool], list[str]]) -> Iterator[Unit]:
    unit: list[str] = []
    for count, entry in enumerate(_glosses(root), start=1):
        unit.extend(lines_of(*entry))
        if count % _SYNSETS_A_UNIT == 0 and unit:
            yield _by_sixes(unit)
            unit = []
    if unit:
        yield _by_sixes(unit)


def _by_sixes(lines: list[str]) -> Unit:
    return ["\n".join(lines[start : start + 6]) for start in range(0, len(lines), 6)]
