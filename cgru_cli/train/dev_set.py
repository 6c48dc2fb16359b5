"""The text that a training is validated on: read and encoded once, before the first update."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..corpus.parallel_files import PathLike, TsvColumn, check_line_counts, column_lines
from ..errors import CgruError, warn
from ..system.lines import LineReader, tokens
from ..text.conditions import condition_columns
from ..text.labels import check_tags, label_ids
from ..text.pipeline import Preprocessing
from ..text.source_words import source_columns
from ..text.subwords import join_bpe
from ..text.vocabulary import Vocabulary

Word = TypeVar("Word")


@dataclass(frozen=True)
class TargetText:
    """Target text in the three forms of it: a prepared line, a model's ids, and plain text.

    preprocessing: how the lines were prepared, None for sub-words with `@@` or none at all;
    right_left: whether the model writes from the end of a sentence.
    """

    vocabulary: Vocabulary
    preprocessing: Preprocessing | None = None
    right_left: bool = False

    def ids(self, line: str) -> list[int]:
        """A line as the model writes it, without EOS."""
        return self.vocabulary.encode(self._turned(self.vocabulary.tokenize(line)))

    def text(self, ids: Iterable[int]) -> str:
        """The text of a model's output."""
        return self.plain(self.vocabulary.detokenize(self._turned(self.vocabulary.decode(ids))))

    def plain(self, line: str) -> str:
        """The text of a prepared line."""
        return self.preprocessing.undo(line, "target") if self.preprocessing else join_bpe(line)

    def _turned(self, words: list[Word]) -> list[Word]:
        """Words from reading order to the model's order of writing, and back."""
        return words[::-1] if self.right_left else words


@dataclass(frozen=True)
class LabelText(TargetText):
    """Labels, which are the same in all three forms; of_words: one for each word of the source."""

    of_words: bool = False

    def ids(self, line: str) -> list[int]:
        """The ids of a line's labels. Raises CgruError for unknown labels."""
        return label_ids(tokens(line), self.vocabulary, one=not self.of_words)

    def plain(self, line: str) -> str:
        """The line unchanged."""
        return line


@dataclass(frozen=True)
class DevSet:
    """Sentence pairs to validate on, and the form in which their target is written."""

    sources: list[list[tuple[int, ...]]]  # of each line the words, of a word the factors' ids
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
        """Read the files, of a language model the target alone.

        source, target: prepared as the training text is, words between spaces or raw text for
        `.spm`; sources: vocabularies, one a factor; reference: plain text, the target without its
        preparation if not given; max_length: words, more are cut with a warning; source_reversed:
        whether the model reads from the end; condition: as of `examples.encode`. Raises CgruError
        where files cannot be read, are empty, or differ in their number of lines.
        """
        tags = isinstance(target_text, LabelText) and target_text.of_words
        if tags:
            max_length = sys.maxsize  # a tag for each word
        source_lines, target_lines = _parallel(source, target)
        source_sentences: list[list[tuple[int, ...]]] = [[] for _ in target_lines]
        if source is not None:
            source_sentences = _encoded(
                source,
                source_lines,
                lambda line: (
                    condition_columns(line, sources, condition)
                    if condition
                    else source_columns(line, sources, starts=tags)
                ),
                max_length,
            )
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
    """The ids of each line, long ones cut."""
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
    """The lines of two files. Raises CgruError where they are not as many, or none."""
    theirs = _lines(other)
    if source is None:
        source, ours = other, theirs
    else:
        ours = _lines(source)
    check_line_counts((source, len(ours)), (other, len(theirs)))
    if not ours:
        raise CgruError(f"{source}: is empty; validation needs sentences")
    return ours, theirs


def _lines(path: PathLike) -> list[str]:
    if isinstance(path, TsvColumn):
        return list(column_lines(path))
    with LineReader(path) as reader:
        return reader.rest()
