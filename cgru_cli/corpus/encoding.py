"""Parallel lines, with alignments and weights, encoded into the files of a corpus."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import CgruError, warn
from . import data_weights, word_alignments
from .number_files import Numbers, file_digest
from .parallel_files import Beside, Lines, PathLike

FORMAT = 1

EncodeSource = Callable[[str], list[tuple[int, ...]]]
EncodeTarget = Callable[[str], list[int]]
CheckPair = Callable[[list[tuple[int, ...]], list[int]], None]


def _encode(
    encode: Callable[..., list[Any] | None],
    path: PathLike | None,
    first: int,
    *lines: Iterable[Any],
) -> list[list[Any]]:
    encoded: list[Any] = []
    try:
        for given in zip(*lines, strict=True):
            encoded.append(encode(*given))
    except CgruError as error:
        raise type(error)(f"{path}: line {first + len(encoded)}: {error}") from error
    return encoded


class EncodedPair(NamedTuple):
    """A sentence pair encoded."""

    source: list
    target: list
    points: list  # of its alignment
    weights: list  # of the sentence or of its target words

    def cut(self, limit: int) -> EncodedPair:
        points = word_alignments.cut(self.points, len(self.source), len(self.target), limit)
        *weights, last = self.weights or [None]  # EOS's, or the sentence's
        return EncodedPair(
            self.source[:limit],
            self.target[:limit],
            points,
            [*weights[:limit], last] if self.weights else [],
        )

    def from_end(self) -> EncodedPair:
        """The pair with both sides reversed, alignments and weights too; EOS stays at the end."""
        S, T = len(self.source), len(self.target)
        points = word_alignments.from_end(self.points, T, S)
        return EncodedPair(
            self.source[::-1], self.target[::-1], points, weights_from_end(self.weights)
        )


def weights_from_end(weights: list[float]) -> list[float]:
    """Weights of reversed target words; that of EOS, or of the sentence, stays in its place."""
    return [*weights[-2::-1], *weights[-1:]]


class Encoding:
    """Encodes lines into the files of a cache, and counts.

    The arguments are those of `encode_corpus`, which says what is left out and cut.
    """

    TYPES: ClassVar = {"source": "<u2", "target": "<u2", "lengths": "<i4", "offsets": "<i8"}

    def __init__(
        self,
        encode_source: EncodeSource,
        encode_target: EncodeTarget,
        max_length: int,
        crop: bool,
        beside: Beside,
        check_pair: CheckPair | None = None,
    ):
        self.lines = 0
        self._check_pair = check_pair
        self._encode_source = encode_source
        self._encode_target = encode_target
        self._max_length = max_length
        self._crop = crop
        self._beside = beside
        self._skipped = {"empty": 0, "too long": 0, "cut": 0}
        self._pairs = 0
        self._words = np.zeros(2, np.int64)
        self._points = 0
        self._names_no_first = bool(beside.alignments)  # neither a first source nor target word
        self._factors: int | None = None
        self._files: dict[str, Numbers] = {}

    @contextlib.contextmanager
    def writing(self, cache: Path) -> Iterator[None]:
        """Open the files in a folder; at the end they are on the disk, after an error gone."""
        token = secrets.token_hex(6)
        types = dict(self.TYPES)
        if self._beside.alignments:
            types |= {"points": "<u2", "spans": "<i8"}
        if self._beside.weighted:
            types["weights"] = "<f4"
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

    def add(self, lines: Lines) -> None:
        """Encode some lines. Raises CgruError, naming file and line, for those that cannot be."""
        files, first = lines.files, lines.first
        targets = _encode(self._encode_target, files.target, first, lines.target)
        if lines.source is None:
            self._factors = 0
            sources = [[()]] * len(targets)  # one word of no ids, in place of an empty side
        else:
            sources = _encode(self._encode_source, files.source, first, lines.source)
        if self._check_pair is not None:
            _encode(self._check_pair, files.target, first, sources, targets)
        self.lines += len(targets)
        points: list[list] = [[]] * len(targets)
        weights: list[list[float]] = [[]] * len(targets)
        if lines.alignment is not None:
            points = _encode(
                word_alignments.parse, files.alignment, first,
                lines.alignment, map(len, sources), map(len, targets),
            )  # fmt: skip
            if self._beside.from_end:
                points = list(map(word_alignments.from_end, points, map(len, targets)))
        if self._beside.weighted:
            weights = self._weights(lines, targets)
        kept = list(self._kept(map(EncodedPair, sources, targets, points, weights)))
        if self._beside.both_from_end:
            kept = [pair.from_end() for pair in kept]
        if kept:
            self._write(*zip(*kept, strict=True))

    def _weights(self, lines: Lines, targets: list) -> list[list[float]]:
        """The weights of each pair, its domain's factor in them."""
        files, by_word = lines.files, self._beside.by_word
        if lines.weight is None:
            return [[files.factor] * (len(target) + 1 if by_word else 1) for target in targets]
        more = [map(len, targets)] if by_word else []
        parse = data_weights.parse_words if by_word else data_weights.parse_sentence
        of_pairs = _encode(parse, files.weight, lines.first, lines.weight, *more)
        if self._beside.from_end:
            of_pairs = list(map(weights_from_end, of_pairs))
        return [[files.factor * weight for weight in weights] for weights in of_pairs]

    def _kept(self, pairs: Iterable[EncodedPair]) -> Iterator[EncodedPair]:
        limit, skipped = self._max_length, self._skipped
        for pair in pairs:
            if not pair.source or not pair.target:
                skipped["empty"] += 1
            elif len(pair.source) <= limit and len(pair.target) <= limit:
                yield pair
            elif self._crop:
                skipped["cut"] += 1
                yield pair.cut(limit)
            else:
                skipped["too long"] += 1

    def _write(
        self,
        sources: Sequence[list],
        targets: Sequence[list],
        points: Sequence[list],
        weights: Sequence[list],
    ) -> None:
        if self._factors is None:
            self._factors = len(sources[0][0])
        chain = itertools.chain.from_iterable
        lengths = np.zeros((len(targets), 2), np.int64)  # without EOS
        lengths[:, 1] = [len(target) for target in targets]
        if self._factors:
            lengths[:, 0] = [len(source) for source in sources]
        source_ids = np.fromiter(chain(chain(sources)), np.int64)
        if len(source_ids) != lengths[:, 0].sum() * self._factors:
            raise ValueError(f"source words with other than {self._factors} factors")
        ends = self._words + np.cumsum(lengths, axis=0)
        self._files["source"].append(source_ids)
        self._files["target"].append(np.fromiter(chain(targets), np.int64))
        self._files["lengths"].append(lengths + 1)
        self._files["offsets"].append(ends - lengths)
        self._words = ends[-1]
        self._pairs += len(targets)
        if self._beside.alignments:
            self._write_points(points)
        if self._beside.weighted:
            self._files["weights"].append(np.fromiter(chain(weights), np.float64))

    def _write_points(self, points: Sequence[list]) -> None:
        counts = np.array([len(of_pair) for of_pair in points])
        ends = self._points + np.cumsum(counts)
        flat = np.fromiter(itertools.chain.from_iterable(itertools.chain(*points)), np.int64)
        self._names_no_first &= bool(flat.size == 0 or flat.min() > 0)
        self._files["points"].append(flat)
        self._files["spans"].append(np.stack([ends - counts, ends], axis=1))
        self._points = int(ends[-1])

    def check_not_empty(self, paths: Sequence[PathLike]) -> None:
        """Raises CgruError where no pair is left."""
        if self._pairs:
            return
        names = " and ".join(dict.fromkeys(map(str, paths)))
        if not self.lines:
            raise CgruError(f"{names}: no lines to train on; the text is empty")
        raise CgruError(
            f"{names}: nothing is left of {self.lines:,} lines:"
            f" {self._skipped['empty']:,} with an empty side, {self._skipped['too long']:,} of more"
            f" than {self._max_length} words; look at the text, or raise the maximum length"
        )

    def check_counting(self) -> None:
        """Warn of alignments that seem to count from 1."""
        if self._points and self._names_no_first:
            warn(
                f"{self._beside.alignments[0]}: no first word is aligned to anything; alignments "
                "count words from 0"
            )

    def description(self) -> dict[str, Any]:
        """The description of the files for the manifest."""
        files = self._files
        return {
            "pairs": self._pairs,
            "factors": self._factors,
            "words": self._words.tolist(),
            "points": self._points,
            "skipped": self._skipped,
            "fingerprint": self._fingerprint("source", "target", "lengths"),
            "alignments": self._fingerprint("points", "spans") if "points" in files else None,
            "weights": self._fingerprint("weights") if "weights" in files else None,
            "files": {name: [file.path.name, file.dtype.str] for name, file in files.items()},
            "sha256": {name: file_digest(file.path) for name, file in files.items()},
        }

    def _fingerprint(self, *names: str) -> str:
        digests = [self._files[name].digest.hexdigest() for name in names]
        content = json.dumps([FORMAT, self._pairs, self._factors, *digests])
        return hashlib.sha256(content.encode()).hexdigest()
