"""The program that wrote a file's arrays, and its conventions.

The names of the arrays determine the dialect. This file also rejects recognised models that cgru
cannot run.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..errors import CgruError
from ..parameters.parameter import Dialect, Parameter
from ..parameters.structure import Encoder, Structure
from .array_files import StoredArray
from .model import ModelSettings

MARIAN_YAML = "special:model.yml"  # the array with Marian's configuration
DESCRIPTIONS = {
    Dialect.NEMATUS: "Nematus and DL4MT",
    Dialect.NEMATUS_TF: "Nematus-TF",
    Dialect.NEMATUS_TF_01: "Nematus-TF 0.1",
    Dialect.AMUN: "Marian's type amun",
    Dialect.MARIAN_NEMATUS: "Marian's type nematus",
    Dialect.S2S: "Marian's type s2s",
    Dialect.NMTPY: "nmtpy",
}


def recognise(path: Path, stored: Mapping[str, StoredArray], settings: ModelSettings) -> Dialect:
    """The dialect of the arrays' names. Raises CgruError if no known model has such names."""
    names = set(stored)
    if any(name.startswith(("encoder/", "decoder/")) for name in names):
        old = any("forwardEncoder" in name for name in names)
        return Dialect.NEMATUS_TF_01 if old else Dialect.NEMATUS_TF
    if {"decoder_cell1_U", "decoder_cell1_W", "encoder_bi_U"} & names:
        return Dialect.S2S
    if {"ff_logit_gru_W", "Wemb_enc", "decoder_c_att"} & names:
        return Dialect.NMTPY
    if not {"decoder_U_nl", "decoder_Wc", "encoder_U", "ff_logit_b"} & names:
        example = ", ".join(sorted(names)[:3]) or "nothing"
        raise CgruError(f"{path}: holds no model that cgru knows (found {example})")
    if settings.marian_type in ("amun", "nematus"):
        return Dialect(f"marian-{settings.marian_type}")
    rows = any(name.endswith("_b") and array.ndim == 2 for name, array in stored.items())
    if rows or any(re.search(r"_gamma\d?$|^encoder_bi_", name) for name in names):
        normed = any(name.endswith("_lns") for name in names)
        return Dialect.MARIAN_NEMATUS if normed else Dialect.AMUN
    return Dialect.NEMATUS


# Kinds of models that cgru cannot run, by a pattern of array names that only they have.
_UNCOMPUTABLE = {
    "self_W|self_attention|/layer_": "a transformer; cgru computes recurrent models only",
    "^(lm_|fusion_lm_|ff_logit_lm)": "a Nematus model fused with a language model; translate with "
    "the program that trained it, or drop the fusion and retrain",
    r"^decoder_\d+_(W_comb_att|Wc_att)$": "a Nematus model with attention in its high decoder "
    "levels (decoder_deep gru_cond), which cgru does not compute",
    r"^decoder_att\d+_": "a Marian multi-source model; cgru runs models of one source",
    "^(deep_encoder_|deepencoder_)": "an nmtpy model with stacked encoders, which cgru does not "
    "compute",
}


def _uncomputable(names: set[str]) -> str:
    """The kind of model with these names if cgru cannot run it, otherwise ""."""
    for pattern, kind in _UNCOMPUTABLE.items():
        if any(re.search(pattern, name) for name in names):
            return kind
    if "ff_logit_gru_W" in names and {"encoder_b1", "encoder_s1"} & names:
        return "an nmtpy model with a layer-normalised encoder, which cgru does not compute"
    if "ff_logit_gru_W" in names and not {"ff_logit_ctx_W", "ff_state_W"} <= names:
        return "an nmtpy model with simple_output or without ff_state, which cgru does not compute"
    return ""


def refuse_uncomputable(
    path: Path, stored: Mapping[str, StoredArray], settings: ModelSettings
) -> None:
    """Raise CgruError, naming the kind of model, if cgru cannot run it."""
    if kind := _uncomputable(set(stored)):
        raise CgruError(f"{path}: {kind}")
    u, ux = stored.get("decoder_U"), stored.get("decoder_Ux")
    if u and ux and ux.ndim == 2:
        state = ux.shape[0]
        if (u.shape, ux.shape) == ((state, 3 * state), (state, state)):
            raise CgruError(f"{path}: a Nematus LSTM; only Nematus' GRU is supported")
    if settings.unsupported:
        raise CgruError(f"{path}: {settings.unsupported[0]} (says {settings.source}); unsupported")


def smoothed(stored: dict, settings: ModelSettings, dialect: Dialect) -> dict:
    """The arrays that Nematus-TF translates with: exponentially smoothed arrays if present."""
    if dialect not in (Dialect.NEMATUS_TF, Dialect.NEMATUS_TF_01):
        return stored
    smooth = {n.removesuffix("_smooth"): a for n, a in stored.items() if n.endswith("_smooth")}
    raw = {name: array for name, array in stored.items() if not name.endswith("_smooth")}
    return raw | smooth if settings.values.get("exponential_smoothing", True) else raw


def program(dialect: Dialect, settings: ModelSettings) -> str:
    """The program whose conventions and defaults apply to a file of this dialect."""
    if dialect is Dialect.NEMATUS and settings.program == "dl4mt":
        return settings.program
    return (Dialect.NEMATUS_TF if dialect is Dialect.NEMATUS_TF_01 else dialect).value


def convention(
    parameter: Parameter, dialect: Dialect, structure: Structure, array: np.ndarray
) -> np.ndarray:
    """Convert an array between a dialect's convention and cgru's; exact, and its own inverse.

    nmtpy's update gate weights the proposal, not the previous state: sigma(-x) = 1 - sigma(x).
    Marian concatenates the stacks of an alternating encoder, not its directions; at even depth this
    swaps the halves of every matrix that multiplies a context.
    """
    if dialect is Dialect.NMTPY and parameter.cell and parameter.shape[-1] == "2D":
        array = array.copy()
        array[..., array.shape[-1] // 2 :] *= -1
    alternating = structure.encoder is Encoder.ALTERNATING
    swapped = alternating and structure.encoder_depth % 2 == 0
    if dialect is Dialect.S2S and swapped and parameter.shape[0] == "C":
        array = np.concatenate(np.split(array, 2)[::-1])
    return array
