"""The gradient of `scan`, compared with plain autodiff, central differences, and XLA."""

import numpy as np
import pytest
import tensorflow as tf
from both_engines import Texts
from cases import dropped_for, random_arrays
from forced import force_decode
from hypothesis import given, settings
from hypothesis import strategies as st
from models import (
    EOS,
    WITH_STATE_PRODUCT,
    double_precision,
    log_probabilities,
    structures,
    typed,
)
from named_structures import EIGHT, NAMED
from selection import LONG, choice, in_turns
from tolerances import WEIGHTS

from cgru_cli.corpus.batches import Batch
from cgru_cli.corpus.dropout import Rates
from cgru_cli.network.network import Network
from cgru_cli.parameters.structure import (
    WITHOUT_FEEDBACK,
    Condition,
    DecoderStart,
    Encoder,
    Pooling,
    Type,
    Unit,
)


def example(structure):
    """A batch with masks at both ends: sources and targets of different lengths."""
    return tuple(map(tf.constant, Texts.of(structure).batch(structure, filler=EOS)))


def loss(structure, arrays, batch, dropped, differentiable):
    """Sum of all words' costs, by a network made of the given tensors."""
    source, source_mask, target, mask = batch
    dtype = next(iter(arrays.values())).dtype
    network = Network(structure, arrays, dtype.name, dropped)
    found = force_decode(
        network, source, tf.cast(source_mask, dtype), target, differentiable=differentiable
    )
    return -tf.reduce_sum(log_probabilities(found, target, tf.cast(mask, dtype)))


def gradients(structure, arrays, batch, dropped, differentiable, jit=None, traced=False):
    """Loss and gradients; eagerly by default, because tracing would take most of the time."""

    def compute():
        with tf.GradientTape() as tape:
            tape.watch(arrays)
            value = loss(structure, arrays, batch, dropped, differentiable)
        found = tape.gradient(value, arrays, unconnected_gradients="zero")
        return value, {name: tf.convert_to_tensor(g) for name, g in found.items()}

    if traced or jit:
        compute = tf.function(compute, jit_compile=jit, autograph=False)
    value, found = compute()
    return value.numpy(), {name: g.numpy() for name, g in found.items()}


def check(own, expected, tolerance):
    assert own[0] == pytest.approx(expected[0], rel=tolerance)
    for name, gradient in expected[1].items():
        scale = np.abs(gradient).max() + 1e-3
        assert np.abs(own[1][name] - gradient).max() <= tolerance * scale, name


def as_tensors(arrays, dtype):
    return {name: tf.constant(array, dtype) for name, array in arrays.items()}


def dropped_tensors(structure, batch, dtype, rate=0.3):
    rates = Rates(embedding=rate, hidden=rate, source=rate, target=rate, annotation=rate)
    return as_tensors(dropped_for(structure, rates, Batch(*batch), 1), dtype)


def without_the_scan(structure):
    """Inputs in float64 with dropout, and their gradients by plain autodiff."""
    batch = example(structure)
    arrays = as_tensors(random_arrays(structure, 0), tf.float64)
    dropped = dropped_tensors(structure, batch, tf.float64)
    with double_precision():
        found = gradients(structure, arrays, batch, dropped, differentiable=False)
    return batch, arrays, dropped, found


# Structures in which dropout applies in other places; changes of a single layer behave the same
# with and without it.
DROPPED = ["plain", "deep, Nematus-TF"]
TRACED = ["plain", "deep cgru of LSTMs"]
# A norm in these divides by a deviation near 0, which enlarges the rounding of float32.
ONLY_DOUBLE = ["deep, Nematus-TF, rms norm", "deep cgru of LSTMs, Marian"]


@pytest.mark.parametrize("name", choice(NAMED, DROPPED[1], long=DROPPED))
def test_equals_autodiff_with_dropout(name):
    """In float64, and in float32; some traced, as in training."""
    structure = NAMED[name]
    batch, arrays, dropped, expected = without_the_scan(structure)
    with double_precision():
        own = gradients(structure, arrays, batch, dropped, differentiable=True)
    check(own, expected, 1e-9)
    if name in ONLY_DOUBLE:
        return
    arrays = {name: tf.cast(array, tf.float32) for name, array in arrays.items()}
    dropped = {name: tf.cast(mask, tf.float32) for name, mask in dropped.items()}
    own = gradients(structure, arrays, batch, dropped, differentiable=True, traced=name in TRACED)
    check(own, expected, WEIGHTS)


@pytest.mark.long
@pytest.mark.parametrize("count", choice([4, 24], 4))
def test_equals_autodiff_for_any_structure(count):
    @settings(max_examples=count)
    @given(structures(), st.integers(0, 99))
    def equals_autodiff(structure, seed):
        batch = example(structure)
        arrays = as_tensors(random_arrays(structure, 1), tf.float64)
        with double_precision():
            expected = gradients(structure, arrays, batch, {}, differentiable=False)
            check(gradients(structure, arrays, batch, {}, differentiable=True), expected, 1e-9)

    equals_autodiff()


def assert_gradients_are_right(structure, batch):
    """In float64: the scan's equal plain autodiff's, and a central difference of the loss.

    That is along a random direction of all parameters, on which an error in any of them shows.
    """
    values = {n: a.astype(np.float64) for n, a in random_arrays(structure, 0).items()}
    arrays = as_tensors(values, tf.float64)
    rng = np.random.default_rng(5)
    with double_precision():
        own = gradients(structure, arrays, batch, {}, differentiable=True)
        check(own, gradients(structure, arrays, batch, {}, differentiable=False), 1e-9)
        direction = {n: rng.normal(size=a.shape) for n, a in values.items()}
        length = np.sqrt(sum((d**2).sum() for d in direction.values()))
        direction = {n: d / length for n, d in direction.items()}
        up, down = (
            float(
                loss(
                    structure,
                    as_tensors({n: a + e * direction[n] for n, a in values.items()}, "float64"),
                    batch,
                    {},
                    differentiable=False,
                )
            )
            for e in (1e-5, -1e-5)
        )
        slope = sum(float((own[1][n] * d).sum()) for n, d in direction.items())
        assert (up - down) / 2e-5 == pytest.approx(slope, rel=1e-6, abs=1e-8)


TYPES_AND_UNITS = [(kind, unit) for kind in Type for unit in WITH_STATE_PRODUCT]


@pytest.mark.parametrize(
    ("kind", "unit"), choice(TYPES_AND_UNITS, *TYPES_AND_UNITS[::10], long=TYPES_AND_UNITS[::5])
)
def test_every_type_with_every_unit(kind, unit):
    encoder = Encoder.UNIDIRECTIONAL if kind is Type.SEQ2SEQ else Encoder.BIDIRECTIONAL
    units = {"encoder_unit": unit, "decoder_unit": unit}
    structure = typed(kind, encoder=encoder, **units)
    assert_gradients_are_right(structure, example(structure))


@pytest.mark.parametrize(("unit", "kind"), in_turns(WITH_STATE_PRODUCT, WITHOUT_FEEDBACK, every=2))
def test_a_decoder_without_the_word_before(kind, unit):
    units = {"encoder_unit": unit, "decoder_unit": unit, "encoder": Encoder.UNIDIRECTIONAL}
    structure = typed(kind, **units, feedback=False)
    assert_gradients_are_right(structure, example(structure))


@pytest.mark.parametrize(
    ("unit", "condition"),
    in_turns(WITH_STATE_PRODUCT, [Condition.LABEL, Condition.VECTOR], every=2),
)
def test_a_condition(condition, unit):
    given = {"condition": condition, "condition_size": 3, "decoder_unit": unit}
    structure = typed(Type.LM, **given)
    assert_gradients_are_right(structure, example(structure))


@pytest.mark.parametrize("pooling", Pooling)
def test_every_pooling(pooling):
    structure = typed(Type.CLASSIFIER, pooling=pooling)
    assert_gradients_are_right(structure, example(structure))


@pytest.mark.exhaustive
@pytest.mark.parametrize("unit", WITH_STATE_PRODUCT)
def test_a_crf(unit):
    structure = typed(Type.TAGGER, crf=True, encoder_unit=unit)
    assert_gradients_are_right(structure, example(structure))


@pytest.mark.parametrize("kind", choice([Type.RNNSEARCH, Type.CGRU], Type.CGRU, others=LONG))
def test_a_start_from_the_last_backward_state(kind):
    start = {"decoder_start": DecoderStart.LAST_BACKWARD, "decoder_unit": Unit.GRU_BEFORE}
    structure = typed(kind, **start)
    assert_gradients_are_right(structure, example(structure))


@pytest.mark.parametrize("name", choice(NAMED, *EIGHT[::2], long=EIGHT))
def test_every_feature(name):
    structure = NAMED[name]
    assert_gradients_are_right(structure, example(structure))


COMPILED = ["marian's layer norm", "plain", "layer norm", "deep", "tagger with a CRF"]


@pytest.mark.exhaustive  # test_step.py compiles a whole update
@pytest.mark.parametrize("name", COMPILED)
def test_xla_gives_the_same(name):
    structure = NAMED[name]
    batch = example(structure)
    arrays = as_tensors(random_arrays(structure, 0), tf.float32)
    dropped = dropped_tensors(structure, batch, tf.float32)
    expected = gradients(structure, arrays, batch, dropped, differentiable=True)
    check(gradients(structure, arrays, batch, dropped, True, jit=True), expected, WEIGHTS)
