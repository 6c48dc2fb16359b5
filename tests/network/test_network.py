"""The network against the programs whose models it computes, and against a float64 oracle."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from both_engines import Texts, check
from cases import random_arrays, tiny
from forced import force_decode
from hypothesis import given, settings
from hypothesis import strategies as st
from models import (
    case,
    log_probabilities,
    pad_source,
    pad_target,
    random_pairs,
    structures,
    text_lines,
)
from named_structures import DEEP, EIGHT, NAMED
from references import ALIGNED, MARIAN, NEMATUS, OOV, SCORES
from selection import LONG, choice

from cgru_cli.errors import CgruError
from cgru_cli.formats.read_model import read
from cgru_cli.network.keras_model import RecurrentModel
from cgru_cli.parameters.structure import Normalization


def opened(shared, name):
    """The case of a model in fixtures/, and the folder with its texts."""
    folder = shared(f"fixtures/{name.split('/')[0]}")
    vocabularies = ()
    if name == "a-shallow/marian-nematus/model.npz":  # the npz does not name them
        vocabularies = (folder / "vocab.en.json", folder / "vocab.de.json")
    return case(folder / name.partition("/")[2], vocabularies), folder


@functools.lru_cache(maxsize=4)
def decoded(a_case, folder, ending=".txt"):
    """Log-probabilities (B,T) float64, alignments, and lengths of all its pairs."""
    source = a_case.source_ids(folder / f"src{ending}")
    target = a_case.target_ids(folder / f"trg{ending}")
    ids, mask = pad_target(target)
    forced = force_decode(a_case.network, *pad_source(source), ids)
    scores = log_probabilities(forced, ids, mask).numpy().astype(float)
    alignments = []
    if a_case.model.structure.type.attends:
        alignments = [
            a[: len(y) + 1, : len(x) + 1]
            for a, x, y in zip(forced.alignment.numpy(), source, target, strict=True)
        ]
    return scores, alignments, np.array([len(y) + 1 for y in target])


def check_scores(scores, lengths, file):
    """Nematus writes costs, Marian log-probabilities; `norm` divides by the length."""
    marian = file.parent.name.startswith("marian")
    expected = np.array([float(line.split(" ")[0]) for line in text_lines(file)])
    expected *= 1 if marian else -1
    if "norm" in file.name:
        expected = expected * lengths
    error = np.abs(scores - expected) / np.maximum(1, np.abs(expected) / 10)
    assert error.max() <= (MARIAN if marian else NEMATUS)


SIX = (
    "a-shallow/model.npz",
    "b-layernorm/model.npz",
    "d-tied-all/model.npz",
    "f-factors/model.npz",
    "e-deep-tf/native/model-1500",
    "marian-s2s-lstm/model.npz",
)


@pytest.mark.parametrize("name", choice(SCORES, *SIX, others=LONG))
def test_forced_scores_are_the_programs(shared, name):
    a_case, folder = opened(shared, name)
    scores, _, lengths = decoded(a_case, folder)
    assert len(scores) == 50
    for file in SCORES[name]:
        check_scores(scores.sum(axis=1), lengths, folder / file)


def test_a_language_models_costs_are_dl4mts(shared):
    """DL4MT's session 0; ids beyond the table are UNK."""
    folder = shared("fixtures/dl4mt-session0")
    a_case = case(folder / "model.npz", ())
    ids, mask = pad_target(a_case.target_ids(folder / "src.txt"))
    nothing = tf.zeros([len(ids), 1, 0], tf.int32), tf.ones([len(ids), 1])
    forced = force_decode(a_case.network, *nothing, ids)
    scores = log_probabilities(forced, ids, mask).numpy().astype(float)
    lengths = mask.numpy().sum(axis=1)
    check_scores(scores.sum(axis=1), lengths, folder / "costs.txt")
    words = np.concatenate([row[: int(n)] for row, n in zip(-scores, lengths, strict=True)])
    expected = (folder / "wordcosts.txt").read_text().split()
    np.testing.assert_allclose(words, np.array(expected, float), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", OOV)
def test_unknown_words_score_as_in_the_programs(shared, name):
    a_case, folder = opened(shared, name)
    scores, _, lengths = decoded(a_case, folder, ".oov.txt")
    for file in OOV[name]:
        check_scores(scores.sum(axis=1), lengths, folder / file)


@pytest.mark.parametrize(
    "name",
    choice(ALIGNED, "b-layernorm/model.npz", "marian-s2s/model.npz", long=["a-shallow/model.npz"]),
)
def test_alignments_are_marians(shared, name):
    a_case, folder = opened(shared, name)
    scores, alignments, lengths = decoded(a_case, folder)
    file = folder / ALIGNED[name] / "scores.align.txt"
    written = [line.split(" ||| ") for line in text_lines(file)]
    mean = scores.sum(axis=1) / lengths
    for (score, text), own, alignment in zip(written, mean, alignments, strict=True):
        rows = [[float(weight) for weight in row.split(",")] for row in text.split(" ")]
        np.testing.assert_allclose(alignment, rows, atol=1e-4)
        assert own == pytest.approx(float(score), abs=MARIAN)


@pytest.mark.parametrize(
    "name", choice(["a-shallow", "b-layernorm", "e2-deep-theano"], "b-layernorm", others=LONG)
)
def test_intermediate_values_are_nematus(shared, name):
    """Annotations, start state, states, alignment, contexts and log-probabilities, by stepping."""
    a_case, folder = opened(shared, f"{name}/model.npz")
    network = a_case.network

    @tf.function(reduce_retracing=True)
    def step(state, previous, memory):
        logits, state, alignment = network.step(state, previous, memory)
        context = tf.matmul(alignment[:, None], annotations)[:, 0]
        return tf.nn.log_softmax(logits), state, alignment, context

    with np.load(folder / "attention.npz") as file:
        pairs = [
            {
                key: file[f"{key}_{i}"]
                for key in ("x", "y", "ctx", "s0", "states", "att", "attctx", "logp")
            }
            for i in range(50)
        ]
    ids, mask = pad_source([[(int(i),) for i in pair["x"][0][:-1]] for pair in pairs])
    target, _ = pad_target([pair["y"][:-1] for pair in pairs])
    memory = network.encode(ids, mask)
    state = network.start(memory)
    start = state.cells[0][0].numpy()
    annotations = memory.annotations.numpy()
    previous = tf.fill([len(pairs)], -1)
    steps = []
    for t in range(target.shape[1]):
        log_p, state, alignment, context = step(state, previous, memory)
        previous = target[:, t]
        log_p = tf.gather(log_p, previous, batch_dims=1)
        steps.append([v.numpy() for v in (log_p, state.cells[0][0], alignment, context)])
    log_p, states, alignment, contexts = (np.stack(v, axis=1) for v in zip(*steps, strict=True))
    for i, pair in enumerate(pairs):
        S, T = pair["x"].shape[1], len(pair["y"])
        assert tuple(target[i, :T].numpy()) == tuple(pair["y"])
        for own, theirs in (
            (annotations[i, :S], pair["ctx"]),
            (start[i], pair["s0"]),
            (states[i, :T], pair["states"]),
            (alignment[i, :T, :S], pair["att"]),
            (contexts[i, :T], pair["attctx"]),
        ):
            np.testing.assert_allclose(own, theirs, atol=1e-5, rtol=0)
        # both sides are float32, each within 1.7e-5 of float64
        np.testing.assert_allclose(log_p[i, :T], -np.abs(pair["logp"]), atol=1e-5, rtol=1e-5)


def test_alignments_are_dl4mts(shared):
    a_case, folder = opened(shared, "a-shallow/model.npz")
    _, alignments, _ = decoded(a_case, folder)
    with np.load(folder / "dl4mt/session2.attention.npz") as file:
        for i, alignment in enumerate(alignments):
            np.testing.assert_allclose(alignment, file[f"att_{i}"], atol=1e-5)


def test_a_model_that_its_converter_damaged_is_refused(shared):
    with pytest.raises(CgruError, match="convert the checkpoint"):
        read(shared("fixtures/e-deep-tf/model.npz"))


# -- every structure against the float64 oracle ----------------------------------------------------


@pytest.mark.parametrize("count", choice([3, 12], 3, others=LONG))
def test_any_structure_is_the_oracles(count):
    @settings(max_examples=count)
    @given(structures(), st.integers(0, 1000))
    def is_the_oracles(structure, seed):
        lengths = [(3, 2), (0, 1), (1, 3)]
        check(structure, seed, Texts(*random_pairs(structure, seed, lengths)))

    is_the_oracles()


@pytest.mark.parametrize("name", choice(NAMED, *EIGHT[1::2], long=EIGHT))
def test_a_structure_is_the_oracles(name):
    check(NAMED[name])


# -- the Keras model ------------------------------------------------------------------------------


FEATURES = {
    "plain": {},
    "lexical": {"lexical": True, "weight_normalization": True, "tied_output": True},
    "mixture": {"mixture": 2, "normalization": Normalization.RMS},
}


def training_batch(structure):
    sources, targets = random_pairs(structure, 3, [(3, 2), (1, 4), (2, 3)])
    return (*pad_source(sources), *pad_target(targets))


def loss_and_gradients(model, source, source_mask, target, mask):
    with tf.GradientTape() as tape:
        logits = model((source, source_mask, target))
        costs = tf.nn.sparse_softmax_cross_entropy_with_logits(target, logits)
        loss = tf.reduce_sum(costs * mask) / tf.reduce_sum(mask)
    return loss, tape.gradient(loss, [v.value for v in model.trainable_variables])


@pytest.mark.parametrize("feature", choice(FEATURES, "mixture", others=LONG))
def test_gradients_are_finite_differences(feature):
    """(f(w + hd) - f(w - hd)) / 2h = d . f'(w) along a random direction of all variables.

    This tests the Keras model itself; `test_scan` has the gradients of every structure.
    """
    structure = tiny(**FEATURES[feature])
    model = RecurrentModel(structure, random_arrays(structure, 5))
    batch = training_batch(structure)
    _, gradients = loss_and_gradients(model, *batch)
    assert all(gradient is not None for gradient in gradients)
    arrays = model.arrays()
    generator = np.random.default_rng(1)
    direction = {name: generator.choice([-1.0, 1.0], a.shape) for name, a in arrays.items()}
    slope = sum(
        float(np.sum(tf.convert_to_tensor(gradient).numpy() * direction[name]))
        for name, gradient in zip(model.parameters, gradients, strict=True)
    )
    values = []
    for sign in (1, -1):
        model.assign({name: a + sign * 1e-3 * direction[name] for name, a in arrays.items()})
        values.append(float(loss_and_gradients(model, *batch)[0]))
    assert (values[0] - values[1]) / 2e-3 == pytest.approx(slope, rel=2e-2, abs=2e-3)


@pytest.mark.long
def test_an_optimizer_lowers_the_loss():
    structure = tiny()
    model = RecurrentModel(structure)
    optimizer = keras.optimizers.Adam(0.05)
    optimizer.build(model.trainable_variables)
    batch = training_batch(structure)

    @tf.function
    def update():
        loss, gradients = loss_and_gradients(model, *batch)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    losses = [float(update()) for _ in range(30)]
    assert losses[0] == pytest.approx(np.log(structure.target_vocabulary), rel=0.05)
    assert losses[-1] < 0.5 * losses[0]


def test_the_model_lists_every_variable_of_the_table():
    structure = tiny(**DEEP, normalization=Normalization.NEMATUS, mixture=2)
    arrays = random_arrays(structure)
    model = RecurrentModel(structure, arrays)
    assert {name: tuple(v.shape) for name, v in model.parameters.items()} == {
        name: array.shape for name, array in arrays.items()
    }
    assert len(model.trainable_variables) == len(arrays)
    assert model.count_params() == sum(array.size for array in arrays.values())
    for name, array in model.arrays().items():
        np.testing.assert_array_equal(array, arrays[name])
    printed = []
    model.summary(print_fn=lambda line, **_: printed.append(line))
    assert "decoder.attention" in "".join(printed)


def test_a_new_model_starts_as_nematus_did():
    model = RecurrentModel(tiny(normalization=Normalization.NEMATUS))
    arrays = model.arrays()
    for gate in np.split(arrays["decoder_U"], 2, axis=1):
        np.testing.assert_allclose(gate @ gate.T, np.eye(4), atol=1e-5)
    assert not arrays["decoder_b"].any() and not arrays["encoder_Wx_lnb"].any()
    assert (arrays["encoder_Wx_lns"] == 1).all()
    assert 0 < arrays["Wemb"].std() < 0.03


def test_bfloat16_products_keep_states_and_softmax_in_float32():
    structure = tiny()
    arrays = random_arrays(structure)
    batch = training_batch(structure)
    exact = RecurrentModel(structure, arrays)(batch[:3])
    model = RecurrentModel(structure, arrays, dtype=keras.DTypePolicy("mixed_bfloat16"))
    logits = model(batch[:3])
    assert logits.dtype == tf.float32 and all(v.dtype == "float32" for v in model.variables)
    difference = np.abs(logits - exact).max()
    assert 0 < difference < 0.1
    network = model.network()
    memory = network.encode(*batch[:2])
    state = network.start(memory)
    logits, state, alignment = network.step(state, tf.fill([3], -1), memory)
    assert memory.annotations.dtype == tf.bfloat16
    assert memory.projected.dtype == tf.float32  # for the energies of attention
    assert {logits.dtype, state.cells[0][0].dtype, alignment.dtype} == {tf.float32}
    _, gradients = loss_and_gradients(model, *batch)
    assert all(np.isfinite(tf.convert_to_tensor(g)).all() for g in gradients)
