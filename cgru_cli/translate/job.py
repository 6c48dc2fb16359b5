"""`cgru translate`: a filter from source lines to translations.

Lines are read as they arrive, sorted by length within a window, translated in batches, and written
in the order of the input as soon as possible.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Sequence

from ..errors import CgruError, UsageError, reading, writing
from ..options.translate import TranslateOptions
from ..output.heatmap.heatmaps import Heatmaps
from ..parameters.program import reads_as
from ..system.line_writer import LineWriter
from ..system.lines import LineReader, check_distinct
from ..system.log_file import log_to
from ..system.terminal import ProgressCounter, tell
from ..system.windows import in_order, windows
from .line_search import LineSearch, search_of
from .plan import SearchPlan
from .results import rendered
from .shortlists import shortlist_of


def run(options: TranslateOptions) -> None:
    """Translate lines.

    Raises CgruError for bad models, vocabularies and input; OutputClosed if the reader is gone.
    """
    with log_to(options.log, "cgru translate"):
        _run(options)


def _run(options: TranslateOptions) -> None:
    if not options.model:
        raise UsageError("name a model: cgru translate -m MODEL")
    if options.document:
        _document(options)
        return
    inputs, outputs = _check_files(options)
    reports = "" if options.quiet or options.compat else "translate"
    heatmaps = Heatmaps(
        options.heatmap, options.heatmap_lines, options.model, inputs, outputs, reports=reports
    )
    with LineReader(*options.input, tell_crlf=reads_as(options.compat) is str) as reader:
        search = search_of(options)
        done = _skipped(reader, options, search.plan) if options.resume else 0
        writer = LineWriter(options.output, append=options.resume, reports=reports)
        with heatmaps, writer, contextlib.ExitStack() as stack:
            apart = None
            if options.output_alignment:
                apart = stack.enter_context(LineWriter(options.output_alignment, reports=reports))
            try:
                _translate(reader, writer, apart, search, heatmaps, done)
            finally:
                search.preparer.report()


def _document(options: TranslateOptions) -> None:
    """Translate a document. Raises CgruError for unreadable documents and for bad models."""
    from ..documents.job import translate_document  # imports document formats only if needed
    from .translator import Translator

    source, target = options.document
    check_distinct([source, *options.model, *options.vocabularies], target)
    sentences = options.split_sentences or "auto"
    lines = dataclasses.replace(options, document=(), split_sentences=sentences)

    def opened(form: str | None) -> Translator:
        return Translator(search_of(dataclasses.replace(lines, markup=form)))

    translate_document(source, target, opened, quiet=options.quiet)


def _check_files(options: TranslateOptions) -> tuple[Sequence[str], Sequence[str | None]]:
    """The files to read and write. Raises UsageError if an output file is named twice."""
    named = (options.lexicon, options.bpe, options.avoid, options.channel_model, options.lm)
    shortlist = shortlist_of(options)
    inputs = [*options.input, *options.config, *options.model, *options.vocabularies]
    inputs += [file for file in (*named, shortlist and shortlist[0]) if file]
    outputs = (options.output, options.output_alignment, options.log)
    for output in filter(None, outputs):
        check_distinct(inputs, output)
    if not options.input:
        check_distinct((None,), options.output)
    if options.output_alignment and options.output_alignment == options.output:
        raise UsageError("--output and --output-alignment name the same file")
    return inputs, outputs


def _skipped(reader: LineReader, options: TranslateOptions, plan: SearchPlan) -> int:
    """Skip input lines that are already translated; returns their number."""
    output = str(options.output)
    if output.endswith(".gz"):
        raise UsageError(f"--resume: {output} is compressed, and cannot be continued")
    if plan.layout.several_lines:
        raise UsageError("--resume: alignments or word scores are printed on lines of their own")
    # lines of a batch that affect each other are translated together again
    together = plan.mini_batch * plan.maxi_batch if plan.batches_decide else 1
    done = finished_lines(output, n_best=plan.layout.n_best, together=together)
    if len(reader.take(done)) < done:
        raise CgruError(f"{output}: has the output of {done:,} lines, and the input has fewer")
    tell(f"{output}: {done:,} lines are translated already", options.quiet)
    return done


def finished_lines(path: str | os.PathLike[str], *, n_best: bool, together: int = 1) -> int:
    """The number of input lines whose complete output is in a file; 0 without a file.

    Removes anything after complete output. n_best: whether each input line has a list; the last
    list counts as incomplete. together: the number of input lines that count only together. Raises
    CgruError for a file without such lists, and for a file that cannot be read or changed.
    """
    if not os.path.exists(path):
        return 0
    lines = end = done = kept = 0  # kept: the size of the output of `done` input lines
    with reading(path), open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            if n_best:
                sentence = line.split(b"|||", 1)[0].strip()
                if sentence == str(lines).encode():
                    if lines % together == 0:
                        done, kept = lines, end
                    lines += 1
                elif not lines or sentence != str(lines - 1).encode():
                    raise CgruError(f"{path}: line {number} is not an entry of an n-best list")
            end += len(line)
            if not n_best:
                lines += 1
                if lines % together == 0:
                    done, kept = lines, end
    with writing(path):
        os.truncate(path, kept)
    return done


def _translate(
    reader: LineReader,
    writer: LineWriter,
    apart: LineWriter | None,
    search: LineSearch,
    heatmaps: Heatmaps,
    start: int,
) -> None:
    """Translate all lines of the input, in windows. apart: the writer of alignments, if separate.

    start: the number of the first line.
    """
    progress = ProgressCounter("lines", search.plan.options.quiet)
    plan, layout = search.plan, search.plan.layout

    def translated(window: list[str], first: int) -> Iterator[tuple[int, tuple[str, str]]]:
        for translation in search.translations(window, first, n_best=layout.n_best):
            number = translation.number
            if heatmaps.wants(number):
                views = search.results.views(translation)
                best = translation.hypotheses[0].text if translation.hypotheses else ""
                heatmaps.add(number, views, window[number - first], best)
            progress.add(not translation.empty)
            yield number, rendered(layout, translation, apart is not None)

    growing = not plan.batches_decide
    lines = windows(reader, plan.mini_batch, plan.maxi_batch, growing=growing)
    for text, alignments in in_order(lines, translated, start):
        writer.write(text)
        if apart:
            apart.write(alignments)
    progress.close()
