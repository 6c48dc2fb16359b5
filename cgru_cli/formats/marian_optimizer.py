"""The optimiser's state in Marian's training runs, `MODEL.npz.optimizer.npz`.

Marian keeps all parameters in one vector, ordered by their names in `s2s` models; zeros pad each
array to a multiple of 256 bytes. The sums over gradients have the same layout
(src/graph/parameters.h and src/optimizers/optimizers.cpp of marian-dev).
"""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import CgruError
from ..parameters.parameter import Dialect, Parameter
from . import read_model
from .array_files import read_npz, write_npz
from .capabilities import DIALECT
from .dialects import convention
from .model import Model
from .write_model import arrays_as

_MULTIPLE = 256 // 4  # float32 numbers in 256 bytes
_DENOMINATORS = "adam_denoms"  # 1 - beta ** updates, for both betas of Adam
_LARGEST = 1 - 1e-12  # maximum denominator for which a logarithm is usable


@dataclass(frozen=True)
class MarianOptimizer:
    """The state of a training run.

    weights: before smoothing; sums: by Marian's name (adam_mt, adam_vt, adagrad_gt, and
    exp_smoothing for smoothed weights) and name of the parameter; updates: the number of updates
    since the optimiser was new, None if it does not count them.
    """

    weights: dict[str, np.ndarray]
    sums: Mapping[str, dict[str, np.ndarray]]
    updates: int | None = None


def is_known(model: Model) -> bool:
    """Whether the order of the arrays in Marian's vector is known."""
    return all(Dialect.S2S in row.names for row in model.parameters())


def read(path: Path, model: Model, betas: tuple[float, float]) -> MarianOptimizer:
    """Read the state beside a model of Marian. Raises CgruError if it does not fit the model."""
    stored = read_npz(path)
    denominators = stored.pop(_DENOMINATORS, None)
    try:
        arrays = {name: _arrays(vector, model) for name, vector in stored.items()}
        updates = None
        if denominators is not None:
            rest = 1 - min(float(denominators.flat[1]), _LARGEST)
            updates = round(math.log(rest) / math.log(betas[1]))
        weights = arrays.pop("master_parameters", None)
        return MarianOptimizer(weights or _before_smoothing(model, arrays), arrays, updates)
    except (KeyError, IndexError, ValueError) as error:
        raise CgruError(f"{path}: not the optimiser state of {model.path} ({error})") from None


def _before_smoothing(model: Model, sums: dict[str, dict[str, np.ndarray]]) -> dict:
    """The weights of a run of Marian 1.10 or older, which kept them in another model file.

    With smoothing, MODEL.orig.npz has the weights, and the model their average.
    """
    original = model.path.with_name(f"{model.path.name}.orig.npz")
    if not original.exists():
        return model.arrays
    sums["exp_smoothing"] = model.arrays
    return read_model.read(original).arrays


def write(
    path: Path, model: Model, to: str, state: MarianOptimizer, betas: tuple[float, float]
) -> None:
    """Write the state beside a model in the format `to`. Raises CgruError."""
    vectors = {**state.sums, "master_parameters": state.weights}
    stored = {name: _vector(model, to, arrays) for name, arrays in vectors.items()}
    if state.updates is not None:
        stored[_DENOMINATORS] = np.array([[1 - beta**state.updates for beta in betas]])
    write_npz(path, stored)


def _rows(model: Model) -> list[Parameter]:
    return sorted(model.parameters(), key=lambda row: row.names[Dialect.S2S])


def _vector(model: Model, to: str, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """These arrays, given by parameter name, joined in one vector as in Marian: (1, numbers)."""
    stored = arrays_as(dataclasses.replace(model, arrays=arrays), to)
    parts = []
    for row in _rows(model):
        name = row.names[DIALECT[to]]
        array = stored[name if name in stored else row.transposed]
        parts += [array.ravel(), np.zeros(-array.size % _MULTIPLE, array.dtype)]
    return np.concatenate(parts)[None]


def _arrays(vector: np.ndarray, model: Model) -> dict[str, np.ndarray]:
    """The inverse of `_vector`. Raises ValueError for a vector of another size."""
    arrays, place, numbers = {}, 0, vector.ravel()
    for row in _rows(model):
        shape, turned = row.size(model.structure), row.name in model.origin["transposed"]
        end = place + math.prod(shape)
        array = numbers[place:end].reshape(shape[::-1] if turned else shape)
        array = np.ascontiguousarray(array.T if turned else array)
        dialect = Dialect(model.origin["dialect"])
        arrays[row.name] = convention(row, dialect, model.structure, array)
        place = end + -end % _MULTIPLE
    if place != len(numbers):
        raise ValueError(f"{place} numbers are expected, {len(numbers)} found")
    return arrays
