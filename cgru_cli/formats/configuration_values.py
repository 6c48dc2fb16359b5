"""The keys that are read of configurations, and for each the kind and bounds of its values.

Configurations come from anywhere. A value of another kind is an error that names file and key;
other keys are ignored.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..errors import CgruError
from ..parameters.structure import DEEPEST, LARGEST_SIZE, Normalization, Structure

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_SWITCHES = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


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


class Kind(NamedTuple):
    """A kind of values: its name in messages, and `read`, which raises ValueError for any other."""

    expected: str
    read: Callable[[Any], Any]


def _whole(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    raise ValueError


def _between(least: int, most: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if not least <= (number := _whole(value)) <= most:
            raise ValueError
        return number

    return read


def _number(value: Any) -> float:
    if not isinstance(value, (bool, int, float, str)):
        raise ValueError
    number = float(value or 0)
    if not math.isfinite(number) or abs(number) > LARGEST_NUMBER:
        raise ValueError
    return number


def _probability(value: Any) -> float:
    number = _number(value)
    if not 0 <= number < 1:
        raise ValueError
    return number


def _switch(value: Any) -> bool:
    if isinstance(value, str):
        value = _SWITCHES.get(value.lower(), value)
    if value in (0, 1):  # also of Python 2 pickles, and True, which equals 1
        return bool(value)
    raise ValueError


def _text(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):  # a name of digits in YAML
        value = str(value)
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT or "\0" in value:
        raise ValueError
    value.encode("utf-8")  # raises ValueError for half a surrogate pair
    return value


def _several(kind: Callable[[Any], Any]) -> Callable[[Any], list]:
    def read(value: Any) -> list:
        values = value if isinstance(value, (list, tuple)) else [value]
        if len(values) > _MOST:
            raise ValueError
        return [kind(one) for one in values]

    return read


def _texts(value: Any) -> list[str]:
    if not isinstance(value, (list, tuple, str)):
        raise ValueError
    return _several(_text)(value)


LARGEST_NUMBER = 1e9
_LONGEST_TEXT = 4096  # characters, as in a path
_MOST = 100  # vocabularies, models

SIZE = Kind(f"a whole number from 1 to {LARGEST_SIZE}", _between(1, LARGEST_SIZE))
# -1 and 0 mean "all"
ROWS = Kind(f"a whole number up to {LARGEST_SIZE}", _between(-1, LARGEST_SIZE))
DEPTH = Kind(f"a whole number from 1 to {DEEPEST}", _between(1, DEEPEST))
COUNT = Kind(f"a whole number up to {LARGEST_SIZE}", lambda v: _between(0, LARGEST_SIZE)(v or 0))
NUMBER = Kind("a number", _number)
PROBABILITY = Kind("a number from 0 and below 1", _probability)
SWITCH = Kind("true or false", _switch)
TEXT = Kind("a text", _text)
TEXTS = Kind("a list of texts", _texts)
ROWS_OF_EACH = Kind("a list of whole numbers", _several(ROWS.read))

_KINDS: dict[Kind, str] = {
    SIZE: "target_embedding_size embedding_size dim_word state_size dim dim-emb dim-rnn",
    ROWS: "target_vocab_size n_words n_words_src",
    ROWS_OF_EACH: "source_vocab_sizes source_vocab_size dim-vocabs",
    DEPTH: """
        rnn_enc_depth enc_depth rnn_enc_transition_depth enc_recurrence_transition_depth
        rnn_dec_depth dec_depth rnn_dec_base_transition_depth dec_base_recurrence_transition_depth
        rnn_dec_high_transition_depth dec_high_recurrence_transition_depth softmax_mixture_size
        enc-depth enc-cell-depth dec-depth dec-cell-base-depth dec-cell-high-depth
        """,
    SWITCH: """
        rnn_dec_deep_context dec_deep_context deep_include_ctx rnn_layer_normalization
        layer_normalisation use_layer_norm weight_normalisation tie_decoder_embeddings
        tie_encoder_decoder_embeddings rnn_lexical_model lexical_model theano_compat use_dropout
        layer-normalization skip right-left tied-embeddings tied-embeddings-all
        tied-embeddings-src
        """,
    PROBABILITY: "dropout_embedding dropout_hidden dropout_source dropout_target",
    COUNT: "beam-size",
    NUMBER: "model_version normalize word-penalty",
    TEXT: """
        output_hidden_activation layer_normalization_type target_dict dictionary model_type encoder
        decoder decoder_deep enc-type enc-cell dec-cell type
        """,
    TEXTS: "source_dicts dictionaries vocabs source-vocab target-vocab",
}
KINDS = {key: kind for kind, keys in _KINDS.items() for key in keys.split()}


def value_of(values: Mapping, key: str, source: str) -> Any:
    """The value of a key in `KINDS`; None where it is absent, null or an empty text.

    Raises CgruError, naming source and key, where it is of another kind.
    """
    value = values.get(key)
    if value is None or (isinstance(value, str) and value == ""):
        return None
    kind = KINDS[key]
    try:
        return kind.read(value)
    except (ValueError, OverflowError):
        raise CgruError(
            f"{source}: {key} is {shown(value)}, where {kind.expected} is expected"
        ) from None


def shown(value: Any) -> str:
    """A value as messages show it; only the beginning of a long one."""
    if isinstance(value, (dict, list, tuple)):
        return f"a {'set of names' if isinstance(value, dict) else 'list'} of {len(value)}"
    text = repr(value[:100] if isinstance(value, (str, bytes)) else value)
    return text if len(text) <= 60 else f"{text[:60]}..."
