"""Minimum risk training: its objective and formula, its candidates, whole trainings."""

import numpy as np
import pytest
import runs
import tensorflow as tf
from cases import random_arrays, tiny
from forced import force_decode
from models import double_precision, log_probabilities, pad_source, pad_target
from selection import LONG, choice

from cgru_cli.corpus.batches import Batch
from cgru_cli.formats import read_model
from cgru_cli.network.keras_model import RecurrentModel
from cgru_cli.network.network import Network
from cgru_cli.optimization.minimum_risk import MinimumRisk, Sampler, loss
from cgru_cli.optimization.objective import Candidates, ExpectedRisk
from cgru_cli.text.vocabulary import Vocabulary
from cgru_cli.train.examples import Example

STRUCTURE = tiny()
SOURCES = [[(1,), (2,)], [(3,)]]
TARGETS = [[[1, 2], [3], [2, 2, 2]], [[4], [1, 1], []]]
RISK = np.array([[0.0, 0.7, 0.4], [0.0, 1.0, 0.3]])
KEPT = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])


def candidates(dtype=tf.float64):
    source, mask = pad_source([s for s in SOURCES for _ in range(3)])
    target, target_mask = pad_target([t for of_source in TARGETS for t in of_source])
    examples = Batch(source, tf.cast(mask, dtype), target, tf.cast(target_mask, dtype))
    return Candidates(examples, tf.constant(RISK, dtype), tf.constant(KEPT, dtype))


def by_formula(arrays, alpha, mix, smoothing):
    """From the log-probabilities of forced decoding, with TensorFlow's own gradient."""
    examples = candidates().examples
    network = Network(STRUCTURE, arrays, "float64")
    forced = force_decode(network, examples.source, examples.source_mask, examples.target)
    words = log_probabilities(forced, examples.target, examples.target_mask)
    log_p = tf.reshape(tf.reduce_sum(words, axis=1), [2, 3])
    cost = 0.0
    for g in range(2):
        weights = tf.exp(alpha * log_p[g]) * KEPT[g]
        cost += tf.reduce_sum(weights * RISK[g]) / tf.reduce_sum(weights)
        count = len(TARGETS[g][0]) + 1
        uniform = tf.reduce_mean(tf.nn.log_softmax(forced.logits[3 * g, :count]))
        cost -= mix * ((1 - smoothing) * log_p[g, 0] / count + smoothing * uniform)
    return cost


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize(
    ("alpha", "mix", "smoothing"),
    choice([(1.0, 0.0, 0.0), (0.3, 0.2, 0.0), (0.3, 0.2, 0.15)], (0.3, 0.2, 0.15), others=LONG),
)
def test_cost_and_gradient_are_the_formulas(alpha, mix, smoothing, packed):
    objective = ExpectedRisk(alpha, mix, smoothing)
    with double_precision():
        arrays = {n: tf.constant(a, tf.float64) for n, a in random_arrays(STRUCTURE).items()}

        def own(arrays):
            network = Network(STRUCTURE, arrays, "float64", packed=packed)
            return objective.cost(network, candidates())

        found = []
        for compute in (own, lambda arrays: by_formula(arrays, alpha, mix, smoothing)):
            with tf.GradientTape() as tape:
                tape.watch(arrays)
                cost = compute(arrays)
            gradients = tape.gradient(cost, arrays, unconnected_gradients="zero")
            found.append((cost, {n: tf.convert_to_tensor(g) for n, g in gradients.items()}))
        (cost, gradients), (expected, others) = found
        assert float(cost) == pytest.approx(float(expected), rel=1e-12)
        for name, gradient in others.items():
            np.testing.assert_allclose(gradients[name], gradient, rtol=1e-7, atol=1e-10)
        rng = np.random.default_rng(3)
        direction = {n: rng.normal(size=a.shape) for n, a in arrays.items()}
        both = [
            float(own({n: a + step * direction[n] for n, a in arrays.items()}))
            for step in (1e-5, -1e-5)
        ]
        slope = sum(float(np.sum(gradients[n] * d)) for n, d in direction.items())
        assert (both[0] - both[1]) / 2e-5 == pytest.approx(slope, rel=1e-5, abs=1e-8)


@pytest.mark.long
def test_compiled_costs_are_the_same():
    objective = ExpectedRisk(0.3, 0.2, 0.15)
    arrays = {n: tf.constant(a) for n, a in random_arrays(STRUCTURE).items()}
    costs = [
        tf.function(
            lambda batch, packed: objective.cost(Network(STRUCTURE, arrays, packed=packed), batch),
            jit_compile=jit,
            autograph=False,
        )(candidates(tf.float32), not jit)
        for jit in (False, True)
    ]
    assert float(costs[1]) == pytest.approx(float(costs[0]), rel=1e-5)


WORDS = Vocabulary({w: i for i, w in enumerate(["eos", "UNK", "a", "b", "c@@", "d"])})


def sampler(samples=6, seed=1, rows=256, grid=False, with_reference=False):
    model = RecurrentModel(STRUCTURE, random_arrays(STRUCTURE))
    how = MinimumRisk(samples, with_reference, "bleu", rows=rows)
    return Sampler(model, WORDS, how, seed, grid=grid, join=" ".join)


def batch():
    source, mask = pad_source(SOURCES)
    target, target_mask = pad_target([[2, 3], [3, 3, 5]])
    arrays = (x.numpy() for x in (source, mask, target, target_mask))
    return Batch(*arrays)


def sentences(examples):
    return [
        tuple(row[: int(mask.sum())].tolist())
        for row, mask in zip(examples.target, examples.target_mask, strict=True)
    ]


@pytest.mark.parametrize("with_reference", [False, True])
def test_candidates(with_reference):
    masks = {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}
    ((found, dropped),) = sampler(with_reference=with_reference)(batch(), masks, [40, 41])
    assert found.risk.shape == found.kept.shape == (2, 7)
    np.testing.assert_array_equal(dropped["x"], np.repeat(masks["x"], 7, axis=0))
    np.testing.assert_array_equal(found.examples.source[:7], np.repeat(batch().source[:1], 7, 0))
    measure = loss("bleu")
    for g, reference in enumerate([(2, 3, 0), (3, 3, 5, 0)]):
        mine = sentences(found.examples)[7 * g : 7 * g + 7]
        assert mine[0] == reference
        real = [words for words in mine if words]
        assert len(set(real)) == len(real) and all(words[-1] == 0 for words in real)
        assert found.kept[g, 0] == with_reference
        for words, risk, kept in zip(mine, found.risk[g], found.kept[g], strict=True):
            text, right = (" ".join(WORDS.decode(w)) for w in (words, reference))
            assert risk == pytest.approx(measure(text, right) if kept else 0.0)
            assert bool(kept) == (bool(words) and (words != reference or with_reference))


@pytest.mark.long
def test_candidates_depend_on_seed_and_number_only():
    one = sampler()
    ((whole, _),) = one(batch(), {}, [40, 41])
    parts = sampler(rows=7)(batch(), {}, [40, 41])
    assert len(parts) == 2
    apart = [s for part, _ in parts for s in sentences(part.examples)]
    assert apart == sentences(whole.examples)
    ((again, _),) = one(batch(), {}, [40, 41])
    assert sentences(again.examples) == sentences(whole.examples)
    ((other, _),) = one(batch(), {}, [42, 43])
    assert sentences(other.examples) != sentences(whole.examples)


@pytest.mark.long
def test_shares_of_a_batch_have_the_same_candidates_in_as_many_parts():
    """The shares of replicas; the third has no pair."""
    ((whole, _),) = sampler()(batch(), {"x": np.float32([[1, 2], [3, 4]])}, [40, 41])
    padded = batch()._replace(
        **{
            name: np.concatenate([x, np.zeros_like(x[:1])])
            for name, x in zip(Batch._fields[:4], batch()[:4], strict=True)
        }
    )
    padded.source_mask[2, 0] = 1
    masks = {"x": np.float32([[1, 2], [3, 4], [1, 1]])}
    for place in range(3):
        share = Example(padded, masks).share(place, 3)
        numbers = range(40 + place, 42, 3)
        ((part, dropped),) = sampler()(*share, numbers, 1)
        if place < 2:
            assert sentences(part.examples) == sentences(whole.examples)[7 * place : 7 * place + 7]
            np.testing.assert_array_equal(dropped["x"][0], masks["x"][place])
        else:
            assert not part.examples.target_mask.any() and not part.kept.any()
            network = RecurrentModel(STRUCTURE, random_arrays(STRUCTURE)).network()
            cost = ExpectedRisk(0.005, 1.0).cost(
                network, tf.nest.map_structure(tf.convert_to_tensor, part)
            )
            assert float(cost) == 0


def test_losses():
    assert loss("bleu")("a b c d", "a b c d") == pytest.approx(0)
    assert loss("bleu")("x", "a b c d") == pytest.approx(1)
    assert 0 < loss("chrf")("abc", "abd") < 1


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return runs.prepared(tmp_path_factory.mktemp("data") / "data", pairs=24)


GIVEN = (
    *runs.ATTENTIVE,
    *"--objective mrt --mrt-samples 4 --dropout-hidden 0.1 --mrt-ml-mix 0.5".split(),
    *"--label-smoothing 0.1 --valid-freq 0 -l 0.01".split(),
)


@pytest.mark.long
def test_a_run_resumes_exactly(data, tmp_path):
    whole, parts = tmp_path / "a" / "m.npz", tmp_path / "b" / "m.npz"
    assert runs.train(data, "-m", whole, *GIVEN, "--after", "5u").code == 0
    for after in ("2u", "5u"):
        assert runs.train(data, "-m", parts, *GIVEN, "--after", after).code == 0
    one, other = (read_model.read(path).arrays for path in (whole, parts))
    assert all(np.array_equal(array, other[name]) for name, array in one.items())
    assert {record["cost_type"] for record in runs.records(whole, "train")} == {"risk"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--label-smoothing", "0.1", "--objective", "mrt"),
            "--label-smoothing: --objective mrt has a cross-entropy only with --mrt-ml-mix",
        ),
        (("--mrt-samples", "5"), "--mrt-samples needs --objective mrt"),
        (("--objective", "mrt", "--cost-type", "ce-mean-words"), "--cost-type and --objective mrt"),
        (("--objective", "mrt", "--mrt-samples", "0"), "a whole number from 1"),
    ],
)
def test_options_that_exclude_each_other(data, tmp_path, options, message):
    result = runs.train(data, "-m", tmp_path / "m.npz", *options, "--after", "1u")
    assert result.code == 2 and message in result.error
