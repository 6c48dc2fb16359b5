"""A finished translation: its words, scores and attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Hypothesis(NamedTuple):
    """One translation of one line, in the order in which it was decoded.

    T counts the words without EOS, S those of the source without EOS. What has a row for EOS has
    it only if the hypothesis is finished: one cut by the length limit has T rows.
    """

    tokens: Sequence[str]  # [T] target words, never EOS
    finished: bool  # whether it ended by EOS
    score: float  # nats, negative: weighted sum of log-probabilities incl. EOS
    total: float  # score after length normalisation and word penalty
    word_scores: Sequence[float] = ()  # [T + 1] nats: each word's share of the score
    model_scores: Sequence[float] = ()  # [models] nats: unweighted sums (Marian's F0, F1, ..)
    alignment: np.ndarray | None = None  # float32: [T + 1, S + 1] attention over source incl. EOS
