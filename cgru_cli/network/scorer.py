"""Scores of given translations, batch by batch."""

import numpy as np
import tensorflow as tf

from .forced_decoding import Words, unroll
from .inference import compiled
from .network import Network
from .scores import Scores
from .word_costs import word_costs


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
