"""The Python worker of Spark, which keeps one model and translates part after part."""

from __future__ import annotations

import functools
import itertools
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import parts
from parts import Part

from cgru_cli.errors import CgruError, reason
from cgru_cli.formats.declared import check_declared
from cgru_cli.formats.loaded_model import LoadedModel, load_model
from cgru_cli.options.translate import TranslateOptions
from cgru_cli.system.atomic_files import atomic_write
from cgru_cli.system.windows import in_order, in_windows
from cgru_cli.translate.line_search import LineSearch
from cgru_cli.translate.plan import SearchPlan
from cgru_cli.translate.results import Translation, rendered


class Done(NamedTuple):
    """The result of a part. words: source words as the model reads them; error: "" if none."""

    part: int
    lines: int
    words: int
    seconds: float
    error: str


def plan_of(options: TranslateOptions, models: Sequence[LoadedModel]) -> SearchPlan:
    """The plan of the search. Raises CgruError for options that do not work part by part."""
    check_declared([loaded.model for loaded in models], options.model_is)
    plan = SearchPlan(options, models)
    if plan.search == "nematus-tf":
        raise CgruError(
            "--compat nematus-tf: n-best lists depend on the mini-batch, so they would "
            "differ from those of the whole corpus"
        )
    plan.shared_shortlist = False
    return plan


@functools.lru_cache(maxsize=1)
def search_of(options: TranslateOptions) -> LineSearch:
    """The search of this process; its model is read once."""
    models = [load_model(path, options.vocabularies) for path in options.model]
    return LineSearch(plan_of(options, models), models)


def take_gpus(addresses: Sequence[str]) -> None:
    """Restrict this process to the GPUs that Spark assigned to the task, if any.

    Raises CgruError if the model of this process already uses other GPUs.
    """
    if not addresses:
        return
    asked = ",".join(addresses)
    if search_of.cache_info().currsize and os.environ.get("CUDA_VISIBLE_DEVICES") != asked:
        raise CgruError(
            "Spark assigned another GPU to this worker; give each executor one GPU: "
            "--conf spark.executor.resource.gpu.amount=1"
        )
    os.environ["CUDA_VISIBLE_DEVICES"] = asked


def translate(
    number: int,
    part: Part,
    output: Path,
    options: TranslateOptions,
    *,
    column: str,
    added: str,
    gpus: Sequence[str] = (),
    last: bool,
) -> Done:
    """Translate a part into its file, which is written completely or not at all.

    column, added: the columns of a table for the text and its translation. gpus: the GPUs that
    Spark assigned to the task. last: this is the last attempt; an error is then returned in `Done`,
    so that other parts continue.
    """
    start, words, error = time.monotonic(), 0, ""
    try:
        take_gpus(gpus)
        search = search_of(options)
        if part.is_table:
            words = _table(search, part, output, column, added)
        else:
            words = _text(search, part, output)
    except Exception as failure:
        if not last:
            raise
        kind = "" if isinstance(failure, CgruError) else f"{type(failure).__name__}: "
        error = f"{part.path}, from line {part.first + 1} of all: {kind}{reason(failure)}"
    return Done(number, part.lines, words, time.monotonic() - start, error)


def _text(search: LineSearch, part: Part, output: Path) -> int:
    words = written = 0
    lines = (line.decode("utf-8", errors="replace") for line in parts.lines_of(part))
    with atomic_write(output) as file:
        for one in _translations(search, lines, part.first):
            text, _ = rendered(search.plan.layout, one, False)
            file.write(text.encode("utf-8", "replace"))
            words += len(one.source)
            written += 1
        if written != part.lines:
            raise CgruError(f"the part had {part.lines} lines when the job began, now {written}")
    return words


def _table(search: LineSearch, part: Part, output: Path, column: str, added: str) -> int:
    import pyarrow
    from pyarrow import parquet

    rows, words = parts.rows_of(part), 0
    given = rows.column(column).to_pylist()
    for i, text in enumerate(given):
        if text is not None and (not isinstance(text, str) or "\n" in text):
            raise CgruError(f"row {part.start + i + 1}: {column} is not a line of text")
    texts: list[str | None] = [None] * len(given)
    lines = (text or "" for text in given)
    for one in _translations(search, lines, part.first):
        place = one.number - part.first
        if given[place] is not None:
            texts[place] = rendered(search.plan.layout, one, False)[0].removesuffix("\n")
            words += len(one.source)
    table = rows.append_column(added, pyarrow.array(texts, pyarrow.string()))
    with atomic_write(output) as file:
        parquet.write_table(table, file)
    return words


def _translations(search: LineSearch, lines: Iterable[str], first: int) -> Iterator[Translation]:
    """The translations of lines, in their order, numbered from `first`."""
    plan = search.plan

    def translated(window: list[str], first: int) -> Iterator[tuple[int, Translation]]:
        for one in search.translations(window, first, n_best=plan.layout.n_best):
            yield one.number, one

    windows = in_windows(iter(lines), itertools.repeat(plan.mini_batch * plan.maxi_batch))
    return in_order(windows, translated, first)
