"""A corpus cut into parts, each of which is written whole or not at all.

A corpus is a folder of text files, plain or .gz, or of Parquet files, whose rows are lines then. A
part is a range of one file. No Spark here: this is what makes a killed job go on where it was.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from cgru_cli.errors import CgruError, parsing, reading
from cgru_cli.system.atomic_files import atomic_write

PLAN = "_plan.json"  # Spark and Hadoop take no notice of names that begin with _


class Part(NamedTuple):
    """Lines of a file; start and end are bytes of a text, or rows of a table.

    The lines of a part of a text are those that begin in its bytes. A .gz file is one part; end is
    None. first: the number of its first line in the whole corpus, from 0.
    """

    path: str
    start: int
    end: int | None
    lines: int = 0
    first: int = 0

    @property
    def is_table(self) -> bool:
        """Whether the file is Parquet."""
        return self.path.endswith(".parquet")


def files_of(corpus: Path) -> list[Path]:
    """The files of a corpus, a file or a folder, by their names. Raises CgruError if none."""
    with reading(corpus):
        paths = [corpus] if corpus.is_file() else sorted(corpus.iterdir())
    paths = [path for path in paths if path.is_file() and path.name[0] not in "._"]
    if not paths:
        raise CgruError(f"{corpus}: no files in it")
    if len({path.suffix == ".parquet" for path in paths}) > 1:
        raise CgruError(f"{corpus}: Parquet files and others; a corpus is of one kind")
    return paths


def cut(path: Path, size: int, column: str) -> list[Part]:
    """A file cut into parts of about so many bytes, not yet counted.

    column: of a table, where the text stands. Raises CgruError where it is not there.
    """
    name = str(path)
    if path.suffix == ".parquet":
        rows, in_bytes = _table_size(path, column)
        step = max(1, rows * size // max(1, in_bytes))
        return [Part(name, i, min(i + step, rows), min(step, rows - i), 0)
                for i in range(0, rows, step)]  # fmt: skip
    if path.suffix == ".gz":
        return [Part(name, 0, None)]
    with reading(path):
        length = path.stat().st_size
    return [Part(name, i, min(i + size, length)) for i in range(0, length, size)]


def count(part: Part) -> int:
    """The lines of a part."""
    return part.lines if part.is_table else sum(1 for _ in lines_of(part))


def numbered(parts: Sequence[Part], lines: Sequence[int]) -> list[Part]:
    """The parts with their numbers of lines, and without those that have none."""
    found, first = [], 0
    for part, count in zip(parts, lines, strict=True):
        if count:
            found.append(part._replace(lines=count, first=first))
        first += count
    return found


def lines_of(part: Part) -> Iterator[bytes]:
    """The lines of a part of a text, without their line breaks."""
    with reading(part.path), _opened(part.path) as file:
        place = max(0, part.start - 1)
        if part.start:
            file.seek(place)
            place += len(file.readline())  # the rest of a line that is another part's
        while part.end is None or place < part.end:
            line = file.readline()
            if not line:
                return
            place += len(line)
            yield line.removesuffix(b"\n")


def _opened(path: str) -> BinaryIO:
    return gzip.open(path) if path.endswith(".gz") else open(path, "rb")  # type: ignore[return-value]


def _table_size(path: Path, column: str) -> tuple[int, int]:
    """Rows of a table, and the bytes that a column takes."""
    from pyarrow import ArrowException, parquet

    with reading(path):
        try:
            file = parquet.ParquetFile(path)
        except ArrowException as error:
            raise CgruError(f"{path}: cannot be read as Parquet: {error}") from None
        if column not in file.schema_arrow.names:
            has = ", ".join(file.schema_arrow.names)
            raise CgruError(f"{path}: no column {column!r}; --column names one of {has}")
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    columns = [group.column(i) for group in groups for i in range(group.num_columns)]
    sizes = [c.total_uncompressed_size for c in columns if c.path_in_schema == column]
    return file.metadata.num_rows, sum(sizes)


def rows_of(part: Part) -> Any:
    """The rows of a part of a table, as an Arrow table."""
    import pyarrow
    from pyarrow import parquet

    file, first, tables = parquet.ParquetFile(part.path), 0, []
    for number in range(file.metadata.num_row_groups):
        rows = file.metadata.row_group(number).num_rows
        start, end = max(part.start - first, 0), min((part.end or 0) - first, rows)
        if start < end:
            tables.append(file.read_row_group(number).slice(start, end - start))
        first += rows
    return pyarrow.concat_tables(tables)


# --- the folder of the output ---------------------------------------------------------------------


def output_of(folder: Path, number: int, part: Part) -> Path:
    """The file of a part's translations."""
    return folder / f"part-{number:06}.{'parquet' if part.is_table else 'txt'}"


def left(folder: Path, parts: Sequence[Part]) -> list[int]:
    """The numbers of the parts whose translations are not there yet."""
    there = set(os.listdir(folder))
    return [i for i, part in enumerate(parts) if output_of(folder, i, part).name not in there]


def tidy(folder: Path) -> None:
    """Remove what workers that were killed have left; once all parts are there."""
    for path in folder.glob(".part-*.tmp"):
        path.unlink(missing_ok=True)


def read_plan(folder: Path, request: Mapping[str, Any]) -> list[Part] | None:
    """The parts as a job before this one has cut them; None if there was none.

    request: what decides the translations. Raises CgruError where that job's was another.
    """
    path = folder / PLAN
    if not path.exists():
        return None
    with reading(path), parsing(path, "not the plan of such a job"):
        plan = json.loads(path.read_bytes())
        before, parts = plan["request"], [Part(*part) for part in plan["parts"]]
    now = json.loads(json.dumps(request))
    if changed := [name for name in now if before.get(name) != now[name]]:
        raise CgruError(f"{folder}: was begun with other {changed[0]}; name another folder")
    return parts


def write_plan(folder: Path, request: Mapping[str, Any], parts: Sequence[Part]) -> None:
    """For the jobs that go on with this one."""
    with atomic_write(folder / PLAN) as file:
        file.write(json.dumps({"request": request, "parts": parts}).encode())
