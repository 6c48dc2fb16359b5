"""A model's parameters by path, with constant factors folded in."""

from collections.abc import Mapping

from ..parameters.integers import Integers
from ..parameters.names import parameters, target_table
from ..parameters.parameter import Parameter
from ..parameters.structure import Dropout, Normalization, Structure
from . import ops
from .normalization import NEMATUS_EPSILON, Norm
from .ops import Tensor


class FoldedWeights:
    """Parameters by their path in the model, including weight norm and old dropout factors.

    They are arrays of the engine, or `Integers`, which have these factors already.
    """

    def __init__(self, structure: Structure, arrays: Mapping):
        self.structure = structure
        self._arrays = {p.path: (p, arrays[p.name]) for p in parameters(structure)}

    def __contains__(self, path: str) -> bool:
        return path in self._arrays

    def __getitem__(self, path: str) -> Tensor:
        parameter, value = self._arrays[path]
        if isinstance(value, Integers):  # folded already
            return value
        tensor = ops.convert(value, "float32")
        scale = f"{path}_wns"
        if scale in self._arrays:
            square = ops.sum(tensor * tensor, axis=0, keepdims=True)
            divisor = ops.convert(self._arrays[scale][1])
            tensor /= ops.sqrt(square + NEMATUS_EPSILON) * divisor  # as in Nematus-Theano
        if drop := self.structure.old_dropout:
            tensor = tensor * self._kept(parameter, drop)
        return tensor

    def output(self) -> Tensor:
        """W_o: (E,V), or (C,L) for labels; the transposed target embeddings if they are tied."""
        if not self.structure.tied_output:
            return self["decoder/output/W"]
        table = self._arrays[target_table(self.structure)][1]
        dropout = self.structure.old_dropout
        factor = 1.0 if dropout is None else 1 - dropout.readout
        if isinstance(table, Integers):
            integers = ops.transpose(ops.convert(table.integers))
            return Integers(integers, ops.convert(table.scale) * factor, 1)
        tensor = ops.transpose(ops.convert(table, "float32"))
        return tensor if dropout is None else tensor * factor

    def _kept(self, parameter: Parameter, drop: Dropout) -> float:
        """The dropout factor of this matrix at inference.

        Programs that did not scale in training multiplied inputs with dropout by 1 - p at
        inference; here the factor becomes part of the matrix.
        """
        if len(parameter.shape) < 2:
            return 1.0
        embedding, hidden = 1 - drop.embedding, 1 - drop.hidden
        if "/embedding" in parameter.path:
            return 1.0  # a lookup: matrices that read the embedding have the factor
        if parameter.path.startswith("decoder/output"):
            return 1 - drop.readout
        if parameter.path.startswith("decoder/readout/prev"):
            return embedding * (1 - drop.target)
        if parameter.shape[0] == "Es":
            return embedding * (1 - drop.source)
        if parameter.shape[0] == "E":
            return embedding * (1 - drop.target)
        return hidden

    def norm(self, path: str, gamma: str) -> Norm | None:
        """The normalisation of one product."""
        kind = self.structure.normalization
        if kind is Normalization.MARIAN and gamma in self:
            return Norm(kind, self[gamma], None)
        if f"{path}_lns" in self:
            bias = self[f"{path}_lnb"] if kind is Normalization.NEMATUS else None
            return Norm(kind, self[f"{path}_lns"], bias)
        return None
