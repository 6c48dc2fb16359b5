"""Fine-tuning that stays near a trained model: frozen parameters, and a prior."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

import numpy as np

from ..errors import CgruError, UsageError
from ..formats import read_model
from ..formats.model import Model

EMBEDDINGS = ("encoder/embedding*", "decoder/embedding*")  # what --fix-embeddings stands for


def frozen(model: Model, patterns: Sequence[str], *, embeddings: bool = False) -> list[str]:
    """Names of the parameters that stay as they are, by patterns of the shell.

    A pattern may be of names (`encoder_*`, `ff_logit_W`) or of paths (`encoder/forward/*`).
    embeddings: whether embeddings stay too.
    Raises UsageError for a pattern that fits none, and where nothing is left to be trained.
    """
    patterns = (*patterns, *(EMBEDDINGS if embeddings else ()))
    kept: dict[str, None] = {}
    for pattern in patterns:
        matching = [
            row.name
            for row in model.parameters()
            if fnmatch.fnmatchcase(row.name, pattern) or fnmatch.fnmatchcase(row.path, pattern)
        ]
        if not matching and pattern not in EMBEDDINGS:  # which not every model has both of
            raise UsageError(
                f"--freeze {pattern}: no parameter is called so; docs/names.md lists them, and "
                "cgru convert --info those of a model"
            )
        kept |= dict.fromkeys(matching)
    if len(kept) == len(model.arrays):
        raise UsageError("--freeze: nothing is left to be trained")
    return list(kept)


def prior(model: Model, path: str) -> dict[str, np.ndarray]:
    """The arrays of a prior model, by name. Raises CgruError where they are none of this model."""
    given = read_model.read(path)
    shapes = {row.name: row.size(model.structure) for row in model.parameters()}
    for name, shape in shapes.items():
        own = given.arrays[name].shape if name in given.arrays else None
        if own != shape:
            raise CgruError(
                f"{path}: {name}: {'missing' if own is None else own}, where the model that is "
                f"trained has {shape}; a prior is a model of the same structure"
            )
    more = sorted(set(given.arrays) - set(shapes))
    if more:
        raise CgruError(f"{path}: {more[0]}: not a part of the model that is trained")
    return {name: given.arrays[name] for name in shapes}
