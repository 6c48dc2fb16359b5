"""Training text in fields between tabs: both sides, alignments and weights in one file.

As with Marian's `--tsv`, `--guided-alignment N` and `--data-weighting N` name their fields, from 0.
The other fields are the source and the target, or a language model's text.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass

from ..corpus.parallel_files import TsvColumn
from ..errors import CgruError, UsageError, reading, writing
from ..options.flags import flag
from ..options.train import TrainOptions
from ..system.lines import LineReader

STANDARD_INPUT = ("-", "stdin")  # Marian understands both
_COPY = "cgru-stdin."  # the beginning of a copy's name
_COPIED = 1 << 20  # bytes at a time


@dataclass(frozen=True)
class Fields:
    """The numbers of a line's fields, from 0; None for a field that it does not have."""

    source: int | None
    target: int
    alignment: int | None = None
    weight: int | None = None

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
                raise UsageError(f"field {number}: there are {count} fields, the first is 0")
        numbers = [number for number in range(count) if number not in beside]
        return cls(numbers[0] if len(numbers) == 2 else None, numbers[-1], alignment, weight)

    @property
    def count(self) -> int:
        """The number of fields of a line."""
        return sum(number is not None for number in dataclasses.astuple(self))

    def column(self, path: str, number: int) -> TsvColumn:
        """A field of every line of a file."""
        return TsvColumn(path, number, self.count)

    def sides(self, path: str) -> tuple[TsvColumn | None, TsvColumn]:
        """The source, if there is one, and the target of a file."""
        source = None if self.source is None else self.column(path, self.source)
        return source, self.column(path, self.target)

    def of_dev_set(self, path: str) -> tuple[TsvColumn | None, TsvColumn]:
        """The sides of a file to validate on, which may leave out alignments and weights.

        Raises CgruError if the file cannot be read.
        """
        with LineReader(path) as reader:
            tabs = "".join(reader.take(1)).count("\t")
        text_alone = Fields(0, 1) if self.source is not None else Fields(None, 0)
        return (self if tabs + 1 == self.count else text_alone).sides(path)


def _number(values: tuple[str, ...], name: str) -> int | None:
    if not values:
        return None
    if len(values) > 1 or not values[0].isdecimal():
        raise UsageError(
            f"{flag(TrainOptions, name)} {' '.join(values)}: with --tsv, name the number of a "
            "field, from 0"
        )
    return int(values[0])


@contextlib.contextmanager
def with_standard_input(options: TrainOptions) -> Iterator[TrainOptions]:
    """The options, with a copy in place of standard input as the training text.

    Training reads its text more than once. The copy is in TMPDIR, and removed in the end. Raises
    UsageError if standard input is one text of several, CgruError if it is empty or cannot be
    copied.
    """
    sets = options.train_sets
    if options.tsv and not sets:
        sets = STANDARD_INPUT[:1]
    if not set(sets) & {*STANDARD_INPUT}:
        yield options
        return
    if len(sets) > 1:
        raise UsageError(
            "--train-sets: standard input must hold the whole text, source and target with --tsv"
        )
    with contextlib.ExitStack() as stack:
        with writing(tempfile.gettempdir()):
            file = stack.enter_context(tempfile.NamedTemporaryFile(prefix=_COPY))
            while data := _read():
                file.write(data)
            file.flush()
        if not file.tell():
            raise CgruError("standard input is empty; training needs text")
        yield dataclasses.replace(options, train_sets=(file.name,))


def is_copy(options: TrainOptions) -> bool:
    """Whether the training text is the copy of standard input."""
    folder = tempfile.gettempdir()
    return any(path.startswith(os.path.join(folder, _COPY)) for path in options.train_sets)


def _read() -> bytes:
    with reading("standard input"):
        return os.read(0, _COPIED)
