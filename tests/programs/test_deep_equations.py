"""Features of deep models, with random weights: the equations against equivalent computations."""

import numpy as np
import pytest
from deep_cells import layer_norm, log_softmax, rms_norm, weight_norm
from deep_equations import DeepModel

DEEP = {
    "encoder_depth": 2,
    "encoder_transition": 2,
    "decoder_depth": 2,
    "decoder_base_transition": 3,
}
D, E, C, VS, VT = 5, 4, 10, 7, 6
SOURCE, TARGET = [3, 1, 4, 6], [2, 5, 1]
ROWS_OF_LEVELS = {  # input width of each GRU
    "encoder": E,
    "encoder_r": E,
    "encoder_2": D,
    "encoder_r_2": D,
    "decoder": E,
    "decoder_2": D,
}


def random_arrays(seed: int = 0, deep_context: bool = False) -> dict[str, np.ndarray]:
    """Two levels and two cells everywhere, three in the decoder's base."""
    rng = np.random.default_rng(seed)
    shapes = {
        "Wemb": (VS, E),
        "Wemb_dec": (VT, E),
        "ff_state_W": (C, D),
        "ff_state_b": (D,),
        "decoder_W_comb_att": (D, C),
        "decoder_Wc_att": (C, C),
        "decoder_b_att": (C,),
        "decoder_U_att": (C, 1),
        "decoder_c_tt": (1,),
        "ff_logit_lstm_W": (D, E),
        "ff_logit_prev_W": (E, E),
        "ff_logit_ctx_W": (C, E),
        "ff_logit_W": (E, VT),
        "ff_logit_b": (VT,),
        "decoder_Wc": (C, 2 * D),
        "decoder_Wcx": (C, D),
    }
    for name in ("lstm", "prev", "ctx"):
        shapes[f"ff_logit_{name}_b"] = (E,)
    suffixes = [(prefix, suffix) for prefix in ROWS_OF_LEVELS for suffix in ("", "_drt_1")]
    suffixes.remove(("decoder", "_drt_1"))
    suffixes += [("decoder", "_nl"), ("decoder", "_nl_drt_1")]
    for prefix, suffix in suffixes:
        shapes[f"{prefix}_U{suffix}"] = (D, 2 * D)
        shapes[f"{prefix}_Ux{suffix}"] = (D, D)
        shapes[f"{prefix}_b{suffix}"] = (2 * D,)
        shapes[f"{prefix}_bx{suffix}"] = (D,)
    for prefix, rows in ROWS_OF_LEVELS.items():
        if deep_context and prefix == "decoder_2":
            rows += C
        shapes[f"{prefix}_W"] = (rows, 2 * D)
        shapes[f"{prefix}_Wx"] = (rows, D)
    return {name: rng.normal(size=shape) for name, shape in shapes.items()}


RANDOM = {**DEEP, "decoder_high_transition": 2}
EMBEDDINGS = {"Wemb", "Wemb_dec"}


def matrices(arrays: dict[str, np.ndarray]) -> list[str]:
    """The matrices covered by Theano's weight normalisation."""
    return [n for n, a in arrays.items() if a.ndim == 2 and n not in EMBEDDINGS | {"ff_logit_W"}]


def distributions(arrays, source=SOURCE, target=TARGET, **settings):
    forced = DeepModel(arrays, **{**RANDOM, **settings}).force_decode(source, target)
    np.testing.assert_allclose(np.exp(forced.distributions).sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(forced.alignment.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(
        forced.log_probs, forced.distributions[range(len(target) + 1), [*target, 0]]
    )
    return forced.distributions


def same(a, b):
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-10)


def different(a, b):
    assert np.abs(a - b).max() > 1e-3


def test_weight_normalization_is_a_division_of_the_columns():
    arrays = random_arrays()
    rng = np.random.default_rng(1)
    normalized, folded = dict(arrays), dict(arrays)
    for name in matrices(arrays):
        s = rng.uniform(0.5, 2.0, size=arrays[name].shape[1])
        normalized[name + "_wns"] = s
        norms = np.sqrt((arrays[name] ** 2).sum(axis=0) + 1e-5)
        folded[name] = arrays[name] / (norms * s)
    plain = distributions(folded)
    same(distributions(normalized, weight_normalization=True), plain)
    different(distributions(arrays), plain)


@pytest.mark.parametrize("tied", [False, True])
def test_old_dropout_can_be_folded_into_the_weights(tied):
    arrays = random_arrays()
    if tied:
        del arrays["ff_logit_W"]
    p = {"embedding": 0.1, "hidden": 0.2, "source": 0.3, "target": 0.4}
    keep = {name: 1.0 - value for name, value in p.items()}
    folded = dict(arrays)
    for name in matrices(arrays):
        factor = keep["hidden"]  # also W and Wx of the upper levels
        if name in ("encoder_W", "encoder_Wx", "encoder_r_W", "encoder_r_Wx"):
            factor = keep["embedding"] * keep["source"]
        elif name in ("decoder_W", "decoder_Wx", "ff_logit_prev_W"):
            factor = keep["embedding"] * keep["target"]
        folded[name] = arrays[name] * factor
    # The tied embedding itself must keep its scale.
    output = arrays["Wemb_dec"].T if tied else arrays["ff_logit_W"]
    folded["ff_logit_W"] = output * keep["hidden"]
    scaled = distributions(arrays, old_dropout=p)
    same(scaled, distributions(folded))
    different(scaled, distributions(arrays))


def norm_arrays(arrays, normalization, gain):
    """Gains (and zero biases) for every position of the normalisation."""
    kinds = {"nematus": ("s", "b"), "rms": ("s",)}[normalization]
    result = dict(arrays)
    for name in matrices(arrays):
        if name == "decoder_U_att":
            continue
        feed_forward = name.startswith("ff_")
        stem = name.removesuffix("W") + "ln_" if feed_forward else name + "_ln"
        for kind in kinds:
            fill = gain if kind == "s" else 0.0
            result[stem + kind] = np.full(arrays[name].shape[1], fill)
    return result


@pytest.mark.parametrize("normalization", ["nematus", "rms"])
def test_norms_do_not_see_the_scale_of_the_weights(normalization):
    """Without biases, scaling a normalised matrix only has an effect through eps."""
    arrays = norm_arrays(random_arrays(), normalization, 0.7)
    scaled = matrices(random_arrays())
    scaled.remove("decoder_U_att")  # no norm follows this one
    results = []
    for factor in (1e3, 1e4):
        model = {
            name: array * factor if name in scaled else array for name, array in arrays.items()
        }
        model |= {name: array * 0.0 for name, array in arrays.items() if is_bias(name)}
        results.append(distributions(model, normalization=normalization))
    np.testing.assert_allclose(results[0], results[1], rtol=0, atol=1e-6)
    different(results[0], distributions(arrays))


def is_bias(name: str) -> bool:
    return {"b", "bx"} & set(name.split("_")) != set()


def test_norms_by_hand():
    x = np.array([1.0, 2.0, 6.0])
    np.testing.assert_allclose(
        layer_norm(x, np.array([2.0, 1.0, 1.0]), 0.0),
        np.array([-4.0, -1.0, 3.0]) / np.sqrt(14 / 3),
    )
    np.testing.assert_allclose(rms_norm(x, np.ones(3), 1.0), x / np.sqrt(41 / 3 + 1))
    W = np.array([[3.0], [4.0]])
    np.testing.assert_allclose(weight_norm(W, np.array([2.0])), W / (2 * np.sqrt(25 + 1e-5)))


def test_marian_norm_with_deep_cells():
    arrays = random_arrays()
    gammas = {"ff_state_gamma": D, "decoder_att_gamma1": C, "decoder_att_gamma2": C}
    gammas |= {f"ff_logit_l1_gamma{i}": E for i in range(3)}
    cells = [p for p in ROWS_OF_LEVELS if p != "decoder"] + ["decoder_cell1", "decoder_cell2"]
    gammas |= {f"{cell}_gamma{i}": 3 * D for cell in cells for i in (1, 2)}
    transitions = [f"{p}_drt_1" for p in ROWS_OF_LEVELS if p != "decoder"] + ["decoder_nl_drt_1"]
    gammas |= {f"{cell}_gamma2": 3 * D for cell in transitions}
    arrays |= {name: np.full(size, 0.7) for name, size in gammas.items()}
    different(distributions(arrays, normalization="marian"), distributions(arrays))


def test_mixture_of_softmaxes():
    arrays = random_arrays()
    rng = np.random.default_rng(2)
    for k in range(3):
        arrays[f"ff_logit_mos_{k}_W"] = rng.normal(size=(E, E))
        arrays[f"ff_logit_mos_{k}_b"] = rng.normal(size=E)
    arrays["ff_logit_pi_W"] = rng.normal(size=(E, 3))
    arrays["ff_logit_pi_b"] = rng.normal(size=3)
    mixed = distributions(arrays, mixture=3)
    # Equal components: the weights of the mixture no longer matter.
    for k in range(3):
        arrays[f"ff_logit_mos_{k}_W"] = arrays["ff_logit_mos_0_W"]
        arrays[f"ff_logit_mos_{k}_b"] = arrays["ff_logit_mos_0_b"]
    equal = distributions(arrays, mixture=3)
    same(equal, distributions({**arrays, "ff_logit_pi_b": np.zeros(3)}, mixture=3))
    different(mixed, equal)
    # One component with all the weight, through a large bias.
    single = {**arrays, "ff_logit_pi_b": np.array([0.0, 1e3, 0.0])}
    same(distributions(single, mixture=3), equal)


def test_lexical_model():
    arrays = random_arrays()
    rng = np.random.default_rng(3)
    arrays["ff_lexical_W"] = rng.normal(size=(E, E))
    arrays["ff_lexical_b"] = rng.normal(size=E)
    arrays["ff_logit_lexical_W"] = np.zeros((E, VT))
    arrays["ff_logit_lexical_b"] = rng.normal(size=VT)
    shifted = {**arrays, "ff_logit_b": arrays["ff_logit_b"] + arrays["ff_logit_lexical_b"]}
    same(distributions(arrays, lexical=True), distributions(shifted))
    arrays["ff_logit_lexical_W"] = rng.normal(size=(E, VT))
    different(distributions(arrays, lexical=True), distributions(shifted))
    # With a single source token (EOS), alpha is 1; the logits are computed manually.
    embedding = np.tanh(arrays["Wemb"][0])
    hidden = np.tanh(embedding @ arrays["ff_lexical_W"] + arrays["ff_lexical_b"]) + embedding
    extra = hidden @ arrays["ff_logit_lexical_W"] + arrays["ff_logit_lexical_b"]
    plain = distributions(arrays, source=[])
    by_hand = np.array([log_softmax(row + extra) for row in plain])
    same(distributions(arrays, source=[], lexical=True), by_hand)


def test_deep_context():
    arrays = random_arrays(deep_context=True)
    with_context = distributions(arrays, deep_context=True)
    blind = dict(arrays)
    for name in ("decoder_2_W", "decoder_2_Wx"):
        blind[name] = arrays[name].copy()
        blind[name][D:] = 0.0  # first the state, then the context
    cut = {n: a[:D] if n in ("decoder_2_W", "decoder_2_Wx") else a for n, a in arrays.items()}
    same(distributions(blind, deep_context=True), distributions(cut))
    different(with_context, distributions(cut))


def test_readout_activations():
    arrays = random_arrays()
    linear = distributions(arrays, readout_activation="linear")
    relu = distributions(arrays, readout_activation="relu")
    for slope, expected in ((1.0, linear), (0.0, relu)):
        prelu = {**arrays, "ff_logit_prelu_slope": np.full(E, slope)}
        same(distributions(prelu, readout_activation="prelu"), expected)
    different(linear, relu)
    different(linear, distributions(arrays))


def test_switches_of_the_stacks():
    arrays = random_arrays()
    results = [
        distributions(arrays),
        distributions(arrays, residual=False),
        distributions(arrays, encoder="bidirectional"),
        distributions(arrays, bias="nematus_tf"),
    ]
    for i, a in enumerate(results):
        for b in results[:i]:
            different(a, b)
    # Nematus-TF has no bias in the encoder's transition cells, so it may be missing.
    without = {n: a for n, a in arrays.items() if not ("encoder" in n and "_b" in n and "drt" in n)}
    assert len(without) == len(arrays) - 8
    same(distributions(without, bias="nematus_tf"), results[3])


def test_empty_sentences_and_row_biases():
    """Only EOS on either side; biases of shape (1, N) as in Marian."""
    arrays = random_arrays()
    assert distributions(arrays, source=[], target=[]).shape == (1, VT)
    rows = {n: a[None] if a.ndim == 1 else a for n, a in arrays.items()}
    rows["decoder_c_tt"] = np.zeros((1, 0))
    same(distributions(rows), distributions(arrays))
