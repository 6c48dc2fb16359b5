"""Graphs of ONNX files compute the equations, and their arrays are the model's."""

import re

import numpy as np
import onnx
import pytest
from bombs import bounded
from cases import random_arrays, small_structure
from models import ladder_oracle, pad_source, pad_target, typed
from onnx_graphs import FileGraph, MemoryGraphs, graphs_of, unprepared
from shared_files import ROOT
from tables import each_row
from tolerances import LOG_PROBABILITY

from cgru_cli import CgruError, Translator, load_model, write_model
from cgru_cli.formats.onnx_file import inputs_of, open_onnx, outputs_of
from cgru_cli.network import graphs
from cgru_cli.network.integer_products import in_8_bits
from cgru_cli.parameters.integers import LARGEST_WEIGHT, Integers
from cgru_cli.parameters.structure import (
    Activation,
    Condition,
    DecoderStart,
    Dropout,
    Encoder,
    Normalization,
    Pooling,
    Type,
    Unit,
)
from cgru_cli.search.runtime import PreparedModel, Settings

DEEP = {
    "encoder_depth": 2,
    "encoder_transition": 2,
    "decoder_depth": 2,
    "decoder_base_transition": 3,
    "decoder_high_transition": 2,
}
STRUCTURES = {
    "plain": small_structure(),
    "one embedding": small_structure(
        tied_output=True, shared_embeddings=True, source_vocabularies=(13,)
    ),
    "factors": small_structure(source_vocabularies=(11, 3, 4), source_embeddings=(3, 2, 1)),
    "weight norm": small_structure(weight_normalization=True),
    "old dropout": small_structure(
        old_dropout=Dropout(0.1, 0.2, 0.3, 0.4, 0.2), tied_output=True, weight_normalization=True
    ),
    "deep": typed(
        Type.CGRU,
        **DEEP,
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
        readout_activation=Activation.MAXOUT,
        decoder_start=DecoderStart.LAST_BACKWARD,
    ),
    "lexical": small_structure(lexical=True),
    "lexical mixture": typed(Type.CGRU, mixture=3, lexical=True, normalization=Normalization.RMS),
    "lm": typed(Type.LM, decoder_depth=2),
    "vectors": typed(Type.LM, condition=Condition.VECTOR, condition_size=3),
    "seq2seq": typed(Type.SEQ2SEQ, encoder=Encoder.REVERSED),
    "no feedback": typed(Type.SEQ2SEQ, encoder=Encoder.REVERSED, feedback=False),
    "encdec": typed(Type.ENCDEC, encoder=Encoder.UNIDIRECTIONAL),
    "classifier": typed(Type.CLASSIFIER, pooling=Pooling.ATTENTION),
    "tagger": typed(Type.TAGGER),
    "crf": typed(Type.TAGGER, crf=True),
}
LENGTHS, TARGETS = (5, 0, 2), [[2, 3], [5, 1, 4, 2], []]
LABELS = {Type.CLASSIFIER: [[2], [5], [3]], Type.TAGGER: [[2, 5, 3, 4, 2], [], [4, 3]]}


def content_of(structure, arrays, precision="float32"):
    """The content of the model's file."""
    if precision == "int8":
        arrays = in_8_bits(structure, arrays)
    about = {"structure": structure.as_dict()}
    return graphs.file_of(structure, arrays, about)


def batch(structure):
    """Three sources as the oracle takes them, and padded for the graph."""
    if structure.condition is Condition.VECTOR:
        vectors = np.array([[0.5, -1.25, 2], [0, 0, 0], [-3, 0.1, 1e-3]], np.float32)
        mask = np.tile(np.array([1, 0], np.float32), (3, 1))
        return vectors, np.pad(vectors[:, None], [(0, 0), (0, 1), (0, 0)]), mask
    sizes, chance = structure.source_vocabularies, np.random.default_rng(4)
    sources = [
        [tuple(int(chance.integers(size)) for size in sizes) for _ in range(length)]
        for length in LENGTHS
    ]
    source, mask = map(np.asarray, pad_source(sources))
    source = source[..., : len(sizes)]
    if structure.type is Type.TAGGER:  # the column that says where words begin
        starts = mask * (np.cumsum(mask[:, ::-1], axis=1)[:, ::-1] > 1)
        source = np.concatenate([source, starts[..., None].astype(np.int32)], axis=-1)
    return sources, source, mask


def oracle_source(structure, words):
    """A source as the oracle takes it: without factors, a word is a number."""
    if not structure.has_source:
        return None
    if structure.condition is Condition.VECTOR or len(structure.source_vocabularies) > 1:
        return words
    return [word for (word,) in words]


# --- the graph -----------------------------------------------------------------------------------


@each_row("name", STRUCTURES)
def test_the_graph_computes_the_equations(name):
    """Any program that passes the inputs of docs/onnx.md gets the scores of the equations."""
    s, arrays = STRUCTURES[name], random_arrays(STRUCTURES[name], 1)
    content = content_of(s, arrays)
    onnx.checker.check_model(content, full_check=True)
    model = FileGraph(content)
    assert [one.domain for one in model.proto.opset_import] == [""]
    assert not list(unprepared(model.proto.graph))
    sources, source, mask = batch(s)
    targets = LABELS.get(s.type, TARGETS)
    target, _ = map(np.asarray, pad_target(targets))
    found = model.scores(source, mask, target)
    exact = ladder_oracle(s, arrays)
    for row, words, wanted in zip(found, sources, targets, strict=True):
        expected = exact.force_decode(oracle_source(s, words), wanted).log_probs
        np.testing.assert_allclose(row[: len(expected)], expected, atol=LOG_PROBABILITY)


@each_row("name", STRUCTURES)
def test_the_graph_computes_8_bits_as_cgru_does(name):
    s, arrays = STRUCTURES[name], random_arrays(STRUCTURES[name], 1)
    content = content_of(s, arrays, "int8")
    onnx.checker.check_model(content, full_check=True)
    model = FileGraph(content)
    assert not list(unprepared(model.proto.graph))
    sources, source, mask = batch(s)
    targets = LABELS.get(s.type, TARGETS)
    target, _ = map(np.asarray, pad_target(targets))
    found = model.scores(source, mask, target)
    own = MemoryGraphs(PreparedModel(s, in_8_bits(s, arrays), Settings("cpu", 1)))
    np.testing.assert_allclose(found, own.scores(source, mask, target), atol=LOG_PROBABILITY)
    exact = ladder_oracle(s, arrays)
    for row, words, wanted in zip(found, sources, targets, strict=True):
        expected = exact.force_decode(oracle_source(s, words), wanted).log_probs
        np.testing.assert_allclose(row[: len(expected)], expected, atol=0.05)


@each_row("name", ["plain", "lexical mixture", "classifier"])
def test_the_best_words_and_the_asked_and_banned_ones(name):
    s = STRUCTURES[name]
    model = FileGraph(content_of(s, random_arrays(s, 1)))
    _, source, mask = batch(s)
    begun = model.begin(source, mask)
    asked = np.array([[4, 1], [2, 2], [0, 5]], np.int32)
    found = model.step(begun, count=4, asked=asked)
    every = found["all_log_probs"]
    order = np.argsort(-every, axis=1, kind="stable")[:, :4]
    words = np.concatenate([order, asked], axis=1)
    np.testing.assert_array_equal(found["best"], words)
    np.testing.assert_array_equal(found["log_probs"], np.take_along_axis(every, words, axis=1))
    np.testing.assert_allclose(np.exp(every).sum(axis=1), 1, atol=LOG_PROBABILITY)
    banned = np.array([[0, order[0, 0]], [2, order[2, 1]]], np.int32)
    without = model.step(begun, count=3, banned=banned)["best"]
    np.testing.assert_array_equal(without, [order[0, 1:4], order[1, :3], order[2, [0, 2, 3]]])


@each_row(("name", "precision"), [("plain", "float32"), ("lexical", "int8")])
def test_only_some_words_share_the_probability(name, precision):
    s = STRUCTURES[name]
    model = FileGraph(content_of(s, random_arrays(s, 1), precision))
    _, source, mask = batch(s)
    begun = model.begin(source, mask)
    every = model.step(begun, count=1)["all_log_probs"]
    words = np.array([0, 2, 3, 5], np.int32)
    members = np.array([[True, True, False, True], [True, False, True, True]])
    sets = np.array([1, 0, 1], np.int32)
    found = model.step(begun, task=2, count=2, words=words, members=members, sets=sets)
    expected = np.where(members[sets], every[:, words], -np.inf)
    expected -= np.log(np.exp(expected).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found["all_log_probs"], expected, atol=LOG_PROBABILITY)
    best = np.argsort(-expected, axis=1)[:, :2]
    np.testing.assert_array_equal(found["best"], best)  # places in `words`


@each_row("name", STRUCTURES)
def test_the_interface_is_that_of_the_structure(name, tmp_path):
    """Every size that varies has a name, without which JavaScript reads it as 4294967295."""
    s = STRUCTURES[name]
    (tmp_path / "x.onnx").write_bytes(content_of(s, random_arrays(s)))
    with open_onnx(tmp_path / "x.onnx") as found:
        pass
    numbered = re.compile(r"(new_)?(cells|memory)\.\d+")
    for kinds, expected in ((found.inputs, inputs_of(s)), (found.outputs, outputs_of(s))):
        own = {name: kind for name, kind in kinds.items() if not numbered.fullmatch(name)}
        assert own.keys() == expected.keys()
        assert all(kind.fits(own[name]) for name, kind in expected.items())
    graph = onnx.load(tmp_path / "x.onnx").graph
    sizes = [
        (one.name, size.dim_param)
        for one in [*graph.input, *graph.output]
        for size in one.type.tensor_type.shape.dim
        if not size.HasField("dim_value")
    ]
    assert all(name for _, name in sizes) and len({name for _, name in sizes}) == len(sizes)


def test_the_program_of_the_documentation(tmp_path, monkeypatch):
    page = (ROOT / "docs" / "onnx.md").read_text("utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)
    model = ROOT / "examples" / "en-de.npz"
    write_model(load_model(model), tmp_path / "en-de.onnx")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(program, names)
    found = Translator(model, beam_size=1).translate("Where is the station?")
    loaded = load_model(tmp_path / "en-de.onnx")
    ids = names["translate"]([*loaded.sources[0].encode(found.source), 0])
    assert ids == [*loaded.target.encode(found.tokens), 0]


# --- the arrays ----------------------------------------------------------------------------------


@each_row("name", STRUCTURES)
def test_every_array_is_stored_under_its_name(name):
    """Other initializers have a slash in their name; a matrix in 8 bits is stored once."""
    s, arrays = STRUCTURES[name], random_arrays(STRUCTURES[name])
    stored = initializers(content_of(s, arrays))
    named = {name: array for name, array in stored.items() if "/" not in name}
    assert named.keys() == arrays.keys()
    assert all(named[name].tobytes() == array.tobytes() for name, array in arrays.items())
    small = in_8_bits(s, arrays)
    stored = initializers(content_of(s, arrays, "int8"))
    for name, array in small.items():
        if isinstance(array, Integers):
            assert name not in stored
            assert stored[f"{name}/integers"].tobytes() == array.integers.tobytes()
            scale = stored[f"{name}/scale"]
            assert scale.shape[1 - array.axis] == 1 and scale.ravel().tolist() == list(array.scale)
        else:
            assert stored[name].tobytes() == array.tobytes()
    assert sum(array.dtype == np.int8 for array in stored.values()) == sum(
        isinstance(array, Integers) for array in small.values()
    )


def initializers(content):
    """All stored arrays by name, of inner graphs too."""
    return {
        tensor.name: onnx.numpy_helper.to_array(tensor)
        for graph in graphs_of(onnx.load_from_string(content).graph)
        for tensor in graph.initializer
    }


def test_8_bit_weights_are_small_enough_for_exact_sums():
    """Of embeddings that no product reads, integers may have 8 bits."""
    s = STRUCTURES["plain"]
    stored = initializers(content_of(s, random_arrays(s), "int8"))
    largest = {
        name.removesuffix("/integers"): int(np.abs(array.astype(int)).max())
        for name, array in stored.items()
        if name.endswith("/integers")
    }
    assert [largest.pop(name) for name in ("Wemb", "Wemb_dec")] == [127, 127]
    assert len(largest) > 3 and set(largest.values()) == {LARGEST_WEIGHT}


def test_a_file_costs_one_copy_of_the_arrays():
    s = small_structure(source_vocabularies=(300_000,), source_embeddings=(64,))
    arrays = dict(random_arrays(small_structure()))
    for name, width in (("Wemb", 64), ("encoder_W", 8), ("encoder_Wx", 4)):
        rows = 300_000 if name == "Wemb" else 64
        arrays[name] = np.ones((rows, width), np.float32)
    arrays |= {f"encoder_r_{n}": arrays[f"encoder_{n}"] for n in ("W", "Wx")}
    size = sum(array.nbytes for array in arrays.values())
    assert size > 70e6
    with bounded(seconds=5, mebibytes=1.2 * size / 2**20):
        content = content_of(s, arrays)
    assert 0 < len(content) - size < 200_000


def test_arrays_in_memory_stay_outside_of_messages():
    """So graphs in memory have no limit of 2 GiB; a file has one, which is an error."""
    sizes = []
    for words in (12_800, 25_600):
        s = small_structure(source_vocabularies=(words,), target_vocabulary=words)
        model = PreparedModel(s, random_arrays(s))
        beginning, begun = graphs.beginning(model.network)
        parts = [
            beginning,
            graphs.stepping([model.network], [1.0], [begun]),
            graphs.scoring(model.network),
            graphs.ranking([model.network], [1.0]),
        ]
        sizes.append([len(part.content) for part in parts])
        model.session(beginning)
    assert np.ptp(sizes, axis=0).max() < 100  # digits of sizes


def test_a_file_of_more_than_2_gib_is_refused(monkeypatch):
    s = small_structure()
    monkeypatch.setattr(graphs, "LARGEST", 1000)
    with pytest.raises(CgruError, match="at most 2 GiB; --store float16 halves"):
        content_of(s, random_arrays(s))
