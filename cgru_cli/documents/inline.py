"""Marks inside a segment, such as tags and placeholders, as numbered HTML tags.

`<x1>...</x1>` stands for an opening and a closing mark, `<x2/>` for a mark without text, and
`<code>...</code>` for text to copy. `markup` can then place all marks in the translation.
A text with marks that are known already is a list of symbols: its characters and `Mark`s.
"""

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

_TAG = re.compile(r"<(?P<slash>/?)x(?P<number>\d+)(?P<point>/?)>|</?code>")
_CONTROLS = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f]")  # not allowed in XML


class Token(NamedTuple):
    """A part of a translation: a text, or a mark."""

    kind: str  # text, copied, open, close or point
    text: str = ""
    number: int = -1  # of the mark


def tokens(translation: str) -> Iterator[Token]:
    """The texts and marks of a translation."""
    place, text_kind = 0, "text"
    for match in _TAG.finditer(translation):
        if place < match.start():
            yield Token(text_kind, _unescaped(translation[place : match.start()]))
        place = match.end()
        if match["number"]:
            kind = "point" if match["point"] else "close" if match["slash"] else "open"
            yield Token(kind, number=int(match["number"]))
        else:
            text_kind = "text" if match[0][1] == "/" else "copied"
    if place < len(translation):
        yield Token(text_kind, _unescaped(translation[place:]))


def escaped(text: str) -> str:
    """A text with its special characters escaped, as in a segment."""
    return html.escape(text, quote=False).replace("\r", "&#13;")


def _unescaped(text: str) -> str:
    return _CONTROLS.sub("", html.unescape(text))


class Mark(NamedTuple):
    """A mark as it is written.

    kind: open, close, point or copied. name: the same for the two marks of a pair; "<" for the
    tags of an element that is part of a document in XML.
    """

    text: str
    kind: str = "point"
    name: str = ""


Symbols = Sequence[str | Mark]


def masked(symbols: Iterable[str | Mark]) -> str:
    """The characters of a text, with "\\0" for each mark."""
    return "".join(one if isinstance(one, str) else "\0" for one in symbols)


def written(symbols: Iterable[str | Mark], *, xml: bool) -> str:
    """A text with its marks as they are written; xml: whether to escape characters."""
    return "".join(
        one.text if isinstance(one, Mark) else escaped(one) if xml else one for one in symbols
    )


def split(
    symbols: Iterable[str | Mark], marks: re.Pattern[str], *, xml: bool = False
) -> list[str | Mark]:
    """Replace the characters that a regular expression matches with marks.

    The expression has the groups `name` and `slash` for tags, and `copied` for text to copy; every
    other match is a mark without text.
    """
    found: list[str | Mark] = []
    for is_text, run in groupby(symbols, lambda one: isinstance(one, str)):
        if not is_text:
            found += run
            continue
        text, place = masked(run), 0
        for match in marks.finditer(text):
            groups, shown = match.groupdict(), match[0]
            in_line = groups.get("copied") and "\n" not in shown
            kind, name = "copied" if in_line else "point", ""
            if groups.get("name") and not shown.endswith("/>"):
                kind, name = "close" if groups["slash"] else "open", groups["name"]
            found += text[place : match.start()]
            found.append(Mark(escaped(shown) if xml else shown, kind, name))
            place = match.end()
        found += text[place:]
    return found


class MarkedText:
    """A text with tags instead of its marks, `segment`, and without marks, `plain`.

    Translations keep the spaces around the text.
    """

    def __init__(self, symbols: Symbols, marks: re.Pattern[str], *, xml: bool = False):
        """marks: a pattern of marks; xml: whether the text will be written with entities."""
        self._xml = xml
        core = masked(symbols).strip()
        start = masked(symbols).find(core)
        end = start + len(core)
        self._around = written(symbols[:start], xml=xml), written(symbols[end:], xml=xml)
        self._codes: list[list[str]] = []  # opening and closing marks, by number
        self._symbols = self.fitting(split(symbols[start:end], marks, xml=xml))
        opening = pairs(_keys(one for one in self._symbols if isinstance(one, Mark)))
        closed = set(opening.values())
        numbers: dict[int, int] = {}  # of opening marks
        parts, i = [], 0
        for one in self._symbols:
            if isinstance(one, str):
                parts.append(escaped(one))
                continue
            if one.kind == "copied":
                shown = one.text if xml else escaped(one.text)
                parts.append(f"<code>{shown}</code>")
            elif i in opening:
                number = numbers[opening[i]]
                self._codes[number].append(one.text)
                parts.append(f"</x{number}>")
            else:
                number = numbers[i] = len(self._codes)
                self._codes.append([one.text])
                parts.append(f"<x{number}>" if i in closed else f"<x{number}/>")
            i += 1
        self.segment = "".join(parts)
        self.plain = "".join(one for one in self._symbols if isinstance(one, str))

    def fitting(self, symbols: list[str | Mark]) -> list[str | Mark]:
        """The symbols that a model is to read."""
        return symbols

    def fitted(self, texts: list[str]) -> list[str]:
        """The texts between the marks of a translation; the inverse of `fitting`."""
        return texts

    def restored(self, translation: str) -> str:
        """Restore the marks of the text in a translation of the segment."""
        found = [*tokens(translation), Token("text")]
        texts = iter(self.fitted([token.text for token in found if token.kind == "text"]))
        parts = [self._around[0]]
        for token in found:
            if token.number >= 0:
                parts.append(self._codes[token.number][token.kind == "close"])
            else:
                text = next(texts) if token.kind == "text" else token.text
                parts.append(escaped(text) if self._xml else text)
        return "".join([*parts, self._around[1]])


def pairs(tags: Iterable[tuple[str, bool]]) -> dict[int, int]:
    """The index of the opening tag for the index of each closing tag.

    tags: the name of each tag ("" for other marks), and whether it opens.
    """
    found: dict[int, int] = {}
    opened: list[tuple[str, int]] = []
    count: Counter[str] = Counter()
    for place, (name, opens) in enumerate(tags):
        if name and opens:
            opened.append((name, place))
            count[name] += 1
        elif count[name]:
            while (last := opened.pop())[0] != name:
                count[last[0]] -= 1
            count[name] -= 1
            found[place] = last[1]
    return found


def _keys(marks: Iterable[Mark]) -> Iterator[tuple[str, bool]]:
    """The names of marks for `pairs`; a pair of marks lies in one element of XML."""
    elements = [0]
    for number, one in enumerate(marks, 1):
        if one.name == "<":
            yield "<", one.kind == "open"
            elements = [*elements, number] if one.kind == "open" else elements[:-1]
        else:
            yield one.name and f"{one.name} {elements[-1]}", one.kind == "open"
