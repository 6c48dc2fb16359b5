"""The first step of `cgru prep`: raw pairs to words, without those that cleaning removes."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..errors import CgruError, warn
from ..system.atomic_files import atomic_write
from ..system.process_pool import ProcessPool
from ..text.pipeline import Preprocessing
from . import chunk_work, raw_text
from .duplicates import Duplicates
from .pair_filters import is_set, summary
from .request import Request

_ENDINGS = ("src", "trg")


def clean(
    request: Request,
    pipeline: Preprocessing,
    work: Path,
    workers: ProcessPool,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Write `words.src`, `words.trg`, the pairs that stay, and `sample.src`, `sample.trg` of them.

    pipeline: as far as words. Returns pairs read and kept, and how many each filter removed.
    Raises CgruError where none is left.
    """
    shutil.rmtree(work / "digests", ignore_errors=True)
    files = [work / f"all.{ending}" for ending in _ENDINGS]
    duplicates = Duplicates(work / "digests")
    removed: Counter[str] = Counter()
    read = left = 0
    arguments = (pipeline.as_json(), request.cleaning)
    with ExitStack() as stack:
        sources, targets = (stack.enter_context(open(path, "wb")) for path in files)
        for chunk in workers.in_order(chunk_work.cleaner, arguments, _pairs(request.pairs)):
            sources.write(chunk.source)
            targets.write(chunk.target)
            read += chunk.read
            left += len(chunk.digests)
            removed += chunk.removed
            duplicates.add(chunk.digests)
    repeated = bytearray() if request.keep_duplicates else duplicates.repeated()
    removed["duplicates"] = sum(byte.bit_count() for byte in repeated)
    counts = {name: count for name, count in removed.items() if count}
    kept = left - removed["duplicates"]
    if not kept:
        raise CgruError(f"no pair of {read:,} is left: {summary(removed)}")
    say(f"{read:,} pairs; {summary(removed)}")
    for name, count in counts.items():
        if 2 * count > read:
            warn(f"{summary(Counter({name: count}))}: more than half of the pairs")
    for path, ending in zip(files, _ENDINGS, strict=True):
        wanted = min(request.sampling.size or kept, kept)
        chance = random.Random(request.sampling.seed)  # noqa: S311 - a sample, the same each time
        _draw(path, ending, repeated, kept, wanted, chance)
        path.unlink()
    shutil.rmtree(work / "digests")
    return {"read": read, "kept": kept, "removed": counts}


def _pairs(pairs: Iterable[tuple[str, str]]) -> Iterator[chunk_work.Numbered]:
    for source, target in pairs:
        number = 1
        lines = raw_text.read_lines(source), raw_text.read_lines(target)
        for chunk in raw_text.pairs(*lines):
            yield source, number, chunk
            number += len(chunk)


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
