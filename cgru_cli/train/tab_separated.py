"""Training text in fields between tabs: both sides, alignments and weights in one file.

What the fields are is Marian's `--tsv`: `--guided-alignment N` and `--data-weighting N` say which
field, from 0, holds those; the others are the source and the target, of a language model the text
alone.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..corpus.parallel_files import TsvColumn
from ..errors import CgruError, UsageError, reading, writing
from ..options.flags import flag
from ..options.train import TrainOptions
from ..system.lines import LineReader

STANDARD_INPUT = ("-", "stdin")  # Marian's second word for it
_COPY = "cgru-stdin."  # what names of copies begin with
_COPIED = 1 << 20  # bytes at a time


class Sides(NamedTuple):
    """The two sides of a text, each a column of the same file; no source of a language model."""

    source: TsvColumn | None
    target: TsvColumn


@dataclass(frozen=True)
class Fields:
    """The content of each field of a line, by field numbers from 0; None for what is missing."""

    source: int | None
    target: int
    alignment: int | None
    weight: int | None

    @classmethod
    def of(cls, options: TrainOptions) -> Fields:
        """Raises UsageError for numbers of fields that are invalid or contradict each other."""
        alignment = _number(options.alignments, "guided_alignment")
        weight = _number(options.data_weighting, "data_weighting")
        beside = [number for number in (alignment, weight) if number is not None]
        names = ["source", "target"] if options.has_source else ["target"]
        count = len(names) + len(beside)
        if options.tsv_fields not in (0, count):
            what = ", ".join(names)
            more = " and one each for alignment and weights" if beside else ""
            raise UsageError(f"--tsv-fields {options.tsv_fields}: {count} are read ({what}{more})")
        if len(set(beside)) < len(beside):
            raise UsageError(f"--guided-alignment and --data-weighting are both field {weight}")
        for number in beside:
            if number >= count:
                raise UsageError(f"field {number}: there are {count} fields, of which 0 is the "
                                 "first")  # fmt: skip
        numbers = [number for number in range(count) if number not in beside]
        return cls(numbers[0] if len(numbers) == 2 else None, numbers[-1], alignment, weight)

    @property
    def count(self) -> int:
        """The number of fields of a line."""
        numbers = (self.source, self.target, self.alignment, self.weight)
        return sum(number is not None for number in numbers)

    def column(self, path: str, number: int) -> TsvColumn:
        """A field of every line of a file."""
        return TsvColumn(path, number, self.count)

    def sides(self, path: str) -> Sides:
        """The text in a file."""
        source = None if self.source is None else self.column(path, self.source)
        return Sides(source, self.column(path, self.target))

    def of_dev_set(self, path: str) -> Sides:
        """The text in a file to validate on: fields as in training, or source and target alone.

        Raises CgruError where the file cannot be read.
        """
        with LineReader(path) as reader:
            tabs = "".join(reader.take(1)).count("\t")
        both = self.source is not None
        alone = Fields(0 if both else None, int(both), None, None)
        return (self if tabs + 1 == self.count else alone).sides(path)


def _number(values: tuple[str, ...], name: str) -> int | None:
    if not values:
        return None
    if len(values) > 1 or not values[0].isdecimal():
        raise UsageError(
            f"{flag(TrainOptions, name)} {' '.join(values)}: with --tsv the number of a field is "
            "expected, from 0"
        )
    return int(values[0])


@contextlib.contextmanager
def with_standard_input(options: TrainOptions) -> Iterator[TrainOptions]:
    """The options with a copy of standard input in its place among the training texts.

    A training reads its text more than once. The copy, in the folder of the environment's TMPDIR,
    is removed in the end.
    Raises UsageError where standard input is one text of several, CgruError where it is empty or
    cannot be copied.
    """
    sets = options.train_sets
    if options.tsv and not sets:
        sets = STANDARD_INPUT[:1]
    if not set(sets) & {*STANDARD_INPUT}:
        yield options
        return
    if len(sets) > 1:
        raise UsageError("--train-sets: standard input holds the whole text, or none of it; with "
                         "--tsv source and target")  # fmt: skip
    with contextlib.ExitStack() as stack:
        with writing(tempfile.gettempdir()):
            file = stack.enter_context(tempfile.NamedTemporaryFile(prefix=_COPY))
            while data := _read():
                file.write(data)
            file.flush()
        if not file.tell():
            raise CgruError("standard input is empty; training needs text")
        yield replace(options, train_sets=(file.name,))


def is_copy(options: TrainOptions) -> bool:
    """Whether the training text is the copy of standard input."""
    folder = tempfile.gettempdir()
    return any(path.startswith(os.path.join(folder, _COPY)) for path in options.train_sets)


def _read() -> bytes:
    with reading("standard input"):
        return os.read(0, _COPIED)
