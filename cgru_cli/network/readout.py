"""The readout and the output layer: from a decoder's step to the logits of the next word."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ..parameters.structure import Activation
from . import ops
from .integer_products import IntegerProduct
from .ladder.levels import Recurrence
from .layers import Affine, Layers
from .ops import Tensor
from .products import Product


class OutputColumns(NamedTuple):
    """The output layer of N words of the vocabulary.

    There are G sets of words, each a part of the N words. Each row uses one set; words outside it
    have probability 0.
    """

    matrix: list[Tensor]  # from `Product.columns`: W_o (E,N)
    bias: Tensor  # (N,)
    lexical: tuple[Any, ...]  # matrix and bias of a lexical model, else ()
    members: Tensor  # (G,N) bool: the words of each set; all words if G is 1
    sets: Tensor | tuple[()] = ()  # (R,) int32: the set of each row
    chosen: Tensor | tuple[()] = ()  # scalar bool: whether to compute only these; (): always

    def only(self, logits: Tensor) -> Tensor:
        """Logits (R,N), -inf for words outside a row's set."""
        # for each set, not each row: in ONNX Runtime, `where` is slower than the product
        outside = ops.where(self.members, 0.0, -math.inf)
        return ops.cond(
            ops.shape(self.members)[0] > 1,
            lambda: logits + ops.take(outside, self.sets),
            lambda: logits,
        )

    def otherwise(self, only: Callable[[], Tensor], every: Callable[[], Tensor]) -> Tensor:
        """The result of `only` if only these words are computed, otherwise of `every`."""
        return ops.cond(self.chosen, only, every) if ops.is_tensor(self.chosen) else only()


class Readout:
    """t_j = phi(s_j U_o + E[y_{j-1}] V_o + c_j C_o + biases), then the output layer W_o."""

    def __init__(self, layers: Layers):
        s, weights = layers.structure, layers.weights
        self.activation = s.readout_activation
        summed = s.residual and s.decoder_depth > 1  # the outputs of several levels
        bounded = layers.bounded_states and not summed
        self.top_product = layers.product(("decoder/readout/lstm/W",), bounded=bounded)
        read = {"lstm": True, "prev": s.feedback, "ctx": s.type.has_context}
        self.parts = []  # only bias and norm are used; their products are computed elsewhere
        for path in (f"decoder/readout/{part}" for part in filter(read.get, read)):
            norm = weights.norm(f"{path}/W", f"{path}/gamma")
            self.parts.append(Affine(self.top_product, weights[f"{path}/b"], norm))
        prelu = s.readout_activation is Activation.PRELU
        self.prelu_slope = weights["decoder/readout/prelu_slope"] if prelu else None
        bounded = s.readout_activation is Activation.TANH
        self.output = layers.output(bounded=bounded or s.mixture > 1)
        self.output_bias = weights["decoder/output/b"]
        self.mixture = None
        if s.mixture > 1:
            self.mixture = (
                layers.product(("decoder/mixture/pi/W",)),
                weights["decoder/mixture/pi/b"],
                [
                    layers.affine(f"decoder/mixture/hidden{k}", bounded=bounded)
                    for k in range(s.mixture)
                ],
            )
        self.lexical = None
        if s.lexical:
            self.lexical = (
                layers.affine("decoder/lexical/hidden", bounded=True),
                layers.product(("decoder/lexical/output/W",)),
                weights["decoder/lexical/output/b"],
            )

    def __call__(
        self,
        recurrence: Recurrence,
        previous: Tensor | tuple,
        words: Tensor | tuple = (),
        sentence: Tensor | None = None,
        columns: OutputColumns | None = None,
    ) -> Tensor:
        """Logits (R,V) float32; with columns, only the logits of these words, (R,N).

        previous: (R,R') E[y_{j-1}] V_o, () without feedback. words: (R,Es) sum_i alpha_ij
        E_x[x_i], for a lexical model. sentence: (R,), the sentence of each row, for dropout; None
        if a row is a sentence.
        """
        (sU,) = self.top_product.for_rows(sentence)(recurrence.top)
        products = [sU, *(x for x in (previous, recurrence.context) if ops.is_tensor(x))]
        t = ops.add_n([part.add(x) for part, x in zip(self.parts, products, strict=True)])
        t = activate(t, self.activation, self.prelu_slope)
        if self.mixture:
            pi_product, pi_bias, hidden = self.mixture
            (pi,) = pi_product.for_rows(sentence)(t)
            logits = [
                self._logits(ops.tanh(layer(t, sentence)), sentence, columns) for layer in hidden
            ]
            return mix(pi + pi_bias, logits)
        logits = self._logits(t, sentence, columns)
        if self.lexical:
            hidden_layer, output, bias = self.lexical
            l = ops.tanh(words)
            l = ops.tanh(hidden_layer(l, sentence)) + l

            def every() -> Tensor:
                return output.for_rows(sentence)(l)[0] + bias

            if columns is None:
                logits += every()
            else:
                matrix, its_bias = columns.lexical
                some = output.single.with_columns(matrix)
                logits += columns.otherwise(lambda: some(l)[0] + its_bias, every)
        return logits

    def columns(self, words: Tensor) -> OutputColumns:
        """The output layer of these words, (N,) ids, as one set."""
        lexical: tuple = ()
        if self.lexical:
            _, output, bias = self.lexical
            lexical = output.single.columns(words), ops.take(bias, words)
        return OutputColumns(
            self.output.single.columns(words),
            ops.take(self.output_bias, words),
            lexical,
            ops.ones([1, ops.shape(words)[0]], "bool"),
        )

    def _logits(self, t: Tensor, sentence: Tensor | None, columns: OutputColumns | None) -> Tensor:
        if columns is not None:

            def only() -> Tensor:
                (logits,) = self.output.single.with_columns(columns.matrix)(t)
                return columns.only(ops.bias_add(logits, columns.bias))

            return columns.otherwise(only, lambda: self._logits(t, sentence, None))
        output = self.output.for_rows(sentence)
        product = output.single
        if isinstance(product, IntegerProduct):
            (logits,) = product(t)
            return ops.bias_add(logits, self.output_bias)

        def layer(t: Tensor, matrix: Tensor, bias: Tensor) -> Tensor:
            (logits,) = output._replace(parts=[Product(matrix)])(t)
            return ops.bias_add(logits, bias)

        return ops.at_once(layer, t, product.matrix, self.output_bias)


def activate(x: Tensor, activation: Activation, slope: Tensor | None = None) -> Tensor:
    """The readout's non-linearity: (..., R) -> (..., E); slope: (E,), of PReLU."""
    if activation is Activation.TANH:
        return ops.tanh(x)
    if activation is Activation.LINEAR:
        return x
    if activation is Activation.MAXOUT:
        pairs = ops.reshape(x, (*ops.shape(x)[:-1], x.shape[-1] // 2, 2))
        return ops.max(pairs, axis=-1)
    positive = ops.relu(x)
    return positive if activation is Activation.RELU else positive + slope * (x - positive)


def mix(pi_logits: Tensor, logits: list[Tensor]) -> Tensor:
    """Mixture of softmaxes (Yang et al. 2018): log sum_k pi_k softmax(logits_k).

    pi_logits: (..., M); logits: M tensors (..., V). The result is log-probabilities.
    """
    log_pi = ops.log_softmax(pi_logits)
    parts = [log_pi[..., k, None] + ops.log_softmax(part) for k, part in enumerate(logits)]
    return ops.logsumexp(ops.stack(parts), axis=0)
