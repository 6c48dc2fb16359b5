"""Split a corpus into parts, each of which is written completely or not at all.

A corpus is a folder of text files, plain or .gz, or of Parquet files, whose rows count as lines. A
part is a range of one file. This module lets a killed job resume; it does not use Spark.
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

PLAN = "_plan.json"  # Spark and Hadoop ignore names that begin with _


class Part(NamedTuple):
    """A range of lines of a file; start and end are byte offsets of a text, or rows of a table.

    In a text, a part has the lines that begin between its offsets. A .gz file is one part, with end
    None. first: the index of the first line in the whole corpus.
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
    """The files of a corpus (a file or a folder), sorted by name. Raises CgruError if none."""
    with reading(corpus):
        paths = [corpus] if corpus.is_file() else sorted(corpus.iterdir())
    paths = [path for path in paths if path.is_file() and path.name[0] not in "._"]
    if not paths:
        raise CgruError(f"{corpus}: no files in it")
    if len({path.suffix == ".parquet" for path in paths}) > 1:
        raise CgruError(f"{corpus}: mixes Parquet files with others; use one kind only")
    return paths


def cut(path: Path, size: int, column: str) -> list[Part]:
    """Split a file into parts of about `size` bytes; their lines are not counted yet.

    column: the column of a table with the text. Raises CgruError if it does not exist.
    """
    name = str(path)
    if path.suffix == ".parquet":
        rows, in_bytes = _table_size(path, column)
        step = max(1, rows * size // max(1, in_bytes))
        return [
            Part(name, i, min(i + step, rows), min(step, rows - i), 0) for i in range(0, rows, step)
        ]
    if path.suffix == ".gz":
        return [Part(name, 0, None)]
    with reading(path):
        length = path.stat().st_size
    return [Part(name, i, min(i + size, length)) for i in range(0, length, size)]


def count(part: Part) -> int:
    """The number of lines of a part."""
    return part.lines if part.is_table else sum(1 for _ in lines_of(part))


def numbered(parts: Sequence[Part], lines: Sequence[int]) -> list[Part]:
    """The parts with their numbers of lines, without empty parts."""
    found, first = [], 0
    for part, count in zip(parts, lines, strict=True):
        if count:
            found.append(part._replace(lines=count, first=first))
        first += count
    return found


def lines_of(part: Part) -> Iterator[bytes]:
    """The lines of a part of a text, without line breaks."""
    with reading(part.path), _opened(part.path) as file:
        place = max(0, part.start - 1)
        if part.start:
            file.seek(place)
            place += len(file.readline())  # the rest of a line of the previous part
        while part.end is None or place < part.end:
            line = file.readline()
            if not line:
                return
            place += len(line)
            yield line.removesuffix(b"\n")


def _opened(path: str) -> BinaryIO:
    return gzip.open(path) if path.endswith(".gz") else open(path, "rb")  # type: ignore[return-value]


def _table_size(path: Path, column: str) -> tuple[int, int]:
    """The number of rows of a table, and the bytes of a column."""
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


# --- the output folder ----------------------------------------------------------------------------


def output_of(folder: Path, number: int, part: Part) -> Path:
    """The file for the translations of a part."""
    return folder / f"part-{number:06}.{'parquet' if part.is_table else 'txt'}"


def left(folder: Path, parts: Sequence[Part]) -> list[int]:
    """The numbers of the parts that are not translated yet."""
    there = set(os.listdir(folder))
    return [i for i, part in enumerate(parts) if output_of(folder, i, part).name not in there]


def tidy(folder: Path) -> None:
    """Remove the temporary files of killed workers; called when all parts are complete."""
    for path in folder.glob(".part-*.tmp"):
        path.unlink(missing_ok=True)


def read_plan(folder: Path, request: Mapping[str, Any]) -> list[Part] | None:
    """The parts of an earlier job; None if there was none.

    request: everything that determines the translations. Raises CgruError if it has changed.
    """
    path = folder / PLAN
    if not path.exists():
        return None
    with reading(path), parsing(path, "not the plan of a translation job"):
        plan = json.loads(path.read_bytes())
        before, parts = plan["request"], [Part(*part) for part in plan["parts"]]
    now = json.loads(json.dumps(request))
    if changed := [name for name in now if before.get(name) != now[name]]:
        raise CgruError(f"{folder}: was begun with other {changed[0]}; name another folder")
    return parts


def write_plan(folder: Path, request: Mapping[str, Any], parts: Sequence[Part]) -> None:
    """Write the plan, for jobs that resume this one."""
    with atomic_write(folder / PLAN) as file:
        file.write(json.dumps({"request": request, "parts": parts}).encode())
