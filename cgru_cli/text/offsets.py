"""The positions of the words of a prepared line in its text."""

import functools
import html
import re
import unicodedata
from collections.abc import Sequence

_BYTE = re.compile("<0x([0-9A-F]{2})>")  # a piece of SentencePiece's byte fallback
_HYPHEN = "@-@"  # Moses' hyphen within a word
_NEAR = 8  # characters that preparation may have removed or added in one place
_ALIKE = 3  # equal characters after which two texts are the same again


def offsets(words: Sequence[str], text: str) -> list[int]:
    """The number of characters of a text before each of its words, never decreasing.

    words: pieces or words of the text, prepared: case, accents, spaces and single characters may
    differ. A word without visible characters begins where the next one does.
    """
    shown, places = "", []
    for place, char in enumerate(text):
        shown += (folded := _folded(char))
        places += [place] * len(folded)
    places.append(len(text))
    stream, begins, held = "", [], b""  # held: bytes of a character that are words of their own
    for word in words:
        byte = _BYTE.fullmatch(word)
        if held and not byte:
            stream, held = stream + _folded(held.decode("utf-8", "ignore")), b""
        begins.append(len(stream))
        held += bytes.fromhex(byte[1]) if byte else b""
        stream += "" if byte else _visible(word)
    stream += _folded(held.decode("utf-8", "ignore"))
    same = [places[min(i, len(shown))] for i in _aligned(stream, shown)]
    return [same[begin] for begin in begins]


@functools.lru_cache(1 << 12)
def _folded(text: str) -> str:
    """The characters by which texts are compared."""
    return "".join(unicodedata.normalize("NFKD", text).casefold().split())


def _visible(word: str) -> str:
    """The characters of a word without what sub-words and Moses' tokeniser add."""
    word = word.removesuffix("@@").replace("\u2581", "")
    if "@" in word or "&" in word:
        word = html.unescape(word.replace(_HYPHEN, "-"))
    return _folded(word)


def _aligned(stream: str, shown: str) -> list[int]:
    """The index in `shown` of each character of `stream`, and of its end."""
    if stream == shown:  # most lines
        return [*range(len(stream) + 1)]
    places: list[int] = []
    i = 0
    while len(places) < len(stream):
        more, fewer = _difference(shown, i, stream, len(places))
        places += [i + k * more // fewer for k in range(fewer)]
        i += more
        if len(places) < len(stream):
            places.append(i)
            i += 1
    return [*places[: len(stream)], i]


def _difference(a: str, i: int, b: str, j: int) -> tuple[int, int]:
    """The fewest characters to skip in both texts so that they go on alike."""
    if a[i : i + 1] == b[j]:
        return 0, 0
    for both in range(1, 2 * _NEAR):
        for more in range(both + 1):
            fewer = both - more
            rest = a[i + more : i + more + _ALIKE]
            if rest and rest == b[j + fewer : j + fewer + _ALIKE]:
                return more, fewer
    return 0, 0  # one character stands for the other
