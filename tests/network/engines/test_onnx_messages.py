"""Messages of ONNX models, read by the package onnx."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from cgru_cli.network.engines import onnx_messages as messages


def test_data_types_are_those_of_onnx():
    for name, code in messages.DATA_TYPES.items():
        assert helper.np_dtype_to_tensor_dtype(np.dtype(name)) == code


def test_nodes():
    inside = b"".join(messages.graph("inside", [], [], [], []))
    attributes = {"axis": -1, "perm": [2, 0, -(2**63)], "no": [], "body": inside, "k": 2**62}
    node = onnx.NodeProto.FromString(
        messages.node("Loop", ["a", ""], ["\u00e4"], "com.microsoft", attributes)
    )
    assert (node.op_type, node.domain) == ("Loop", "com.microsoft")
    assert ([*node.input], [*node.output]) == (["a", ""], ["\u00e4"])
    found = {one.name: helper.get_attribute_value(one) for one in node.attribute}
    body = found.pop("body")
    assert isinstance(body, onnx.GraphProto) and body.name == "inside"
    assert found == {"axis": -1, "perm": [2, 0, -(2**63)], "no": [], "k": 2**62}


@pytest.mark.parametrize("kind", messages.DATA_TYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3)])
def test_tensors(kind, shape):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(kind)
    for one in (array, array.T):  # also an order other than C
        tensor = TensorProto.FromString(b"".join(messages.tensor("x", one)))
        assert tensor.name == "x"
        found = numpy_helper.to_array(tensor)
        assert found.dtype == one.dtype
        np.testing.assert_array_equal(found, one)
    tensor = TensorProto.FromString(b"".join(messages.tensor("x", array, outside=True)))
    assert (tensor.data_location, tensor.raw_data) == (TensorProto.EXTERNAL, b"")
    assert ([*tensor.dims], tensor.data_type) == ([*shape], messages.DATA_TYPES[kind])
    assert [(one.key, one.value) for one in tensor.external_data] == [("location", "memory")]


@pytest.mark.parametrize("shape", [(), (1, 2), (None, "n", 0)])
def test_descriptions_of_values(shape):
    value = onnx.ValueInfoProto.FromString(messages.value("x", "int32", shape))
    assert value == helper.make_tensor_value_info("x", TensorProto.INT32, shape)


def test_models():
    weights = np.arange(6, dtype=np.float32).reshape(2, 3)
    parts = messages.graph(
        "whole",
        [messages.node("MatMul", ["x", "w"], ["y"], "", {})],
        [messages.tensor("w", weights)],
        [messages.value("x", "float32", [None, 2])],
        [messages.value("y", "float32", [None, 3])],
    )
    content = messages.model(parts, {"": 18, "com.microsoft": 1}, {"key": "text"})
    model = onnx.load_from_string(content)
    onnx.checker.check_model(model, full_check=True)
    assert {one.domain: one.version for one in model.opset_import} == {"": 18, "com.microsoft": 1}
    assert (model.ir_version, model.producer_name) == (messages.IR_VERSION, "cgru")
    assert [(one.key, one.value) for one in model.metadata_props] == [("key", "text")]
    expected = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "whole",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 3])],
        [numpy_helper.from_array(weights, "w")],
    )
    model.graph.node[0].ClearField("domain")
    assert model.graph == expected
