"""The NumPy equations of deep models: against those of the lessons, by hand, and by equivalences.

`test_ladder.py` and `tests/network/test_network.py` test that the package computes the same, and
the latter that these are the scores and activations of the original programs.
"""

import equations
import numpy as np
import pytest
from cases import random_arrays, tiny
from deep_cells import INPUT, Cell, State, layer_norm, log_softmax, rms_norm, weight_norm
from deep_equations import DeepModel
from models import ladder_oracle, typed
from named_structures import DEEP
from tables import each_row

from cgru_cli.parameters.structure import Activation, Dropout, Encoder, Pooling, Type

SOURCE, TARGET = [3, 1, 4, 6], [2, 5, 1]
D = 4


def in_double(structure):
    """Random arrays in float64."""
    return {name: array.astype(float) for name, array in random_arrays(structure).items()}


def same(a, b):
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-10)


def different(a, b):
    assert np.abs(a - b).max() > 1e-3


# --- the equations of the lessons -----------------------------------------------------------------

UNITS = {
    "tanh": equations.plain,
    "gru": equations.gru,
    "gru-before": equations.gru_before,
    "lstm": equations.lstm,
}


@each_row("unit", UNITS)
def test_units_are_those_of_the_lessons(unit):
    arrays = in_double(typed(Type.LM, decoder_unit=unit))
    x, *state = np.random.default_rng(1).normal(size=(3, D))
    x = np.append(x, 0.5)  # an embedding is wider than a state
    cell = Cell(unit, "encoder_U{}", "encoder_b{}", "encoder_W{}", bias=INPUT)
    step = DeepModel(arrays, type="lm").step(cell, State(*state), x)
    memory = state[1:] if unit == "lstm" else []
    expected = UNITS[unit](arrays, "encoder", state[0], x, *memory)
    for found, wanted in zip(step, expected if memory else [expected], strict=False):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("kind", [kind for kind in Type if kind.writes_text])
def test_a_shallow_model_is_that_of_the_lessons(kind):
    one_reader = kind in (Type.ENCDEC, Type.SEQ2SEQ)
    encoder = Encoder.UNIDIRECTIONAL if one_reader else Encoder.BIDIRECTIONAL
    structure = typed(kind, encoder=encoder)
    arrays = in_double(structure)
    source = None if kind is Type.LM else SOURCE
    forced = ladder_oracle(structure, arrays).force_decode(source, TARGET)
    expected, alphas = equations.follow(kind.value, arrays, [*SOURCE, 0], [*TARGET, 0])
    same(np.exp(forced.distributions), expected)
    same(forced.log_probs, np.log(expected[range(4), [*TARGET, 0]]))
    if kind.attends:
        same(forced.alignment, alphas)


@each_row("pooling", [*Pooling, None])
def test_labels_are_those_of_the_lessons(pooling):
    """Of a classifier, or of a tagger and its CRF."""
    kind, tags = (Type.CLASSIFIER, [1]) if pooling else (Type.TAGGER, [1, 0, 2, 0])
    labels, ids = [tag + 2 for tag in tags], [*SOURCE, 0]
    given = {"pooling": pooling or Pooling.MEAN, "encoder": Encoder.BIDIRECTIONAL}
    structure = typed(kind, crf=not pooling, **given)
    arrays = in_double(structure)
    plain = ladder_oracle(typed(kind, **given), arrays).force_decode(SOURCE, labels)
    found = np.exp(plain.distributions[:-1, 2:])
    if pooling:
        same(found[0], equations.classifier(arrays, ids, pooling.value))
        return
    same(found, equations.tagger(arrays, ids))
    logits = equations.label_logits(arrays, equations.annotations(arrays, ids)[:-1])
    tagging = ladder_oracle(structure, arrays).force_decode(SOURCE, labels)
    same(np.exp(tagging.log_probs.sum()), equations.crf(arrays, logits, tags))


def test_norms_by_hand():
    x = np.array([1.0, 2.0, 6.0])
    np.testing.assert_allclose(
        layer_norm(x, np.array([2.0, 1.0, 1.0]), 0.0),
        np.array([-4.0, -1.0, 3.0]) / np.sqrt(14 / 3),
    )
    np.testing.assert_allclose(rms_norm(x, np.ones(3), 1.0), x / np.sqrt(41 / 3 + 1))
    W = np.array([[3.0], [4.0]])
    np.testing.assert_allclose(weight_norm(W, np.array([2.0])), W / (2 * np.sqrt(25 + 1e-5)))


# --- features of deep models, as equivalent models without them -----------------------------------


def deep(**changes):
    return tiny(**DEEP | changes)


def distributions(arrays, source=SOURCE, **changes):
    """log p(. | y_<j, x) of a deep model with these features."""
    forced = ladder_oracle(deep(**changes), arrays).force_decode(source, TARGET)
    same(np.exp(forced.distributions).sum(axis=1), 1.0)
    return forced.distributions


def matrices(arrays):
    """The matrices that Theano's weight normalisation covers."""
    left_out = {"Wemb", "Wemb_dec", "ff_logit_W"}
    return [name for name, a in arrays.items() if a.ndim == 2 and name not in left_out]


def test_weight_normalization_is_a_division_of_the_columns():
    arrays = in_double(deep(weight_normalization=True))
    divided = {name: array for name, array in arrays.items() if not name.endswith("_wns")}
    plain = distributions(divided)
    for name in matrices(divided):
        norms = np.sqrt((arrays[name] ** 2).sum(axis=0) + 1e-5)
        divided[name] = arrays[name] / (norms * arrays[f"{name}_wns"])
    found = distributions(arrays, weight_normalization=True)
    same(found, distributions(divided))
    different(found, plain)


@pytest.mark.parametrize("tied", [False, True])
def test_old_dropout_can_be_folded_into_the_weights(tied):
    arrays = in_double(deep(tied_output=tied))
    rates = {"embedding": 0.1, "hidden": 0.2, "source": 0.3, "target": 0.4}
    keep = {name: 1.0 - rate for name, rate in rates.items()}
    folded = dict(arrays)
    for name in matrices(arrays):
        factor = keep["hidden"]  # also W and Wx of the upper levels
        if name in ("encoder_W", "encoder_Wx", "encoder_r_W", "encoder_r_Wx"):
            factor = keep["embedding"] * keep["source"]
        elif name in ("decoder_W", "decoder_Wx", "ff_logit_prev_W"):
            factor = keep["embedding"] * keep["target"]
        folded[name] = arrays[name] * factor
    # the tied embedding itself must keep its scale
    output = arrays["Wemb_dec"].T if tied else arrays["ff_logit_W"]
    folded["ff_logit_W"] = output * keep["hidden"]
    dropout = Dropout(**rates, readout=rates["hidden"])
    scaled = distributions(arrays, tied_output=tied, old_dropout=dropout)
    same(scaled, distributions(folded))
    different(scaled, distributions(arrays, tied_output=tied))


def test_mixture_of_softmaxes():
    arrays = in_double(deep(mixture=3))
    mixed = distributions(arrays, mixture=3)
    # equal components: the weights of the mixture no longer matter
    for k in range(3):
        for root in "Wb":
            arrays[f"ff_logit_mos_{k}_{root}"] = arrays[f"ff_logit_mos_0_{root}"]
    equal = distributions(arrays, mixture=3)
    different(mixed, equal)
    # one component with all the weight, through a large bias
    for bias in (np.zeros(3), np.array([0.0, 1e3, 0.0])):
        same(distributions({**arrays, "ff_logit_pi_b": bias}, mixture=3), equal)


def test_lexical_model():
    arrays = in_double(deep(lexical=True))
    without = {**arrays, "ff_logit_lexical_W": 0 * arrays["ff_logit_lexical_W"]}
    shifted = {**arrays, "ff_logit_b": arrays["ff_logit_b"] + arrays["ff_logit_lexical_b"]}
    same(distributions(without, lexical=True), distributions(shifted))
    different(distributions(arrays, lexical=True), distributions(shifted))
    # with a single source word (EOS), alpha is 1; the logits are computed by hand
    embedding = np.tanh(arrays["Wemb"][0])
    hidden = np.tanh(embedding @ arrays["ff_lexical_W"] + arrays["ff_lexical_b"]) + embedding
    extra = hidden @ arrays["ff_logit_lexical_W"] + arrays["ff_logit_lexical_b"]
    by_hand = [log_softmax(row + extra) for row in distributions(arrays, source=[])]
    same(distributions(arrays, source=[], lexical=True), by_hand)


def test_deep_context():
    """The rows of a higher level's matrices read first the state, then the context."""
    arrays = in_double(deep(deep_context=True))
    read = {n: a for n, a in arrays.items() if n.startswith(("decoder_2_W", "decoder_3_W"))}
    assert len(read) == 4
    blind = {n: np.where(np.arange(len(a))[:, None] < D, a, 0) for n, a in read.items()}
    cut = distributions(arrays | {n: a[:D] for n, a in read.items()})
    same(distributions(arrays | blind, deep_context=True), cut)
    different(distributions(arrays, deep_context=True), cut)


def test_readout_activations():
    arrays = in_double(deep())
    linear, relu = (
        distributions(arrays, readout_activation=activation)
        for activation in (Activation.LINEAR, Activation.RELU)
    )
    different(linear, relu)
    different(linear, distributions(arrays))
    for slope, expected in ((1.0, linear), (0.0, relu)):
        prelu = {**arrays, "ff_logit_prelu_slope": np.full(5, slope)}
        same(distributions(prelu, readout_activation=Activation.PRELU), expected)
    # the maximum of two neighbouring columns: equal ones, or one of zeros
    names = [f"ff_logit_{part}_{root}" for part in ("prev", "lstm", "ctx") for root in "Wb"]
    for second, expected in ((1, linear), (0, relu)):
        wide = {n: np.stack([arrays[n], second * arrays[n]], -1) for n in names}
        wide = {n: pair.reshape(*pair.shape[:-2], -1) for n, pair in wide.items()}
        maxout = distributions({**arrays, **wide}, readout_activation=Activation.MAXOUT)
        same(maxout, expected)
