"""Initial embeddings from files in word2vec's text format.

A line is `word v1 v2 ...`; the first line may instead be `number-of-words width`. `</s>` is EOS.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..corpus.parallel_files import text_lines
from ..errors import CgruError, UsageError
from ..formats.model import Model
from ..parameters.names import name_at, target_table
from ..text.vocabulary import Vocabulary


def place(model: Model, vocabularies: Sequence[Vocabulary], paths: Sequence[str]) -> list[str]:
    """Copy the vectors of files into the embeddings; returns a log line for each file.

    vocabularies: sources (one per factor, words first), then target. paths: source and target, or
    one file for a model with one embedding. Raises CgruError for files without vectors of the
    embedding's width, UsageError for a wrong number of files.
    """
    structure = model.structure
    embeddings = {"encoder/embedding": vocabularies[0]} if structure.type.reads_source else {}
    if structure.embeds_target:
        embeddings.setdefault(target_table(structure), vocabularies[-1])
    if len(paths) != len(embeddings):
        what = "files for source and target" if len(embeddings) == 2 else "one file"
        raise UsageError(f"--embedding-vectors: {what} expected, {len(paths)} given")
    lines = []
    for path, (place_in_model, vocabulary) in zip(paths, embeddings.items(), strict=True):
        name = name_at(place_in_model, structure)
        model.arrays[name] = table = model.arrays[name].copy()
        count = _fill(table, vocabulary, Path(path))
        lines.append(f"{path}: vectors for {count:,} of {vocabulary.size:,} words")
    return lines


def _fill(table: np.ndarray, vocabulary: Vocabulary, path: Path) -> int:
    """Copy vectors into the rows of their words, (V, E); returns the number of words found."""
    ids = {word: i for i, word in vocabulary.words.items() if i != vocabulary.eos_id}
    ids["</s>"] = vocabulary.eos_id
    width = table.shape[1]
    seen: set[int] = set()
    for number, line in enumerate(text_lines(path), 1):
        word, *values = line.rstrip(" \r").split(" ")
        if number == 1 and len(values) == 1 and word.isdecimal() and values[0].isdecimal():
            if int(values[0]) != width:
                raise CgruError(
                    f"{path}: vectors have {values[0]} numbers, the embedding has {width} "
                    "(--dim-emb)"
                )
            continue
        if len(values) != width:
            raise CgruError(
                f"{path}: line {number}: a word and {len(values)} numbers, the embedding has "
                f"{width} (--dim-emb)"
            )
        if word not in ids:
            continue
        if ids[word] in seen:
            raise CgruError(f"{path}: line {number}: second vector of {word}")
        try:
            if not (digits := "".join(values)).isascii() or "_" in digits:
                raise ValueError("numbers are expected")
            vector = np.array(values, np.float32)
        except ValueError as error:
            raise CgruError(f"{path}: line {number}: {error}") from None
        if not np.isfinite(vector).all():
            raise CgruError(f"{path}: line {number}: numbers must be finite")
        table[ids[word]] = vector
        seen.add(ids[word])
    if not seen:
        raise CgruError(f"{path}: has no vector for any word of {vocabulary.path}")
    return len(seen)
