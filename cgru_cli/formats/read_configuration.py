"""Configurations of legacy models, whatever program and year wrote them.

JSON of Nematus-Theano and Nematus-TF (all ages), DL4MT's pickled options, Marian's
`special:model.yml`, `.yml`, `.decoder.yml` and `.amun.yml`. The arrays know better: `read_model`
compares, and believes the arrays. `configuration_values` says what each value may be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import CgruError
from ..parameters.structure import Activation, Bias, Dropout, Encoder, Type, Unit
from .configuration_values import shown, value_of
from .model import ModelSettings

# Field of Structure: its keys in Nematus-TF, then in Nematus-Theano and DL4MT, oldest last.
_NEMATUS_KEYS = {
    "target_embedding": ("target_embedding_size", "embedding_size", "dim_word"),
    "state": ("state_size", "dim"),
    "target_vocabulary": ("target_vocab_size", "n_words"),
    "encoder_depth": ("rnn_enc_depth", "enc_depth"),
    "encoder_transition": ("rnn_enc_transition_depth", "enc_recurrence_transition_depth"),
    "decoder_depth": ("rnn_dec_depth", "dec_depth"),
    "decoder_base_transition": (
        "rnn_dec_base_transition_depth",
        "dec_base_recurrence_transition_depth",
    ),
    "decoder_high_transition": (
        "rnn_dec_high_transition_depth",
        "dec_high_recurrence_transition_depth",
    ),
    "deep_context": ("rnn_dec_deep_context", "dec_deep_context", "deep_include_ctx"),
    "normalized": ("rnn_layer_normalization", "layer_normalisation", "use_layer_norm"),
    "weight_normalization": ("weight_normalisation",),
    "tied_output": ("tie_decoder_embeddings",),
    "shared_embeddings": ("tie_encoder_decoder_embeddings",),
    "mixture": ("softmax_mixture_size",),
    "lexical": ("rnn_lexical_model", "lexical_model"),
}


def from_nematus(values: object, source: str) -> ModelSettings:
    """Read a Nematus JSON or DL4MT options, both as dicts.

    Raises CgruError where a value is of the wrong kind.
    """
    if not isinstance(values, Mapping) or not all(isinstance(key, str) for key in values):
        raise CgruError(f"{source}: a model's configuration is a set of names and values")
    settings = ModelSettings(source=source, values=dict(values))
    theano = "embedding_size" not in values and "target_embedding_size" not in values
    is_dl4mt = theano and "dropout_embedding" not in values and "model_version" not in values
    settings.program = "nematus-tf" if not theano else "nematus"
    declared = settings.structure

    def value(key: str) -> Any:
        return value_of(values, key, source)

    for name, keys in _NEMATUS_KEYS.items():
        known = next((stated for key in keys if (stated := value(key)) is not None), None)
        if known is not None and not (name == "target_vocabulary" and known < 1):
            declared[name] = known
    rows = value("source_vocab_sizes") or value("source_vocab_size") or []
    if not rows and (of_all := value("n_words_src")) is not None:
        rows = [of_all]
    if rows and min(rows) > 0:
        declared["source_vocabularies"] = tuple(rows)
    if not theano:
        # absent before the switch existed: then the model was computed in TensorFlow's way
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
    """The scaling that a program applied at inference because it did not in training."""
    if is_dl4mt:  # one dropout of one half, before the output layer
        return Dropout(readout=0.5)
    if (value_of(values, "model_version", source) or 0) >= 0.1:
        return None
    embedding, hidden, of_source, of_target = (
        value_of(values, f"dropout_{name}", source) or 0.0
        for name in ("embedding", "hidden", "source", "target")
    )
    return Dropout(embedding, hidden, of_source, of_target, readout=hidden)


def _dictionaries(values: Mapping, source: str) -> list[str]:
    sources = value_of(values, "source_dicts", source)
    target = value_of(values, "target_dict", source)
    if sources and target:
        return [*sources, target]
    # of a language model (DL4MT session 0)
    if isinstance(values.get("dictionary"), str):
        return [value_of(values, "dictionary", source)]
    return value_of(values, "dictionaries", source) or []


def _unsupported(values: Mapping, source: str) -> list[str]:
    """Unsupported kinds of model that the configuration names, in plain words."""
    kinds = []
    model_type = value_of(values, "model_type", source) or "rnn"
    if model_type != "rnn":
        kinds.append(f"a Nematus {model_type}")
    for key, known in (
        ("encoder", ("gru",)), ("decoder", ("gru_cond", "gru_cond_simple")),
        ("decoder_deep", ("gru",)),
    ):  # fmt: skip
        name = value_of(values, key, source) or known[0]
        if name not in known:
            kinds.append(f"{key} {shown(name)}")
    depth = values.get("enc_depth", 1)
    if values.get("enc_depth_bidirectional", depth) != depth:
        kinds.append("an encoder that is bidirectional in its lower levels only")
    if values.get("deep_fusion_lm"):
        kinds.append("deep fusion with a language model")
    return kinds


_MARIAN_CELLS = {
    "gru": Unit.GRU,
    "gru-nematus": Unit.GRU,
    "lstm": Unit.LSTM,
    "tanh": Unit.TANH,
    "relu": Unit.RELU,
}


# Field of Structure: its key in Marian's configurations.
_MARIAN_KEYS = {
    "target_embedding": "dim-emb",
    "state": "dim-rnn",
    "encoder_depth": "enc-depth",
    "encoder_transition": "enc-cell-depth",
    "decoder_depth": "dec-depth",
    "decoder_base_transition": "dec-cell-base-depth",
    "decoder_high_transition": "dec-cell-high-depth",
    "normalized": "layer-normalization",
    "residual": "skip",
}


def from_marian(values: object, source: str) -> ModelSettings:
    """Read `special:model.yml`, a training `.yml`, `.decoder.yml` or `.amun.yml`.

    Raises CgruError where a value is of the wrong kind.
    """
    if not isinstance(values, Mapping):
        raise CgruError(f"{source}: a Marian configuration is a set of names and values")
    settings = ModelSettings(source=source, program="marian", values=dict(values))
    declared = settings.structure

    def value(key: str) -> Any:
        return value_of(values, key, source)

    for name, key in _MARIAN_KEYS.items():
        if (known := value(key)) is not None:
            declared[name] = known
    rows = value("dim-vocabs") or []
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
        cell = value(key) or "gru"
        if cell in _MARIAN_CELLS:
            declared[name] = _MARIAN_CELLS[cell]
        else:
            settings.unsupported.append(f"Marian's {key} {shown(cell)}")
    settings.marian_type = value("type") or ""
    if settings.marian_type == "lm":
        declared["type"] = Type.LM
        for name in [n for n in declared if n.startswith("encoder") or n == "shared_embeddings"]:
            del declared[name]  # Marian's defaults, of an encoder that is not there
    elif settings.marian_type and settings.marian_type not in ("amun", "nematus", "s2s"):
        settings.unsupported.append(f"Marian's type {shown(settings.marian_type)}")
    settings.right_left = settings.source_reversed = bool(value("right-left"))
    of_amun = [*(value("source-vocab") or []), *(value("target-vocab") or [])]
    settings.vocabularies = value("vocabs") or of_amun
    settings.beam_size = value("beam-size")
    settings.normalize = value("normalize")
    settings.word_penalty = value("word-penalty")
    return settings
