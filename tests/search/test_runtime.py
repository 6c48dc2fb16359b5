"""Models prepared for ONNX Runtime: their threads, devices and precisions."""

import gc
import os
import subprocess
import sys
import weakref

import numpy as np
import onnxruntime
import pytest
from cases import random_arrays, tiny

from cgru_cli.errors import CgruError
from cgru_cli.formats.model import Model
from cgru_cli.network import graphs
from cgru_cli.network.engines.onnx_graph import Graph
from cgru_cli.network.integer_products import IntegerProduct
from cgru_cli.search import runtime
from cgru_cli.search.ensemble import Ensemble
from cgru_cli.search.runtime import CUDA, PreparedModel, Session, Settings, prepared

STRUCTURE = tiny()
ARRAYS = random_arrays(STRUCTURE, 1)
GRAPH, _ = graphs.beginning(PreparedModel(STRUCTURE, ARRAYS).network)
SOURCE = {"source": np.ones((2, 3, 1), np.int32), "source_mask": np.ones((2, 3), np.float32)}


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="counts threads on Linux only")
def test_each_session_has_its_own_threads():
    found = []
    for count in (1, 4):
        before = len(os.listdir("/proc/self/task"))
        session = Session(GRAPH, Settings("cpu", count))
        # the thread that calls a session computes too
        assert len(os.listdir("/proc/self/task")) - before == count - 1
        found.append(session.run(["new_cells.0"], SOURCE))
    np.testing.assert_allclose(*found, atol=1e-6)
    assert Settings("cpu").threads == len(os.sched_getaffinity(0))


def test_a_session_of_several_threads_belongs_to_its_process(monkeypatch):
    sessions = [Session(GRAPH, Settings("cpu", count)) for count in (1, 2)]
    monkeypatch.setattr(os, "getpid", lambda: 0)
    assert sessions[0].run(["new_cells.0"], SOURCE)
    with pytest.raises(CgruError, match="ONNX Runtime hangs in a process forked from"):
        sessions[1].run(["new_cells.0"], SOURCE)


def test_the_device_is_a_gpu_if_onnx_runtime_has_one(monkeypatch, capsys):
    cpu = "CPUExecutionProvider"
    runtime._warn_without_gpu.cache_clear()
    for available, device, expected, warned in (
        ([cpu], None, [cpu], False),
        ([cpu], "gpu", [cpu], True),
        ([cpu], "cpu", [cpu], False),
        ([CUDA, cpu], None, [(CUDA, {"device_id": 0}), cpu], False),
        ([CUDA, cpu], "gpu:2", [(CUDA, {"device_id": 2}), cpu], False),
        ([CUDA, cpu], "cpu", [cpu], False),
    ):
        monkeypatch.setattr(onnxruntime, "get_available_providers", lambda some=available: some)
        assert Settings(device).providers == expected
        assert ("ONNX Runtime has no GPU here" in capsys.readouterr().err) == warned


def test_a_lack_of_a_gpu_is_told_once_for_all_models(monkeypatch, capsys):
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])
    runtime._warn_without_gpu.cache_clear()
    for _ in range(2):
        Settings("gpu")
    assert capsys.readouterr().err.count("ONNX Runtime has no GPU here") == 1


def test_arrays_move_from_a_model_into_its_preparation(tmp_path):
    for precision in ("float32", "int8"):
        model = Model(tmp_path / "x", STRUCTURE, dict(ARRAYS), "nematus")
        network = prepared(model, precision).network
        assert model.arrays == {} and ARRAYS
        integers = isinstance(network.read_out.output.single, IntegerProduct)
        assert integers == (precision == "int8")


def test_a_graph_that_onnx_runtime_refuses_gets_one_line():
    with pytest.raises(CgruError, match="ONNX Runtime cannot prepare the model: ") as caught:
        Session(GRAPH._replace(content=GRAPH.content[:-9]), Settings("cpu", 1))
    assert "\n" not in str(caught.value)


def test_graphs_and_arrays_are_released_at_once():
    """Reference cycles would keep a copy of all arrays until the next garbage collection."""
    model = PreparedModel(STRUCTURE, ARRAYS, Settings("cpu", 1), once=True)
    network = weakref.ref(model.network)
    gc.collect()
    gc.disable()
    try:
        Ensemble([model])
        assert network() is None
        assert not [one for one in gc.get_objects() if isinstance(one, Graph)]
    finally:
        gc.enable()


NO_MEMORY = """
import resource
import numpy as np
from cases import random_arrays, tiny
from cgru_cli.network import graphs
from cgru_cli.search.runtime import PreparedModel, Session, Settings

model = PreparedModel(tiny(), random_arrays(tiny(), 1))
session = Session(graphs.beginning(model.network)[0], Settings("cpu", 1))
shape = 4000, 2000  # words, whose embeddings take 128 MB
source = {"source": np.ones((*shape, 1), np.int32), "source_mask": np.ones(shape, np.float32)}
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 50_000_000, used + 50_000_000))
try:
    session.run(["new_cells.0"], source)
except MemoryError:
    print("not enough")
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="limits memory on Linux only")
def test_a_lack_of_memory_is_told_from_other_errors():
    done = subprocess.run(
        [sys.executable, "-c", NO_MEMORY],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == "not enough\n", done.stderr
    session = Session(GRAPH, Settings("cpu", 1))
    with pytest.raises(Exception, match="rank") as caught:
        session.run(["new_cells.0"], SOURCE | {"source_mask": np.ones(2, np.float32)})
    assert not isinstance(caught.value, MemoryError)
