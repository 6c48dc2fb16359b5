"""`cgru score --oracle`: the hypotheses of an n-best list most similar to a reference.

Kim and Rush 2016 train a student on these hypotheses (sequence-level interpolation).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...options.feature_weights import FeatureWeights
from ..metrics.evaluation import metric_of, read_references
from ..plan import ScorePlan
from .entry import Entry
from .rerank import Reranker, Sentences


class MostSimilar(Reranker):
    """Yields each sentence's hypothesis with the highest sentence-level score."""

    def __init__(self, plan: ScorePlan, sentences: Sentences, *, join: Callable[[str], str] = str):
        """Read the references. Raises CgruError for unreadable files and unequal line counts."""
        options = plan.options
        super().__init__(sentences, FeatureWeights(), join=join)
        self._metric = metric_of(str(options.oracle), options, force=True, sentences=True)
        self._references = read_references(options.reference)
        self._sentence, sentences.needs_features = 0, False
        sentences.limit = len(self._references[0])

    def close(self, sentences: int | None) -> Iterator[str]:
        """End the list; sentences: the number of sentences, if known."""
        return super().close(len(self._references[0]))

    def ranked(self, entries: Sequence[Entry]) -> str:
        """The output for the hypotheses of the next sentence."""
        self._sentence += 1
        return super().ranked(entries)

    def totals(self, entries: Sequence[Entry]) -> list[float]:
        """The scores of a sentence's hypotheses, 0 to 100."""
        references = [texts[self._sentence - 1] for texts in self._references]
        score = self._metric.sentence_score
        return [score(self.join(entry.text), references).score for entry in entries]
