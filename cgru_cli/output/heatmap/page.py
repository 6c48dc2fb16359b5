"""Heat maps as a self-contained page, also for a notebook: `page.html` with the data inside."""

from __future__ import annotations

import functools
import html
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...web.page import page_files
from .view import Sentence, View, is_right_to_left

_TEMPLATE = Path(__file__).with_name("page.html")
_DECIMALS = 6  # of weights and probabilities
_CELL, _AROUND = 30, 260  # height in pixels of a word's row, and of the rest of the page


def page(title: str, sentences: Sequence[Sentence]) -> str:
    """The whole page, which shows one line at a time."""
    data = [
        {
            "number": sentence.number,
            "source": sentence.source,
            "target": sentence.target,
            "views": [_as_json(view) for view in sentence.views],
        }
        for sentence in sentences
    ]
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&":  # HTML could read them as the end of the script
        text = text.replace(character, f"\\u{ord(character):04x}")
    values = _parts() | {"title": html.escape(title), "data": text}
    template = _TEMPLATE.read_text("utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], template)


@functools.cache
def _parts() -> dict[str, str]:
    """The heat map's code from the server's page, as one script."""
    contents = {name: content.decode() for name, content in page_files().items()}
    script = contents["element.js"] + contents["heatmap.js"]
    return {
        "style": contents["heatmap.css"].strip(),
        "script": re.sub(r"^(import .*\n|export )", "", script, flags=re.MULTILINE),
    }


def _as_json(view: View) -> dict:
    return {
        "name": view.name,
        "source": list(view.source),
        "target": list(view.target),
        "rightToLeft": is_right_to_left(view.source[:-1]),
        "weights": _rounded(view.weights),
        "strongest": view.strongest.tolist(),
        "probabilities": None if view.probabilities is None else _rounded(view.probabilities),
    }


def _rounded(values: np.ndarray) -> list:
    return np.round(np.asarray(values, np.float64), _DECIMALS).tolist()


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
