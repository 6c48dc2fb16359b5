"""cgru: recurrent neural machine translation with the conditional GRU.

docs/api.md has an example of each public name. They are loaded on first use, so that `cgru --help`
stays fast.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's is too slow to import before signals are handled
__version__ = "0.2.0"

if TYPE_CHECKING:
    from typing import Any

    from .convert.job import write_model as write_model
    from .errors import CgruError as CgruError
    from .errors import UsageError as UsageError
    from .formats.loaded_model import LoadedModel as LoadedModel
    from .formats.loaded_model import load_model as load_model
    from .formats.model import Model as Model
    from .formats.read_model import read as read_model
    from .network.keras_data import PreparedData as PreparedData
    from .network.keras_model import RecurrentModel as RecurrentModel
    from .output.hypothesis import Hypothesis as Hypothesis
    from .parameters.structure import Structure as Structure
    from .prep.job import prepare as prepare
    from .score.metrics.evaluate import evaluate as evaluate
    from .score.pairs.pair_scorer import PairScorer as PairScorer
    from .score.pairs.pair_scorer import PreparedPair as PreparedPair
    from .train.train_model import train_model as train_model
    from .translate.phrases import PreparedLine as PreparedLine
    from .translate.results import Translation as Translation
    from .translate.session import Session as Session
    from .translate.translator import Translator as Translator
    from .translate.translator import TranslatorSettings as TranslatorSettings

# The module of each public name.
_PUBLIC = {
    "load_model": "formats.loaded_model.load_model",
    "Translator": "translate.translator.Translator",
    "TranslatorSettings": "translate.translator.TranslatorSettings",
    "Session": "translate.session.Session",
    "PreparedLine": "translate.phrases.PreparedLine",
    "Translation": "translate.results.Translation",
    "PreparedPair": "score.pairs.pair_scorer.PreparedPair",
    "PairScorer": "score.pairs.pair_scorer.PairScorer",
    "RecurrentModel": "network.keras_model.RecurrentModel",
    "read_model": "formats.read_model.read",
    "write_model": "convert.job.write_model",
    "Structure": "parameters.structure.Structure",
    "Model": "formats.model.Model",
    "LoadedModel": "formats.loaded_model.LoadedModel",
    "Hypothesis": "output.hypothesis.Hypothesis",
    "PreparedData": "network.keras_data.PreparedData",
    "prepare": "prep.job.prepare",
    "train_model": "train.train_model.train_model",
    "evaluate": "score.metrics.evaluate.evaluate",
    "CgruError": "errors.CgruError",
    "UsageError": "errors.UsageError",
}
__all__ = ["CgruError", "Hypothesis", "LoadedModel", "Model", "PairScorer", "PreparedData"]
__all__ += ["PreparedLine", "PreparedPair", "RecurrentModel", "Session", "Structure"]
__all__ += ["Translation", "Translator", "TranslatorSettings", "UsageError", "__version__"]
__all__ += ["evaluate", "load_model", "prepare", "read_model", "train_model", "write_model"]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    if ".keras_" in _PUBLIC[name]:  # its module imports TensorFlow
        from .system.tensorflow_start import import_tensorflow

        import_tensorflow()
    module, _, attribute = _PUBLIC[name].rpartition(".")
    value = getattr(importlib.import_module(f".{module}", __name__), attribute)
    if name in ("load_model", "read_model", "write_model"):  # the commands have them too
        from .options.keywords import in_python

        value = in_python()(value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PUBLIC})
