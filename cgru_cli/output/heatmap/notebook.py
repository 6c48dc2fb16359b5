"""The heat map of one hypothesis, for a notebook."""

from __future__ import annotations

import html
from typing import NamedTuple

from .page import page
from .view import Sentence, View

_CELL, _AROUND = 30, 260  # height in pixels of a word's row, and of the rest of the page


class Heatmap(NamedTuple):
    """A heat map as an HTML page, which notebooks display."""

    html: str  # the whole page; it needs no network
    height: int  # pixels

    @classmethod
    def of(cls, view: View, source: str, target: str) -> Heatmap:
        """Draw the attention of a line and its translation, which are also given as text."""
        sentence = Sentence(1, [view], source, target)
        return cls(page(source, [sentence]), _AROUND + _CELL * len(view.target))

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="{self.height}" '
            'style="border: 0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Heatmap({len(self.html):,} characters of HTML)"
