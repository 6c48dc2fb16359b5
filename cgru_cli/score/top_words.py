"""`cgru score --word-top-k`: a model's most probable words at each word of a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..corpus import teacher_words
from ..corpus.columns import GrowingArray
from ..errors import UsageError
from ..formats.loaded_model import LoadedModel, check_ensemble
from ..system.atomic_files import atomic_write
from ..system.side_by_side import side_by_side, together_in
from ..system.terminal import ProgressCounter
from ..system.windows import InOrder, batches
from .pairs.model_scorer import Line, ModelScorer
from .pairs.readers import Pairs
from .plan import ScorePlan


def write(plan: ScorePlan, models: Sequence[LoadedModel], pairs: Pairs) -> None:
    """Write the most probable words to --output.

    Rows are in the order of the text, also for a model that writes from right to left. Raises
    UsageError for several models without --ensemble, CgruError for unreadable input.
    """
    options = plan.options
    if len(models) > 1 and not plan.weights:
        raise UsageError("--word-top-k: several models need --ensemble")
    check_ensemble(models)
    from ..search.runtime import Settings, prepared
    from ..search.scoring import TopWords

    reading = plan.reading(models)
    settings = Settings(options.device, options.cpu_threads)
    networks = [prepared(loaded.model, options.precision, settings) for loaded in models]
    scorers = [
        ModelScorer(loaded, reading, network, options.workspace)
        for loaded, network in zip(models, networks, strict=True)
    ]
    k = min(options.word_top_k or 1, models[0].model.structure.target_vocabulary)
    top_words = TopWords(networks, plan.weights or (1.0,), k)
    # memory holds the probabilities of all words by each model until they are added up
    max_tokens = max(1, min(scorer.max_tokens for scorer in scorers) // len(scorers))

    def top(
        numbers: Sequence[int], lines: Sequence[Sequence[Line]]
    ) -> Iterator[tuple[int, tuple[np.ndarray, np.ndarray]]]:
        """The number of each line, and its words' ids and log-probabilities (T,K)."""
        sources = [
            one.loaded.source_batch([line[m].source for line in lines], numbers)
            for m, one in enumerate(scorers)
        ]
        target, mask = models[0].target_batch([line[0].target for line in lines])
        ids, log_probs = top_words(sources, target, mask)
        lengths = mask.sum(axis=1, dtype=np.int64)
        if models[0].right_left:
            order = teacher_words.from_the_end(lengths)
            ids, log_probs = ids[order], log_probs[order]
        ends = np.cumsum(lengths)[:-1]
        rows = zip(np.split(ids, ends), np.split(log_probs, ends), strict=True)
        yield from zip(numbers, rows, strict=True)

    in_order, first = InOrder[tuple[np.ndarray, np.ndarray]](), 0
    progress = ProgressCounter("pairs", options.quiet)
    with atomic_write(options.output or "") as file:
        writer = GrowingArray(file, teacher_words.ENTRY, (k,))
        for window in pairs.windows(options.mini_batch, options.maxi_batch):
            lines = [
                [scorer.read(pair.source, pair.target, number) for scorer in scorers]
                for number, pair in enumerate(window, first)
            ]
            sizes = [max(one.length for one in line) for line in lines]
            together = sorted(batches(sizes, options.mini_batch, max_tokens), key=min)
            threads = together_in(max_tokens, sizes, together, settings.threads)
            if threads > 1:
                top_words.share_processors()
            for number, rows in side_by_side(
                (top([first + i for i in batch], [lines[i] for i in batch]) for batch in together),
                threads,
            ):
                for ready in in_order.put(number, rows):
                    writer.append(teacher_words.entries(*ready))
                progress.add(1)
            first += len(window)
        writer.close()
    progress.close()
