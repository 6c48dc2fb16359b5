"""Filters around the search: each splits a text for translation, and joins the translations.

With `Marks` around `Split`, a line is parsed for its marks, split into sentences, and translated;
then the translations are joined, and the marks are placed in the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..output.hypothesis import Hypothesis
from .plan import SearchPlan
from .results import Translation

if TYPE_CHECKING:
    from ..documents.markup import Markup

Undo = Callable[[Sequence[Translation]], Translation]  # of the translations of all texts
Filter = Callable[[str], tuple[list[str], Undo]]


def filtered(text: str, filters: Sequence[Filter]) -> tuple[list[str], Undo]:
    """The texts to translate, and how to undo all filters; the outermost filter comes first."""
    if not filters:
        return [text], lambda parts: parts[0]
    texts, undo = filters[0](text)
    inner = [filtered(one, filters[1:]) for one in texts]

    def undone(parts: Sequence[Translation]) -> Translation:
        rest = iter(parts)
        return undo([undo_one([next(rest) for _ in pieces]) for pieces, undo_one in inner])

    return [piece for pieces, _ in inner for piece in pieces], undone


def filters_of(plan: SearchPlan) -> list[Filter]:
    """The filters that the options name."""
    filters: list[Filter] = []
    if plan.options.markup:
        filters.append(Marks(plan.options.markup, plan))
    if plan.sentences:
        filters.append(Split(lambda text: text.split("\n"), "\n".join, plan))  # in Python
        filters.append(Split(plan.sentences.split, plan.sentences.join, plan))
    return filters


class Marks:
    """Takes the marks out of a text, and places them in its translation by the attention."""

    def __init__(self, form: str, plan: SearchPlan):
        """form: how marks are written (see `documents.markup`). The plan must keep offsets."""
        self._form, self._right_left = form, plan.layout.right_left
        self._placeholders = plan.placeholders > 0 and bool(plan.copying and plan.copying.patterns)

    def __call__(self, text: str) -> tuple[list[str], Undo]:
        from ..documents.markup import Markup  # only if needed, because its patterns take time

        markup = Markup(text, self._form, placeholders=self._placeholders)

        def undo(parts: Sequence[Translation]) -> Translation:
            (part,) = parts
            marked = [self._marked(markup, one) for one in part.hypotheses]
            return part._replace(hypotheses=marked)

        return [markup.plain], undo

    def _marked(self, markup: Markup, hypothesis: Hypothesis) -> Hypothesis:
        from ..documents.mark_places import place_marks

        one = hypothesis.reversed() if self._right_left else hypothesis
        weights = np.zeros((len(one.tokens), len(one.source)), np.float32)
        if one.alignment is not None:
            weights = one.alignment[: len(one.tokens), : len(one.source)]
        text = place_marks(markup, one.text, weights, one.offsets, one.source_offsets)
        return hypothesis._replace(detokenized=text)


class Split:
    """Splits a text, such as into sentences, and joins the best translations of the parts."""

    def __init__(
        self,
        split: Callable[[str], list[str]],
        join: Callable[[list[str]], str],
        plan: SearchPlan,
    ):
        self._split, self._join, self._right_left = split, join, plan.layout.right_left

    def __call__(self, text: str) -> tuple[list[str], Undo]:
        pieces = self._split(text)

        def undo(parts: Sequence[Translation]) -> Translation:
            if len(parts) > 1:
                return self._joined(text, pieces, parts)
            return _moved(parts[0], max(0, text.find(pieces[0])))

        return pieces, undo

    def _joined(
        self, text: str, pieces: Sequence[str], parts: Sequence[Translation]
    ) -> Translation:
        """The translations as one, with the sums of the scores.

        Its attention, (T,S) without EOS, and its offsets are for a filter around this one.
        """
        source = [word for part in parts for word in part.source]
        best = [part.hypotheses[0] for part in parts if part.hypotheses]
        joined = self._join([one.text for one in best])
        weights = np.zeros((sum(len(one.tokens) for one in best), len(source)), np.float32)
        tokens: list[str] = []
        offsets: list[int] = []
        source_offsets: list[int] = []
        place = begin = 0  # of a piece in the text, and of its translation
        for piece, part in zip(pieces, parts, strict=True):
            place = max(place, text.find(piece, place))
            columns = slice(len(source_offsets), len(source_offsets) + len(part.source))
            for one in part.hypotheses[:1]:
                one = one.reversed() if self._right_left else one
                begin = max(begin, joined.find(one.text, begin))
                if one.alignment is not None:
                    rows = slice(len(tokens), len(tokens) + len(one.tokens))
                    shown = one.alignment[: len(one.tokens), : len(part.source)]
                    weights[rows, columns] = shown
                tokens += one.tokens
                offsets += [begin + offset for offset in one.offsets]
                source_offsets += [place + offset for offset in one.source_offsets]
                begin += len(one.text)
            source_offsets += [place] * (columns.stop - len(source_offsets))
            place += len(piece)
        whole = Hypothesis(
            tokens,
            len(best) == len(parts) and all(one.finished for one in best),
            sum(one.score for one in best),
            sum(one.total for one in best),
            alignment=weights,
            detokenized=joined,
            source=source,
            offsets=offsets,
            source_offsets=source_offsets,
        )
        whole = whole.reversed() if self._right_left else whole
        return parts[0]._replace(source=source, factored=source, hypotheses=[whole][: len(best)])


def _moved(part: Translation, place: int) -> Translation:
    """The translation of a part that begins at a place of the text."""
    moved = [
        one._replace(source_offsets=[place + offset for offset in one.source_offsets])
        for one in part.hypotheses
    ]
    return part._replace(hypotheses=moved) if place else part
