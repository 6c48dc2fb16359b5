"""What a Python worker of Spark does: it keeps one model, and translates part after part."""

from __future__ import annotations

import dataclasses
import functools
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import parts
from parts import Part

from cgru_cli.errors import CgruError, reason
from cgru_cli.formats.declared import check_declared
from cgru_cli.formats.loaded_model import LoadedModel
from cgru_cli.options.translate import TranslateOptions
from cgru_cli.system.atomic_files import atomic_write
from cgru_cli.system.tensorflow_start import Start
from cgru_cli.system.windows import InOrder
from cgru_cli.translate.job import rendered
from cgru_cli.translate.plan import SearchPlan
from cgru_cli.translate.results import Translation
from cgru_cli.translate.translator import Translator


class Done(NamedTuple):
    """What came of a part. words: of its source, as the model reads them; error: "" if none."""

    part: int
    lines: int
    words: int
    seconds: float
    error: str


def plan_of(options: TranslateOptions, models: Sequence[LoadedModel]) -> SearchPlan:
    """How to search. Raises CgruError for what cannot be done part by part."""
    check_declared([loaded.model for loaded in models], options.model_is)
    plan = SearchPlan.of(options, models)
    if plan.search == "nematus-tf":
        raise CgruError("--compat nematus-tf: what shares a mini-batch decides its lists, so that "
                        "parts would have others than the whole")  # fmt: skip
    return dataclasses.replace(plan, shared_shortlist=False)


@functools.lru_cache(maxsize=1)
def translator_of(options: TranslateOptions) -> Translator:
    """The model of this process, which is read once."""
    starting = Start(own_process=False)
    models = [LoadedModel.of(path, options.vocabularies) for path in options.model]
    plan = plan_of(options, models)
    starting.finish(options.device, options.cpu_threads)
    return Translator(plan, models)


def take_gpus(addresses: Sequence[str]) -> None:
    """Let TensorFlow see the GPUs that Spark gave to a task, if it gave any.

    Raises CgruError where the model of this process is on others already.
    """
    if not addresses:
        return
    asked = ",".join(addresses)
    if translator_of.cache_info().currsize and os.environ.get("CUDA_VISIBLE_DEVICES") != asked:
        raise CgruError(
            "a worker was given another GPU than before; let each executor have one: "
            "--conf spark.executor.resource.gpu.amount=1"
        )
    os.environ["CUDA_VISIBLE_DEVICES"] = asked


def translate(
    number: int, part: Part, output: Path, options: TranslateOptions, *, column: str, added: str,
    gpus: Sequence[str] = (), last: bool,
) -> Done:  # fmt: skip
    """Translate a part into its file, which is there afterwards as a whole, or not at all.

    column, added: of a table, where the text stands and where its translation will. gpus: those
    that Spark gives to the task. last: nobody tries again; what goes wrong is told in `Done` then,
    so that other parts go on.
    """
    start, words, error = time.monotonic(), 0, ""
    try:
        take_gpus(gpus)
        translator = translator_of(options)
        if part.is_table:
            words = _table(translator, part, output, column, added)
        else:
            words = _text(translator, part, output)
    except Exception as failure:
        if not last:
            raise
        kind = "" if isinstance(failure, CgruError) else f"{type(failure).__name__}: "
        error = f"{part.path}, from line {part.first + 1} of all: {kind}{reason(failure)}"
    return Done(number, part.lines, words, time.monotonic() - start, error)


def _text(translator: Translator, part: Part, output: Path) -> int:
    words = 0
    lines = (line.decode("utf-8", errors="replace") for line in parts.lines_of(part))
    in_order, written = InOrder(), 0
    with atomic_write(output) as file:
        for one in _translations(translator, lines, part.first):
            text, _ = rendered(translator.plan.layout, one, False)
            file.write(in_order.put(one.number - part.first, text).encode("utf-8", "replace"))
            words += len(one.source)
            written += 1
        if written != part.lines:
            raise CgruError(f"{part.lines} lines were there when the job began, now {written}")
    return words


def _table(translator: Translator, part: Part, output: Path, column: str, added: str) -> int:
    import pyarrow
    from pyarrow import parquet

    rows, words = parts.rows_of(part), 0
    given = rows.column(column).to_pylist()
    for i, text in enumerate(given):
        if text is not None and (not isinstance(text, str) or "\n" in text):
            raise CgruError(f"row {part.start + i + 1}: {column} is no line of text")
    texts: list[str | None] = [None] * len(given)
    lines = (text or "" for text in given)
    for one in _translations(translator, lines, part.first):
        place = one.number - part.first
        if given[place] is not None:
            texts[place] = rendered(translator.plan.layout, one, False)[0].removesuffix("\n")
            words += len(one.source)
    table = rows.append_column(added, pyarrow.array(texts, pyarrow.string()))
    with atomic_write(output) as file:
        parquet.write_table(table, file)
    return words


def _translations(
    translator: Translator, lines: Iterable[str], first: int
) -> Iterator[Translation]:
    """Translations as they get ready, numbered from `first`."""
    plan, waiting = translator.plan, iter(lines)
    size = plan.mini_batch * plan.maxi_batch
    while window := list(islice(waiting, size)):
        yield from translator.translations(window, first, n_best=plan.layout.n_best)
        first += len(window)
