"""The recurrent cells: what is computed step by step, in the encoder and in the decoder.

Each is a nest of products, biases and constants with a `step`, which search calls for a row a
hypothesis, and `scan` runs over time, with its gradient. The equations are in `equations.py`.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from . import equations as eq
from .product import Fixed, Product, Products

Transition = tuple[Products, eq.GRU]  # h [U|Ux], and the rest of the cell


def transit(cells: list[Transition], h: tf.Tensor, x: tf.Tensor | None) -> tf.Tensor:
    """A cell and its transitions, each on the state the one before left; x enters the first."""
    for product, gru in cells:
        (hU,) = product(h)
        h = gru.step(h, hU, gru.of_input(None) if x is None else x)
        x = None
    return h


class Readers(NamedTuple):
    """Both readers of an encoder level, side by side: the second reads from the end."""

    forward: list[Transition]
    backward: list[Transition]

    def step(
        self,
        states: tuple[tf.Tensor, tf.Tensor],
        inputs: tuple[tf.Tensor, tf.Tensor],
        masks: tuple[tf.Tensor, tf.Tensor],
    ) -> tuple[tuple, tuple]:
        """states: (B,D) each; inputs: (B,3D) x W of each; masks: (B,1), 1 at words.

        A masked step keeps the state: the backward reader starts at the last word.
        """
        new = []
        for cells, h, x, mask in zip(self, states, inputs, masks, strict=True):
            state = transit(cells, h, x)
            new.append(h + mask * (state - h))
        return tuple(new), tuple(new)


class Place(NamedTuple):
    """Which sentence each row of a search belongs to, and its number there."""

    sentence: tf.Tensor  # (R,) int32
    slot: tf.Tensor  # (R,) int32


class Attention(NamedTuple):
    """Attention to the annotations of a batch (eq. 6-8); a row a sentence, unless placed."""

    annotations: Product  # (B,S,C): alpha_j -> c_j
    projected: tf.Tensor  # (B,S,A): W_a h_i + b_a, normalised
    v: tf.Tensor  # (A,1)
    query_norm: eq.Norm | None
    mask: Fixed  # (B,S) float32
    place: Fixed | None = None  # of a search

    def attend(self, query: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """query: (R,A) U_a s'_j -> alignment alpha_j (R,S), context c_j (R,C)."""
        query = tf.cast(eq.normalize(query, self.query_norm), self.projected.dtype)
        mask = self.mask.value
        if self.place is None:
            weights = eq.attend(self.projected, query[:, None], self.v, mask)
            (c,) = self.annotations(weights)
            return weights[:, 0], c[:, 0]
        place = tf.stack(self.place.value, axis=1)
        beam = tf.reduce_max(self.place.value.slot) + 1
        grid = tf.scatter_nd(place, query, [tf.shape(mask)[0], beam, query.shape[-1]])
        weights = eq.attend(self.projected, grid, self.v, mask)
        (c,) = self.annotations(weights)
        return tf.gather_nd(weights, place), tf.gather_nd(c, place)


class Recurrence(NamedTuple):
    """What a step's recurrent part hands to the readout."""

    top: tf.Tensor  # (R,D) output of the highest level
    context: tf.Tensor  # (R,E) c_j C_o
    alignment: tf.Tensor  # (R,S) alpha_j


class Conditional(NamedTuple):
    """REC1, ATT, REC2 (eq. 1-12), then the levels above."""

    of_state: Products
    first: eq.GRU
    of_intermediate: Products
    attention: Attention
    of_context: Products
    second: eq.GRU
    transitions: list[Transition]
    high: list[tuple[Products, list[Transition]]]
    deep_context: bool
    residual: bool

    def step(
        self, states: tuple[tf.Tensor, ...], x: tf.Tensor, _fixed: tuple = ()
    ) -> tuple[Recurrence, tuple[tf.Tensor, ...]]:
        """states: (R,D) of the conditional cell and each level above; x: (R,3D) E[y_{j-1}] W."""
        s_prev, *above = states
        (sU,) = self.of_state(s_prev)
        s1 = self.first.step(s_prev, sU, x)
        query, s1U = self.of_intermediate(s1)
        alignment, c = self.attention.attend(query)
        cW, readout = self.of_context(c)
        s = self.second.step(s1, s1U, self.second.of_input(cW))
        s = transit(self.transitions, s, None)
        new, top = [s], s
        for (product, cells), h in zip(self.high, above, strict=True):
            (xW,) = product(tf.concat([top, c], axis=-1) if self.deep_context else top)
            h = transit(cells, h, cells[0][1].of_input(xW))
            new.append(h)
            top = top + h if self.residual else h
        return Recurrence(top, readout, alignment), tuple(new)
