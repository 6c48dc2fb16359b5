"""Translate a corpus on a cluster: run `cgru translate` with Spark, part by part.

    spark-submit recipes/spark/translate.py INPUT OUT -m MODEL [options of cgru translate]

INPUT is a text, or a folder of texts, plain or .gz, or of Parquet files with a text column. OUT is
a folder: the translation of part N of INPUT is OUT/part-N.txt, in the order of the lines, or for
Parquet OUT/part-N.parquet, with all columns and the translation. INPUT, OUT and MODEL must have the
same paths on all machines. After an interruption, the same command resumes with the missing parts.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import pandas
import parts
import worker
from pyspark import SparkContext, TaskContext
from pyspark.sql import SparkSession

from cgru_cli.cli import main as cgru
from cgru_cli.errors import CgruError, UsageError, reason, writing
from cgru_cli.formats.loaded_model import load_model
from cgru_cli.options.flags import statements
from cgru_cli.options.translate import TranslateOptions
from cgru_cli.system.terminal import tell

SCHEMA = "part long, lines long, words long, seconds double, error string"  # of worker.Done
# the input, and files written in addition to the translations
ELSEWHERE = ("input", "output", "output_alignment", "heatmap", "log", "dump_config")
# options that may change when a job resumes
MACHINES = ("device", "cpu_threads", "workspace", "quiet")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("input", type=Path, metavar="INPUT")
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument(
        "--part-size",
        type=float,
        default=1,
        metavar="MIB",
        help="approximate size of a part (default: 1)",
    )
    parser.add_argument(
        "--column", default="text", help="Parquet column of the text (default: text)"
    )
    parser.add_argument(
        "--added-column", default="translation", help="Parquet column of the translation"
    )
    asked, arguments = parser.parse_known_args()
    try:
        done, failed = run(asked, options_of(arguments))
    except click.UsageError as error:
        parser.error(error.format_message())
    except UsageError as error:
        parser.error(str(error))
    except CgruError as error:
        sys.exit(f"cgru: {error}")
    tell(done)
    sys.exit("\n".join(f"cgru: {error}" for error in failed) if failed else 0)


def options_of(arguments: Sequence[str]) -> TranslateOptions:
    """The options of `cgru translate`.

    Raises click.UsageError or cgru's UsageError if they are invalid.
    """
    command: Any = cgru.commands["translate"]
    with command.make_context("cgru translate", list(arguments)) as context:
        values = {name: context.params[name] for name in statements(TranslateOptions)}
    options = TranslateOptions(**values)
    if not options.model:
        raise UsageError("name a model: -m MODEL")
    for name in ELSEWHERE:
        if getattr(options, name):
            raise UsageError(f"--{name.replace('_', '-')}: not supported in this job")
    files = [name for name, (flag, _) in statements(TranslateOptions).items() if flag.is_path]
    whole = {name: _absolute(getattr(options, name)) for name in files}
    return dataclasses.replace(options, **whole | {"config": ()})  # they have been read


def _absolute(value: Any) -> Any:
    """File names (alone or in a tuple) as absolute paths, for workers in other folders."""
    if isinstance(value, tuple):
        return tuple(map(_absolute, value))
    if isinstance(value, str) and Path(value).exists():
        return str(Path(value).absolute())
    return value


def run(asked: argparse.Namespace, options: TranslateOptions) -> tuple[str, list[str]]:
    """Run the job; return a summary line and the errors of parts that failed."""
    worker.plan_of(options, [load_model(path, options.vocabularies) for path in options.model])
    files = parts.files_of(asked.input)
    with writing(asked.out):
        asked.out.mkdir(parents=True, exist_ok=True)
    session = SparkSession.builder.appName("cgru translate").getOrCreate()
    try:
        context = session.sparkContext
        context.setLogLevel("WARN")
        for module in (parts, worker):
            context.addPyFile(str(module.__file__))
        if options.cpu_threads is None:
            threads = int(context.getConf().get("spark.task.cpus", "1"))
            options = dataclasses.replace(options, cpu_threads=threads)
        request = {
            "options": {
                name: value
                for name, value in dataclasses.asdict(options).items()
                if name not in MACHINES
            },
            "models": [_identity(Path(path)) for path in options.model],
            "input": [_identity(path) for path in files],
            "columns": [asked.column, asked.added_column],
        }
        plan = parts.read_plan(asked.out, request)
        if plan is None:
            plan = _cut(context, files, int(asked.part_size * 2**20), asked.column)
            parts.write_plan(asked.out, request, plan)
        left = parts.left(asked.out, plan)
        tell(
            f"{len(plan)} parts, {sum(part.lines for part in plan)} lines; "
            f"{len(plan) - len(left)} parts are done"
        )
        summary = _translate(session, plan, left, asked, options)
        if not parts.left(asked.out, plan):
            parts.tidy(asked.out)
        return summary
    finally:
        session.stop()


def _cut(context: SparkContext, files: Sequence[Path], size: int, column: str) -> list[parts.Part]:
    """The parts of all files, with their lines counted on the cluster."""
    cut = [part for path in files for part in parts.cut(path, max(1, size), column)]
    if not cut:
        return []
    return parts.numbered(cut, context.parallelize(cut, len(cut)).map(parts.count).collect())


def _translate(
    session: SparkSession,
    plan: Sequence[parts.Part],
    left: Sequence[int],
    asked: argparse.Namespace,
    options: TranslateOptions,
) -> tuple[str, list[str]]:
    """Translate the remaining parts, each in a task."""
    if not left:
        return "nothing left to do", []
    context = session.sparkContext
    shared = context.broadcast([(number, plan[number]) for number in left])
    attempts, out = _attempts(context), asked.out.absolute()
    column, added = asked.column, asked.added_column

    def task(frames: Iterator[pandas.DataFrame]) -> Iterator[pandas.DataFrame]:
        here = TaskContext.get()
        gpu = here.resources().get("gpu")
        for frame in frames:
            for place in frame["id"]:
                number, part = shared.value[place]
                done = worker.translate(
                    number,
                    part,
                    parts.output_of(out, number, part),
                    options,
                    column=column,
                    added=added,
                    gpus=gpu.addresses if gpu else (),
                    last=here.attemptNumber() + 1 >= attempts,
                )
                yield pandas.DataFrame([done])

    start = time.monotonic()
    numbers = session.range(0, len(left), 1, len(left))
    try:
        done = numbers.mapInPandas(task, SCHEMA).collect()
    except Exception as error:  # workers were lost repeatedly, or the cluster
        why = re.search("Job aborted[^\n]*", str(error))
        raise CgruError(
            f"Spark has given up: {why[0] if why else reason(error)} (complete parts are kept; "
            "the same command resumes)"
        ) from None
    seconds = time.monotonic() - start
    good = [row for row in done if not row.error]
    words, busy = sum(row.words for row in good), sum(row.seconds for row in good)
    return (
        f"{len(good)} parts, {sum(row.lines for row in good)} lines, {words} words in "
        f"{seconds:.0f} s; {words / max(busy, 1e-9):.0f} words per second and worker",
        [row.error for row in done if row.error],
    )


def _attempts(context: SparkContext) -> int:
    """How many times Spark tries a task."""
    if context.master.startswith("local"):
        given = re.search(r",\s*(\d+)\]", context.master)
        return int(given[1]) if given else 1
    return int(context.getConf().get("spark.task.maxFailures", "4"))


def _identity(path: Path) -> list[object]:
    """The identity of a file: path, size and modification time."""
    status = path.stat()
    return [str(path.absolute()), status.st_size, status.st_mtime_ns]


if __name__ == "__main__":
    main()
