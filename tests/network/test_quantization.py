"""Products of 8-bit integers: their results, models that use them, and refusals."""

import numpy as np
import pytest
import tensorflow as tf
from cases import random_arrays, tiny
from deep_equations import DeepModel
from forced import force_decode
from models import case, log_probabilities, pad_source, pad_target
from shared_files import fixture_path

from cgru_cli.errors import CgruError
from cgru_cli.network import quantization
from cgru_cli.network.network import Network
from cgru_cli.network.quantization import QuantizedProduct


@pytest.fixture(scope="module")
def here():
    """Skips on processors without exact 8-bit products."""
    try:
        quantization.check_available()
    except CgruError as refused:
        pytest.skip(str(refused))


class Int8:
    """A matrix (N,M) for an oracle, on the right of @; bounded: see `QuantizedProduct`."""

    __array_ufunc__ = None  # so that x @ this calls __rmatmul__

    def __init__(self, W, bounded):
        self.shape, largest = W.shape, np.abs(W).max(axis=0)
        self.step = np.where(largest > 0, largest, 1) / 127
        self.W, self.bounded = np.rint(W / self.step).astype(int), bounded

    def __rmatmul__(self, x):
        largest = 1.0 if self.bounded else np.abs(x).max(axis=-1, keepdims=True)
        x = np.clip(x / np.where(largest > 0, largest, 1.0), -1, 1)
        integers = np.floor(x * 127 + 0.5).astype(int)
        return integers @ self.W * self.step * largest / 127


@pytest.mark.parametrize("bounded", [True, False])
def test_products_are_those_of_the_integers(here, bounded):
    rng = np.random.default_rng(1)
    x = np.tanh(rng.normal(0, 2, (9, 40))).astype(np.float32) * (1 if bounded else 7)
    x[3] = 0
    W = (rng.normal(size=(40, 24)) * rng.uniform(0.1, 9, 24)).astype(np.float32)
    W[:, 5] = 0
    bias = rng.normal(size=24).astype(np.float32)
    some = np.array([7, 5, 0, 23])
    product = QuantizedProduct.of(tf.constant(W), bounded=bounded)

    @tf.function
    def multiplied(x):
        narrow = product.with_columns(product.columns(tf.constant(some)))
        three = product.multiply(tf.reshape(x, [3, 3, 40]))
        return (
            product.multiply_rows(x),
            product.plus(bias).multiply_rows(x),
            narrow.multiply_rows(x),
            three,
        )

    whole, with_bias, narrow, three = multiplied(x)
    expected = x.astype(float) @ Int8(W.astype(float), bounded)
    # an x halfway between two integers may be rounded to either
    tolerance = {"rtol": 1e-5, "atol": 1.01 * np.abs(W).max() * np.abs(x).max() / 127}
    np.testing.assert_allclose(whole, expected, **tolerance)
    assert np.mean(np.isclose(whole, expected, rtol=1e-4, atol=1e-4)) > 0.9
    np.testing.assert_allclose(with_bias, whole + bias, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(narrow, whole.numpy()[:, some], rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(tf.reshape(three, [9, 24]), whole)
    assert not whole.numpy()[:, 5].any() and np.allclose(whole[3], 0, atol=1e-3)
    # a row does not depend on other rows
    np.testing.assert_array_equal(multiplied(np.stack([x[8]] * 9))[0][0], whole[8])


class Quantized(DeepModel):
    """The NumPy oracle of a whole model, with integer products except two."""

    def matrix(self, name, followed_by_softmax=False):
        W = super().matrix(name, followed_by_softmax)
        if name in ("decoder_U_att", "ff_state_W"):
            return W
        read = (
            "encoder_W",
            "encoder_Wx",
            "encoder_r_W",
            "encoder_r_Wx",
            "decoder_W",
            "decoder_Wx",
            "ff_logit_prev_W",
        )
        return Int8(W, bounded=name not in read)  # embeddings are not bounded


def test_a_models_steps_are_those_of_an_oracle_with_integers(here):
    structure = tiny(state=16, source_embeddings=(12,), target_embedding=12)
    arrays = random_arrays(structure, scale=1.5)
    source, target = [3, 1, 4, 1, 5], [2, 5, 4]
    exact = DeepModel(arrays).force_decode(source, target)
    expected = Quantized(arrays).force_decode(source, target)
    network = Network(structure, arrays, "int8", packed=True)

    @tf.function
    def decode(source, target):
        return force_decode(network, source, tf.ones(tf.shape(source)), target)

    forced = decode(tf.constant([[*source, 0]]), tf.constant([[*target, 0]]))
    got = tf.nn.log_softmax(forced.logits)[0].numpy()
    rounding = np.abs(expected.distributions - exact.distributions).max()
    assert rounding > 1e-3  # or the test would prove nothing
    np.testing.assert_allclose(got, expected.distributions, atol=rounding / 10)
    np.testing.assert_allclose(forced.alignment[0], expected.alignment, atol=rounding / 10)


def test_a_processor_that_rounds_sums_is_refused(monkeypatch):
    """Processors without VNNI add two products in 16 bits."""

    def saturating(product, x, added):
        integers = product.integers
        x = tf.cast(tf.cast(tf.bitcast(x, tf.uint8), tf.int32)[..., None], tf.int32)
        pairs = tf.reshape(
            x * tf.cast(integers, tf.int32), [-1, integers.shape[0] // 2, 2, integers.shape[1]]
        )
        sums = tf.clip_by_value(tf.reduce_sum(pairs, axis=2), -(2**15), 2**15 - 1)
        return tf.cast(tf.reduce_sum(sums, axis=1), tf.float32) * product.scale / 127 + added

    monkeypatch.setattr(quantization.QuantizedProduct, "_multiply", saturating)
    with pytest.raises(CgruError, match="VNNI"):
        Network(tiny(), random_arrays(tiny()), "int8")


def test_a_tensorflow_without_the_operation_is_refused(monkeypatch):
    monkeypatch.setattr(quantization, "OPERATION", "_NoSuchOperation")
    with pytest.raises(CgruError, match=r"no 8-bit matrix product here; --precision float32"):
        quantization.check_available()


@pytest.mark.parametrize("name", ["a-shallow", "marian-s2s-deep"])
def test_scores_stay_within_a_hundredth(here, name):
    reference = case(fixture_path(f"{name}/model.npz"))
    sources = reference.source_ids(fixture_path(f"{name}/src.txt"))[:20]
    targets = reference.target_ids(fixture_path(f"{name}/trg.txt"))[:20]
    exact = np.abs(np.loadtxt(fixture_path(f"{name}/scores.txt"))[:20])
    network = Network(reference.model.structure, reference.model.arrays, "int8", packed=True)
    ids, mask = pad_target(targets)

    @tf.function
    def scores():
        decoded = force_decode(network, *pad_source(sources), ids)
        return tf.reduce_sum(log_probabilities(decoded, ids, mask), axis=1)

    got = -scores().numpy()
    assert abs(got.sum() / exact.sum() - 1) < 0.01
    assert np.median(np.abs(got / exact - 1)) < 0.01
    assert np.abs(got / exact - 1).max() > 1e-5  # not computed in float32
