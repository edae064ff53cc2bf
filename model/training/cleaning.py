"""Plain text from printed text: one kind of quotation mark and dash, tidy spaces, passages of whole paragraphs."""

import re

# GPT-2 spends two or three tokens on a typographic mark and one on its plain form; a small model should not have to
# learn both.
_PLAIN = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2014": "--",
        "\u2013": "-",
        "\u2026": "...",
        "\u00a0": " ",
        "\u2009": " ",
        "\u202f": " ",
        "\u2003": " ",
        "\ufeff": "",
        "\u00e6": "ae",
        "\u00c6": "Ae",
        "\u0153": "oe",
        "\u00e9": "e",
        "\u00e8": "e",
        "\u00ea": "e",
        "\u00ef": "i",
        "\u00fb": "u",
        "\u00f4": "o",
        "\u00e0": "a",
        "\u00e2": "a",
        "\u00fc": "u",
        "\u00f6": "o",
        "\u00e4": "a",
        "\u00e7": "c",
        "\u00f1": "n",
    }
)
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)][.?!])(?<!\bMr\.)(?<!\bDr\.)(?<!\bMrs\.)(?<!\bSt\.)[\"']?\s+(?=[A-Z\"'])")


def plain(text: str) -> str:
    """The text with plain marks, single spaces and no space before punctuation; line breaks stay."""
    text = text.translate(_PLAIN)
    text = re.sub(r"[ \t]+", " ", text)
    text = re.sub(r" ([,.;:?!)])(?!\.)", r"\1", text)
    text = re.sub(r"\( ", "(", text)
    text = re.sub(r" ?\n ?", "\n", text)
    return text.strip()


def sentences(paragraph: str) -> list[str]:
    """Sentences of one paragraph; joined by a space they give it back."""
    cuts = [match.end() for match in _SENTENCE_END.finditer(paragraph)]
    return [paragraph[a:b].strip() for a, b in zip([0, *cuts], [*cuts, len(paragraph)], strict=True)]


def passages(paragraphs: list[str], limit: int = 1200) -> list[str]:
    """Paragraphs packed into passages of about `limit` characters (some 280 tokens).

    A training window of 256 tokens then rarely leaves its passage and often holds a beginning. A paragraph that is
    longer than the limit is cut between sentences."""
    pieces: list[tuple[str, str]] = []
    for paragraph in paragraphs:
        if len(paragraph) <= limit:
            pieces.append(("\n\n", paragraph))
        else:
            first, *rest = sentences(paragraph)
            pieces.append(("\n\n", first))
            pieces.extend((" ", sentence) for sentence in rest)
    packed: list[str] = []
    current = ""
    for joint, piece in pieces:
        if current and len(current) + len(piece) > limit:
            packed.append(current)
            current = piece
        else:
            current = current + joint + piece if current else piece
    return [*packed, current] if current else packed
