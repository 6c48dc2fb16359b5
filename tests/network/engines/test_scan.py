"""The gradient of `scan`, compared with plain autodiff, central differences, and XLA."""

import numpy as np
import pytest
import tensorflow as tf
from cases import random_arrays, tiny
from forced import force_decode
from hypothesis import given, settings
from hypothesis import strategies as st
from models import (
    WITH_STATE_PRODUCT,
    double_precision,
    log_probabilities,
    pad_source,
    pad_target,
    structures,
)
from selection import choice, in_turns

from cgru_cli.corpus.dropout import Rates, masks
from cgru_cli.network.network import Network
from cgru_cli.parameters.structure import (
    WITHOUT_FEEDBACK,
    Activation,
    Bias,
    Condition,
    DecoderStart,
    Encoder,
    Normalization,
    Pooling,
    Type,
    Unit,
)


def type_changes(kind, **changes):
    """The changes of the plain structure that give one of another type."""
    fixed = {"type": kind, "decoder_base_transition": 2 if kind is Type.CGRU else 1}
    if not kind.reads_source:
        fixed |= {"source_vocabularies": (), "source_embeddings": ()}
    return fixed | changes


NAMED = {
    "plain": {},
    "layer norm": {"normalization": Normalization.NEMATUS},
    "rms norm": {"normalization": Normalization.RMS, "bias": Bias.NEMATUS_TF},
    "marian's layer norm": {"normalization": Normalization.MARIAN},
    "weight norm": {"weight_normalization": True},
    "tied output": {"tied_output": True, "target_embedding": 4},
    "one embedding": {
        "tied_output": True,
        "shared_embeddings": True,
        "source_vocabularies": (6,),
        "source_embeddings": (5,),
    },
    "factors": {"source_vocabularies": (7, 3), "source_embeddings": (4, 2)},
    "deep": {
        "encoder_depth": 2,
        "encoder_transition": 2,
        "decoder_depth": 3,
        "decoder_base_transition": 3,
        "decoder_high_transition": 2,
    },
    "deep, Nematus-TF": {
        "encoder_depth": 2,
        "encoder_transition": 2,
        "decoder_depth": 2,
        "decoder_base_transition": 3,
        "deep_context": True,
        "bias": Bias.NEMATUS_TF,
    },
    "mixture": {"mixture": 2},
    "lexical": {"lexical": True},
    "prelu": {"readout_activation": Activation.PRELU},
    "maxout": {"readout_activation": Activation.MAXOUT},
    "tagger with a CRF": type_changes(Type.TAGGER, crf=True),
    "deep seq2seq of LSTMs": type_changes(
        Type.SEQ2SEQ,
        encoder=Encoder.REVERSED,
        encoder_unit=Unit.LSTM,
        decoder_unit=Unit.LSTM,
        encoder_depth=2,
        decoder_depth=2,
        encoder_transition=2,
        decoder_base_transition=2,
    ),
    "deep encdec": type_changes(
        Type.ENCDEC,
        encoder=Encoder.BI_UNIDIRECTIONAL,
        encoder_unit=Unit.GRU_BEFORE,
        decoder_unit=Unit.TANH,
        encoder_depth=3,
        decoder_depth=2,
        deep_context=True,
        normalization=Normalization.NEMATUS,
    ),
    "cgru of SSRUs": {
        "encoder_unit": Unit.SSRU,
        "decoder_unit": Unit.SSRU,
        "encoder_depth": 2,
        "decoder_depth": 2,
        "normalization": Normalization.MARIAN,
    },
    "cgru of SRUs, one cell": {
        "encoder_unit": Unit.SRU,
        "decoder_unit": Unit.SRU,
        "decoder_base_transition": 1,
        "target_embedding": 4,
        "normalization": Normalization.NEMATUS,
    },
    "rnnsearch of SSRUs": type_changes(Type.RNNSEARCH, decoder_unit=Unit.SSRU),
    "deep cgru of LSTMs": {
        "encoder_unit": Unit.LSTM,
        "decoder_unit": Unit.LSTM,
        "encoder_depth": 2,
        "decoder_depth": 2,
        "decoder_base_transition": 3,
        "normalization": Normalization.NEMATUS,
    },
}


def example(structure, seed=0, lengths=((3, 4), (1, 1), (5, 2))):
    """A batch with masks at both ends: sources and targets of different lengths."""
    rng = np.random.default_rng(seed)
    sources = [
        [tuple(int(rng.integers(v)) for v in structure.source_vocabularies) for _ in range(n)]
        for n, _ in lengths
    ]
    targets = [rng.integers(structure.target_vocabulary, size=n).tolist() for _, n in lengths]
    if not structure.type.writes_text:  # labels: one, or as many as words
        counts = [n if structure.type is Type.TAGGER else 1 for n, _ in lengths]
        targets = [rng.integers(2, structure.target_vocabulary, n).tolist() for n in counts]
    source = pad_source(sources, longer=1)
    if not structure.type.reads_source:
        source = tf.zeros([len(lengths), 1, 0], tf.int32), tf.ones([len(lengths), 1])
    if structure.condition is Condition.LABEL:
        source = pad_source([[(2 + n % structure.condition_size,)] for n, _ in lengths])
    if structure.condition is Condition.VECTOR:
        numbers = rng.normal(size=(len(lengths), structure.condition_size))
        source = pad_source([[tuple(row)] for row in numbers.astype(np.float32).view(np.int32)])
    return (*source, *pad_target(targets, longer=1))


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


def dropped_for(structure, batch, dtype, rate=0.3):
    rates = Rates(embedding=rate, hidden=rate, source=rate, target=rate, annotation=rate)
    sentences, source_length = batch[0].shape[:2]
    found = masks(
        structure, rates, np.random.default_rng(1), sentences, source_length, batch[2].shape[1]
    )
    return as_tensors(found, dtype)


def without_the_scan(structure):
    """Inputs in float64 with dropout, and their gradients by plain autodiff."""
    batch = example(structure)
    arrays = as_tensors(random_arrays(structure, 0), tf.float64)
    dropped = dropped_for(structure, batch, tf.float64)
    with double_precision():
        found = gradients(structure, arrays, batch, dropped, differentiable=False)
    return batch, arrays, dropped, found


# Structures in which dropout applies in other places; changes of a single layer behave the same
# with and without it.
DROPPED = ["plain", "deep, Nematus-TF"]
TRACED = ["plain", "deep cgru of LSTMs"]


@pytest.mark.parametrize("name", choice(NAMED, *DROPPED))
def test_equals_autodiff_with_dropout(name):
    """In float64, and in float32; some traced, as in training."""
    structure = tiny(**NAMED[name])
    batch, arrays, dropped, expected = without_the_scan(structure)
    with double_precision():
        own = gradients(structure, arrays, batch, dropped, differentiable=True)
    check(own, expected, 1e-9)
    arrays = {name: tf.cast(array, tf.float32) for name, array in arrays.items()}
    dropped = {name: tf.cast(mask, tf.float32) for name, mask in dropped.items()}
    own = gradients(structure, arrays, batch, dropped, differentiable=True, traced=name in TRACED)
    check(own, expected, 1e-5)


@pytest.mark.long
@pytest.mark.parametrize("count", choice([4, 24], 4))
def test_equals_autodiff_for_any_structure(count):
    @settings(max_examples=count)
    @given(structures(), st.integers(0, 99))
    def equals_autodiff(structure, seed):
        batch = example(structure, seed)
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


@pytest.mark.parametrize(("kind", "unit"), choice(TYPES_AND_UNITS, *TYPES_AND_UNITS[::5]))
def test_every_type_with_every_unit(kind, unit):
    encoder = Encoder.UNIDIRECTIONAL if kind is Type.SEQ2SEQ else Encoder.BIDIRECTIONAL
    units = {"encoder_unit": unit, "decoder_unit": unit}
    structure = tiny(**type_changes(kind, encoder=encoder, **units))
    assert_gradients_are_right(structure, example(structure, lengths=((3, 2), (1, 1))))


@pytest.mark.parametrize(("unit", "kind"), in_turns(WITH_STATE_PRODUCT, WITHOUT_FEEDBACK))
def test_a_decoder_without_the_word_before(kind, unit):
    units = {"encoder_unit": unit, "decoder_unit": unit, "encoder": Encoder.UNIDIRECTIONAL}
    structure = tiny(**type_changes(kind, **units, feedback=False))
    assert_gradients_are_right(structure, example(structure, lengths=((3, 2), (1, 1))))


@pytest.mark.parametrize(
    ("unit", "condition"), in_turns(WITH_STATE_PRODUCT, [Condition.LABEL, Condition.VECTOR])
)
def test_a_condition(condition, unit):
    given = {"condition": condition, "condition_size": 2, "decoder_unit": unit}
    structure = tiny(**type_changes(Type.LM, **given))
    assert_gradients_are_right(structure, example(structure, lengths=((3, 2), (4, 1))))


@pytest.mark.parametrize("pooling", Pooling)
def test_every_pooling(pooling):
    structure = tiny(**type_changes(Type.CLASSIFIER, pooling=pooling))
    assert_gradients_are_right(structure, example(structure, lengths=((3, 2), (1, 1))))


@pytest.mark.exhaustive
@pytest.mark.parametrize("unit", WITH_STATE_PRODUCT)
def test_a_crf(unit):
    structure = tiny(**type_changes(Type.TAGGER, crf=True, encoder_unit=unit))
    assert_gradients_are_right(structure, example(structure, lengths=((3, 2), (1, 1))))


@pytest.mark.parametrize("kind", [Type.RNNSEARCH, Type.CGRU])
def test_a_start_from_the_last_backward_state(kind):
    start = {"decoder_start": DecoderStart.LAST_BACKWARD, "decoder_unit": Unit.GRU_BEFORE}
    structure = tiny(**type_changes(kind, **start))
    assert_gradients_are_right(structure, example(structure))


EIGHT = ("layer norm", "weight norm", "factors", "deep, Nematus-TF", "lexical", "maxout",
         "tagger with a CRF", "cgru of SRUs, one cell")  # fmt: skip


@pytest.mark.parametrize("name", choice(NAMED, *EIGHT))
def test_every_feature(name):
    structure = tiny(**NAMED[name])
    assert_gradients_are_right(structure, example(structure, lengths=((2, 3), (1, 1), (3, 2))))


COMPILED = ["marian's layer norm", "plain", "layer norm", "deep", "tagger with a CRF"]


@pytest.mark.exhaustive  # test_step.py compiles a whole update
@pytest.mark.parametrize("name", COMPILED)
def test_xla_gives_the_same(name):
    structure = tiny(**NAMED[name])
    batch = example(structure)
    arrays = as_tensors(random_arrays(structure, 0), tf.float32)
    dropped = dropped_for(structure, batch, tf.float32)
    expected = gradients(structure, arrays, batch, dropped, differentiable=True)
    check(gradients(structure, arrays, batch, dropped, True, jit=True), expected, 1e-5)
