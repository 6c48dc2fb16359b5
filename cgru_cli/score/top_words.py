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
from ..system.windows import batches, in_order
from .pairs.ensemble_scorer import model_scorers
from .pairs.readers import Pair, Pairs
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
    from ..search.scoring import TopWords

    scorers = model_scorers(plan, models, plan.reading(models), with_alignment=False)
    k = min(options.word_top_k or 1, models[0].model.structure.target_vocabulary)
    networks = [scorer.prepared for scorer in scorers]
    top_words = TopWords(networks, plan.weights or (1.0,), k)
    # memory holds the probabilities of all words by each model until they are added up
    max_tokens = max(1, min(scorer.max_tokens for scorer in scorers) // len(scorers))

    def top(window: list[Pair], first: int) -> Iterator[tuple[int, np.ndarray]]:
        """The number of each pair, and the rows of its words (T,K)."""
        lines = [
            [scorer.read(pair.source, pair.target, number) for scorer in scorers]
            for number, pair in enumerate(window, first)
        ]

        def of_batch(batch: Sequence[int]) -> Iterator[tuple[int, np.ndarray]]:
            numbers, pairs = [first + i for i in batch], [lines[i] for i in batch]
            sources = [
                one.loaded.source_batch([line[m].source for line in pairs], numbers)
                for m, one in enumerate(scorers)
            ]
            target, mask = models[0].target_batch([line[0].target for line in pairs])
            ids, log_probs = top_words(sources, target, mask)
            rows, lengths = teacher_words.entries(ids, log_probs), mask.sum(axis=1, dtype=np.int64)
            if models[0].right_left:
                rows = rows[teacher_words.from_the_end(lengths)]
            yield from zip(numbers, np.split(rows, np.cumsum(lengths)[:-1]), strict=True)

        sizes = [max(one.length for one in line) for line in lines]
        together = sorted(batches(sizes, options.mini_batch, max_tokens), key=min)
        threads = together_in(max_tokens, sizes, together, scorers[0].threads)
        if threads > 1:
            top_words.share_processors()
        return side_by_side(map(of_batch, together), threads)

    progress = ProgressCounter("pairs", options.quiet)
    with atomic_write(options.output or "") as file:
        writer = GrowingArray(file, teacher_words.ENTRY, (k,))
        for rows in in_order(pairs.windows(options.mini_batch, options.maxi_batch), top):
            writer.append(rows)
            progress.add(1)
        writer.close()
    progress.close()
