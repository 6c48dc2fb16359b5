"""`cgru translate`: a filter from source lines to translations.

Lines are read as they come, sorted by length within a window, translated in batches, and written
in the order of the input as soon as that is possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import UsageError
from ..formats.loaded_model import LoadedModel, check_attention, check_ensemble, preprocessing_of
from ..options.translate import TranslateOptions
from ..output.heatmap.heatmaps import Heatmaps
from ..system import tensorflow_start
from ..system.lines import LineReader, LineWriter, check_distinct
from ..system.terminal import ProgressCounter
from ..system.windows import InOrder, batches, windows
from .decoder_yml import with_configuration
from .nematus_tf_batches import nematus_tf_batches
from .plan import SearchPlan
from .translator import Translator


def run(options: TranslateOptions) -> None:
    """Translate as the options say.

    Raises CgruError for bad models, vocabularies and input; OutputClosed where nobody reads.
    """
    options, configured = with_configuration(options)
    if not options.model:
        raise UsageError("name a model: cgru translate -m MODEL")
    files = (options.config, options.lexicon, *options.model, *options.vocabularies)
    inputs = (*options.input, *filter(None, files))
    outputs = (options.output, options.output_alignment)
    for output in filter(None, outputs):
        check_distinct(inputs, output)
    if not options.input:
        check_distinct((None,), options.output)
    if options.output_alignment and options.output_alignment == options.output:
        raise UsageError("--output and --output-alignment name one file")
    heatmaps = Heatmaps.of(options, inputs, outputs)
    starting = tensorflow_start.Start()
    with LineReader(*options.input) as reader:
        models = [LoadedModel.of(path, options.vocabularies) for path in options.model]
        check_ensemble(models)
        check_attention(models, _needs_attention(options))
        preprocessing = None if options.no_preprocess else preprocessing_of(models, _asked(options))
        plan = SearchPlan.of(options, [reader.model for reader in models], configured)
        starting.finish(options.device, options.cpu_threads)
        translator = Translator(options, plan, models, preprocessing, heatmaps)
        with heatmaps, LineWriter(options.output) as writer:
            apart = LineWriter(options.output_alignment) if options.output_alignment else None
            try:
                _filter(reader, writer, apart, translator, options, plan)
            finally:
                if apart:
                    apart.close()
                translator.lines.report()


def _needs_attention(options: TranslateOptions) -> bool:
    """Whether anything is asked for that only models with attention give."""
    return any(
        (
            options.alignment, options.alignment_format, options.json_alignment,
            options.output_alignment, options.unk_replace, options.heatmap,
        )
    )  # fmt: skip


def _asked(options: TranslateOptions) -> dict[str, bool]:
    """Whether options do what a model's preprocessing does."""
    return {
        "--join-bpe": options.join_bpe,
        "--no-spm-encode": options.no_spm_encode,
        "--no-spm-decode": options.no_spm_decode,
    }


def _filter(
    reader: LineReader,
    writer: LineWriter,
    apart: LineWriter | None,
    translator: Translator,
    options: TranslateOptions,
    plan: SearchPlan,
) -> None:
    """All lines of the input, in windows."""
    in_order, alignments_in_order = InOrder(), InOrder()
    progress = ProgressCounter("lines", options.quiet)

    def emit(number: int, texts: tuple[str, str]) -> None:
        writer.write(in_order.put(number, texts[0]))
        if apart:
            apart.write(alignments_in_order.put(number, texts[1]))

    start = 0
    for window in _windows(reader, plan):
        lines = [translator.read(line, start + i) for i, line in enumerate(window)]
        searched = []
        for i, line in enumerate(lines):
            # Nematus-TF translates empty lines with the others, which their mini-batch may show
            if line.source or translator.generates or plan.search == "nematus-tf":
                searched.append(i)
            else:
                emit(start + i, translator.empty(start + i))
        together = _batches([len(lines[i].source) for i in searched], translator, options, plan)
        for number, texts in translator.translate(
            [(start + searched[i], lines[searched[i]]) for i in batch] for batch in together
        ):
            emit(number, texts)
            progress.add(1)
        start += len(window)
    progress.close()


def _windows(reader: LineReader, plan: SearchPlan) -> Iterator[list[str]]:
    """Lines to be sorted and batched together: growing windows, or Nematus-TF's maxi-batches."""
    if plan.search == "nematus-tf":  # whose batches are cut from whole maxi-batches
        return iter(lambda: reader.window(plan.mini_batch * plan.maxi_batch), [])
    return windows(reader, plan.mini_batch, plan.maxi_batch)


def _batches(
    lengths: Sequence[int], translator: Translator, options: TranslateOptions, plan: SearchPlan
) -> list[list[int]]:
    """The lines of a window, of so many words each, that are searched together."""
    if plan.search == "nematus-tf":  # whose lists depend on what shares a batch
        return nematus_tf_batches(lengths, plan.mini_batch)
    if options.maxi_batch_sort == "none":
        every = list(range(len(lengths)))
        return [every[i : i + plan.mini_batch] for i in range(0, len(every), plan.mini_batch)]
    return batches([length + 1 for length in lengths], plan.mini_batch, translator.max_tokens)
