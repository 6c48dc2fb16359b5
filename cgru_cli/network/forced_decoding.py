"""Forced decoding: run the network over known translations, for scoring and training."""

from typing import NamedTuple

from . import nest, ops
from .ladder.levels import Recurrence
from .network import Network
from .ops import Tensor


class Unrolled(NamedTuple):
    """The readout's inputs at every target position, time first."""

    recurrence: Recurrence  # (T,B,..) each
    previous: Tensor | tuple  # (T,B,E) E[y_{j-1}] V_o; () for labels, and without feedback
    words: Tensor | tuple  # (T,B,Es) sum_i alpha_ij E_x[x_i], for a lexical model

    def alignment(self) -> Tensor | tuple:
        """(B,T,S) float32; () without attention."""
        return nest.mapped(lambda x: ops.transpose(x, [1, 0, 2]), self.recurrence.alignment)


def unroll(
    network: Network,
    source: Tensor,
    source_mask: Tensor,
    target: Tensor,
    *,
    differentiable: bool = False,
) -> Unrolled:
    """Run encoder and decoder over a batch; each position reads the reference words before it.

    source: (B,S[,F]) int32; source_mask: (B,S) float32; target: (B,T) int32, ended by EOS.
    Only the recurrence runs step by step: the embeddings before it and the readout after it are
    computed for all positions at once.
    """
    memory = network.encode(source, source_mask, differentiable=differentiable)
    target = ops.transpose(target)  # (T,B)
    previous = ops.concat([ops.full((1, ops.shape(target)[1]), -1, "int32"), target[:-1]], axis=0)
    kept = network.masks.get("target")
    x, previous = network.embed(previous, kept if kept is None else ops.transpose(kept))
    if not network.structure.type.writes_text:
        return Unrolled(memory.at_all(ops.shape(target)[0], x), (), ())
    start = network.start(memory)
    cell = network.decoder.cell(memory, None)
    steps = () if ops.is_tensor(x) else target[:, :0]  # without feedback only the target has T rows
    recurrence, _ = ops.scan(cell, start.cells, x, steps, differentiable=differentiable)
    words = ()
    if network.structure.lexical:
        weights = ops.transpose(recurrence.alignment, [1, 0, 2])
        words = ops.transpose(ops.matmul(weights, memory.embeddings), [1, 0, 2])
        if "lexical" in network.masks:
            words *= network.masks["lexical"]
    return Unrolled(recurrence, previous, words)
