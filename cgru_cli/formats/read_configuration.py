"""Read configurations of legacy models, of every program and version.

They are JSON of Nematus-Theano and Nematus-TF, DL4MT's pickled options, and Marian's
`special:model.yml`, `.yml`, `.decoder.yml` and `.amun.yml`. `read_model` compares configurations
with the arrays, which take precedence. `configuration_values` has the keys and the bounds of
values.
"""

from collections.abc import Mapping
from typing import Any

from ..errors import CgruError
from ..parameters.structure import Activation, Bias, Dropout, Encoder, Type, Unit
from .configuration_values import (
    MARIAN_KEYS,
    NEMATUS_TF_KEYS,
    OLD_NEMATUS_KEYS,
    THEANO_KEYS,
    list_of,
    shown,
    value_of,
)
from .model import ModelSettings

_NEMATUS_KEYS = (NEMATUS_TF_KEYS, OLD_NEMATUS_KEYS, THEANO_KEYS)


def from_nematus(values: object, source: str, *, pickled: bool = False) -> ModelSettings:
    """Read a Nematus JSON or DL4MT options, both as dicts.

    pickled: whether they were a pickle, the only format of DL4MT, and an early one of Nematus.
    Raises CgruError for a value of the wrong kind.
    """
    if not isinstance(values, Mapping) or not all(isinstance(key, str) for key in values):
        raise CgruError(f"{source}: a model's configuration is a set of names and values")
    settings = ModelSettings(source=source, values=dict(values))
    theano = "embedding_size" not in values and "target_embedding_size" not in values
    is_dl4mt = theano and pickled
    is_dl4mt &= "dropout_embedding" not in values and "model_version" not in values
    settings.program = "dl4mt" if is_dl4mt else "nematus" if theano else "nematus-tf"
    declared = settings.structure

    def value(key: str) -> Any:
        return value_of(values, key, source)

    for name, key in (pair for keys in _NEMATUS_KEYS for pair in keys.items()):
        known = value(key)
        if known is not None and not (name == "target_vocabulary" and known < 1):
            declared.setdefault(name, known)
    keys = ("source_vocab_sizes", "source_vocab_size", "n_words_src")
    rows = next(filter(None, (list_of(values, key, source) for key in keys)), [])
    if rows and min(rows) > 0:
        declared["source_vocabularies"] = tuple(rows)
    if not theano:
        # before the switch existed, Nematus-TF computed models by its own convention
        declared["bias"] = Bias.THEANO if value("theano_compat") else Bias.NEMATUS_TF
    if value("rnn_layer_normalization") and value("layer_normalization_type") == "rmsnorm":
        declared["rms"] = True
    if (activation := value("output_hidden_activation")) is not None:
        try:
            declared["readout_activation"] = Activation(activation)
        except ValueError:
            settings.unsupported.append(f"readout activation {shown(activation)}")
    if theano and value("use_dropout"):
        declared["old_dropout"] = _old_dropout(values, is_dl4mt, source)
    settings.vocabularies = _dictionaries(values, source)
    settings.unsupported += _unsupported(values, source)
    return settings


def _old_dropout(values: Mapping, is_dl4mt: bool, source: str) -> Dropout | None:
    """The dropout scaling that a program applied at inference instead of in training."""
    if is_dl4mt:  # dropout with probability 0.5, only before the output layer
        return Dropout(readout=0.5)
    if (value_of(values, "model_version", source) or 0) >= 0.1:
        return None
    embedding, hidden, of_source, of_target = (
        value_of(values, f"dropout_{name}", source) or 0.0
        for name in ("embedding", "hidden", "source", "target")
    )
    return Dropout(embedding, hidden, of_source, of_target, readout=hidden)


def _dictionaries(values: Mapping, source: str) -> list[str]:
    sources = list_of(values, "source_dicts", source)
    target = value_of(values, "target_dict", source)
    if sources and target:
        return [*map(str, sources), target]
    if isinstance(values.get("dictionary"), str):  # a language model of DL4MT session 0
        return [value_of(values, "dictionary", source)]
    return [str(name) for name in list_of(values, "dictionaries", source)]


def _unsupported(values: Mapping, source: str) -> list[str]:
    """The unsupported kinds of model that the configuration names."""
    kinds = []
    model_type = value_of(values, "model_type", source) or "rnn"
    if model_type != "rnn":
        kinds.append(f"a Nematus {model_type}")
    deep = value_of(values, "dec_depth", source) or 1
    for key in ("encoder", "decoder", *(["decoder_deep"] if deep > 1 else [])):
        known = ("gru_cond", "gru_cond_simple") if key == "decoder" else ("gru",)
        name = value_of(values, key, source) or known[0]
        if name not in known:
            kinds.append(f"{key} {shown(name)}")
    depth = values.get("enc_depth", 1)
    if values.get("enc_depth_bidirectional", depth) != depth:
        kinds.append("an encoder that is bidirectional in its lower levels only")
    if values.get("deep_fusion_lm"):
        kinds.append("deep fusion with a language model")
    return kinds


_MARIAN_CELLS = {unit.value: unit for unit in Unit if unit not in (Unit.GRU_BEFORE, Unit.SIGMOID)}
_MARIAN_CELLS["gru-nematus"] = Unit.GRU


def from_marian(values: Mapping, source: str) -> ModelSettings:
    """Read `special:model.yml`, a training `.yml`, `.decoder.yml` or `.amun.yml`.

    Raises CgruError for a value of the wrong kind.
    """
    settings = ModelSettings(source=source, program="marian", values=dict(values))
    declared = settings.structure

    def value(key: str) -> Any:
        return value_of(values, key, source)

    for name, key in MARIAN_KEYS.items():
        if (known := value(key)) is not None:
            declared[name] = known
    rows = list_of(values, "dim-vocabs", source)
    if len(rows) == 2 and min(rows) > 0:
        declared["source_vocabularies"] = (rows[0],)
        declared["target_vocabulary"] = rows[1]
    if "tied-embeddings" in values or "tied-embeddings-all" in values:
        both = bool(value("tied-embeddings-all"))
        declared["tied_output"] = both or bool(value("tied-embeddings"))
        declared["shared_embeddings"] = both or bool(value("tied-embeddings-src"))
    if kind := value("enc-type"):
        try:
            declared["encoder"] = Encoder(kind)
        except ValueError:
            settings.unsupported.append(f"Marian's enc-type {shown(kind)}")
    for name, key in (("encoder_unit", "enc-cell"), ("decoder_unit", "dec-cell")):
        cell = value(key)
        if cell is None:
            continue  # `.decoder.yml` has no cells
        if cell in _MARIAN_CELLS:
            declared[name] = _MARIAN_CELLS[cell]
        else:
            settings.unsupported.append(f"Marian's {key} {shown(cell)}")
    settings.marian_type = value("type") or ""
    if settings.marian_type == "lm":
        declared["type"] = Type.LM
        for name in [n for n in declared if n.startswith("encoder") or n == "shared_embeddings"]:
            del declared[name]  # Marian's defaults; there is no encoder
    elif settings.marian_type and settings.marian_type not in ("amun", "nematus", "s2s"):
        settings.unsupported.append(f"Marian's type {shown(settings.marian_type)}")
    settings.right_left = settings.source_reversed = bool(value("right-left"))
    of_amun = [
        *list_of(values, "source-vocab", source),
        *list_of(values, "target-vocab", source),
    ]
    settings.vocabularies = list(map(str, list_of(values, "vocabs", source) or of_amun))
    settings.beam_size = value("beam-size")
    if (normalize := value("normalize")) is not None:
        settings.normalize = float(normalize)  # true or false in amun
    settings.word_penalty = value("word-penalty")
    return settings
