"""Inline HTML, XML and Markdown: the plain text of a line, and its marks.

A line is parsed as a tree of elements over its plain text; `mark_places` puts them into the
translation. Closing marks without an opening mark are dropped, and a tag without a closing tag is
closed with its parent. Text that is not prose (see `protected`) is an element that is placed
as it is, and markers such as `- [ ]`, `[^1]:` and `:::note` stay at the ends of their line.
"""

import html
import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field

from .protected import FIRST, STANDING, TAG, TARGET, VOID, frame, hidden, is_empty

_BLOCKS = frozenset(  # separate words
    "address article aside blockquote caption dd div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header legend li main nav ol option p pre section table td tfoot th thead "
    "tr ul".split()
)
_LABEL = r"(?:[^\[\]\\]|\\.)+"
_STANDING = f"(?P<standing>{STANDING.pattern})"
_PATTERNS = {
    "html": re.compile(f"{_STANDING}|{TAG}", re.DOTALL),
    "markdown": re.compile(
        "|".join(
            (
                _STANDING,
                r"(?P<literal>\\[!-/:-@\[-`{-~])",
                TAG,
                r"(?P<bracket>!?\[)",
                rf"(?P<link>\](?:{TARGET}|\[(?:{_LABEL})?\](?!{TARGET})))",
                r"(?P<emphasis>\*{1,3}|_{1,3}|~~)",
            )
        ),
        re.DOTALL,
    ),
}
_WHOLE_LABEL, _SHORTCUT = re.compile(_LABEL, re.DOTALL), re.compile(rf"({_LABEL})\](?![\[(])")
_REFERENCE = re.compile(r"&#?\w+;")
DEEPEST = 200  # maximum nesting of marks; deeper marks stand alone or are text
_SPACES = str.maketrans("\r\n", "  ")
GLUE, SPACE = "\0", "\1"  # no space, or one space, on this side of a mark


@dataclass
class Element:
    """A mark, the start and end of its text in the plain line, and the elements inside."""

    opening: str
    closing: str = ""
    start: int = 0
    end: int = 0
    inner: list["Element"] = field(default_factory=list)
    verbatim: str | None = None  # replaces the translation: protected text or white space
    closed_by: int | None = None  # the number of the closing match
    around: tuple[str, str] = (SPACE, SPACE)  # before and after an element without text
    block: bool = False  # whether it stays between the blocks around it

    @property
    def is_emphasis(self) -> bool:
        """Whether it is emphasis of Markdown, such as `**`."""
        return self.opening != "" and self.opening.strip("*_~") == ""


class Markup:
    """The plain text of a line, `plain`, and the tree of its marks, below `root`.

    `beginning` and `ending` are markers of the line. Line breaks of HTML are spaces in `plain`. A
    protected text has a character in `plain`, or its words (see `protected.Protected`).
    """

    def __init__(self, line: str, form: str, *, placeholders: bool = False):
        """form: html or markdown; placeholders: show characters instead of words to the model."""
        self.form, self._placeholders = form, placeholders
        line = re.sub(f"[{GLUE}{SPACE}]", "", line)
        parts = frame(line) if form == "markdown" else ("", line, "")
        self.beginning, self._prose, self.ending = parts
        self._line, self._protected = hidden(self._prose, form)
        self._matches = list(_PATTERNS[form].finditer(self._line))
        self._opened: set[int] = set()  # the numbers of opening matches
        self._closing, self._literal = self._paired()
        self.plain = ""
        self.root = self._tree()

    def restored(self, text: str) -> str:
        """A text with the protected texts instead of the characters that stand for them."""

        def of(match: re.Match[str]) -> str:
            number = ord(match[0]) - FIRST
            if number >= len(self._protected):
                return ""
            return self._prose[slice(*self._protected[number][:2])]

        return STANDING.sub(of, text)

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
            opens = not (found["slash"] or is_empty(match[0]) or name[1:] in VOID)
            return name, opens, bool(found["slash"])
        if found["standing"]:
            kind = self._protected[ord(match[0]) - FIRST].kind
            return "<" * (kind in ("open", "close")), kind == "open", kind == "close"
        if found.get("bracket") or found.get("link"):
            return "[", bool(found["bracket"]), bool(found["link"])
        if found.get("literal"):
            return "text", False, False
        if not found.get("emphasis"):
            return "", False, False
        before, after = self._neighbours(match)
        within = "_" in match[0] and before.isalnum() and after.isalnum()
        opens, closes = _flanks(after, before), _flanks(before, after)
        return match[0], opens and not within, closes and not within

    def _neighbours(self, match: re.Match[str]) -> tuple[str, str]:
        """The characters before and after a match; a space at the ends of the line."""
        start, end = match.span()
        return self._line[start - 1 : start] or " ", self._line[end : end + 1] or " "

    def _tree(self) -> Element:
        stack, place = [Element("")], 0
        opening = {closing: opening for opening, closing in self._closing.items()}
        for number, match in enumerate(self._matches):
            self.plain += self._text(place, match.start())
            place, found = match.end(), match.groupdict()
            before, after = (SPACE if c in " \r\n" else GLUE for c in self._neighbours(match))
            self.plain += " " * ((found["name"] or "").lower() in _BLOCKS)
            one = Element(match[0], start=len(self.plain), around=(before, after))
            item = self._protected[ord(match[0]) - FIRST] if found["standing"] else None
            if number in opening:
                while stack[-1].closed_by != number:
                    self._end(stack.pop())
                one = stack.pop()
                one.around = (one.around[0], after)
                self._end(one)
                blank = one.end == one.start and not one.is_emphasis
                if blank and self._is_whole(opening[number], number, opening):
                    start = self._matches[opening[number]].start()
                    one.verbatim, one.inner = self._line[start : match.end()], []
            elif number in self._literal:
                self.plain += match[0]
            elif item and item.kind == "noun" and (self._placeholders or item.words):
                self.plain += match[0] if self._placeholders else item.words
                one.verbatim = match[0]
                self._end(one)
                stack[-1].inner.append(one)
            elif number in self._opened:
                one.closed_by = self._closing.get(number)
                one.closing = f"</{found['name']}>"
                if one.closed_by is not None:
                    one.closing = self._closing_mark(match, self._matches[one.closed_by])
                stack[-1].inner.append(one)
                stack.append(one)
            elif not found["slash"]:  # otherwise it has no opening tag
                one.end, one.block = one.start, item is not None and item.block
                stack[-1].inner.append(one)
                if item and item.kind == "note" and before == GLUE:
                    one.around = before, ""  # `house[^1]` before a space or a comma
                else:
                    self.plain += " "
        self.plain += self._text(place, len(self._line))
        self.plain = self.plain.translate(_SPACES)
        for one in stack:
            self._end(one)
        return stack[0]

    def _text(self, start: int, end: int) -> str:
        """A part of the line without marks, with characters instead of references."""
        text = self._line[start:end]
        return html.unescape(text) if self.form == "html" else _REFERENCE.sub(_character, text)

    def _is_whole(self, first: int, last: int, closing: Container[int]) -> bool:
        """Whether all tags between two matches are paired; closing: the numbers that close."""
        return all(
            number in closing
            if self._matches[number]["slash"]
            else number in self._closing or number not in self._opened or number in self._literal
            for number in range(first + 1, last)
        )

    def _end(self, one: Element) -> None:
        """End an element here; white space alone is no text, and not for the model to translate."""
        one.end = len(self.plain)
        if not self.plain[one.start :].strip():
            self.plain = self.plain[: one.start].ljust(one.end)
            one.end = one.start

    def _closing_mark(self, opening: re.Match[str], closing: re.Match[str]) -> str:
        """The text of a closing mark; `[dog][]` needs its label when `dog` is translated."""
        label = _WHOLE_LABEL.fullmatch(self._line, opening.end(), closing.start())
        return f"][{label[0]}]" if label and closing[0] == "][]" else closing[0]


def _character(reference: re.Match[str]) -> str:
    """The character of a reference; escaped if Markdown would read it as a mark."""
    return re.sub(r"[*_~`!\[\]\\]", r"\\\g<0>", html.unescape(reference[0]))


def _flanks(inside: str, outside: str) -> bool:
    """Whether emphasis may begin or end between these two characters (CommonMark, 6.2)."""
    return not inside.isspace() and (inside.isalnum() or not outside.isalnum())


def with_references(line: str, is_defined: Callable[[str], bool]) -> str:
    """A line of Markdown with `[dog][]` instead of links `[dog]` whose label is defined."""
    shown, items = hidden(line, "markdown")
    parts, place = [], 0
    for match in _PATTERNS["markdown"].finditer(shown):
        found = _SHORTCUT.match(shown, match.end()) if match["bracket"] else None
        if found and is_defined(found[1]):
            parts += [shown[place : found.end()], "[]"]
            place = found.end()
    text = "".join([*parts, shown[place:]])
    return STANDING.sub(lambda match: line[slice(*items[ord(match[0]) - FIRST][:2])], text)
