"""Dropout masks, one per batch and the same at every position (Gal and Ghahramani 2016; Nematus).

NumPy draws masks on the host, so that they depend only on the seed and the number of the update,
and are the same on every device, compiled or not.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..parameters.names import parameters
from ..parameters.structure import Structure

# Matrices outside recurrent cells and the attention.
_FEED_FORWARD = tuple(f"decoder/{part}/" for part in "start readout output mixture lexical".split())


class Rates(NamedTuple):
    """Dropout rates.

    As in Nematus: embedding, for inputs that are embeddings; hidden, for states, contexts and
    annotations as inputs; source and target, for whole words. In addition: annotation, for the
    encoder's output in all layers; output, for the readout, which otherwise has the rate of
    embeddings, as in Nematus; cells, for all inputs of recurrent cells and the attention, as in
    Marian.
    """

    embedding: float = 0.0
    hidden: float = 0.0
    source: float = 0.0
    target: float = 0.0
    annotation: float = 0.0
    output: float | None = None
    cells: float = 0.0


def masks(
    structure: Structure,
    rates: Rates,
    rng: np.random.Generator,
    *,
    sentences: int,
    source_length: int,
    target_length: int,
) -> dict[str, np.ndarray]:
    """Masks, 0 or 1/(1-p), float32: path of a matrix -> mask (B,N) of its input.

    Also by name: `source` (B,S) and `target` (B,T) for whole words (the target word before each
    position), `annotations` (B,C), and `lexical` (B,Es) for the embeddings that a lexical model
    averages.
    """
    widths = {
        "source": (rates.source, source_length),
        "target": (rates.target, target_length),
        "annotations": (rates.annotation, structure.context),
    }
    if not structure.type.reads_source:
        del widths["source"], widths["annotations"]
    if not structure.embeds_target:
        del widths["target"]
    if structure.lexical:
        widths["lexical"] = (rates.embedding, sum(structure.source_embeddings))
    widths |= {path: (rate, width) for path, rate, width in _inputs(structure, rates)}
    return {
        name: (rng.random((sentences, width), np.float32) >= rate) * np.float32(1 / (1 - rate))
        for name, (rate, width) in widths.items()
        if rate
    }


def _inputs(structure: Structure, rates: Rates) -> Iterator[tuple[str, float, int]]:
    sizes = structure.sizes()
    output = rates.embedding if rates.output is None else rates.output
    for row in parameters(structure):
        # embeddings, v_a and conditions do not multiply an input
        lookup = "embedding" in row.path or row.path.endswith("/U_att") or row.shape[0] == "N"
        if len(row.shape) == 2 and not lookup:
            rate = rates.embedding if row.shape[0] in ("E", "Es") else rates.hidden
            if not row.path.startswith(_FEED_FORWARD):
                rate = max(rate, rates.cells)
            if row.path.startswith(("decoder/output", "decoder/mixture")):
                rate = output
            elif row.path == "decoder/lexical/hidden/W":  # reads a mean of embeddings
                rate = rates.hidden
            yield row.path, rate, sizes[row.shape[0]]
    if structure.tied_output:
        yield "decoder/output/W", output, sizes["E"]
