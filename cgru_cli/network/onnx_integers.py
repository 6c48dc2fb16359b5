"""Store an ONNX graph's matrices of products and embeddings as 8-bit integers."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

from ..formats.onnx_file import LARGEST_WEIGHT


def in_8_bits(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with matrix products of 8-bit integers, and a scale for each column of weights.

    Weights are at most LARGEST_WEIGHT, so that sums are exact on every processor. ONNX Runtime
    first computes the nodes that depend only on arrays, because it can quantise only constant
    matrices.
    """
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        folded, result = f"{folder}/folded.onnx", f"{folder}/int8.onnx"
        options = onnxruntime.SessionOptions()
        options.optimized_model_filepath = folded
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.log_severity_level = 3
        onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        level = logging.root.manager.disable
        logging.disable(logging.WARNING)  # it recommends the pre-processing done above
        try:
            quantize_dynamic(
                folded,
                result,
                op_types_to_quantize=["MatMul"],
                per_channel=True,
                reduce_range=True,
                weight_type=QuantType.QInt8,
                extra_options={"EnableSubgraph": True, "MatMulConstBOnly": True},
            )
        finally:
            logging.disable(level)
        model = onnx.load(result)
    _take_from_8_bits(model.graph)
    return model


def _take_from_8_bits(graph: GraphProto) -> None:
    """Store matrices from which rows or columns are gathered, such as embeddings, in 8 bits.

    Each row or column has a scale, and its largest integer is 127. A matrix that products also use
    is stored once, with the integers of the products.
    """
    readers: dict[str, set[tuple[str, int]]] = {}
    for node in (node for inner in graphs(graph) for node in inner.node):
        axis = helper.get_node_attr_value(node, "axis") if node.op_type == "Gather" else 0
        for name in node.input:
            readers.setdefault(name, set()).add((node.op_type, axis))
    parts: dict[str, tuple[int, str, str]] = {}
    for tensor in list(graph.initializer):
        name, (kind, axis) = tensor.name, min(readers.get(tensor.name, {("", 0)}))
        if (kind, len(readers[name])) != ("Gather", 1) or "/" in name or len(tensor.dims) != 2:
            continue
        matrix = numpy_helper.to_array(tensor)
        parts[name] = axis, f"{name}/integers", f"{name}/scales"
        graph.initializer.remove(tensor)
        for largest in (LARGEST_WEIGHT, 127):
            scales = np.abs(matrix).max(axis=1 - axis, keepdims=True) / np.float32(largest)
            integers = np.rint(matrix / np.where(scales, scales, 1)).astype(np.int8)
            same = list(_multiplied(graph, integers))
            if same:
                break
        for kind, other in same:
            graph.initializer.remove(other)
            graph.node.insert(0, helper.make_node(kind, [parts[name][1]], [other.name]))
        for array, part in zip((integers, scales), parts[name][1:], strict=True):
            graph.initializer.append(numpy_helper.from_array(array, part))
    for inner in graphs(graph):
        nodes = [part for node in inner.node for part in _taken(node, parts)]
        del inner.node[:]
        inner.node.extend(nodes)


def _multiplied(graph: GraphProto, integers: np.ndarray) -> Iterator[tuple[str, TensorProto]]:
    """Stored matrices equal to these integers, and the kind of node that makes each of them."""
    for tensor in graph.initializer:
        if tensor.data_type == TensorProto.INT8:
            matrix = numpy_helper.to_array(tensor)
            for kind, same in (("Identity", integers), ("Transpose", integers.T)):
                if np.array_equal(matrix, same):
                    yield kind, tensor
                    break


def _taken(node: NodeProto, parts: Mapping[str, tuple[int, str, str]]) -> Sequence[NodeProto]:
    """Nodes that replace a Gather of rows or columns of a matrix.

    parts: the axis of each matrix, and the names of its integers and of their scales.
    """
    if node.op_type != "Gather" or node.input[0] not in parts:
        return [node]
    axis, *names = parts[node.input[0]]
    results = [f"{node.output[0]}/{part}" for part in ("integers", "scales", "float")]
    return [
        *(
            helper.make_node("Gather", [name, node.input[1]], [result], axis=axis)
            for name, result in zip(names, results, strict=False)
        ),
        helper.make_node("Cast", results[:1], results[2:], to=TensorProto.FLOAT),
        helper.make_node("Mul", results[1:], node.output),
    ]


def graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and all graphs inside it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs(attribute.g)
