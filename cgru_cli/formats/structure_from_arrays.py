"""Derive a model's structure from its arrays, or from its configuration if they are ambiguous.

If the two disagree, the arrays take precedence, with a warning.
"""

import dataclasses
import functools
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..errors import CgruError, warn
from ..parameters.cells import impossible
from ..parameters.names import parameters
from ..parameters.parameter import MARIAN, Dialect, Parameter
from ..parameters.structure import Activation, Bias, Encoder, Normalization, Structure, Type, Unit
from .array_files import StoredArray
from .model import ModelSettings
from .sizes_from_arrays import NamedArray, Sizes


def layout_of(stored: Mapping[str, StoredArray], settings: ModelSettings, dialect: Dialect) -> dict:
    """The fields of `Structure` that determine the names of its arrays.

    If names and shapes are ambiguous, the configuration or the program's default decides.
    """
    marian, declared = dialect in MARIAN, settings.structure
    kind = Type.CGRU
    if dialect in (Dialect.NEMATUS, Dialect.S2S) and "decoder_W_comb_att" not in stored:
        if not any(n.startswith(("decoder_W", "encoder_bi")) and "emb" not in n for n in stored):
            kind = Type.LM  # Marian gives its cell a decoder's name, DL4MT an encoder's
        elif dialect is Dialect.NEMATUS:
            kind = Type.ENCDEC
    encoder = declared.get("encoder", Encoder.BIDIRECTIONAL if marian else Encoder.ALTERNATING)
    if any(re.match(r"encoder_l\d+_cell\d+_", name) for name in stored):
        encoder = Encoder.BI_UNIDIRECTIONAL
    elif kind is Type.ENCDEC and not any(name.startswith("encoder_r_") for name in stored):
        encoder = Encoder.UNIDIRECTIONAL
    first = "encoder_bi" if kind is Type.LM else "encoder"
    return {
        "type": kind,
        "encoder": encoder,
        "encoder_unit": _unit(stored, [first], declared.get("encoder_unit")),
        "decoder_unit": _unit(stored, ["decoder", "encoder"], declared.get("decoder_unit")),
        "residual": declared.get("residual", not marian),
        "shared_embeddings": "Wemb" in stored and dialect in (Dialect.S2S, Dialect.NMTPY),
    }


def _unit(stored: Mapping[str, StoredArray], parts: Sequence[str], declared: Unit | None) -> Unit:
    """The unit of the first part (a prefix of array names) that has the matrices of a cell.

    An SRU has the matrices W_r and W_f, an SSRU only W_f. A GRU has a separate matrix for the
    proposal. Otherwise most shapes decide: an LSTM's matrices are (D,4D), a plain unit's (D,D).
    """
    for part in parts:
        for root, unit in (("r", Unit.SRU), ("f", Unit.SSRU)):
            if any(re.match(rf"{part}(_.*)?_Wc?{root}$", name) for name in stored):
                return unit
        names = [name for name in stored if re.match(rf"{part}(_.*)?_Ux?(_|$)", name)]
        states = [name for name in names if re.search(r"_U(_nl)?(_drt_\d+)?$", name)]
        if not states:
            continue
        if any(re.search(r"_Ux(_|$)", name) for name in names):
            return Unit.GRU
        matrices = [stored[name].shape for name in states if stored[name].ndim == 2]
        of_lstm = sum(columns > 2 * rows for rows, columns in matrices)
        if 2 * of_lstm > len(matrices):
            return Unit.LSTM
        # only the configuration distinguishes the functions of plain units
        return declared if declared in (Unit.RELU, Unit.SIGMOID) else Unit.TANH
    return Unit.GRU


def candidates(stored: Iterable[str], layout: dict) -> list[Parameter]:
    """All rows of the table that a file with these names may contain."""
    number = re.compile(r"(?:(?<![a-z])|cell|l|level|gru|Wemb|_)(\d{1,2})(?!\d)")
    numbers = [int(n) for name in stored for n in number.findall(name)]
    return list(_rows_up_to(min(max(numbers, default=0) + 2, 24), **layout))


@functools.cache
def _rows_up_to(depth: int, **layout) -> tuple[Parameter, ...]:
    rows: dict[str, Parameter] = {}
    factors = depth if layout["type"].reads_source else 0
    for normalization, tied in itertools.product(Normalization, (False, True)):
        structure = _without_sizes(
            factors,
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


def _without_sizes(factors: int, **fields) -> Structure:
    """A structure with sizes of 1."""
    ones = (1,) * factors
    return Structure(ones, ones, 1, 1, 1, **fields)


def structure_of(
    path: Path,
    arrays: Mapping[str, NamedArray],
    settings: ModelSettings,
    layout: dict,
    dialect: Dialect,
) -> Structure:
    """The structure that the arrays describe, completed by the configuration.

    Names determine everything but the sizes, on which most arrays agree. Raises CgruError if all
    arrays with a size are missing, or only two exist and differ.
    """
    rows = [row for _, row in arrays.values()]

    def some(*endings: str) -> bool:
        return any(row.path.endswith(endings) for row in rows)

    cells = [row.cell for row in rows if row.cell]
    encoder = [cell for cell in cells if cell.part == "encoder"]
    base = [cell for cell in cells if cell.part == "decoder" and cell.level == 1]
    high = [cell for cell in cells if cell.part == "decoder" and cell.level > 1]
    factors = sum(row.shape[0].startswith("Vs") for row in rows)
    declared = settings.structure

    if some("/gamma", "/gamma1", "/gamma2"):
        normalization = Normalization.MARIAN
    elif some("_lns"):  # only Nematus-TF had the RMS norm
        rms = not some("_lnb") and dialect is Dialect.NEMATUS_TF
        normalization = Normalization.RMS if rms else Normalization.NEMATUS
    else:
        normalization = Normalization.NONE
    activation = declared.get("readout_activation", Activation.TANH)
    named = _without_sizes(
        factors,
        encoder_depth=max((cell.level for cell in encoder), default=1),
        encoder_transition=max((cell.transition + 1 for cell in encoder), default=1),
        decoder_depth=max((cell.level for cell in high), default=1),
        decoder_base_transition=max((cell.transition + 1 for cell in base), default=1),
        decoder_high_transition=max((cell.transition + 1 for cell in high), default=1),
        normalization=normalization,
        weight_normalization=some("_wns"),
        tied_output=not some("decoder/output/W"),
        lexical=some("decoder/lexical/output/W", "decoder/lexical/output/b"),
        readout_activation=Activation.PRELU if some("prelu_slope") else activation,
        # DL4MT's sessions 0 and 1 have the option, which changes nothing in them
        old_dropout=declared.get("old_dropout") if layout["type"] is Type.CGRU else None,
        **layout,
    )
    sizes = Sizes(path, arrays, named)
    state, target_embedding = sizes.of("D", "the state"), sizes.of("E", "ff_logit_prev_W")
    source_rows = sizes.of("Vs0", "Wemb") if layout["type"].reads_source else 0
    # nmtpy's tied output layer has no bias to show the size
    of_source = dialect is Dialect.NMTPY and "V" not in sizes
    target_rows = source_rows if of_source else sizes.of("V", "ff_logit_b")
    shared = layout["shared_embeddings"]
    if layout["type"] is not Type.LM:  # one embedding for both sides, if there is only one
        shared = not some("decoder/embedding")
        sizes.check_sum_of_factors()
        if shared and factors:
            sizes.check_shared((target_rows, target_embedding), named.tied_output, dialect)
    structure = dataclasses.replace(
        named,
        source_vocabularies=tuple(sizes.get(f"Vs{i}") for i in range(factors)),
        source_embeddings=tuple(sizes.get(f"Es{i}") for i in range(factors)),
        target_vocabulary=target_rows,
        target_embedding=target_embedding,
        state=state,
        deep_context=sizes.deep_context(state),
        mixture=sizes.get("M", 1),
        shared_embeddings=shared,
    )
    if structure.encoder_depth == 1 and structure.decoder_depth == 1:
        structure = dataclasses.replace(structure, residual=True)
    if structure.encoder_depth == 1 and len(structure.directions(1)) == 2:
        structure = dataclasses.replace(structure, encoder=Encoder.ALTERNATING)
    if problem := impossible(structure):
        raise CgruError(f"{path}: {problem}")
    return dataclasses.replace(structure, bias=_bias(path, structure, arrays, settings, dialect))


def transition_biases(arrays: Mapping[str, NamedArray]) -> list[str]:
    """The biases of the encoder's transition cells.

    Nematus-TF's own convention has none. Until March 2019 its files had them without using them.
    """
    return [
        name
        for name, (_, row) in arrays.items()
        if row.path.endswith(("/b", "/bx"))
        and row.cell
        and row.cell.part == "encoder"
        and row.cell.transition
    ]


def _bias(
    path: Path,
    structure: Structure,
    arrays: Mapping[str, NamedArray],
    settings: ModelSettings,
    dialect: Dialect,
) -> Bias:
    """Theano's or Nematus-TF's convention, according to the encoder's transitions, if any."""
    if dialect in MARIAN:
        return Bias.THEANO
    tf = dialect in (Dialect.NEMATUS_TF, Dialect.NEMATUS_TF_01)
    default = Bias.NEMATUS_TF if tf and settings.program != "nematus" else Bias.THEANO
    declared = settings.structure.get("bias", default)
    if structure.encoder_transition > 1:
        if transition_biases(arrays):  # zeros in files of Nematus-TF, so that Theano's also fits
            stated = settings.structure.get("bias", Bias.THEANO)
            return stated if structure.decoder_depth > 1 else Bias.THEANO
        if declared is Bias.THEANO:
            raise CgruError(
                f"{path}: a deep Nematus-TF model that Nematus' own converter wrote without its "
                "bias convention; convert the checkpoint (model-N.index) instead, or put the "
                "Nematus-TF .json beside this file"
            )
        return Bias.NEMATUS_TF
    return declared if structure.decoder_depth > 1 else Bias.THEANO


def compare(path: Path, structure: Structure, settings: ModelSettings, dialect: Dialect) -> None:
    """Warn if the configuration contradicts the arrays, or is needed but missing.

    Raises CgruError if Nematus' own converter has silently dropped arrays.
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
    own = dataclasses.asdict(structure) | {
        "normalized": structure.normalization is not Normalization.NONE
    }
    by_configuration = "bias old_dropout encoder residual readout_activation rms".split()
    for name, value in settings.structure.items():
        found = own.get(name)
        if name == "source_vocabularies":
            value, found = value[:1], structure.source_vocabularies[:1]
        if value != found and name not in by_configuration:
            warn(
                f"{settings.source} says {name.replace('_', ' ')} {plain(value)}, "
                f"the arrays say {plain(found)}; following the arrays"
            )
    stacked = structure.encoder_depth > 1 or structure.decoder_depth > 1
    needed = "encoder" if structure.type.reads_source else "residual"
    if dialect in MARIAN and stacked and needed not in settings.structure:
        warn(
            f"{path}: no Marian configuration says how its levels are stacked, and the arrays "
            "cannot tell; assuming Marian's defaults (enc-type bidirectional, no skip)"
        )


def plain(value: object) -> str:
    """A value of a structure, formatted for messages."""
    if isinstance(value, (tuple, list)):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
