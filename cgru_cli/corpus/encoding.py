"""Encode parallel lines, with alignments and weights, into the files of a corpus."""

import collections
import contextlib
import hashlib
import itertools
import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import CgruError, warn
from ..text.line_variants import JOINED, MOST_JOINED, PLAIN, Variants
from . import data_weights, word_alignments
from .number_files import Numbers, file_digest
from .parallel_files import Beside, Files, PathLike, parallel

FORMAT = 2
EncodeSource = Callable[[str], list[tuple[int, ...]]]
EncodeTarget = Callable[[str], list[int]]
CheckPair = Callable[[list[tuple[int, ...]], list[int]], None]


class EncodedPair(NamedTuple):
    """The ids of a sentence pair, with its alignment and weights."""

    source: list
    target: list
    points: list  # of the alignment
    weights: list  # of the sentence, or of its target words and EOS
    place: int  # of the first target word, among all words and EOS read

    def cut(self, limit: int) -> "EncodedPair":
        """The pair with both sides cut to `limit` words; keeps the weight of EOS."""
        points = word_alignments.cut(self.points, len(self.source), len(self.target), limit)
        weights = [*self.weights[:-1][:limit], *self.weights[-1:]]
        return EncodedPair(self.source[:limit], self.target[:limit], points, weights, self.place)

    def from_end(self) -> "EncodedPair":
        """The pair with sides, alignments and weights reversed; EOS remains at the end."""
        points = word_alignments.from_end(self.points, len(self.target), len(self.source))
        weights = weights_from_end(self.weights)
        return EncodedPair(self.source[::-1], self.target[::-1], points, weights, self.place)

    def after(self, first: "EncodedPair", *, reversed_target: bool) -> "EncodedPair":
        """This pair joined with the preceding pair; keeps the weight of this sentence."""
        s, t = len(first.source), len(first.target)
        ends = self.weights[-1:]  # of the sentence, or EOS
        if reversed_target:
            target, here, there = self.target + first.target, 0, len(self.target)
            weights = [*self.weights[:-1], *first.weights[:-1], *ends]
        else:
            target, here, there = first.target + self.target, t, 0
            weights = [*first.weights[:-1], *self.weights[:-1], *ends]
        points = [(i, j + there) for i, j in first.points if i < s and j < t]  # without its EOS
        points += [(i + s, j + (here if j < len(self.target) else t)) for i, j in self.points]
        points.sort()
        return EncodedPair(first.source + self.source, target, points, weights, self.place)


def weights_from_end(weights: list[float]) -> list[float]:
    """Weights of reversed target words; the weight of EOS, or of the sentence, remains last."""
    return [*weights[-2::-1], *weights[-1:]]


@dataclass(eq=False)
class Encoding:
    """Encodes lines into the files of a cache. The fields are arguments of `encode_corpus`."""

    encode_source: EncodeSource
    encode_target: EncodeTarget
    max_length: int
    crop: bool
    beside: Beside
    check_pair: CheckPair | None = None
    variants: Variants = Variants()  # noqa: RUF009

    def __post_init__(self) -> None:
        self._lines = self._taken = self._pairs = self._points = self._read = 0
        self._words = np.zeros(2, np.int64)
        self._skipped = {"empty": 0, "too long": 0, "cut": 0}
        self._aligns_no_first = True  # whether all first words are unaligned
        self._factors: int | None = None
        self._files: dict[str, Numbers] = {}

    @contextlib.contextmanager
    def writing(self, cache: Path) -> Iterator[None]:
        """Open the files in a folder; they are on disk at the end, or removed after an error."""
        token = secrets.token_hex(6)
        types = {"source": "<u2", "target": "<u2", "lengths": "<i4", "offsets": "<i8"}
        if self.beside.alignments:
            types |= {"points": "<u2", "spans": "<i8"}
        if self.beside.weighted:
            types["weights"] = "<f4"
        if self.beside.places:
            types["places"] = "<i8"
        if self.variants.drawn:
            types["variants"] = "<i8"
        try:
            for name, dtype in types.items():
                self._files[name] = Numbers(cache / f"{name}-{token}.ids", dtype)
            yield
            for file in self._files.values():
                file.finish()
        except BaseException:
            for file in self._files.values():
                file.discard()
            raise

    def add(self, files: Files) -> None:
        """Encode files. Raises CgruError, naming file and line, if that is impossible."""
        if files.source is None:
            self._factors = 0
        numbers = itertools.count(1)
        before: collections.deque[EncodedPair] = collections.deque(maxlen=1 + MOST_JOINED)
        for lines in parallel(files):
            kept: list[EncodedPair] = []
            rows: list[tuple[int, int]] = []  # the number of each pair's line, and its kind
            kinds = self.variants.kinds(np.arange(self._lines, self._lines + len(lines)), 0)
            for texts, chosen in zip(lines, kinds.tolist(), strict=True):
                for kind, pair in self._of_line(files, next(numbers), texts, chosen, before):
                    fitting = self._fitting(pair, first_epoch=kind == chosen)
                    if fitting is not None:
                        kept.append(fitting)
                        rows.append((self._lines, kind))
                self._lines += 1
            if kept:
                self._write(kept)
                if self.variants.drawn:
                    self._files["variants"].append(np.array(rows))

    def _of_line(
        self,
        files: Files,
        number: int,
        texts: tuple,
        chosen: int,
        before: collections.deque[EncodedPair],
    ) -> Iterator[tuple[int, EncodedPair]]:
        """The variants of a pair in all epochs, by kind; chosen: the kind of the first epoch."""
        lines = self.variants.copied(*texts[:2])
        for kind in sorted({PLAIN, chosen, *self.variants.drawn}):
            if kind == JOINED:
                pair = self._joined([*before][-1 - self.variants.joined(self._lines) :])
            else:
                variant = self.variants.of(kind, self._lines, *lines)
                pair = self._encoded(files, number, texts, variant)
            if kind == PLAIN:
                if not pair.source or not pair.target:
                    self._skipped["empty"] += 1
                    return
                before.append(pair)
            if kind == chosen or self.variants.drawn:
                yield kind, pair

    def _fitting(self, pair: EncodedPair, *, first_epoch: bool) -> EncodedPair | None:
        """The pair, cut to --max-length with --max-length-crop; None if it is too long."""
        if max(len(pair.source), len(pair.target)) > self.max_length:
            self._skipped["cut" if self.crop else "too long"] += first_epoch
            if not self.crop:
                return None
            pair = pair.cut(self.max_length)
        self._taken += first_epoch
        return pair.from_end() if self.beside.both_from_end else pair

    def _joined(self, pairs: list[EncodedPair]) -> EncodedPair:
        """The last pair, joined with as many preceding pairs as --max-length allows."""
        *before, pair = pairs
        for first in reversed(before):
            longer = pair.after(first, reversed_target=self.beside.from_end)
            if max(len(longer.source), len(longer.target)) > self.max_length:
                break
            pair = longer
        return pair

    def _encoded(self, files: Files, number: int, texts: tuple, variant: tuple) -> EncodedPair:
        given, (alignment, weight) = texts[:2], texts[2:]
        source_line, target_line = variant
        source: list = [()]  # one word without ids, because pairs with an empty side are skipped
        points: list[word_alignments.Point] = []
        path: PathLike | None = files.target  # of the current line
        try:
            target = self.encode_target(target_line)
            if source_line is not None:
                path = files.source
                source = self.encode_source(source_line)
            if self.check_pair is not None:
                path = files.target
                self.check_pair(source, target)
            if alignment is not None:
                path = files.alignment
                points = self._points_of(alignment, given, variant)
            path = files.weight
            by_word = self.beside.by_word
            if weight is None or (by_word and variant != given):  # a variant has other words
                weights = [1.0] * (len(target) + 1 if by_word else 1)
            elif by_word:
                weights = data_weights.parse_words(weight, len(target))
            else:
                weights = data_weights.parse_sentence(weight)
        except CgruError as error:
            raise type(error)(f"{path}: line {number}: {error}") from error
        if self.beside.from_end:
            points = word_alignments.from_end(points, len(target))
            weights = weights_from_end(weights)
        if files.factor != 1:
            weights = [files.factor * weight for weight in weights]
        self._read += len(target) + 1
        return EncodedPair(source, target, points, weights, self._read - len(target) - 1)

    def _points_of(self, alignment: str, given: tuple, lines: tuple) -> list[word_alignments.Point]:
        """The points of the given lines' alignment, adapted to a variant of these lines."""
        encoders: tuple[Callable[[str], list], ...] = self.encode_source, self.encode_target
        lengths = [len(encode(line)) for encode, line in zip(encoders, given, strict=True)]
        points = word_alignments.parse(alignment, *lengths)
        if lines == given:
            return points
        sides = []
        for encode, length, *both in zip(encoders, lengths, given, lines, strict=True):
            old, new = ([len(encode(word)) for word in line.split()] for line in both)
            if sum(old) != length or not len(old) - 1 <= len(new) <= len(old):
                return []  # the variant has other words
            sides.append((old, new))
        return word_alignments.follow(points, *sides)

    def _write(self, pairs: list[EncodedPair]) -> None:
        if self._factors is None:
            self._factors = len(pairs[0].source[0])
        lengths = np.zeros((len(pairs), 2), np.int64)  # without EOS
        lengths[:, 1] = [len(pair.target) for pair in pairs]
        if self._factors:
            lengths[:, 0] = [len(pair.source) for pair in pairs]
        source_words = itertools.chain.from_iterable(pair.source for pair in pairs)
        source = _flat(source_words, np.int64)
        if len(source) != lengths[:, 0].sum() * self._factors:
            raise ValueError(f"source words with other than {self._factors} factors")
        ends = self._words + np.cumsum(lengths, axis=0)
        self._files["source"].append(source)
        self._files["target"].append(_flat((pair.target for pair in pairs), np.int64))
        self._files["lengths"].append(lengths + 1)
        self._files["offsets"].append(ends - lengths)
        self._words = ends[-1]
        self._pairs += len(pairs)
        if self.beside.alignments:
            self._write_points([pair.points for pair in pairs])
        if self.beside.weighted:
            self._files["weights"].append(_flat((pair.weights for pair in pairs), np.float64))
        if self.beside.places:
            self._files["places"].append(np.array([pair.place for pair in pairs]))

    def _write_points(self, points: Sequence[list]) -> None:
        counts = np.array([len(of_pair) for of_pair in points])
        ends = self._points + np.cumsum(counts)
        flat = _flat(itertools.chain.from_iterable(points), np.int64)
        self._aligns_no_first &= bool(flat.size == 0 or flat.min() > 0)
        self._files["points"].append(flat)
        self._files["spans"].append(np.stack([ends - counts, ends], axis=1))
        self._points = int(ends[-1])

    def check(self, paths: Sequence[PathLike]) -> None:
        """Raise CgruError if no pair is left; warn if alignments seem to count from 1."""
        names = " and ".join(dict.fromkeys(map(str, paths)))
        if not self._lines:
            raise CgruError(f"{names}: no lines to train on; the text is empty")
        if not self._taken:
            raise CgruError(
                f"{names}: nothing is left of {self._lines:,} lines:"
                f" {self._skipped['empty']:,} with an empty side, {self._skipped['too long']:,} of"
                f" more than {self.max_length} words; check the text, or raise the maximum length"
            )
        if self._points and self._aligns_no_first:
            warn(
                f"{self.beside.alignments[0]}: no first word is aligned to anything; alignments "
                "count words from 0"
            )

    def description(self) -> dict[str, Any]:
        """The fields of the manifest that describe the files."""
        files = self._files
        return {
            "pairs": self._pairs,
            "factors": self._factors,
            "words": self._words.tolist(),
            "points": self._points,
            "skipped": self._skipped,
            "read": self._read,
            "fingerprint": self._fingerprint("source", "target", "lengths"),
            "alignments": self._fingerprint("points", "spans") if "points" in files else None,
            "weights": self._fingerprint("weights") if "weights" in files else None,
            "files": {name: [file.path.name, file.dtype.str] for name, file in files.items()},
            "sha256": {name: file_digest(file.path) for name, file in files.items()},
        }

    def _fingerprint(self, *names: str) -> str:
        digests = [self._files[name].digest.hexdigest() for name in names]
        drawn = [str(self.variants)] if self.variants.drawn else []
        content = json.dumps([FORMAT, self._pairs, self._factors, *digests, *drawn])
        return hashlib.sha256(content.encode()).hexdigest()


def _flat(rows: Iterable[Iterable[float]], dtype: type) -> np.ndarray:
    return np.fromiter(itertools.chain.from_iterable(rows), dtype)
