"""The program that wrote a file's arrays, and its conventions.

A dialect is recognised from the arrays alone. What is recognised and cannot be computed is
refused here, by its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..errors import CgruError
from ..parameters.parameter import Dialect, Parameter
from ..parameters.structure import Encoder, Structure
from .array_files import StoredArray
from .model import ModelSettings

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
    """The dialect in which the arrays are written.

    Raises CgruError where they are those of no model this package knows.
    """
    names = set(stored)
    if any(name.startswith(("encoder/", "decoder/")) for name in names):
        old = any("forwardEncoder" in name for name in names)
        return Dialect.NEMATUS_TF_01 if old else Dialect.NEMATUS_TF
    if {"decoder_cell1_U", "encoder_bi_U"} & names:
        return Dialect.S2S
    if {"ff_logit_gru_W", "Wemb_enc", "decoder_c_att"} & names:
        return Dialect.NMTPY
    if not {"decoder_U_nl", "decoder_Wc", "encoder_U", "ff_logit_b"} & names:
        example = ", ".join(sorted(names)[:3]) or "nothing"
        raise CgruError(f"{path}: holds no model that cgru knows (found {example})")
    if settings.marian_type in ("amun", "nematus"):
        return Dialect(f"marian-{settings.marian_type}")
    rows = [a for name, a in stored.items() if name.endswith("_b") and a.ndim == 2]
    gains = any(re.search(r"_gamma\d?$", name) for name in names)
    if rows or gains or any(name.startswith("encoder_bi_") for name in names):
        normed = any(name.endswith("_lns") for name in names)
        return Dialect.MARIAN_NEMATUS if normed else Dialect.AMUN
    return Dialect.NEMATUS


# What is recognised and cannot be computed: a test on the names, and what to say.
_UNCOMPUTABLE = (
    (lambda n: any("self_W" in x or "self_attention" in x or "/layer_" in x for x in n),
     "a transformer; cgru computes recurrent models only"),
    (lambda n: any(x.startswith(("lm_", "fusion_lm_", "ff_logit_lm")) for x in n),
     "a Nematus model fused with a language model; "
     "translate with the program that trained it, or drop the fusion and retrain"),
    (lambda n: any(re.match(r"decoder_\d+_(W_comb_att|Wc_att)$", x) for x in n),
     "a Nematus model with attention in its high decoder levels (decoder_deep gru_cond); "
     "it is recognised but not computed"),
    (lambda n: any(re.match(r"decoder_att\d+_", x) for x in n),
     "a Marian multi-source model; only one source is computed"),
    (lambda n: any(x.startswith(("deep_encoder_", "deepencoder_")) for x in n),
     "an nmtpy model with stacked encoders; it is recognised but not computed"),
    (lambda n: "ff_logit_gru_W" in n and ("encoder_b1" in n or "encoder_s1" in n),
     "an nmtpy model with a layer-normalised encoder; it is recognised but not computed"),
    (lambda n: "ff_logit_gru_W" in n and not {"ff_logit_ctx_W", "ff_state_W"} <= n,
     "an nmtpy model with simple_output or without ff_state; it is recognised but not computed"),
)  # fmt: skip


def refuse_uncomputable(
    path: Path, stored: Mapping[str, StoredArray], settings: ModelSettings
) -> None:
    """Name what the file holds, where it is a model this package cannot compute.

    Raises CgruError.
    """
    names = set(stored)
    for test, kind in _UNCOMPUTABLE:
        if test(names):
            raise CgruError(f"{path}: {kind}")
    u, ux = stored.get("decoder_U"), stored.get("decoder_Ux")
    if u is not None and ux is not None and ux.ndim == 2:
        state = ux.shape[0]
        if (u.shape, ux.shape) == ((state, 3 * state), (state, state)):
            raise CgruError(f"{path}: a Nematus LSTM; only GRU cells are computed by this version")
    if settings.unsupported:
        raise CgruError(f"{path}: {settings.unsupported[0]} (says {settings.source}); not computed")


def smoothed(stored: dict, settings: ModelSettings, dialect: Dialect) -> dict:
    """Nematus-TF's translate swaps in the exponentially smoothed weights where there are any."""
    if dialect not in (Dialect.NEMATUS_TF, Dialect.NEMATUS_TF_01):
        return stored
    smooth = {n.removesuffix("_smooth"): a for n, a in stored.items() if n.endswith("_smooth")}
    raw = {name: array for name, array in stored.items() if not name.endswith("_smooth")}
    return raw | smooth if settings.values.get("exponential_smoothing") else raw


def program(dialect: Dialect, settings: ModelSettings) -> str:
    """The program whose conventions and defaults hold for a file of this dialect."""
    if dialect is Dialect.NEMATUS:
        return settings.program if settings.program in ("dl4mt", "nematus") else "nematus"
    if dialect is Dialect.NEMATUS_TF_01:
        return Dialect.NEMATUS_TF.value
    return dialect.value


def convention(
    parameter: Parameter, dialect: Dialect, structure: Structure, array: np.ndarray
) -> np.ndarray:
    """Between a dialect's convention and ours; every case is its own inverse and exact.

    nmtpy's update gate weighs the proposal, not the previous state: sigma(-x) = 1 - sigma(x).
    Marian concatenates an alternating encoder's stacks, not its directions: at even depth the
    halves of every product with a context are swapped.
    """
    if dialect is Dialect.NMTPY and parameter.cell and parameter.shape[-1] == "2D":
        array = array.copy()
        array[..., array.shape[-1] // 2 :] *= -1
    alternating = structure.encoder is Encoder.ALTERNATING
    swapped = alternating and structure.encoder_depth % 2 == 0
    if dialect is Dialect.S2S and swapped and parameter.shape[0] == "C":
        array = np.concatenate(np.split(array, 2)[::-1])
    return array


MARIAN_YAML = "special:model.yml"
