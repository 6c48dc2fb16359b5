"""Every type of the ladder, with every unit and encoder, is that of the independent oracle.

A shape is a type, a cell, an encoder, a depth and a normalisation; the weights are random.
"""

import itertools

import pytest
from both_engines import check
from models import WITH_STATE_PRODUCT, simple_units, typed
from selection import LONG, choice, in_turns

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


WEIGHT_NORM = "weight norm"
NORMS = [*Normalization, WEIGHT_NORM]
DEPTHS = (1, 2, 3)


def encoders(kind: Type) -> list[Encoder]:
    """The encoders of a type; for a language model, which has none, any one."""
    if kind is Type.LM:
        return [Encoder.UNIDIRECTIONAL]
    if kind is Type.SEQ2SEQ:
        return [Encoder.UNIDIRECTIONAL, Encoder.REVERSED]
    return list(Encoder)


def exists(kind: Type, unit: Unit, norm: str) -> bool:
    """Marian has no GRU with the reset before the product; labels came after weight norm."""
    if norm == Normalization.MARIAN:
        return unit is not Unit.GRU_BEFORE
    return norm != WEIGHT_NORM or kind.writes_text


def check_shape(
    kind: Type, encoder: Encoder, units: tuple[Unit, Unit], depth: int, norm: str
) -> None:
    """Every other choice follows from the depth; units: of the encoder and the decoder."""
    structure = typed(
        kind,
        encoder=encoder,
        encoder_unit=units[0],
        decoder_unit=units[1],
        encoder_depth=depth,
        encoder_transition=depth,
        decoder_depth=depth,
        decoder_base_transition=depth + (kind is Type.CGRU),
        decoder_high_transition=depth,
        deep_context=depth == 3 and kind.has_context,
        residual=depth == 2,
        tied_output=depth == 3,
        pooling=Pooling.ATTENTION if depth == 2 else Pooling.LAST,
        normalization=Normalization.NONE if norm == WEIGHT_NORM else norm,
        weight_normalization=norm == WEIGHT_NORM,
    )
    check(structure, seed=depth)


KINDS = [(kind, encoder) for kind in Type for encoder in encoders(kind)]
PLACES = range(len(KINDS))


@pytest.mark.parametrize("i", choice(PLACES, *PLACES[::6], others=LONG))
def test_a_shape(i):
    """Each type with each encoder; the other choices take turns."""
    kind, encoder = KINDS[i]
    count = len(WITH_STATE_PRODUCT)
    unit = WITH_STATE_PRODUCT[i % count]
    other = unit if kind is Type.SEQ2SEQ else WITH_STATE_PRODUCT[(i + 1) % count]
    norms = NORMS[i % 5 :] + NORMS[: i % 5]
    norm = next(norm for norm in norms if exists(kind, unit, norm) and exists(kind, other, norm))
    check_shape(kind, encoder, (unit, other), DEPTHS[i % 3], norm)


@pytest.mark.exhaustive
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", Type)
def test_every_shape(kind, norm):
    for encoder, unit, depth in itertools.product(encoders(kind), WITH_STATE_PRODUCT, DEPTHS):
        if exists(kind, unit, norm):
            check_shape(kind, encoder, (unit, unit), depth, norm)


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
