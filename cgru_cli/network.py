"""The one seam of the computation: `encode`, `start`, `step`.

A `Network` is a model's arrays made ready to be multiplied: products that share an input are
joined, normalised weights and old dropout folded in. Training scans `step`, search loops it,
scoring sums it, ensembles average it. Parameters come by the names of `names.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import tensorflow as tf

from . import equations as eq
from .cells import Attention, Conditional, Place, Readers, Recurrence, Transition
from .product import Fixed, Product, Products
from .scan import scan
from .structure import DIRECTIONS, Activation, Cell, Normalization, Structure
from .weights import Weights


class Memory(NamedTuple):
    """What the encoder leaves to the decoder; kept for the whole sentence."""

    annotations: tf.Tensor  # (B,S,C) compute dtype: [forward ; backward]
    projected: tf.Tensor  # (B,S,A) compute dtype: W_a h_i + b_a, normalised
    mask: tf.Tensor  # (B,S) float32: 1 at words and EOS
    embeddings: tf.Tensor  # (B,S,Es) float32: for the lexical model


class State(NamedTuple):
    """The decoder's state in a search; R rows are hypotheses, each of one sentence."""

    base: tf.Tensor  # (R,D) float32: s_j of the conditional cell
    high: tuple[tf.Tensor, ...]  # (R,D) float32 each: levels above
    sentence: tf.Tensor  # (R,) int32: row of the memory
    slot: tf.Tensor  # (R,) int32: number of the hypothesis within its sentence


class Network:
    """The computation of one model.

    arrays: every parameter by its DL4MT/Nematus name; variables or plain arrays. dtype: that of
    the products; states, alignments and softmax stay float32. masks: dropout of training, by the
    names of `dropout.py`, each (B,N) for a batch of B sentences.
    """

    def __init__(
        self,
        structure: Structure,
        arrays: Mapping,
        dtype: str = "float32",
        masks: Mapping[str, tf.Tensor] | None = None,
    ):
        self.structure = structure
        self.dtype = tf.as_dtype(dtype)
        self.masks = masks or {}
        self._w = Weights(structure, arrays)
        self._prepare_encoder()
        self._prepare_decoder()
        self._prepare_readout()
        del self._w  # what is joined need not be held twice

    # -- made ready ----------------------------------------------------------------------------

    def _product(self, *groups: tuple[str, ...]) -> Products:
        """The product with all matrices at the groups' paths."""
        matrices = [[self._w[path] for path in group] for group in groups]
        masks = [self.masks.get(path) for group in groups for path in group]
        return Products.of(matrices, self.dtype, masks)

    def _prepare_encoder(self) -> None:
        s, w = self.structure, self._w
        self.source_embeddings = [
            w[f"encoder/embedding{factor or ''}"] for factor in range(len(s.source_embeddings))
        ]
        self.encoder = []
        for level in s.encoder_levels():
            directions = []
            for direction in DIRECTIONS:
                cells = s.encoder_cells(direction, level)
                inputs = self._product(_inputs(cells[0]))
                directions.append((inputs, [self._recurrent(cell) for cell in cells]))
            self.encoder.append(directions)

    def _recurrent(self, cell: Cell) -> Transition:
        return self._product(_recurrent(cell)), self._w.gru(cell)

    def _prepare_decoder(self) -> None:
        s, w = self.structure, self._w
        shared = s.shared_embeddings
        self.target_embedding = w["encoder/embedding" if shared else "decoder/embedding"]
        first, second, *transitions = s.base_cells()
        # Products are joined by their input: y_{j-1}; s_{j-1}; s'_j; c_j
        self.of_embedding = self._product(_inputs(first), ("decoder/readout/prev/W",))
        self.of_state = self._product(_recurrent(first))
        self.of_intermediate = self._product(("decoder/attention/W_comb_att",), _recurrent(second))
        self.of_context = self._product(_inputs(second), ("decoder/readout/ctx/W",))
        self.first, self.second = w.gru(first), w.gru(second)
        self.transitions = [self._recurrent(cell) for cell in transitions]
        self.high = []
        for level in s.high_levels():
            cells = s.high_cells(level)
            inputs = self._product(_inputs(cells[0]))
            self.high.append((inputs, [self._recurrent(cell) for cell in cells]))
        attention = "decoder/attention"
        self.of_annotation = self._product((f"{attention}/Wc_att",))
        self.attention_bias = w[f"{attention}/b_att"]
        self.attention_v = tf.cast(w[f"{attention}/U_att"], self.dtype)
        self.annotation_norm = w.norm(f"{attention}/Wc_att", f"{attention}/gamma1")
        self.query_norm = w.norm(f"{attention}/W_comb_att", f"{attention}/gamma2")
        self.start_layer = self._feed_forward("decoder/start")

    def _feed_forward(self, path: str) -> tuple[Products, tf.Tensor, eq.Norm | None]:
        return (
            self._product((f"{path}/W",)),
            self._w[f"{path}/b"],
            self._w.norm(f"{path}/W", f"{path}/gamma"),
        )

    def _prepare_readout(self) -> None:
        s, w = self.structure, self._w
        self.of_top = self._product(("decoder/readout/lstm/W",))
        self.readout_parts = [
            (w[f"decoder/readout/{part}/b"],
             w.norm(f"decoder/readout/{part}/W", f"decoder/readout/{part}/gamma"))
            for part in ("lstm", "prev", "ctx")
        ]  # fmt: skip
        prelu = s.readout_activation is Activation.PRELU
        self.prelu_slope = w["decoder/readout/prelu_slope"] if prelu else None
        self.output = Products.of([[w.output()]], self.dtype, [self.masks.get("decoder/output/W")])
        self.output_bias = w["decoder/output/b"]
        self.mixture = None
        if s.mixture > 1:
            self.mixture = (
                self._product(("decoder/mixture/pi/W",)),
                w["decoder/mixture/pi/b"],
                [self._feed_forward(f"decoder/mixture/hidden{k}") for k in range(s.mixture)],
            )
        self.lexical = None
        if s.lexical:
            self.lexical = (
                self._feed_forward("decoder/lexical/hidden"),
                self._product(("decoder/lexical/output/W",)),
                w["decoder/lexical/output/b"],
            )

    # -- the seam ------------------------------------------------------------------------------

    def encode(self, source: tf.Tensor, mask: tf.Tensor, *, differentiable: bool = False) -> Memory:
        """Annotations of the source.

        source: (B,S) int32, or (B,S,F) with F factors, each sentence ended by EOS;
        mask: (B,S) float32, 1 at words and EOS.
        """
        if source.shape.rank == 2:
            source = source[..., None]
        time_major = tf.transpose(source, [1, 0, 2])
        embeddings = tf.concat(
            [
                tf.gather(embedding, time_major[..., factor])
                for factor, embedding in enumerate(self.source_embeddings)
            ],
            axis=-1,
        )
        if "source" in self.masks:  # whole words
            embeddings *= tf.transpose(self.masks["source"])[..., None]
        steps = tf.transpose(mask)[..., None]  # (S,B,1)
        below = [embeddings, embeddings]  # what the forward and the backward cell read
        for level, directions in enumerate(self.encoder, start=1):
            states = self._encode_level(directions, below, steps, differentiable)
            if level > 1 and self.structure.residual:
                states = [state + read for state, read in zip(states, below, strict=True)]
            below = states[::-1] if self.structure.alternating else states
        # the forward reader's states first, whatever stack it belongs to
        annotations = tf.transpose(tf.concat(states, axis=-1), [1, 0, 2])
        if "annotations" in self.masks:
            annotations *= self.masks["annotations"][:, None]
        return self._memory(annotations, mask, tf.transpose(embeddings, [1, 0, 2]))

    def _memory(self, annotations: tf.Tensor, mask: tf.Tensor, embeddings: tf.Tensor) -> Memory:
        read = annotations
        if self.of_annotation.masks[0] is not None:  # (B,C) for (B,S,C)
            read = annotations * self.of_annotation.masks[0].value[:, None]
        (projected,) = self.of_annotation._replace(masks=[None])(read)
        if self.annotation_norm and self.annotation_norm.kind is Normalization.MARIAN:
            projected = eq.normalize(projected, self.annotation_norm) + self.attention_bias
        else:
            projected = eq.normalize(projected + self.attention_bias, self.annotation_norm)
        return Memory(
            tf.cast(annotations, self.dtype), tf.cast(projected, self.dtype), mask, embeddings
        )

    def _encode_level(
        self, directions: list, below: list[tf.Tensor], mask: tf.Tensor, differentiable: bool
    ) -> list[tf.Tensor]:
        """Both readers of one level over (S,B,N) inputs -> two (S,B,D), by source position."""
        inputs, cells = [], []
        for (product, of_direction), x in zip(directions, below, strict=True):
            (xW,) = product(x)
            inputs.append(of_direction[0][1].of_input(xW))
            cells.append(of_direction)
        zeros = tf.zeros([tf.shape(mask)[1], self.structure.state])
        (forward, backward), _ = scan(
            Readers(*cells),
            (zeros, zeros),
            (inputs[0], tf.reverse(inputs[1], [0])),
            (mask, tf.reverse(mask, [0])),
            differentiable=differentiable,
        )
        return [forward, tf.reverse(backward, [0])]

    def start(self, memory: Memory) -> State:
        """s_0 = tanh(mean_i(h_i) W_init + b), one row a sentence, the same at every level."""
        product, bias, norm = self.start_layer
        mean = eq.mean_annotation(tf.cast(memory.annotations, tf.float32), memory.mask)
        (start,) = product(mean)
        start = tf.tanh(_affine_norm(start, bias, norm))
        rows = tf.range(tf.shape(start)[0])
        high = tuple(start for _ in self.high)
        return State(start, high, rows, tf.zeros_like(rows))

    def step(
        self, state: State, previous: tf.Tensor, memory: Memory
    ) -> tuple[tf.Tensor, State, tf.Tensor]:
        """One target word: logits (R,V), the new state, the alignment (R,S).

        previous: (R,) int32, the word before; -1 at the start, where its embedding is zeros.
        """
        x, readout_of_previous = self.embed(previous)
        cell = self.conditional(memory, Place(state.sentence, state.slot))
        recurrence, (base, *high) = cell.step((state.base, *state.high), x)
        words = None
        if self.lexical:
            rows = tf.gather(memory.embeddings, state.sentence)
            words = tf.linalg.matvec(rows, recurrence.alignment, transpose_a=True)
        logits = self.read_out(recurrence, readout_of_previous, words)
        return logits, state._replace(base=base, high=tuple(high)), recurrence.alignment

    def embed(
        self, previous: tf.Tensor, kept: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """E[y_{j-1}] times what it is multiplied with: (...,3D) for REC1, (...,E) to read out.

        kept: dropout of whole words, of the shape of previous.
        """
        known = tf.cast(previous >= 0, tf.float32)
        if kept is not None:
            known *= kept
        embedding = tf.gather(self.target_embedding, tf.maximum(previous, 0)) * known[..., None]
        xW, readout = self.of_embedding(embedding)
        return self.first.of_input(xW), readout

    def conditional(self, memory: Memory, place: Place | None = None) -> Conditional:
        """The decoder's cell over a batch; without a place, a row is a sentence."""
        attention = Attention(
            Product(memory.annotations),
            memory.projected,
            self.attention_v,
            self.query_norm,
            Fixed(memory.mask),
            place and Fixed(place),
        )
        return Conditional(
            self.of_state,
            self.first,
            self.of_intermediate,
            attention,
            self.of_context,
            self.second,
            self.transitions,
            self.high,
            self.structure.deep_context,
            self.structure.residual,
        )

    def read_out(
        self,
        recurrence: Recurrence,
        of_previous: tf.Tensor,
        words: tf.Tensor | None = None,
        sentence: tf.Tensor | None = None,
    ) -> tf.Tensor:
        """Logits of t_j = tanh(s_j U_o + E[y_{j-1}] V_o + c_j C_o + biases): (R,V) float32.

        words: (R,Es) sum_i alpha_ij E_x[x_i], of a lexical model. sentence: (R,) whose a row is,
        for dropout, where the rows are not one a sentence.
        """
        (of_top,) = self.of_top.for_rows(sentence)(recurrence.top)
        parts = (of_top, of_previous, recurrence.context)
        t = tf.add_n(
            [
                _affine_norm(part, bias, norm)
                for part, (bias, norm) in zip(parts, self.readout_parts, strict=True)
            ]
        )
        t = eq.activate(t, self.structure.readout_activation, self.prelu_slope)
        if self.mixture:
            of_pi, pi_bias, hidden = self.mixture
            (pi,) = of_pi.for_rows(sentence)(t)
            logits = []
            for product, bias, norm in hidden:
                (t_k,) = product.for_rows(sentence)(t)
                t_k = tf.tanh(_affine_norm(t_k, bias, norm))
                logits.append(self._logits(t_k, sentence))
            return eq.mix(pi + pi_bias, logits)
        logits = self._logits(t, sentence)
        if self.lexical:
            (product, bias, norm), output, output_bias = self.lexical
            l = tf.tanh(words)
            (hidden,) = product.for_rows(sentence)(l)
            l = tf.tanh(_affine_norm(hidden, bias, norm)) + l
            logits += output.for_rows(sentence)(l)[0] + output_bias
        return logits

    def _logits(self, t: tf.Tensor, sentence: tf.Tensor | None) -> tf.Tensor:
        (logits,) = self.output.for_rows(sentence)(t)
        return tf.nn.bias_add(logits, self.output_bias)


def _inputs(cell: Cell) -> tuple[str, ...]:
    """Paths of what multiplies a cell's input."""
    return f"{cell.path}/W", f"{cell.path}/Wx"


def _recurrent(cell: Cell) -> tuple[str, ...]:
    """Paths of what multiplies a cell's state."""
    return f"{cell.path}/U", f"{cell.path}/Ux"


def _affine_norm(xW: tf.Tensor, bias: tf.Tensor, norm: eq.Norm | None) -> tf.Tensor:
    """Nematus: LN(x W + b); Marian: LN(x W) + b."""
    if norm is not None and norm.kind is Normalization.MARIAN:
        return eq.normalize(xW, norm) + bias
    return eq.normalize(xW + bias, norm)
