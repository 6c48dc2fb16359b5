"""Conditioned language model: one to many, a text for one input, such as a picture's caption.

    s_0 = tanh(v W_init + b);  s_j = f(s_{j-1}, E[y_{j-1}]);  p(y_j) = g(E[y_{j-1}], s_j)

v is a vector of numbers, such as features of a picture, or the one-hot vector of a label. As in
Vinyals et al. 2015, the input is read once, before the first word.
"""

from ...parameters.structure import FIRST_LABEL, Condition, Structure
from .. import ops
from ..encoder import Encoded
from ..layers import Layers
from ..ops import Tensor
from .levels import alike
from .lm import Beginning, LanguageModel


class ConditionedLanguageModel(LanguageModel):
    """The decoder of `lm` with a condition."""

    def __init__(self, layers: Layers):
        super().__init__(layers)
        self.start_layer = layers.affine("decoder/start")

    def memory(self, encoded: Encoded, _search: bool) -> Beginning:
        """s_0, the same at every level."""
        v = vectors(encoded.condition, self.structure)
        return Beginning(alike(self.structure, ops.tanh(self.start_layer(v))))


def vectors(condition: Tensor, structure: Structure) -> Tensor:
    """v (B,N) float32 from conditions: ids of labels (B,S,1), or numbers (B,S,N).

    Numbers are float32 in an ONNX graph, and otherwise their bits as int32.
    """
    first = condition[:, 0]
    if structure.condition is Condition.LABEL:
        place = first[:, 0] - FIRST_LABEL
        return ops.one_hot(place, structure.condition_size)
    return ops.floats_of_bits(first)
