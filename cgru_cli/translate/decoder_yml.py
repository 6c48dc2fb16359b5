"""Options from the configuration of a Marian or amun decoder."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from ..errors import CgruError, UsageError
from ..formats.configuration_values import shown, value_of
from ..formats.model import ModelSettings
from ..formats.read_configuration import from_marian
from ..options.translate import REFUSED_BY_TRANSLATE, TranslateOptions
from ..system.structured_files import read_yaml

# What else of a Marian decoder's configuration is an option here: key, field, kind.
_CONFIGURED = (
    ("n-best", "n_best", bool),
    ("allow-unk", "allow_unk", bool),
    ("word-scores", "word_scores", bool),
    ("alignment", "alignment", str),
    ("max-length-factor", "max_length_factor", float),
    ("force-decode", "force_decode", bool),
)


def _configured(values: Mapping, options: TranslateOptions, path: Path) -> dict:
    """Options that a configuration sets and the command line does not.

    Raises CgruError for a value of the wrong kind, UsageError for what cannot be honoured.
    """
    for key in ("shortlist", "skip-cost"):
        if values.get(key):
            raise UsageError(
                f"{path}: {key} cannot be honoured: {REFUSED_BY_TRANSLATE[f'--{key}']}"
            )
    taken = {}
    for key, name, kind in _CONFIGURED:
        if values.get(key) and getattr(options, name) in (None, False):
            try:
                taken[name] = kind(values[key])
            except (TypeError, ValueError):
                raise CgruError(f"{path}: {key} is {values[key]!r}") from None
    return taken


def with_configuration(options: TranslateOptions) -> tuple[TranslateOptions, ModelSettings]:
    """Take models, vocabularies and search from a Marian or amun `.yml`, where not given."""
    if options.config is None:
        return options, ModelSettings()
    path = Path(options.config)
    values = read_yaml(path)
    settings = from_marian(values, str(path))
    models = value_of(values, "models", str(path)) or value_of(values, "model", str(path)) or []
    scorers = values.get("scorers")
    if isinstance(scorers, dict):  # amun's
        for scorer in scorers.values():
            if not isinstance(scorer, dict):
                raise CgruError(f"{path}: scorers: {shown(scorer)}, where path: FILE is expected")
            models = [*models, *(value_of(scorer, "path", f"{path}: scorers") or [])]
    folder = path.parent if values.get("relative-paths") else Path()
    weights = values.get("weights")
    weights = weights.values() if isinstance(weights, dict) else ()
    configured = _configured(values, options, path)
    try:
        options = dataclasses.replace(
            options,
            **configured,
            model=options.model or tuple(str(folder / name) for name in models),
            vocabularies=options.vocabularies
            or tuple(str(folder / name) for name in settings.vocabularies),
            weights=options.weights
            or tuple(value_of({"weights": w}, "weights", str(path)) for w in weights),
        )
    except UsageError as error:
        raise CgruError(f"{path}: {error}") from None
    return options, settings
