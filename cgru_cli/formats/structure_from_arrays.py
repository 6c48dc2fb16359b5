"""What a model's arrays tell of its structure, and where only its configuration can.

The arrays are believed: a configuration that says otherwise is warned about.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from ..errors import CgruError, warn
from ..parameters.names import parameters
from ..parameters.parameter import MARIAN, Dialect, Parameter
from ..parameters.structure import Activation, Bias, Encoder, Normalization, Structure, Type, Unit
from .model import ModelSettings


def layout_of(stored: Mapping[str, np.ndarray], settings: ModelSettings, dialect: Dialect) -> dict:
    """The fields of `Structure` that decide what its arrays are called.

    Where names and shapes cannot tell, the configuration does, or the program's default.
    """
    marian, declared = dialect in MARIAN, settings.structure
    kind = Type.CGRU
    if dialect in (Dialect.NEMATUS, Dialect.S2S) and "decoder_W_comb_att" not in stored:
        if not any(n.startswith(("decoder_W", "encoder_bi")) and "emb" not in n for n in stored):
            kind = Type.LM  # of Marian its cell is the decoder's, of DL4MT the encoder's
        elif dialect is Dialect.NEMATUS:
            kind = Type.ENCDEC
    encoder = declared.get("encoder", Encoder.BIDIRECTIONAL if marian else Encoder.ALTERNATING)
    if any(re.match(r"encoder_l\d+_cell\d+_", name) for name in stored):
        encoder = Encoder.BI_UNIDIRECTIONAL
    elif kind is Type.ENCDEC and not any(name.startswith("encoder_r_") for name in stored):
        encoder = Encoder.UNIDIRECTIONAL
    return {
        "type": kind,
        "encoder": encoder,
        "encoder_unit": _unit(
            stored,
            ("encoder_bi_U",) if kind is Type.LM else ("encoder_bi_U", "encoder_U"),
            declared.get("encoder_unit"),
        ),
        "decoder_unit": _unit(
            stored, ("decoder_cell1_U", "decoder_U", "encoder_U"), declared.get("decoder_unit")
        ),
        "residual": declared.get("residual", not marian),
        "shared_embeddings": "Wemb" in stored and dialect in (Dialect.S2S, Dialect.NMTPY),
    }


def _unit(stored: Mapping[str, np.ndarray], names: Iterable[str], declared: Unit | None) -> Unit:
    """The unit that has a state's matrix of this form: (D,4D) an LSTM's, (D,D) a plain one's."""
    matrix = next((stored[name] for name in names if name in stored), None)
    columns = 2
    if matrix is not None and matrix.ndim == 2 and matrix.shape[0]:
        columns = matrix.shape[1] // matrix.shape[0]
    if columns == 1:  # nothing but the configuration tells their functions apart
        return declared if declared in (Unit.TANH, Unit.RELU) else Unit.TANH
    return Unit.LSTM if columns == 4 else Unit.GRU


def candidates(stored: Iterable[str], layout: dict) -> list[Parameter]:
    """Every row of the table that a file with these names could mean."""
    numbers = [int(n) for name in stored for n in re.findall(r"(?<![a-z])\d{1,2}(?!\d)", name)]
    numbers += [
        int(n)
        for name in stored
        for n in re.findall(r"(?:cell|l|level|gru|Wemb|_)(\d{1,2})(?!\d)", name)
    ]
    return list(_rows_up_to(min(max(numbers, default=0) + 2, 24), **layout))


@functools.cache
def _rows_up_to(depth: int, **layout) -> tuple[Parameter, ...]:
    rows: dict[str, Parameter] = {}
    factors = depth if layout["type"].reads_source else 0
    for normalization, tied in itertools.product(Normalization, (False, True)):
        structure = Structure(
            source_vocabularies=(1,) * factors,
            source_embeddings=(1,) * factors,
            target_vocabulary=1,
            target_embedding=1,
            state=1,
            encoder_depth=depth,
            encoder_transition=depth,
            decoder_depth=depth,
            decoder_base_transition=depth,
            decoder_high_transition=depth,
            normalization=normalization,
            weight_normalization=True,
            tied_output=tied,
            readout_activation=Activation.PRELU,
            mixture=depth,
            lexical=True,
            **layout,
        )
        for parameter in parameters(structure):
            rows.setdefault(f"{parameter.name} {sorted(parameter.names.items())}", parameter)
    return tuple(rows.values())


def structure_of(
    path: Path,
    arrays: Mapping[str, np.ndarray],
    found: Mapping[str, Parameter],
    settings: ModelSettings,
    layout: dict,
    dialect: Dialect,
) -> Structure:
    """What the arrays tell, and the configuration where they cannot."""
    letters: dict[str, int] = {}
    for name, parameter in found.items():
        for letter, size in zip(parameter.shape, arrays[name].shape, strict=False):
            letters.setdefault(letter, size)
    features = {parameter.feature for parameter in found.values()}
    cells = [parameter.cell for parameter in found.values() if parameter.cell]
    encoder = [cell for cell in cells if cell.part == "encoder"]
    base = [cell for cell in cells if cell.part == "decoder" and cell.level == 1]
    high = [cell for cell in cells if cell.part == "decoder" and cell.level > 1]
    factors = sum(1 for letter in letters if letter.startswith("Vs"))
    declared = settings.structure

    needed = [("D", "the state"), ("E", "ff_logit_prev_W"), ("V", "ff_logit_b")]
    if layout["type"].reads_source:
        needed.append(("Vs0", "Wemb"))
    for letter, array in needed:
        if letter not in letters and (letter, dialect) != ("V", Dialect.NMTPY):
            raise CgruError(f"{path}: the arrays that would tell the size of {array} are missing")
    state = letters["D"]
    deep_context = any(
        p.cell and p.cell.level > 1 and p.cell.part == "decoder"
        and p.shape[0] in ("D+C", "D") and len(p.shape) == 2
        and p.path.endswith(("/W", "/Wx")) and arrays[n].shape[0] == 3 * state
        for n, p in found.items()
    )  # fmt: skip
    if "gamma" in features:
        normalization = Normalization.MARIAN
    elif "gain" in features:  # RMS norm was Nematus-TF's only
        rms = "gain-bias" not in features and dialect is Dialect.NEMATUS_TF
        normalization = Normalization.RMS if rms else Normalization.NEMATUS
    else:
        normalization = Normalization.NONE
    mixture = letters.get("M", 1)
    # one embedding for both sides, if it can be that; else the target's is missing
    target = letters["V"] if "V" in letters else letters["Vs0"]
    shared = (
        layout["shared_embeddings"]
        if layout["type"] is Type.LM
        else (
            "target-embedding" not in features
            and letters.get("Vs0") == target
            and letters.get("Es0") == letters["E"]
        )
    )
    structure = Structure(
        source_vocabularies=tuple(letters.get(f"Vs{i}", 0) for i in range(factors)),
        source_embeddings=tuple(letters.get(f"Es{i}", 0) for i in range(factors)),
        target_vocabulary=target,
        target_embedding=letters["E"],
        state=state,
        encoder_depth=max((cell.level for cell in encoder), default=1),
        encoder_transition=max((cell.transition + 1 for cell in encoder), default=1),
        decoder_depth=max((cell.level for cell in high), default=1),
        decoder_base_transition=max((cell.transition + 1 for cell in base), default=1),
        decoder_high_transition=max((cell.transition + 1 for cell in high), default=1),
        deep_context=deep_context,
        encoder=layout["encoder"],
        residual=layout["residual"],
        normalization=normalization,
        weight_normalization="weight-norm" in features,
        tied_output="output" not in features,
        shared_embeddings=shared,
        mixture=mixture,
        lexical="lexical" in features,
        readout_activation=Activation.PRELU
        if "prelu" in features
        else declared.get("readout_activation", Activation.TANH),
        old_dropout=declared.get("old_dropout"),
        type=layout["type"],
        encoder_unit=layout["encoder_unit"],
        decoder_unit=layout["decoder_unit"],
    )
    if structure.encoder_depth == 1 and structure.decoder_depth == 1:
        structure = dataclasses.replace(structure, residual=True)
    if structure.encoder_depth == 1 and len(structure.directions(1)) == 2:
        structure = dataclasses.replace(structure, encoder=Encoder.ALTERNATING)
    return dataclasses.replace(structure, bias=_bias(path, structure, found, settings, dialect))


def _bias(
    path: Path,
    structure: Structure,
    found: Mapping[str, Parameter],
    settings: ModelSettings,
    dialect: Dialect,
) -> Bias:
    """Theano's convention or Nematus-TF's own: the arrays tell where an encoder has transitions."""
    tf = dialect in (Dialect.NEMATUS_TF, Dialect.NEMATUS_TF_01)
    default = Bias.NEMATUS_TF if tf and settings.program != "nematus" else Bias.THEANO
    declared = settings.structure.get("bias", default)
    deep = structure.encoder_transition > 1 or structure.decoder_depth > 1
    if dialect in MARIAN or not deep:
        return Bias.THEANO
    if structure.encoder_transition > 1:
        has_bias = any(
            p.feature == "transition-bias" and p.cell.part == "encoder" for p in found.values()
        )
        if not has_bias and declared is Bias.THEANO:
            raise CgruError(
                f"{path}: a deep Nematus-TF model that Nematus' own converter wrote without its "
                "bias convention; convert the checkpoint (model-N.index) instead, or lay the "
                "Nematus-TF .json beside this file"
            )
        if has_bias:
            return Bias.THEANO
        return Bias.NEMATUS_TF
    return declared


def compare(structure: Structure, settings: ModelSettings) -> None:
    """Warn where the configuration says otherwise than the arrays; the arrays are believed.

    Raises CgruError where Nematus' own converter is known to have dropped arrays without a word.
    """
    dropped = {
        "softmax_mixture_size": settings.structure.get("mixture", 1) > structure.mixture,
        "rnn_lexical_model": settings.structure.get("lexical", False) and not structure.lexical,
        "layer_normalization_type rmsnorm": settings.structure.get("rms", False)
        and structure.normalization is Normalization.NONE,
    }
    for key, missing in dropped.items():
        if missing:
            raise CgruError(
                f"{settings.source} says {key}, whose arrays are missing: Nematus' own converter "
                "drops them; convert the checkpoint (model-N.index) instead"
            )
    own = structure.as_dict() | {"normalized": structure.normalization is not Normalization.NONE}
    for name, value in settings.structure.items():
        told = own.get(name)
        if name == "source_vocabularies":
            value, told = value[:1], structure.source_vocabularies[:1]
        if name in ("target_vocabulary",) and value == -1:
            continue
        if name in ("bias", "old_dropout", "encoder", "residual", "readout_activation", "rms"):
            continue  # told by the configuration, not by arrays
        if value != told:
            warn(
                f"{settings.source} says {name.replace('_', ' ')} {_plain(value)}, "
                f"the arrays say {_plain(told)}: the arrays are right"
            )


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
