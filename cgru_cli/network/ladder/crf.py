"""Linear-chain CRF: tags that depend on those beside them (Lafferty et al. 2001).

e_t are the logits of a tagger. With a score a for the first tag of a line, b for its last, and A
for each two that follow each other, its tags y_1..y_n have

    score(y) = a[y_1] + sum_t e_t[y_t] + sum_{t<n} A[y_t, y_{t+1}] + b[y_n]
    p(y | x) = exp(score(y)) / Z,    Z = sum_y' exp(score(y'))

It writes tag after tag like any other model, once it is known what can follow each (the backward
algorithm):

    f_n[y] = b[y],    f_t[y] = log sum_y' exp(A[y, y'] + e_{t+1}[y'] + f_{t+1}[y'])
    p(y_t | y_{t-1}, x) = softmax(A[y_{t-1}] + e_t + f_t)[y_t],    A[y_0] = a

whose product over t is p(y | x). A search has max in the place of log sum exp (Viterbi): each tag
then adds what makes the sum that of the best tagging which goes on so, and a beam of k keeps the k
best taggings.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from ...parameters.structure import FIRST_LABEL
from ..layers import Layers
from ..products import Product
from ..scan import ScanCell, scan
from .labels import Labelled

SMALLEST = 1e-37  # a sum, of numbers the largest of which is 1


class Sums(NamedTuple):
    """f_t of all that may follow, step by step from the end of a line."""

    product: Product  # by exp(A)^T, which takes a fraction of the time of a sum for each two tags

    def step(self, f: tf.Tensor, e: tf.Tensor, inside: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """f_{t+1}, e_{t+1} (B,L) -> f_t; inside: (B,1), 1 where there is a word t+1."""
        x = e + f
        # its gradient cancels; as a third term it would be added in an order that differs from
        # trace to trace, and a resumed training round otherwise
        largest = tf.stop_gradient(tf.reduce_max(x, axis=-1, keepdims=True))
        (sums,) = self.product(tf.exp(x - largest))
        f = tf.where(inside > 0, largest + tf.math.log(tf.maximum(sums, SMALLEST)), f)
        return f, f


class Best(NamedTuple):
    """f_t of the best that may follow."""

    transitions: tf.Tensor  # (L,L): A

    def step(self, f: tf.Tensor, e: tf.Tensor, inside: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """As that of `Sums`."""
        best = tf.reduce_max(self.transitions + (e + f)[:, None], axis=-1)
        f = tf.where(inside > 0, best, f)
        return f, f


class Chain:
    """The scores of tags beside each other."""

    def __init__(self, layers: Layers):
        self.start, self.end, self.transitions = (
            layers[f"decoder/crf/{name}"] for name in ("start", "end", "transitions")
        )

    def labelled(self, e: tf.Tensor, count: tf.Tensor, search: bool) -> Labelled:
        """What a step reads of e (B,W,L), the logits of `count` (B,) words a line."""
        of_transitions = Product(tf.exp(tf.transpose(self.transitions)))
        summed = e + _following(Sums(of_transitions), e, count, self.end)
        if not search:
            return Labelled(summed, count, (), ())
        best = e + _following(Best(self.transitions), e, count, self.end)
        log_z = tf.reduce_logsumexp(self.start + summed[:, 0], axis=-1)
        return Labelled(best, count, (), (), log_z)

    def before(self, previous: tf.Tensor) -> tf.Tensor:
        """A[y_{t-1}] of tags (..) int32, a where there is none, -1: (..,L)."""
        rows = tf.concat([self.start[None], self.transitions], axis=0)
        return tf.gather(rows, tf.maximum(previous - FIRST_LABEL + 1, 0))


def _following(cell: ScanCell, e: tf.Tensor, count: tf.Tensor, end: tf.Tensor) -> tf.Tensor:
    """f (B,W,L) of e (B,W,L); end: (L,), of the last word."""
    places = tf.range(1, tf.shape(e)[1] + 1)
    inside = tf.cast(places < count[:, None], e.dtype)[..., None]
    later = tf.concat([e[:, 1:], tf.zeros_like(e[:, :1])], axis=1)
    from_end = [tf.reverse(tf.transpose(x, [1, 0, 2]), [0]) for x in (later, inside)]
    f, _ = scan(cell, tf.zeros_like(e[:, 0]) + end, *from_end)
    return tf.transpose(tf.reverse(f, [0]), [1, 0, 2])
