"""Training text in fields separated by tabs: both sides, alignments and weights in one file.

As with Marian's `--tsv`, `--guided-alignment N` and `--data-weighting N` give the numbers of their
fields, from 0. The other fields are the source and the target, or a language model's text.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..corpus.parallel_files import TsvField
from ..errors import CgruError, UsageError, reading, writing
from ..options.train import TrainOptions
from ..system.lines import LineReader, standard_input

STANDARD_INPUT = ("-", "stdin")  # Marian understands both
_COPY = "cgru-stdin."  # the beginning of a copy's name


def fields_of(options: TrainOptions) -> dict[str, int]:
    """The numbers of a line's fields, from 0: source, target, alignment and weight, if present.

    Raises UsageError for numbers that are invalid or contradict each other.
    """
    numbers: dict[str, int] = {}
    for name, option, values in (
        ("alignment", "--guided-alignment", options.alignments),
        ("weight", "--data-weighting", options.data_weighting),
    ):
        if len(values) > 1 or not all(value.isdecimal() for value in values):
            raise UsageError(
                f"{option} {' '.join(values)}: with --tsv, name the number of a field, from 0"
            )
        if values:
            numbers[name] = int(values[0])
    names = ["source", "target"] if options.has_source else ["target"]
    count = len(names) + len(numbers)
    if options.tsv_fields not in (0, count):
        what = ", ".join(names)
        more = " and one each for alignment and weights" if numbers else ""
        raise UsageError(f"--tsv-fields {options.tsv_fields}: {count} are read ({what}{more})")
    taken = list(numbers.values())
    if len(set(taken)) < len(taken):
        raise UsageError(f"--guided-alignment and --data-weighting are both field {taken[0]}")
    if max(taken, default=0) >= count:
        raise UsageError(f"field {max(taken)}: there are {count} fields, the first is 0")
    others = [number for number in range(count) if number not in taken]
    return dict(zip(names, others, strict=True)) | numbers


def fields_in(
    paths: Sequence[str | Path], fields: Mapping[str, int], name: str
) -> tuple[TsvField, ...]:
    """The named field of each file; () if lines lack it."""
    if name not in fields:
        return ()
    return tuple(TsvField(str(path), fields[name], len(fields)) for path in paths)


def fields_of_dev_set(path: str | Path, fields: Mapping[str, int]) -> Mapping[str, int]:
    """The fields of a validation file, which may lack alignments and weights.

    Raises CgruError if the file cannot be read.
    """
    with LineReader(path) as reader:
        tabs = "".join(reader.take(1)).count("\t")
    if tabs + 1 == len(fields):
        return fields
    return {"source": 0, "target": 1} if "source" in fields else {"target": 0}


@contextlib.contextmanager
def with_standard_input(options: TrainOptions) -> Iterator[TrainOptions]:
    """The options, with a copy of standard input as the training text.

    Training reads its text more than once. The copy is in TMPDIR and is removed at the end. Raises
    UsageError if standard input is one of several texts, CgruError if it is empty or cannot be
    copied.
    """
    sets = options.train_sets or (STANDARD_INPUT[:1] if options.tsv else ())
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
            with reading("standard input"):
                shutil.copyfileobj(standard_input(), file)
            file.flush()
        if not file.tell():
            raise CgruError("standard input is empty; training needs text")
        yield options.replaced(train_sets=(file.name,))


def is_copy(options: TrainOptions) -> bool:
    """Whether the training text is the copy of standard input."""
    folder = tempfile.gettempdir()
    return any(path.startswith(os.path.join(folder, _COPY)) for path in options.train_sets)
