"""The first step of `cgru prep`: raw pairs to words, without those that cleaning removes."""

from __future__ import annotations

import functools
import random
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..errors import CgruError, warn
from ..options.prep import PrepOptions
from ..system.atomic_files import atomic_write
from ..system.process_pool import ProcessPool
from . import chunk_work
from .duplicates import Duplicates, is_set
from .pair_filters import summary
from .raw_text import numbered, pairs, read_lines

_ENDINGS = ("src", "trg")


def clean(
    options: PrepOptions,
    pipeline: str,
    work: Path,
    workers: ProcessPool,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Write `words.src`, `words.trg`, the pairs that stay, and `sample.src`, `sample.trg` of them.

    pipeline: the preprocess.json of the steps up to words. Returns pairs read and kept, and how
    many each filter removed. Raises CgruError if none is left.
    """
    shutil.rmtree(work / "digests", ignore_errors=True)
    files = [work / f"all.{ending}" for ending in _ENDINGS]
    duplicates = Duplicates(work / "digests")
    removed: Counter[str] = Counter()
    read = left = 0
    clean_chunk = functools.partial(chunk_work.clean, pipeline, options)
    chunks = (
        chunk
        for source, target in zip(options.source, options.target, strict=True)
        for chunk in numbered(source, pairs(read_lines(source), read_lines(target)))
    )
    with ExitStack() as stack:
        sources, targets = (stack.enter_context(open(path, "wb")) for path in files)
        for chunk in workers.in_order(clean_chunk, chunks):
            sources.write(chunk.source)
            targets.write(chunk.target)
            read += chunk.read
            left += len(chunk.digests)
            removed += chunk.removed
            duplicates.add(chunk.digests)
    repeated = bytearray() if options.keep_duplicates else duplicates.repeated()
    removed["duplicates"] = sum(byte.bit_count() for byte in repeated)
    counts = {name: count for name, count in removed.items() if count}
    kept = left - removed["duplicates"]
    if not kept:
        raise CgruError(f"no pair of {read:,} is left: {summary(removed)}")
    say(f"{read:,} pairs, " + (f"removed {summary(removed)}" if counts else "none removed"))
    for name, count in counts.items():
        if 2 * count > read:
            warn(f"{summary(Counter({name: count}))}: more than half of the pairs")
    for path, ending in zip(files, _ENDINGS, strict=True):
        wanted = min(options.sample or kept, kept)
        chance = random.Random(options.seed)  # noqa: S311 - a sample, the same each time
        _draw(path, ending, repeated, kept, wanted, chance)
        path.unlink()
    shutil.rmtree(work / "digests")
    return {"read": read, "kept": kept, "removed": counts}


def _draw(
    path: Path, ending: str, repeated: bytearray, kept: int, wanted: int, chance: random.Random
) -> None:
    """Write the lines that are no repetition, and a sample of them: Knuth's algorithm S.

    It takes each line with the probability that exactly `wanted` of the `kept` need.
    """
    with (
        atomic_write(path.with_name(f"words.{ending}")) as words,
        atomic_write(path.with_name(f"sample.{ending}")) as sample,
        open(path, "rb") as lines,
    ):
        for number, line in enumerate(lines):
            if repeated and is_set(repeated, number):
                continue
            words.write(line)
            if chance.random() * kept < wanted:
                sample.write(line)
                wanted -= 1
            kept -= 1
