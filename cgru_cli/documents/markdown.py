"""Markdown (.md): paragraphs, headings, list items and table cells, found by markdown-it-py.

Front matter, code blocks, HTML blocks and link definitions are unchanged.
"""

import re
from collections.abc import Iterator

from ..system.versions import installed
from .document import TextDocument

_FRONT_MATTER = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*\r?\n(?:.*\r?\n)*?\1[ \t]*(?:\r?\n|\Z)")
_LINE = re.compile(r"\r\n?|\n")
_HARD_BREAK = re.compile(r"(?: {2,}|\\)$")
_BLOCK = re.compile(r"#{1,6}\s|>|[-+*]\s|\d+[.)]\s|```|~~~|\||---|===")  # would begin another block
_PIPE = re.compile(r"(?<!\\)\|")  # would end a cell


class Markdown(TextDocument):
    """A file in CommonMark with tables. Wrapped lines become one line."""

    form = "markdown"
    media_type = "text/markdown; charset=utf-8"

    def __init__(self, content: bytes):
        super().__init__(content)
        parser = installed("markdown_it", "documents").MarkdownIt("commonmark").enable("table")
        matter = _FRONT_MATTER.match(self.text)
        begin = matter.end() if matter else 0
        starts = [begin, *(match.end() for match in _LINE.finditer(self.text, begin))]
        starts.append(len(self.text) + 1)
        lines, place, before = (0, 0), 0, ""
        for token in parser.parse(self.text[begin:].removeprefix("\ufeff")):
            lines = token.map or lines  # a cell of a table has the lines of its row
            if token.type == "inline":
                place = max(place, starts[lines[0]])
                text = token.content
                if before in ("th_open", "td_open"):
                    text = text.replace("|", r"\|")  # as written in tables
                for span in self._found(text, starts[lines[0] : lines[1] + 1], place):
                    self.add(*span)
                    place = span[1]
            before = token.type

    def _found(self, content: str, starts: list[int], place: int) -> Iterator[tuple[int, int, str]]:
        """The parts of a block between hard line breaks, no parts if its lines are not found.

        starts: where the block's lines and the next line begin in the text; place: where the search
        begins.
        """
        first, parts = -1, list[str]()
        lines = content.split("\n")
        for i, line in enumerate(lines):
            broken = _HARD_BREAK.search(line)
            shown = _HARD_BREAK.sub("", line).strip() if broken else line.strip()
            row = min(i, len(starts) - 2)
            found = self.text.find(shown, max(place, starts[row]), starts[row + 1])
            if found < 0:
                return
            first = found if not parts else first
            parts.append(shown)
            place = found + len(shown)
            if broken or i == len(lines) - 1:
                yield first, place, " ".join(parts)
                parts = []

    def fitted(self, translation: str, segment: str) -> str:
        if r"\|" in segment and not _PIPE.search(segment):  # may be a cell
            translation = _PIPE.sub(r"\|", translation)
        begins = _BLOCK.match(translation) and not _BLOCK.match(segment)
        return "\\" + translation if begins else translation
