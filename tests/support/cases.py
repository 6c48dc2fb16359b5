"""Reference cases by name, and small models of random numbers for what no reference case has."""

import numpy as np

from cgru_cli.parameters.names import parameters
from cgru_cli.parameters.structure import Structure


def random_arrays(structure: Structure, seed: int = 0) -> dict[str, np.ndarray]:
    """An array for every row of the name table."""
    generator = np.random.default_rng(seed)
    return {
        p.name: generator.normal(0, 0.3, p.size(structure)).astype(np.float32)
        for p in parameters(structure)
    }


def small_structure(**changes) -> Structure:
    """A structure of a few numbers, to be varied."""
    sizes = {
        "source_vocabularies": (11,),
        "source_embeddings": (6,),
        "target_vocabulary": 13,
        "target_embedding": 6,
        "state": 4,
    }
    return Structure(**(sizes | changes))
