"""Gettext's catalogues (.po), read and written by polib; segments are untranslated messages."""

import codecs
import re
from collections.abc import Sequence
from typing import Any

from ..system.versions import installed
from .document import Document, decoded, translatable, unified
from .inline import PLACEHOLDER, MarkedText

_MARKS = re.compile(
    r"<(?P<slash>/?)(?P<name>[A-Za-z][\w-]*)(?:\s[^<>]*)?/?>"
    rf"|{PLACEHOLDER}|(?<!\s)\s*\n\s*"
)
_PLURALS = re.compile(r"nplurals\s*=\s*([1-9])\b")
_CHARSET = re.compile(rb"Content-Type:[^\n]{0,99}charset=([\w.-]+)", re.IGNORECASE)


class Catalogue(Document):
    """A catalogue of messages; translated and obsolete messages are unchanged."""

    media_type = "text/x-gettext-translation"

    def __init__(self, content: bytes):
        super().__init__()
        stated = _CHARSET.search(content)
        self._encoding = "utf-8"
        if stated and stated[1] != b"CHARSET":  # a template
            self._encoding = codecs.lookup(stated[1].decode()).name
        text, self._bom, self._ends = unified(decoded(content, self._encoding))
        # "\n" because polib would open a file whose name is the text
        polib = installed("polib", "documents")
        self._file = polib.pofile("\n" + text, encoding=self._encoding)
        plurals = _PLURALS.search(self._file.metadata.get("Plural-Forms", ""))
        self._places: list[tuple[Any, int | None, MarkedText]] = []  # None: not a plural
        for entry in self._file.untranslated_entries():
            forms: list[tuple[int | None, str]] = [(None, entry.msgid)]
            if entry.msgid_plural:
                count = max(2, len(entry.msgstr_plural))
                count = int(plurals[1]) if plurals else count
                entry.msgstr_plural = {i: entry.msgstr_plural.get(i, "") for i in range(count)}
                forms = [(i, entry.msgid_plural) for i in range(count)]
                if count > 1:
                    forms[0] = 0, entry.msgid
            for form, message in forms:
                marked = MarkedText(message, _MARKS)
                if translatable(marked.plain):
                    self._places.append((entry, form, marked))
        self.segments = [marked.segment for *_, marked in self._places]

    def written(self, translations: Sequence[str]) -> bytes:
        for (entry, form, marked), translation in zip(self._places, translations, strict=True):
            text = marked.restored(translation)
            if form is None:
                entry.msgstr = text
            else:
                entry.msgstr_plural[form] = text
        try:
            return self._text().encode(self._encoding)
        except UnicodeEncodeError:
            self._file.metadata["Content-Type"] = "text/plain; charset=UTF-8"
            return self._text().encode()

    def _text(self) -> str:
        text = str(self._file).removeprefix("" if self._file.header else "#\n")
        return self._bom + text.replace("\n", self._ends)
