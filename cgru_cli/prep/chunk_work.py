"""The work of `cgru prep` on one chunk of lines, in parallel processes (`ProcessPool`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..errors import CgruError
from ..text.pipeline import Preprocessing
from . import raw_text
from .duplicates import digest
from .pair_filters import Cleaning

Numbered = tuple[str, int, list]  # file, number of the first line, lines


class Cleaned(NamedTuple):
    """The pairs of a chunk that are kept, as words with digests, and the counts of the others."""

    source: bytes
    target: bytes
    digests: list[bytes]
    read: int
    removed: Counter[str]


def cleaner(values: dict[str, Any], cleaning: Cleaning) -> Callable[[Numbered], Cleaned]:
    """A function from raw pairs to words by the pipeline in `values`, before case and sub-words."""
    pipeline = Preprocessing.from_json(values)
    has_factors = pipeline.settings.factors > 1

    def clean_pair(source: str, target: str) -> tuple[str, str, bytes] | str:
        texts = pipeline.normalize(source), pipeline.normalize(target)
        if reason := cleaning.reject_text(*texts):
            return reason
        if has_factors:
            pipeline.columns(texts[0])
        words = pipeline.tokenize(texts[0], "source"), pipeline.tokenize(texts[1], "target")
        if reason := cleaning.reject_lengths(*(len(w.split()) for w in words)):
            return reason
        return *words, digest(*texts)

    def work(chunk: Numbered) -> Cleaned:
        name, number, pairs = chunk
        removed: Counter[str] = Counter()
        kept: list[tuple[str, str, bytes]] = []
        for i, pair in enumerate(pairs, number):
            reason = cleaning.reject_raw(*(_decoded(line) for line in pair))
            try:
                cleaned = reason or clean_pair(*(line.decode("utf-8", "replace") for line in pair))
            except CgruError as error:
                raise CgruError(f"{name}:{i}: {error}") from error
            if isinstance(cleaned, str):
                removed[cleaned] += 1
            else:
                kept.append(cleaned)
        sources, targets, digests = zip(*kept, strict=True) if kept else ((), (), ())
        return Cleaned(_lines(sources), _lines(targets), list(digests), len(pairs), removed)

    return work


def recaser(values: dict[str, Any], side: str) -> Callable[[list[bytes]], list[str]]:
    """Tokenised lines to lines in true case."""
    pipeline = Preprocessing.from_json(values)
    return lambda lines: [pipeline.recase(line.decode("utf-8"), side) for line in lines]


def splitter(
    values: dict[str, Any], side: str, count: bool
) -> Callable[[list[bytes]], tuple[bytes, list[Counter[str]]]]:
    """Tokenised lines to the training text; and, if wanted, its words counted, factor by factor."""
    pipeline = Preprocessing.from_json(values)
    factors = pipeline.settings.factors if side == "source" else 1

    def work(lines: list[bytes]) -> tuple[bytes, list[Counter[str]]]:
        done = []
        counts: list[Counter[str]] = [Counter() for _ in range(factors if count else 0)]
        for line in lines:
            text = pipeline.split(pipeline.recase(line.decode("utf-8"), side), side)
            done.append(text)
            words = [word for word in text.split(" ") if word] if count else []
            if factors > 1:
                for word in words:
                    for column, factor in zip(counts, word.split("|"), strict=True):
                        column[factor] += 1
            elif count:
                counts[0].update(words)
        return _lines(done), counts

    return work


def applier(values: dict[str, Any], side: str) -> Callable[[Numbered], bytes]:
    """Raw lines to the text that a model reads or writes, line for line."""
    pipeline = Preprocessing.from_json(values)

    def work(chunk: Numbered) -> bytes:
        name, number, lines = chunk
        done = []
        for i, line in enumerate(lines, number):
            try:
                done.append(pipeline.apply(line.decode("utf-8", "replace"), side))
            except CgruError as error:
                raise CgruError(f"{name}:{i}: {error}") from error
        return _lines(done)

    return work


def numbered(path: str) -> Iterator[Numbered]:
    """The lines of a file in chunks."""
    number = 1
    for chunk in raw_text.chunks(raw_text.read_lines(path)):
        yield path, number, chunk
        number += len(chunk)


def _decoded(line: bytes) -> str | None:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _lines(texts: Any) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode("utf-8")
