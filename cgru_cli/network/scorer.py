"""Scores of given translations, batch by batch."""

from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from ..parameters.structure import Structure
from .forced_decoding import Words, unroll
from .inference import compiled
from .network import Network
from .scores import Scores
from .word_costs import word_costs


class Scorer:
    """Forced decoding of a model, traced once for all shapes."""

    def __init__(self, network: Network, *, with_alignment: bool):
        def scored(*batch: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor | tuple]:
            log_probs, alignment = score(network, *batch)
            return log_probs, alignment if with_alignment else ()

        self._score = compiled(scored, *signature(network.structure))

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


class TopWords:
    """The K most probable words at each position of given translations, by an ensemble."""

    def __init__(self, networks: Sequence[Network], weights: Sequence[float], k: int):
        self._weights, self._k = weights, k
        self._each = [self._log_probs(network) for network in networks]

    @staticmethod
    def _log_probs(network: Network) -> Callable[..., tf.Tensor]:
        """Log-probabilities of all words at the N non-padding positions, time first: (N,V)."""

        def computed(*batch: tf.Tensor) -> tf.Tensor:
            source, source_mask, target, mask = batch
            unrolled = unroll(network, source, source_mask, target)
            words = Words.of(mask)
            return tf.nn.log_softmax(
                network.read_out(*words.rows(unrolled), sentence=words.sentence)
            )

        return compiled(computed, *signature(network.structure))

    def __call__(
        self,
        sources: Sequence[tuple[np.ndarray, np.ndarray]],
        target: np.ndarray,
        target_mask: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Ids (N,K) int32 and log-probabilities (N,K) float32, sentence by sentence.

        sources: ids (B,S,F) and mask (B,S) for each model; target and its mask: (B,T). The models'
        log-probabilities are added with their weights and normalised.
        """
        given = tf.convert_to_tensor(target), tf.convert_to_tensor(target_mask)
        of_models = [
            each(*map(tf.convert_to_tensor, source), *given)
            for each, source in zip(self._each, sources, strict=True)
        ]
        (log_probs, *others) = of_models
        if others:
            weighted = [w * one for w, one in zip(self._weights, of_models, strict=True)]
            log_probs = tf.nn.log_softmax(tf.add_n(weighted))
        values, ids = tf.math.top_k(log_probs, self._k)
        place, sentence = np.nonzero(target_mask.T)
        order = np.lexsort((place, sentence))
        return ids.numpy()[order], values.numpy()[order]


def signature(structure: Structure) -> tuple[tf.TensorSpec, ...]:
    """The types of a batch: source (B,S,F), its mask (B,S), target (B,T) and its mask (B,T)."""
    mask = tf.TensorSpec([None, None])
    source = tf.TensorSpec([None, None, structure.source_columns], tf.int32)
    return source, mask, tf.TensorSpec([None, None], tf.int32), mask


def score(
    network: Network,
    source: tf.Tensor,
    source_mask: tf.Tensor,
    target: tf.Tensor,
    mask: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """The tensors of `Scores`; the readout skips padding."""
    unrolled = unroll(network, source, source_mask, target)
    words = Words.of(mask)
    logits = network.read_out(*words.rows(unrolled), sentence=words.sentence)
    return words.put_back(-word_costs(logits, words.taken(target)), mask), unrolled.alignment()
