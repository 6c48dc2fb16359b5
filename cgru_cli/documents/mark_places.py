"""The places of a line's marks in its translation, by the attention.

From the outside inwards, the attention determines the place of each element:

1. For each target word, p is the element's share of the attention to its parent's source words. An
   element gets the run of target words with the greatest sum of p - 1/2, inside the parent's run
   and outside its siblings' runs; the run includes at least the word with the greatest p, and is
   extended to whole words.
2. An element without text, such as `<br/>`, goes into the gap between target words that the least
   attention crosses: from target words before the gap to the source after the element, and the
   reverse.

A translation therefore has all marks of its line, with the same nesting; only Markdown's emphasis
is left out where no word is left for it, because `****` would be four asterisks. If the translation
has more characters that look like Markdown than its source, such as `[` or `*`, they are escaped.
"""

import html
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from .markup import GLUE, SPACE, Element, Markup
from .protected import STANDING

_GLUED, _SPACED = re.compile("[ \1]*\0[ \0\1]*"), re.compile(" *\1[ \1]*")
_GLUED_CODE = re.compile(f"(?<=`){_GLUED.pattern}(?=`)")
ESCAPES = re.compile(r"(?<!\\)(?:\\\\)*\\\Z")  # a backslash that would escape the next character
_EXCLAMATION, _LINK = re.compile(r"(?<!\\)(?:\\\\)*!\Z"), re.compile(rf"(?:{_GLUED.pattern})?\[")
_TAGS = r"&(?=#?\w+;)|<(?=[A-Za-z/!?])"  # would be an entity or a tag in Markdown
_LIKE_TAGS, _LIKE_MARKS = (  # text that Markdown may read as tags or marks
    re.compile(rf"(?P<kept>\\[!-/:-@\[-`{{-~])|{like}")
    for like in (_TAGS, rf"{_TAGS}|[*`\[\]]|~~|!(?=\[)|(?<![^\W_])_|_(?![^\W_])")
)


def place_marks(
    markup: Markup,
    text: str,
    weights: np.ndarray,
    offsets: Sequence[int],
    source_offsets: Sequence[int],
) -> str:
    """A translation with the marks of its line.

    weights: (T,S) attention of the target words to the source words; offsets: (T,) characters of
    the text before each target word; source_offsets: (S,) likewise in the markup's plain text.
    """

    def marked(escape: Callable[[str], str]) -> str:
        placing = _Placing(markup, text, weights, offsets, source_offsets, escape)
        shown = placing.rendered(markup.root, 0, len(weights))
        shown = _GLUED.sub("", _GLUED_CODE.sub(" ", shown))
        return _SPACED.sub(" ", shown).strip(" ")

    if markup.form == "html":
        placed = marked(lambda text: html.escape(text, quote=False))
    else:
        found = Counter[str]()

        def tags_escaped(text: str) -> str:
            found.update(match[0] for match in _LIKE_MARKS.finditer(text))
            return _LIKE_TAGS.sub(_reference, text)

        placed = marked(tags_escaped)
        if found - Counter(match[0] for match in _LIKE_MARKS.finditer(markup.plain)):
            placed = marked(lambda text: _LIKE_MARKS.sub(_literal, text))
    return f"{markup.beginning}{placed}{markup.ending}".strip(" ")


def _reference(match: re.Match[str]) -> str:
    """The reference of an ampersand or a less-than sign; an escape as it is."""
    return match["kept"] or html.escape(match[0], quote=False)


def _literal(match: re.Match[str]) -> str:
    """A match of `_LIKE_MARKS` as text."""
    if match["kept"] or match[0] in "&<":
        return _reference(match)
    return re.sub(r"(.)", r"\\\1", match[0])


class _Placing:
    """Places the elements in one translation."""

    def __init__(
        self,
        markup: Markup,
        text: str,
        weights: np.ndarray,
        offsets: Sequence[int],
        source_offsets: Sequence[int],
        escape: Callable[[str], str],
    ):
        self._markup, self._text, self._escape = markup, text, escape
        self._sources = source_offsets
        # the number of characters before each gap between target words, without a space there
        self._gaps = [len(text[:offset].rstrip(" ")) for offset in offsets[1:]]
        self._gaps = [0, *self._gaps, len(text)] if len(weights) else [len(text)]
        self._weights, self._standing = self._with_standing(weights)

    def _with_standing(self, weights: np.ndarray) -> tuple[np.ndarray, set[str]]:
        """The attention with full attention from the translation's characters that stand for
        protected texts to those of the source; and these characters.
        """
        words: dict[str, int] = {}
        for match in STANDING.finditer(self._text):
            words.setdefault(match[0], bisect_right(self._gaps, match.start()) - 1)
        if words:
            weights = weights.copy()
        for match in STANDING.finditer(self._markup.plain):
            if match[0] in words:
                place = bisect_left(self._sources, match.start())
                weights[words[match[0]]] = 0
                weights[words[match[0]], place : place + 1] = 1  # of a cut line: no word
        return weights, {*words}

    def rendered(self, element: Element, low: int, high: int) -> str:
        """The text and inner elements of an element with the target words from low to high."""
        runs = self._runs(element, low, high)
        parts, place = [], low
        for first, last, _, one in sorted(runs, key=lambda run: run[:3]):
            parts.append((self._escaped(place, first, before_mark=True), ""))
            parts += self._marked(one, first, last)
            place = last
        is_inside = bool(element.opening)
        return _joined([*parts, (self._escaped(place, high, before_mark=is_inside), "")])

    def _marked(self, one: Element, first: int, last: int) -> list[tuple[str, str]]:
        """An element with its marks, as pieces of `_joined`."""
        inside = self.rendered(one, first, last)
        edges = f" {GLUE}{SPACE}" if one.is_emphasis else " "
        text = inside.strip(edges)
        if one.is_emphasis and not text:
            return []
        opening, closing = map(self._markup.restored, (one.verbatim or one.opening, one.closing))
        marked = opening if one.verbatim else f"{opening}{text}{closing}"
        if first == last:
            before, after = (SPACE, SPACE) if one.is_emphasis else one.around
            return [(before + marked + after, "")]
        mark = one.opening if one.is_emphasis else "`" if marked[0] == "`" else ""
        start = len(inside) - len(inside.lstrip(edges))
        before, after = inside[:start], inside[start + len(text) :]
        if one.is_emphasis:
            before, after = before.replace(GLUE, ""), after.replace(GLUE, "")
        elif one.verbatim and one.around[0] == SPACE:
            before = SPACE  # its words may have begun with a comma
        return [(before, ""), (marked, mark), (after, "")]

    def _runs(self, parent: Element, low: int, high: int) -> list[tuple[int, int, int, Element]]:
        """The target words of the inner elements, with their order in the source."""
        runs: list[tuple[int, int, int, Element]] = []
        taken = np.zeros(len(self._weights), bool)
        sides: dict[tuple[str, int], int] = {}  # where the elements between source words are
        begins, ends = self._source(parent)
        of_parent = self._weights[:, begins:ends]
        totals = np.maximum(of_parent.sum(axis=1), 1e-9)
        placed_last = sorted(enumerate(parent.inner), key=lambda x: x[1].start == x[1].end)
        for order, one in placed_last:  # elements without text
            i, j = self._source(one)
            shown = self._markup.plain[one.start : one.end]
            missing = STANDING.fullmatch(shown) and shown not in self._standing
            if i < j and not missing and not taken[low:high].all():
                shares = self._weights[:, i:j].sum(axis=1) / totals
                first, last = self._whole_words(*_best_run(shares - 0.5, taken, low, high))
                taken[first:last] = True
                sides |= {("end", j): last, ("start", i): first}
            else:
                first = _least_crossed(of_parent, i - begins, taken, low, high)
                if one.block:
                    beside = sides.get(("end", i), sides.get(("start", i), first))
                    first = low if i == begins else high if i == ends else beside
                last = first
            runs.append((first, last, order, one))
        return runs

    def _source(self, element: Element) -> tuple[int, int]:
        """The source words of an element, at least one word if it has text."""
        first, last = (bisect_left(self._sources, place) for place in (element.start, element.end))
        return (first, last) if last > first or element.start == element.end else (last - 1, last)

    def _whole_words(self, first: int, last: int) -> tuple[int, int]:
        """The run, extended to whole words of the text.

        All runs have whole words, so it stays inside the parent's run and outside its siblings'.
        """
        while self._within_word(first):
            first -= 1
        while self._within_word(last):
            last += 1
        return first, last

    def _within_word(self, words: int) -> bool:
        place = self._gaps[words]
        return self._text[max(0, place - 1) : place + 1].isalnum() and 0 < place < len(self._text)

    def _escaped(self, first: int, last: int, *, before_mark: bool) -> str:
        text = self._text[self._gaps[first] : self._gaps[last]]
        text = self._escape(STANDING.sub("", text))
        escapes = before_mark and self._markup.form == "markdown" and ESCAPES.search(text)
        return f"{text}\\" if escapes else text


def _best_run(gains: np.ndarray, taken: np.ndarray, low: int, high: int) -> tuple[int, int]:
    """The run of untaken words with the greatest sum of gains (Kadane's algorithm)."""
    best, run = -np.inf, (low, low)
    total, start = 0.0, low
    for t in range(low, high):
        if taken[t]:
            total, start = 0.0, t + 1
            continue
        total += gains[t]
        if total > best:
            best, run = total, (start, t + 1)
        if total < 0:
            total, start = 0.0, t + 1
    return run


def _least_crossed(weights: np.ndarray, i: int, taken: np.ndarray, low: int, high: int) -> int:
    """The gap between target words for source gap i, never inside a taken run."""
    after = weights[low:high, max(i, 0) :].sum(axis=1)
    before = weights[low:high, : max(i, 0)].sum(axis=1)
    crossed = np.append(0.0, np.cumsum(after)) + np.append(np.cumsum(before[::-1])[::-1], 0.0)
    for place in np.argsort(crossed, kind="stable").tolist():
        t = low + place
        if not (low < t < high and taken[t - 1] and taken[t]):
            return t
    return low


def _joined(pieces: list[tuple[str, str]]) -> str:
    """Pieces of text, each with its mark if that is emphasis or code.

    They are separated by a space where Markdown would read a mark otherwise.
    """
    text, last = "", ""  # last: the mark at the end of the text
    for piece, mark in pieces:
        if not piece:
            continue
        if _LINK.match(piece) and _EXCLAMATION.search(text):  # would be an image
            text = rf"{text[:-1]}\!"
        opens = mark and _misread(mark, text[-1:], piece[len(mark)])
        closes = last and _misread(last, piece[0], text[-len(last) - 1])
        text += f" {piece}" if opens or closes else piece
        last = mark
    return text


def _misread(mark: str, outside: str, inside: str) -> bool:
    """Whether a mark is misread between these two characters (CommonMark, 6.2: flanking)."""
    if outside in f" {GLUE}{SPACE}":
        return False
    if outside == mark[0]:
        return True
    return mark[0] != "`" and outside.isalnum() and (mark[0] == "_" or not inside.isalnum())
