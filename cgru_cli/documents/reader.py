"""Choose the format of a document by its suffix."""

from __future__ import annotations

from pathlib import PurePath

from ..errors import CgruError, UsageError, at, parsing
from .document import Document, PlainText
from .gettext import Catalogue
from .html_page import Html
from .markdown import Markdown
from .subtitles import Subtitles
from .word import Word
from .xliff import Xliff

_FORMATS: dict[str, type] = {
    ".txt": PlainText,
    ".md": Markdown,
    ".markdown": Markdown,
    ".mdx": Markdown,
    ".html": Html,
    ".htm": Html,
    ".srt": Subtitles,
    ".po": Catalogue,
    ".pot": Catalogue,
    ".xlf": Xliff,
    ".xliff": Xliff,
    ".docx": Word,
}


def check_same_format(source: str, target: str) -> None:
    """Raise UsageError if the name of the translation is that of another known format."""
    before, after = (_FORMATS.get(PurePath(name).suffix.lower()) for name in (source, target))
    if before and after and before is not after:
        raise UsageError(f"--document: {target} must have the format of {source}")


def document_of(name: str, content: bytes) -> Document:
    """Read a document, given its name and content.

    Raises CgruError for an unknown format, damaged content, and a missing library.
    """
    suffix = PurePath(name).suffix.lower()
    if suffix not in _FORMATS:
        raise CgruError(f"{name}: supported document formats are {', '.join(_FORMATS)}")
    with parsing(name, f"not a valid {suffix} file"), at(name):
        return _FORMATS[suffix](content)
