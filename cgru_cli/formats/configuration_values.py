"""The keys that are read of configurations, and for each the kind and bounds of its values.

Configurations come from anywhere. A value of another kind is an error that names file and key;
other keys are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from ..errors import CgruError
from ..parameters.structure import (
    DEEPEST,
    LARGEST_SIZE,
    Depth,
    Normalization,
    Probability,
    Size,
    Structure,
)
from ..system.structured_files import check_text

# Fields of Structure, and their keys in the configurations of each program.
NEMATUS_TF_KEYS = {
    "target_embedding": "target_embedding_size",
    "state": "state_size",
    "target_vocabulary": "target_vocab_size",
    "encoder_depth": "rnn_enc_depth",
    "encoder_transition": "rnn_enc_transition_depth",
    "decoder_depth": "rnn_dec_depth",
    "decoder_base_transition": "rnn_dec_base_transition_depth",
    "decoder_high_transition": "rnn_dec_high_transition_depth",
    "deep_context": "rnn_dec_deep_context",
    "normalized": "rnn_layer_normalization",
    "lexical": "rnn_lexical_model",
    "mixture": "softmax_mixture_size",
    "tied_output": "tie_decoder_embeddings",
    "shared_embeddings": "tie_encoder_decoder_embeddings",
}
THEANO_KEYS = {  # DL4MT's too
    "target_embedding": "dim_word",
    "state": "dim",
    "target_vocabulary": "n_words",
    "encoder_depth": "enc_depth",
    "encoder_transition": "enc_recurrence_transition_depth",
    "decoder_depth": "dec_depth",
    "decoder_base_transition": "dec_base_recurrence_transition_depth",
    "decoder_high_transition": "dec_high_recurrence_transition_depth",
    "deep_context": "dec_deep_context",
    "normalized": "layer_normalisation",
    "tied_output": "tie_decoder_embeddings",
    "shared_embeddings": "tie_encoder_decoder_embeddings",
}
OLD_NEMATUS_KEYS = {
    "target_embedding": "embedding_size",
    "deep_context": "deep_include_ctx",
    "normalized": "use_layer_norm",
    "weight_normalization": "weight_normalisation",
    "lexical": "lexical_model",
}
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
    """The values of a structure by a program's keys."""
    fields = structure.as_dict()
    fields["normalized"] = structure.normalization is not Normalization.NONE
    return {key: fields[name] for name, key in keys.items()}


LARGEST_NUMBER = 1e9
Number = Annotated[float, Meta(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
_Rows = Annotated[int, Meta(ge=-1, le=LARGEST_SIZE)]  # -1 and 0 mean "all"
_Count = Annotated[int, Meta(ge=0, le=LARGEST_SIZE)]
_Text = Annotated[str, Meta(max_length=4096)]  # as long as a path
_Several = Meta(max_length=100)  # vocabularies, models

# Values as messages describe them, their types, and the keys that have them.
_KINDS: dict[str, tuple[Any, str]] = {
    f"a whole number from 1 to {LARGEST_SIZE}": (
        Size,
        "target_embedding_size embedding_size dim_word state_size dim dim-emb dim-rnn",
    ),
    f"a whole number from -1 to {LARGEST_SIZE}": (
        _Rows,
        "target_vocab_size n_words n_words_src",
    ),
    "a list of whole numbers": (
        Annotated[list[_Rows], _Several] | _Rows,
        "source_vocab_sizes source_vocab_size dim-vocabs",
    ),
    f"a whole number from 1 to {DEEPEST}": (
        Depth,
        """
        rnn_enc_depth enc_depth rnn_enc_transition_depth enc_recurrence_transition_depth
        rnn_dec_depth dec_depth rnn_dec_base_transition_depth dec_base_recurrence_transition_depth
        rnn_dec_high_transition_depth dec_high_recurrence_transition_depth softmax_mixture_size
        enc-depth enc-cell-depth dec-depth dec-cell-base-depth dec-cell-high-depth
        """,
    ),
    "true or false": (
        bool,
        """
        rnn_dec_deep_context dec_deep_context deep_include_ctx rnn_layer_normalization
        layer_normalisation use_layer_norm weight_normalisation tie_decoder_embeddings
        tie_encoder_decoder_embeddings rnn_lexical_model lexical_model theano_compat use_dropout
        layer-normalization skip right-left tied-embeddings tied-embeddings-all
        tied-embeddings-src
        """,
    ),
    "a number from 0 and below 1": (
        Probability,
        "dropout_embedding dropout_hidden dropout_source dropout_target",
    ),
    f"a whole number up to {LARGEST_SIZE}": (_Count, "beam-size"),
    "a number": (Number | bool, "model_version normalize word-penalty"),
    "a text": (
        _Text,
        """
        output_hidden_activation layer_normalization_type target_dict dictionary model_type encoder
        decoder decoder_deep enc-type enc-cell dec-cell type
        """,
    ),
    "a list of texts": (
        Annotated[list[_Text | int], _Several] | _Text,  # YAML has names of digits as numbers
        "source_dicts dictionaries vocabs source-vocab target-vocab",
    ),
}
KINDS = {key: (text, kind) for text, (kind, keys) in _KINDS.items() for key in keys.split()}


def value_of(values: Mapping, key: str, source: str) -> Any:
    """The value of a key in `KINDS`; None where it is absent, null or an empty text.

    Raises CgruError, naming source and key, where it is of another kind.
    """
    value = values.get(key)
    if value is None or (isinstance(value, str) and value == ""):
        return None
    expected, kind = KINDS[key]
    try:
        check_text(value)
        return msgspec.convert(value, kind, strict=False)
    except (msgspec.ValidationError, ValueError):
        raise CgruError(
            f"{source}: {key} is {shown(value)}, where {expected} is expected"
        ) from None


def list_of(values: Mapping, key: str, source: str) -> list:
    """As `value_of`, for a key with a list or its only element; empty where it is absent."""
    value = value_of(values, key, source)
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def shown(value: Any) -> str:
    """A value as messages show it; only the beginning of a long one."""
    if isinstance(value, (dict, list, tuple)):
        return f"a {'set of names' if isinstance(value, dict) else 'list'} of {len(value)}"
    text = repr(value[:100] if isinstance(value, (str, bytes)) else value)
    return text if len(text) <= 60 else f"{text[:60]}..."
