"""The initial arrays of new models, by scheme."""

import numpy as np
import pytest
from cases import tiny
from tables import each_row

from cgru_cli.options.flags import statements
from cgru_cli.options.train import TrainOptions
from cgru_cli.parameters.initialization import initial_arrays, output_bias
from cgru_cli.parameters.names import parameters
from cgru_cli.parameters.structure import Activation, Bias, Normalization

SCHEMES = next(f.choices for f, _ in statements(TrainOptions).values() if "--init" in f.flags)
D, E = 40, 30
WIDE = {
    "source_vocabularies": (400,),
    "source_embeddings": (E,),
    "target_vocabulary": 300,
    "target_embedding": E,
    "state": D,
}
RECURRENT = [f"{cell}_{U}" for cell in ("encoder", "encoder_r", "decoder") for U in ("U", "Ux")]
RECURRENT += ["decoder_U_nl", "decoder_Ux_nl"]
# (2D,2D): orthogonal too, in DL4MT and Nematus on Theano; on TensorFlow, each gate has its W_c
SQUARE = ["decoder_Wc_att", "decoder_Wc"]
READOUT = ["ff_logit_prev_W"]  # (E,E): orthogonal in Nematus on TensorFlow
EMBEDDINGS = ["Wemb", "Wemb_dec"]


def blocks(array):
    """The square matrices that stand side by side, one a gate."""
    rows, columns = array.shape
    assert columns % rows == 0
    return np.split(array.astype(np.float64), columns // rows, axis=1)


def orthogonal(array):
    return all(np.allclose(b.T @ b, np.eye(len(b)), atol=1e-5) for b in blocks(array))


def check_normal(array, deviation):
    """Mean and deviation are right within five standard errors."""
    count = array.size
    assert abs(array.mean()) < 5 * deviation / np.sqrt(count)
    assert abs(array.std() / deviation - 1) < 5 / np.sqrt(2 * count)
    inside = (np.abs(array) < deviation).mean()
    assert inside == pytest.approx(0.6827, abs=5 * 0.47 / np.sqrt(count))


def check_glorot(array, limit=None):
    limit = limit or np.sqrt(6 / sum(array.shape))
    count = array.size
    assert np.abs(array).max() <= limit and np.abs(array).max() > limit * (1 - 20 / count)
    assert abs(array.mean()) < 5 * limit / np.sqrt(3 * count)
    assert abs(array.std() / (limit / np.sqrt(3)) - 1) < 5 / np.sqrt(count)


def matrices(arrays):
    return {name: array for name, array in arrays.items() if array.ndim == 2}


@pytest.mark.parametrize(
    ("scheme", "square"), [("nematus", SQUARE), ("nematus-tf", SQUARE[:1] + READOUT)]
)
def test_nematus(scheme, square):
    arrays = matrices(initial_arrays(tiny(**WIDE), scheme, 1))
    for name, array in arrays.items():
        if name in RECURRENT + square:
            assert orthogonal(array), name
        else:
            check_normal(array, 0.01)
    gates = blocks(arrays["encoder_U"])
    assert len(gates) == 2 and not np.allclose(*gates)


def test_all_orthogonal_matrices_are_equally_likely():
    """Each entry's mean is 0, its square's a third; half of the matrices are reflections."""
    size, count = 3, 400
    structure = tiny(**WIDE | {"state": size})
    draws = [initial_arrays(structure, "nematus", seed)["encoder_Ux"] for seed in range(count)]
    assert np.abs(np.mean(draws, axis=0)).max() < 5 * (3 * count) ** -0.5
    assert np.abs(np.mean(np.square(draws), axis=0) - 1 / 3).max() < 5 * 0.3 * count**-0.5
    assert abs(np.mean([np.linalg.det(q) for q in draws])) < 5 * count**-0.5


def test_nematus_inputs_as_wide_as_the_state():
    """Each gate of a cell is orthogonal wherever it is square: norm_weight of DL4MT and Nematus."""
    inputs = ("encoder_2_W", "encoder_r_2_Wx", "decoder_2_W")
    structure = tiny(**WIDE, encoder_depth=2, decoder_depth=2)
    arrays = initial_arrays(structure, "nematus", 1)
    assert all(orthogonal(arrays[name]) for name in inputs)
    check_normal(arrays["encoder_W"], 0.01)  # E inputs
    structure = tiny(**WIDE | {"source_embeddings": (D,)})
    arrays = initial_arrays(structure, "nematus", 1)
    assert orthogonal(arrays["encoder_W"]) and orthogonal(arrays["encoder_r_Wx"])
    arrays = initial_arrays(tiny(**WIDE, encoder_depth=2), "scaled", 1)
    check_glorot(arrays["encoder_2_W"])


def test_glorot():
    for name, array in matrices(initial_arrays(tiny(**WIDE), "glorot", 1)).items():
        check_glorot(array, np.sqrt(3 / E) if name in [*EMBEDDINGS, "ff_logit_W"] else None)


def test_scaled():
    for name, array in matrices(initial_arrays(tiny(**WIDE), "scaled", 1)).items():
        if name in RECURRENT + SQUARE[:1]:
            assert orthogonal(array), name
        elif name in EMBEDDINGS:
            check_normal(array, 1 / np.sqrt(E))
        else:
            check_glorot(array)


@each_row("scheme", SCHEMES)
@each_row(
    "changes",
    [
        {
            "normalization": Normalization.NEMATUS,
            "encoder_depth": 2,
            "decoder_depth": 2,
            "encoder_transition": 2,
            "decoder_base_transition": 3,
        },
        {"normalization": Normalization.MARIAN},
        {"weight_normalization": True, "readout_activation": Activation.PRELU, "lexical": True},
        {
            "normalization": Normalization.RMS,
            "bias": Bias.NEMATUS_TF,
            "mixture": 2,
            "tied_output": True,
            "source_vocabularies": (7, 3),
            "source_embeddings": (4, 2),
        },
    ],
)
def test_biases_are_zeros_and_gains_ones(scheme, changes):
    """Gains are ones, biases zeros, by their names; all arrays have the table's shape."""
    structure = tiny(**changes)
    arrays = initial_arrays(structure, scheme, 1)
    rows = parameters(structure)
    assert list(arrays) == [row.name for row in rows]
    for row in rows:
        array = arrays[row.name]
        assert array.dtype == np.float32 and array.shape == row.size(structure)
        if array.ndim == 1:
            gain = row.name.endswith(("_lns", "_ln_s", "_wns", "slope")) or "gamma" in row.name
            assert (array == (1 if gain else 0)).all(), row.name
        else:
            assert np.isfinite(array).all() and array.std() > 0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_seed_decides(scheme):
    structure = tiny()
    one, again, other = (initial_arrays(structure, scheme, seed) for seed in (1, 1, 2))
    for name, array in one.items():
        np.testing.assert_array_equal(array, again[name])
        if array.ndim == 2:
            assert not np.array_equal(array, other[name])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_no_two_arrays_are_equal(scheme):
    arrays = list(matrices(initial_arrays(tiny(**WIDE), scheme, 1)).values())
    starts = {tuple(array.flat[:4].tolist()) for array in arrays}
    assert len(starts) == len(arrays)


def test_the_output_bias_gives_words_their_frequencies():
    """Its softmax is the unigram distribution, with one added to every count."""
    counts = np.array([50, 0, 3, 1000, 3])
    bias = output_bias(counts)
    expected = (counts + 1) / (counts + 1).sum()
    np.testing.assert_allclose(np.exp(bias) / np.exp(bias).sum(), expected, rtol=1e-5)
    assert bias.dtype == np.float32 and abs(bias.mean()) < 1e-6
    assert bias[2] == bias[4]


def test_the_output_bias_of_an_empty_text():
    np.testing.assert_array_equal(output_bias(np.zeros(4, int)), 0)
