"""A table of small structures that together have every feature of a model."""

from cases import tiny
from models import LEGACY_ACTIVATIONS, typed

from cgru_cli.parameters.structure import (
    Activation,
    Bias,
    Condition,
    DecoderStart,
    Dropout,
    Encoder,
    Normalization,
    Pooling,
    Type,
    Unit,
)

DEEP = {
    "encoder_depth": 2,
    "encoder_transition": 2,
    "decoder_depth": 3,
    "decoder_base_transition": 3,
    "decoder_high_transition": 2,
}
LAYER_NORM, RMS = ({"normalization": kind} for kind in (Normalization.NEMATUS, Normalization.RMS))
MARIAN = {"normalization": Normalization.MARIAN}
NEMATUS_TF = {"bias": Bias.NEMATUS_TF}
FACTORS = {"source_vocabularies": (7, 3, 5), "source_embeddings": (4, 2, 3)}
SHARED = {"tied_output": True, "shared_embeddings": True, "source_vocabularies": (6,),
          "source_embeddings": (5,)}  # fmt: skip
DROPPED = {"old_dropout": Dropout(0.1, 0.2, 0.3, 0.4, 0.5)}


def units(encoder, decoder=None):
    return {"encoder_unit": encoder, "decoder_unit": decoder or encoder}


CGRU = {
    "plain": {},
    "layer norm": LAYER_NORM,
    "rms norm": RMS,
    "rms norm, Nematus-TF": RMS | NEMATUS_TF,
    "marian's layer norm": MARIAN,
    "weight norm": {"weight_normalization": True},
    "weight and layer norm": {"weight_normalization": True, **LAYER_NORM},
    "weight norm, deep": {"weight_normalization": True, **DEEP},
    "old dropout": DROPPED,
    "old dropout, deep": {**DROPPED, **DEEP, "deep_context": True},
    "old dropout, tied": {**DROPPED, "tied_output": True},
    "old dropout, weight norm": {**DROPPED, "weight_normalization": True},
    **{f"old dropout of {name}": {"old_dropout": Dropout(**{name: 0.4})}
       for name in Dropout._fields},
    "tied output": {"tied_output": True, "target_embedding": 4},
    "one embedding": SHARED,
    "factors": FACTORS,
    "mixture": {"mixture": 3},
    "mixture, layer norm": {"mixture": 2, **LAYER_NORM},
    "lexical": {"lexical": True},
    "lexical, layer norm": {"lexical": True, **LAYER_NORM},
    "lexical, factors": {"lexical": True, **FACTORS},
    "mixture, lexical": {"mixture": 2, "lexical": True, **RMS},
    "deep": DEEP,
    "deep context": {**DEEP, "deep_context": True},
    "deep, Nematus-TF": {**DEEP, **NEMATUS_TF, "deep_context": True},
    "deep, Nematus-TF, layer norm": DEEP | NEMATUS_TF | LAYER_NORM,
    "deep, Nematus-TF, rms norm": DEEP | NEMATUS_TF | RMS,
    "deep, no residual": {**DEEP, "residual": False},
    "deep, no alternation": {**DEEP, "encoder": Encoder.BIDIRECTIONAL},
    "deep, Marian": {**DEEP, **MARIAN, "residual": False},
    **{f"readout {name}": {"readout_activation": name} for name in LEGACY_ACTIVATIONS},
    "maxout": {"readout_activation": Activation.MAXOUT},
    "deep cgru of LSTMs": {**DEEP, **LAYER_NORM, **units(Unit.LSTM)},
    "deep cgru of LSTMs, Marian": {**DEEP, **MARIAN, **units(Unit.LSTM),
                                   "encoder": Encoder.BI_UNIDIRECTIONAL},
    "cgru of SSRUs": {**MARIAN, **units(Unit.SSRU), "encoder_depth": 2, "decoder_depth": 2},
    "cgru of SRUs, one cell": {**LAYER_NORM, **units(Unit.SRU), "target_embedding": 4,
                               "decoder_base_transition": 1},
}  # fmt: skip
OF_TYPES = {
    "language model": typed(Type.LM, decoder_depth=2),
    "vectors": typed(Type.LM, condition=Condition.VECTOR, condition_size=3),
    "labels": typed(Type.LM, condition=Condition.LABEL, condition_size=3, **units(Unit.LSTM)),
    "seq2seq": typed(Type.SEQ2SEQ, encoder=Encoder.UNIDIRECTIONAL),
    "deep seq2seq of LSTMs": typed(
        Type.SEQ2SEQ, encoder=Encoder.REVERSED, **units(Unit.LSTM), encoder_depth=2,
        decoder_depth=2, encoder_transition=2, decoder_base_transition=2,
    ),
    "seq2seq, no feedback": typed(Type.SEQ2SEQ, encoder=Encoder.REVERSED, feedback=False),
    "encdec": typed(Type.ENCDEC, encoder=Encoder.UNIDIRECTIONAL),
    "deep encdec": typed(
        Type.ENCDEC, encoder=Encoder.BI_UNIDIRECTIONAL, **units(Unit.GRU_BEFORE, Unit.TANH),
        encoder_depth=3, decoder_depth=2, deep_context=True, **LAYER_NORM,
    ),
    "rnnsearch": typed(
        Type.RNNSEARCH, **units(Unit.GRU_BEFORE), weight_normalization=True,
        readout_activation=Activation.MAXOUT, decoder_start=DecoderStart.LAST_BACKWARD,
    ),
    "rnnsearch of SSRUs": typed(Type.RNNSEARCH, decoder_unit=Unit.SSRU),
    "classifier": typed(Type.CLASSIFIER, pooling=Pooling.ATTENTION),
    "tagger": typed(Type.TAGGER),
    "tagger with a CRF": typed(Type.TAGGER, crf=True),
}  # fmt: skip
NAMED = {name: tiny(**changes) for name, changes in CGRU.items()} | OF_TYPES
# Enough to find most mistakes
EIGHT = ("layer norm", "weight norm", "factors", "deep, Nematus-TF", "mixture, lexical", "maxout",
         "tagger with a CRF", "cgru of SRUs, one cell")  # fmt: skip
