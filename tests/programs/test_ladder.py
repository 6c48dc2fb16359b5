"""Every type of the ladder, with every unit and encoder, is that of the independent oracle."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from cases import random_arrays, tiny
from forced import force_decode
from models import (
    WITH_STATE_PRODUCT,
    double_precision,
    ladder_oracle,
    pad_source,
    pad_target,
    simple_units,
    typed,
)
from selection import choice, in_turns

from cgru_cli.network.network import Network
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

SOURCES = [[3, 1, 4, 1, 5], [], [2, 6]]
TARGETS = [[2, 3], [5, 1, 4, 2], []]
LABELS_BEFORE, VECTORS = [2, 0, 1], [[0.5, -1.25, 2.0], [0.0, 0.0, 0.0], [-3.0, 0.1, 1e-3]]
# one label per source word, or one in all
LABELS = {Type.CLASSIFIER: [[2], [5], [3]], Type.TAGGER: [[2, 5, 3, 4, 2], [], [4, 3]]}


def source_batch(s, longer=0):
    """Ids and mask; without a source, one position without factors; conditions unchanged."""
    if s.condition is Condition.LABEL:
        return pad_source([[(2 + label,)] for label in LABELS_BEFORE], filler=1, longer=longer)
    if s.condition is Condition.VECTOR:
        bits = np.array(VECTORS, np.float32).view(np.int32)
        return pad_source([[tuple(row)] for row in bits], filler=1, longer=longer)
    if not s.type.reads_source:
        return tf.zeros([len(SOURCES), 1, 0], tf.int32), tf.ones([len(SOURCES), 1])
    return pad_source([[(i,) for i in words] for words in SOURCES], filler=1, longer=longer)


def given_to_oracle(s):
    """The source, label or vector of each text."""
    if s.condition is Condition.NONE:
        return SOURCES if s.type.reads_source else [None] * len(SOURCES)
    if s.condition is Condition.LABEL:
        return LABELS_BEFORE
    return np.array(VECTORS, np.float32).astype(np.float64)


def stepped(network, source, mask, target):
    """Log-probabilities (T,B,V) as in a search: word by word, with two rows per sentence."""
    memory = network.encode(source, mask, search=True)
    state = network.start(memory)
    first = np.repeat(np.arange(len(target)), 2)
    state = state._replace(
        cells=tf.nest.map_structure(lambda x: tf.gather(x, first), state.cells),
        sentence=tf.constant(first, tf.int32),
        slot=tf.constant(np.tile([0, 1], len(target)), tf.int32),
    )
    previous, found = tf.fill([len(first)], -1), []
    for t in range(target.shape[1]):
        logits, state, _ = network.step(state, previous, memory)
        found.append(tf.nn.log_softmax(logits))
        previous = tf.gather(target[:, t], first)
    both = np.stack(found)
    np.testing.assert_allclose(both[:, ::2], both[:, 1::2], atol=1e-12)
    return both[:, ::2]


def check(s, seed=1):
    """Compare a padded batch in float64 with the oracle, sentence by sentence: at once and by
    steps."""
    arrays = random_arrays(s, seed)
    exact = ladder_oracle(s, arrays)
    with double_precision():
        doubled = {name: array.astype(np.float64) for name, array in arrays.items()}
        targets = LABELS.get(s.type, TARGETS)
        ids, _ = pad_target(targets, filler=3, longer=2)
        source, mask = source_batch(s, longer=1)
        decoded = force_decode(
            Network(s, doubled, "float64"), source, tf.cast(mask, tf.float64), ids
        )
        in_steps = stepped(
            Network(s, doubled, "float64", packed=True), source, tf.cast(mask, tf.float64), ids
        )
    log_probs = tf.nn.log_softmax(decoded.logits).numpy()
    for row, target in enumerate(targets):
        source = given_to_oracle(s)[row]
        expected = exact.force_decode(source, target)
        steps = len(target) + 1
        np.testing.assert_allclose(
            log_probs[row, :steps], expected.distributions, atol=1e-10, rtol=1e-10
        )
        if not s.crf:  # its search maximises instead of summing: see test_labels
            np.testing.assert_allclose(
                in_steps[:steps, row], expected.distributions, atol=1e-10, rtol=1e-10
            )
        if s.attends:
            alignment = decoded.alignment[row, :steps, : len(source) + 1]
            np.testing.assert_allclose(alignment, expected.alignment, atol=1e-10)
            assert not np.any(decoded.alignment[row, :steps, len(source) + 1 :])
        else:
            assert decoded.alignment == ()


@pytest.mark.parametrize(("kind", "unit"), in_turns(Type, WITH_STATE_PRODUCT))
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
        *((*pair, NORMS[place % 2]) for place, pair in enumerate(PAIRS) if place % 3 == 0),
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
        [Encoder.ALTERNATING, Encoder.BIDIRECTIONAL, Encoder.REVERSED], [Type.RNNSEARCH, Type.CGRU]
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


@pytest.mark.parametrize(("unit", "kind"), in_turns(WITH_STATE_PRODUCT, WITHOUT_FEEDBACK))
def test_a_decoder_without_feedback(kind, unit):
    units = {"encoder_unit": unit, "decoder_unit": unit, "feedback": False}
    check(typed(kind, encoder=Encoder.REVERSED, **units))
    more = {"normalization": Normalization.NEMATUS, "deep_context": kind.has_context, **DEEP}
    check(typed(kind, encoder=Encoder.REVERSED, **more, **units))


@pytest.mark.parametrize(
    ("unit", "condition"), in_turns(WITH_STATE_PRODUCT, [Condition.LABEL, Condition.VECTOR])
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
SIMPLE = [
    pytest.param(
        kind, unit, norm, marks=() if (place + number) % 3 == 0 else pytest.mark.exhaustive
    )
    for place, (kind, unit) in enumerate(itertools.product(Type, (Unit.SSRU, Unit.SRU)))
    for number, norm in enumerate(SIMPLE_NORMS)
    if unit is Unit.SSRU or kind not in (Type.ENCDEC, Type.RNNSEARCH)
]


@pytest.mark.parametrize(("kind", "unit", "norm"), SIMPLE)
def test_a_type_of_simple_units_equals_the_oracle(kind, unit, norm):
    check(simple_units(kind, unit, norm, encoder_depth=2, decoder_depth=2))


@pytest.mark.parametrize("unit", [Unit.GRU, Unit.LSTM])
def test_a_cgru_of_one_cell_equals_the_oracle(unit):
    check(simple_units(Type.CGRU, unit, decoder_base_transition=1, decoder_depth=2))
