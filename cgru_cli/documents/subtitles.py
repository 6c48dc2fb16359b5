"""Subtitles (.srt), read and written by the library srt: each subtitle is a segment."""

import re
from collections.abc import Sequence

from ..system.versions import installed
from .document import Document, decoded, translatable
from .inline import MarkedText

_MARKS = re.compile(
    r"<(?P<slash>/?)(?P<name>[biu]|font)\b[^<>]*>|\{\\[^{}]*\}|[ \t]*\n[ \t]*", re.IGNORECASE
)


class Subtitles(Document):
    """Subtitles with numbers and times; line breaks are marks."""

    media_type = "application/x-subrip; charset=utf-8"

    def __init__(self, content: bytes):
        super().__init__()
        self._library = installed("srt", "documents")
        text = decoded(content)
        self._bom, text = ("\ufeff" if text.startswith("\ufeff") else ""), text.lstrip("\ufeff")
        self._ends = "\r\n" if "\r\n" in text else "\n"
        self._subtitles = list(self._library.parse(text.replace("\r\n", "\n")))
        marked = [MarkedText(one.content, _MARKS) for one in self._subtitles]
        self._marked = {i: one for i, one in enumerate(marked) if translatable(one.plain)}
        self.segments = [one.segment for one in self._marked.values()]

    def written(self, translations: Sequence[str]) -> bytes:
        contents = [one.content for one in self._subtitles]
        for (i, marked), translation in zip(self._marked.items(), translations, strict=True):
            contents[i] = marked.restored(translation)
        text = "".join(
            one.to_srt(strict=False, eol="\n")
            if content == one.content
            else self._library.Subtitle(
                one.index, one.start, one.end, content, one.proprietary
            ).to_srt()
            for one, content in zip(self._subtitles, contents, strict=True)
        )
        return (self._bom + text.replace("\n", self._ends)).encode()
