"""The features of a model that the files of each program cannot hold.

The name table lists the arrays for which a dialect has names. This file lists the structures that a
program would compute differently although it has names for their arrays.
"""

from collections.abc import Iterator

from ..parameters.cells import all_cells
from ..parameters.names import parameters
from ..parameters.parameter import Dialect
from ..parameters.program import Program
from ..parameters.structure import (
    WITHOUT_STATE_PRODUCT,
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

# cgru's own formats hold every model; other formats are written in these dialects.
OWN_FORMATS = ("npz", "h5", "onnx")
DIALECT = {
    Program.DL4MT.value: Dialect.NEMATUS,
    "npz": Dialect.NEMATUS,
} | {dialect.value: dialect for dialect in Dialect}

_THEANO, _TF, _AMUN = Dialect.NEMATUS, Dialect.NEMATUS_TF, Dialect.AMUN
_MARIAN_NEMATUS, _S2S = Dialect.MARIAN_NEMATUS, Dialect.S2S
_DEEP = (_THEANO, _TF, _MARIAN_NEMATUS, _S2S)


def is_deep(s: Structure) -> bool:
    """Whether Theano's and Nematus-TF's bias conventions differ for this model."""
    return s.encoder_transition > 1 or s.decoder_depth > 1


def _features(s: Structure) -> Iterator[tuple[str, bool, tuple[str, ...]]]:
    """A feature, whether the model has it, and the programs that support it."""
    norm, readout = s.normalization, s.readout_activation
    yield "layer normalisation of Nematus", norm is Normalization.NEMATUS, _DEEP[:3]
    yield "Marian's layer normalisation", norm is Normalization.MARIAN, (_AMUN, _S2S)
    yield "RMS normalisation", norm is Normalization.RMS, (_TF,)
    yield "weight normalisation", s.weight_normalization, (_THEANO,)

    dropout = s.old_dropout
    nematus = dropout is not None and dropout.readout == dropout.hidden
    dl4mt = dropout == (0, 0, 0, 0, 0.5)
    unknown = dropout is not None and not nematus and not dl4mt
    yield "the dropout scaling of old Nematus models", nematus, (_THEANO,)
    yield "DL4MT's dropout scaling", dl4mt, ("dl4mt",)
    yield "an unusual dropout scaling", unknown, ()

    source, target = sum(s.source_embeddings), s.target_embedding
    reads = s.type.reads_source
    yield "source factors", len(s.source_embeddings) > 1, (_THEANO, _TF)
    # Nematus-TF gives targets the width of the first factor if they share its embeddings
    widths = (_TF,) if s.shared_embeddings else ()
    yield "source and target embeddings of different width", reads and source != target, widths
    yield "tied output embeddings", s.tied_output, (*_DEEP, _AMUN)
    shared = s.shared_embeddings
    yield "one embedding for source and target", shared, (_THEANO, _TF, _AMUN, _S2S)

    levels, high = s.encoder_depth > 1, s.decoder_depth > 1
    base = s.decoder_base_transition > (2 if s.type is Type.CGRU else 1)
    transitions = high and s.decoder_high_transition > 1
    one = s.type is Type.CGRU and s.decoder_base_transition == 1
    yield "a conditional decoder of one cell", one, (_S2S,)
    yield "encoder depth", levels, _DEEP
    yield "encoder transition depth", s.encoder_transition > 1, _DEEP
    yield "decoder depth", high, _DEEP
    yield "decoder base transition depth", base, _DEEP
    yield "decoder high transition depth", transitions, (_THEANO, _TF, _S2S)
    yield "deep context", high and s.deep_context, (_THEANO, _TF)
    no_residual = (levels or high) and not s.residual
    yield "stacked levels without residual connections", no_residual, (_MARIAN_NEMATUS, _S2S)
    own_bias = is_deep(s) and s.bias is Bias.NEMATUS_TF
    yield "Nematus-TF's own bias convention", own_bias, (_TF,)

    kind, directions = s.encoder, len(s.directions(1))
    alternating = levels and kind is Encoder.ALTERNATING
    two_ways = s.type is Type.ENCDEC and directions == 2
    yield "encoder levels of alternating direction", alternating, (_THEANO, _TF, _S2S)
    stacks = levels and kind is Encoder.BIDIRECTIONAL
    yield "encoder stacks of one direction each", stacks, (_MARIAN_NEMATUS, _S2S)
    yield "a bi-unidirectional encoder", levels and kind is Encoder.BI_UNIDIRECTIONAL, (_S2S,)
    yield "an encoder of one direction", reads and directions == 1, ("dl4mt",)
    yield "an encoder that reads from the end", kind is Encoder.REVERSED, ()
    yield "a bidirectional encoder in an encdec model", two_ways, ()

    yield "type lm", s.type is Type.LM, ("dl4mt", _S2S)
    yield "type encdec", s.type is Type.ENCDEC, ("dl4mt",)
    for own_type in (Type.SEQ2SEQ, Type.RNNSEARCH, Type.CLASSIFIER, Type.TAGGER):
        yield f"type {own_type}", s.type is own_type, ()
    yield "a condition", s.condition is not Condition.NONE, ()
    yield "a decoder that does not read the previous word", not s.feedback, ()
    last = s.type.attends and s.decoder_start is DecoderStart.LAST_BACKWARD
    yield "a decoder that starts from the last backward state", last, ()

    units = {s.encoder_unit} if reads else set()
    units |= {s.decoder_unit} if s.type.writes_text else set()
    yield "LSTM cells", Unit.LSTM in units, (_S2S,)
    yield "tanh cells", Unit.TANH in units, (_S2S,)
    yield "relu cells", Unit.RELU in units, (_S2S,)
    yield "SRU cells", not units.isdisjoint(WITHOUT_STATE_PRODUCT), (_S2S,)
    inputs = [cell.input for cell in all_cells(s) if cell.unit in WITHOUT_STATE_PRODUCT]
    other = any(letter is None or s.sizes()[letter] != s.state for letter in inputs)
    yield "SRU cells whose inputs are not as wide as their states", other, ()
    yield "sigmoid cells", Unit.SIGMOID in units, ()
    yield "GRU cells with the reset before the product", Unit.GRU_BEFORE in units, ()

    yield "a mixture of softmaxes", s.mixture > 1, (_TF,)
    yield "a lexical model", s.lexical, (_TF,)
    yield "PReLU in the readout", readout is Activation.PRELU, (_TF,)
    yield "a relu readout", readout is Activation.RELU, (_TF,)
    yield "a linear readout", readout is Activation.LINEAR, (_TF,)
    yield "a maxout readout", readout is Activation.MAXOUT, ()


def cannot_hold(structure: Structure, to: str) -> list[str]:
    """The features of a model that the format `to` (a key of `DIALECT`, or h5) cannot hold."""
    if to in OWN_FORMATS:
        return []
    lost = [text for text, has, holders in _features(structure) if has and to not in holders]
    dialect = DIALECT[to]
    nameless = [row.name for row in parameters(structure) if dialect not in row.names]
    if nameless and not lost:  # never drop an array, even of a feature not listed above
        lost = [f"array {name}" for name in nameless]
    return lost
