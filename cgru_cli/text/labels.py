"""Labels, one for each line or one for each word, with their own vocabulary; conditions.

Ids 0 and 1 of the vocabulary are the end of a line and the unknown word, which are not labels. A
condition of a language model is a label, or the numbers of a vector. The model reads it as one
word: a label's id, or a column for each number.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import CgruError
from ..parameters.structure import FIRST_LABEL
from ..system.lines import tokens
from ..system.plain_numbers import plain_number
from ..system.terminal import counted
from .vocabulary import UNK_NAMES, Vocabulary, shown


def label_ids(labels: Sequence[str], vocabulary: Vocabulary, *, one: bool) -> list[int]:
    """The ids of a line's labels; one: whether the line must have exactly one label.

    Raises CgruError for an unknown label, or a wrong number of labels.
    """
    if one and len(labels) != 1:
        raise CgruError(number_of_labels(labels))
    ids = vocabulary.encode(labels)
    for label, i in zip(labels, ids, strict=True):
        if i < FIRST_LABEL:
            known = [word for i, word in sorted(vocabulary.words.items()) if i >= FIRST_LABEL]
            raise CgruError(
                f"label {shown(label)} is not among the {vocabulary.size - FIRST_LABEL} in "
                f"{vocabulary.path}: {' '.join(known[:5])}{' ...' * (len(known) > 5)}"
            )
    return ids


def number_of_labels(labels: Sequence[str]) -> str:
    """The message for a line that should have one label."""
    return f"{len(labels)} labels; one is expected for each line"


def check_tags(source: Sequence[tuple[int, ...]], tags: Sequence[Any]) -> None:
    """Raises CgruError unless each word has one tag. source: from `with_starts`."""
    words = sum(columns[-1] for columns in source)
    if words != len(tags):
        raise CgruError(f"{counted(len(tags), 'tag')} for {counted(words, 'word')}")


def check_labels(vocabulary: Vocabulary) -> None:
    """Raises CgruError if a vocabulary is not one of labels."""
    if vocabulary.processor is not None:
        raise CgruError(f"{vocabulary.path}: a SentencePiece model, not a list of labels")
    if vocabulary.words.get(1) not in UNK_NAMES or len(vocabulary.words) <= FIRST_LABEL:
        raise CgruError(
            f"{vocabulary.path}: not a vocabulary of labels: ids 0 and 1 must be the end of a line "
            "and the unknown word (</s> and <unk>), and ids from 2 on labels"
        )


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
