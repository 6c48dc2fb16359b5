"""Conditions, which texts are generated from: lines of a label, or of the numbers of a vector.

A model reads a condition as one word: a label's id, or a column for each number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import CgruError
from ..system.lines import tokens
from .labels import label_ids
from .vocabulary import Vocabulary, shown


def condition_columns(line: str, vocabularies: Sequence[Vocabulary], numbers: int) -> list[Any]:
    """A line as the one source word of it; vocabularies: that of labels, or none for vectors.

    A vector of so many numbers becomes the bits of each as float32, (numbers,) uint32, since
    batches hold integers. Raises CgruError for an unknown label, another number of labels than one
    or of numbers than expected, and for what is no finite number.
    """
    words = tokens(line)
    if vocabularies:
        return [tuple(label_ids(words, vocabularies[0], one=True))]
    if len(words) != numbers:
        raise CgruError(f"{len(words)} numbers; {numbers} are expected in each line")
    with np.errstate(over="ignore"):
        vector = np.array([_number(word) for word in words]).astype(np.float32)
    if not np.isfinite(vector).all():
        word = words[int(np.argmin(np.isfinite(vector)))]
        raise CgruError(f"{shown(word)} is no finite number")
    return [vector.view(np.uint32)]


def _number(word: str) -> float:
    try:
        if "_" not in word:  # which Python allows between digits
            return float(word)
    except ValueError:
        pass
    raise CgruError(f"{shown(word)} is no number")
