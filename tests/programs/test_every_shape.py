"""Both engines agree with the equations for models of every shape.

A shape is a type, a cell, an encoder, a depth and a normalisation; the weights are random.
"""

import itertools

import pytest
from both_engines import check
from models import WITH_STATE_PRODUCT, typed

from cgru_cli.parameters.structure import Encoder, Normalization, Pooling, Type, Unit

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


def check_shape(kind: Type, encoder: Encoder, unit: Unit, depth: int, norm: str) -> None:
    """Every other choice follows from the depth."""
    structure = typed(
        kind,
        encoder=encoder,
        encoder_unit=unit,
        decoder_unit=unit,
        encoder_depth=depth,
        encoder_transition=depth,
        decoder_depth=depth,
        decoder_base_transition=depth + (kind is Type.CGRU),
        decoder_high_transition=depth,
        deep_context=depth == 3 and kind.has_context,
        residual=depth == 2,
        pooling=Pooling.ATTENTION if depth == 2 else Pooling.LAST,
        normalization=Normalization.NONE if norm == WEIGHT_NORM else norm,
        weight_normalization=norm == WEIGHT_NORM,
    )
    check(structure, seed=depth)


KINDS = [(kind, encoder) for kind in Type for encoder in encoders(kind)]


@pytest.mark.long
@pytest.mark.parametrize("i", range(len(KINDS)), ids=["-".join(pair) for pair in KINDS])
def test_a_shape(i):
    """Each type with each encoder; the other choices take turns."""
    kind, encoder = KINDS[i]
    depth, units, norms = (
        DEPTHS[i % 3],
        itertools.cycle(WITH_STATE_PRODUCT),
        NORMS[i % 5 :] + NORMS[: i % 5],
    )
    unit = next(itertools.islice(units, i, None))
    norm = next(norm for norm in norms if exists(kind, unit, norm))
    check_shape(kind, encoder, unit, depth, norm)


@pytest.mark.exhaustive
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", Type)
def test_every_shape(kind, norm):
    for encoder, unit, depth in itertools.product(encoders(kind), WITH_STATE_PRODUCT, DEPTHS):
        if exists(kind, unit, norm):
            check_shape(kind, encoder, unit, depth, norm)
