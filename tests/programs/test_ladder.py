"""Every type of the ladder, with every unit and encoder, is that of the independent oracle."""

import itertools

import pytest
from both_engines import check
from cases import tiny
from models import WITH_STATE_PRODUCT, simple_units, typed
from selection import choice, in_turns

from cgru_cli.parameters.structure import (
    WITHOUT_FEEDBACK,
    Activation,
    Condition,
    DecoderStart,
    Encoder,
    Normalization,
    Pooling,
    Type,
    Unit,
)


@pytest.mark.parametrize(("kind", "unit"), in_turns(Type, WITH_STATE_PRODUCT, every=2))
def test_a_type_with_a_unit_equals_the_oracle(kind, unit):
    encoder = Encoder.UNIDIRECTIONAL if kind is Type.SEQ2SEQ else Encoder.BIDIRECTIONAL
    check(typed(kind, encoder_unit=unit, decoder_unit=unit, encoder=encoder))


DEEP = {"encoder_depth": 2, "encoder_transition": 2, "decoder_depth": 2,
        "decoder_base_transition": 3, "decoder_high_transition": 2}  # fmt: skip


PAIRS = [
    pair
    for pair in itertools.product(Type, Encoder)
    if not (pair[0] is Type.LM and pair[1] is not Encoder.UNIDIRECTIONAL)
    and not (pair[0] is Type.SEQ2SEQ and len(tiny(encoder=pair[1]).directions(1)) > 1)
]
NORMS = Normalization.NONE, Normalization.NEMATUS


@pytest.mark.parametrize(
    ("kind", "encoder", "normalization"),
    choice(  # each type with each encoder; norms take turns
        [(*pair, norm) for pair in PAIRS for norm in NORMS],
        *((*pair, NORMS[place % 2]) for place, pair in enumerate(PAIRS) if place % 6 == 0),
        long=[(*pair, NORMS[place % 2]) for place, pair in enumerate(PAIRS)],
    ),
)
def test_a_deep_type_equals_the_oracle(kind, encoder, normalization):
    units = WITH_STATE_PRODUCT
    place = list(Type).index(kind) + list(Encoder).index(encoder)
    one = units[place % len(units)]
    other = one if kind is Type.SEQ2SEQ else units[(place + 1) % len(units)]
    check(
        typed(
            kind,
            encoder=encoder,
            normalization=normalization,
            encoder_unit=one,
            decoder_unit=other,
            deep_context=kind.has_context,
            residual=place % 2 == 0,
            tied_output=place % 3 == 0,
            pooling=list(Pooling)[place % len(Pooling)],
            **DEEP,
        )
    )


@pytest.mark.parametrize(
    ("encoder", "kind"),
    in_turns(
        [Encoder.ALTERNATING, Encoder.BIDIRECTIONAL, Encoder.REVERSED],
        [Type.RNNSEARCH, Type.CGRU],
        every=2,
    ),
)
def test_starts_from_the_last_backward_state(kind, encoder):
    start = DecoderStart.LAST_BACKWARD
    check(typed(kind, encoder=encoder, decoder_start=start, decoder_unit=Unit.GRU_BEFORE))
    check(
        typed(
            kind, encoder=encoder, decoder_start=start, encoder_depth=2, encoder_transition=2,
            normalization=Normalization.NEMATUS, decoder_unit=Unit.LSTM,
        )
    )  # fmt: skip


@pytest.mark.parametrize(("unit", "kind"), in_turns(WITH_STATE_PRODUCT, WITHOUT_FEEDBACK, every=2))
def test_a_decoder_without_feedback(kind, unit):
    units = {"encoder_unit": unit, "decoder_unit": unit, "feedback": False}
    check(typed(kind, encoder=Encoder.REVERSED, **units))
    more = {"normalization": Normalization.NEMATUS, "deep_context": kind.has_context, **DEEP}
    check(typed(kind, encoder=Encoder.REVERSED, **more, **units))


@pytest.mark.parametrize(
    ("unit", "condition"),
    in_turns(WITH_STATE_PRODUCT, [Condition.LABEL, Condition.VECTOR], every=2),
)
def test_a_condition(condition, unit):
    given = {"condition": condition, "condition_size": 3, "decoder_unit": unit}
    check(typed(Type.LM, **given))
    check(typed(Type.LM, **given, normalization=Normalization.NEMATUS, decoder_depth=2))


@pytest.mark.parametrize("pooling", Pooling)
def test_a_classifier_pools(pooling):
    check(typed(Type.CLASSIFIER, pooling=pooling, encoder=Encoder.ALTERNATING))


def test_a_tagger_with_a_crf():
    check(typed(Type.TAGGER, crf=True))
    deep = {"encoder": Encoder.BI_UNIDIRECTIONAL, "encoder_unit": Unit.LSTM, "encoder_depth": 2}
    check(typed(Type.TAGGER, crf=True, **deep, normalization=Normalization.NEMATUS))


@pytest.mark.parametrize("kind", [kind for kind in Type if kind.writes_text])
def test_maxout(kind):
    encoder = Encoder.REVERSED if kind is Type.SEQ2SEQ else Encoder.ALTERNATING
    check(typed(kind, encoder=encoder, readout_activation=Activation.MAXOUT))


SIMPLE_NORMS = [Normalization.NONE, Normalization.NEMATUS, Normalization.MARIAN]
CASES = [
    (kind, unit, norm)
    for kind, unit in itertools.product(Type, (Unit.SSRU, Unit.SRU))
    for norm in SIMPLE_NORMS
    if unit is Unit.SSRU or kind not in (Type.ENCDEC, Type.RNNSEARCH)
]


@pytest.mark.parametrize(("kind", "unit", "norm"), choice(CASES, *CASES[::7], long=CASES[1::4]))
def test_a_type_of_simple_units_equals_the_oracle(kind, unit, norm):
    check(simple_units(kind, unit, norm, encoder_depth=2, decoder_depth=2))


@pytest.mark.parametrize("unit", [Unit.GRU, Unit.LSTM])
def test_a_cgru_of_one_cell_equals_the_oracle(unit):
    check(simple_units(Type.CGRU, unit, decoder_base_transition=1, decoder_depth=2))
