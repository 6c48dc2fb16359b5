"""The text to validate on, read and encoded once, before the first update."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..corpus.parallel_files import PathLike, check_line_counts, text_lines
from ..errors import CgruError, warn
from ..parameters.structure import Type
from ..system.lines import tokens
from ..text.labels import check_tags
from ..text.vocabulary import Vocabulary
from .encoding import LabelText, TargetText, Word, source_ids


@dataclass(frozen=True)
class DevSet:
    """Sentence pairs to validate on, and the form in which their target is written."""

    sources: list[list[tuple[int, ...]]]  # a list of words for each line, ids of factors for each
    targets: list[list[int]]
    references: list[str]  # plain text, which BLEU and chrF compare with
    target_text: TargetText

    @classmethod
    def read(
        cls,
        source: PathLike | None,
        target: PathLike,
        sources: Sequence[Vocabulary],
        target_text: TargetText,
        *,
        reference: PathLike | None = None,
        max_length: int = 1000,
        source_reversed: bool = False,
        condition: int = 0,
    ) -> DevSet:
        """Read the files; source is None for a language model without a condition.

        source, target: prepared like the training text: words between spaces, or raw text for
        `.spm`. sources: vocabularies, one a factor. reference: plain text; the plain text of the
        target if not given. max_length: words after which sentences are cut, with a warning.
        source_reversed: whether the model reads from the end. condition: as in `encode`. Raises
        CgruError for files that cannot be read, are empty, or differ in their number of lines.
        """
        tags = isinstance(target_text, LabelText) and target_text.of_words
        if tags:
            max_length = sys.maxsize  # each word needs its tag
        source_lines, target_lines = _parallel(source, target)
        source_sentences: list[list[tuple[int, ...]]] = [[] for _ in target_lines]
        if source is not None:
            kind = Type.TAGGER if tags else Type.CGRU
            encode = functools.partial(
                source_ids, vocabularies=sources, kind=kind, condition=condition
            )
            source_sentences = _encoded(source, source_lines, encode, max_length)
        if source_reversed:
            source_sentences = [words[::-1] for words in source_sentences]
        targets = _encoded(target, target_lines, target_text.ids, max_length)
        if tags:
            pairs = zip(source_sentences, targets, strict=True)
            for number, pair in enumerate(pairs, 1):
                try:
                    check_tags(*pair)
                except CgruError as error:
                    raise CgruError(f"{target}: line {number}: {error}") from error
        if reference is not None:
            _, references = _parallel(source, reference)
        else:
            references = [target_text.plain(" ".join(tokens(line))) for line in target_lines]
        return cls(source_sentences, targets, references, target_text)


def _encoded(
    path: PathLike, lines: list[str], encode: Callable[[str], list[Word]], max_length: int
) -> list[list[Word]]:
    """The ids of each line; long lines are cut."""
    cut = 0
    sentences = []
    for number, line in enumerate(lines, 1):
        try:
            words = encode(line)
        except CgruError as error:
            raise CgruError(f"{path}: line {number}: {error}") from error
        cut += len(words) > max_length
        sentences.append(words[:max_length])
    if cut:
        warn(f"{path}: {cut} lines were cut to {max_length} words")
    return sentences


def _parallel(source: PathLike | None, other: PathLike) -> tuple[list[str], list[str]]:
    """The lines of two files. Raises CgruError if they differ in their number, or are empty."""
    theirs = list(text_lines(other))
    if source is None:
        source, ours = other, theirs
    else:
        ours = list(text_lines(source))
    check_line_counts((source, len(ours)), (other, len(theirs)))
    if not ours:
        raise CgruError(f"{source}: is empty; validation needs sentences")
    return ours, theirs
