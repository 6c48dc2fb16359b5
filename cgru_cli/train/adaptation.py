"""Fine-tuning: frozen parameters, and a prior model."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

import numpy as np

from ..errors import CgruError, UsageError
from ..formats import read_model
from ..formats.model import Model

EMBEDDINGS = ("encoder/embedding*", "decoder/embedding*")  # the patterns of --fix-embeddings


def frozen(model: Model, patterns: Sequence[str], *, embeddings: bool = False) -> list[str]:
    """The names of the parameters that are not trained.

    Shell patterns match names (`encoder_*`, `ff_logit_W`) or paths (`encoder/forward/*`).
    embeddings: whether to freeze embeddings too. Raises UsageError for a pattern without a match,
    and if no parameter is left to train.
    """
    patterns = (*patterns, *(EMBEDDINGS if embeddings else ()))
    kept: dict[str, None] = {}
    for pattern in patterns:
        matching = [
            row.name
            for row in model.parameters()
            if fnmatch.fnmatchcase(row.name, pattern) or fnmatch.fnmatchcase(row.path, pattern)
        ]
        if not matching and pattern not in EMBEDDINGS:  # a model may have only one of the two
            raise UsageError(
                f"--freeze {pattern}: no parameter has this name; cgru convert --info lists those "
                "of a model, docs/names.md those of all models"
            )
        kept |= dict.fromkeys(matching)
    if len(kept) == len(model.arrays):
        raise UsageError("--freeze: nothing is left to train")
    return list(kept)


def prior(model: Model, path: str) -> dict[str, np.ndarray]:
    """The arrays of a prior model, by name. Raises CgruError if they do not fit this model."""
    arrays = read_model.read(path).arrays
    shapes = {row.name: row.size(model.structure) for row in model.parameters()}
    for name, shape in shapes.items():
        if (own := arrays[name].shape if name in arrays else "missing") != shape:
            raise CgruError(
                f"{path}: {name}: {own}, but the model being trained has {shape}; "
                "a prior must have the same structure"
            )
    if more := sorted(set(arrays) - set(shapes)):
        raise CgruError(f"{path}: {more[0]}: the model being trained has no such array")
    return {name: arrays[name] for name in shapes}
