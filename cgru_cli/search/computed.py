"""The computation of models, by TensorFlow or by ONNX Runtime.

`take_over` gives a `Network` or an `OnnxModel`; the other functions take both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ..errors import UsageError
from ..formats.model import Model
from ..network.scores import Scores
from ..system import tensorflow_start
from .lattice import Sources, Stepper
from .mixed_ensemble import MixedEnsemble
from .onnx_model import OnnxModel, OnnxScorer

if TYPE_CHECKING:
    from ..network.network import Network
    from ..network.scorer import Scorer

Computed: TypeAlias = "Network | OnnxModel"


def take_over(model: Model, precision: str = "float32", threads: int | None = None) -> Computed:
    """Convert a model for search and scoring; this removes the arrays from the model.

    threads: for ONNX Runtime; None uses all processors. Raises CgruError if a package is missing.
    """
    if model.runtime == "tensorflow":
        from ..network import network

        return network.take_over(model, precision)
    if precision != "float32":
        raise UsageError(
            f"--precision {precision} requires TensorFlow; cgru convert --precision int8 writes an "
            ".onnx file that computes in 8 bits"
        )
    if model.container == "onnx":
        return OnnxModel(model.path, threads)
    tensorflow_start.import_tensorflow()
    from ..network.onnx_export import exported

    content = exported(model.structure, model.arrays, {})
    model.arrays = {}
    return OnnxModel(content, threads)


def stepper(models: Sequence[Computed], weights: Sequence[float]) -> Stepper:
    """The ensemble that a search runs; its models must share the target vocabulary."""
    networks = [model for model in models if not isinstance(model, OnnxModel)]
    if networks:
        from .ensemble import Ensemble

        if len(networks) == len(models):
            return Ensemble(networks, weights)
    parts = [m if isinstance(m, OnnxModel) else Ensemble([m], [1.0]) for m in models]
    return parts[0] if len(parts) == 1 and weights[0] == 1 else MixedEnsemble(parts, weights)


def scorer(model: Computed, *, with_alignment: bool) -> Scorer | OnnxScorer:
    """A scorer of given translations by one model."""
    if isinstance(model, OnnxModel):
        return OnnxScorer(model, with_alignment=with_alignment)
    from ..network.scorer import Scorer

    return Scorer(model, with_alignment=with_alignment)


class Members:
    """Scores by each model of an ensemble, because a search keeps only their mean attention."""

    def __init__(self, models: Sequence[Computed]):
        self._scorers = [scorer(model, with_alignment=True) for model in models]

    def __call__(self, sources: Sources, words: Sequence[int]) -> list[Scores]:
        """Score one line's T words, including EOS if it is finished: (T,) and (T,S) for each model.

        sources: the line as each model reads it.
        """
        target = np.array([words], np.int32)
        mask = np.ones(target.shape, np.float32)
        return [
            Scores(scores.log_probs[0], None if scores.alignment is None else scores.alignment[0])
            for each, source in zip(self._scorers, sources, strict=True)
            for scores in [each(*source, target, mask)]
        ]
