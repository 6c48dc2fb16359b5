"""What each model of an ensemble says of a translation that they found together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .network import Network
from .scorer import Scorer, Scores


class Members:
    """Forced decoding of each model: a search keeps only the mean of their attention."""

    def __init__(self, networks: Sequence[Network]):
        self._scorers = [Scorer(network, with_alignment=True) for network in networks]

    def __call__(
        self, sources: Sequence[tuple[np.ndarray, np.ndarray]], words: Sequence[int]
    ) -> list[Scores]:
        """Scores of one line's T words, EOS among them if it is finished: (T,) and (T,S) each.

        sources: ids (1,S,F) and mask (1,S), as each model reads the line.
        """
        target = np.array([words], np.int32)
        mask = np.ones(target.shape, np.float32)
        return [
            Scores(scores.log_probs[0], None if scores.alignment is None else scores.alignment[0])
            for scorer, source in zip(self._scorers, sources, strict=True)
            for scores in [scorer(*source, target, mask)]
        ]
