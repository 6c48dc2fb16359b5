"""What attention costs that is not where word alignments say.

Chen et al. 2016, "Guided alignment training for topic-aware neural machine translation".
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import tensorflow as tf

EPSILON = 1e-6  # Marian's

AttentionCost = Literal["ce", "mse", "mult"]


class Guide(NamedTuple):
    """How attention is guided."""

    cost: AttentionCost = "ce"
    weight: float = 0.1  # of a word's alignment cost, beside its own


def attention_costs(alignment: tf.Tensor, shares: tf.Tensor, cost: AttentionCost) -> tf.Tensor:
    """Cost of the attention at each target word, 0 at those that are aligned to nothing: (B,T).

    alignment: (B,T,S), alpha_ij; shares: (B,T,S), A_ij, of one a word with alignments. With A_j the
    words that target word j is aligned to,

        ce    - sum_i A_ij log(alpha_ij + e)
        mse   sum_i (alpha_ij - A_ij)^2 / 2
        mult  - log(sum_{i in A_j} alpha_ij + e)

    Marian's ce is the same but for EOS, which it always aligns to EOS, and for the divisor, to
    which it adds the weighted number of points. Its mse (up to 1.9) takes 1 for each aligned word,
    not a share, counts words without alignments too, and divides by all positions, padding among
    them; its mult is the logarithm of one sum over the whole batch.
    """
    if cost == "ce":
        return -tf.reduce_sum(shares * tf.math.log(alignment + EPSILON), axis=-1)
    if cost == "mse":
        aligned = tf.reduce_sum(shares, axis=-1)  # 1 or 0
        return aligned * tf.reduce_sum(tf.square(alignment - shares), axis=-1) / 2
    aligned = tf.cast(shares > 0, tf.float32)
    mass = tf.reduce_sum(aligned * alignment, axis=-1)
    return -tf.math.log(mass + EPSILON) * tf.reduce_max(aligned, axis=-1)
