"""The limits of each program's files: what of a model they cannot hold.

The name table says which arrays a dialect has a name for; what a program would compute
differently from arrays that it can name is said here.
"""

from __future__ import annotations

from collections.abc import Callable

from ..parameters.names import parameters
from ..parameters.parameter import Dialect
from ..parameters.program import Program
from ..parameters.structure import (
    Activation,
    Bias,
    Condition,
    DecoderStart,
    Encoder,
    Normalization,
    Structure,
    Type,
    Unit,
)

# cgru's own formats hold everything; the others are written in these dialects.
OWN_FORMATS = ("npz", "h5")
DIALECT = {
    Program.DL4MT.value: Dialect.NEMATUS,
    "npz": Dialect.NEMATUS,
} | {dialect.value: dialect for dialect in Dialect}

_THEANO, _TF, _AMUN, _MARIAN_NEMATUS, _S2S = (
    Dialect.NEMATUS, Dialect.NEMATUS_TF, Dialect.AMUN, Dialect.MARIAN_NEMATUS, Dialect.S2S,
)  # fmt: skip
_DEEP = (_THEANO, _TF, _MARIAN_NEMATUS, _S2S)


def is_deep(s: Structure) -> bool:
    """Whether Theano's and Nematus-TF's bias conventions differ for this model."""
    return s.encoder_transition > 1 or s.decoder_depth > 1


def _stacked(s: Structure) -> bool:
    return s.encoder_depth > 1 or s.decoder_depth > 1


def _units(s: Structure) -> tuple[Unit, ...]:
    """The units of all cells that there are."""
    encoder = (s.encoder_unit,) if s.type.reads_source else ()
    return encoder + ((s.decoder_unit,) if s.type.writes_text else ())


def _theano_dropout(s: Structure) -> bool:
    """Nematus-Theano drops out the readout at the rate of the other hidden layers."""
    return s.old_dropout is not None and s.old_dropout.readout == s.old_dropout.hidden


def _dl4mt_dropout(s: Structure) -> bool:
    return s.old_dropout is not None and s.old_dropout == (0, 0, 0, 0, 0.5)


# A feature, how a model is known to have it, and the programs that compute with it.
_FEATURES: tuple[tuple[str, Callable[[Structure], bool], tuple[str, ...]], ...] = (
    ("layer normalisation of Nematus",
     lambda s: s.normalization is Normalization.NEMATUS, (_THEANO, _TF, _MARIAN_NEMATUS)),
    ("Marian's layer normalisation",
     lambda s: s.normalization is Normalization.MARIAN, (_AMUN, _S2S)),
    ("RMS normalisation", lambda s: s.normalization is Normalization.RMS, (_TF,)),
    ("weight normalisation", lambda s: s.weight_normalization, (_THEANO,)),
    ("the dropout scaling of old Nematus models", _theano_dropout, (_THEANO,)),
    ("DL4MT's dropout scaling", _dl4mt_dropout, ("dl4mt",)),
    ("a dropout scaling of its own",
     lambda s: s.old_dropout is not None and not _theano_dropout(s) and not _dl4mt_dropout(s), ()),
    ("source factors", lambda s: len(s.source_embeddings) > 1, (_THEANO, _TF)),
    ("source and target embeddings of different width",
     lambda s: s.type.reads_source and sum(s.source_embeddings) != s.target_embedding, (_TF,)),
    ("tied output embeddings", lambda s: s.tied_output, (*_DEEP, _AMUN)),
    ("one embedding for source and target",
     lambda s: s.shared_embeddings, (_THEANO, _TF, _AMUN, _S2S)),
    ("encoder depth", lambda s: s.encoder_depth > 1, _DEEP),
    ("encoder transition depth", lambda s: s.encoder_transition > 1, _DEEP),
    ("decoder depth", lambda s: s.decoder_depth > 1, _DEEP),
    ("decoder base transition depth",
     lambda s: s.decoder_base_transition > (2 if s.type is Type.CGRU else 1), _DEEP),
    ("decoder high transition depth",
     lambda s: s.decoder_depth > 1 and s.decoder_high_transition > 1, (_THEANO, _TF, _S2S)),
    ("deep context", lambda s: s.decoder_depth > 1 and s.deep_context, (_THEANO, _TF)),
    ("encoder levels of alternating direction",
     lambda s: s.encoder_depth > 1 and s.encoder is Encoder.ALTERNATING, (_THEANO, _TF, _S2S)),
    ("encoder stacks of one direction each",
     lambda s: s.encoder_depth > 1 and s.encoder is Encoder.BIDIRECTIONAL,
     (_MARIAN_NEMATUS, _S2S)),
    ("a bi-unidirectional encoder",
     lambda s: s.encoder_depth > 1 and s.encoder is Encoder.BI_UNIDIRECTIONAL, (_S2S,)),
    ("an encoder of one direction",
     lambda s: s.type.reads_source and len(s.directions(1)) == 1,
     ("dl4mt",)),
    ("an encoder that reads from the end", lambda s: s.encoder is Encoder.REVERSED, ()),
    ("an encoder of both directions below an encdec decoder",
     lambda s: s.type is Type.ENCDEC and len(s.directions(1)) == 2, ()),
    ("type lm", lambda s: s.type is Type.LM, ("dl4mt", _S2S)),
    ("type encdec", lambda s: s.type is Type.ENCDEC, ("dl4mt",)),
    ("type seq2seq", lambda s: s.type is Type.SEQ2SEQ, ()),
    ("type rnnsearch", lambda s: s.type is Type.RNNSEARCH, ()),
    ("type classifier", lambda s: s.type is Type.CLASSIFIER, ()),
    ("type tagger", lambda s: s.type is Type.TAGGER, ()),
    ("a condition", lambda s: s.condition is not Condition.NONE, ()),
    ("a decoder without the word before", lambda s: not s.feedback, ()),
    ("LSTM cells", lambda s: Unit.LSTM in _units(s), (_S2S,)),
    ("tanh cells", lambda s: Unit.TANH in _units(s), (_S2S,)),
    ("relu cells", lambda s: Unit.RELU in _units(s), (_S2S,)),
    ("sigmoid cells", lambda s: Unit.SIGMOID in _units(s), ()),
    ("GRU cells with the reset before the product",
     lambda s: Unit.GRU_BEFORE in _units(s), ()),
    ("stacked levels without residual connections",
     lambda s: _stacked(s) and not s.residual, (_MARIAN_NEMATUS, _S2S)),
    ("Nematus-TF's own bias convention",
     lambda s: is_deep(s) and s.bias is Bias.NEMATUS_TF, (_TF,)),
    ("a decoder that starts from the last backward state",
     lambda s: s.type.attends and s.decoder_start is DecoderStart.LAST_BACKWARD, ()),
    ("a mixture of softmaxes", lambda s: s.mixture > 1, (_TF,)),
    ("a lexical model", lambda s: s.lexical, (_TF,)),
    ("PReLU in the readout", lambda s: s.readout_activation is Activation.PRELU, (_TF,)),
    ("a relu readout", lambda s: s.readout_activation is Activation.RELU, (_TF,)),
    ("a linear readout", lambda s: s.readout_activation is Activation.LINEAR, (_TF,)),
    ("a maxout readout", lambda s: s.readout_activation is Activation.MAXOUT, ()),
)  # fmt: skip


def cannot_hold(structure: Structure, to: str) -> list[str]:
    """The features of a model that the format `to` (see options.TO) cannot hold, by name."""
    if to in OWN_FORMATS:
        return []
    lost = [text for text, has, holders in _FEATURES if has(structure) and to not in holders]
    dialect = DIALECT[to]
    nameless = [
        p.name
        for p in parameters(structure)
        if dialect not in p.names and dialect not in p.transposed
    ]
    if nameless and not lost:  # a feature without a name above: still never dropped
        lost = [f"array {name}" for name in nameless]
    return lost
