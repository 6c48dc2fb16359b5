"""Sequence to sequence: the decoder goes on from the encoder's last state (Sutskever et al. 2014).

    s_0 = the encoder's last state, level by level;  s_j = f(s_{j-1}, E[y_{j-1}])
    p(y_j) = g(E[y_{j-1}], s_j)

Without the word before (`Structure.feedback`), it is the simplest decoder (the deck; cs224n):

    s_j = f(s_{j-1});  p(y_j) = g(s_j)

They reverse the source, so that its first words are the nearest: `Encoder.REVERSED`.
"""

from __future__ import annotations

from typing import NamedTuple

from ..attention import Place
from ..encoder import Encoded
from ..layers import Layers
from .levels import States
from .lm import Chain


class Ends(NamedTuple):
    """What the encoder leaves to the decoder: its last states, (B,D) each."""

    states: States


class SequenceToSequence:
    """The rung `seq2seq`."""

    def __init__(self, layers: Layers):
        self.chain = Chain.of(layers)

    def memory(self, encoded: Encoded, _search: bool) -> Ends:
        """The last state of each level's one reader."""
        return Ends(tuple(state for (state,) in encoded.last))

    def start(self, memory: Ends) -> States:
        """The encoder's states."""
        return memory.states

    def cell(self, _memory: Ends, _place: Place | None) -> Chain:
        """The same for every batch."""
        return self.chain
