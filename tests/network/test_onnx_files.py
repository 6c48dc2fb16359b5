"""ONNX files: the interface of their graphs, and their arrays.

`test_graphs.py` runs the graphs.
"""

import re

import numpy as np
import onnx
import pytest
from bombs import bounded
from cases import random_arrays, small_structure
from named_structures import EIGHT, NAMED
from onnx_graphs import graphs_of
from shared_files import ROOT
from tables import each_row

from cgru_cli import CgruError, Translator, load_model, write_model
from cgru_cli.formats.onnx_file import inputs_of, open_onnx, outputs_of
from cgru_cli.network import graphs
from cgru_cli.network.integer_products import in_8_bits
from cgru_cli.parameters.integers import LARGEST_WEIGHT, Integers
from cgru_cli.search.runtime import PreparedModel

NAMES = [*EIGHT, "one embedding", "old dropout, tied", "language model", "vectors"]


def content_of(structure, arrays, precision="float32"):
    """The content of the model's file."""
    if precision == "int8":
        arrays = in_8_bits(structure, arrays)
    about = {"structure": structure.as_dict()}
    return graphs.file_of(structure, arrays, about)


@each_row("name", NAMES)
def test_the_interface_is_that_of_the_structure(name, tmp_path):
    """Every size that varies has a name, without which JavaScript reads it as 4294967295."""
    s = NAMED[name]
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


@each_row("name", NAMES)
def test_every_array_is_stored_under_its_name(name):
    """Other initializers have a slash in their name; a matrix in 8 bits is stored once."""
    s, arrays = NAMED[name], random_arrays(NAMED[name])
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
    s = NAMED["plain"]
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
