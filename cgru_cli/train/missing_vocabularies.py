"""Vocabularies that Marian makes of the training text where they do not exist."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Iterator

from ..corpus.parallel_files import TsvColumn, column_lines
from ..errors import note, reading, writing
from ..options.train import TrainOptions
from ..prep.program_vocabularies import marian
from ..system.atomic_files import atomic_write
from ..system.terminal import tell
from . import sentencepiece_vocabulary
from .texts import Text, Texts


def make_missing(texts: Texts, options: TrainOptions) -> None:
    """Write each vocabulary that is named and not there, as `marian` does; others make none.

    A `.spm` is learned by SentencePiece, for others too where --sentencepiece-options are given.
    One that both sides name is of both texts. Raises UsageError for options of SentencePiece that
    it does not know, CgruError for files that cannot be read or written.
    """
    learning = sentencepiece_vocabulary.trainer_options(options.sentencepiece_options or "")
    if options.sentencepiece_options and all(
        path.exists() or path.suffix != ".spm" for path in texts.vocabularies
    ):
        note("--sentencepiece-options: no effect where no .spm vocabulary is missing")
    if not (options.compat == "marian" or learning) or len(texts.vocabularies) > 2:
        return
    sides = [texts.sources, texts.targets][-len(texts.vocabularies) :]
    for number, path in enumerate(texts.vocabularies):
        if path.exists() or not (options.compat == "marian" or path.suffix == ".spm"):
            continue
        files = [
            file
            for vocabulary, side in zip(texts.vocabularies, sides, strict=True)
            if vocabulary == path
            for file in side
        ]
        limit = options.dim_vocabs[number] if options.dim_vocabs else 0
        lines = itertools.chain.from_iterable(map(_lines, files))
        if path.suffix == ".spm":
            made = sentencepiece_vocabulary.learn(
                lines,
                limit,
                learning,
                max_lines=options.sentencepiece_max_lines,
                seed=options.seed,
            )
        else:
            made = marian(lines, limit)
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(str(path)) as file:
                file.write(made)
        tell(f"train: {path}: made of {' '.join(map(str, files))}", options.quiet)


def _lines(path: Text) -> Iterator[bytes]:
    if isinstance(path, TsvColumn):
        for line in column_lines(path):
            yield line.encode("utf-8", errors="replace")
        return
    opened = gzip.open if path.suffix == ".gz" else open
    with reading(path), opened(path, "rb") as file:
        yield from file
