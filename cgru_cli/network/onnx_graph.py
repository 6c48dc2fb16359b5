"""Join two ONNX graphs of the same arrays into one graph with a branch for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from .onnx_integers import graphs, in_8_bits

IR_VERSION = 10  # ONNX 1.16 (2024) and later


def joined(
    graphs: Sequence[GraphProto], arrays: Mapping[str, np.ndarray], opset: int
) -> onnx.ModelProto:
    """Join two graphs into one model; it computes the first graph if its input `task` is 0.

    arrays: inputs of the graphs that become initializers. Nodes that depend only on arrays, such as
    those that join matrices, are moved outside the branches and merged, so that ONNX Runtime
    computes them once, when it loads the model. Branches share inputs and outputs of the same name.
    """
    shared = _Constants(arrays)
    inputs = [helper.make_tensor_value_info("task", TensorProto.INT32, [])]
    outputs: dict[str, ValueInfoProto] = {}
    branches = []
    for number, graph in enumerate(graphs):
        own = [value for value in graph.input if value.name not in arrays]
        inputs += [value for value in own if value.name not in {known.name for known in inputs}]
        for value in graph.output:
            outputs.setdefault(value.name, value)
        branches.append(
            shared.without_constants(graph, f"{number}/", {value.name for value in own})
        )
    nodes = [*shared.nodes, *_chosen(branches, list(outputs.values()))]
    initializers = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(
        nodes, "cgru", inputs, list(outputs.values()), [*initializers, *shared.initializers]
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], producer_name="cgru"
    )
    model.ir_version = IR_VERSION
    return model


def content(model: onnx.ModelProto, metadata: Mapping[str, str], precision: str) -> bytes:
    """The checked content of the model's file. precision: of its products, float32 or int8."""
    if precision == "int8":
        model = in_8_bits(model)
    _sink(model.graph)
    helper.set_model_props(model, dict(metadata))
    content = model.SerializeToString()
    onnx.checker.check_model(content)
    return content


def _sink(graph: GraphProto) -> None:
    """Move each constant that only one inner graph reads into that graph.

    ONNX Runtime prepares the matrix of a product once, when it loads the model, only if the matrix
    belongs to the graph of the product or to the graph around that; otherwise in every call.
    """
    inner = list(graphs(graph))[1:]
    readers: dict[str, list[GraphProto]] = {}
    for one in (graph, *inner):
        for name in {name for node in one.node for name in node.input}:
            readers.setdefault(name, []).append(one)
    matrices = {tensor.name for tensor in graph.initializer if len(tensor.dims) == 2}
    for one in inner:
        for node in list(one.node):
            if node.op_type == "MatMul" and node.input[1] in matrices:
                # arrays of the model cannot move, so ONNX Runtime copies this one at loading
                copy = helper.make_node("Concat", [node.input[1]], [f"{node.output[0]}/W"], axis=0)
                node.input[1] = copy.output[0]
                one.node.insert(0, copy)
    for place in (graph.node, graph.initializer):
        for index in reversed(range(len(place))):
            constant = place[index]
            own = isinstance(constant, TensorProto) and constant.data_type != TensorProto.INT8
            name = constant.name if isinstance(constant, TensorProto) else constant.output[0]
            reader, *others = readers.get(name, [graph])
            if not own and reader is not graph and not others:
                reader_place = reader.node if place is graph.node else reader.initializer
                reader_place.insert(0, constant)
                del place[index]


class _Constants:
    """Nodes and initializers that depend only on arrays, without duplicates."""

    def __init__(self, arrays: Mapping[str, np.ndarray]):
        self.nodes: list[NodeProto] = []
        self.initializers: list[TensorProto] = []
        self._known = set(arrays)
        self._same: dict[bytes, list[str]] = {}  # a node without its outputs -> its outputs

    def without_constants(self, graph: GraphProto, prefix: str, inputs: set[str]) -> GraphProto:
        """The graph without constants; all its values except inputs get the prefix."""
        names: dict[str, str] = {}

        def renamed(name: str) -> str:
            fixed = not name or name in inputs or name in self._known
            return names.get(name) or (name if fixed else prefix + name)

        for tensor in graph.initializer:
            name = tensor.name
            names[name] = self._initializer(tensor, prefix + name)
        nodes = []
        read = {prefix + name for node in graph.node for name in node.input}
        for node in graph.node:
            constant = all(names.get(name, name) in self._known for name in node.input)
            if constant and not any(attribute.HasField("g") for attribute in node.attribute):
                _rename(node, renamed)
                original = [name.removeprefix(prefix) for name in node.output]
                names.update(zip(original, self._node(node), strict=True))
            else:
                _rename(node, renamed)
                if node.op_type == "Loop":
                    self._take_constants_out(node, read)
                nodes += self._of_rows(node)
        outputs = [_named(value, renamed(value.name)) for value in graph.output]
        return helper.make_graph(nodes, prefix.rstrip("/"), [], outputs)

    def _of_rows(self, node: NodeProto) -> list[NodeProto]:
        """Equivalent nodes that take columns of a transposed array as rows of the array.

        With 8-bit products, the transposed array is then stored only as integers.
        """
        turned = next((x for x in self.nodes if node.input and x.output[0] == node.input[0]), None)
        if node.op_type != "Gather" or turned is None or turned.op_type != "Transpose":
            return [node]
        (axis,) = (helper.get_attribute_value(x) for x in node.attribute if x.name == "axis")
        if len(turned.attribute[0].ints) != 2 or axis != 1:
            return [node]
        rows = f"{node.output[0]}/rows"
        taken = helper.make_node("Gather", [turned.input[0], node.input[1]], [rows], axis=0)
        return [taken, helper.make_node("Transpose", [rows], node.output, perm=[1, 0])]

    def _take_constants_out(self, loop: NodeProto, read: set[str]) -> None:
        """Let a loop's body read constants from outside instead of carrying them through its steps.

        read: the values that nodes after the loop read. ONNX Runtime optimises matrices of products
        at loading only if they are constants.
        """
        (body,) = (attribute.g for attribute in loop.attribute if attribute.name == "body")
        source = {node.output[0]: node.input[0] for node in body.node if node.op_type == "Identity"}
        outside = {}
        for place in reversed(range(2, len(loop.input))):  # after length and condition
            given, kept = body.input[place].name, body.output[place - 1].name
            while kept in source:
                kept = source[kept]
            constant = loop.input[place] in self._known and kept == given
            if constant and loop.output[place - 2] not in read:
                outside[given] = loop.input[place]
                for values, index in (
                    (loop.input, place),
                    (loop.output, place - 2),
                    (body.input, place),
                    (body.output, place - 1),
                ):
                    del values[index]
        for node in body.node:
            _rename(node, lambda name: outside.get(name, name))

    def _initializer(self, tensor: TensorProto, name: str) -> str:
        """Add an initializer with this name, or find an equal one; returns its name."""
        tensor.name = ""
        same = self._same.setdefault(tensor.SerializeToString(), [name])
        if same == [name]:
            tensor.name = name
            self.initializers.append(tensor)
            self._known.add(name)
        return same[0]

    def _node(self, node: NodeProto) -> Sequence[str]:
        """Add a node, or find an equal one; returns its outputs."""
        outputs, name = list(node.output), node.name
        del node.output[:]
        node.name = ""
        same = self._same.setdefault(node.SerializeToString(), outputs)
        if same is outputs:
            node.output.extend(outputs)
            node.name = name
            self.nodes.append(node)
            self._known.update(outputs)
        return same


def _rename(node: NodeProto, renamed: Callable[[str], str]) -> None:
    """Rename all values of a node and of the graphs inside it."""
    node.input[:] = map(renamed, node.input)
    node.output[:] = map(renamed, node.output)
    for attribute in node.attribute:
        if not attribute.HasField("g"):
            continue
        for inner in attribute.g.node:
            _rename(inner, renamed)
        for value in (*attribute.g.input, *attribute.g.output, *attribute.g.initializer):
            value.name = renamed(value.name)
        del attribute.g.value_info[:]


def _chosen(
    branches: Sequence[GraphProto], outputs: Sequence[ValueInfoProto]
) -> Sequence[NodeProto]:
    """Nodes that compute the first branch if `task` is 0, else the second."""
    first, second = (_completed(branch, outputs) for branch in branches)
    zero = helper.make_tensor("first", TensorProto.INT32, [], [0])
    return [
        helper.make_node("Constant", [], ["first"], value=zero),
        helper.make_node("Equal", ["task", "first"], ["chosen"]),
        helper.make_node(
            "If",
            ["chosen"],
            [value.name for value in outputs],
            then_branch=first,
            else_branch=second,
        ),
    ]


def _completed(branch: GraphProto, outputs: Sequence[ValueInfoProto]) -> GraphProto:
    """The branch with all outputs; those that it does not compute are empty."""
    own = {value.name: value for value in branch.output}
    del branch.output[:]
    for value in outputs:
        name = f"{branch.name}/{value.name}"
        if name not in own:
            kind = value.type.tensor_type.elem_type
            # known sizes must agree; unknown sizes are 0
            shape = [size.dim_value for size in value.type.tensor_type.shape.dim]
            empty = helper.make_tensor(name, kind, shape, [])
            branch.node.append(helper.make_node("Constant", [], [name], value=empty))
            own[name] = helper.make_tensor_value_info(name, kind, shape)
        branch.output.append(own[name])
    return branch


def _named(value: ValueInfoProto, name: str) -> ValueInfoProto:
    """The description of a value under another name."""
    other = ValueInfoProto()
    other.CopyFrom(value)
    other.name = name
    return other
