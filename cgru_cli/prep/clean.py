"""The first step of `cgru prep`: remove bad pairs, and split the others into words."""

from __future__ import annotations

import contextlib
import functools
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CgruError, warn
from ..options.prep import PrepOptions
from ..system.atomic_files import atomic_write
from ..system.process_pool import ProcessPool
from . import chunk_work
from .pair_filters import summary
from .raw_text import numbered, pairs, read_lines

_RECORD = np.dtype([("digest", "S16"), ("number", ">u8")])
_PARTITIONS = 64


class Duplicates:
    """Finds repeated pairs by digests in 64 temporary files, sorting one file at a time."""

    def __init__(self, folder: Path):
        """folder: for temporary files."""
        self._count = 0
        paths = [folder / f"digests.{i}" for i in range(_PARTITIONS)]
        self._files = [open(path, "w+b") for path in paths]  # noqa: SIM115 - closed by `first`

    def add(self, digests: Iterable[bytes]) -> None:
        for value in digests:
            file = self._files[value[0] % _PARTITIONS]
            file.write(value + self._count.to_bytes(8, "big"))
            self._count += 1

    def first(self) -> np.ndarray:
        """Whether each pair is the first of equal pairs: (N,) bool. Deletes the files."""
        first = np.zeros(self._count, bool)
        for file in self._files:
            with file:
                file.seek(0)
                records = np.fromfile(file, _RECORD)
            os.unlink(file.name)
            _, places = np.unique(records["digest"], return_index=True)
            first[records["number"][places]] = True
        return first


def clean(
    options: PrepOptions,
    pipeline: str,
    work: Path,
    workers: ProcessPool,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Write the kept pairs, `words.src` and `words.trg`, and a sample, `sample.src`, `sample.trg`.

    With --dev-lines, `raw.src` and `raw.trg` have the raw pairs to validate on, which the other
    files lack. pipeline: the preprocess.json of the steps up to words. Returns the numbers of pairs
    read, kept, and removed by each filter. Raises CgruError if no pair is left.
    """
    duplicates = Duplicates(work)
    removed: Counter[str] = Counter()
    read = 0
    clean_chunk = functools.partial(chunk_work.clean, pipeline, options)
    chunks = (
        chunk
        for source, target in zip(options.source, options.target, strict=True)
        for chunk in numbered(source, pairs(read_lines(source), read_lines(target)))
    )
    with contextlib.ExitStack() as stack:
        sources, targets, *raw = (
            stack.enter_context(open(work / f"{name}.{side}", "w+b"))
            for name in ("all", "all-raw")
            for side in ("src", "trg")
        )
        for chunk in workers.in_order(clean_chunk, chunks):
            sources.write(chunk.source)
            targets.write(chunk.target)
            for file, text in zip(raw, chunk.raw, strict=True):
                file.write(text)
            read += chunk.read
            removed += chunk.removed
            duplicates.add(chunk.digests)
        first = duplicates.first()
        if options.keep_duplicates:
            first[:] = True
        kept = int(first.sum())
        removed["duplicates"] = len(first) - kept
        counts = {name: count for name, count in removed.items() if count}
        if not kept:
            raise CgruError(f"none of {read:,} pairs is left: {summary(removed)}")
        say(f"{read:,} pairs, " + (f"removed {summary(removed)}" if counts else "none removed"))
        for name, count in counts.items():
            if 2 * count > read:
                warn(f"{summary(Counter({name: count}))}: more than half of the pairs")
        if options.dev_lines >= kept:
            raise CgruError(f"--dev-lines {options.dev_lines}: only {kept:,} pairs are left")
        drawn = random.Random(options.seed).sample(range(kept), options.dev_lines)  # noqa: S311
        dev = np.zeros(len(first), bool)
        dev[np.flatnonzero(first)[drawn]] = True
        for file, ending in zip(raw, ("src", "trg"), strict=True):
            file.seek(0)
            with atomic_write(work / f"raw.{ending}") as lines:
                lines.writelines(compress(file, dev))
            os.unlink(file.name)
        first &= ~dev
        kept -= options.dev_lines
        wanted = min(options.sample or kept, kept)
        for file, ending in ((sources, "src"), (targets, "trg")):
            file.seek(0)
            chance = random.Random(options.seed)  # noqa: S311 - a sample, the same each time
            _draw(compress(file, first), work, ending, kept, wanted, chance)
            os.unlink(file.name)
    return {"read": read, "kept": kept, "removed": counts}


def _draw(
    lines: Iterable[bytes], work: Path, ending: str, kept: int, wanted: int, chance: random.Random
) -> None:
    """Write all `kept` lines, and a sample of exactly `wanted` lines.

    This is sequential sampling, Knuth's algorithm S.
    """
    with (
        atomic_write(work / f"words.{ending}") as words,
        atomic_write(work / f"sample.{ending}") as sample,
    ):
        for line in lines:
            words.write(line)
            if chance.random() * kept < wanted:
                sample.write(line)
                wanted -= 1
            kept -= 1
