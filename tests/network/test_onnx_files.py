"""The graphs of ONNX files, as other programs and ONNX Runtime see them.

`test_graphs.py` compares them with the graphs in memory, for every task.
"""

import re

import numpy as np
import onnx
import pytest
from bombs import bounded
from both_engines import ONE_THREAD, Texts
from cases import random_arrays, small_structure
from models import ladder_oracle
from named_structures import EIGHT, NAMED
from onnx_graphs import FileGraph, MemoryGraphs, unprepared
from selection import choice
from shared_files import ROOT
from tolerances import LOG_PROBABILITY

from cgru_cli import Translator, load_model, write_model
from cgru_cli.formats.onnx_file import inputs_of, open_onnx, outputs_of
from cgru_cli.network import graphs
from cgru_cli.network.integer_products import in_8_bits
from cgru_cli.search.runtime import PreparedModel


# the libraries round in other orders; in 8 bits, weights and inputs are rounded too
@pytest.mark.parametrize(("precision", "error"), [("float32", LOG_PROBABILITY), ("int8", 0.1)])
@pytest.mark.parametrize("name", choice(NAMED, *EIGHT, "classifier", "vectors"))
def test_a_program_that_calls_the_graph_gets_the_scores_of_the_equations(name, precision, error):
    s, arrays = NAMED[name], random_arrays(NAMED[name], 1)
    stored = in_8_bits(s, arrays) if precision == "int8" else arrays
    content = graphs.file_of(s, stored, {})
    onnx.checker.check_model(content, full_check=True)
    model = FileGraph(content)
    # float32 needs only operations of the standard
    domains = {"float32": [""], "int8": ["", "com.microsoft"]}[precision]
    assert sorted(one.domain for one in model.proto.opset_import) == domains
    assert not list(unprepared(model.proto.graph))
    texts = Texts.of(s)
    source, mask, target, _ = texts.batch(s)
    found, exact = model.scores(source, mask, target), ladder_oracle(s, arrays)
    for row, *pair in zip(found, *texts, strict=True):
        expected = exact.force_decode(*pair).log_probs
        np.testing.assert_allclose(row[: len(expected)], expected, atol=error)
    own = MemoryGraphs(PreparedModel(s, stored, ONE_THREAD))
    np.testing.assert_allclose(found, own.scores(source, mask, target), atol=LOG_PROBABILITY)


@pytest.mark.parametrize("name", choice(NAMED, *EIGHT, "classifier", "vectors"))
def test_the_interface_is_that_of_the_structure(name, tmp_path):
    """Every size that varies has a name, without which JavaScript reads it as 4294967295."""
    s = NAMED[name]
    (tmp_path / "x.onnx").write_bytes(graphs.file_of(s, random_arrays(s), {"a": "b"}))
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


def test_a_file_costs_one_copy_of_the_arrays():
    s = small_structure(source_vocabularies=(300_000,), source_embeddings=(64,))
    arrays = random_arrays(small_structure(source_vocabularies=(3,), source_embeddings=(64,)))
    arrays["Wemb"] = np.ones((300_000, 64), np.float32)
    size = sum(array.nbytes for array in arrays.values())
    assert size > 70e6
    with bounded(seconds=5, mebibytes=1.2 * size / 2**20):
        content = graphs.file_of(s, arrays, {})
    assert 0 < len(content) - size < 200_000


def test_arrays_in_memory_stay_outside_of_messages():
    """So graphs in memory have no limit of 2 GiB, unlike a file."""
    sizes = []
    for words in (12_800, 25_600):
        s = small_structure(source_vocabularies=(words,), target_vocabulary=words)
        network = graphs.network_of(s, random_arrays(s))
        beginning, begun = graphs.beginning(network)
        parts = [
            beginning,
            graphs.stepping([network], [1.0], [begun]),
            graphs.scoring(network),
            graphs.ranking([network], [1.0]),
        ]
        sizes.append([len(part.content) for part in parts])
    assert np.ptp(sizes, axis=0).max() < 100  # digits of sizes
