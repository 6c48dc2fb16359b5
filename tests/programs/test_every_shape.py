"""The scorer agrees with the equations for models of every shape.

A shape is a type, a cell, an encoder, a depth and a normalisation; the weights are random. Both
compute in float64, so that rounding hides no error.
"""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from cases import random_arrays
from models import (
    WITH_STATE_PRODUCT,
    double_precision,
    ladder_oracle,
    pad_source,
    pad_target,
    typed,
)

from cgru_cli.network.network import Network
from cgru_cli.network.scorer import score
from cgru_cli.parameters.structure import Encoder, Normalization, Pooling, Type, Unit

SOURCES, TARGETS = [[3, 1, 4, 1, 5], [], [2, 6]], [[2, 3], [5, 1, 4, 2], []]
# a label for each text, or for each word of it
LABELS = {Type.CLASSIFIER: [[2], [5], [3]], Type.TAGGER: [[2, 5, 3, 4, 2], [], [4, 3]]}
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


def check(kind: Type, encoder: Encoder, unit: Unit, depth: int, norm: str) -> None:
    """Every other choice follows from the depth."""
    s = typed(
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
    arrays = random_arrays(s, depth)
    targets, sources = LABELS.get(kind, TARGETS), SOURCES if kind.reads_source else [[], [], []]
    source, mask = pad_source([[(i,) for i in words] for words in sources])
    if not kind.reads_source:
        source = source[..., :0]
    target, target_mask = pad_target(targets)
    with double_precision():
        doubled = {name: array.astype(np.float64) for name, array in arrays.items()}
        network = Network(s, doubled, "float64")
        found, _ = score(
            network, source, tf.cast(mask, tf.float64), target, tf.cast(target_mask, tf.float64)
        )
    exact = ladder_oracle(s, arrays)
    for row, words, target in zip(found.numpy(), sources, targets, strict=True):
        expected = exact.force_decode(words if kind.reads_source else None, target).log_probs
        np.testing.assert_allclose(row[: len(expected)], expected, rtol=1e-9, atol=1e-9)


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
    check(kind, encoder, unit, depth, norm)


@pytest.mark.exhaustive
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", Type)
def test_every_shape(kind, norm):
    for encoder, unit, depth in itertools.product(encoders(kind), WITH_STATE_PRODUCT, DEPTHS):
        if exists(kind, unit, norm):
            check(kind, encoder, unit, depth, norm)
