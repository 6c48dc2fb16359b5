"""Small models of random numbers, made without TensorFlow."""

import numpy as np

from cgru_cli.corpus.dropout import Rates, masks
from cgru_cli.parameters.names import parameters
from cgru_cli.parameters.structure import Structure


def tiny(**changes) -> Structure:
    """The plain conditional GRU, small."""
    sizes = {
        "source_vocabularies": (7,),
        "source_embeddings": (4,),
        "target_vocabulary": 6,
        "target_embedding": 5,
        "state": 4,
    }
    return Structure(**(sizes | changes))


def small_structure(**changes) -> Structure:
    """The same with larger vocabularies, and embeddings of equal size, so that they can be tied."""
    sizes = {
        "source_vocabularies": (11,),
        "source_embeddings": (6,),
        "target_vocabulary": 13,
        "target_embedding": 6,
    }
    return tiny(**(sizes | changes))


def random_arrays(structure: Structure, seed: int = 0, scale: float = 1.0) -> dict[str, np.ndarray]:
    """All arrays of the structure, in float32, large enough to be far from linear."""
    generator = np.random.default_rng(seed)
    arrays = {}
    for parameter in parameters(structure):
        size = parameter.size(structure)
        if parameter.initializer == "ones":
            array = generator.uniform(0.6, 1.4, size)
        elif len(size) == 1 or "embedding" in parameter.path:
            array = generator.normal(0, 0.5, size)
        else:
            array = generator.normal(0, scale / np.sqrt(size[0]), size)
        arrays[parameter.name] = array.astype(np.float32)
    return arrays


def dropped_for(structure: Structure, rates: Rates, batch, seed: int = 0) -> dict[str, np.ndarray]:
    """Dropout masks for a `Batch`."""
    sentences, source_length = batch.source_mask.shape
    return masks(
        structure,
        rates,
        np.random.default_rng(seed),
        sentences=sentences,
        source_length=source_length,
        target_length=batch.target.shape[1],
    )
