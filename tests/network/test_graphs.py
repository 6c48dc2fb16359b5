"""The graphs of a search: in memory and in a file they compute the same for every task.

`both_engines.py` compares the graphs in memory with the equations.
"""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
from both_engines import ONE_THREAD, Rows, Texts
from cases import random_arrays, tiny
from models import ladder_oracle
from named_structures import NAMED
from selection import choice
from tolerances import LOG_PROBABILITY, WEIGHTS

from cgru_cli.errors import CgruError
from cgru_cli.formats.onnx_file import BEGIN, NARROW_STEP, SCORING_STEP, STEP
from cgru_cli.network import graphs
from cgru_cli.network.integer_products import in_8_bits
from cgru_cli.parameters.integers import Integers
from cgru_cli.search.runtime import Session

OPTIONS = onnxruntime.SessionOptions()
OPTIONS.intra_op_num_threads, OPTIONS.log_severity_level = 1, 4
TYPES = {"tensor(int32)": np.int32, "tensor(float)": np.float32, "tensor(bool)": np.bool_}
SHORT = ("mixture, lexical", "deep, Nematus-TF, layer norm", "factors", "labels", "vectors",
         "language model", "classifier", "tagger with a CRF")  # fmt: skip


def in_memory(s, *models, weights=(1.0,)):
    """A function (task, inputs) -> results by name, of graphs in memory of an ensemble."""
    networks = [graphs.network_of(s, arrays) for arrays in models]
    beginnings = [graphs.beginning(network) for network in networks]
    stepping = graphs.stepping(networks, weights, [nest for _, nest in beginnings])
    begins = [Session(graph, ONE_THREAD) for graph, _ in beginnings]
    step = Session(stepping, ONE_THREAD)

    def run(task, inputs):
        if task != BEGIN:
            given = step.empty_inputs() | inputs | {"task": np.array(task, np.int32)}
            return dict(zip(step.outputs, step.run(step.outputs, given), strict=True))
        found = {}
        for kind in ("new_cells", "new_memory"):
            each = [(one, [n for n in one.outputs if n.startswith(kind)]) for one in begins]
            arrays = [x for one, names in each for x in one.run(names, inputs)]
            found |= {f"{kind}.{number}": x for number, x in enumerate(arrays)}
        return found

    return run


def in_file(content):
    """The same, of a file's graph, run as other programs do: all inputs, and all outputs."""
    session = onnxruntime.InferenceSession(content, OPTIONS)
    empty = {
        one.name: np.zeros([n if isinstance(n, int) else 0 for n in one.shape], TYPES[one.type])
        for one in session.get_inputs()
    }
    names = [one.name for one in session.get_outputs()]

    def run(task, inputs):
        given = {name: inputs.get(name, x) for name, x in empty.items()}
        given["source"] = given["source"].view(empty["source"].dtype)
        given["task"] = np.array(task, np.int32)
        found = dict(zip(names, session.run(names, given), strict=True))
        states = {name for name in names if name.startswith("new_")}
        memory = {name for name in names if name.startswith("new_memory")}
        unread = set(names) - states if task == BEGIN else memory
        assert not any(found[name].size for name in unread)
        return {name: x for name, x in found.items() if name not in unread}

    return run


def followed(run, s, texts):
    """Task, inputs and results of calls for a batch, with two rows for each sentence."""
    source, mask, target, _ = texts.batch(s)
    given = {"source": source, "source_mask": mask}
    states = run(BEGIN, given)
    yield BEGIN, given, states
    rows = Rows.of(source)
    given |= rows._asdict() | {"parents": rows.sentence, "count": np.array(3, np.int32)}
    given |= {"words": np.array([0, 2, 4, 5], np.int32), "banned": np.zeros((0, 2), np.int32)}
    asked = np.stack([rows.sentence % 3, rows.slot], axis=1)
    banned = np.array([[0, 2], [0, 3], [4, 2]], np.int32)
    two = np.array([[1, 0, 1, 1], [1, 1, 0, 0]], bool)
    for words in rows.words_before(target)[:3]:
        given |= {name.removeprefix("new_"): x for name, x in states.items()}
        given["previous"] = np.where(rows.slot * (words >= 0), (words + 2) % 6, words)
        for task, more in (
            (STEP, {"asked": asked}),
            (STEP, {"asked": asked[:, :0], "banned": banned}),
            (SCORING_STEP, {"asked": asked[:, :1]}),
            (NARROW_STEP, {"asked": asked[:, :0], "members": two[:1] | two[1:]}),
            (NARROW_STEP, {"asked": asked, "members": two, "sets": rows.slot}),
        ):
            if task != NARROW_STEP or s.type.writes_text:
                found = run(task, given | more)
                yield task, given | more, found
        states = {name: x for name, x in found.items() if name.startswith("new_")}
        given["parents"] = np.arange(len(words), dtype=np.int32) ^ 1  # a sentence's other row


def assert_words_are_right(s, task, given, found, whole):
    """The best and the asked words; whole: the log-probabilities of all words, (R,V)."""
    every, count = found["all_log_probs"], int(given["count"])
    allowed = every.copy()
    allowed[tuple(given["banned"].T)] = -np.inf
    best = np.argsort(-allowed, axis=1, kind="stable")[:, :count]
    np.testing.assert_array_equal(found["best"], np.append(best, given["asked"], axis=1))
    scores = [np.take_along_axis(*each, 1) for each in ((allowed, best), (every, given["asked"]))]
    np.testing.assert_array_equal(found["log_probs"], np.concatenate(scores, axis=1))
    if task == NARROW_STEP:
        members = given["members"][given["sets"] if len(given["members"]) > 1 else [0] * len(every)]
        whole = np.where(members, whole[:, given["words"]], -np.inf)
        whole -= np.logaddexp.reduce(whole, axis=1, keepdims=True)
    if not (s.crf or (s.mixture > 1 and task == NARROW_STEP)):  # each softmax has only these words
        np.testing.assert_allclose(every, whole, atol=LOG_PROBABILITY)


def same_calls(s, one, other):
    """The first function's calls, with the same results as the second's."""
    texts = Texts.of(s)
    calls = list(followed(one, s, texts))
    for (task, _, found), (_, _, expected) in zip(calls, followed(other, s, texts), strict=True):
        assert set(found) == set(expected), task
        for name, x in found.items():
            assert x.dtype == expected[name].dtype
            np.testing.assert_allclose(x, expected[name], LOG_PROBABILITY, LOG_PROBABILITY)
    return calls


@pytest.mark.parametrize("name", choice(NAMED, *SHORT))
def test_a_file_computes_what_graphs_in_memory_do(name):
    s, arrays = NAMED[name], random_arrays(NAMED[name], 1)
    content = graphs.file_of(s, arrays, {"a": "b"})
    onnx.shape_inference.infer_shapes(content, check_type=True, strict_mode=True)
    calls = same_calls(s, in_memory(s, arrays), in_file(content))
    for task, given, found in calls[1:]:
        if not len(given["banned"]) and task == STEP:
            whole = found["all_log_probs"]
        assert_words_are_right(s, task, given, found, whole)
    if s.crf:  # a search multiplies by the best continuation instead of their sum
        exact = ladder_oracle(s, arrays)
        rows = [x["all_log_probs"] for task, _, x in calls if task == SCORING_STEP]
        for b, pair in enumerate(zip(*Texts.of(s), strict=True)):
            expected = exact.force_decode(*pair).distributions[:3]
            found = np.stack(rows)[: len(expected), 2 * b]
            np.testing.assert_allclose(found, expected, atol=LOG_PROBABILITY)


@pytest.mark.parametrize("weights", [(0.25, 0.75), (1.0, 0.0)])
def test_an_ensemble_adds_what_its_models_compute(weights):
    s, texts = NAMED["lexical, layer norm"], Texts.of(tiny())
    models = [random_arrays(s, seed) for seed in (1, 2)]
    alone = [followed(in_memory(s, arrays), s, texts) for arrays in models]
    for (task, given, found), *each in zip(
        followed(in_memory(s, *models, weights=weights), s, texts), *alone, strict=True
    ):
        each = [results for *_, results in each]
        own = [x for name, x in found.items() if name.startswith(("new_", "alignment"))]
        for kind in ("alignment", "new_cells", "new_memory"):
            for expected in (x for one in each for name, x in one.items() if kind in name):
                np.testing.assert_allclose(own.pop(0), expected, atol=WEIGHTS)
        assert not own
        if task != BEGIN:
            parts = [one["all_log_probs"] for one in each]
            total = sum(w * part for w, part in zip(weights, parts, strict=True) if w)
            assert_words_are_right(s, STEP, given, found, total)
            for number, part in enumerate(parts):
                x = found[f"model_log_probs.{number}"]
                np.testing.assert_allclose(x, part, atol=LOG_PROBABILITY)


def subgraphs(graph):
    yield graph
    for attribute in (attribute for node in graph.node for attribute in node.attribute):
        if attribute.HasField("g"):
            yield from subgraphs(attribute.g)


@pytest.mark.parametrize(
    "name",
    [
        "weight norm, deep",
        "old dropout, tied",
        "cgru of SRUs, one cell",
        "mixture, lexical",
        "tagger with a CRF",
    ],
)
def test_numpy_computes_what_depends_only_on_weights(name):
    """Each operation of a graph in memory reads an input, or a result of one that does."""
    network = graphs.network_of(NAMED[name], random_arrays(NAMED[name]))
    beginning, begun = graphs.beginning(network)
    for computation in (
        beginning,
        graphs.stepping([network], [1.0], [begun]),
        graphs.scoring(network),
    ):
        every = list(subgraphs(onnx.load_from_string(computation.content).graph))
        constants = {tensor.name for graph in every for tensor in graph.initializer}
        for node in (node for graph in every for node in graph.node):
            assert node.op_type in ("If", "Loop", "Scan", "Identity") or set(
                node.input
            ) - constants - {""}


def test_a_file_has_the_arrays_by_name():
    s = NAMED["one embedding"]
    arrays = random_arrays(s)
    half = {name: x.astype(np.float16) for name, x in arrays.items()}
    for given in (arrays, half):
        model = onnx.load_from_string(graphs.file_of(s, given, {"a": "b"}))
        (entry,) = model.metadata_props
        assert json.loads(entry.value)["a"] == "b"
        stored = {
            t.name: onnx.numpy_helper.to_array(t)
            for t in model.graph.initializer
            if "/" not in t.name
        }
        assert set(stored) == set(given)
        for name, array in given.items():
            assert stored[name].dtype == array.dtype
            np.testing.assert_array_equal(stored[name], array)


def test_a_file_in_8_bits_has_each_matrix_once():
    """Embeddings too, even if they are the output layer's weights; steps are those in memory."""
    s = NAMED["tied output"]
    arrays = in_8_bits(s, random_arrays(s, 1))
    content = graphs.file_of(s, arrays, {})
    named = {
        tensor.name: onnx.numpy_helper.to_array(tensor)
        for graph in subgraphs(onnx.load_from_string(content).graph)
        for tensor in graph.initializer
    }
    integers = {name for name, array in named.items() if array.dtype == np.int8}
    assert integers == {f"{name}/integers" for name, x in arrays.items() if isinstance(x, Integers)}
    same_calls(s, in_memory(s, arrays), in_file(content))


def test_a_file_of_more_than_2_gib_is_refused(monkeypatch):
    monkeypatch.setattr(graphs, "LARGEST", 99)
    with pytest.raises(CgruError, match="an ONNX file holds at most 2 GiB"):
        graphs.file_of(tiny(), random_arrays(tiny()), {})
