"""Graphs of ONNX files: their parts, and a program that runs them as docs/onnx.md says."""

import numpy as np
import onnx
import onnxruntime

from cgru_cli.network import graphs

BEGIN, STEP, SCORING_STEP = 0, 1, 3
TYPES = {"tensor(int32)": np.int32, "tensor(float)": np.float32, "tensor(bool)": np.bool_}


class FileGraph:
    """A file in a session of its own."""

    def __init__(self, content):
        self.proto = onnx.load_from_string(content)
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
        """All outputs by name; inputs that are not given are empty."""
        given = self.unread | inputs | {"task": np.array(task, np.int32)}
        return dict(zip(self.outputs, self.session.run(self.outputs, given), strict=True))

    def begin(self, source, mask):
        """The first states and the memory by their names as inputs."""
        source = source.view(self.unread["source"].dtype)  # numbers of a condition, by their bits
        found = self.run(BEGIN, {"source": source, "source_mask": mask})
        new = {n: x for n, x in found.items() if n.startswith("new_")}
        assert all(not x.size for name, x in found.items() if name not in new)
        return {name.removeprefix("new_"): x for name, x in new.items()}

    def step(self, begun, previous=None, *, task=STEP, count=1, **more):
        """The outputs of a step in which row number i continues sentence number i."""
        rows = np.arange(len(begun["cells.0"]), dtype=np.int32)
        given = {
            "parents": rows,
            "previous": rows * 0 - 1 if previous is None else previous,
            "sentence": rows,
            "slot": rows * 0,
            "count": np.array(count, np.int32),
            "asked": np.zeros((len(rows), 0), np.int32),
        }
        return self.run(task, begun | given | more)

    def scores(self, source, mask, target):
        """Log-probabilities (B,T) of the words of targets (B,T)."""
        states, previous, scores = self.begin(source, mask), None, []
        for words in target.T:
            found = self.step(states, previous, task=SCORING_STEP, asked=words[:, None])
            scores.append(found["log_probs"][:, 1])
            after = {name: x for name, x in found.items() if name.startswith("new_cells.")}
            states |= {name.removeprefix("new_"): x for name, x in after.items()}
            previous = words
        return np.stack(scores, axis=1)


class MemoryGraphs(FileGraph):
    """The graphs of a search in memory, which have the same inputs and outputs."""

    def __init__(self, model):
        beginning, begun = graphs.beginning(model.network)
        stepping = graphs.stepping([model.network], [1.0], [begun])
        self.sessions = model.session(beginning), model.session(stepping)
        self.unread = self.sessions[0].empty_inputs()

    def run(self, task, inputs):
        session = self.sessions[task != BEGIN]
        given = session.empty_inputs() | inputs | {"task": np.array(task, np.int32)}
        return dict(zip(session.outputs, session.run(session.outputs, given), strict=True))


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
