"""The training objectives: cross-entropy, with guided attention, and expected risk.

Each objective is a sum over a batch's sentences, so that batches can be added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import tensorflow as tf

from ..corpus.batches import Batch
from ..network.forced_decoding import Unrolled, unroll
from ..network.network import Network
from ..parameters.structure import FIRST_LABEL
from .word_costs import word_costs
from .words import Words, time_first


class Candidates(NamedTuple):
    """K translations of each of G sources as G*K sentences, reference first."""

    examples: Batch
    risk: tf.Tensor  # (G,K) float32: of each translation
    kept: tf.Tensor  # (G,K) float32: 1 for translations that the expected risk counts


class Objective(Protocol):
    """An objective to minimise."""

    def cost(self, network: Network, batch: Any) -> tf.Tensor:
        """The sum of costs over a batch: ()."""


@dataclass(frozen=True)
class CrossEntropy:
    """-log p(y_j | y_<j, x) of every word, in nats, plus the cost of the guided attention.

    With label smoothing e (Szegedy et al. 2016, as Marian): (1-e) times this cost, plus e times the
    mean of -log p(v | y_<j, x) over the vocabulary. The weights of a batch multiply both costs of a
    word, so a sentence of weight 0 has no effect; in Marian they multiply only the first cost.

    Word-level distillation (Kim and Rush 2016): with a teacher, -log p(y_j | y_<j, x) becomes
    (1-w) times itself plus w times the cross-entropy with the teacher's probabilities q of its most
    probable words, - sum_v q(v) log p(v | y_<j, x).
    """

    label_smoothing: float = 0.0
    guide: Guide | None = None
    teacher_weight: float = 0.0

    def cost(self, network: Network, batch: Batch) -> tf.Tensor:
        words = TargetWords.of(network, batch, self.teacher_weight)
        cost = tf.reduce_sum(words.costs(self.label_smoothing))
        if self.guide is not None and self.guide.weight:
            attention = words.unrolled.alignment()
            costs = attention_costs(attention, batch.alignment, self.guide.cost)
            cost += self.guide.weight * tf.reduce_sum(costs * words.weights)
        return cost


@dataclass(frozen=True)
class ExpectedRisk:
    """Minimum risk training (Shen et al. 2016; Nematus' --objective MRT).

    sum_k Q_k risk_k, Q_k = p(y_k | x)^alpha / sum_l p(y_l | x)^alpha over the kept translations
    of a source, plus `mix` times the reference's cross-entropy per word. Label smoothing (see
    `CrossEntropy`) applies only to the cross-entropy.
    """

    alpha: float = 0.005
    mix: float = 0.0
    label_smoothing: float = 0.0

    def cost(self, network: Network, batch: Candidates) -> tf.Tensor:
        words = TargetWords.of(network, batch.examples)
        sources, translations = tf.unstack(tf.shape(batch.risk))

        def sentence_costs(words: TargetWords, label_smoothing: float) -> tf.Tensor:
            """Sums of words' costs: (G,K)."""
            costs = words.costs(label_smoothing)
            sums = tf.math.unsorted_segment_sum(costs, words.sentence, sources * translations)
            return tf.reshape(sums, [sources, translations])

        sums = sentence_costs(words, 0.0)  # -log p(y_k | x)
        masked = tf.where(
            batch.kept > 0, -self.alpha * sums, tf.fill(tf.shape(sums), sums.dtype.min)
        )
        cost = tf.reduce_sum(tf.nn.softmax(masked) * batch.risk)
        if self.mix:
            if self.label_smoothing:
                sums = sentence_costs(words.first_of_each(translations), self.label_smoothing)
            lengths = tf.reduce_sum(batch.examples.target_mask, axis=1)
            lengths = tf.reshape(lengths, tf.shape(sums))[:, 0]
            cost += self.mix * tf.reduce_sum(sums[:, 0] / tf.maximum(lengths, 1))
        return cost


class TargetWords(NamedTuple):
    """The N target words of a batch along one axis, and a network's logits for them."""

    logits: tf.Tensor  # (N,V) float32; (N,L) for labels
    targets: tf.Tensor  # (N,) int32; (N,1+K) with a teacher: reference's word, teacher's words
    weight: tf.Tensor  # (N,) float32: the factor of each word's cost; 0 at padding
    sentence: tf.Tensor  # (N,) int32: the sentence of each word
    weights: tf.Tensor  # (B,T) float32: `weight` by sentence and position
    unrolled: Unrolled
    compiled: bool  # whether XLA compiles the step
    shares: tf.Tensor | None = None  # (N,1+K) float32: of the targets; None without a teacher

    @classmethod
    def of(cls, network: Network, examples: Batch, teacher_weight: float = 0.0) -> TargetWords:
        """The words of a batch by forced decoding; a packed network skips padding."""
        source, source_mask, target, mask, weights, *_ = examples
        unrolled = unroll(network, source, source_mask, target, differentiable=True)
        weights = mask if isinstance(weights, tuple) else mask * weights
        read_out: Any = network.read_out
        if not network.structure.type.writes_text:  # EOS after the labels is certain and has cost 0
            read_out = read_out.labels
            weights *= tf.cast(target >= FIRST_LABEL, weights.dtype)
            target = tf.maximum(target - FIRST_LABEL, 0)
        shares = None
        if teacher_weight:
            of_reference = tf.fill([*tf.unstack(tf.shape(target)), 1], 1 - teacher_weight)
            of_teacher = tf.multiply(teacher_weight, examples.teacher_shares)
            shares = tf.concat([of_reference, of_teacher], axis=-1)
            target = tf.concat([target[..., None], examples.teacher_words], axis=-1)
        if network.packed:
            words = Words.of(mask)
            logits = read_out(*words.rows(unrolled), sentence=words.sentence)
            take, sentence = words.taken, words.sentence
        else:
            logits = read_out(*unrolled)
            logits = tf.reshape(logits, [-1, logits.shape[-1]])
            take, sentence = time_first, tf.range(tf.size(mask)) % tf.shape(mask)[0]
        if shares is not None:
            shares = take(shares)
        flat = logits, take(target), take(weights), sentence
        return cls(*flat, weights, unrolled, not network.packed, shares)

    def costs(self, label_smoothing: float) -> tf.Tensor:
        """The weighted cost of each word, in nats: (N,)."""
        costs = word_costs(
            self.logits, self.targets, label_smoothing, shares=self.shares, compiled=self.compiled
        )
        return costs * self.weight

    def first_of_each(self, group: tf.Tensor) -> TargetWords:
        """The words of the first sentence of each `group` () of sentences."""
        if self.compiled:  # with fixed shapes: every group-th of all positions
            index = tf.range(tf.size(self.targets))[::group]
        else:
            index = tf.where(self.sentence % group == 0)[:, 0]
        logits, targets, weight, sentence = (tf.gather(x, index) for x in self[:4])
        return self._replace(logits=logits, targets=targets, weight=weight, sentence=sentence)


EPSILON = 1e-6  # Marian's

AttentionCost = Literal["ce", "mse", "mult"]


class Guide(NamedTuple):
    """Guided attention: a cost for deviating from word alignments (Chen et al. 2016)."""

    cost: AttentionCost = "ce"
    weight: float = 0.1  # factor of a word's alignment cost


def attention_costs(attention: tf.Tensor, alignment: tf.Tensor, cost: AttentionCost) -> tf.Tensor:
    """Cost of the attention at each target word, 0 at words without alignments: (B,T).

    attention: (B,T,S), alpha_ij; alignment: (B,T,S), A_ij, which sums to 1 at a target word with
    alignments and to 0 at others. A_j are the source words aligned to target word j.

        ce    - sum_i A_ij log(alpha_ij + e)
        mse   sum_i (alpha_ij - A_ij)^2 / 2
        mult  - log(sum_{i in A_j} alpha_ij + e)

    Marian's ce always aligns EOS to EOS and adds the weighted number of points to the divisor. Its
    mse (up to 1.9) uses 1 for each aligned word instead of a share, counts words without alignments
    too, and divides by all positions including padding. Its mult is the logarithm of one sum over
    the whole batch.
    """
    if cost == "ce":
        return -tf.reduce_sum(alignment * tf.math.log(attention + EPSILON), axis=-1)
    if cost == "mse":
        aligned = tf.reduce_sum(alignment, axis=-1)  # 1 or 0
        return aligned * tf.reduce_sum(tf.square(attention - alignment), axis=-1) / 2
    aligned = tf.cast(alignment > 0, tf.float32)
    mass = tf.reduce_sum(aligned * attention, axis=-1)
    return -tf.math.log(mass + EPSILON) * tf.reduce_max(aligned, axis=-1)
