"""What a legacy configuration says of its model, whatever program and year wrote it.

JSON of Nematus-Theano and Nematus-TF (all ages), DL4MT's pickled options, Marian's
`special:model.yml`, `.yml`, `.decoder.yml` and `.amun.yml`. The arrays know better: `model_file`
compares, and believes the arrays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..errors import CgruError
from ..parameters.structure import Activation, Bias, Dropout, Encoder, Type, Unit
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


def from_nematus(values: Mapping, source: str) -> ModelSettings:
    """Read a Nematus JSON or DL4MT options, both as dicts.

    Raises CgruError where a value is of the wrong kind.
    """
    if not isinstance(values, Mapping):
        raise CgruError(f"{source}: a model's configuration is a set of names and values")
    settings = ModelSettings(source=source, values=dict(values))
    theano = "embedding_size" not in values and "target_embedding_size" not in values
    is_dl4mt = theano and "dropout_embedding" not in values and "model_version" not in values
    settings.program = "nematus-tf" if not theano else "nematus"
    declared = settings.structure
    for name, keys in _NEMATUS_KEYS.items():
        for key in keys:
            if values.get(key) is not None:
                declared[name] = _number(values[key], key, source)
                break
    sources = values.get("source_vocab_sizes") or values.get("source_vocab_size")
    if sources is not None:
        sizes = sources if isinstance(sources, list) else [sources]
        declared["source_vocabularies"] = tuple(
            _number(s, "source_vocab_sizes", source) for s in sizes
        )
    elif values.get("n_words_src") is not None:
        declared["source_vocabularies"] = (_number(values["n_words_src"], "n_words_src", source),)
    if not theano:
        # absent before the switch existed: then the model was computed in TensorFlow's way
        declared["bias"] = Bias.THEANO if values.get("theano_compat") else Bias.NEMATUS_TF
    if values.get("rnn_layer_normalization") and (
        values.get("layer_normalization_type") == "rmsnorm"
    ):
        declared["rms"] = True
    if "output_hidden_activation" in values:
        try:
            declared["readout_activation"] = Activation(values["output_hidden_activation"])
        except ValueError:
            settings.unsupported.append(
                f"readout activation {values['output_hidden_activation']!r}"
            )
    if theano and values.get("use_dropout"):
        declared["old_dropout"] = _old_dropout(values, is_dl4mt, source)
    settings.vocabularies = _dictionaries(values)
    settings.unsupported += _unsupported(values)
    return settings


def _number(value: object, key: str, source: str) -> int:
    if isinstance(value, (bool, int)) or (isinstance(value, float) and value == int(value)):
        return int(value) if not isinstance(value, bool) else value
    raise CgruError(f"{source}: {key} is {value!r}, where a number is expected")


def _old_dropout(values: Mapping, is_dl4mt: bool, source: str) -> Dropout | None:
    """The scaling that a program applied at inference because it did not in training."""
    if is_dl4mt:  # one dropout of one half, before the output layer
        return Dropout(readout=0.5)
    if float(values.get("model_version") or 0) >= 0.1:
        return None
    rates = []
    for name in ("embedding", "hidden", "source", "target"):
        rate = values.get(f"dropout_{name}") or 0.0
        if not isinstance(rate, (int, float)) or not 0 <= rate < 1:
            raise CgruError(f"{source}: dropout_{name} is {rate!r}, where 0 <= p < 1 is expected")
        rates.append(float(rate))
    return Dropout(*rates, readout=rates[1])


def _dictionaries(values: Mapping) -> list[str]:
    if values.get("source_dicts") and values.get("target_dict"):
        names = [*values["source_dicts"], values["target_dict"]]
    elif isinstance(values.get("dictionary"), str):  # of a language model (DL4MT session 0)
        names = [values["dictionary"]]
    else:
        names = values.get("dictionaries") or []
    return [str(name) for name in names]


def _unsupported(values: Mapping) -> list[str]:
    """Kinds of model that only the configuration tells, or tells in plainer words."""
    found = []
    if values.get("model_type", "rnn") != "rnn":
        found.append(f"a Nematus {values['model_type']}")
    for key, known in (
        ("encoder", ("gru",)), ("decoder", ("gru_cond", "gru_cond_simple")),
        ("decoder_deep", ("gru",)),
    ):  # fmt: skip
        if values.get(key, known[0]) not in known:
            found.append(f"{key} {values[key]!r}")
    depth = values.get("enc_depth", 1)
    if values.get("enc_depth_bidirectional", depth) != depth:
        found.append("an encoder that is bidirectional in its lower levels only")
    if values.get("deep_fusion_lm"):
        found.append("deep fusion with a language model")
    return found


_MARIAN_CELLS = {
    "gru": Unit.GRU,
    "gru-nematus": Unit.GRU,
    "lstm": Unit.LSTM,
    "tanh": Unit.TANH,
    "relu": Unit.RELU,
}


def from_marian(values: Mapping, source: str) -> ModelSettings:
    """Read `special:model.yml`, a training `.yml`, `.decoder.yml` or `.amun.yml`."""
    if not isinstance(values, Mapping):
        raise CgruError(f"{source}: a Marian configuration is a set of names and values")
    settings = ModelSettings(source=source, program="marian", values=dict(values))
    declared = settings.structure

    def take(name: str, key: str, kind=int) -> None:
        if values.get(key) not in (None, ""):
            try:
                declared[name] = kind(values[key])
            except (TypeError, ValueError):
                raise CgruError(f"{source}: {key} is {values[key]!r}") from None

    take("target_embedding", "dim-emb")
    take("state", "dim-rnn")
    take("encoder_depth", "enc-depth")
    take("encoder_transition", "enc-cell-depth")
    take("decoder_depth", "dec-depth")
    take("decoder_base_transition", "dec-cell-base-depth")
    take("decoder_high_transition", "dec-cell-high-depth")
    take("normalized", "layer-normalization", bool)
    take("residual", "skip", bool)
    vocabularies = values.get("dim-vocabs")
    if isinstance(vocabularies, list) and len(vocabularies) == 2 and all(vocabularies):
        declared["source_vocabularies"] = (int(vocabularies[0]),)
        declared["target_vocabulary"] = int(vocabularies[1])
    if "tied-embeddings" in values or "tied-embeddings-all" in values:
        both = bool(values.get("tied-embeddings-all"))
        declared["tied_output"] = both or bool(values.get("tied-embeddings"))
        declared["shared_embeddings"] = both or bool(values.get("tied-embeddings-src"))
    if values.get("enc-type"):
        try:
            declared["encoder"] = Encoder(values["enc-type"])
        except ValueError:
            settings.unsupported.append(f"Marian's enc-type {values['enc-type']!r}")
    for name, key in (("encoder_unit", "enc-cell"), ("decoder_unit", "dec-cell")):
        cell = values.get(key) or "gru"
        if cell in _MARIAN_CELLS:
            declared[name] = _MARIAN_CELLS[cell]
        else:
            settings.unsupported.append(f"Marian's {key} {cell!r}")
    settings.marian_type = str(values.get("type", ""))
    if settings.marian_type == "lm":
        declared["type"] = Type.LM
        for name in [n for n in declared if n.startswith("encoder") or n == "shared_embeddings"]:
            del declared[name]  # Marian's defaults, of an encoder that is not there
    elif settings.marian_type and settings.marian_type not in ("amun", "nematus", "s2s"):
        settings.unsupported.append(f"Marian's type {settings.marian_type!r}")
    settings.right_left = bool(values.get("right-left"))
    for name in ("source-vocab", "target-vocab"):  # amun's own
        if values.get(name):
            settings.vocabularies.append(str(values[name]))
    if values.get("vocabs"):
        settings.vocabularies = [str(name) for name in values["vocabs"]]
    for name, key, kind in (
        ("beam_size", "beam-size", int),
        ("normalize", "normalize", float),
        ("word_penalty", "word-penalty", float),
    ):
        if key in values:
            try:
                number = kind(values[key] or 0)
                if not math.isfinite(number):
                    raise ValueError
            except (TypeError, ValueError, OverflowError):
                raise CgruError(
                    f"{source}: {key} is {values[key]!r}, where a number is expected"
                ) from None
            setattr(settings, name, number)
    return settings
