"""A finished translation: its words, scores and attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import CgruError

if TYPE_CHECKING:
    from .heatmap.page import Heatmap
    from .heatmap.view import View


class Hypothesis(NamedTuple):
    """One translation of one line.

    T and S count the words of target and source without EOS. Arrays have a row for EOS only if the
    hypothesis is finished: a hypothesis cut at the length limit has T rows. All scores are natural
    logarithms (nats), 0 or negative.
    """

    tokens: Sequence[str]  # [T] target words of the model, never EOS
    finished: bool  # whether it ends with EOS
    score: float  # nats: weighted sum of log-probabilities, including EOS
    total: float  # score after length normalisation and word penalty; expected utility of --mbr
    word_scores: np.ndarray = np.zeros(0, np.float32)  # float32: [T + 1] nats, adding up to score
    model_scores: Sequence[float] = ()  # [models] nats: unweighted sums (Marian's F0, F1, ..)
    alignment: np.ndarray | None = None  # float32: [T + 1, S + 1] attention over source incl. EOS
    detokenized: str | None = None  # text in reading order; None: words between spaces
    features: Sequence[tuple[str, float]] = ()  # of a noisy channel; their weighted sum is total
    source: Sequence[str] = ()  # [S] words of the source as the model reads them, without factors
    offsets: Sequence[int] = ()  # [T] characters of the text before each token, if kept
    source_offsets: Sequence[int] = ()  # [S] likewise, of the line before each source word

    @property
    def text(self) -> str:
        """The translation as text."""
        return " ".join(self.tokens) if self.detokenized is None else self.detokenized

    def heatmap(self) -> Heatmap:
        """A heat map of the attention for notebooks. Raises CgruError without attention."""
        from .heatmap.page import Heatmap

        view = view_of("this hypothesis", self)
        return Heatmap.of(view, " ".join(self.source), self.text)

    def __repr__(self) -> str:
        return f"Hypothesis({self.text!r}, total={self.total:.4g})"

    def _repr_html_(self) -> str | None:
        """The heat map in a notebook, if there is attention."""
        return None if self.alignment is None else self.heatmap()._repr_html_()

    def reversed(self) -> Hypothesis:
        """The hypothesis with words and their rows in reverse order; EOS remains last."""
        T = len(self.tokens)
        scores, alignment = self.word_scores, self.alignment
        if alignment is not None:
            alignment = np.concatenate([alignment[:T][::-1], alignment[T:]])
        return self._replace(
            tokens=list(reversed(self.tokens)),
            word_scores=np.concatenate([scores[:T][::-1], scores[T:]]),
            alignment=alignment,
            offsets=list(reversed(self.offsets)),
        )


def view_of(
    name: str,
    hypothesis: Hypothesis,
    *,
    right_left: bool = False,
    model_weights: Sequence[float] = (1.0,),
    labels: bool = False,
) -> View:
    """The content of a heat map of a hypothesis, in decoding order.

    model_weights: the weights of the models' scores in `hypothesis.word_scores`. Divided by the sum
    of the weights, a word's score is the logarithm of the geometric mean of the models'
    probabilities, which is undefined for negative weights. labels: whether the words are labels,
    without EOS. Raises CgruError without attention.
    """
    from ..text.vocabulary import EOS
    from .heatmap.view import View

    if hypothesis.alignment is None:
        raise CgruError(f"{name}: has no attention to draw")
    if right_left:
        hypothesis = hypothesis.reversed()
    target = [*hypothesis.tokens, *([EOS] if hypothesis.finished and not labels else [])]
    probabilities = None
    if min(model_weights) >= 0:
        scores = np.asarray(hypothesis.word_scores, np.float64)[: len(target)]
        probabilities = np.exp(scores / sum(model_weights)).astype(np.float32)
    weights = np.asarray(hypothesis.alignment, np.float32)[: len(target)]
    return View(name, [*hypothesis.source, EOS], target, weights, probabilities)
