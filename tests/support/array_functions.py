"""Functions of arrays that are written with `ops`, computed by each engine."""

import onnxruntime
import tensorflow as tf

from cgru_cli.network import nest, ops
from cgru_cli.network.engines import onnx

OPTIONS = onnxruntime.SessionOptions()
OPTIONS.intra_op_num_threads, OPTIONS.log_severity_level = 1, 4


def by_tensorflow(function, arrays, shapes=None):
    """The results in a trace for inputs of these shapes; by default, all sizes are unknown."""
    shapes = shapes or _unknown(arrays)
    kinds = [tf.TensorSpec(shape, x.dtype) for x, shape in zip(arrays, shapes, strict=True)]
    traced = tf.function(lambda *given: function(*given), kinds, autograph=False)
    return [x.numpy() for x in nest.flatten(traced(*arrays))]


def by_onnx(function, arrays, shapes=None, *, constant=False):
    """The results of a graph for inputs of these shapes, or with constants instead of inputs."""
    names = [f"x{number}" for number in range(len(arrays))]
    inputs = {} if constant else dict(zip(names, arrays, strict=True))
    with ops.using(onnx), onnx.graph() as graph:
        given = [ops.convert(array) for array in arrays]
        if inputs:
            named = zip(inputs.items(), shapes or _unknown(arrays), strict=True)
            given = [onnx.new_input(name, x.dtype.name, shape) for (name, x), shape in named]
        results = nest.flatten(function(*given))
        named = {f"y{number}": x for number, x in enumerate(results)}
        model, _ = onnx.model_of(graph, named)
    session = onnxruntime.InferenceSession(model, OPTIONS)
    found = session.run(list(named), inputs)
    for x, array in zip(results, found, strict=True):  # the engine knows types and shapes
        assert x.dtype == array.dtype.name and len(x.shape) == array.ndim
        assert all(n in (None, m) for n, m in zip(x.shape, array.shape, strict=True)), x.shape
    return found


def _unknown(arrays):
    return [[None] * x.ndim for x in arrays]
