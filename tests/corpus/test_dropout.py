"""Dropout masks: where Nematus has them, how many zeros, and their effect, in float64 NumPy."""

import numpy as np
import pytest
import tensorflow as tf
from cases import dropped_for, random_arrays, tiny
from forced import force_decode
from models import EOS, double_precision, pad_source, pad_target, reference
from tables import each_row

from cgru_cli.corpus.batches import Batch
from cgru_cli.corpus.dropout import Rates, masks
from cgru_cli.network.network import Network
from cgru_cli.optimization.objective import CrossEntropy
from cgru_cli.parameters.names import parameters
from cgru_cli.parameters.structure import Normalization

# The matrices of the shallow model, by the dropout that Nematus applies to their inputs.
EMBEDDING = ["encoder_W", "encoder_Wx", "encoder_r_W", "encoder_r_Wx", "decoder_W", "decoder_Wx",
             "ff_logit_prev_W"]  # fmt: skip
HIDDEN = [
    "encoder_U", "encoder_Ux", "encoder_r_U", "encoder_r_Ux", "ff_state_W", "decoder_U",
    "decoder_Ux", "decoder_W_comb_att", "decoder_Wc_att", "decoder_Wc", "decoder_Wcx",
    "decoder_U_nl", "decoder_Ux_nl", "ff_logit_lstm_W", "ff_logit_ctx_W",
]  # fmt: skip
OUTPUT = ["ff_logit_W"]


def by_name(structure, drawn):
    """Masks by DL4MT's and Nematus' names of matrices, or by their own names."""
    names = {row.path: row.name for row in parameters(structure)}
    return {names.get(path, path): mask for path, mask in drawn.items()}


def drawn(structure, rates, sizes=(400, 30, 20), seed=0):
    rng, names = np.random.default_rng(seed), ("sentences", "source_length", "target_length")
    return by_name(structure, masks(structure, rates, rng, **dict(zip(names, sizes, strict=True))))


def check(mask, rate):
    """The share of zeros is the rate, up to five standard errors; other values compensate."""
    assert mask.dtype == np.float32
    kept = mask != 0
    np.testing.assert_array_equal(mask[kept], np.float32(1 / (1 - rate)))
    assert abs((~kept).mean() - rate) < 5 * np.sqrt(rate * (1 - rate) / mask.size)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.8])
def test_rates_of_the_shallow_model(rate):
    structure = tiny(state=8)
    found = drawn(structure, Rates(embedding=rate, hidden=rate / 2))
    assert found.keys() == {*EMBEDDING, *HIDDEN, *OUTPUT}
    for name in [*EMBEDDING, *OUTPUT]:
        check(found[name], rate)
    for name in HIDDEN:
        check(found[name], rate / 2)


def test_marian_drops_inputs_of_cells_and_attention_alone():
    found = drawn(tiny(state=8), Rates(cells=0.3))
    outside = {"ff_state_W", "ff_logit_prev_W", "ff_logit_lstm_W", "ff_logit_ctx_W"}
    assert found.keys() == {*EMBEDDING, *HIDDEN} - outside
    for mask in found.values():
        check(mask, 0.3)


def test_no_mask_without_a_rate():
    structure = tiny()
    assert drawn(structure, Rates()) == {}
    assert drawn(structure, Rates(embedding=0.1)).keys() == {*EMBEDDING, *OUTPUT}
    assert drawn(structure, Rates(embedding=0.1, output=0.0)).keys() == {*EMBEDDING}
    assert drawn(structure, Rates(hidden=0.1)).keys() == {*HIDDEN}
    assert drawn(structure, Rates(output=0.1)).keys() == {*OUTPUT}
    for name in ("source", "target"):
        assert drawn(structure, Rates(**{name: 0.1})).keys() == {name}
    assert drawn(structure, Rates(annotation=0.1)).keys() == {"annotations"}


def test_shapes():
    """One number per sentence and input unit, or per sentence and word."""
    structure = tiny(source_vocabularies=(7, 3), source_embeddings=(4, 2))
    found = drawn(structure, Rates(0.2, 0.2, 0.2, 0.2, 0.2), (9, 6, 3))
    arrays = random_arrays(structure)
    assert found.pop("source").shape == (9, 6) and found.pop("target").shape == (9, 3)
    assert found.pop("annotations").shape == (9, 8)
    for name, mask in found.items():
        assert mask.shape == (9, len(arrays[name])), name


@each_row(
    ("changes", "more", "rate"),
    [
        ({"encoder_depth": 2}, ["encoder_2_W", "encoder_r_2_Ux"], 0.3),
        ({"encoder_transition": 2}, ["encoder_U_drt_1", "encoder_r_Ux_drt_1"], 0.3),
        ({"decoder_base_transition": 3}, ["decoder_U_nl_drt_1", "decoder_Ux_nl_drt_1"], 0.3),
        ({"decoder_depth": 2}, ["decoder_2_W", "decoder_2_Wx", "decoder_2_U"], 0.3),
        ({"decoder_depth": 2, "deep_context": True}, ["decoder_2_W", "decoder_2_Wx"], 0.3),
        ({"mixture": 2}, ["ff_logit_pi_W", "ff_logit_mos_0_W", "ff_logit_mos_1_W"], 0.6),
        ({"lexical": True}, ["lexical"], 0.6),
        ({"lexical": True}, ["ff_lexical_W"], 0.3),
        ({"lexical": True}, ["ff_logit_lexical_W"], 0.6),
    ],
)  # fmt: skip
def test_rates_of_other_structures(changes, more, rate):
    """Levels above the first read states; mixture and lexical output have the readout's rate."""
    found = drawn(tiny(state=8, **changes), Rates(embedding=0.6, hidden=0.3))
    assert found.keys() > {*EMBEDDING, *HIDDEN, *OUTPUT}
    for name in more:
        check(found[name], rate)


@pytest.mark.parametrize("shared", [False, True])
def test_tied_output_has_its_own_mask(shared):
    sizes = {"source_vocabularies": (6,), "source_embeddings": (5,)} if shared else {}
    structure = tiny(tied_output=True, shared_embeddings=shared, **sizes)
    found = drawn(structure, Rates(embedding=0.2))
    assert found.keys() == {*EMBEDDING, "decoder/output/W"}
    assert found["decoder/output/W"].shape == (400, 5)


def test_masks_depend_only_on_the_generator():
    structure = tiny()
    rates = Rates(0.2, 0.3, 0.1, 0.1, 0.2)
    one, again, other = (drawn(structure, rates, seed=seed) for seed in (1, 1, 2))
    for name, mask in one.items():
        np.testing.assert_array_equal(mask, again[name])
        assert not np.array_equal(mask, other[name])
    assert len({mask.tobytes() for mask in one.values()}) == len(one)


# -- effect of masks -------------------------------------------------------------------------------

STRUCTURE = tiny()
SENTENCES = [([1, 5, 2], [3, 3, 1]), ([4], [2]), ([6, 6, 6, 3], [1, 5])]


def batch():
    sources = [[(word,) for word in source] for source, _ in SENTENCES]
    return Batch(*pad_source(sources), *pad_target([target for _, target in SENTENCES]))


READ_ANNOTATIONS = "ff_state_W decoder_Wc_att decoder_Wc decoder_Wcx ff_logit_ctx_W".split()


def folded(arrays, dropped, sentence):
    """log p(y_j | y_<j, x) of each word (T,V), by masks in the rows that their inputs multiply.

    Words at dropped places are zero, so each place has an embedding of its own.
    """
    source, target = SENTENCES[sentence]
    masks = {name: mask[sentence].astype(np.float64) for name, mask in dropped.items()}
    arrays = dict(arrays)
    for side, table, words in (
        ("source", "Wemb", [*source, EOS]),
        ("target", "Wemb_dec", [EOS, *target]),  # the word before each place; zeros at first
    ):
        kept = masks.pop(side, np.ones(9))[: len(words), None]
        arrays[table] = arrays[table][words] * kept
    arrays["Wemb"] = np.roll(arrays["Wemb"], 1, axis=0)  # EOS has id 0
    annotations = masks.pop("annotations", 1.0)
    for name in READ_ANNOTATIONS:
        masks[name] = masks.get(name, np.ones(STRUCTURE.context)) * annotations
    arrays |= {name: arrays[name] * mask[:, None] for name, mask in masks.items()}
    ids = ([*range(1, 1 + len(words))] for words in (source, target))
    return reference(STRUCTURE, arrays).force_decode(*ids).distributions


@pytest.mark.long
@pytest.mark.parametrize(
    "rates",
    [
        Rates(embedding=0.3),
        Rates(hidden=0.3),
        Rates(source=0.4, target=0.4),
        Rates(0.2, 0.3, 0.2, 0.2, annotation=0.3, output=0.5),
    ],
    ids=["embedding", "hidden", "words", "all"],
)
def test_masks_multiply_the_inputs_of_products(rates):
    """The same mask at every position, another for every matrix and sentence."""
    arrays, examples = random_arrays(STRUCTURE), batch()
    given = dropped_for(STRUCTURE, rates, examples, 3)
    names = by_name(STRUCTURE, given)
    expected = [folded(arrays, names, sentence) for sentence in range(len(SENTENCES))]
    costs = [
        -log_p[np.arange(len(log_p)), [*target, EOS]].sum()
        for log_p, (_, target) in zip(expected, SENTENCES, strict=True)
    ]
    for packed in (True, False):
        network = Network(STRUCTURE, arrays, masks=given, packed=packed)
        found = float(CrossEntropy().cost(network, examples))
        assert found == pytest.approx(sum(costs), rel=1e-6)
    plain = float(CrossEntropy().cost(Network(STRUCTURE, arrays, packed=True), examples))
    assert plain != pytest.approx(sum(costs), rel=1e-3)
    with double_precision():
        tensors = {n: tf.constant(a, tf.float64) for n, a in arrays.items()}
        doubled = {n: tf.constant(m, tf.float64) for n, m in given.items()}
        network = Network(STRUCTURE, tensors, "float64", doubled)
        source_mask = tf.cast(examples.source_mask, tf.float64)
        logits = force_decode(network, examples.source, source_mask, examples.target).logits
    for own, log_p in zip(logits.numpy(), expected, strict=True):
        own = tf.nn.log_softmax(own[: len(log_p)])
        np.testing.assert_allclose(own, log_p, atol=1e-6)  # masks themselves are float32


def test_dropped_words_have_zero_embeddings():
    """Source word 6 and target word 3, at all positions."""
    arrays, examples = random_arrays(STRUCTURE), batch()
    given = {
        "source": tf.cast(examples.source[..., 0] != 6, tf.float32),
        "target": tf.roll(tf.cast(examples.target != 3, tf.float32), 1, axis=1),  # before it
    }
    zeroed = {name: array.copy() for name, array in arrays.items()}
    zeroed["Wemb"][6] = zeroed["Wemb_dec"][3] = 0
    expected = float(CrossEntropy().cost(Network(STRUCTURE, zeroed, packed=True), examples))
    found = float(
        CrossEntropy().cost(Network(STRUCTURE, arrays, masks=given, packed=True), examples)
    )
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "changes", [{}, {"normalization": Normalization.NEMATUS, "decoder_depth": 2, "mixture": 2}]
)
def test_masks_of_ones_change_nothing(changes):
    structure, examples = tiny(**changes), batch()
    arrays = random_arrays(structure)
    given = dropped_for(structure, Rates(0.5, 0.5, 0.5, 0.5, 0.5), examples)
    ones = {name: np.ones_like(mask) for name, mask in given.items()}
    expected = float(CrossEntropy().cost(Network(structure, arrays, packed=True), examples))
    found = float(
        CrossEntropy().cost(Network(structure, arrays, masks=ones, packed=True), examples)
    )
    assert found == pytest.approx(expected, rel=1e-6)


def test_lexical_model_has_its_own_mask():
    """Its mask m equals embeddings times m, divided by m for their other uses."""
    structure = tiny(lexical=True)
    arrays = random_arrays(structure)
    width = structure.source_embeddings[0]
    m = np.random.default_rng(1).uniform(0.5, 2, width).astype(np.float32)
    scaled = {**arrays, "Wemb": arrays["Wemb"] * m}
    for name in ("encoder_W", "encoder_Wx", "encoder_r_W", "encoder_r_Wx"):
        scaled[name] = arrays[name] / m[:, None]
    examples = batch()
    masks = {"lexical": np.tile(m, (len(SENTENCES), 1))}
    costs = [
        CrossEntropy().cost(Network(structure, *given, packed=packed), examples).numpy()
        for given in ((arrays, "float32", masks), (scaled,))
        for packed in (False, True)
    ]
    assert costs == pytest.approx([costs[0]] * 4, rel=1e-5)
    assert costs[0] != pytest.approx(
        CrossEntropy().cost(Network(structure, arrays, packed=True), examples).numpy(), rel=1e-4
    )
