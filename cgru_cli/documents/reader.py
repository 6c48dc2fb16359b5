"""Choose the format of a document by its suffix."""

from pathlib import PurePath

from ..errors import CgruError, at, parsing
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
    ".html": Html,
    ".htm": Html,
    ".srt": Subtitles,
    ".po": Catalogue,
    ".pot": Catalogue,
    ".xlf": Xliff,
    ".xliff": Xliff,
    ".docx": Word,
}


def document_of(name: str, content: bytes) -> Document:
    """Read a document, given its name and content.

    Raises CgruError for an unknown format, damaged content, and a missing library.
    """
    suffix = PurePath(name).suffix.lower()
    if suffix not in _FORMATS:
        raise CgruError(f"{name}: supported document formats are {', '.join(_FORMATS)}")
    with parsing(name, f"not a valid {suffix} file"), at(name):
        return _FORMATS[suffix](content)
