"""The noisy channel: translations y are also ranked by p(source | y) and p(y).

A model of the reverse direction (the channel model) and a language model score the hypotheses of
the direct model, in each step of its search or once they are finished. Source: Yee, Dauphin and
Auli 2019, "Simple and Effective Noisy Channel Modeling for Neural Machine Translation" (section 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..parameters.structure import EOS_ID
from .decoder_states import Expansion
from .hypotheses import SearchResult
from .ranking import LogProbability
from .settings import ChannelSum

# Sentence numbers, and a (partial) translation y of each -> log p(source | y).
ChannelScore = Callable[[Sequence[int], Sequence[Sequence[int]]], np.ndarray]


class ChannelRanking(LogProbability):
    """Ranks the extensions of hypotheses in a beam search, and keeps the words of each hypothesis.

    The language model is the last model of the search's ensemble, with weight 0 there.
    """

    def __init__(self, channel_sum: ChannelSum, candidates: int, score: ChannelScore):
        """candidates: the number of most probable extensions of each hypothesis to rank."""
        super().__init__(channel_sum.settings)
        # one more word, because UNK, which may be among the most probable, is banned
        self.count: int = candidates + (channel_sum.settings.unk is not None)
        self._candidates, self._sum, self._score = candidates, channel_sum, score
        self._lengths: np.ndarray = np.zeros(0, int)  # (B,) words of the sources, with EOS
        self._words: list[tuple[int, ...]] = []  # of each row so far, without EOS
        self._steps: np.ndarray = np.zeros(0, int)  # (R,) words of each row, with EOS
        self._lm: np.ndarray = np.zeros(0)  # (R,) log p(words)
        self._extended = self._channel = self._total = np.zeros((0, 0))  # (R,N) of extensions
        self._chosen: tuple[np.ndarray, np.ndarray] = (np.zeros(0, int), np.zeros(0, int))

    def begin(self, lengths: Sequence[int], lines: Sequence[int]) -> None:
        count = len(lengths)
        self._lengths = np.append(self._lengths, lengths).astype(int)
        self._words += [()] * count
        self._steps = np.append(self._steps, np.zeros(count, int))
        self._lm = np.append(self._lm, np.zeros(count))

    def totals(self, sentences: np.ndarray, direct: np.ndarray, expansion: Expansion) -> np.ndarray:
        """See `LogProbability`; words that constraints require are always candidates."""
        allowed = np.isfinite(direct)
        best = allowed[:, : self.count]
        best &= np.cumsum(best, axis=1) <= self._candidates
        rows, places = np.nonzero(allowed)
        words = self._continued(rows, expansion.words[rows, places])
        self._extended = self._lm[:, None] + expansion.model_log_probs[..., -1]
        self._channel = np.full(direct.shape, -np.inf)
        self._total = np.full(direct.shape, -np.inf)
        self._channel[allowed] = self._score(sentences[rows].tolist(), words)
        self._total[allowed] = self._sum.total(
            direct[allowed],
            self._channel[allowed],
            self._extended[allowed],
            self._steps[rows] + 1,
            self._lengths[sentences[rows]],
        )
        return self._total

    def advance(self, parents: np.ndarray, places: np.ndarray, words: np.ndarray) -> None:
        self._chosen = parents, places
        self._words = self._continued(parents, words)
        self._steps = self._steps[parents] + 1
        self._lm = self._extended[parents, places]

    def _continued(self, rows: np.ndarray, words: np.ndarray) -> list[tuple[int, ...]]:
        """The words of these rows, each followed by another word, without EOS."""
        return [
            self._words[row] + ((int(word),) if word != EOS_ID else ())
            for row, word in zip(rows, words, strict=True)
        ]

    def take(self, kept: np.ndarray) -> None:
        self._words = [words for words, keep in zip(self._words, kept, strict=True) if keep]
        self._steps, self._lm = self._steps[kept], self._lm[kept]

    def result(self, row: int, result: SearchResult) -> SearchResult:
        place = self._chosen[0][row], self._chosen[1][row]
        return result._replace(
            total=float(self._total[place]),
            channel=float(self._channel[place]),
            lm=float(self._extended[place]),
        )
