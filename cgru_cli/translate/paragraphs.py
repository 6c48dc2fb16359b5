"""Texts of several sentences: translate each sentence, then join them with their marks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..output.hypothesis import Hypothesis
from ..text.mark_places import place_marks
from ..text.markup import Markup
from ..text.sentences import Sentences
from .phrases import Fields
from .results import Translation

if TYPE_CHECKING:
    from .line_search import LineSearch


class Paragraph:
    """A text; `lines` are its sentences to translate, without marks."""

    def __init__(
        self, search: LineSearch, text: str, form: str | None, sentences: Sentences | None
    ):
        """form: how marks are written (see `text.markup`), None for text without marks. sentences:
        splits the text, None for a single sentence.
        """
        self._search = search
        self._join = sentences.join if sentences else " ".join
        self._markup = search.requests.markup(text, form) if form else None
        self._plain = self._markup.plain if self._markup else text
        sources = sentences.split(self._plain) if sentences else [self._plain]
        self.lines = [Fields(one, plain=True) for one in sources]

    def translation(
        self, number: int, parts: Sequence[Translation], n_best: int = 1
    ) -> Translation:
        """Join the translations of the lines to the translation of text number `number`.

        n_best: the number of hypotheses of a single line in which to place marks.
        """
        right_left = self._search.plan.layout.right_left
        whole = Translation.joined(number, parts, self._join, right_left=right_left)
        markup = self._markup
        if markup is None or not whole.hypotheses:
            return whole
        kept = whole.hypotheses[:n_best]
        best = [[part.hypotheses[0] for part in parts]] if len(parts) > 1 else [[x] for x in kept]
        texts = [self._placed(markup, parts, one) for one in best]
        kept = [x._replace(detokenized=text) for x, text in zip(kept, texts, strict=True)]
        return whole._replace(hypotheses=kept)

    def _placed(
        self, markup: Markup, parts: Sequence[Translation], best: Sequence[Hypothesis]
    ) -> str:
        """The text of the translation, with the marks of the source; best: of each part."""
        begins, place = [], 0  # where the sentences begin in the text
        for line in self.lines:
            begins.append(max(place, self._plain.find(line.source, place)))
            place = begins[-1] + len(line.source)
        if self._search.plan.layout.right_left:
            best = [one.reversed() for one in best]
        columns = np.cumsum([0, *(len(part.source) for part in parts)]).tolist()
        rows = np.cumsum([0, *(len(one.tokens) for one in best)]).tolist()
        weights = np.zeros((rows[-1], columns[-1]), np.float32)
        for i, one in enumerate(best):
            if one.alignment is not None:
                shape = rows[i + 1] - rows[i], columns[i + 1] - columns[i]
                weights[rows[i] : rows[i + 1], columns[i] : columns[i + 1]] = one.alignment[
                    : shape[0], : shape[1]
                ]

        def words_before(place: int) -> int:
            i = max(0, bisect_right(begins, place) - 1)
            begun = self.lines[i].source[: max(0, place - begins[i])]
            return columns[i] + min(self._search.requests.count(begun), len(parts[i].source))

        def text_before(count: int) -> str:
            i = min(bisect_right(rows, count), len(best)) - 1
            words = best[i].tokens[: count - rows[i]]
            copied = self._search.requests.copied(self.lines[i].source)
            begun = self._search.results.filled_text(words, copied)
            return self._join([*(one.text for one in best[:i]), begun])

        places = {place: words_before(place) for place in markup.borders()}
        return place_marks(markup, weights, places, text_before)
