"""Models as ONNX: ONNX Runtime computes the equations, and the searches find the same lists."""

import numpy as np
import onnx
import pytest
from cases import random_arrays
from integer_products import integer_products, is_exact, saturated
from models import ladder_oracle, pad_source, pad_target, typed
from selection import choice
from tolerances import LOG_PROBABILITY

from cgru_cli.network.network import Network
from cgru_cli.network.onnx_export import exported
from cgru_cli.network.onnx_integers import graphs
from cgru_cli.parameters.structure import (
    Activation,
    Condition,
    DecoderStart,
    Encoder,
    Normalization,
    Pooling,
    Type,
    Unit,
)
from cgru_cli.search.beam import shrinking_beam
from cgru_cli.search.ensemble import Ensemble
from cgru_cli.search.hypotheses import SearchBatch
from cgru_cli.search.mixed_ensemble import MixedEnsemble
from cgru_cli.search.onnx_model import OnnxModel, OnnxScorer
from cgru_cli.search.settings import SearchSettings

SOURCES, TARGETS = [[3, 1, 4, 1, 5], [], [2, 6]], [[2, 3], [5, 1, 4, 2], []]
LABELS = {Type.CLASSIFIER: [[2], [5], [3]], Type.TAGGER: [[2, 5, 3, 4, 2], [], [4, 3]]}

DEEP = {
    "encoder_depth": 2,
    "encoder_transition": 2,
    "decoder_depth": 2,
    "decoder_base_transition": 3,
    "decoder_high_transition": 2,
}
SHAPES = {
    "cgru": typed(Type.CGRU),
    "deep": typed(
        Type.CGRU,
        **DEEP,
        residual=True,
        deep_context=True,
        encoder=Encoder.ALTERNATING,
        normalization=Normalization.NEMATUS,
    ),
    "lstm": typed(
        Type.CGRU,
        **DEEP,
        encoder_unit=Unit.LSTM,
        decoder_unit=Unit.LSTM,
        encoder=Encoder.BI_UNIDIRECTIONAL,
        normalization=Normalization.MARIAN,
    ),
    "rnnsearch": typed(
        Type.RNNSEARCH,
        encoder_unit=Unit.GRU_BEFORE,
        decoder_unit=Unit.GRU_BEFORE,
        weight_normalization=True,
        readout_activation=Activation.MAXOUT,
        decoder_start=DecoderStart.LAST_BACKWARD,
    ),
    "mixture": typed(Type.CGRU, mixture=3, lexical=True, normalization=Normalization.RMS),
    "lm": typed(Type.LM, decoder_depth=2),
    "vectors": typed(Type.LM, condition=Condition.VECTOR, condition_size=3),
    "seq2seq": typed(Type.SEQ2SEQ, encoder=Encoder.REVERSED),
    "encdec": typed(Type.ENCDEC, encoder=Encoder.UNIDIRECTIONAL),
    "classifier": typed(Type.CLASSIFIER, pooling=Pooling.ATTENTION),
    "tagger": typed(Type.TAGGER),
    "crf": typed(Type.TAGGER, crf=True),
}


def batch(structure):
    """Sources and targets, padded, for a model."""
    if structure.condition is Condition.VECTOR:
        vectors = np.array([[0.5, -1.25, 2], [0, 0, 0], [-3, 0.1, 1e-3]], np.float32)
        bits = [[tuple(row)] for row in vectors.view(np.int32)]
        return vectors, *map(np.asarray, pad_source(bits))
    sources = SOURCES if structure.type.reads_source else [[], [], []]
    source, mask = map(np.asarray, pad_source([[(i,) for i in words] for words in sources]))
    if not structure.type.reads_source:
        source = source[..., :0]
    if structure.type is Type.TAGGER:  # the column that says where words begin
        starts = mask * (np.cumsum(mask[:, ::-1], axis=1)[:, ::-1] > 1)
        source = np.concatenate([source, starts[..., None].astype(np.int32)], axis=-1)
    return sources, source, mask


def searched(stepper, sources, sizes, words=()):
    """The hypotheses of each sentence: words, score and word scores.

    words: those that each translation may have.
    """

    def begun():
        for some in (slice(0, 2), slice(2, 3)):  # the second joins the first
            parts = [(source[some], mask[some]) for source, mask in sources]
            lengths = sizes[some]
            lattice = stepper.begin(parts, words[some])
            prefixes = [[5]] * len(lengths) if words else ()
            yield SearchBatch(lattice, lengths, [6] * len(lengths), prefixes)

    lists = dict(shrinking_beam(begun(), SearchSettings(beam_size=4, with_alignment=True)))
    return [[(r.words.tolist(), r.score, r.word_scores) for r in lists[i]] for i in range(3)]


def assert_same_lists(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert [words for words, *_ in one] == [words for words, *_ in other]
        for (words, score, *_), (_, exact, *_) in zip(one, other, strict=True):
            assert abs(score - exact) < LOG_PROBABILITY * len(words)


def unprepared(graph, around=()):
    """Products whose constant matrix ONNX Runtime would prepare again in every call."""
    own = {tensor.name for tensor in graph.initializer}
    computed = {name for node in graph.node for name in node.output} | own
    for node in graph.node:
        far = [names for names in around[1:] if computed.isdisjoint(node.input[1:2])]
        if node.op_type.startswith("MatMul") and any(node.input[1] in names for names in far):
            yield node.name
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from unprepared(attribute.g, (computed, *around))


# each conversion takes seconds
@pytest.mark.long
@pytest.mark.parametrize("name", choice(SHAPES, "deep"))
def test_onnx_runtime_computes_the_equations(name):
    """Scores agree with an oracle in NumPy, and lists with TensorFlow's."""
    s = SHAPES[name]
    arrays = random_arrays(s, 1)
    graph = exported(s, arrays, {})
    onnx.shape_inference.infer_shapes(graph, check_type=True, strict_mode=True)
    assert not list(unprepared(onnx.load_from_string(graph).graph))
    model = OnnxModel(graph, threads=1)
    sources, source, mask = batch(s)
    targets = LABELS.get(s.type, TARGETS)
    target, target_mask = map(np.asarray, pad_target(targets))
    scores = OnnxScorer(model, with_alignment=True)(source, mask, target, target_mask)
    exact = ladder_oracle(s, arrays)
    for row, words, wanted in zip(scores.log_probs, sources, targets, strict=True):
        given = words if s.has_source else None
        expected = exact.force_decode(given, wanted).log_probs
        np.testing.assert_allclose(row[: len(expected)], expected, atol=LOG_PROBABILITY)
        assert not row[len(expected) :].any()
    sizes = [len(words) + 1 for words in sources]
    own = Ensemble([Network(s, arrays)], [1.0])
    assert_same_lists(
        searched(model, [(source, mask)], sizes), searched(own, [(source, mask)], sizes)
    )


@pytest.fixture(scope="module")
def in_8_bits():
    """A model's structure and arrays, and its file in 8 bits."""
    s = typed(Type.CGRU, tied_output=True)
    arrays = random_arrays(s, 1)
    return s, arrays, exported(s, arrays, {}, "int8")


def test_8_bit_sums_are_exact_on_every_processor(in_8_bits):
    """Pairs of products fit in 16 bits, to which processors without VNNI limit them."""
    _, arrays, content = in_8_bits
    products = list(integer_products(onnx.load_from_string(content).graph))
    assert len(products) > 10
    for product, matrix, scales in products:
        assert is_exact(matrix), product
        assert np.abs(matrix).max(axis=0).tolist() == [64] * matrix.shape[1], product
        assert scales.shape == matrix.shape[1:], product
    # times the scales they are the model's numbers, such as the output layer's, to half a step
    expected = arrays["Wemb_dec"].T
    (tied,) = (one for one in products if one[1].shape == expected.shape)
    assert np.abs(expected / tied[2] - tied[1]).max() <= 0.5 + 64 * np.finfo(np.float32).eps
    # the check finds weights that use all 8 bits: sums of 2 * 255 * 127 do not fit
    assert not is_exact(np.array([[127], [127]])) and is_exact(np.array([[127], [-127]]).T)
    assert saturated(np.full((1, 3), 255), np.full((3, 1), -127)) == -(1 << 15) - 255 * 127


def test_8_bits_hold_each_matrix_once(in_8_bits):
    """Embeddings are stored in 8 bits too, once if they are the output layer's weights."""
    s, arrays, content = in_8_bits
    stored = [t for g in graphs(onnx.load_from_string(content).graph) for t in g.initializer]
    assert not [t.name for t in stored if t.data_type == 1 and min([*t.dims, 0][:2]) > 1]
    tied = sorted(arrays["Wemb_dec"].shape)
    integers = [t.name for t in stored if t.data_type == 3 and sorted(t.dims) == tied]
    assert integers == ["Wemb_dec/integers"]
    assert not list(unprepared(onnx.load_from_string(content).graph))
    _, source, mask = batch(s)
    target, target_mask = map(np.asarray, pad_target(TARGETS))
    scorer = OnnxScorer(OnnxModel(content, 1), with_alignment=False)
    exact = ladder_oracle(s, arrays)
    scores = scorer(source, mask, target, target_mask).log_probs
    for row, words, wanted in zip(scores, SOURCES, TARGETS, strict=True):
        expected = exact.force_decode(words, wanted).log_probs
        np.testing.assert_allclose(row[: len(expected)], expected, atol=0.05)
        assert not row[len(expected) :].any()


@pytest.mark.long
def test_an_ensemble_mixes_both_libraries_with_words_to_choose_from():
    s = SHAPES["cgru"]
    networks = [Network(s, random_arrays(s, seed)) for seed in (1, 2)]
    model = OnnxModel(exported(s, random_arrays(s, 2), {}), threads=1)
    mixed = MixedEnsemble([Ensemble(networks[:1], [1.0]), model], [0.3, 0.7])
    own = Ensemble(networks, [0.3, 0.7])
    sources, source, mask = batch(s)
    sizes = [len(words) + 1 for words in sources]
    sets = [np.array(words, np.int32) for words in ([0, 2, 5], [0, 3, 4, 5], [0, 1, 5])]
    for words in ((), sets):
        expected = searched(own, [(source, mask)] * 2, sizes, words)
        assert_same_lists(searched(mixed, [(source, mask)] * 2, sizes, words), expected)
        assert any(hypotheses for hypotheses in expected)
