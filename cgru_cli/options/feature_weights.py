"""Weights of features and of an ensemble's models: numbers, or a file written by `--tune`.

The file is a JSON object of names and numbers, or has such an object under the key "weights".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import CgruError, UsageError
from ..system.structured_files import read_json
from .kinds import LENGTH_POWER, WEIGHT, weights

EQUAL = "equal"  # for the option without a value


@dataclass(frozen=True)
class FeatureWeights:
    """Weights by name or in order; without either, every named feature has weight 1.

    normalize: the length normalisation for which the weights were tuned, None if unknown.
    """

    by_name: Mapping[str, float] | None = None
    in_order: Sequence[float] = ()
    path: str = ""
    normalize: float | None = None

    @classmethod
    def asked(cls, text: str | None) -> FeatureWeights:
        """Parse an option's value: numbers, a file's name, or None.

        Raises CgruError for an unreadable file.
        """
        if text in (None, EQUAL):
            return cls()
        given = weights(text)
        numbers = [one for one in given if not isinstance(one, str)]
        return read(text) if len(numbers) < len(given) else cls(in_order=numbers)

    def for_features(self, names: Sequence[str]) -> list[float]:
        """The weight of each of these features.

        Raises CgruError if the file lacks a weight or has an extra weight, and for unnamed columns
        without given weights; UsageError for a wrong number of weights.
        """
        if self.by_name is not None:
            for name in names:
                if name not in self.by_name:
                    raise CgruError(f"{self.path}: no weight of {name}; {_have(names)}")
            for name in self.by_name:
                if name not in names:
                    raise CgruError(f"{self.path}: also has a weight of {name}; {_have(names)}")
            return [self.by_name[name] for name in names]
        if self.in_order and len(self.in_order) != len(names):
            raise UsageError(f"--rerank: {len(self.in_order)} weights given; {_have(names)}")
        if not self.in_order and any(re.fullmatch(r"column\d+", name) for name in names):
            raise CgruError(
                "--rerank: columns without names may be costs or log-probabilities; give the "
                f"weight of each ({', '.join(names)}), below 0 for a cost"
            )
        return list(self.in_order) or [1.0] * len(names)


def read(path: str) -> FeatureWeights:
    """Weights by name. Raises CgruError, naming the file and the error in it."""
    whole = read_json(path)
    weights = whole.get("weights", whole)
    if not isinstance(weights, dict) or not weights:
        raise CgruError(f"{path}: no weights: an object of names and numbers is expected")
    for name, value in weights.items():
        if not _is_number(value) or value not in WEIGHT:
            raise CgruError(f"{path}: the weight of {name} is {value!r}, not a number {WEIGHT}")
    normalize = whole.get("normalize") if weights is not whole else None
    if normalize is not None and (not _is_number(normalize) or normalize not in LENGTH_POWER):
        raise CgruError(f"{path}: normalize is {normalize!r}, not a number {LENGTH_POWER}")
    return FeatureWeights(weights, path=path, normalize=normalize)


def model_weights(given: Sequence[float | str], models: Sequence[str]) -> tuple[float, ...]:
    """The weights of an ensemble's models by `--weights`; models: their paths.

    Weights in a file belong to the models of the same names; F0, F1, .. are the models in order,
    and other names go by the order in the file. Raises UsageError for a wrong number of weights.
    """
    if not any(isinstance(one, str) for one in given):
        return _as_many(given, models, "--weights")  # type: ignore[arg-type]
    if len(given) > 1:
        raise UsageError("--weights: numbers or one file of weights are expected")
    (path,) = given
    weights = read(str(path)).by_name or {}
    if set(models) == set(weights):
        return tuple(weights[model] for model in models)
    if all(re.fullmatch(r"F\d+", name) for name in weights):
        weights = dict(sorted(weights.items(), key=lambda item: int(item[0][1:])))
    named = f" ({', '.join(weights)})"
    return _as_many(tuple(weights.values()), models, f"--weights {path}", named)


def _as_many(
    weights: Sequence[float], models: Sequence[str], what: str, named: str = ""
) -> tuple[float, ...]:
    if len(weights) != len(models):
        raise UsageError(f"{what}: {len(weights)} given{named} for {len(models)} models")
    return tuple(weights)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _have(names: Sequence[str]) -> str:
    return f"the list's features are {', '.join(names)}"


def ensemble_weights(
    given: Sequence[float | str], models: Sequence[str], sums: bool
) -> tuple[float, ...]:
    """The weights of an ensemble's models: as given, otherwise 1 each if sums, else the mean's.

    Raises UsageError for a wrong number of weights, or if all weights are zero; CgruError for an
    invalid file.
    """
    if not given:
        return (1.0 if sums else 1.0 / len(models),) * len(models)
    if not any(weights := model_weights(given, models)):
        raise UsageError("--weights: all are zero")
    return weights
