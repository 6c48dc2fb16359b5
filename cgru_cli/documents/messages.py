"""Messages of programs: placeholders, mnemonics, and arguments of ICU's MessageFormat.

A plural or selection, such as `You have {n, plural, one {# file} other {# files}} here`, has a
segment for each branch (`<code>#</code> files`), and one for the text around it, in which the
argument is a mark (`You have <x0/> here`). All else is unchanged. The library pyicumessageformat
reads these messages. (https://unicode-org.github.io/icu/userguide/format_parse/messages)
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from html import unescape
from itertools import accumulate
from typing import NamedTuple

from ..errors import warn
from ..system.versions import installed
from .document import translatable
from .inline import Mark, MarkedText, Symbols, masked, split, written
from .mnemonics import Mnemonic, mnemonic

_TAGS = r"<(?P<slash>/?)(?P<name>[A-Za-z0-9][\w:.-]*)(?:\s[^<>]*)?/?>"
_BRACES = (
    r"\{\{\{?[^{}]*\}?\}\}|\{%[^{}]*%\}|[$#%]\{[^{}]*\}|[$#%@]?\{[^{}\s]*(?:\{[^{}\s]*\}[^{}\s]*){0,3}\}"
    r"|\{\s*[^\s{},]+\s*\}|'[{}]'"
)
_PRINTF = (
    r"%(?:\([^()\s]+\)|<\w+>|\d+\$|n\$)?[-+#0']*(?:\*|[1-9]\d*)?(?:\.(?:\*|\d+))?(?:hh|ll|[hlLqjztI]|I64|I32)?"
    r"(?:[diouxXeEfFgGcrsaA@]|[np](?![A-Za-z]))|%<PRI\w+>|%%"
)
_QT = r"%L?\d{1,2}(?!\d)%?|%n(?![A-Za-z])"
_NO_PERCENT = frozenset(("python-brace", "perl-brace", "java", "csharp", "rust", "c++"))
_OF_QT = frozenset(("qt", "qt-plural", "kde", "kde-kuit"))
_BRANCHES = re.compile(r"\{\s*[^\s{},]+\s*,\s*(?:plural|select(?:ordinal)?|choice)\s*,")
_TYPED = re.compile(
    r"\{\s*[^\s{},]+\s*,\s*(?:plural|select(?:ordinal)?|number|date|time|ordinal|spellout|duration"
    r"|choice|list)\s*[,}]"
)
_MUSTACHES = re.compile(r"\{\{[^{}]*\}\}")
_OF_ANGULAR = re.compile(r"\{\s*VAR_(?:PLURAL|SELECT)")  # where apostrophes have no meaning
_QUOTED = re.compile(r"(?P<copied>'[{}|<](?:[^']|'')*'?)|''")
_QUOTED_IN_PLURAL = re.compile(_QUOTED.pattern.replace("|<", "|<#"))


def marks_of(flags: Iterable[str] = ()) -> re.Pattern[str]:
    """Matches tags, line breaks and placeholders; flags: of gettext, such as c-format."""
    formats = {flag.removesuffix("-format") for flag in flags if flag.endswith("-format")}
    kinds = [_BRACES, _PRINTF, _QT]
    if any(one.startswith("no-") for one in formats) or (formats and formats <= _NO_PERCENT):
        kinds = [_BRACES]
    elif formats & _OF_QT:
        kinds = [_BRACES, _QT]
    if "sh" in formats:
        kinds.append(r"\$\w+")
    return re.compile(rf"{_TAGS}|(?P<copied>{'|'.join(kinds)})|(?<!\s)\s*\n\s*")


class _Box(NamedTuple):
    """A text, or an argument in its braces; it refers to the boxes inside by `\0NUMBER\0`.

    kind: of the argument, or of that around the text, such as plural.
    """

    symbols: list[str | Mark]
    is_text: bool = True
    kind: str = ""


def _boxes(symbols: Symbols, text: str) -> list[_Box]:
    """The boxes of a message, of which the first is the whole; text: its characters to parse.

    Raises SyntaxError for an invalid message, and for branches that divide an element of XML.
    """
    tokens: list[dict[str, str]] = []
    library = installed("pyicumessageformat", "documents")
    parser = library.Parser({"require_other": False})
    try:
        parser.parse(text, tokens)
    except SyntaxError:  # `{{name}}` of other syntaxes may be the reason
        tokens.clear()
        parser.parse(_MUSTACHES.sub(lambda match: "\0" * len(match[0]), text), tokens)
    boxes, opened, place = [_Box([])], [0], 0
    for token in tokens:
        kind, shown, box = token["type"], token["text"], boxes[opened[-1]]
        part, place = symbols[place : place + len(shown)], place + len(shown)
        if kind == "syntax" and shown == "{":
            inner = _Box([], not box.is_text, "" if box.is_text else box.kind)
            (inner if box.is_text else box).symbols.extend(part)
            box.symbols.append(Mark(f"\0{len(boxes)}\0"))
            opened.append(len(boxes))
            boxes.append(inner)
        elif kind == "syntax" and shown == "}":
            opened.pop()
            outer = boxes[opened[-1]]
            (outer if box.is_text else box).symbols.extend(part)
            if not box.is_text and not box.kind:  # `{name}`
                outer.symbols[-1:] = box.symbols
        else:
            box.symbols.extend([Mark(shown, "copied")] if kind == "hash" else part)
            if kind == "type":
                boxes[opened[-1]] = box._replace(kind=shown)
    for box in boxes:
        tags = [x.kind for x in box.symbols if isinstance(x, Mark) and x.name == "<"]
        depths = [*accumulate(1 if tag == "open" else -1 for tag in tags), 0]
        if min(depths) < 0 or depths[len(tags) - 1] > 0:
            raise SyntaxError("a tag crosses the border of a branch")
    return boxes


class _Text(MarkedText):
    """The text of a box.

    quotes: what doubles apostrophes, "all" or "needed", or "" where they have no meaning.
    """

    def __init__(
        self, box: _Box, marks: re.Pattern[str], markers: Collection[str], quotes: str, *, xml: bool
    ):
        self._markers, self._quotes = markers, quotes
        self._mnemonic: Mnemonic | None = None
        symbols = box.symbols
        if quotes:
            in_plural = box.kind in ("plural", "selectordinal")
            symbols = split(symbols, _QUOTED_IN_PLURAL if in_plural else _QUOTED, xml=xml)
            symbols = ["'" if one == Mark("''") else one for one in symbols]
        super().__init__(symbols, marks, xml=xml)
        marks_found = [one for one in self._symbols if isinstance(one, Mark)]
        copied = {unescape(one.text) for one in marks_found if one.kind == "copied"}
        strays = sorted(copied, key=len, reverse=True) + [x for x in "{}" if x not in self.plain]
        either = "|".join(map(re.escape, strays)) or "(?!)"
        self._strays = re.compile(f" (?:{either})(?= )|{either}")

    def fitting(self, symbols: list[str | Mark]) -> list[str | Mark]:
        found = mnemonic(masked(symbols))
        if found and (found.sure or found.marker in self._markers):
            self._mnemonic = found
            return found.unmarked(symbols)
        return symbols

    def fitted(self, texts: list[str]) -> list[str]:
        """The texts with mnemonics and apostrophes, without text that a model has repeated."""
        texts = [self._strays.sub("", text) for text in texts]
        if self._mnemonic:
            texts = self._mnemonic.marked(texts)
        if self._quotes:
            special = "'" if self._quotes == "all" else r"'(?=[{}#|<']|\Z)"
            texts = [re.sub(special, "''", text) for text in texts]
        return texts


class Message:
    """A message; `segments` are the texts that a model is to translate."""

    def __init__(
        self, symbols: Symbols, marks: re.Pattern[str], markers: Collection[str], *, xml: bool
    ):
        """symbols: a text, or a text with marks (as in `inline`); marks: their pattern; markers:
        those of mnemonics that the document surely has.

        Warns of an invalid message with branches, which has no segments.
        """
        text, boxes, quotes = masked(symbols), [_Box([*symbols])], ""
        if _TYPED.search(text):
            if not _OF_ANGULAR.search(text):
                quotes = "needed"
                if "''" in text and "'" not in _QUOTED_IN_PLURAL.sub("", text):
                    quotes = "all"
            shown = text if quotes else text.replace("'", "\0")
            try:
                boxes = _boxes(symbols, shown)
            except SyntaxError as error:
                quotes = ""
                if _BRANCHES.search(text):
                    warn(f"{written(symbols, xml=False)[:60]!r} is left untranslated: {error}")
                    marks = re.compile(r"(?s).+")
        self._written = [written(box.symbols, xml=xml) for box in boxes]
        texts = {
            number: _Text(box, marks, markers, quotes, xml=xml)
            for number, box in enumerate(boxes)
            if box.is_text
        }
        self._texts = {i: text for i, text in texts.items() if translatable(text.plain)}
        self.segments = [text.segment for text in self._texts.values()]

    def restored(self, translations: Iterator[str]) -> str:
        """The message with the next translations, one for each segment."""
        boxes = dict(enumerate(self._written))
        for number, text in self._texts.items():
            translation = next(translations)
            if translation != text.segment:
                boxes[number] = text.restored(translation)

        def whole(number: int) -> str:
            return re.sub("\0(\\d+)\0", lambda match: whole(int(match[1])), boxes[number])

        return whole(0)


def messages(
    texts: Sequence[tuple[Symbols, re.Pattern[str]]], *, xml: bool = False
) -> list[Message]:
    """The messages of a document, for texts and the marks in them (see `inline.split`)."""
    found = [mnemonic(masked(split(*text))) for text in texts]
    markers = {one.marker for one in found if one and one.letter and one.sure}
    return [Message(*text, markers, xml=xml) for text in texts]
