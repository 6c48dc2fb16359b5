"""Write configuration files for the legacy programs: the inverse of `read_configuration`.

Each function makes the content of one file from a model's structure. It keeps other keys of the
model's own configuration if the same program wrote them.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..parameters.structure import Bias, Encoder, Normalization, Structure, Type, Unit
from .capabilities import cannot_hold, is_deep
from .configuration_values import (
    MARIAN_KEYS,
    NEMATUS_TF_KEYS,
    OLD_NEMATUS_KEYS,
    THEANO_KEYS,
    keyed,
)
from .dialects import MARIAN_YAML
from .model import Model

# Nematus-TF rejects a file with both the old and the new name of an option.
_OLD_NAMES = {*THEANO_KEYS.values(), *OLD_NEMATUS_KEYS.values()} - {*NEMATUS_TF_KEYS.values()}
_OLD_NAMES |= set(
    """
    n_words_src source_vocab_size use_dropout dropout_embedding dropout_hidden dropout_source
    dropout_target lrate encoder decoder decoder_deep enc_depth_bidirectional cgru
    """.split()
)
_NO_DATASETS = ["source", "target"]  # Nematus-TF reads no configuration without any


def own_container(model: Model, dictionaries: Sequence[str]) -> dict:
    """The configuration in cgru's own `.npz` and `.h5`.

    It has Nematus' keys only if Nematus would compute the same results; Nematus rejects files
    without these keys.
    """
    if cannot_hold(model.structure, "nematus"):
        return {"dictionaries": list(dictionaries)} if dictionaries else {}
    return nematus(model, dictionaries)


def nematus(model: Model, dictionaries: Sequence[str]) -> dict:
    """`model.npz.json` of Nematus-Theano."""
    s = model.structure
    values = _same_program(model, "nematus") | _sizes(s)
    values |= {
        "enc_depth_bidirectional": s.encoder_depth,
        "encoder": "gru",
        "decoder": "gru_cond",
        "decoder_deep": "gru",
        "weight_normalisation": s.weight_normalization,
        "deep_fusion_lm": None,
        "saveto": "model.npz",
    }
    values.pop("deep_include_ctx", None)
    dropouts = ("embedding", "hidden", "source", "target")
    if s.old_dropout is None:
        values.setdefault("use_dropout", False)
        for name in dropouts:
            values.setdefault(f"dropout_{name}", 0.0)
        values["model_version"] = max(0.1, float(values.get("model_version") or 0.1))
    else:  # without model_version, the program scales at inference
        values.pop("model_version", None)
        values["use_dropout"] = True
        values |= {f"dropout_{name}": getattr(s.old_dropout, name) for name in dropouts}
    return _with_dictionaries(values, dictionaries)


def dl4mt(model: Model, dictionaries: Sequence[str]) -> dict:
    """The options in DL4MT's `model.npz.pkl`."""
    s = model.structure
    values = _same_program(model, "dl4mt") | {
        "dim_word": s.target_embedding,
        "dim": s.state,
        "n_words": s.target_vocabulary,
        "encoder": "gru",
        "use_dropout": s.old_dropout is not None,
        "saveto": "model.npz",
    }
    if s.type is Type.LM:
        values.pop("dictionary", None)
        return values | ({"dictionary": dictionaries[0]} if dictionaries else {})
    values["n_words_src"] = s.source_vocabularies[0]
    values["decoder"] = "gru_cond" if s.type is Type.CGRU else "gru_cond_simple"
    return _with_dictionaries(values, dictionaries)


def nematus_tf(model: Model, dictionaries: Sequence[str]) -> dict:
    """`model-N.json` of Nematus-TF.

    Nematus-TF computes with Theano's biases if the file has Theano's keys (no `embedding_size`),
    whatever its `theano_compat` says. Therefore these keys describe deep models of Theano's
    convention.
    """
    s = model.structure
    theano, rms = s.bias is Bias.THEANO, s.normalization is Normalization.RMS
    added = {
        "model_type": "rnn",
        "model_version": 0.2,  # version of the variables' names; 0.1 has the older names
        "theano_compat": theano,
        "output_hidden_activation": s.readout_activation.value,
        "softmax_mixture_size": s.mixture,
        "source_vocab_sizes": list(s.source_vocabularies),
        "layer_normalization_type": "rmsnorm" if rms else "layernorm",
        "exponential_smoothing": 0.0,  # the weights are already smoothed, if at all
    }
    if sum(s.source_embeddings) != s.target_embedding:
        added["target_embedding_size"] = s.target_embedding
    if theano and is_deep(s):
        values = _sizes(s) | added | {"use_dropout": False, "lexical_model": s.lexical}
        values |= {"dim_word": sum(s.source_embeddings), "datasets": _NO_DATASETS}
        return _with_dictionaries(values, dictionaries)
    kept = _same_program(model, "nematus-tf")
    if "embedding_size" not in kept:
        kept = {}
    values = {name: value for name, value in kept.items() if name not in _OLD_NAMES} | added
    values |= keyed(s, NEMATUS_TF_KEYS) | {
        "embedding_size": sum(s.source_embeddings),
        "factors": len(s.source_embeddings),
        "dim_per_factor": list(s.source_embeddings),
    }
    values.setdefault("rnn_use_dropout", False)
    if not values.get("source_dataset"):
        values.setdefault("datasets", _NO_DATASETS)
    values = _with_dictionaries(values, dictionaries)
    if dictionaries:
        values |= {"source_dicts": list(dictionaries[:-1]), "target_dict": dictionaries[-1]}
    return values


# `model-N.progress.json` of a Nematus-TF training that has not begun.
NEMATUS_TF_PROGRESS = {
    "bad_counter": 0,
    "uidx": 0,
    "eidx": 0,
    "estop": False,
    "history_errs": (),
    "valid_script_scores": (),
}


def _sizes(s: Structure) -> dict:
    values = keyed(s, THEANO_KEYS) | {
        "n_words_src": s.source_vocabularies[0],
        "factors": len(s.source_embeddings),
        "dim_per_factor": list(s.source_embeddings),
    }
    if len(set(s.source_vocabularies)) > 1:
        # in Theano's form, all factors have equally many rows; this key of Nematus-TF allows others
        values["source_vocab_sizes"] = list(s.source_vocabularies)
    return values


def _same_program(model: Model, program: str) -> dict:
    """The model's own configuration, if this program wrote the model."""
    values = model.settings.values
    if model.program != program or MARIAN_YAML in values:
        return {}
    return {name: value for name, value in values.items() if name != "cgru"}


def _with_dictionaries(values: dict, dictionaries: Sequence[str]) -> dict:
    for name in ("source_dicts", "target_dict", "dictionaries"):
        values.pop(name, None)
    if dictionaries:
        values["dictionaries"] = list(dictionaries)
    return values


def marian_model(model: Model, to: str) -> bytes:
    """`special:model.yml`, ending in NUL; for a model of the same type, the original."""
    if model.origin.get("dialect") == to and "yaml" in model.origin:
        text = model.origin["yaml"].encode()
        return text.ljust(int(model.origin["bytes"]), b"\0")
    content = _yaml(marian_values(model, to)) + b"\0"
    return content.ljust(-(-len(content) // 256) * 256, b"\0")  # Marian's own blocks


def marian_values(model: Model, to: str) -> dict[str, Any]:
    """The options of Marian that describe a model, in the order of their names."""
    s = model.structure
    stacked = s.encoder_depth > 1 or s.decoder_depth > 1
    values = keyed(s, MARIAN_KEYS) | {
        "dec-cell": _marian_cell(s.decoder_unit, to),
        "dim-vocabs": [*s.source_vocabularies[:1], s.target_vocabulary],
        "enc-cell": _marian_cell(s.encoder_unit, to),
        "enc-type": (s.encoder if s.encoder_depth > 1 else Encoder.BIDIRECTIONAL).value,
        "input-types": [],
        "right-left": model.settings.right_left,
        "skip": stacked and s.residual,
        "tied-embeddings": s.tied_output and not s.shared_embeddings,
        "tied-embeddings-all": s.tied_output and s.shared_embeddings,
        "tied-embeddings-src": s.shared_embeddings and not s.tied_output,
        "type": "lm" if s.type is Type.LM else to.removeprefix("marian-"),
        "version": "v1.12.0",
    }
    return dict(sorted(values.items()))


def _marian_cell(unit: Unit, to: str) -> str:
    return "gru-nematus" if to == "marian-nematus" else unit.value


def decoder(
    model: Model, path: Path, vocabularies: Sequence[str], more: Mapping[str, object] | None = None
) -> bytes:
    """`.decoder.yml`, everything that `marian-decoder -c` needs.

    vocabularies: their names beside the model, which is written to `path`. more: further values; if
    relative-paths is false, paths are relative to the current folder.
    """
    settings, more = model.settings, more or {}
    relative = more.get("relative-paths", True)
    folder = Path() if relative else path.parent
    values: dict[str, Any] = {"relative-paths": relative, "models": [str(folder / path.name)]}
    if vocabularies:
        values["vocabs"] = [str(folder / name) for name in vocabularies]
    values["beam-size"] = settings.beam_size or 5
    values["normalize"] = settings.normalize or 0
    values["word-penalty"] = settings.word_penalty or 0
    return _yaml({**values, **more})


def amun(model: Model, name: str, vocabularies: Sequence[str]) -> bytes:
    """`.amun.yml`, everything that `amun -c` needs."""
    values = {
        "relative-paths": True,
        "source-vocab": vocabularies[0],
        "target-vocab": vocabularies[-1],
        "scorers": {"F0": {"path": name, "type": "Nematus"}},
        "weights": {"F0": 1},
        "normalize": bool(model.settings.normalize),
        "beam-size": model.settings.beam_size or 5,
    }
    return _yaml(values)


def _yaml(values: Mapping) -> bytes:
    import yaml

    return yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True).encode()


def as_json(values: Mapping) -> bytes:
    """JSON as Nematus writes it, in UTF-8, without keys that JSON cannot represent."""
    text = json.dumps(values, indent=2, ensure_ascii=False, default=_plain, skipkeys=True)
    return (text + "\n").encode()


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (np.integer, np.floating)):
        return value.item()
    raise TypeError(f"no JSON for {type(value).__name__}")
