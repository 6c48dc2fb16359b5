"""Sequence to sequence: the decoder continues the encoder's last state (Sutskever et al. 2014).

    s_0 = the encoder's last state, level by level;  s_j = f(s_{j-1}, E[y_{j-1}])
    p(y_j) = g(E[y_{j-1}], s_j)

Without the previous word (`Structure.feedback`), it is the simplest decoder (cs224n):

    s_j = f(s_{j-1});  p(y_j) = g(s_j)

Sutskever et al. reverse the source (`Encoder.REVERSED`), so that its first words are close to the
first target words.
"""

from ..encoder import Encoded
from .lm import Beginning, LanguageModel


class SequenceToSequence(LanguageModel):
    """The decoder of `seq2seq`."""

    def memory(self, encoded: Encoded, _search: bool) -> Beginning:
        """The last state of each level's only reader."""
        return Beginning(tuple(state for (state,) in encoded.last))
