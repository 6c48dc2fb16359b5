"""8-bit matrix products of an ONNX graph, computed as processors without VNNI compute them."""

import numpy as np
from onnx import TensorProto, numpy_helper

PRODUCTS = ("MatMulInteger", "ConvInteger", "QLinearMatMul", "QGemm", "DynamicQuantizeMatMul")


def saturated(x, matrix):
    """x W for x (R,N) from 0 to 255 and W (N,M) from -128 to 127, as x86-64's vpmaddubsw adds.

    It adds two adjacent products at a time in 16 bits, and limits the sum to them.
    """
    x, matrix = (np.pad(a, [(0, p), (0, q)]) for a, p, q in
                 ((x, 0, x.shape[1] % 2), (matrix, len(matrix) % 2, 0)))  # fmt: skip
    products = x.astype(np.int64)[:, :, None] * matrix.astype(np.int64)
    pairs = products[:, ::2] + products[:, 1::2]
    return pairs.clip(-(1 << 15), (1 << 15) - 1).sum(axis=1)


def worst_inputs(column):
    """Inputs (2,N) that make the largest and the smallest sums of pairs with a column (N,)."""
    return 255 * np.stack([column > 0, column < 0]).astype(np.int64)


def is_exact(matrix):
    """Whether sums of products of any unsigned bytes with W (N,M) fit in 16 bits in pairs.

    Checked for neighbours as they are stored, and for the largest weights side by side.
    """
    for column in matrix.T.astype(np.int64):
        for ordered in (column, np.sort(column)):
            x = worst_inputs(ordered)
            if not np.array_equal(saturated(x, ordered[:, None])[:, 0], x @ ordered):
                return False
    return True


def integer_products(graph, around=()):
    """The matrix and the scales (M,) of each 8-bit product by its output, in inner graphs too.

    around: the sources of values of the graphs around this one.
    """
    makers = [{name: node for node in graph.node for name in node.output}, *around]
    makers[0] |= {tensor.name: tensor for tensor in graph.initializer}

    def made(name):
        return next(known[name] for known in makers if name in known)

    def array(name):
        source = made(name)
        if isinstance(source, TensorProto):
            return numpy_helper.to_array(source)
        assert source.op_type in ("Transpose", "Identity", "Concat") and len(source.input) == 1
        given = array(source.input[0])
        return given.T if source.op_type == "Transpose" else given

    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from integer_products(attribute.g, makers)
        if node.op_type not in PRODUCTS:
            continue
        assert node.op_type == "MatMulInteger", f"{node.op_type}: read its inputs here too"
        quantizer = made(node.input[0])
        assert quantizer.op_type == "DynamicQuantizeLinear"  # to unsigned bytes
        (cast,) = (other for other in graph.node if node.output[0] in other.input)
        (scaled,) = (other for other in graph.node if cast.output[0] in other.input)
        of_input, of_matrix = made(scaled.input[1]).input
        assert of_input == quantizer.output[1] and not array(node.input[3]).any()
        yield node.output[0], array(node.input[1]), array(of_matrix)
