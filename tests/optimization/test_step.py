"""Updates compared with the formulas in NumPy; all ways to run a step agree."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from cases import dropped_for, random_arrays, tiny
from forced import force_decode
from models import double_precision, pad_source, pad_target
from scripted_step import START, Scripted, random_script, same
from selection import LONG, choice

from cgru_cli.corpus.batches import Batch
from cgru_cli.corpus.dropout import Rates
from cgru_cli.network.keras_model import RecurrentModel
from cgru_cli.network.network import Network
from cgru_cli.optimization.objective import CrossEntropy
from cgru_cli.optimization.optimizers import optimizer
from cgru_cli.optimization.step import LossScale, Regularization, TrainingStep


def close(arrays, expected, rtol=1e-5, atol=1e-6):
    for name, array in expected.items():
        np.testing.assert_allclose(arrays[name], array, rtol=rtol, atol=atol, err_msg=name)


# -- the update, by hand ---------------------------------------------------------------------------


@pytest.mark.parametrize(("clip", "decay"), [(0.0, 0.0), (0.0, 0.05), (0.7, 0.05), (1e3, 0.0)])
def test_an_sgd_update_by_numpy(clip, decay):
    """The step averages the gradient, adds that of decay * |w|^2, clips the sum and applies it."""
    ((cost, gradients),) = random_script(1)
    step = Scripted(clip_norm=clip, decay_c=decay)
    outcome = step.follow((cost, gradients), divisor=4.0, rate=0.3)
    start = {n: np.array(a) for n, a in START.items()}
    g = {n: gradients[n] / 4 + 2 * decay * start[n] for n in start}
    norm = np.sqrt(sum((array**2).sum() for array in g.values()))
    shrink = min(1.0, clip / norm) if clip else 1.0
    close(step.model.arrays(), {n: start[n] - 0.3 * shrink * g[n] for n in start})
    assert outcome.norm == pytest.approx(norm, rel=1e-6)
    assert outcome.cost == pytest.approx(cost, rel=1e-6) and outcome.applied


def test_map_l2_by_numpy():
    """The gradient of c * |w - prior|^2 is added, for trained parameters."""
    ((cost, gradients),) = random_script(1)
    prior = {"a": np.array([[0.5, 1.0, 0.0]], np.float32), "b": np.array([1.0, 2.0], np.float32)}
    start = {n: np.array(a) for n, a in START.items()}
    for frozen in ([], ["b"]):
        step = Scripted(frozen=frozen, prior=prior, map_decay_c=0.2, decay_c=0.05)
        step.follow((cost, gradients), divisor=4.0, rate=0.3)
        g = {
            n: gradients[n] / 4 + 0.1 * start[n] + 0.4 * (start[n] - prior[n])
            for n in start
            if n not in frozen
        }
        close(step.model.arrays(), {n: w - 0.3 * g.get(n, 0) for n, w in start.items()})


def test_a_gradient_of_zero_is_clipped_to_zero():
    step = Scripted(clip_norm=1.0)
    nothing = {n: np.zeros(np.shape(a)) for n, a in START.items()}
    assert step.follow((1.0, nothing)) == (1.0, 0.0, True)
    close(step.model.arrays(), START, rtol=0, atol=0)


def test_batches_are_added_up():
    """Gradients and costs of three batches are divided by the words of all."""
    script = random_script(3)
    step, whole = Scripted("adam"), Scripted("adam")
    outcome = step.follow(*script, divisor=7.0)
    total = sum(cost for cost, _ in script)
    gradients = {n: sum(g[n] for _, g in script) for n in START}
    assert outcome.cost == pytest.approx(total, rel=1e-6)
    assert outcome.norm == pytest.approx(
        whole.follow((total, gradients), divisor=7.0).norm, rel=1e-6
    )
    close(step.model.arrays(), whole.model.arrays())


@pytest.mark.parametrize("share", [1e-4, 0.5])
def test_smoothing_by_hand(share):
    """Marian: avg += max(share, 1 - (n+1)/(n+10)) (w - avg), after n updates."""
    step = Scripted(smoothing=share, frozen=["b"])
    expected = np.array(START["a"])
    for n, (cost, gradients) in enumerate(random_script(6)):
        step.follow((cost, gradients))
        factor = max(share, 1 - (n + 1) / (n + 10))
        expected = (1 - factor) * expected + factor * step.model.arrays()["a"]
        close(step.weights(), {"a": expected, "b": START["b"]})
    assert not np.allclose(expected, step.model.arrays()["a"], atol=1e-3)


def test_without_smoothing_the_weights_are_the_models():
    step = Scripted()
    step.follow(*random_script(1))
    same(step.weights(), step.model.arrays())


@pytest.mark.parametrize(
    ("where", "bad"),
    [("cost", np.nan), ("gradient", np.inf), ("gradient", np.nan), ("a batch before", -np.inf)],
)
def test_a_gradient_that_is_not_finite_changes_nothing(where, bad):
    step = Scripted("adam", smoothing=0.1, clip_norm=1.0)
    first, second, third = random_script(3)
    step.follow(first)
    before = step.state()
    if where == "cost":
        second = (bad, second[1])
    else:
        second[1]["a"][0, 1] = bad
    outcome = step.follow(*([second, third] if where == "a batch before" else [second]))
    assert not outcome.applied
    same(step.state(), before)
    step.follow(third)
    undisturbed = Scripted("adam", smoothing=0.1, clip_norm=1.0)
    undisturbed.follow(first)
    undisturbed.follow(third)
    same(step.state(), undisturbed.state())


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
def test_frozen_parameters_stay(name):
    """Neither gradient nor decay moves them, and the norm leaves them out."""
    step = Scripted(name, frozen=["b"], decay_c=0.1, clip_norm=1.0)
    for cost, gradients in random_script(3):
        start = step.model.arrays()["a"].astype(float)
        norm = step.follow((cost, gradients)).norm
        assert norm == pytest.approx(np.linalg.norm(gradients["a"] + 0.2 * start), rel=1e-5)
    arrays = step.model.arrays()
    np.testing.assert_array_equal(arrays["b"], START["b"])
    assert not np.allclose(arrays["a"], START["a"], atol=1e-2)


# -- loss scale ------------------------------------------------------------------------------------


def test_the_loss_scale_by_hand():
    scale = LossScale(1024.0)
    for _ in range(2):
        scale.adapt(False)
    assert scale.scale == 256
    for _ in range(1999):
        scale.adapt(True)
    assert scale.scale == 256
    other = LossScale(1024.0)
    other.restore(np.array(scale.state()))
    for one in (scale, other):
        one.adapt(True)
        assert one.state() == [512.0, 0.0]
        one.adapt(True)
        one.adapt(False)  # starts counting again
        for _ in range(2000):
            one.adapt(True)
        assert one.state() == [512.0, 0.0]
    for _ in range(20):
        scale.adapt(False)
    assert scale.scale == 1


def test_only_float16_has_a_loss_scale():
    for dtype in ("float32", "bfloat16"):
        scale = Scripted(compute_dtype=dtype).loss_scale
        for finite in (False, True, False):
            scale.adapt(finite)
        assert scale.scale == 1


def test_the_loss_scale_does_not_change_updates():
    """Update and outcome are the same as without; it is halved if they are not finite."""
    step, unscaled = Scripted("adam", compute_dtype="float16"), Scripted("adam")
    assert step.loss_scale.scale == 1024
    one, bad, other = random_script(3)
    bad[1]["b"][0] = np.inf
    for script in (one, bad, other):
        found, expected = step.follow(script), unscaled.follow(script)
        assert found.applied == expected.applied
        if found.applied:
            assert found.cost == pytest.approx(expected.cost, rel=1e-6)
            assert found.norm == pytest.approx(expected.norm, rel=1e-6)
    assert step.loss_scale.state() == [512.0, 1.0]
    close(step.model.arrays(), unscaled.model.arrays())


# -- state -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["adam", "adadelta"])
def test_a_restored_step_continues_bit_exactly(name):
    def new():
        return Scripted(name, smoothing=0.1, clip_norm=1.0, compute_dtype="float16")

    script = random_script(6)
    script[1][1]["a"][:] = np.nan  # halves the scale
    whole = new()
    for place, update in enumerate(script):
        if place == 3:
            state = {n: np.array(a) for n, a in whole.state().items()}
        whole.follow(update)
    resumed = new()
    resumed.follow(*random_script(1, seed=9))  # any earlier state
    resumed.restore(state)
    same(resumed.state(), state)
    for update in script[3:]:
        resumed.follow(update)
    same(resumed.state(), whole.state())
    same(resumed.weights(), whole.weights())


@pytest.mark.parametrize("name", ["adam", "adagrad", "rmsprop"])
def test_an_optimizer_that_is_reset_is_a_new_one(name):
    reset, new = Scripted(name), Scripted(name)
    before, after = random_script(3), random_script(2, seed=7)
    reset.follow(*before)
    new.model.assign(reset.model.arrays())
    reset.reset_optimizer()
    for step in (reset, new):
        step.follow(*after)
    same(reset.weights(), new.weights())


def test_the_state_of_another_training_is_refused():
    step = Scripted("adam", smoothing=0.1)
    step.follow(*random_script(1))
    before = step.state()
    for other in (
        Scripted("sgd", smoothing=0.1),
        Scripted("adam"),
        Scripted("adam", smoothing=0.1, frozen=["a"]),
        Scripted("rmsprop", smoothing=0.1),
    ):
        with pytest.raises((KeyError, ValueError)):
            step.restore(other.state())
    missing = dict(before)
    del missing["weights/b"]
    with pytest.raises((KeyError, ValueError)):
        step.restore(missing)
    with pytest.raises((KeyError, ValueError)):
        step.restore(before | {"weights/a": np.zeros((1, 4), np.float32)})
    same(step.state(), before)


# -- the model -------------------------------------------------------------------------------------

STRUCTURE = tiny()
LENGTHS = ((3, 4), (1, 1), (5, 2), (2, 6))
RATES = Rates(0.2, 0.2, 0.1, 0.1)
HOW = Regularization(clip_norm=0.5, smoothing=0.1)
SMOOTHED = CrossEntropy(label_smoothing=0.1)


def examples(seed=0, rows=slice(None)):
    """Some of four sentence pairs, padded to the longest of all."""
    rng = np.random.default_rng(seed)
    sources = [[(int(i),) for i in rng.integers(7, size=length)] for length, _ in LENGTHS]
    targets = [rng.integers(6, size=length).tolist() for _, length in LENGTHS]
    return Batch(*(x[rows] for x in (*pad_source(sources), *pad_target(targets))))


def dropped(rates, seed=0):
    return dropped_for(STRUCTURE, rates, examples(), seed)


WHOLE = {name: np.ones_like(mask) for name, mask in dropped(RATES).items()}  # nothing dropped
BATCHES = [(examples(seed), dropped(RATES, seed)) for seed in range(3)]


@functools.cache
def traced(name, jit=False, dtype="float32"):
    """A step and its first state, made once because tracing takes time."""
    model = RecurrentModel(STRUCTURE, random_arrays(STRUCTURE), dtype=dtype)
    step = TrainingStep(model, optimizer(name, (), 0.1), HOW, SMOOTHED, jit=jit)
    return step, step.state()


def beginning(*args):
    step, state = traced(*args)
    step.restore(state)
    return step


@functools.cache
def in_float64(smoothing):
    """Cost and gradients by autodiff through the recurrence, the cost from the distributions."""
    batch = examples()
    with double_precision():
        arrays = {n: tf.constant(a, tf.float64) for n, a in random_arrays(STRUCTURE).items()}

        with tf.GradientTape() as tape:
            tape.watch(arrays)
            network = Network(STRUCTURE, arrays, "float64")
            source_mask = tf.cast(batch.source_mask, tf.float64)
            log_p = tf.nn.log_softmax(
                force_decode(network, batch.source, source_mask, batch.target).logits
            )
            right = (1 - smoothing) * tf.gather(log_p, batch.target, batch_dims=2)
            costs = -right - smoothing * tf.reduce_mean(log_p, axis=-1)
            cost = tf.reduce_sum(costs * tf.cast(batch.target_mask, tf.float64))
        gradients = tape.gradient(cost, arrays)
    return float(cost), {n: tf.convert_to_tensor(g).numpy() for n, g in gradients.items()}


@pytest.mark.parametrize(
    ("name", "given"), choice([("sgd", {}), ("adam", WHOLE)], ("adam", WHOLE), others=LONG)
)
def test_an_update_of_the_model_by_numpy(name, given):
    """Averaged over four sentences, clipped, and applied at a rate of 0.02."""
    cost, gradients = in_float64(0.1)
    start = {n: a.astype(float) for n, a in random_arrays(STRUCTURE).items()}
    g = {n: gradient / 4 for n, gradient in gradients.items()}
    norm = np.sqrt(sum((array**2).sum() for array in g.values()))
    assert norm > 0.5
    g = {n: array * 0.5 / norm for n, array in g.items()}
    step = beginning(name)
    outcome = step.update([[(examples(), given)]], 4.0, 0.02)
    assert outcome.cost == pytest.approx(cost, rel=1e-6)
    assert outcome.norm == pytest.approx(norm, rel=1e-5)
    for parameter, array in step.model.arrays().items():
        way, expected = g[parameter], start[parameter]
        # Adam's first update: m = (1 - b1) g and v = (1 - b2) g^2; a g of
        # rounding errors may have either sign
        sure = np.abs(way) > (1e-5 if name == "adam" else -1)
        expected = expected - 0.02 * (
            way if name == "sgd" else way / (np.abs(way) + 1e-8 / 0.001**0.5)
        )
        np.testing.assert_allclose(array[sure], expected[sure], atol=1e-6, err_msg=parameter)
        assert np.abs(array - start[parameter]).max() <= 0.0201


def test_two_half_batches_equal_the_whole():
    """They give the same update, although the halves have less padding."""
    whole = beginning("sgd")
    expected = whole.update([[(examples(), {})]], 4.0, 0.5), whole.state()
    halves = beginning("sgd")
    short = tf.nest.map_structure(
        lambda x: x[:, :7] if x.shape[1] > 7 else x, examples(rows=slice(2))
    )
    found = halves.update([[(short, {})], [(examples(rows=slice(2, 4)), {})]], 4.0, 0.5)
    assert found == pytest.approx(expected[0], rel=1e-6)
    close(halves.state(), expected[1])


@pytest.mark.long
def test_xla_and_graph_mode_agree():
    """Over 20 updates with dropout, label smoothing, clipping and smoothing."""
    graph, xla = beginning("adam"), beginning("adam", True)
    costs = []
    for place in range(20):
        expected = graph.update([[BATCHES[place % 3]]], 4.0, 0.01)
        found = xla.update([[BATCHES[place % 3]]], 4.0, 0.01)
        assert found == pytest.approx(expected, rel=1e-5)
        costs.append(found.cost)
    close(xla.state(), graph.state(), rtol=1e-5, atol=1e-5)
    assert sum(costs[-3:]) < 0.9 * sum(costs[:3])


def test_the_model_continues_bit_exactly():
    """From its state, with dropout and smoothing, after other updates in between."""
    step = beginning("adam")
    for batch in BATCHES:
        step.update([[batch]], 4.0, 0.01)
    state = step.state()
    copies = {n: np.array(a) for n, a in state.items()}
    for batch in BATCHES:
        step.update([[batch], [batch]], 8.0, 0.02)
    same(state, copies)  # updates leave the saved arrays as they are
    expected = step.state()
    assert not np.array_equal(expected["smoothed/Wemb"], expected["weights/Wemb"])
    step.update([[(examples(7, slice(1)), {n: m[:1] for n, m in WHOLE.items()})]], 1.0, 0.5)
    step.restore(state)
    for batch in BATCHES:
        step.update([[batch], [batch]], 8.0, 0.02)
    same(step.state(), expected)


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_lowers_the_cost(dtype):
    """Weights stay float32; the first cost equals float32's within the products' precision."""
    step = beginning("sgd", False, f"mixed_{dtype}")
    outcomes = [step.update([[(examples(), {})]], 4.0, 0.3) for _ in range(12)]
    assert all(outcome.applied for outcome in outcomes)
    assert outcomes[0].cost == pytest.approx(in_float64(0.1)[0], rel=0.02)
    assert outcomes[0].cost != pytest.approx(in_float64(0.1)[0], rel=1e-7)
    assert outcomes[-1].cost < 0.9 * outcomes[0].cost
    assert all(array.dtype == np.float32 for array in step.weights().values())
    assert step.loss_scale.scale == (1024 if dtype == "float16" else 1)
