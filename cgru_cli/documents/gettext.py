"""Gettext's catalogues (.po), read and written by polib; segments are untranslated messages."""

import codecs
import re
from collections.abc import Sequence
from typing import Any

from ..system.versions import installed
from .document import Document, decoded, unified
from .messages import marks_of, messages

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
        places: list[tuple[Any, int | None, str]] = []  # None: not a plural
        for entry in self._file.untranslated_entries():
            forms: list[tuple[int | None, str]] = [(None, entry.msgid)]
            if entry.msgid_plural:
                count = max(2, len(entry.msgstr_plural))
                count = int(plurals[1]) if plurals else count
                entry.msgstr_plural = {i: entry.msgstr_plural.get(i, "") for i in range(count)}
                forms = [(i, entry.msgid_plural) for i in range(count)]
                if count > 1:
                    forms[0] = 0, entry.msgid
            places += [(entry, form, message) for form, message in forms]
        found = messages([(text, marks_of(entry.flags)) for entry, _, text in places])
        self._places = [
            (entry, form, message)
            for (entry, form, _), message in zip(places, found, strict=True)
            if message.segments
        ]
        self.segments = [one for *_, message in self._places for one in message.segments]

    def written(self, translations: Sequence[str]) -> bytes:
        left = iter(translations)
        for entry, form, message in self._places:
            text = message.restored(left)
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
