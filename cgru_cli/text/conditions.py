"""Conditions of a language model, one per line: a label, or the numbers of a vector.

A model reads a condition as one word: a label's id, or a column for each number.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import CgruError
from ..system.lines import tokens
from ..system.plain_numbers import plain_number
from .labels import label_ids
from .vocabulary import Vocabulary, shown


def condition_columns(line: str, vocabularies: Sequence[Vocabulary], numbers: int) -> list[Any]:
    """The single source word of a condition. vocabularies: of the labels, () for vectors.

    A vector becomes the bits of its numbers as float32, (numbers,) uint32, because batches hold
    integers. Raises CgruError for an unknown label, a wrong number of labels or numbers, and
    numbers that are not finite.
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
        raise CgruError(f"{shown(word)} is not a finite number")
    return [vector.view(np.uint32)]


def _number(word: str) -> float:
    try:
        return plain_number(float, word)
    except ValueError:
        raise CgruError(f"{shown(word)} is not a number") from None
