"""Translate a document: its segments are lines for a translator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..system.atomic_files import atomic_write
from ..system.structured_files import read_bytes
from ..system.terminal import ProgressCounter, counted, tell
from ..system.versions import installed
from .reader import check_same_format, document_of

if TYPE_CHECKING:
    from .. import Translator

LARGEST = 1 << 30  # bytes


def translate_document(
    source: str, target: str, opened: Callable[[str | None], Translator], *, quiet: bool
) -> None:
    """Translate the file `source`, and write the file `target`.

    opened: makes the translator, given the form of marks (html, markdown, or None without marks);
    it must split sentences. Raises CgruError for unreadable documents, and like the translator.
    """
    check_same_format(source, target)
    document = document_of(source, read_bytes(source, "document", LARGEST))
    installed("sentencex", "documents")  # otherwise the error would name --split-sentences
    translator = opened(document.form)
    document.target_language = (translator.languages or ("", ""))[1]
    progress = ProgressCounter("segments", quiet)
    with atomic_write(target) as file:  # first, so that a missing folder is no loss of time
        every = translator.translate(document.segments, progress=lambda _done: progress.add(1))
        progress.close()
        pairs = zip(document.segments, every, strict=True)
        # a segment without words has no translation
        file.write(document.written([one.text if one.source else x for x, one in pairs]))
    tell(f"translate: wrote {counted(len(document.segments), 'segment')} to {target}", quiet)
