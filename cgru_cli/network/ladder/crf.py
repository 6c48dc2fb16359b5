"""Linear-chain CRF: tags that depend on their neighbours (Lafferty et al. 2001).

e_t are the logits of a tagger. With scores a for the first tag of a line, b for the last tag, and A
for each pair of neighbouring tags, the tags y_1..y_n have

    score(y) = a[y_1] + sum_t e_t[y_t] + sum_{t<n} A[y_t, y_{t+1}] + b[y_n]
    p(y | x) = exp(score(y)) / Z,    Z = sum_y' exp(score(y'))

After the backward algorithm, the model writes one tag after another, like any other model:

    f_n[y] = b[y],    f_t[y] = log sum_y' exp(A[y, y'] + e_{t+1}[y'] + f_{t+1}[y'])
    p(y_t | y_{t-1}, x) = softmax(A[y_{t-1}] + e_t + f_t)[y_t],    A[y_0] = a

The product over t is p(y | x). A search computes max instead of log sum exp (Viterbi): a prefix
then has the score of the best tagging that begins with it, and a beam of k keeps the k best
taggings.
"""

from typing import NamedTuple

from ...parameters.structure import FIRST_LABEL
from .. import ops
from ..layers import Layers
from ..ops import ScanCell, Tensor
from ..products import Product
from .labels import Labelled

SMALLEST = 1e-37  # keeps the logarithm finite


class Sums(NamedTuple):
    """The cell for f_t as a sum over all following tags, run from the end of a line."""

    product: Product  # with exp(A)^T: much faster than a sum for each pair of tags

    def step(self, f: Tensor, e: Tensor, inside: Tensor) -> tuple[Tensor, Tensor]:
        """f_{t+1}, e_{t+1} (B,L) -> f_t; inside: (B,1), 1 where there is a word t+1."""
        x = e + f
        # The gradient of `largest` cancels. Without stop_gradient it would be a third term, whose
        # order in the sum differs between traces, and a resumed training would round differently.
        largest = ops.stop_gradient(ops.max(x, axis=-1, keepdims=True))
        (sums,) = self.product(ops.exp(x - largest))
        f = ops.where(inside > 0, largest + ops.log(ops.maximum(sums, SMALLEST)), f)
        return f, f


class Best(NamedTuple):
    """The cell for f_t as the maximum over all following tags, run from the end of a line."""

    transitions: Tensor  # (L,L): A

    def step(self, f: Tensor, e: Tensor, inside: Tensor) -> tuple[Tensor, Tensor]:
        best = ops.max(self.transitions + (e + f)[:, None], axis=-1)
        f = ops.where(inside > 0, best, f)
        return f, f


class Chain:
    """The scores of the first, the last and neighbouring tags."""

    def __init__(self, layers: Layers):
        self.start, self.end, self.transitions = (
            layers.weights[f"decoder/crf/{name}"] for name in ("start", "end", "transitions")
        )

    def labelled(self, e: Tensor, count: Tensor, search: bool) -> Labelled:
        """The scores that steps read; e: (B,W,L), the logits; count: (B,), words of each line."""
        product = Product(ops.exp(ops.transpose(self.transitions)))
        summed = e + _following(Sums(product), e, count, self.end, not search)
        if not search:
            return Labelled(summed, count, (), ())
        best = e + _following(Best(self.transitions), e, count, self.end, False)
        log_z = ops.logsumexp(self.start + summed[:, 0], axis=-1)
        return Labelled(best, count, (), (), log_z, summed)

    def before(self, previous: Tensor) -> Tensor:
        """(..,L): A[y_{t-1}] for tags (..) int32; the vector a for -1, before the first tag."""
        rows = ops.concat([self.start[None], self.transitions], axis=0)
        return ops.take(rows, ops.maximum(previous - FIRST_LABEL + 1, 0))


def _following(
    cell: ScanCell, e: Tensor, count: Tensor, end: Tensor, differentiable: bool
) -> Tensor:
    """f (B,W,L) for e (B,W,L); end: (L,), f of the last word."""
    places = ops.arange(1, ops.shape(e)[1] + 1)
    inside = ops.cast(places < count[:, None], e.dtype)[..., None]
    later = ops.concat([e[:, 1:], ops.zeros_like(e[:, :1])], axis=1)
    from_end = [ops.flip(ops.transpose(x, [1, 0, 2]), 0) for x in (later, inside)]
    f, _ = ops.scan(cell, ops.zeros_like(e[:, 0]) + end, *from_end, differentiable=differentiable)
    return ops.transpose(ops.flip(f, 0), [1, 0, 2])
