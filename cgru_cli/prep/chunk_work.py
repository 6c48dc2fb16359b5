"""The work of `cgru prep` on one chunk of lines, in parallel processes (`ProcessPool`).

Each function takes the pipeline as the text of its `preprocess.json`; each process parses it once.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from ..errors import at
from ..options.prep import PrepOptions
from ..text.pipeline import Preprocessing
from .pair_filters import reject_lengths, reject_raw, reject_text
from .raw_text import Numbered, Pair


class Cleaned(NamedTuple):
    """The kept pairs of a chunk, as words with digests, and the counts of removed pairs.

    raw: source and target as they were read, for --dev-lines; empty without it.
    """

    source: bytes
    target: bytes
    raw: tuple[bytes, bytes]
    digests: list[bytes]
    read: int
    removed: Counter[str]


@functools.lru_cache(maxsize=1)
def _made(pipeline: str) -> Preprocessing:
    return Preprocessing.from_json(json.loads(pipeline))


def clean(pipeline: str, options: PrepOptions, chunk: Numbered[Pair]) -> Cleaned:
    """Convert raw pairs to words, before case and sub-words.

    Raises CgruError, naming file and line, if a source word has a wrong number of factors.
    """
    name, first, pairs = chunk
    made = _made(pipeline)
    removed: Counter[str] = Counter()
    kept: list[tuple[str, str, bytes]] = []
    raw = (bytearray(), bytearray())
    for number, pair in enumerate(pairs, first):
        with at(f"{name}:{number}"):
            cleaned = _clean_pair(made, options, pair)
        if isinstance(cleaned, str):
            removed[cleaned] += 1
        else:
            kept.append(cleaned)
            for text, line in zip(raw, pair if options.dev_lines else (), strict=False):
                text += line + b"\n"
    sources, targets, digests = zip(*kept, strict=True) if kept else ((), (), ())
    texts = _joined(sources), _joined(targets)
    return Cleaned(*texts, (bytes(raw[0]), bytes(raw[1])), list(digests), len(pairs), removed)


def _clean_pair(
    pipeline: Preprocessing, options: PrepOptions, pair: Pair
) -> tuple[str, str, bytes] | str:
    """The words of both sides and the pair's digest, or the name of the filter that removes it."""
    if reason := reject_raw(options, _decoded(pair[0]), _decoded(pair[1])):
        return reason
    source, target = (pipeline.normalize(line.decode("utf-8", "replace")) for line in pair)
    if reason := reject_text(options, source, target):
        return reason
    if pipeline.settings.factors > 1:
        pipeline.columns(source)
    pair_digest = digest(source, target)
    if pipeline.copying:
        source, target = pipeline.copying.pair(source, target)
    words = pipeline.tokenize(source, "source"), pipeline.tokenize(target, "target")
    if reason := reject_lengths(options, len(words[0].split()), len(words[1].split())):
        return reason
    return *words, pair_digest


def digest(source: str, target: str) -> bytes:
    """The digest of a pair, 16 bytes: BLAKE2b of both lines.

    Among 10**9 pairs, two different pairs have the same digest with probability 10**-21.
    """
    pair = f"{source}\n{target}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(pair, digest_size=16).digest()


def recase(pipeline: str, side: str, lines: list[bytes]) -> list[str]:
    """Convert tokenised lines to true case."""
    made = _made(pipeline)
    return [made.recase(line.decode("utf-8"), side) for line in lines]


def split(
    pipeline: str, side: str, count: bool, lines: list[bytes]
) -> tuple[bytes, list[Counter[str]]]:
    """Convert tokenised lines to training text; with `count`, also count its words by factor."""
    made = _made(pipeline)
    texts = [made.split(made.recase(line.decode("utf-8"), side), side) for line in lines]
    factors = made.settings.factors if side == "source" else 1
    counts: list[Counter[str]] = [Counter() for _ in range(factors if count else 0)]
    for text in texts if count else ():
        words = [word for word in text.split(" ") if word]
        if factors == 1:
            counts[0].update(words)
            continue
        for word in words:
            for column, factor in zip(counts, word.split("|"), strict=True):
                column[factor] += 1
    return _joined(texts), counts


def apply(pipeline: str, side: str, chunk: Numbered[bytes]) -> bytes:
    """Convert raw lines to the text that a model reads or writes."""
    name, first, lines = chunk
    made = _made(pipeline)
    texts = []
    for number, line in enumerate(lines, first):
        with at(f"{name}:{number}"):
            texts.append(made.apply(line.decode("utf-8", "replace"), side))
    return _joined(texts)


def _decoded(line: bytes) -> str | None:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _joined(texts: Iterable[str]) -> bytes:
    return "".join(f"{text}\n" for text in texts).encode("utf-8")
