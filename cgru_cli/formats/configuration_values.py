"""The known keys of configurations, with the kind and bounds of their values.

Configurations are untrusted input. A value of another kind is an error that names file and key;
other keys are ignored.
"""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, get_type_hints

import msgspec
from msgspec import Meta

from ..errors import CgruError
from ..parameters.structure import LARGEST_SIZE, Normalization, Probability, Structure
from ..system.structured_files import check_text
from ..system.typed_json import problem

# Fields of Structure, and their keys in the configurations of Nematus-TF, of Nematus on Theano and
# DL4MT, and of older versions; normalized: whether the model has any normalisation.
_NEMATUS = """
    target_embedding target_embedding_size dim_word embedding_size
    state state_size dim -
    target_vocabulary target_vocab_size n_words -
    encoder_depth rnn_enc_depth enc_depth -
    encoder_transition rnn_enc_transition_depth enc_recurrence_transition_depth -
    decoder_depth rnn_dec_depth dec_depth -
    decoder_base_transition rnn_dec_base_transition_depth dec_base_recurrence_transition_depth -
    decoder_high_transition rnn_dec_high_transition_depth dec_high_recurrence_transition_depth -
    deep_context rnn_dec_deep_context dec_deep_context deep_include_ctx
    normalized rnn_layer_normalization layer_normalisation use_layer_norm
    weight_normalization - - weight_normalisation
    lexical rnn_lexical_model - lexical_model
    mixture softmax_mixture_size - -
    tied_output tie_decoder_embeddings tie_decoder_embeddings -
    shared_embeddings tie_encoder_decoder_embeddings tie_encoder_decoder_embeddings -
"""
_ROWS = [line.split() for line in _NEMATUS.strip().splitlines()]
NEMATUS_TF_KEYS, THEANO_KEYS, OLD_NEMATUS_KEYS = (
    {row[0]: row[column] for row in _ROWS if row[column] != "-"} for column in (1, 2, 3)
)
MARIAN_KEYS = {
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


def keyed(structure: Structure, keys: Mapping[str, str]) -> dict[str, Any]:
    """The values of a structure, by a program's keys."""
    fields = dataclasses.asdict(structure)
    fields["normalized"] = structure.normalization is not Normalization.NONE
    return {key: fields[name] for name, key in keys.items()}


LARGEST_NUMBER = 1e9
Number = Annotated[float, Meta(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
_Rows = Annotated[int, Meta(ge=-1, le=LARGEST_SIZE)]  # -1 and 0 mean "all"
_Count = Annotated[int, Meta(ge=0, le=LARGEST_SIZE)]
_Text = Annotated[str, Meta(max_length=4096)]  # the maximum length of a path
_Several = Meta(max_length=100)  # vocabularies, models
_EachRows = Annotated[list[_Rows], _Several] | _Rows
_Texts = Annotated[list[_Text | int], _Several] | _Text  # YAML reads digits as a number

_OTHER_KEYS: dict[Any, str] = {
    _Rows: "target_vocab_size n_words n_words_src",
    _EachRows: "source_vocab_sizes source_vocab_size dim-vocabs",
    bool: """
        rnn_layer_normalization layer_normalisation use_layer_norm layer-normalization theano_compat
        use_dropout right-left tied-embeddings tied-embeddings-all tied-embeddings-src
        """,
    Probability: "dropout_embedding dropout_hidden dropout_source dropout_target",
    _Count: "beam-size",
    Number: "model_version word-penalty",
    Number | bool: "normalize",
    _Text: """
        output_hidden_activation layer_normalization_type target_dict dictionary model_type encoder
        decoder decoder_deep enc-type enc-cell dec-cell type
        """,
    _Texts: "source_dicts dictionaries vocabs source-vocab target-vocab",
}


def _kinds() -> dict[str, Any]:
    """The type of each key's values, from its field of Structure or from `_OTHER_KEYS`."""
    fields = get_type_hints(Structure, include_extras=True)
    kinds = {
        key: fields[name]
        for keys in (NEMATUS_TF_KEYS, THEANO_KEYS, OLD_NEMATUS_KEYS, MARIAN_KEYS)
        for name, key in keys.items()
        if name in fields
    }
    return kinds | {key: kind for kind, keys in _OTHER_KEYS.items() for key in keys.split()}


KINDS = _kinds()


def value_of(values: Mapping, key: str, source: str) -> Any:
    """The value of a key in `KINDS`; None if absent, null or an empty text.

    Raises CgruError, naming source and key, for a value of another kind.
    """
    value = values.get(key)
    if value is None or (isinstance(value, str) and value == ""):
        return None
    try:
        check_text(value)
        return msgspec.convert(value, KINDS[key], strict=False)
    except msgspec.ValidationError as error:
        raise CgruError(f"{source}: {key} is {shown(value)}: {problem(error)}") from None
    except ValueError:  # a lone surrogate
        raise CgruError(f"{source}: {key} is {shown(value)}: not valid Unicode") from None


def list_of(values: Mapping, key: str, source: str) -> list:
    """Like `value_of`, for a key with a list or its only element; empty if absent."""
    value = value_of(values, key, source)
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def shown(value: Any) -> str:
    """A value, formatted for messages; long values are cut."""
    if isinstance(value, (dict, list, tuple)):
        return f"a {'set of names' if isinstance(value, dict) else 'list'} of {len(value)}"
    text = repr(value[:100] if isinstance(value, (str, bytes)) else value)
    return text if len(text) <= 60 else f"{text[:60]}..."
