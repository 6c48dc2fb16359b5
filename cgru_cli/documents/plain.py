"""Plain text (.txt): each line is a segment."""

import re

from .document import TextDocument


class PlainText(TextDocument):
    """Lines of text; their ends and indentation are unchanged."""

    form = None

    def __init__(self, content: bytes):
        super().__init__(content)
        for match in re.finditer(r"[^\s\ufeff](?:[^\r\n]*[^\s])?", self.text):
            self.add(*match.span())
