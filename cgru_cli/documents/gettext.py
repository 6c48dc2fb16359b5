"""Gettext's catalogues (.po), read and written by polib; segments are untranslated messages."""

import codecs
import re
from collections.abc import Sequence
from typing import Any

from ..system.versions import installed
from .document import Document, decoded, translatable
from .inline import PLACEHOLDER, MarkedText

_MARKS = re.compile(
    r"<(?P<slash>/?)(?P<name>[A-Za-z][\w-]*)(?:\s[^<>]*)?/?>"
    rf"|{PLACEHOLDER}|\s*\n\s*"
)
_CHARSET = re.compile(rb"Content-Type:[^\n]*charset=([\w.-]+)", re.IGNORECASE)


class Catalogue(Document):
    """A catalogue of messages; translated and obsolete messages are unchanged."""

    media_type = "text/x-gettext-translation"

    def __init__(self, content: bytes):
        super().__init__()
        stated = _CHARSET.search(content)
        self._encoding = "utf-8"
        if stated and stated[1] != b"CHARSET":  # a template
            self._encoding = codecs.lookup(stated[1].decode()).name
        # "\n" because polib would open a file whose name is the text
        text = "\n" + decoded(content, self._encoding)
        self._file = installed("polib", "documents").pofile(text, encoding=self._encoding)
        self._places: list[tuple[Any, int | None, MarkedText]] = []  # None: not a plural
        for entry in self._file.untranslated_entries():
            forms: list[tuple[int | None, str]] = [(None, entry.msgid)]
            if entry.msgid_plural:
                count = max(2, len(entry.msgstr_plural))
                forms = [(i, entry.msgid_plural if i else entry.msgid) for i in range(count)]
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
        text = str(self._file)
        return text.removeprefix("" if self._file.header else "#\n").encode(self._encoding)
