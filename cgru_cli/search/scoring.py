"""Scores of known translations, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..parameters.structure import Structure
from .decoder_states import Sources
from .runtime import PreparedModel


class Scores(NamedTuple):
    """Scores and attention of a batch of B pairs."""

    log_probs: np.ndarray  # (B,T) float32: log p(y_j | y_<j, x) in nats, with EOS; 0 at padding
    alignment: np.ndarray | None  # (B,T,S) float32: attention over the source with EOS


class Scorer:
    """Forced decoding of one model."""

    def __init__(self, model: PreparedModel, *, with_alignment: bool):
        from ..network import graphs

        self._session = model.session(graphs.scoring(model.network))
        self._names = ["log_probs"]
        if with_alignment and "alignment" in self._session.outputs:
            self._names.append("alignment")

    def share_processors(self) -> None:
        """See `Session.share_processors`."""
        self._session.share_processors()

    def __call__(
        self,
        source: np.ndarray,
        source_mask: np.ndarray,
        target: np.ndarray,
        target_mask: np.ndarray,
    ) -> Scores:
        """source (B,S,F) and target (B,T) int32, ended by EOS; masks (B,S) and (B,T) float32."""
        words = _words(target_mask)
        inputs = {"source": source, "source_mask": source_mask, "target": target, "words": words}
        found, *alignment = self._session.run(self._names, inputs)
        log_probs = np.zeros(target_mask.T.shape, np.float32)
        log_probs.ravel()[words] = found
        return Scores(np.ascontiguousarray(log_probs.T), alignment[0] if alignment else None)


class TopWords:
    """The K most probable words at each position of known translations, by an ensemble."""

    def __init__(self, models: Sequence[PreparedModel], weights: Sequence[float], k: int):
        from ..network import graphs

        graph = graphs.ranking([model.network for model in models], weights)
        self._session, self._k = models[0].session(graph), k

    def share_processors(self) -> None:
        """See `Session.share_processors`."""
        self._session.share_processors()

    def __call__(
        self, sources: Sources, target: np.ndarray, target_mask: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ids (N,K) int32 and log-probabilities (N,K) float32, sentence by sentence.

        sources: ids (B,S,F) and mask (B,S) for each model; target and its mask: (B,T). The models'
        log-probabilities are added with their weights and normalised.
        """
        inputs = {
            "target": target,
            "words": _words(target_mask),
            "count": np.array(self._k, "int32"),
        }
        for number, (source, mask) in enumerate(sources):
            inputs |= {f"source.{number}": source, f"source_mask.{number}": mask}
        ids, log_probs = self._session.run(["best", "log_probs"], inputs)
        place, sentence = np.nonzero(target_mask.T)
        order = np.lexsort((place, sentence))
        return ids[order], log_probs[order]


class Members:
    """Scores by each model of an ensemble, because a search keeps only their mean attention."""

    def __init__(self, models: Sequence[PreparedModel]):
        self._scorers = [Scorer(model, with_alignment=True) for model in models]

    def __call__(self, sources: Sources, words: Sequence[int]) -> list[Scores]:
        """Score one line's T words, including EOS if it is finished: (T,) and (T,S) for each model.

        sources: the line as each model reads it.
        """
        target = np.array([words], np.int32)
        mask = np.ones(target.shape, np.float32)
        return [
            Scores(scores.log_probs[0], None if scores.alignment is None else scores.alignment[0])
            for each, source in zip(self._scorers, sources, strict=True)
            for scores in [each(*source, target, mask)]
        ]


def _words(mask: np.ndarray) -> np.ndarray:
    """The places in (T,B) of words that are not padding: (B,T) -> (N,) int32."""
    return np.flatnonzero(mask.T).astype(np.int32)


def max_tokens_of(workspace: int, s: Structure) -> int:
    """The number of padded words, at least 1, on either side, that fit the workspace (MiB)."""
    # a target word needs logits, their exponentials and a copy, states and the readout's inputs
    per_token = 4.0 * (3 * s.target_vocabulary + 24 * s.state + 8 * s.context)
    return max(1, int(workspace * 2**20 / per_token))
