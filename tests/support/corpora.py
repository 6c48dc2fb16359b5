"""Columns and corpora from lists, and an encoder of texts whose words are their ids."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cgru_cli.corpus.columns import Column
from cgru_cli.corpus.corpus import Corpus, encode_corpus
from cgru_cli.corpus.encoding import Rules
from cgru_cli.corpus.parallel_files import Files


def column(rows: Sequence[Sequence[Any]], shape: tuple[int, ...] = (), dtype: Any = int) -> Column:
    """A column with these rows; shape: of a value."""
    ends = np.cumsum([0, *map(len, rows)])
    values = [value for row in rows for value in row]
    return Column(np.array(values, dtype).reshape(ends[-1], *shape), ends[:-1], ends[1:])


def corpus(
    source: Sequence[Sequence[Any]],
    target: Sequence[Sequence[int]],
    factors: int = 1,
    **columns: Column,
) -> Corpus:
    """A corpus of these ids, without EOS; columns: the others."""
    if factors == 1:
        source = [[(i,) for i in row] for row in source]
    sides = {"source": column(source, (factors,)), "target": column(target)}
    return Corpus(sides | columns, {}, {})


def single(line: str) -> list[tuple[int, ...]]:
    """Words as ids, with factors after `|`."""
    return [tuple(map(int, word.split("|"))) for word in line.split()]


def plain(line: str) -> list[int]:
    return [int(word) for word in line.split()]


@dataclass
class Encoder:
    """An encoder of texts whose words are numbers."""

    source_ids: Callable[[str], list] = single
    target_ids: Callable[[str], list[int]] = plain
    factors: int = 1
    types: tuple[type, type] = (np.uint32, np.uint32)
    check_pair: Callable[[list, list], None] = lambda source, target: None
    fingerprint: str = "k"


def encoded(cache: Path, *texts: Files, encoder: Encoder | None = None, **rules: Any) -> Corpus:
    """The corpus of these files in a cache."""
    return encode_corpus(texts, encoder or Encoder(), Rules(**{"max_length": 100} | rules), cache)


def rows(column: Column) -> list[list]:
    return [column[i].tolist() for i in range(len(column))]
