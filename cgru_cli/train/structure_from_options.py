"""The options that describe a new model, and the structure that they describe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import UsageError, warn
from ..options.flags import flag
from ..options.train import TrainOptions
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

# What options say in the words of other programs.
_MEANINGS = {
    "type": {"s2s": "cgru", "amun": "cgru", "nematus": "cgru"},
    "cell": {"rnn": "tanh"},
    "enc_cell": {"rnn": "tanh"},
    "dec_cell": {"rnn": "tanh"},
}
# Options that a type has no use for, and why.
_OF_SOURCE = (
    "enc_cell", "enc_type", "enc_depth", "enc_cell_depth", "dim_factors", "tied_embeddings_src",
    "tied_embeddings_all", "lexical", "deep_context", "dropout_source", "dropout_annotation",
    "embedding_vectors",
)  # fmt: skip
_OF_DECODER = (
    "dec_cell", "dec_start", "dec_depth", "dec_cell_base_depth", "dec_cell_high_depth",
    "deep_context", "tied_embeddings", "tied_embeddings_src", "tied_embeddings_all",
    "readout_activation", "mixture", "lexical", "right_left", "guided_alignment", "objective",
    "dropout_target", "beam_size", "normalize", "valid_reference",
)  # fmt: skip
_OF_FEEDBACK = (
    "tied_embeddings", "tied_embeddings_src", "tied_embeddings_all", "dropout_target",
)  # fmt: skip
_USELESS = {
    Type.CLASSIFIER: (_OF_DECODER, "a classifier gives labels and has no decoder"),
    Type.TAGGER: (
        (*_OF_DECODER, "max_length_crop"),
        "a tagger gives a label to every word, and has no decoder",
    ),
    Type.LM: (_OF_SOURCE, "a language model reads no source text"),
    Type.SEQ2SEQ: (
        ("deep_context", "lexical", "dropout_annotation"),
        "seq2seq hands on states, no annotations",
    ),
    Type.ENCDEC: (("lexical",), "encdec has no attention, which a lexical model weighs words by"),
}


def understood(name: str, value: Any) -> Any:
    """This package's word for an option's value, where another program's is allowed."""
    return _MEANINGS.get(name, {}).get(value, value)


def new_structure(
    options: TrainOptions, vocabularies: Sequence[Vocabulary], numbers: int = 0
) -> Structure:
    """The structure that the options describe. Raises UsageError for an impossible one.

    numbers: of the vectors that texts are generated from, where these are no labels.
    """
    kind = Type(understood("type", options.type))
    if options.condition and kind is not Type.LM:
        raise UsageError("--condition: is for --type lm, whose texts are generated from it")
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
    if kind is Type.CGRU and base < 2:
        raise UsageError("--dec-cell-base-depth: the conditional GRU has at least 2 cells")
    shared = options.tied_embeddings_all or options.tied_embeddings_src
    if shared and (len(sources) > 1 or vocabularies[0].fingerprint != vocabularies[-1].fingerprint):
        raise UsageError("one embedding for both sides needs one vocabulary for both")
    structure = Structure(
        source_vocabularies=tuple(sources),
        source_embeddings=tuple(widths),
        target_vocabulary=target,
        target_embedding=options.dim_emb,
        state=options.dim_rnn,
        encoder_depth=options.enc_depth,
        encoder_transition=options.enc_cell_depth,
        decoder_depth=options.dec_depth,
        decoder_base_transition=base,
        decoder_high_transition=options.dec_cell_high_depth,
        deep_context=options.deep_context,
        encoder=_encoder(options, kind),
        residual=not options.no_skip,
        normalization=(
            Normalization(options.normalization_form)
            if options.layer_normalization
            else Normalization.NONE
        ),
        weight_normalization=options.weight_normalization,
        tied_output=options.tied_embeddings or options.tied_embeddings_all,
        shared_embeddings=shared,
        readout_activation=Activation(options.readout_activation),
        mixture=options.mixture,
        lexical=options.lexical,
        type=kind,
        encoder_unit=_unit(options, options.enc_cell) if kind.reads_source else Unit.GRU,
        decoder_unit=_unit(options, options.dec_cell) if kind.writes_text else Unit.GRU,
        decoder_start=DecoderStart(options.dec_start),
        pooling=Pooling(options.pooling),
        crf=options.crf,
        feedback=not options.no_feedback,
        condition=condition,
        condition_size=numbers,
    )
    _check(options, structure)
    if options.layer_normalization and options.dropout_source:
        # zeros are normalised: of LN(0 W + b), b = 0, the gradient is 1 / sqrt(1e-5) = 316 times
        # that of the rest
        warn(
            "--layer-normalization with --dropout-source: the first gradients of a new model are "
            "some 50 times larger than without (so in Nematus too), as layer normalisation divides "
            "a dropped word's zeros by nearly 0; --dropout-embedding in its place avoids it"
        )
    return structure


def _encoder(options: TrainOptions, kind: Type) -> Encoder:
    if options.enc_type:
        return Encoder(options.enc_type)
    one_way = kind in (Type.ENCDEC, Type.SEQ2SEQ)
    return Encoder.UNIDIRECTIONAL if one_way else Encoder.ALTERNATING


def _unit(options: TrainOptions, own: str | None) -> Unit:
    unit = Unit(understood("cell", own or options.cell))
    return Unit.GRU_BEFORE if unit is Unit.GRU and options.gru_reset == "before" else unit


def _check(options: TrainOptions, s: Structure) -> None:
    """Raises UsageError, with the reason, for combinations that make no sense."""
    default = TrainOptions()
    if not s.feedback and s.type not in WITHOUT_FEEDBACK:
        raise UsageError(
            f"--no-feedback: is for --type {' and '.join(WITHOUT_FEEDBACK)}, whose decoder can do "
            "without the word before"
        )
    useless = [_USELESS.get(s.type, ((), ""))]
    if not s.feedback:
        useless.append((_OF_FEEDBACK, "with --no-feedback there is no embedding of target words"))
    for names, reason in useless:
        for name in names:
            if getattr(options, name) != getattr(default, name):
                raise UsageError(f"{flag(TrainOptions, name)}: {reason}")
    if options.gru_reset == "before" and Unit.GRU_BEFORE not in (s.encoder_unit, s.decoder_unit):
        raise UsageError("--gru-reset before: there is no GRU here")
    if s.type is not Type.CLASSIFIER and options.pooling != default.pooling:
        raise UsageError(f"--pooling {options.pooling}: is of --type classifier")
    if s.crf and s.type is not Type.TAGGER:
        raise UsageError("--crf: is of --type tagger")
    lstm = Unit.LSTM in (s.encoder_unit, s.decoder_unit)
    if options.lstm_forget_bias != default.lstm_forget_bias and not lstm:
        raise UsageError("--lstm-forget-bias: there is no LSTM here")
    if s.decoder_start is DecoderStart.LAST_BACKWARD:
        if not s.type.attends:
            raise UsageError(f"--dec-start last-backward: {s.type} starts otherwise; this is for "
                             "--type rnnsearch or cgru")  # fmt: skip
        if "backward" not in s.directions(s.encoder_depth):
            raise UsageError(f"--dec-start last-backward: the last level of --enc-type {s.encoder} "
                             "has no backward reader")  # fmt: skip
    if s.type is not Type.SEQ2SEQ:
        return
    if len(s.directions(s.encoder_depth)) > 1 or s.encoder is Encoder.BI_UNIDIRECTIONAL:
        raise UsageError(
            f"--enc-type {s.encoder.value}: the decoder of seq2seq goes on from the states of one "
            "reader; unidirectional or reversed is needed"
        )
    for ours, theirs, name in (
        (s.encoder_depth, s.decoder_depth, "--enc-depth and --dec-depth"),
        (s.encoder_unit, s.decoder_unit, "--enc-cell and --dec-cell"),
    ):
        if ours != theirs:
            raise UsageError(
                f"{name}: the decoder of seq2seq goes on from the encoder's states, level by "
                "level; both have to be the same"
            )


def described(structure: Structure) -> dict[str, Any]:
    """The options that describe a structure, by field name: the reverse of `new_structure`."""
    s = structure
    units = {
        side: "gru" if unit is Unit.GRU_BEFORE else unit.value
        for side, unit in (("enc_cell", s.encoder_unit), ("dec_cell", s.decoder_unit))
    }
    before = Unit.GRU_BEFORE in (s.encoder_unit, s.decoder_unit)
    values = {
        "type": s.type.value,
        "cell": units["dec_cell"],
        **units,
        "gru_reset": "before" if before else "after",
        "dec_start": s.decoder_start.value,
        "enc_type": s.encoder.value,
        "dim_emb": s.target_embedding,
        "dim_rnn": s.state,
        "dim_factors": s.source_embeddings,
        "enc_depth": s.encoder_depth,
        "enc_cell_depth": s.encoder_transition,
        "dec_depth": s.decoder_depth,
        "dec_cell_base_depth": s.decoder_base_transition,
        "dec_cell_high_depth": s.decoder_high_transition,
        "deep_context": s.deep_context,
        "no_skip": not s.residual,
        "layer_normalization": s.normalization is not Normalization.NONE,
        "normalization_form": "nematus"
        if s.normalization is Normalization.NONE
        else s.normalization.value,
        "weight_normalization": s.weight_normalization,
        "tied_embeddings": s.tied_output,
        "tied_embeddings_src": s.shared_embeddings,
        "tied_embeddings_all": s.tied_output and s.shared_embeddings,
        "readout_activation": s.readout_activation.value,
        "mixture": s.mixture,
        "lexical": s.lexical,
        "pooling": s.pooling.value,
        "crf": s.crf,
        "no_feedback": not s.feedback,
        "condition": s.condition is not Condition.NONE,
    }
    left_out: tuple[str, ...] = _OF_SOURCE if s.type is Type.LM else ()
    if not s.type.writes_text:
        left_out = _OF_DECODER
    return {name: value for name, value in values.items() if name not in left_out}
