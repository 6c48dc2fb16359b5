"""Graphs of a search in files and in memory, run as docs/onnx.md says, and their parts."""

import numpy as np
import onnxruntime
from both_engines import ONE_THREAD

from cgru_cli.formats.onnx_file import BEGIN
from cgru_cli.network import graphs
from cgru_cli.search.runtime import Session

TYPES = {"tensor(int32)": np.int32, "tensor(float)": np.float32, "tensor(bool)": np.bool_}


class FileGraph:
    """A file in a session of its own."""

    def __init__(self, content):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3  # not about arrays that 8 bits do not read
        providers = ["CPUExecutionProvider"]
        self.session = onnxruntime.InferenceSession(content, options, providers=providers)
        self.outputs = [one.name for one in self.session.get_outputs()]
        self.unread = {
            one.name: np.zeros([n if isinstance(n, int) else 0 for n in one.shape], TYPES[one.type])
            for one in self.session.get_inputs()
        }

    def run(self, task, inputs):
        """The outputs of a task by name; the others are empty, as inputs that it does not read."""
        given = {name: inputs.get(name, x) for name, x in self.unread.items()}
        given["source"] = given["source"].view(
            self.unread["source"].dtype
        )  # numbers, by their bits
        given["task"] = np.array(task, np.int32)
        found = dict(zip(self.outputs, self.session.run(self.outputs, given), strict=True))
        states = {name for name in found if name.startswith("new_")}
        memory = {name for name in found if name.startswith("new_memory.")}
        other = found.keys() - states if task == BEGIN else memory
        assert not any(found[name].size for name in other)
        return {name: x for name, x in found.items() if name not in other}


class MemoryGraphs:
    """The graphs of an ensemble in memory, which have the same inputs and outputs."""

    def __init__(self, s, *models, weights=(1.0,)):
        """models: the arrays of each, in float32 or 8 bits."""
        networks = [graphs.network_of(s, arrays) for arrays in models]
        beginnings = [graphs.beginning(network) for network in networks]
        self.computations = [graph for graph, _ in beginnings]
        begun = [nest for _, nest in beginnings]
        self.computations.append(graphs.stepping(networks, weights, begun))
        *self.begins, self.step = (Session(one, ONE_THREAD) for one in self.computations)

    def run(self, task, inputs):
        if task != BEGIN:
            given = self.step.empty_inputs() | inputs | {"task": np.array(task, np.int32)}
            return dict(
                zip(self.step.outputs, self.step.run(self.step.outputs, given), strict=True)
            )
        found = {}
        for kind in ("new_cells", "new_memory"):
            named = [(one, [n for n in one.outputs if n.startswith(kind)]) for one in self.begins]
            arrays = [x for session, names in named for x in session.run(names, inputs)]
            found |= {f"{kind}.{number}": x for number, x in enumerate(arrays)}
        return found


def graphs_of(graph):
    """A graph and all graphs inside it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs_of(attribute.g)


def unprepared(graph, around=()):
    """Products whose constant matrix ONNX Runtime would prepare again in every call."""
    own = {tensor.name for tensor in graph.initializer}
    computed = {name for node in graph.node for name in node.output} | own
    for node in graph.node:
        far = [names for names in around[1:] if computed.isdisjoint(node.input[1:2])]
        if node.op_type.startswith("MatMul") and any(node.input[1] in names for names in far):
            yield node.output[0]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from unprepared(attribute.g, (computed, *around))
