"""Encode parallel lines, with alignments and weights, as the columns of a corpus."""

import collections
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from ..errors import CgruError
from ..text.line_variants import JOINED, MOST_JOINED, PLAIN, Variants
from . import data_weights, word_alignments
from .columns import ColumnWriter
from .parallel_files import Files, Line, PathLike, parallel
from .text_encoding import TextEncoding


@dataclass(frozen=True)
class Rules:
    """The choices that determine the encoded text, besides the files and the ids of words.

    max_length: the maximum number of words of a side, without EOS; crop: whether to cut longer
    sides, with their alignments and weights, instead of skipping the pair; by_word: whether weights
    are those of target words and EOS, not of sentences; reverses: the sides to encode from their
    end, the target before the cut, both sides after it, as in Marian; variants: change lines before
    they are encoded; places: whether to record the place of each target among all words read.
    """

    max_length: int
    crop: bool = False
    by_word: bool = False
    reverses: Literal["none", "target", "both"] = "none"
    variants: Variants = Variants()  # noqa: RUF009
    places: bool = False


class Pair(NamedTuple):
    """A sentence pair: a row of each column."""

    source: list[tuple[int, ...]]
    target: list[int]
    alignment: list[word_alignments.Point]
    weights: list[float]  # of the sentence, or of its target words and EOS
    places: list[int]  # of the first target word, among all words and EOS read

    def cut(self, limit: int) -> "Pair":
        """The pair with both sides cut to `limit` words; keeps the weight of EOS."""
        return self._replace(
            source=self.source[:limit],
            target=self.target[:limit],
            alignment=word_alignments.cut(
                self.alignment, len(self.source), len(self.target), limit
            ),
            weights=[*self.weights[:-1][:limit], *self.weights[-1:]],
        )

    def from_end(self, *, source: bool) -> "Pair":
        """The pair with target, alignment and weights reversed; EOS remains last.

        source: whether to reverse the source, too.
        """
        sizes = len(self.target), len(self.source) if source else None
        return self._replace(
            source=self.source[::-1] if source else self.source,
            target=self.target[::-1],
            alignment=word_alignments.from_end(self.alignment, *sizes),
            weights=[*self.weights[-2::-1], *self.weights[-1:]],
        )

    def after(self, first: "Pair") -> "Pair":
        """This pair joined with the preceding pair; keeps the weight of this sentence."""
        s, t = len(first.source), len(first.target)
        points = [(i, j) for i, j in first.alignment if i < s and j < t]  # without its EOS
        return self._replace(
            source=first.source + self.source,
            target=first.target + self.target,
            alignment=points + [(i + s, j + t) for i, j in self.alignment],
            weights=[*first.weights[:-1], *self.weights],
        )


class Encoding:
    """Encodes files and writes some of the columns in `Pair`.

    It also writes a column `kinds`, which has a row for each line: the kinds of its pairs.
    """

    def __init__(self, encoder: TextEncoding, rules: Rules, columns: Mapping[str, ColumnWriter]):
        self._encoder, self._rules, self._variants = encoder, rules, rules.variants
        self._columns = columns
        self._first = 0  # line of the files that are encoded now
        self._before = collections.deque[Pair](maxlen=1 + MOST_JOINED)  # the last pairs
        self._pairs = 0  # in the first epoch
        self.lines = 0
        self.read = 0  # target words and EOS
        self.skipped = {"empty": 0, "too long": 0, "cut": 0}

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of the values of each column."""
        return {name: column.digest.hexdigest() for name, column in self._columns.items()}

    def add(self, files: Files) -> None:
        """Encode files. Raises CgruError, naming file and line, if that is impossible."""
        self._first = self.lines
        self._before.clear()
        for lines in parallel(files):
            numbers = np.arange(self.lines, self.lines + len(lines))
            pairs: list[Pair] = []
            kinds: list[list[int]] = []
            for line, kind in zip(lines, self._variants.kinds(numbers, 0).tolist(), strict=True):
                of_line = self._of_line(files, line, kind)
                pairs += of_line.values()
                kinds.append([*of_line])
                self.lines += 1
            for name, column in self._columns.items():
                column.append(kinds if name == "kinds" else [getattr(pair, name) for pair in pairs])

    def _of_line(self, files: Files, line: Line, first: int) -> dict[int, Pair]:
        """The pairs of a line by kind, over all epochs; first: the kind of the first epoch."""
        texts = self._variants.copied(*line[:2])
        pairs = {}
        for kind in sorted({PLAIN, first, *self._variants.drawn}):
            if kind == JOINED:
                pair = self._joined([*self._before][-1 - self._variants.joined(self.lines) :])
            else:
                variant = self._variants.of(kind, self.lines, *texts)
                pair = self._encoded(files, line, variant)
            if kind == PLAIN:
                if not pair.target or not (pair.source or line[0] is None):
                    self.skipped["empty"] += 1
                    break
                self._before.append(pair)
            if kind == first or self._variants.drawn:
                fitting = self._fitting(pair, first_epoch=kind == first)
                if fitting is not None:
                    pairs[kind] = fitting
        return pairs

    def _fitting(self, pair: Pair, *, first_epoch: bool) -> Pair | None:
        """The pair as the rules reverse and cut it; None if it is too long."""
        limit, crop = self._rules.max_length, self._rules.crop
        if self._rules.reverses == "target":
            pair = pair.from_end(source=False)
        if max(len(pair.source), len(pair.target)) > limit:
            self.skipped["cut" if crop else "too long"] += first_epoch
            if not crop:
                return None
            pair = pair.cut(limit)
        self._pairs += first_epoch
        return pair.from_end(source=True) if self._rules.reverses == "both" else pair

    def _joined(self, pairs: list[Pair]) -> Pair:
        """The last pair, joined with as many preceding pairs as the maximum length allows."""
        *before, pair = pairs
        for first in reversed(before):
            longer = pair.after(first)
            if max(len(longer.source), len(longer.target)) > self._rules.max_length:
                break
            pair = longer
        return pair

    def _encoded(self, files: Files, line: Line, variant: tuple[str | None, str]) -> Pair:
        """The pair of a line whose texts are those of the variant."""
        source: list[tuple[int, ...]] = []
        points: list[word_alignments.Point] = []
        *own_texts, alignment, weight = line
        own = [*variant] == own_texts
        path: PathLike | None = files.target  # of the current line
        try:
            target = self._encoder.target_ids(variant[1])
            if variant[0] is not None:
                path = files.source
                source = self._encoder.source_ids(variant[0])
            path = files.target
            self._encoder.check_pair(source, target)
            if alignment is not None:
                path = files.alignment
                if own:
                    points = word_alignments.parse(alignment, len(source), len(target))
                else:
                    points = self._followed(alignment, line[:2], variant)
            path = files.weight
            by_word = self._rules.by_word
            if weight is None or (by_word and not own):  # a variant has other words
                weights = [1.0] * (len(target) + 1 if by_word else 1)
            elif by_word:
                weights = data_weights.parse_words(weight, len(target))
            else:
                weights = data_weights.parse_sentence(weight)
        except CgruError as error:
            number = self.lines - self._first + 1
            raise type(error)(f"{path}: line {number}: {error}") from error
        if files.factor is not None:
            weights = [files.factor * weight for weight in weights]
        pair = Pair(source, target, points, weights, [self.read])
        self.read += len(target) + 1
        return pair

    def _followed(
        self, alignment: str, texts: tuple, variant: tuple
    ) -> list[word_alignments.Point]:
        """The points of a line's alignment, adapted to a variant of its texts."""
        encoders: list[Callable[[Any], list]]
        encoders = [self._encoder.source_ids, self._encoder.target_ids]
        lengths = [len(encode(text)) for encode, text in zip(encoders, texts, strict=True)]
        points = word_alignments.parse(alignment, *lengths)
        sides = []
        for encode, length, *both in zip(encoders, lengths, texts, variant, strict=True):
            old, new = ([len(encode(word)) for word in text.split()] for text in both)
            if sum(old) != length or not len(old) - 1 <= len(new) <= len(old):
                return []  # the variant has other words
            sides.append((old, new))
        return word_alignments.follow(points, *sides)

    def check(self, paths: Sequence[PathLike]) -> None:
        """Raise CgruError if no pair is left."""
        names = " and ".join(dict.fromkeys(map(str, paths)))
        if not self.lines:
            raise CgruError(f"{names}: no lines to train on; the text is empty")
        if not self._pairs:
            raise CgruError(
                f"{names}: nothing is left of {self.lines:,} lines:"
                f" {self.skipped['empty']:,} with an empty side, {self.skipped['too long']:,} of"
                f" more than {self._rules.max_length} words; check the text, or raise the maximum "
                "length"
            )
