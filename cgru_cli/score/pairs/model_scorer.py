"""Read pairs and score them with one model."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ... import errors
from ...errors import CgruError
from ...formats.loaded_model import LoadedModel, Reading
from ...text.copying import has_placeholders, known_placeholders
from ...text.labels import check_tags

if TYPE_CHECKING:
    from ...search.runtime import PreparedModel
    from ...search.scoring import Scorer, Scores


class Line(NamedTuple):
    """The words of a pair as one model reads it, with target words in the order of writing."""

    source: list[str]
    target: list[str]

    @property
    def length(self) -> int:
        """The number of words of the longer side, including EOS."""
        return max(len(self.source), len(self.target)) + 1


class ModelScorer:
    """Reads both sides of a pair as a model does, and scores batches by forced decoding."""

    def __init__(
        self,
        loaded: LoadedModel,
        reading: Reading,
        prepared: PreparedModel,
        workspace: int = 2048,
        *,
        with_alignment: bool = False,
    ):
        """workspace: MiB for a batch."""
        from ...search.scoring import max_tokens_of

        self.loaded, self._reading = loaded, reading
        self.source = loaded.source_lines(reading)
        self._copying = reading.preprocessing.copying if reading.preprocessing else None
        self._placeholders = known_placeholders(loaded.target, *loaded.sources[:1])
        self.max_tokens = max_tokens_of(workspace, loaded.model.structure)
        self.prepared, self._with_alignment = prepared, with_alignment
        self.threads = prepared.settings.threads

    @functools.cached_property
    def _scorer(self) -> Scorer:
        """Made for the first scores, because some callers only read pairs."""
        from ...search.scoring import Scorer

        return Scorer(self.prepared, with_alignment=self._with_alignment)

    def share_processors(self) -> None:
        """See `Session.share_processors`."""
        self._scorer.share_processors()

    def read(self, source: str, target: str, number: int) -> Line:
        """The words of a pair; number: its line, from 0.

        Raises CgruError for a translation that is too long, unless long translations are cut.
        """
        if self._copying and not has_placeholders(source):  # as training text has them
            masked = self._copying.masked(source, self._placeholders)
            source, target = masked.text, self._copying.named(target, masked.copied)
        source_words = self.source.words(source, number)
        words = self.loaded.target_words(target, number, self._reading)
        if self._reading.crops_targets:
            words = words[: self._reading.longest]
        if len(words) > self._reading.longest:
            raise CgruError(
                f"line {number + 1}: the translation has {len(words)} words; --max-length "
                f"{len(words)} allows it, if there is memory, and --max-length-crop cuts it"
            )
        if self.loaded.tags_words or not self.loaded.reads_words:  # rejects unknown conditions
            ids = self.loaded.ids(source_words, number)
        if self.loaded.tags_words:
            with errors.at(f"line {number + 1}"):
                check_tags(ids, words)
        return Line(source_words, words[::-1] if self.loaded.right_left else words)

    def __call__(self, numbers: Sequence[int], lines: Sequence[Line]) -> Scores:
        """Score a batch of pairs; numbers: their lines, for messages."""
        source, source_mask = self.loaded.source_batch([line.source for line in lines], numbers)
        target, mask = self.loaded.target_batch([line.target for line in lines])
        scores = self._scorer(source, source_mask, target, mask)
        if scores.alignment is None or not self.loaded.source_reversed:
            return scores
        rows = zip(scores.alignment, lines, strict=True)
        aligned = [self.loaded.in_source_order(row, len(line.source)) for row, line in rows]
        return scores._replace(alignment=np.stack(aligned))
