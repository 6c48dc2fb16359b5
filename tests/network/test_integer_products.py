"""Products of 8-bit integers: their results, and models that use them."""

import numpy as np
import pytest
from array_functions import by_onnx as run
from both_engines import ONE_THREAD, Texts, by_onnx
from cases import random_arrays, tiny
from deep_equations import DeepModel
from integer_products import is_exact, saturated
from models import case, pad_source, pad_target, reference
from named_structures import DEEP, NAMED
from shared_files import fixture_path

from cgru_cli.network import graphs, ops
from cgru_cli.network.engines import onnx as onnx_engine
from cgru_cli.network.integer_products import IntegerProduct, in_8_bits
from cgru_cli.parameters.integers import LARGEST_ENTRY, LARGEST_WEIGHT, Integers
from cgru_cli.parameters.structure import Dropout, Type
from cgru_cli.search.runtime import PreparedModel
from cgru_cli.search.scoring import Scorer

U = 2.0**-24
RNG = np.random.default_rng(1)


def computed(product, x):
    """x W by ONNX Runtime for rows x (R,N)."""
    (found,) = run(product, [x.astype(np.float32)], [[None, x.shape[1]]])
    return found


def product_of(*matrices, bounded):
    with ops.using(onnx_engine):
        return IntegerProduct.of(matrices, bounded=bounded)


@pytest.mark.parametrize("largest", [1.0, 0.37, 1e4])
@pytest.mark.parametrize("inputs", [1, 2, 15, 64, 301])
def test_sums_are_exact(inputs, largest):
    """For the inputs that make the largest sums, too, which processors without VNNI may round."""
    integers = RNG.integers(-LARGEST_WEIGHT, LARGEST_WEIGHT + 1, (inputs, 9)).astype(np.int8)
    integers[:, 0], integers[:, 1] = LARGEST_WEIGHT, -LARGEST_WEIGHT
    assert is_exact(integers)
    scale = RNG.uniform(1e-3, 9, 9).astype(np.float32)
    q = RNG.integers(-127, 128, (6, inputs))
    q[:5, 0], q[5] = 127, 0  # the first decides the scale of a row if it is not bounded
    q = np.concatenate([q, 127 * np.sign(integers.T), -127 * np.sign(integers.T)])
    bounded = largest == 1
    found = computed(
        product_of(Integers(integers, scale, 1), bounded=bounded).multiply_rows, q / 127 * largest
    )
    expected = (q @ integers.astype(int)) * scale.astype(float) * largest / 127
    np.testing.assert_allclose(found, expected, rtol=8 * U, atol=0)


def test_the_check_finds_weights_that_use_all_bits():
    """Sums of 2 * 255 * 127 do not fit."""
    assert not is_exact(np.array([[127], [127]])) and is_exact(np.array([[127], [-127]]).T)
    assert saturated(np.full((1, 3), 255), np.full((3, 1), -127)) == -(1 << 15) - 255 * 127


class Int8:
    """A matrix (N,M) for an oracle, on the right of @; bounded: see `IntegerProduct`."""

    __array_ufunc__ = None  # so that x @ this calls __rmatmul__

    def __init__(self, W, bounded):
        self.shape, largest = W.shape, np.abs(W).max(axis=0)
        self.step = np.where(largest > 0, largest, 1) / 64
        self.W, self.bounded = np.rint(W / self.step).astype(int), bounded

    def __rmatmul__(self, x):
        largest = 1.0 if self.bounded else np.abs(x).max(axis=-1, keepdims=True)
        x = np.clip(x / np.where(largest > 0, largest, 1.0), -1, 1)
        return np.rint(x * 127).astype(int) @ self.W * self.step * largest / 127


@pytest.mark.parametrize("bounded", [True, False])
def test_products_are_those_of_the_integers(bounded):
    x = np.tanh(RNG.normal(0, 2, (9, 40))).astype(np.float32) * (1 if bounded else 7)
    x[3] = 0
    W = (RNG.normal(size=(40, 24)) * RNG.uniform(0.1, 9, 24)).astype(np.float32)
    W[:, 5] = 0
    some = np.array([7, 5, 0, 23])
    parts = [Integers.of(part, 1, LARGEST_WEIGHT) for part in (W[:, :10], W[:, 10:])]
    product = product_of(*parts, bounded=bounded)
    whole = computed(product.multiply_rows, x)
    expected = x.astype(float) @ Int8(W.astype(float), bounded)
    # an x halfway between two integers may be rounded to either
    largest = 1.01 * np.abs(W).max() * np.abs(x).max() / 127
    np.testing.assert_allclose(whole, expected, rtol=1e-5, atol=largest)
    assert np.mean(np.isclose(whole, expected, rtol=1e-4, atol=1e-4)) > 0.9
    assert not whole[:, 5].any() and not whole[3].any()
    narrow = computed(lambda x: product.with_columns(product.columns(ops.convert(some)))(x)[0], x)
    np.testing.assert_array_equal(narrow, whole[:, some])
    three = computed(lambda x: product(ops.reshape(x, [3, -1, 40]))[0], x)
    np.testing.assert_array_equal(three.reshape(9, 24), whole)
    # a row does not depend on other rows
    np.testing.assert_array_equal(
        computed(product.multiply_rows, np.stack([x[8]] * 9))[0], whole[8]
    )
    np.testing.assert_array_equal(computed(product.multiply_rows, x[8:]), whole[8:])


def test_a_matrix_is_rounded_by_half_a_step():
    for axis, largest in ((0, LARGEST_ENTRY), (1, LARGEST_WEIGHT)):
        W = RNG.normal(size=(6, 4)).astype(np.float32)
        W[2] = W[:, 3] = 0
        rounded = Integers.of(W, axis, largest)
        step = np.abs(W).max(axis=1 - axis, keepdims=True) / largest
        assert (np.abs(rounded.matrix() - W) <= (0.5 + 1e-4) * step).all()
        assert np.abs(rounded.integers).max() == largest and not rounded.matrix()[2].any()


@pytest.mark.parametrize(
    "name", ["lexical, factors", "deep cgru of LSTMs", "classifier", "deep encdec"]
)
def test_every_product_of_a_model_is_exact_on_every_processor(name, monkeypatch):
    """Pairs of products fit in 16 bits, to which processors without VNNI limit them."""
    s, used = NAMED[name], []
    multiply = onnx_engine.integer_product
    monkeypatch.setattr(
        onnx_engine, "integer_product", lambda *given: used.append(given[1:]) or multiply(*given)
    )
    network = graphs.network_of(s, in_8_bits(s, random_arrays(s)))
    _, begun = graphs.beginning(network)
    graphs.stepping([network], [1.0], [begun])
    graphs.scoring(network)
    constant = [(one.array, scale.array) for one, scale in used if one.array is not None]
    assert len(constant) > (4 if s.type is Type.CLASSIFIER else 10)
    for integers, scale in constant:
        assert is_exact(integers) and scale.shape == integers.shape[1:]
        assert (np.abs(integers.astype(int)).max(axis=0) == LARGEST_WEIGHT).all()


def test_matrices_include_constant_factors():
    """Weight norm and the factors of old dropout: a model without them has the same scores."""
    s = tiny(weight_normalization=True, old_dropout=Dropout(0.1, 0.2, 0.3, 0.4, 0.2), **DEEP)
    plain = tiny(**DEEP)
    arrays = random_arrays(s, 2)
    rounded = {
        name: array.matrix() if isinstance(array, Integers) else array
        for name, array in in_8_bits(s, arrays).items()
    }
    exact, unfolded, folded = (
        reference(one, given).force_decode([3, 1, 4], [2, 5]).distributions
        for one, given in ((s, arrays), (plain, arrays), (plain, rounded))
    )
    effect, rounding = np.abs(unfolded - exact).max(), np.abs(folded - exact).max()
    assert 0 < rounding < effect / 10


class Quantized(DeepModel):
    """The NumPy oracle of a whole model, with integer products except two."""

    def __init__(self, arrays):
        tables = {
            name: Integers.of(arrays[name], 0, LARGEST_ENTRY).matrix()
            for name in ("Wemb", "Wemb_dec")
        }
        super().__init__(arrays | tables)

    def matrix(self, name, followed_by_softmax=False):
        W = super().matrix(name, followed_by_softmax)
        if name in ("decoder_U_att", "ff_state_W"):
            return W
        of_words = ("encoder_W encoder_Wx encoder_r_W encoder_r_Wx decoder_W decoder_Wx "
                    "ff_logit_prev_W")  # fmt: skip
        return Int8(W, bounded=name not in of_words.split())  # embeddings are not bounded


def test_a_models_scores_are_those_of_an_oracle_with_integers():
    structure = tiny(state=16, source_embeddings=(12,), target_embedding=12)
    arrays, texts = random_arrays(structure, scale=1.5), Texts.of(tiny())
    scores, steps, _ = by_onnx(structure, in_8_bits(structure, arrays), *texts.batch(structure))
    for b, (source, target) in enumerate(zip(*texts, strict=True)):
        exact = DeepModel(arrays).force_decode(source, target)
        expected = Quantized(arrays).force_decode(source, target)
        rounding = np.abs(expected.distributions - exact.distributions).max()
        assert rounding > 1e-3  # or the test would prove nothing
        T, S = len(target) + 1, len(source) + 1
        found = scores.log_probs[b, :T]
        np.testing.assert_allclose(found, expected.log_probs, atol=rounding / 10)
        alignment = scores.alignment[b, :T, :S]
        np.testing.assert_allclose(alignment, expected.alignment, atol=rounding / 10)
        # a search multiplies annotations instead of contexts
        np.testing.assert_allclose(steps[2 * b, :T], exact.distributions, atol=3 * rounding)


@pytest.mark.parametrize("name", ["a-shallow", "marian-s2s-deep"])
def test_scores_stay_within_a_hundredth(name):
    reference = case(fixture_path(f"{name}/model.npz"))
    sources = reference.source_ids(fixture_path(f"{name}/src.txt"))[:20]
    targets = reference.target_ids(fixture_path(f"{name}/trg.txt"))[:20]
    exact = np.abs(np.loadtxt(fixture_path(f"{name}/scores.txt"))[:20])
    structure = reference.model.structure
    model = PreparedModel(structure, in_8_bits(structure, reference.model.arrays), ONE_THREAD)
    batch = (x.numpy() for x in (*pad_source(sources), *pad_target(targets)))
    found = -Scorer(model, with_alignment=False)(*batch).log_probs.sum(axis=1)
    assert abs(found.sum() / exact.sum() - 1) < 0.01
    assert np.median(np.abs(found / exact - 1)) < 0.01
    assert np.abs(found / exact - 1).max() > 1e-5  # not computed in float32
