"""The array operations: TensorFlow and ONNX Runtime compute what NumPy does."""

import inspect
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import tensorflow as tf
from array_functions import by_onnx, by_tensorflow
from tables import each_row
from tolerances import ONE_STEP

from cgru_cli.network import nest, ops
from cgru_cli.network.engines import onnx as onnx_engine
from cgru_cli.network.engines import tensorflow as tensorflow_engine

# -- NumPy as an engine, in float64 ----------------------------------------------------------------


def in_numpy(dtype):
    return "float64" if dtype == "float32" else dtype


def numpy_put(x, places, values):
    x = x.copy()
    x[tuple(places.T)] = values
    return x


def numpy_unique(x):
    once = list(dict.fromkeys(x.tolist()))  # in the order of their first places
    return np.array(once), np.array([once.index(n) for n in x])


def numpy_scan(cell, carry, inputs, fixed, differentiable):
    outputs = []
    for t in range(len(nest.flatten(inputs)[0])):
        output, carry = cell.step(carry, *nest.mapped(lambda x, t=t: x[t], (inputs, fixed)))
        outputs.append(output)
    return nest.mapped(lambda *steps: np.stack(steps), *outputs), carry


def by_size(x):
    """The places that sort the last axis, the largest number first."""
    return np.argsort(-x, axis=-1, kind="stable")


NUMPY: Any = SimpleNamespace(
    convert=lambda x, dtype: np.asarray(x, in_numpy(dtype)),
    cast=lambda x, dtype: x.astype(in_numpy(dtype)),
    floats_of_bits=lambda x: x,
    shape=np.shape,
    reshape=np.reshape,
    transpose=np.transpose,
    expand_dims=np.expand_dims,
    squeeze=np.squeeze,
    concat=np.concatenate,
    stack=np.stack,
    split=lambda x, parts, axis: np.split(
        x, parts if isinstance(parts, int) else np.cumsum(parts)[:-1], axis
    ),
    pad=lambda x, widths, value: np.pad(x, widths, constant_values=value),
    flip=np.flip,
    full=lambda sizes, value, dtype: np.full(sizes, value, in_numpy(dtype)),
    full_like=lambda x, value, dtype: np.full_like(x, value, dtype),
    arange=np.arange,
    one_hot=lambda x, size: np.eye(size)[x],
    sigmoid=lambda x: 1 / (1 + np.exp(-x)),
    relu=lambda x: np.maximum(x, 0),
    rsqrt=lambda x: 1 / np.sqrt(x),
    add_n=sum,
    bias_add=np.add,
    sum=lambda x, axis, keepdims: np.sum(x, axis, keepdims=keepdims),
    mean=lambda x, axis, keepdims: np.mean(x, axis, keepdims=keepdims),
    max=lambda x, axis, keepdims: np.max(x, axis, keepdims=keepdims),
    logsumexp=lambda x, axis, keepdims: np.logaddexp.reduce(x, axis, keepdims=keepdims),
    log_softmax=lambda x: x - np.logaddexp.reduce(x, -1, keepdims=True),
    cumsum=lambda x, axis, reverse: (
        np.flip(np.cumsum(np.flip(x, axis), axis), axis) if reverse else np.cumsum(x, axis)
    ),
    vecmat=lambda x, y: np.einsum("bk,bkm->bm", x, y),
    take=np.take,
    take_each=lambda x, places: np.stack([x[row] for x, row in zip(x, places, strict=True)]),
    take_at=lambda x, places: x[tuple(places.T)],
    scatter=lambda places, values, sizes: numpy_put(np.zeros(sizes), places, values),
    scatter_update=numpy_put,
    top_k=lambda x, k: (-np.sort(-x)[..., :k], by_size(x)[..., :k]),
    sort=np.sort,
    argsort_descending=by_size,
    unique=numpy_unique,
    cond=lambda condition, yes, no: yes() if condition else no(),
    stack_of=lambda function, number: np.stack([function(i) for i in range(number)]),
    scan=numpy_scan,
    stop_gradient=lambda x: x,
    identity=lambda x: x,
    at_once=lambda function, *given: function(*given),
    **{
        name: getattr(np, name)
        for name in "tanh exp log sqrt abs maximum minimum where matmul".split()
    },
)

# -- the examples ----------------------------------------------------------------------------------

RNG = np.random.default_rng(1)


def floats(*shape):
    """Between -1 and 1."""
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def integers(*values):
    return np.array(values, np.int32)


class Cell(NamedTuple):
    """h' = tanh(h W + x) * f, the sum of all h' as a second state, and two outputs."""

    W: Any

    def step(self, carry, x, fixed):
        (h, total), (x, y), (f,) = carry, x, fixed
        h = ops.tanh(ops.matmul(h, self.W) + x) * f
        return (h, (h * y,)), (h, total + h)


ROW, ROWS, BATCH, OTHER = floats(4), floats(3, 4), floats(2, 3, 4), floats(2, 3, 4)
SQUARE, POSITIVE = floats(4, 4), np.abs(floats(2, 5)) + 0.1
NO = np.float32([[-np.inf, 1000, -np.inf], [-np.inf, -np.inf, 1000]])
I, J = integers([3, 0, 7], [5, 2, 2]), integers([2, 3, 4], [1, 3, 2])
TIES = np.float32([[1, 3, 3, -np.inf, 3, 1], [2, 2, 2, 2, 2, 2], [0, -1, 5, 5, -1, 7]])
MANY_TIES = np.round(floats(3, 700) * 4)
ONE, TWO = (np.array(n, np.int32) for n in (1, 2))

# Operations by kind of inputs. {axes whose sizes a graph must know: ...} where there are any.
UNARY = [
    lambda x: ops.tanh(x),
    lambda x: ops.sigmoid(x),
    lambda x: ops.relu(x),
    lambda x: ops.exp(x),
    lambda x: ops.abs(x),
    lambda x: -x,
    lambda x: (1.5 + x, 1.5 - x, 1.5 * x, 1.5 / (x + 2.0)),
    lambda x: (x + 1.5, x - 1.5, x * 1.5, x / 1.5),
    lambda x: ops.convert([1.0, 2.0, 3.0, 4.0]) + x,
    lambda x: ops.convert(x, "float32"),
    lambda x: ops.cast(x * 9.0, "int32"),
    lambda x: ops.cast(x > 0, "float32"),
    lambda x: ops.floats_of_bits(x),
    lambda x: ops.identity(ops.stop_gradient(x)),
    lambda x: ops.where(x > 0, 0.0, -np.inf),
    lambda x: ops.reshape(x, [-1, 4]),
    lambda x: ops.reshape(x, [ops.shape(x)[0], -1]),
    lambda x: ops.reshape(x, [*ops.shape(x)[:2], 2, 2]),
    lambda x: ops.reshape(x, ops.shape(x)[::-1]),
    lambda x: ops.transpose(x),
    lambda x: ops.transpose(x, [1, 2, 0]),
    lambda x: ops.expand_dims(x, 1),
    lambda x: ops.expand_dims(x, -1),
    lambda x: ops.squeeze(x[:, :1], 1),
    lambda x: ops.squeeze(x[..., 2:3], -1),
    lambda x: ops.concat([x], axis=1),
    lambda x: ops.concat([x, x[..., :1], x], axis=-1),
    lambda x: ops.concat([x, x[:1]], axis=0),
    lambda x: ops.split(x, [1, 2], axis=1),
    lambda x: ops.split(x, [3], axis=1),
    lambda x: ops.pad(x, [[0, 1], [2, 0], [0, 0]]),
    lambda x: ops.flip(x, 0),
    lambda x: ops.flip(x, -1),
    lambda x: ops.ones([1, ops.shape(x)[1]], "bool"),
    lambda x: ops.full([ops.shape(x)[1], 2], -np.inf),
    lambda x: (ops.zeros_like(x), ops.ones_like(x, "int32")),
    lambda x: ops.sum(x, axis=1),
    lambda x: ops.sum(x, axis=-1, keepdims=True),
    lambda x: ops.mean(x, axis=0),
    lambda x: ops.mean(x, axis=-1, keepdims=True),
    lambda x: ops.max(x, axis=-1, keepdims=True),
    lambda x: ops.max(x) + 1.0,
    lambda x: ops.logsumexp(x, axis=0),
    lambda x: ops.logsumexp(x, axis=-1, keepdims=True),
    lambda x: ops.log_softmax(x),
    lambda x: ops.cumsum(x, axis=1),
    lambda x: ops.cumsum(x, axis=1, reverse=True),
    lambda x: (x[1], x[-1], x[..., 0], x[..., -1], x[:, 0, -2:], x[:, :], x[:, :9]),
    lambda x: (x[None], x[:, None], x[..., None], x[..., 1, None], x[0, None, :, 1:3]),
    lambda x: (x[1:], x[:-1], x[:, 1:-1], x[:0]),
    lambda x: ops.stack_of(
        lambda i: ops.stack_of(lambda j: x[i, j] * 2.0, ops.shape(x)[1]), ops.shape(x)[0]
    ),
]
BINARY = [
    lambda x, y: (x + y, x - y, x * y, x / (y + 3.0)),
    lambda x, y: (ops.maximum(x, y), ops.minimum(x, y)),
    lambda x, y: (x < y, x <= y, x > y, x >= y, x == y),
    lambda x, y: ops.where(x > 0, y, x),
    lambda x, y: (ops.stack([x, y]), ops.stack([x, y], axis=1)),
    lambda x, y: ops.add_n([x, y, x]),
    lambda x, y: ops.at_once(lambda x, y: ops.tanh(x) * y, x, y),
]
WITH_A_NUMBER = [
    lambda x, n: (x[n - 1], x[:, n], x[..., n], x[n - 1, :, None]),
    lambda x, n: (x[:, :n], x[:, -n:], x[..., n:], x[n - 1, ..., :n]),
    lambda x, n: ops.pad(x, [[0, 0], [0, ops.shape(x)[1] - n], [n, 0]], value=-np.inf),
    lambda x, n: (ops.zeros([n, 3]), ops.full([n], -1, "int32")),
    lambda x, n: (ops.arange(n), ops.arange(1, n + 3), ops.minimum(n, 1)),
    lambda x, n: ops.cond(n > 1, lambda: (x + 1.0, n + n), lambda: (x * 2.0, n)),
    lambda x, n: ops.cond(n > 1, lambda: ops.cond(n > 2, lambda: x, lambda: -x), lambda: x),
    lambda x, n: ops.stack_of(lambda i: x[i] * ops.cast(n, "float32"), n),
]
INTEGERS = [
    lambda x, y: (x + y, x - y, x * y, x // y, x % y, 9 // y),
    lambda x, y: (x < y, x <= y, x > y, x >= y, x == y),
    lambda x, y: (ops.max(x), ops.cast(x, "float32") * 0.5, ops.one_hot(x, 8)),
]


def of_places():
    """Operations that take or sort, with their inputs and the axes that a graph must know."""
    wide, deep = floats(2, 8), BATCH
    yield lambda x, i: ops.take(x, i), [floats(8, 2), I]
    yield lambda x, i: ops.take(x, i, axis=1), [wide, I]
    yield lambda x, i: ops.take(x, i, axis=-1), [wide, I]
    for x, i in ((wide, I), (wide, I[:, 0]), (deep, J[:, 1] - 1), (deep, J - 2 + (J == 1))):
        yield lambda x, i: ops.take_each(x, i), [x, i]
    yield lambda x, i: ops.take_at(x, i), [deep, integers([1, 2], [0, 0])], [1]
    yield (
        lambda i, v: ops.scatter(i, v, [ops.shape(v)[0], 3, 4]),
        [integers([1, 2], [0, 0]), floats(2, 4)],
        [1],
    )
    for places in (integers([2, 0], [0, 3]), np.zeros((0, 2), np.int32)):
        given = [ROWS, places, floats(len(places))]
        yield lambda x, i, v: ops.scatter_update(x, i, v), given, [1]
    for x, k in ((TIES, 1), (TIES, 4), (TIES, 6), (MANY_TIES, 5), (MANY_TIES, 300)):
        yield lambda x, k: ops.top_k(x, k), [x, np.array(k, np.int32)]
    for x in (TIES, MANY_TIES):
        yield lambda x: (ops.sort(x), ops.argsort_descending(x)), [x]
    yield lambda x: ops.unique(x), [integers(7, 2, 7, -1, 2)]


EXAMPLES = [
    *((function, [BATCH]) for function in UNARY),
    *((function, [BATCH, OTHER]) for function in BINARY),
    *((function, [BATCH, n]) for function in WITH_A_NUMBER for n in (ONE, TWO)),
    *((function, [I, J]) for function in INTEGERS),
    *of_places(),
    *((function, [BATCH, ROWS]) for function in BINARY[:4]),
    (lambda x: (ops.log(x), ops.sqrt(x), ops.rsqrt(x)), [POSITIVE]),
    (lambda x: (ops.exp(x), ops.sigmoid(x), ops.tanh(x)), [np.float32([-np.inf, -300, 80])]),
    (lambda x: (ops.logsumexp(x, axis=0), ops.log_softmax(x), ops.max(x)), [NO]),
    (lambda x, y: ops.bias_add(x, y), [BATCH, ROW]),
    (lambda x: ops.split(x, 2, axis=-1), [BATCH], [2]),
    *((lambda x, y: ops.matmul(x, y), [x, SQUARE]) for x in (ROWS, BATCH)),
    (lambda x, y: ops.matmul(x, y), [BATCH, floats(2, 4, 5)]),
    (lambda x, y: ops.vecmat(x, y), [floats(2, 3), BATCH]),
    (
        lambda W, h, x, f: ops.scan(
            Cell(W), (h, ops.zeros_like(h)), (x, x), (f,), differentiable=False
        ),
        [SQUARE, floats(2, 4), floats(5, 2, 4), floats(5, 2, 1)],
    ),
]
EXAMPLES = [(*example, []) if len(example) == 2 else example for example in EXAMPLES]
SOURCES = [" ".join(inspect.getsource(function).split()) for function, *_ in EXAMPLES]

# -- the engines -----------------------------------------------------------------------------------


@each_row("function, arrays, known", EXAMPLES, ids=SOURCES)
def test_an_operation_is_numpys(function, arrays, known):
    with ops.using(NUMPY), np.errstate(all="ignore"):
        doubled = [x.astype(np.float64) if x.dtype == np.float32 else x for x in arrays]
        expected = nest.flatten(function(*doubled))
    shapes = [x.shape for x in arrays]
    unknown = [[n if i in known else None for i, n in enumerate(shape)] for shape in shapes]
    with np.errstate(all="ignore"):
        every = {
            "TensorFlow": nest.flatten(function(*map(tf.constant, arrays))),
            "TensorFlow, unknown sizes": by_tensorflow(function, arrays, unknown),
            "ONNX, constants": by_onnx(function, arrays, constant=True),
            "ONNX": by_onnx(function, arrays, shapes),
            "ONNX, unknown sizes": by_onnx(function, arrays, unknown),
        }
    for engine, found in every.items():
        for one, other in zip(map(np.asarray, found), map(np.asarray, expected), strict=True):
            assert (one.dtype.kind, one.shape) == (other.dtype.kind, other.shape), engine
            np.testing.assert_allclose(one, other, ONE_STEP, ONE_STEP, err_msg=engine)


class Recorder:
    """An engine that records the name and the arguments of each call before another runs it."""

    def __init__(self, engine=None):
        self.engine, self.calls = engine, []

    def __getattr__(self, name):
        def run(*given, **more):
            self.calls.append((name, given, more))
            return self.engine and getattr(self.engine, name)(*given, **more)

        return run


def calls():
    """The call of an engine's function by each operation, whose arguments are their own names."""
    for operation in vars(ops).values():
        if not inspect.isfunction(operation) or operation.__module__ != ops.__name__:
            continue
        parameters = inspect.signature(operation).parameters.values()
        positional = [one.name for one in parameters if one.kind is not one.KEYWORD_ONLY]
        named = {one.name: one.name for one in parameters if one.kind is one.KEYWORD_ONLY}
        recorder = Recorder()
        with ops.using(recorder):
            operation(*positional, **named)
        yield from recorder.calls


def test_the_examples_have_every_operation():
    """But the product of integers: see `test_integer_products.py`."""
    recorder = Recorder(NUMPY)
    with ops.using(recorder), np.errstate(all="ignore"):
        for function, arrays, _ in EXAMPLES:
            function(*arrays)
    assert {name for name, *_ in recorder.calls} | {"integer_product"} == {n for n, *_ in calls()}


@pytest.mark.parametrize("engine", [tensorflow_engine, onnx_engine])
def test_an_engine_has_every_operation(engine):
    """With the arguments of `ops`; TensorFlow's own functions have them in the same order."""
    for name, given, named in calls():
        if name == "integer_product" and engine is tensorflow_engine:
            assert not hasattr(engine, name)
            continue
        function = getattr(engine, name)
        arguments = inspect.signature(function).bind(*given, **named).arguments
        if function.__module__.startswith("cgru_cli"):
            given_names = {key: name for key, name in arguments.items() if isinstance(name, str)}
            assert all(key == name for key, name in given_names.items()), name
