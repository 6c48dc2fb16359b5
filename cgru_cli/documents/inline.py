"""Marks inside a segment, such as tags and placeholders, as numbered HTML tags.

`<x1>...</x1>` stands for an opening and a closing mark, `<x2/>` for a mark without text, and
`<code>...</code>` for text to copy. `text.markup` can then place all marks in the translation.
"""

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

PLACEHOLDER = (
    r"(?P<copied>%(?:\(\w+\)|\d+\$)?[-+#0]*(?:[1-9]\d*)?(?:\.\d+)?(?:hh|ll|[hlLqjzt])?[diouxXeEfFgGcrsaA]|%%"
    r"|\$?\{[^{}\s]*\})"
)  # of C, Python and others
_TAG = re.compile(r"<(?P<slash>/?)x(?P<number>\d+)(?P<point>/?)>|</?code>")
_CONTROLS = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f]")  # not allowed in XML


class Token(NamedTuple):
    """A part of a translation: a text, or a mark."""

    kind: str  # text, open, close or point
    text: str = ""
    number: int = -1  # of the mark


def tokens(translation: str) -> Iterator[Token]:
    """The texts and marks of a translation."""
    place = 0
    for match in _TAG.finditer(translation):
        if place < match.start():
            yield Token("text", _unescaped(translation[place : match.start()]))
        place = match.end()
        if match["number"]:
            kind = "point" if match["point"] else "close" if match["slash"] else "open"
            yield Token(kind, number=int(match["number"]))
    if place < len(translation):
        yield Token("text", _unescaped(translation[place:]))


def escaped(text: str) -> str:
    """A text with its special characters escaped, as in a segment."""
    return html.escape(text, quote=False)


def _unescaped(text: str) -> str:
    return _CONTROLS.sub("", html.unescape(text))


class MarkedText:
    """A text whose marks a regular expression finds; `segment` has tags instead of the marks.

    The expression has the groups `name` and `slash` for tags, and `copied` for text to copy; every
    other match is a mark without text. Translations keep the spaces around the text.
    """

    def __init__(self, text: str, marks: re.Pattern[str], *, xml: bool = False):
        """xml: whether the text is XML, with entities."""
        self._xml = xml
        core = text.strip()
        start = text.find(core)
        self._around = text[:start], text[start + len(core) :]
        self._codes: list[list[str]] = []  # opening and closing marks, by number
        matches = list(marks.finditer(core))
        opening = pairs(map(_tag, matches))
        closed = set(opening.values())
        numbers: dict[int, int] = {}  # of opening matches
        parts, plain, place = [], [], 0
        for i, match in enumerate(matches):
            plain.append(core[place : match.start()])
            parts.append(self._shown(plain[-1]))
            place = match.end()
            if match.groupdict().get("copied"):
                parts.append(f"<code>{self._shown(match[0])}</code>")
            elif i in opening:
                number = numbers[opening[i]]
                self._codes[number].append(match[0])
                parts.append(f"</x{number}>")
            else:
                number = numbers[i] = len(self._codes)
                self._codes.append([match[0]])
                parts.append(f"<x{number}>" if i in closed else f"<x{number}/>")
        plain.append(core[place:])
        self.segment = "".join(parts) + self._shown(plain[-1])
        self.plain = "".join(plain)

    def _shown(self, text: str) -> str:
        return text if self._xml else escaped(text)

    def restored(self, translation: str) -> str:
        """Restore the marks of the text in a translation of the segment."""
        parts = [self._around[0]]
        for token in tokens(translation):
            if token.kind == "text":
                parts.append(escaped(token.text) if self._xml else token.text)
            else:
                parts.append(self._codes[token.number][token.kind == "close"])
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


def _tag(match: re.Match[str]) -> tuple[str, bool]:
    groups = match.groupdict()
    return groups["name"] or "", not groups["slash"] and not match[0].endswith("/>")
