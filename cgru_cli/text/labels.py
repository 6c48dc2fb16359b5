"""Labels: of a line one, or one for each of its words. They are words of a vocabulary of their own.

Ids 0 and 1 of it are the end of a line and the unknown word, which no line has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import CgruError
from ..parameters.structure import FIRST_LABEL
from .vocabulary import UNK_NAMES, Vocabulary, shown


def label_ids(labels: Sequence[str], vocabulary: Vocabulary, *, one: bool) -> list[int]:
    """The ids of a line's labels, which has one alone or one for each word.

    Raises CgruError for an unknown one, and where one is expected for none and more.
    """
    if one and len(labels) != 1:
        raise CgruError(number_of_labels(labels))
    ids = vocabulary.encode(labels)
    for label, i in zip(labels, ids, strict=True):
        if i < FIRST_LABEL:
            raise CgruError(
                f"label {shown(label)} is none of the {vocabulary.size - FIRST_LABEL} in "
                f"{vocabulary.path}: {_beginning(vocabulary)}"
            )
    return ids


def number_of_labels(labels: Sequence[str]) -> str:
    """The message for a line with another number of labels than one."""
    return f"{len(labels)} labels; one is expected for each line"


def check_tags(source: Sequence[tuple[int, ...]], tags: Sequence[Any]) -> None:
    """Raises CgruError where there are not as many tags as words; source: of `with_starts`."""
    words = sum(columns[-1] for columns in source)
    if words != len(tags):
        raise CgruError(
            f"{len(tags)} tag{'s' * (len(tags) != 1)} for {words} word{'s' * (words != 1)}"
        )


def check_labels(vocabulary: Vocabulary) -> None:
    """Raises CgruError where a vocabulary is none of labels."""
    if vocabulary.processor is not None:
        raise CgruError(f"{vocabulary.path}: a SentencePiece model, which is no list of labels")
    if vocabulary.words.get(1) not in UNK_NAMES or len(vocabulary.words) <= FIRST_LABEL:
        raise CgruError(
            f"{vocabulary.path}: no vocabulary of labels: ids 0 and 1 have to be the end of a line "
            "and the unknown word (</s> and <unk>), and ids from 2 labels"
        )


def _beginning(vocabulary: Vocabulary, most: int = 5) -> str:
    """The first labels."""
    known = [word for i, word in sorted(vocabulary.words.items()) if i >= FIRST_LABEL]
    return " ".join(known[:most]) + (" ..." if len(known) > most else "")
