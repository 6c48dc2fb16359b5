"""Costs of batches, compared with the float64 oracle and TensorFlow."""

import numpy as np
import pytest
import tensorflow as tf
from cases import dropped_for, random_arrays, tiny
from forced import force_decode
from hypothesis import given, settings
from hypothesis import strategies as st
from models import EOS, double_precision, pad_source, pad_target, reference, structures
from selection import LONG, choice

from cgru_cli.corpus.batches import Batch
from cgru_cli.corpus.dropout import Rates
from cgru_cli.network.network import Network
from cgru_cli.optimization.objective import CrossEntropy, Guide, attention_costs

LENGTHS = ((3, 4), (0, 1), (5, 2), (1, 0))  # of source and target, without EOS
NAMED = {
    "plain": {},
    "mixture": {"mixture": 3},
    "lexical": {"lexical": True},
    "factors, deep": {
        "source_vocabularies": (7, 3),
        "source_embeddings": (4, 2),
        "encoder_depth": 2,
        "decoder_depth": 2,
        "tied_output": True,
    },
}


def pairs(structure, seed=0, lengths=LENGTHS):
    """Sources (an id per factor) and targets, without EOS."""
    rng = np.random.default_rng(seed)
    return [
        (
            [tuple(int(rng.integers(v)) for v in structure.source_vocabularies) for _ in range(s)],
            rng.integers(structure.target_vocabulary, size=t).tolist(),
        )
        for s, t in lengths
    ]


def batch(some, filler=EOS, longer=(0, 0)):
    sources, targets = zip(*some, strict=True)
    return Batch(*pad_source(sources, filler, longer[0]), *pad_target(targets, filler, longer[1]))


def by_oracle(structure, arrays, some, smoothing):
    """The sum of costs in float64, sentence by sentence, without any padding."""
    model, total = reference(structure, arrays), 0.0
    for source, target in some:
        log_p = model.force_decode(source, target).distributions
        words = [*target, EOS]
        total -= (1 - smoothing) * log_p[np.arange(len(words)), words].sum()
        total -= smoothing * log_p.mean(axis=1).sum()
    return total


def cost(structure, arrays, examples, smoothing=0.0, packed=True, dropped=None, guide=None):
    dtype = next(iter(arrays.values())).dtype.name
    network = Network(structure, arrays, dtype, dropped, packed=packed)
    return CrossEntropy(smoothing, guide).cost(network, examples)


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("smoothing", choice([0.0, 0.15], 0.15, others=LONG))
def test_a_batch_costs_what_its_sentences_do(name, smoothing):
    structure = tiny(**NAMED[name])
    arrays, some = random_arrays(structure), pairs(structure)
    expected = by_oracle(structure, arrays, some, smoothing)
    for packed in (True, False):
        found = float(cost(structure, arrays, batch(some), smoothing, packed))
        assert found == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize("name", NAMED)
def test_a_teachers_words_cost_what_the_oracle_says(name):
    structure = tiny(**NAMED[name])
    arrays, some = random_arrays(structure), pairs(structure)
    examples, rng = batch(some), np.random.default_rng(7)
    size, k = structure.target_vocabulary, 3
    shape = *examples.target.shape, k
    taught = rng.integers(size, size=shape).astype(np.int32)
    shares = rng.dirichlet(np.ones(k), size=shape[:2]).astype(np.float32)
    examples = examples._replace(
        teacher_words=tf.constant(taught), teacher_shares=tf.constant(shares)
    )
    expected, model = 0.0, reference(structure, arrays)
    for row, (source, target) in enumerate(some):
        log_p = model.force_decode(source, target).distributions
        for place, word in enumerate([*target, EOS]):
            expected -= 0.3 * log_p[place, word]
            expected -= 0.7 * (shares[row, place] * log_p[place, taught[row, place]]).sum()
    for packed in (True, False):
        network = Network(structure, arrays, "float32", None, packed=packed)
        found = CrossEntropy(teacher_weight=0.7).cost(network, examples)
        assert float(found) == pytest.approx(expected, rel=2e-6)


@pytest.mark.long
@settings(max_examples=5)
@given(st.data())
def test_any_structure_costs_what_the_oracle_says(data):
    structure = data.draw(structures())
    arrays, some = random_arrays(structure, 3), pairs(structure, data.draw(st.integers(0, 99)))
    expected = by_oracle(structure, arrays, some, 0.1)
    packed = data.draw(st.booleans())
    found = float(cost(structure, arrays, batch(some), 0.1, packed))
    assert found == pytest.approx(expected, rel=1e-5)


def test_neither_padding_nor_other_sentences_count():
    """With any ids after the end; alone, in another order, and among others."""
    structure = tiny()
    arrays, some = random_arrays(structure), pairs(structure)
    alone = [float(cost(structure, arrays, batch([pair]))) for pair in some]
    for packed in (True, False):
        for filler, longer in ((EOS, (0, 0)), (EOS, (4, 7)), (5, (1, 0)), (5, (0, 3))):
            found = cost(structure, arrays, batch(some, filler, longer), packed=packed)
            assert float(found) == pytest.approx(sum(alone), rel=1e-6)
        found = cost(structure, arrays, batch([some[2], some[0]]), packed=packed)
        assert float(found) == pytest.approx(alone[2] + alone[0], rel=1e-6)


def test_sentences_that_are_padding_cost_nothing():
    """Empty rows of a fixed grid: a source of one EOS, no target word."""
    structure = tiny()
    arrays, some = random_arrays(structure), pairs(structure)
    examples = batch(some)
    empty = tf.nest.map_structure(tf.zeros_like, examples)
    empty = empty._replace(source_mask=tf.one_hot([0] * len(some), examples.source.shape[1]))
    both = tf.nest.map_structure(lambda *pair: tf.concat(pair, axis=0), examples, empty)
    expected = float(cost(structure, arrays, examples))
    for packed in (True, False):
        assert float(cost(structure, arrays, both, packed=packed)) == pytest.approx(
            expected, rel=1e-6
        )


# -- weights and guided attention ------------------------------------------------------------------

GUIDES = [None, Guide("ce", 0.7), Guide("mse", 3.0), Guide("mult", 0.2)]


def beside(examples, seed=0):
    """The batch with weights and alignments, also of EOS; padding has noise."""
    rng = np.random.default_rng(seed)
    rows, length = examples.target_mask.shape
    weights = rng.uniform(0, 3, (rows, length))
    shares = np.zeros((rows, length, examples.source_mask.shape[1]), np.float32)
    for row in range(rows):
        ours = int(np.sum(examples.source_mask[row]))
        for j in range(int(np.sum(examples.target_mask[row]))):
            shares[row, j, rng.permutation(ours)[: rng.integers(0, 3)]] = 1
    shares /= np.maximum(shares.sum(axis=-1, keepdims=True), 1)
    return examples._replace(
        weights=tf.constant(weights, tf.float32), alignment=tf.constant(shares)
    )


def weighted_by_oracle(structure, arrays, some, examples, smoothing, guide):
    """Word by word, in float64: the weight times the sum of both costs."""
    model, total = reference(structure, arrays), 0.0
    for row, (source, target) in enumerate(some):
        forced = model.force_decode(source, target)
        for j, word in enumerate([*target, EOS]):
            log_p, alpha = forced.distributions[j], forced.alignment[j]
            cost = -(1 - smoothing) * log_p[word] - smoothing * log_p.mean()
            share = np.asarray(examples.alignment, np.float64)[row, j, : len(alpha)]
            if guide and share.any():
                cost += (
                    guide.weight
                    * {
                        "ce": -(share * np.log(alpha + 1e-6)).sum(),
                        "mse": ((alpha - share) ** 2).sum() / 2,
                        "mult": -np.log(alpha[share > 0].sum() + 1e-6),
                    }[guide.cost]
                )
            total += float(examples.weights[row, j]) * cost
    return total


def one_row(examples, row):
    return tf.nest.map_structure(lambda x: x[row : row + 1], examples)


@pytest.mark.parametrize(
    ("name", "guide"),
    choice(
        [*(("plain", guide) for guide in GUIDES), ("lexical", GUIDES[1])],
        ("lexical", GUIDES[1]),
        others=LONG,
    ),
)
def test_weights_and_attention_by_the_oracle(name, guide):
    """With any padding, alone or together, packed or not."""
    structure = tiny(**NAMED[name])
    arrays, some = random_arrays(structure), pairs(structure)
    for filler, longer in ((EOS, (0, 0)), (5, (2, 3))):
        examples = beside(batch(some, filler, longer))
        expected = weighted_by_oracle(structure, arrays, some, examples, 0.1, guide)
        for packed in (True, False):
            found = float(cost(structure, arrays, examples, 0.1, packed, guide=guide))
            assert found == pytest.approx(expected, rel=3e-6)
    alone = [
        cost(structure, arrays, one_row(examples, row), 0.1, guide=guide)
        for row in range(len(some))
    ]
    assert float(sum(alone)) == pytest.approx(expected, rel=3e-6)


def with_gradients(structure, arrays, examples, guide, packed=True, dropped=None):
    with tf.GradientTape() as tape:
        tape.watch(arrays)
        found = cost(structure, arrays, examples, 0.1, packed, dropped, guide)
    gradients = tape.gradient(found, arrays, unconnected_gradients="zero")
    return found, {n: tf.convert_to_tensor(g) for n, g in gradients.items()}


@pytest.mark.parametrize("guide", [GUIDES[0], GUIDES[1]])
def test_weight_0_removes_and_weight_2_doubles(guide):
    """Cost and gradients."""
    structure = tiny()
    some = pairs(structure)
    arrays = {name: tf.constant(array) for name, array in random_arrays(structure).items()}
    examples = beside(batch(some))
    factors = tf.constant([[1.0], [0.0], [2.0], [1.0]])
    scaled = examples._replace(weights=tf.tile(factors, [1, examples.target.shape[1]]))
    plain = examples._replace(weights=())
    taken = tf.nest.map_structure(lambda x: tf.gather(x, [0, 2, 2, 3]), plain)
    found, gradients = with_gradients(structure, arrays, scaled, guide)
    expected = with_gradients(structure, arrays, taken, guide)
    assert float(found) == pytest.approx(float(expected[0]), rel=1e-6)
    for name, gradient in expected[1].items():
        scale = np.abs(gradient).max()
        np.testing.assert_allclose(gradients[name], gradient, atol=1e-5 * scale + 1e-7)


@pytest.mark.long
@pytest.mark.parametrize("guide", GUIDES[1:])
def test_gradients_equal_plain_autodiff(guide):
    """In float64, through the recurrence, with dropout."""
    structure = tiny()
    examples = beside(batch(pairs(structure), filler=5, longer=(1, 2)))
    drawn = dropped_for(structure, Rates(0.3, 0.3, 0.3, 0.3, 0.3), examples)

    def in_float64(x):
        return tf.cast(x, tf.float64) if x.dtype.is_floating else x

    with double_precision():
        arrays = {n: tf.constant(a, tf.float64) for n, a in random_arrays(structure).items()}
        dropped = {n: tf.constant(m, tf.float64) for n, m in drawn.items()}
        exact = tf.nest.map_structure(in_float64, examples)
        with tf.GradientTape() as tape:
            tape.watch(arrays)
            network = Network(structure, arrays, "float64", dropped)
            forced = force_decode(network, exact.source, exact.source_mask, exact.target)
            log_p = tf.nn.log_softmax(forced.logits)
            right = 0.9 * tf.gather(log_p, exact.target, batch_dims=2)
            costs = -right - 0.1 * tf.reduce_mean(log_p, axis=-1)
            costs += guide.weight * attention_costs(forced.alignment, exact.alignment, guide.cost)
            expected = tf.reduce_sum(costs * exact.target_mask * exact.weights)
        gradients = tape.gradient(expected, arrays)
        found = with_gradients(structure, arrays, exact, guide, dropped=dropped)
    assert float(found[0]) == pytest.approx(float(expected), rel=1e-9)
    for name, gradient in gradients.items():
        gradient = tf.convert_to_tensor(gradient).numpy()
        scale = np.abs(gradient).max() + 1e-3
        assert np.abs(found[1][name] - gradient).max() <= 1e-9 * scale, name


def test_packed_and_unpacked_have_the_same_gradients():
    """With dropout, whose masks are by sentence, and all terms of the cost."""
    structure = tiny(mixture=2)
    examples = beside(batch(pairs(structure), filler=5, longer=(1, 2)))
    drawn = dropped_for(structure, Rates(0.3, 0.3, 0.3, 0.3, 0.3), examples)
    arrays = {name: tf.constant(array) for name, array in random_arrays(structure).items()}
    (one, by_packed), (other, expected) = (
        with_gradients(structure, arrays, examples, GUIDES[1], packed, drawn)
        for packed in (True, False)
    )
    assert float(one) == pytest.approx(float(other), rel=1e-6)
    for parameter, gradient in expected.items():
        scale = np.abs(gradient).max()
        np.testing.assert_allclose(by_packed[parameter], gradient, atol=1e-5 * scale + 1e-7)
