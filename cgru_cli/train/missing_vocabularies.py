"""Vocabularies that Marian makes of the training text where they do not exist."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterator

from ..corpus.parallel_files import TsvColumn, column_lines
from ..errors import UsageError, reading, writing
from ..options.train import TrainOptions
from ..prep.program_vocabularies import marian
from ..system.atomic_files import atomic_write
from ..system.terminal import tell
from .texts import Text, Texts


def make_missing(texts: Texts, options: TrainOptions) -> None:
    """Write each vocabulary that is named and not there, as `marian` does; others make none.

    One that both sides name is of both texts. Raises UsageError for a SentencePiece model, which
    `cgru prep` learns, CgruError for files that cannot be read or written.
    """
    if options.compat != "marian" or len(texts.vocabularies) > 2:
        return
    sides = [texts.sources, texts.targets][-len(texts.vocabularies) :]
    for number, path in enumerate(texts.vocabularies):
        if path.exists():
            continue
        if path.suffix == ".spm":
            raise UsageError(f"{path}: no such file; `cgru prep` learns SentencePiece models")
        files = [
            file
            for vocabulary, side in zip(texts.vocabularies, sides, strict=True)
            if vocabulary == path
            for file in side
        ]
        limit = options.dim_vocabs[number] if options.dim_vocabs else 0
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(str(path)) as file:
                file.write(marian(itertools.chain.from_iterable(map(_lines, files)), limit))
        tell(f"train: {path}: made of {' '.join(map(str, files))}", options.quiet)


def _lines(path: Text) -> Iterator[bytes]:
    if isinstance(path, TsvColumn):
        for line in column_lines(path):
            yield line.encode("utf-8", errors="replace")
        return
    opened = gzip.open if path.suffix == ".gz" else open
    with reading(path), opened(path, "rb") as file:
        yield from file
