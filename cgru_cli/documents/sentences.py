"""Split lines into sentences before translation, and join the translations."""

import re

from ..errors import UsageError
from ..system.versions import installed

_UNSPACED = ("zh", "ja", "th", "lo", "km", "my", "bo")  # no space between sentences
# sentencex also splits names without spaces, such as System.Text.Json
_APART = re.compile(r"(?:\s|[。｡\uff0e\uff01\uff1f။།។][」』】》\uff09”\u2019\"')]*)\Z")


class Sentences:
    """Splits lines of one language by the rules of sentencex, and joins translations."""

    def __init__(self, source: str, target: str = ""):
        """source, target: codes of languages, "" if unknown.

        Raises CgruError if sentencex is not installed, UsageError for an invalid code. sentencex
        does not list its languages; it splits languages without rules like English.
        """
        self._language = source.partition("-")[0].lower() or "en"
        if not re.fullmatch("[a-z]{2,3}", self._language):
            raise UsageError(f"{source}: not the code of a language in ISO 639, such as de")
        self._segment = installed("sentencex", "sentences").segment
        self._between = "" if target.partition("-")[0] in _UNSPACED else " "

    def split(self, line: str) -> list[str]:
        """The sentences of a line, without spaces around them; a blank line is one sentence.

        Sentences are separated by spaces, except after the stops of languages without spaces.
        """
        found, apart = [""], False
        for piece in self._segment(self._language, line):
            if apart or piece[:1].isspace():
                found.append(piece)
            else:
                found[-1] += piece
            apart = _APART.search(piece) is not None
        return [one.strip() for one in found if one.strip()] or [line]

    def join(self, texts: list[str]) -> str:
        """Join the translations of a line's sentences to one text."""
        return self._between.join(filter(None, texts))
