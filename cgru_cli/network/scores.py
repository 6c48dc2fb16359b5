"""Scores of given translations, for any computing library."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..parameters.structure import Structure


class Scores(NamedTuple):
    """Scores and attention of a batch of B pairs."""

    log_probs: np.ndarray  # (B,T) float32: log p(y_j | y_<j, x) in nats, with EOS; 0 at padding
    alignment: np.ndarray | None  # (B,T,S) float32: attention over the source with EOS


def max_tokens_of(workspace: int, s: Structure) -> int:
    """The number of padded words, at least 1, on either side, that fit the workspace (MiB)."""
    # a target word needs logits, their exponentials and a copy, states and the readout's inputs
    per_token = 4.0 * (3 * s.target_vocabulary + 24 * s.state + 8 * s.context)
    return max(1, int(workspace * 2**20 / per_token))
