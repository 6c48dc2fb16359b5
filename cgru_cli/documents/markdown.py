"""Markdown (.md): paragraphs, headings, list items and table cells, found by markdown-it-py.

Front matter, code blocks, HTML blocks and link definitions are unchanged. Hard line breaks divide
paragraphs, but breaks inside a mark, such as `**emphasis**`, are marks.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ..system.versions import installed
from .document import LINE_BREAK, TextDocument
from .mark_places import ESCAPES
from .markup import Markup, with_references
from .protected import block_end, marked_line, title_of

_FRONT_MATTER = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*\r?\n(?:.*\n)*?\1[ \t]*(?:\r?\n|\Z)")
_HARD_BREAK = re.compile(r"(?:(?<! ) {2,}|\\)$")
_BLOCK = re.compile(r"#{1,6}\s|>|[-+*]\s|\d+[.)]\s|```|~~~|\||---|===")  # begins another block
_CLOSING = re.compile(r"(?<!\S)(?=#+\Z)")  # before the end of a heading, which is not shown
_PIPE = re.compile(r"(?<!\\)\|")  # ends a cell
_BREAK = re.compile(r' ?(<br id="\d+"/>) ?')
_OPTION = re.compile(r"[ \t>]*:[\w-]+:(?:[ \t]|$)", re.MULTILINE)  # of a directive
_OF_MARKS = "[]()<>*_~"  # a line break next to these could undo marks


class Markdown(TextDocument):
    """A file in CommonMark with tables. Wrapped lines become one line."""

    form = "markdown"
    media_type = "text/markdown; charset=utf-8"

    def __init__(self, content: bytes):
        super().__init__(content)
        self._breaks: dict[str, str] = {}  # breaks and the next lines' indents, by their marks
        library = installed("markdown_it", "documents")
        self._parser = library.MarkdownIt("commonmark").enable("table")
        rules = {"alt": ["paragraph", "reference", "blockquote", "list"]}
        self._parser.block.ruler.before("code", "protected", _protected, rules)
        matter = _FRONT_MATTER.match(self.text)
        begin = matter.end() if matter else 0
        starts = [begin, *(match.end() for match in LINE_BREAK.finditer(self.text, begin))]
        starts.append(len(self.text) + 1)
        lines, place, before = (0, 0), 0, ""
        normalized = installed("markdown_it.common.utils", "documents").normalizeReference
        found: dict[str, Any] = {"references": {}}
        for token in self._parser.parse(self.text[begin:].removeprefix("\ufeff"), found):
            lines = token.map or lines  # a table cell without a map has the lines of its row
            if token.type == "inline":
                place = max(place, starts[lines[0]])
                text = token.content
                if before in ("th_open", "td_open"):
                    text = text.replace("|", r"\|")  # as written in tables
                parts = [*self._found(text, starts[lines[0] : lines[1] + 1], place)]
                for start, end, shown in self._joined(parts):
                    line = with_references(shown, lambda x: normalized(x) in found["references"])
                    self.add(start, end, line)
                    place = end
            before = token.type

    def _found(self, content: str, starts: list[int], place: int) -> Iterator[tuple[int, int, str]]:
        """The parts of a block between hard line breaks, as far as its lines are found.

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

    def _joined(self, parts: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
        """A block's parts, or one part with a mark for each break if a break is inside a mark."""
        if len(parts) < 2:
            return parts
        breaks = {
            f'<br id="{number}"/>': self.text[one[1] : other[0]]
            for number, (one, other) in enumerate(pairwise(parts), len(self._breaks))
        }
        lines = zip(["", *breaks], parts, strict=True)
        shown = "".join(mark + part[2] for mark, part in lines)
        if breaks.keys() <= {one.opening for one in Markup(shown, self.form).root.inner}:
            return parts
        self._breaks |= breaks
        return [(parts[0][0], parts[-1][1], shown)]

    def fitted(self, translation: str, segment: str) -> str:
        def broken(match: re.Match[str]) -> str:
            if match[1] not in self._breaks or match[1] not in segment:
                return match[0]
            start, end = match.span()
            around = translation[max(0, start - 1) : start], translation[end : end + 1]
            unsafe = any(one in _OF_MARKS for one in around) or _BLOCK.match(translation, end)
            return "<br/>" if unsafe else self._breaks[match[1]]

        translation = _BREAK.sub(broken, translation)
        if r"\|" in segment and not _PIPE.search(segment):  # may be a cell
            translation = _PIPE.sub(r"\|", translation)
        if _BLOCK.match(translation) and not _BLOCK.match(segment):
            translation = re.sub(r"\d*", r"\g<0>\\", translation, count=1)  # 12\. but \#
        elif self._begins_html(translation) and not self._begins_html(segment):
            translation = f"&#8203;{translation}"  # a space without width
        if ESCAPES.search(translation) and not ESCAPES.search(segment):
            return f"{translation}\\"
        return translation if _CLOSING.search(segment) else _CLOSING.sub(r"\\", translation)

    def _begins_html(self, line: str) -> bool:
        """Whether a line would begin an HTML block, in which Markdown has no meaning."""
        found = self._parser.parse(line)[:1] if line[:1] == "<" else []
        return any(one.type == "html_block" for one in found)


def _protected(state: Any, first: int, end: int, silent: bool) -> bool:
    """A rule for lines without prose and lines with markers, such as `$$` and `:::note Title`."""
    begin, stop = state.bMarks[first] + state.tShift[first], state.eMarks[first]
    if state.is_code_block(first):
        return False
    closed = block_end(state.src, begin, state.eMarks[end - 1])
    found = None if closed else marked_line(state.src[begin:stop].rstrip())
    if silent or not (closed or found):
        return bool(closed or found)
    state.line = first + 1 + state.src.count("\n", begin, closed or stop)
    if title := title_of(found) if found else None:
        state.push("paragraph_open", "p", 1)
        token = state.push("inline", "", 0)
        token.content, token.map, token.children = title, [first, state.line], []
        state.push("paragraph_close", "p", -1)
    options = _OPTION if state.src.startswith(":::", begin) else None
    while options and state.line < end and options.match(state.src, state.bMarks[state.line]):
        state.line += 1
    if state.src.startswith(("!!!", "???", "==="), begin):  # has indented paragraphs
        inside = state.line
        while state.line < end and (
            state.isEmpty(state.line) or state.sCount[state.line] >= state.blkIndent + 4
        ):
            state.line += 1
        after, state.line = state.line, inside
        state.blkIndent += 4
        state.md.block.tokenize(state, inside, after)
        state.blkIndent -= 4
        state.line = after
    return True
