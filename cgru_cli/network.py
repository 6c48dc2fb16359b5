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
from .names import parameters
from .structure import DIRECTIONS, Activation, Cell, Normalization, Structure


class Memory(NamedTuple):
    """What the encoder leaves to the decoder; kept for the whole sentence."""

    annotations: tf.Tensor  # (B,S,C) compute dtype: [forward ; backward]
    projected: tf.Tensor  # (B,S,A) compute dtype: W_a h_i + b_a, normalised
    mask: tf.Tensor  # (B,S) float32: 1 at words and EOS
    embeddings: tf.Tensor  # (B,S,Es) float32: for the lexical model


class State(NamedTuple):
    """The decoder's state; R rows are hypotheses, each of one sentence of the memory."""

    base: tf.Tensor  # (R,D) float32: s_j of the conditional cell
    high: tuple[tf.Tensor, ...]  # (R,D) float32 each: levels above
    sentence: tf.Tensor  # (R,) int32: row of the memory
    slot: tf.Tensor  # (R,) int32: number of the hypothesis within its sentence


class Recurrence(NamedTuple):
    """What a step's recurrent part hands to the readout."""

    top: tf.Tensor  # (R,D) output of the highest level
    context: tf.Tensor  # (R,C) c_j
    alignment: tf.Tensor  # (R,S) alpha_j
    lexical: tuple[tf.Tensor, ...]  # (R,Es) weighted source embedding, of a lexical model only


class Product:
    """x [W1|W2|..] for matrices that share an input, given and returned in groups."""

    def __init__(self, groups: list[list[tf.Tensor]], dtype: tf.DType):
        self.widths = [sum(int(matrix.shape[-1]) for matrix in group) for group in groups]
        matrices = [matrix for group in groups for matrix in group]
        joined = matrices[0] if len(matrices) == 1 else tf.concat(matrices, axis=1)
        self.matrix = tf.cast(joined, dtype)

    def __call__(self, x: tf.Tensor) -> list[tf.Tensor]:
        """x: (..., N) -> one float32 (..., width) a group."""
        matrix = self.matrix
        shape = tf.shape(x)
        flat = tf.reshape(x, [-1, x.shape[-1]]) if x.shape.rank > 2 else x
        y = tf.cast(tf.matmul(tf.cast(flat, matrix.dtype), matrix), tf.float32)
        if x.shape.rank > 2:
            y = tf.reshape(y, tf.concat([shape[:-1], [matrix.shape[-1]]], axis=0))
        return tf.split(y, self.widths, axis=-1) if len(self.widths) > 1 else [y]


class Network:
    """The computation of one model.

    arrays: every parameter by its DL4MT/Nematus name; variables or plain arrays. dtype: that of
    the products; states, alignments and softmax stay float32.
    """

    def __init__(self, structure: Structure, arrays: Mapping, dtype: str = "float32"):
        self.structure = structure
        self.dtype = tf.as_dtype(dtype)
        self._w = _Weights(structure, arrays)
        self._prepare_encoder()
        self._prepare_decoder()
        self._prepare_readout()
        del self._w  # what is joined need not be held twice

    # -- made ready ----------------------------------------------------------------------------

    def _product(self, *groups: tuple[str, ...]) -> Product:
        """The product with all matrices at the groups' paths."""
        return Product([[self._w[path] for path in group] for group in groups], self.dtype)

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

    def _recurrent(self, cell: Cell) -> tuple[Product, eq.GRU]:
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

    def _feed_forward(self, path: str) -> tuple[Product, tf.Tensor, eq.Norm | None]:
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
        self.output = Product([[w.output()]], self.dtype)
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

    def encode(self, source: tf.Tensor, mask: tf.Tensor) -> Memory:
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
        steps = tf.transpose(mask)[..., None]  # (S,B,1)
        below = [embeddings, embeddings]  # what the forward and the backward cell read
        for level, directions in enumerate(self.encoder, start=1):
            states = self._encode_level(directions, below, steps)
            if level > 1 and self.structure.residual:
                states = [state + read for state, read in zip(states, below, strict=True)]
            below = states[::-1] if self.structure.alternating else states
        # the forward reader's states first, whatever stack it belongs to
        annotations = tf.transpose(tf.concat(states, axis=-1), [1, 0, 2])
        (projected,) = self.of_annotation(annotations)
        if self.annotation_norm and self.annotation_norm.kind is Normalization.MARIAN:
            projected = eq.normalize(projected, self.annotation_norm) + self.attention_bias
        else:
            projected = eq.normalize(projected + self.attention_bias, self.annotation_norm)
        return Memory(
            tf.cast(annotations, self.dtype),
            tf.cast(projected, self.dtype),
            mask,
            tf.transpose(embeddings, [1, 0, 2]),
        )

    def _encode_level(
        self, directions: list, below: list[tf.Tensor], mask: tf.Tensor
    ) -> list[tf.Tensor]:
        """Both readers of one level over (S,B,N) inputs -> two (S,B,D), by source position."""
        inputs = []
        for (product, cells), x in zip(directions, below, strict=True):
            (xW,) = product(x)
            inputs.append(cells[0][1].of_input(xW))
        length, batch = tf.shape(mask)[0], tf.shape(mask)[1]
        zeros = tf.zeros([batch, self.structure.state])
        arrays = [tf.TensorArray(tf.float32, length, element_shape=zeros.shape) for _ in DIRECTIONS]

        def body(i, states, outputs):
            new_states, new_outputs = [], []
            for (_, cells), x, h, output, t in zip(
                directions, inputs, states, outputs, (i, length - 1 - i), strict=True
            ):
                state = _transit(cells, h, x[t])
                # a masked step keeps the state: the backward reader starts at the last word
                state = h + mask[t] * (state - h)
                new_states.append(state)
                new_outputs.append(output.write(t, state))
            return i + 1, tuple(new_states), tuple(new_outputs)

        _, _, outputs = tf.while_loop(
            lambda i, *_: i < length,
            body,
            (tf.constant(0), (zeros, zeros), tuple(arrays)),
            maximum_iterations=length,
        )
        return [output.stack() for output in outputs]

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
        recurrence, state = self.recur(state, x, memory)
        return self.read_out(recurrence, readout_of_previous), state, recurrence.alignment

    def embed(self, previous: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """E[y_{j-1}] times what it is multiplied with: (...,3D) for REC1, (...,E) to read out."""
        known = tf.cast(previous >= 0, tf.float32)[..., None]
        embedding = tf.gather(self.target_embedding, tf.maximum(previous, 0)) * known
        xW, readout = self.of_embedding(embedding)
        return self.first.of_input(xW), readout

    def recur(self, state: State, x: tf.Tensor, memory: Memory) -> tuple[Recurrence, State]:
        """REC1, ATT, REC2 (eq. 1-12), then the levels above."""
        s_prev = state.base
        (sU,) = self.of_state(s_prev)
        s1 = self.first.step(s_prev, sU, x)
        query, s1U = self.of_intermediate(s1)
        query = eq.normalize(query, self.query_norm)
        alignment, c = self._attend(query, state, memory)
        cW, readout_of_context = self.of_context(c)
        s = self.second.step(s1, s1U, self.second.of_input(cW))
        s = _transit(self.transitions, s, None) if self.transitions else s
        top, high = s, []
        for (product, cells), h in zip(self.high, state.high, strict=True):
            read = tf.concat([top, c], axis=-1) if self.structure.deep_context else top
            (xW,) = product(read)
            h = _transit(cells, h, cells[0][1].of_input(xW))
            high.append(h)
            top = top + h if self.structure.residual else h
        lexical = ()
        if self.lexical:
            rows = tf.gather(memory.embeddings, state.sentence)
            lexical = (tf.tanh(tf.linalg.matvec(rows, alignment, transpose_a=True)),)
        new = state._replace(base=s, high=tuple(high))
        return Recurrence(top, readout_of_context, alignment, lexical), new

    def _attend(
        self, query: tf.Tensor, state: State, memory: Memory
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Alignment (R,S) and c_j (R,C) of rows that may be several to a sentence."""
        sentences = tf.shape(memory.mask)[0]
        beam = tf.reduce_max(state.slot) + 1
        place = tf.stack([state.sentence, state.slot], axis=1)
        width = query.shape[-1]
        grid = tf.scatter_nd(place, query, [sentences, beam, width])
        weights = eq.attend(
            memory.projected, tf.cast(grid, self.dtype), self.attention_v, memory.mask
        )
        c = tf.matmul(tf.cast(weights, self.dtype), memory.annotations)  # eq. 6
        return tf.gather_nd(weights, place), tf.cast(tf.gather_nd(c, place), tf.float32)

    def read_out(self, recurrence: Recurrence, of_previous: tf.Tensor) -> tf.Tensor:
        """Logits of t_j = tanh(s_j U_o + E[y_{j-1}] V_o + c_j C_o + biases): (R,V) float32."""
        (of_top,) = self.of_top(recurrence.top)
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
            (pi,) = of_pi(t)
            logits = []
            for product, bias, norm in hidden:
                (t_k,) = product(t)
                logits.append(self._logits(tf.tanh(_affine_norm(t_k, bias, norm))))
            return eq.mix(pi + pi_bias, logits)
        logits = self._logits(t)
        if self.lexical:
            (product, bias, norm), output, output_bias = self.lexical
            (l,) = recurrence.lexical
            (hidden,) = product(l)
            l = tf.tanh(_affine_norm(hidden, bias, norm)) + l
            logits += output(l)[0] + output_bias
        return logits

    def _logits(self, t: tf.Tensor) -> tf.Tensor:
        return tf.nn.bias_add(self.output(t)[0], self.output_bias)


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


def _transit(cells: list[tuple[Product, eq.GRU]], h: tf.Tensor, x: tf.Tensor | None) -> tf.Tensor:
    """A cell and its transitions, each on the state the one before left; x enters the first."""
    for product, gru in cells:
        (hU,) = product(h)
        h = gru.step(h, hU, gru.of_input(None) if x is None else x)
        x = None
    return h


class _Weights:
    """Parameters by their path in the model, with weight norm and old dropout folded in."""

    def __init__(self, structure: Structure, arrays: Mapping):
        self.structure = structure
        self._arrays = {p.path: (p, arrays[p.name]) for p in parameters(structure)}

    def __contains__(self, path: str) -> bool:
        return path in self._arrays

    def __getitem__(self, path: str) -> tf.Tensor:
        parameter, value = self._arrays[path]
        tensor = tf.convert_to_tensor(value, tf.float32)
        scale = f"{path}_wns"
        if scale in self._arrays:
            tensor = eq.weight_norm(tensor, tf.convert_to_tensor(self._arrays[scale][1]))
        if self.structure.old_dropout is not None:
            tensor = tensor * self._kept(parameter)
        return tensor

    def output(self) -> tf.Tensor:
        """W_o (E,V), or the target embeddings transposed."""
        if not self.structure.tied_output:
            return self["decoder/output/W"]
        shared = self.structure.shared_embeddings
        path = "encoder/embedding" if shared else "decoder/embedding"
        tensor = tf.transpose(tf.convert_to_tensor(self._arrays[path][1], tf.float32))
        dropout = self.structure.old_dropout
        return tensor if dropout is None else tensor * (1 - dropout.readout)

    def _kept(self, parameter) -> float:
        """What old dropout left of the input that this matrix multiplies.

        Programs that did not scale in training scaled every dropped input by 1 - p at inference:
        that is a factor of the matrix.
        """
        drop = self.structure.old_dropout
        if len(parameter.shape) < 2:
            return 1.0
        embedding, hidden = 1 - drop.embedding, 1 - drop.hidden
        if parameter.path.endswith("embedding") or "/embedding" in parameter.path:
            return 1.0  # looked up, not multiplied: the factor goes to what follows
        if parameter.path.startswith("decoder/output"):
            return 1 - drop.readout
        if parameter.path.startswith("decoder/readout/prev"):
            return embedding * (1 - drop.target)
        if parameter.shape[0] == "Es":
            return embedding * (1 - drop.source)
        if parameter.shape[0] == "E":
            return embedding * (1 - drop.target)
        return hidden

    def norm(self, path: str, gamma: str) -> eq.Norm | None:
        """The normalisation of one product."""
        kind = self.structure.normalization
        if kind is Normalization.MARIAN and gamma in self:
            return eq.Norm(kind, self[gamma], None)
        if f"{path}_lns" in self:
            bias = self[f"{path}_lnb"] if kind is Normalization.NEMATUS else None
            return eq.Norm(kind, self[f"{path}_lns"], bias)
        return None

    def gru(self, cell: Cell) -> eq.GRU:
        """Biases and norms of a cell, joined as [gates | proposal]."""
        bias = None
        if f"{cell.path}/b" in self:
            bias = tf.concat([self[f"{cell.path}/b"], self[f"{cell.path}/bx"]], axis=0)
        norms = {}
        for side, roots, gamma in (
            ("input", ("W", "Wx"), "gamma1"),
            ("state", ("U", "Ux"), "gamma2"),
        ):
            found = [self.norm(f"{cell.path}/{root}", f"{cell.path}/{gamma}") for root in roots]
            if self.structure.normalization is Normalization.MARIAN:
                found = found[:1]  # one norm over all 3D
            norms[side] = tuple(norm for norm in found if norm)
        return eq.GRU(cell.bias, bias, norms["input"], norms["state"])
