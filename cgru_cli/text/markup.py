"""Inline HTML, XML and Markdown: remove marks from a line, and put them into its translation.

A line is parsed as a tree of elements over its plain text. From the outside inwards, the attention
determines the place of each element in the translation:

1. For each target word, p is the element's share of the attention to its parent's source words. An
   element gets the run of target words with the greatest sum of p - 1/2, inside the parent's run
   and outside its siblings' runs; the run includes at least the word with the greatest p, and is
   extended to whole words.
2. An element without text, such as `<br/>`, goes between the two target words where the least
   attention crosses it: from words before it to the source after it, and the reverse.

A translation therefore has all marks of its line, with the same nesting. Closing marks without an
opening mark are dropped, and a tag without a closing tag is closed with its parent. The marker of
a task or a footnote, `- [ ]` or `[^1]:`, stays at the beginning of its line.
"""

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_TAG = (
    r"""(?P<tag><(?P<slash>/?)(?P<name>[A-Za-z][\w:.-]*)(?![\w:.-])(?:[^<>"']|"[^"]*"|'[^']*')*>)"""
)
_CODE = r"(?P<code><code\b[^<>]*>(?P<inside>[^<]*)</code>)"
_POINT = r"(?P<point><!--.*?-->|<\?.*?\?>)"
_ADDRESS = r"(?:<(?:[^<>\\]|\\.)*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)"
_TITLE = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\))"""
_TARGET = rf"\({_ADDRESS}(?:[ ]+{_TITLE})?\)"
_LABEL = r"(?:[^\[\]\\]|\\.)+"
_PATTERNS = {
    "html": re.compile("|".join((_CODE, _POINT, _TAG)), re.DOTALL),
    "markdown": re.compile(
        "|".join(
            (
                r"(?P<literal>\\[!-/:-@\[-`{-~])",
                r"(?P<ticked>(?P<ticks>`+)(?!`)(?P<ticked_inside>.*?)(?<!`)(?P=ticks)(?!`)|`+)",
                r"(?P<address><[a-z][a-z0-9+.-]*:[^\s<>]*>)",
                _CODE,
                _POINT,
                _TAG,
                rf"(?P<footnote>\[\^[^\s\[\]]+\](?!{_TARGET}))",
                r"(?P<bracket>!?\[)",
                rf"(?P<link>\](?:{_TARGET}|\[(?:{_LABEL})?\](?!{_TARGET})))",
                r"(?P<emphasis>\*{1,3}|_{1,3}|~~)",
            )
        ),
        re.DOTALL,
    ),
}
_SPECIAL = re.compile(r"&(?=#?\w+;)|<(?=[A-Za-z/!?])")  # would be an entity or a tag in Markdown
_WHOLE_LABEL, _SHORTCUT = re.compile(_LABEL, re.DOTALL), re.compile(rf"({_LABEL})\](?![\[(])")
_BEGINNING = re.compile(  # of a task or a footnote
    r" *(?:(?:(?:[-+*]|\d{1,9}[.)]) +)?\[[ xX]\]|\[\^[^\s\[\]]+\]:)(?:\s|\Z)"
)
DEEPEST = 200  # maximum nesting of marks; deeper marks stand alone or are text
_GLUE, _SPACE = "\0", "\1"  # no space, or one space, on this side of a mark
_GLUED, _SPACED = re.compile("[ \1]*\0[ \0\1]*"), re.compile(" *\1[ \1]*")


@dataclass
class Element:
    """A mark, the start and end of its text in the plain line, and the elements inside."""

    opening: str
    closing: str = ""
    start: int = 0
    end: int = 0
    inner: list["Element"] = field(default_factory=list)
    verbatim: str | None = None  # code, which replaces the translation of its text
    closed_by: int | None = None  # the number of the closing match
    around: tuple[str, str] = (_SPACE, _SPACE)  # before and after an element without text


class Markup:
    """The plain text of a line, `plain`, and its marks."""

    def __init__(self, line: str, form: str, *, copies_code: bool = False):
        """form: html or markdown; copies_code: keep Markdown's code in the plain text."""
        self._form, self._line = form, re.sub(f"[{_GLUE}{_SPACE}]", "", line)
        begun = _BEGINNING.match(self._line) if form == "markdown" else None
        self._beginning = begun[0] if begun else ""
        self._line = self._line[len(self._beginning) :]
        self._matches = list(_PATTERNS[form].finditer(self._line))
        self._copies_code = copies_code
        self._opened: set[int] = set()  # the numbers of opening matches
        self._closing, self._literal = self._paired()
        self.plain = ""
        self.root = self._tree()

    def borders(self) -> set[int]:
        """The places in the plain text where elements begin and end."""

        def borders(element: Element) -> set[int]:
            return {element.start, element.end}.union(*map(borders, element.inner))

        return borders(self.root)

    def placed(
        self,
        weights: np.ndarray,
        words_before: Mapping[int, int],
        text_before: Callable[[int], str],
    ) -> str:
        """The translation with the marks.

        weights: (T,S) attention of the target words to the source words; words_before: the number
        of source words before each of `borders`; text_before: the text of the first n target words.
        """
        placing = _Placing(weights, words_before, text_before, self._form)
        text = placing.rendered(self.root, 0, len(weights))
        text = _SPACED.sub(" ", _GLUED.sub("", text)).strip(" ")
        return f"{self._beginning}{text}".strip(" ")

    def _paired(self) -> tuple[dict[int, int], set[int]]:
        """The closing match of each opening match, and the matches that are text."""
        closing: dict[int, int] = {}
        literal: set[int] = set()
        opened: list[tuple[str, int]] = []  # keys and numbers of matches; tags have < before them
        places: dict[str, list[int]] = {}  # in `opened`, by key, and under "<" for all tags
        for number, match in enumerate(self._matches):
            found = match.groupdict()
            key, opens, closes = self._role(match, found)
            is_tag = key[:1] == "<"
            tags, mine = places.setdefault("<", []), places.setdefault(key, [])
            # only a tag can close a mark outside an open tag
            if closes and mine and (is_tag or not tags or mine[-1] > tags[-1]):
                place = mine[-1]
                closing[opened[place][1]] = number
                while len(opened) > place:
                    other, one = opened.pop()
                    places[other].pop()
                    if other[0] == "<":
                        tags.pop()
                    elif len(opened) > place:
                        literal.add(one)
            elif opens and len(opened) < DEEPEST:
                self._opened.add(number)
                mine.append(len(opened))
                if is_tag:
                    tags.append(len(opened))
                opened.append((key, number))
            elif key and not is_tag:
                literal.add(number)
        return closing, literal | {one for key, one in opened if key[0] != "<"}

    def _role(
        self, match: re.Match[str], found: Mapping[str, str | None]
    ) -> tuple[str, bool, bool]:
        """The key that opening and closing marks share, and whether this mark opens or closes."""
        if found["tag"]:
            name = f"<{found['name']}".lower()
            empty = name[1:] in VOID or match[0].endswith("/>")
            return name, not found["slash"] and not empty, bool(found["slash"])
        if found.get("bracket") or found.get("link"):
            return "[", bool(found["bracket"]), bool(found["link"])
        if found.get("literal") or (found.get("ticked") and not found["ticked_inside"]):
            return "text", False, False
        if not found.get("emphasis"):
            return "", False, False
        before, after = self._neighbours(match)
        within = "_" in match[0] and before.isalnum() and after.isalnum()
        return match[0], bool(after.strip()) and not within, bool(before.strip()) and not within

    def _neighbours(self, match: re.Match[str]) -> tuple[str, str]:
        """The characters before and after a match; a space at the ends of the line."""
        start, end = match.span()
        return self._line[start - 1 : start] or " ", self._line[end : end + 1] or " "

    def _tree(self) -> Element:
        stack, place, closes = [Element("")], 0, {*self._closing.values()}
        for number, match in enumerate(self._matches):
            self.plain += html.unescape(self._line[place : match.start()])
            place, found = match.end(), match.groupdict()
            before, after = (_SPACE if c == " " else _GLUE for c in self._neighbours(match))
            one = Element(match[0], start=len(self.plain), around=(before, after))
            inside = found.get("inside") or found.get("ticked_inside")
            copied = self._copies_code and found.get("ticked")
            if number in closes:
                while stack[-1].closed_by != number:
                    stack.pop().end = len(self.plain)
                stack[-1].around = (stack[-1].around[0], after)
                stack.pop().end = len(self.plain)
            elif number in self._literal or copied:
                self.plain += match[0]
            elif inside:
                self.plain += html.unescape(inside) if found["code"] else inside
                one.end, one.verbatim = len(self.plain), match[0]
                stack[-1].inner.append(one)
            elif number in self._opened:
                one.closed_by = self._closing.get(number)
                one.closing = f"</{found['name']}>"
                if one.closed_by is not None:
                    one.closing = self._closing_mark(match, self._matches[one.closed_by])
                stack[-1].inner.append(one)
                stack.append(one)
            elif not found["slash"]:  # otherwise it has no opening tag
                one.end = one.start
                stack[-1].inner.append(one)
                if found.get("footnote") and before == _GLUE:
                    one.around = before, ""  # `house[^1]` before a space or a comma
                else:
                    self.plain += " "
        self.plain += html.unescape(self._line[place:])
        for one in stack:
            one.end = len(self.plain)
        return stack[0]

    def _closing_mark(self, opening: re.Match[str], closing: re.Match[str]) -> str:
        """The text of a closing mark; `[dog][]` needs its label when `dog` is translated."""
        label = _WHOLE_LABEL.fullmatch(self._line, opening.end(), closing.start())
        return f"][{label[0]}]" if label and closing[0] == "][]" else closing[0]


def with_references(line: str, is_defined: Callable[[str], bool]) -> str:
    """A line of Markdown with `[dog][]` instead of links `[dog]` whose label is defined."""
    parts, place = [], 0
    for match in _PATTERNS["markdown"].finditer(line):
        found = _SHORTCUT.match(line, match.end()) if match["bracket"] else None
        if found and is_defined(found[1]):
            parts += [line[place : found.end()], "[]"]
            place = found.end()
    return "".join([*parts, line[place:]])


class _Placing:
    """Places the elements in one translation."""

    def __init__(
        self,
        weights: np.ndarray,
        words_before: Mapping[int, int],
        text_before: Callable[[int], str],
        form: str,
    ):
        self._weights, self._words_before, self._form = weights, words_before, form
        self._text_before, self._text = text_before, text_before(len(weights))
        self._offsets = {0: 0, len(weights): len(self._text)}

    def rendered(self, element: Element, low: int, high: int) -> str:
        """The text and inner elements of an element with the target words from low to high."""
        runs = self._runs(element, low, high)
        parts, place = [], low
        for first, last, _, one in sorted(runs, key=lambda run: run[:3]):
            parts.append(self._escaped(place, first))
            inside = self.rendered(one, first, last)
            text = inside.strip(" ")
            marked = one.verbatim or f"{one.opening}{text}{one.closing}"
            if first == last:
                parts.append(one.around[0] + marked + one.around[1])
            else:
                start = len(inside) - len(inside.lstrip(" "))
                parts.append(inside[:start] + marked + inside[start + len(text) :])
            place = last
        return "".join(parts) + self._escaped(place, high)

    def _runs(self, parent: Element, low: int, high: int) -> list[tuple[int, int, int, Element]]:
        """The target words of the inner elements, with their order in the source."""
        runs: list[tuple[int, int, int, Element]] = []
        taken = np.zeros(len(self._weights), bool)
        begins, ends = self._source(parent)
        of_parent = self._weights[:, begins:ends]
        totals = np.maximum(of_parent.sum(axis=1), 1e-9)
        placed_last = sorted(enumerate(parent.inner), key=lambda x: x[1].start == x[1].end)
        for order, one in placed_last:  # elements without text
            i, j = self._source(one)
            if i < j and not taken[low:high].all():
                shares = self._weights[:, i:j].sum(axis=1) / totals
                first, last = self._whole_words(_best_run(shares - 0.5, taken, low, high), taken)
                first, last = max(first, low), min(last, high)
                taken[first:last] = True
            else:
                first = last = _least_crossed(of_parent, i - begins, taken, low, high)
            runs.append((first, last, order, one))
        return runs

    def _source(self, element: Element) -> tuple[int, int]:
        """The source words of an element, at least one word if it has text."""
        first, last = self._words_before[element.start], self._words_before[element.end]
        return (first, last) if last > first or element.start == element.end else (last - 1, last)

    def _whole_words(self, run: tuple[int, int], taken: np.ndarray) -> tuple[int, int]:
        """The run, extended to whole words of the text."""
        first, last = run
        while first > 0 and not taken[first - 1] and self._within_word(first):
            first -= 1
        while last < len(taken) and not taken[last] and self._within_word(last):
            last += 1
        return first, last

    def _within_word(self, words: int) -> bool:
        place = self._offset(words)
        return self._text[max(0, place - 1) : place + 1].isalnum() and 0 < place < len(self._text)

    def _offset(self, words: int) -> int:
        """The number of characters before a target word, which never decreases between words."""
        if words not in self._offsets:
            length = min(len(self._text_before(words)), len(self._text))
            self._offsets[words] = length
        known = sorted(self._offsets)
        place = known.index(words)
        low = max((self._offsets[n] for n in known[:place]), default=0)
        high = min((self._offsets[n] for n in known[place + 1 :]), default=len(self._text))
        self._offsets[words] = min(max(self._offsets[words], low), high)
        return self._offsets[words]

    def _escaped(self, first: int, last: int) -> str:
        text = self._text[self._offset(first) : self._offset(last)]
        if self._form == "html":
            return html.escape(text, quote=False)
        return _SPECIAL.sub(lambda match: "&amp;" if match[0] == "&" else "&lt;", text)


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
