"""Attention to the annotations, and the memory of the source that it needs.

W can be applied before the sum or after it: (sum_i alpha_ij h_i) W = sum_i alpha_ij (h_i W). In a
search, many hypotheses attend to one sentence, so W is applied once per source position instead of
to the context of every hypothesis in every step.
"""

import math
from typing import Any, NamedTuple

from ..parameters.structure import DecoderStart
from . import ops
from .encoder import Encoded
from .layers import Layers
from .normalization import Norm, normalize
from .ops import Tensor
from .products import Fixed, Product, Products

# floats of the hidden layer that a search computes at once: 4 MiB
TILE = 2**20


class Memory(NamedTuple):
    """The memory of a decoder that attends: `annotations`, or in a search `products`."""

    annotations: Tensor | tuple  # (B,S,C) compute dtype: h_i
    products: Tensor | tuple  # (B,S,N) compute dtype: h_i [W | C_o], plus h_i for deep_context
    projected: Tensor  # (B,S,A) float32: W_a h_i + b_a, normalised
    start: Tensor  # (B,D) float32: s_0
    mask: Tensor  # (B,S) float32: 1 at words and EOS
    embeddings: Tensor | tuple  # (B,S,Es) float32, for a lexical model


class Place(NamedTuple):
    """The sentence of each row in a search, and the row's index within it."""

    sentence: Tensor  # (R,) int32
    slot: Tensor  # (R,) int32


class Context(NamedTuple):
    """The context c_j and its products."""

    cW: Tensor  # (R,3D), or the width of the unit's products: c_j W
    readout: Tensor  # (R,R') c_j C_o
    itself: Tensor  # (R,C) c_j; (R,0) in a search unless higher levels read it


class Attention(NamedTuple):
    """Attention to the annotations of a batch (eq. 6-8); without `place`, a row is a sentence."""

    summed: Product  # (B,S,N): alpha_j -> c_j, or its products
    context_product: Products  # c_j [W | C_o]
    is_multiplied: bool  # whether `summed` returns products
    projected: Tensor  # (B,S,A): W_a h_i + b_a, normalised
    v: Tensor  # (A,1) if packed, else (A,)
    query_norm: Norm | None
    mask: Fixed  # (B,S) float32
    place: Fixed | None  # the `Place` of the rows, in a search
    packed: bool  # see `Network`
    tiled: bool  # whether a search computes energies in tiles

    def attend(self, query: Tensor) -> tuple[Tensor, Context]:
        """query: (R,A) U_a s -> alignment alpha_j (R,S), and the context."""
        query, mask = normalize(query, self.query_norm), self.mask.value
        if self.place is None:
            weights = attend(self.projected, query, self.v, mask, packed=self.packed)
            (c,) = self.summed(ops.expand_dims(weights, 1))
            return weights, self._context(ops.squeeze(c, 1))
        where = Place(*self.place.value)
        if self.tiled:
            energy = energies_in_tiles(
                self.projected, query, self.v, where.sentence, mask, packed=self.packed
            )
        else:
            projected = ops.take(self.projected, where.sentence)
            energy = energies(projected, query, self.v, packed=self.packed)
        weights = masked_softmax(energy, ops.take(mask, where.sentence))
        # one product computes the sums for all hypotheses of a sentence
        place, shape = ops.stack(where, axis=1), ops.shape(mask)
        beam = ops.max(where.slot) + 1
        (c,) = self.summed(ops.scatter(place, weights, [shape[0], beam, shape[1]]))
        return weights, self._context(ops.take_at(c, place))

    def _context(self, c: Tensor) -> Context:
        """c: (R,N), the weighted sum."""
        if not self.is_multiplied:
            cW, readout = self.context_product(c)
            return Context(cW, readout, c)
        width = self.context_product.width
        products, itself = ops.split(c, [width, c.shape[-1] - width], axis=-1)
        cW, readout = self.context_product.apart(products)
        return Context(cW, readout, itself)


class AttentionLayer:
    """The arrays of attention; `over` returns the attention to one batch.

    cell_arrays: the arrays of the decoder's cell that multiply the context.
    """

    def __init__(self, layers: Layers, cell_arrays: tuple[str, ...]):
        path = "decoder/attention"
        s, weights = layers.structure, layers.weights
        self.structure, self.dtype = s, layers.dtype
        self.packed, self.tiled = layers.packed, layers.tiled
        summed = any(map(s.adds_input, s.encoder_levels()))
        bounded = layers.bounded_states and not summed  # annotations, and their mean
        arrays = (cell_arrays, ("decoder/readout/ctx/W",))
        self.context_product = layers.product(*arrays, bounded=bounded)
        self.annotation_layer = layers.annotation_layer(path, bounded=bounded)
        self.v = layers.energy_vector(path)
        self.query_norm = weights.norm(f"{path}/W_comb_att", f"{path}/gamma2")
        self.start_layer = layers.affine("decoder/start")

    def memory(self, encoded: Encoded, search: bool) -> Memory:
        """The part of the computation that is the same in every step."""
        annotations: Any = encoded.annotations
        products = ()
        if self.structure.decoder_start is DecoderStart.LAST_BACKWARD:
            summary = annotations[:, 0, -self.structure.state :]
        else:
            summary = mean_annotation(annotations, encoded.mask)
        start = ops.tanh(self.start_layer(summary))
        projected = self.annotation_layer(annotations)
        if search:
            products = self.context_product.at_positions().joined(annotations)
            if self.structure.deep_context:
                products = ops.concat([products, annotations], axis=-1)
            annotations, products = (), ops.cast(products, self.dtype)
        else:
            annotations = ops.cast(annotations, self.dtype)
        embeddings = encoded.embeddings if self.structure.lexical else ()
        return Memory(annotations, products, projected, start, encoded.mask, embeddings)

    def over(self, memory: Memory, place: Place | None) -> Attention:
        """Attention to this batch."""
        search = ops.is_tensor(memory.products)
        return Attention(
            Product(memory.products if search else memory.annotations),
            self.context_product,
            search,
            memory.projected,
            self.v,
            self.query_norm,
            Fixed(memory.mask),
            place and Fixed(place),
            self.packed,
            self.tiled,
        )


def attend(projected: Tensor, query: Tensor, v: Tensor, mask: Tensor, *, packed: bool) -> Tensor:
    """Alignment alpha_ij = softmax_i e_ij (eq. 7), one row per sentence.

    projected: (B,S,A) W_a h_i + b_a; query: (B,A) U_a s'_j; v, packed: as in
    `energies`; mask: (B,S), 1 at words.
    Returns (B,S), zero at padding. All arrays are float32, because on CPUs tanh and its gradient
    take two to four times as long in 16-bit types.
    """
    return masked_softmax(energies(projected, query, v, packed=packed), mask)


def energies(projected: Tensor, query: Tensor, v: Tensor, *, packed: bool = True) -> Tensor:
    """e_ij = v_a^T tanh(W_a h_i + U_a s'_j) (eq. 8): (R,S).

    projected: (R,S,A); query: (R,A); v: (A,1) if packed (see `Network`), else (A,) or (R,A).
    """
    # not x[:, None]: its gradient would be copied into a tensor of zeros
    hidden = ops.tanh(projected + ops.expand_dims(query, 1))
    if not packed:  # XLA then does not store the hidden layer, which is large
        return ops.sum(hidden * ops.expand_dims(v, -2), axis=-1)
    energy = ops.matmul(ops.reshape(hidden, [-1, hidden.shape[-1]]), v)
    return ops.reshape(energy, ops.shape(hidden)[:2])


def energies_in_tiles(
    projected: Tensor,
    query: Tensor,
    v: Tensor,
    sentence: Tensor,
    mask: Tensor,
    *,
    packed: bool = True,
) -> Tensor:
    """The energies (R,S) of a search for queries (R,A) of sentences (R,), a few rows at a time.

    mask: (B,S); projected: (B,S,A); v, packed: as in `energies`. The hidden layer of few rows (a
    tile) fits into the processor's cache, which halves the time. A tile ends with its longest
    sentence; energies after that are -inf. All tiles have the same number of rows; the last one may
    repeat its last row.
    """
    words, width = ops.shape(projected)[1], projected.shape[-1]
    count, flat = ops.shape(query)[0], ops.reshape(projected, [-1, width])
    height = ops.maximum(1, TILE // (words * width))  # count * words * width may not fit an int32
    number = (count + height - 1) // height
    height = (count + number - 1) // number
    lengths = ops.take(ops.cast(ops.sum(mask, axis=1), "int32"), sentence)

    def tile(i: Tensor) -> Tensor:
        own = ops.minimum(i * height + ops.arange(height), count - 1)
        longest = ops.max(ops.take(lengths, own))
        places = ops.take(sentence, own)[:, None] * words + ops.arange(longest)
        energy = energies(ops.take(flat, places), ops.take(query, own), v, packed=packed)
        return ops.pad(energy, [[0, 0], [0, words - longest]], value=-math.inf)

    return ops.reshape(ops.stack_of(tile, number), [-1, words])[:count]


def masked_softmax(energy: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the words of each row: (R,S), zero where the mask (R,S) is zero."""
    weights = ops.exp(energy - ops.max(energy, axis=-1, keepdims=True)) * mask
    return weights / ops.sum(weights, axis=-1, keepdims=True)


def mean_annotation(annotations: Tensor, mask: Tensor) -> Tensor:
    """Mean over the words of a sentence, including EOS: (B,S,C), (B,S) -> (B,C)."""
    total = ops.vecmat(mask, annotations)
    return total / ops.sum(mask, axis=1, keepdims=True)
