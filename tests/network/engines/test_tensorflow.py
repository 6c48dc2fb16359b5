"""Gradients that are computed together."""

import numpy as np
import tensorflow as tf

from cgru_cli.network.ops import at_once
from cgru_cli.network.products import Product


def layer(x, matrix, bias):
    return tf.nn.bias_add(Product(matrix)(x)[0], bias)


def gradients(function, given):
    with tf.GradientTape() as tape:
        tape.watch(given)
        result = function(*given)
    return result, tape.gradient(result, given, output_gradients=tf.sin(result))


def test_taken_at_once_they_are_the_same():
    rng = np.random.default_rng(1)
    given = [tf.constant(rng.normal(size=size), tf.float32) for size in ((5, 3), (3, 4), (4,))]
    expected = gradients(layer, given)
    for got in (
        gradients(lambda *given: at_once(layer, *given), given),
        tf.function(lambda: gradients(lambda *given: at_once(layer, *given), given))(),
    ):
        tf.nest.map_structure(np.testing.assert_array_equal, got, expected)


def test_taken_at_once_none_is_there_before_all():
    @tf.function
    def traced(*given):
        return gradients(lambda *given: at_once(layer, *given), given)[1]

    sizes = ((5, 3), (3, 4), (4,))
    graph = traced.get_concrete_function(*(tf.TensorSpec(size) for size in sizes)).graph
    for output in graph.outputs:
        while not output.op.control_inputs:  # behind identities
            (output,) = output.op.inputs
        waited_for = {*output.op.control_inputs, *(tensor.op for tensor in output.op.inputs)}
        assert sorted(op.type for op in waited_for) == ["BiasAddGrad", "MatMul", "MatMul"]
