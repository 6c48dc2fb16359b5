"""How Nematus-TF cuts a maxi-batch into mini-batches: its `read_all_lines`.

A line's words are what Python's `str.split` gives, empty lines count with length 0, and all lines
are sorted by length and cut. What shares a mini-batch decides (see `nematus_tf_beam`) the tail of
n-best lists.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..corpus.numpy_order import argsort


def nematus_tf_batches(lengths: Sequence[int], mini_batch: int) -> list[list[int]]:
    """The mini-batches of a maxi-batch, as places of its lines; lengths: words of every line."""
    order = argsort(lengths)
    return [order[i : i + mini_batch] for i in range(0, len(order), mini_batch)]
