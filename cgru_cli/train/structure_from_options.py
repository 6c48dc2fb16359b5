"""Convert options to the structure of a new model, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from ..errors import UsageError, warn
from ..options.flags import applying
from ..options.scope import Scope
from ..options.train import TrainOptions
from ..parameters.cells import impossible
from ..parameters.structure import (
    FIRST_LABEL,
    WITHOUT_FEEDBACK,
    Activation,
    Condition,
    DecoderStart,
    Encoder,
    Normalization,
    Pooling,
    Structure,
    Type,
    Unit,
)
from ..text.vocabulary import Vocabulary

# The names of other programs for values of options.
_OTHER_NAMES = {
    "type": {"s2s": "cgru", "amun": "cgru", "nematus": "cgru"},
    "cell": {"rnn": "tanh"},
    "enc_cell": {"rnn": "tanh"},
    "dec_cell": {"rnn": "tanh"},
}
# The options that a structure holds unchanged, and their names in the structure.
_FIELDS = {
    "dim_emb": "target_embedding",
    "dim_rnn": "state",
    "enc_depth": "encoder_depth",
    "enc_cell_depth": "encoder_transition",
    "dec_depth": "decoder_depth",
    "dec_cell_high_depth": "decoder_high_transition",
    "deep_context": "deep_context",
    "weight_normalization": "weight_normalization",
    "mixture": "mixture",
    "lexical": "lexical",
    "crf": "crf",
}
# The scopes whose options have no effect for each type, with the reason.
_WITHOUT_EFFECT = {
    Type.CLASSIFIER: (Scope.DECODER, "a classifier predicts labels and has no decoder"),
    Type.TAGGER: (
        Scope.DECODER | Scope.UNTAGGED,
        "a tagger gives a label to every word, and has no decoder",
    ),
    Type.LM: (Scope.SOURCE, "a language model reads no source text"),
    Type.SEQ2SEQ: (Scope.ANNOTATIONS, "seq2seq passes on states, not annotations"),
    Type.ENCDEC: (Scope.ATTENTION, "encdec has no attention, which a lexical model needs"),
}


def own_name(name: str, value: Any) -> Any:
    """An option's value, with this package's name instead of another program's."""
    return _OTHER_NAMES.get(name, {}).get(value, value)


def new_structure(
    options: TrainOptions, vocabularies: Sequence[Vocabulary], numbers: int = 0
) -> Structure:
    """The structure that the options describe. Raises UsageError if it is impossible.

    numbers: the size of the vectors from which a language model generates text, 0 without vectors.
    """
    kind = Type(own_name("type", options.type))
    *sources, target = (vocabulary.size for vocabulary in vocabularies)
    condition = Condition.NONE
    if options.condition:
        condition = Condition.LABEL if sources else Condition.VECTOR
        numbers = sources[0] - FIRST_LABEL if sources else numbers
        sources = []
    widths = options.dim_factors or ((options.dim_emb,) if len(sources) == 1 else ())
    if len(widths) != len(sources) or sum(widths) != options.dim_emb * bool(sources):
        raise UsageError(
            f"--dim-factors: {len(sources)} widths that add up to --dim-emb {options.dim_emb} "
            "are needed"
        )
    base = options.dec_cell_base_depth or (2 if kind is Type.CGRU else 1)
    shared = options.tied_embeddings_all or options.tied_embeddings_src
    if shared and (len(sources) > 1 or vocabularies[0].fingerprint != vocabularies[-1].fingerprint):
        raise UsageError("one embedding for both sides needs one vocabulary for both")
    one_way = kind in (Type.ENCDEC, Type.SEQ2SEQ)
    default = Encoder.UNIDIRECTIONAL if one_way else Encoder.ALTERNATING
    same = {field: getattr(options, name) for name, field in _FIELDS.items()}
    form = options.normalization_form if options.layer_normalization else Normalization.NONE
    structure = Structure(
        **same,
        source_vocabularies=tuple(sources),
        source_embeddings=tuple(widths),
        target_vocabulary=target,
        decoder_base_transition=base,
        encoder=Encoder(options.enc_type or default),
        residual=not options.no_skip,
        normalization=Normalization(form),
        tied_output=options.tied_embeddings or options.tied_embeddings_all,
        shared_embeddings=shared,
        readout_activation=Activation(options.readout_activation),
        type=kind,
        encoder_unit=_unit(options, options.enc_cell) if kind.reads_source else Unit.GRU,
        decoder_unit=_unit(options, options.dec_cell) if kind.writes_text else Unit.GRU,
        decoder_start=DecoderStart(options.dec_start),
        pooling=Pooling(options.pooling),
        feedback=not options.no_feedback,
        condition=condition,
        condition_size=numbers,
    )
    _check(options, structure)
    if options.layer_normalization and options.dropout_source:
        # the gradient of LN(0 W + b), with b = 0, is 1 / sqrt(1e-5) = 316 times that of other words
        warn(
            "--layer-normalization with --dropout-source: the first gradients of a new model are "
            "some 50 times larger than without, also in Nematus, because layer normalisation "
            "divides a dropped word's zeros by nearly 0; use --dropout-embedding instead"
        )
    return structure


def with_sizes(structure: Structure, options: TrainOptions) -> Structure:
    """The structure with new sizes and tied embeddings; other options must be unchanged."""
    widths = structure.source_embeddings
    return dataclasses.replace(
        structure,
        state=options.dim_rnn,
        target_embedding=options.dim_emb,
        source_embeddings=(options.dim_emb,) if len(widths) == 1 else widths,
        tied_output=options.tied_embeddings or options.tied_embeddings_all,
        shared_embeddings=options.tied_embeddings_all or options.tied_embeddings_src,
    )


def _unit(options: TrainOptions, own: str | None) -> Unit:
    unit = Unit(own_name("cell", own or options.cell))
    return Unit.GRU_BEFORE if unit is Unit.GRU and options.gru_reset == "before" else unit


def check_effects(options: TrainOptions, s: Structure) -> None:
    """Raises UsageError for an option that has no effect on models of this structure."""
    useless = [_WITHOUT_EFFECT[s.type]] if s.type in _WITHOUT_EFFECT else []
    if not s.feedback:
        useless.append((Scope.FEEDBACK, "with --no-feedback target words have no embedding"))
    for scope, reason in useless:
        options.refuse(scope, reason)


def _check(options: TrainOptions, s: Structure) -> None:
    if not s.feedback and s.type not in WITHOUT_FEEDBACK:
        raise UsageError(
            f"--no-feedback requires --type {' or '.join(WITHOUT_FEEDBACK)}: other decoders need "
            "the previous word"
        )
    check_effects(options, s)
    if options.gru_reset == "before" and Unit.GRU_BEFORE not in (s.encoder_unit, s.decoder_unit):
        raise UsageError("--gru-reset before: the model has no GRU")
    if problem := impossible(s):
        raise UsageError(f"--cell: {problem}")
    lstm = Unit.LSTM in (s.encoder_unit, s.decoder_unit)
    if options.lstm_forget_bias != TrainOptions.lstm_forget_bias and not lstm:
        raise UsageError("--lstm-forget-bias: the model has no LSTM")
    if s.decoder_start is DecoderStart.LAST_BACKWARD:
        if not s.type.attends:
            raise UsageError("--dec-start last-backward requires --type rnnsearch or cgru")
        if "backward" not in s.directions(s.encoder_depth):
            raise UsageError(
                f"--dec-start last-backward: the last level of --enc-type {s.encoder} reads only "
                "forward"
            )
    if s.type is not Type.SEQ2SEQ:
        return
    if len(s.directions(s.encoder_depth)) > 1 or s.encoder is Encoder.BI_UNIDIRECTIONAL:
        raise UsageError(
            f"--enc-type {s.encoder}: the decoder of seq2seq continues from states of one "
            "direction; use unidirectional or reversed"
        )
    for encoder, decoder, name in (
        (s.encoder_depth, s.decoder_depth, "--enc-depth and --dec-depth"),
        (s.encoder_unit, s.decoder_unit, "--enc-cell and --dec-cell"),
    ):
        if encoder != decoder:
            raise UsageError(
                f"{name}: the decoder of seq2seq continues from the encoder's states, level by "
                "level, so both must be the same"
            )


def options_of(structure: Structure) -> dict[str, Any]:
    """The options that describe a structure, by field name; inverts `new_structure`."""
    s = structure
    normalized = s.normalization is not Normalization.NONE
    encoder = s.encoder_unit if s.type.reads_source else s.decoder_unit
    units = encoder, s.decoder_unit if s.type.writes_text else encoder
    cells = [Unit.GRU if unit is Unit.GRU_BEFORE else unit for unit in units]
    values = {name: getattr(s, field) for name, field in _FIELDS.items()} | {
        "type": s.type,
        "cell": cells[-1],
        "enc_cell": cells[0],
        "dec_cell": cells[-1],
        "gru_reset": "before" if Unit.GRU_BEFORE in units else "after",
        "dec_start": s.decoder_start,
        "enc_type": s.encoder,
        "dim_factors": s.source_embeddings,
        "dec_cell_base_depth": s.decoder_base_transition,
        "no_skip": not s.residual,
        "layer_normalization": normalized,
        "normalization_form": s.normalization if normalized else Normalization.NEMATUS,
        "tied_embeddings": s.tied_output,
        "tied_embeddings_src": s.shared_embeddings,
        "tied_embeddings_all": s.tied_output and s.shared_embeddings,
        "readout_activation": s.readout_activation,
        "pooling": s.pooling,
        "no_feedback": not s.feedback,
        "condition": s.condition is not Condition.NONE,
    }
    beyond = Scope.SOURCE if s.type is Type.LM else Scope.EVERYWHERE
    left_out = applying(TrainOptions, beyond if s.type.writes_text else Scope.DECODER)
    return {
        name: value.value if isinstance(value, StrEnum) else value
        for name, value in values.items()
        if name not in left_out
    }
