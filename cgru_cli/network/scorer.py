"""Scores of given translations, batch by batch."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from ..parameters.structure import Structure
from .forced_decoding import Words, unroll
from .inference import compiled
from .network import Network
from .word_costs import word_costs


class Scores(NamedTuple):
    """Scores and attention of a batch of B pairs."""

    log_probs: np.ndarray  # (B,T) float32: log p(y_j | y_<j, x) in nats, also of EOS; 0 at padding
    alignment: np.ndarray | None  # (B,T,S) float32: attention over the source with EOS


class Scorer:
    """Forced decoding of a model, traced once for all shapes."""

    def __init__(self, network: Network, *, with_alignment: bool):
        factors = network.structure.source_columns
        mask = tf.TensorSpec([None, None])
        source = tf.TensorSpec([None, None, factors], tf.int32)
        target = tf.TensorSpec([None, None], tf.int32)

        def scored(*batch: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor | tuple]:
            log_probs, alignment = score(network, *batch)
            return log_probs, alignment if with_alignment else ()

        signature = (source, mask, target, mask)
        self._score = compiled(scored, *signature)

    def __call__(
        self,
        source: np.ndarray,
        source_mask: np.ndarray,
        target: np.ndarray,
        target_mask: np.ndarray,
    ) -> Scores:
        """source (B,S,F) and target (B,T) int32, ended by EOS; masks (B,S) and (B,T) float32."""
        batch = map(tf.convert_to_tensor, (source, source_mask, target, target_mask))
        log_probs, alignment = self._score(*batch)
        return Scores(log_probs.numpy(), alignment.numpy() if tf.is_tensor(alignment) else None)


def score(
    network: Network,
    source: tf.Tensor,
    source_mask: tf.Tensor,
    target: tf.Tensor,
    mask: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """The tensors of `Scores`; padding is not read out."""
    unrolled = unroll(network, source, source_mask, target)
    words = Words.of(mask)
    logits = network.read_out(*unrolled.rows(words.index, words.places), words.sentence)
    return words.put_back(-word_costs(logits, words.taken(target)), mask), unrolled.alignment()


def max_tokens_of(workspace: int, s: Structure) -> int:
    """Padded words that a batch may have on either side to stay within the workspace (MiB)."""
    # a target word takes logits, their exponentials and a copy; states and the readout's inputs
    per_token = 4.0 * (3 * s.target_vocabulary + 24 * s.state + 8 * s.context)
    return max(1, int(workspace * 2**20 / per_token))


class Members:
    """Scores of each model of an ensemble: a search keeps only the mean of their attention."""

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
