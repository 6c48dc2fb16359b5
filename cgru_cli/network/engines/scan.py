"""Back-propagation through time for any cell, with the weights' gradients computed at the end.

Automatic differentiation of a loop adds each step's weight gradient to a buffer of the weights'
size: one small product and one pass over all weights per step. Here the backward loop only computes
and stacks the gradients of the pre-activations; then each weight's gradient is one product over all
steps, dW = sum_t x_t^T dy_t = X^T dY, with the inputs X that the forward loop kept.

Cells need no backward pass of their own. The backward loop repeats each step under a gradient tape,
where every `Product` returns its result of the forward pass, so only element-wise operations are
computed twice. The gradient of a product is dy W^T for its input, and dy, which is stacked.
"""

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import tensorflow as tf

from ..ops import ScanCell
from ..products import Product


def scan(
    cell: ScanCell,
    carry: Any,
    inputs: Any,
    fixed: Any = (),
    *,
    differentiable: bool = True,
) -> tuple[Any, Any]:
    """Run a cell over time: outputs of all steps, each (T,...), and the last carry.

    carry, inputs, outputs: nests of float32 tensors, inputs (T,...); fixed: the same, without a
    gradient. Without differentiable, the result has no gradient, and less is kept in memory.
    """
    if not differentiable:
        return _Loop(cell, carry, inputs, fixed).run(recording=False)[:2]
    loop = _Loop(_for_rows(cell, carry), carry, inputs, fixed)
    flat = loop.differentiated()

    @tf.custom_gradient
    def run(*tensors: tf.Tensor) -> tuple:
        here = loop.given(tensors)
        outputs, last, record = here.run(recording=True)

        def backward(*gradients: tf.Tensor) -> list[tf.Tensor]:
            # otherwise parts that need no gradients would start early and hold memory for long
            with tf.control_dependencies(gradients):
                return here.backward(record, gradients)

        return (*tf.nest.flatten(outputs), *tf.nest.flatten(last)), backward

    results = list(run(*flat))
    count = len(tf.nest.flatten(loop.outputs))
    return (
        tf.nest.pack_sequence_as(loop.outputs, results[:count]),
        tf.nest.pack_sequence_as(carry, results[count:]),
    )


def _for_rows(cell: ScanCell, carry: Any) -> ScanCell:
    """The cell with a copy of each bias per row, in compiled code with known shapes.

    Their gradients are then summed over rows once, after the loop, instead of in each step.
    """
    rows = tf.nest.flatten(carry)[0].shape[0]

    def copies(leaf: Any) -> Any:
        if rows is None or not tf.is_tensor(leaf) or leaf.shape.rank != 1:
            return leaf
        return tf.broadcast_to(leaf, [rows, leaf.shape[0]])

    return tf.nest.map_structure(copies, cell)


class _Record(NamedTuple):
    """The tensors that the forward pass keeps for the backward pass."""

    steps: list[tf.Tensor]  # stacks of carries and of the results of products
    read: list[tf.Tensor]  # (T,...): the inputs of products


class _Loop:
    """One scan: its cell, divided into parts with a gradient and parts without."""

    def __init__(self, cell: ScanCell, carry: Any, inputs: Any, fixed: Any):
        self.fixed = fixed
        self._take(cell, carry, inputs)
        # traced outside the loop only for the shapes; it never runs, because nothing reads it
        recorders = [_Recorder(product) for product in self.products]
        self.outputs, _ = self._step(recorders, self.tensors, carry, tf.constant(0))
        self.sums = [recorder.y for recorder in recorders]
        self.read = [recorder.x for recorder in recorders]
        self.recorded = _SideBySide([*tf.nest.flatten(carry), *self.sums])
        self.record = _Stacks(self.recorded.templates)

    def _take(self, cell: ScanCell, carry: Any, inputs: Any) -> None:
        """Set the cell and the tensors that it reads."""
        self.cell, self.carry, self.inputs = cell, carry, inputs
        self.leaves = tf.nest.flatten(cell)
        self.products = [leaf for leaf in self.leaves if isinstance(leaf, Product)]
        self.tensors = [leaf for leaf in self.leaves if tf.is_tensor(leaf)]
        self.size = tf.shape(tf.nest.flatten((inputs, self.fixed))[0])[0]

    def differentiated(self) -> list[tf.Tensor]:
        """All tensors with a gradient: matrices, the cell's tensors, carry, inputs."""
        matrices = [product.matrix for product in self.products]
        return [*matrices, *self.tensors, *tf.nest.flatten((self.carry, self.inputs))]

    def given(self, tensors: Sequence[tf.Tensor]) -> Self:
        """This loop on other tensors, in the order of `differentiated`."""
        tensors = list(tensors)
        matrices = [tensors.pop(0) for _ in self.products]
        own = [tensors.pop(0) for _ in self.tensors]
        carry, inputs = tf.nest.pack_sequence_as((self.carry, self.inputs), tensors)
        loop = copy.copy(self)  # with the shapes
        loop._take(self._cell([Product(matrix) for matrix in matrices], own), carry, inputs)
        return loop

    def _cell(self, products: Sequence[Product], tensors: Sequence[tf.Tensor]) -> ScanCell:
        """The cell with other products and tensors."""
        next_products, next_tensors = iter(products), iter(tensors)
        leaves = []
        for leaf in self.leaves:
            if isinstance(leaf, Product):
                leaf = next(next_products)
            elif tf.is_tensor(leaf):
                leaf = next(next_tensors)
            leaves.append(leaf)
        return tf.nest.pack_sequence_as(self.cell, leaves)

    def _step(self, products: Sequence, tensors: Sequence[tf.Tensor], carry: Any, t: tf.Tensor):
        x, fixed = tf.nest.map_structure(lambda all_steps: all_steps[t], (self.inputs, self.fixed))
        return self._cell(products, tensors).step(carry, x, fixed)

    def run(self, recording: bool) -> tuple[Any, Any, _Record]:
        """Outputs (T,...), last carry and, if recording, the record for `backward`."""
        given = _SideBySide([*tf.nest.flatten(self.outputs), *(self.read if recording else [])])
        arrays = [self._array(template) for template in given.templates]
        record = self.record.empty(self.size) if recording else []

        def body(t: tf.Tensor, carry: Any, arrays: list[tf.TensorArray], record: list) -> tuple:
            recorders = [_Recorder(product) for product in self.products]
            outputs, new = self._step(recorders, self.tensors, carry, t)
            read = [recorder.x for recorder in recorders] if recording else []
            values = given.joined([*tf.nest.flatten(outputs), *read])
            written = [array.write(t, value) for array, value in zip(arrays, values, strict=True)]
            if recording:
                sums = [recorder.y for recorder in recorders]
                values = self.recorded.joined([*tf.nest.flatten(carry), *sums])
                record = self.record.push(record, values)
            return t + 1, new, written, record

        _, last, arrays, record = tf.while_loop(
            lambda t, *_: t < self.size,
            body,
            (tf.constant(0), self.carry, arrays, record),
            maximum_iterations=self.size,
            parallel_iterations=1,
        )
        stacked = given.apart([array.stack() for array in arrays])
        count = len(tf.nest.flatten(self.outputs))
        outputs = tf.nest.pack_sequence_as(self.outputs, stacked[:count])
        return outputs, last, _Record(record, stacked[count:])

    def backward(self, record: _Record, gradients: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """Gradients of `differentiated`, from the gradients of the outputs and the last carry."""
        width = len(tf.nest.flatten(self.carry))
        d_outputs, d_carry = list(gradients[:-width]), list(gradients[-width:])
        inputs = tf.nest.flatten(self.inputs)
        # dx_t, and dy_t in the type of the products that read it
        types = [product.dtype for product in self.products]
        templates = [x[0] for x in inputs]
        templates += [tf.cast(y, kind) for y, kind in zip(self.sums, types, strict=True)]
        kept = _SideBySide(templates)
        stacks = [self._array(template) for template in kept.templates]
        zeros = [tf.zeros_like(tensor) for tensor in self.tensors]
        # transposed in advance, because few rows times a transposed matrix is slow on CPUs
        transposed = [tf.linalg.matrix_transpose(product.matrix) for product in self.products]

        def body(i: tf.Tensor, record: list, d_carry: list, d_tensors: list, stacks: list) -> tuple:
            t = self.size - 1 - i
            record, values = self.record.pop(record)
            values = self.recorded.apart(values)
            carry, sums = values[:width], values[width:]
            x = [stack[t] for stack in inputs]
            replayers = [
                _Replayer(*each) for each in zip(self.products, transposed, sums, strict=True)
            ]
            tensors = [tf.identity(tensor) for tensor in self.tensors]
            answers = [replayer.y for replayer in replayers]
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch([*carry, *x, *tensors, *answers])
                outputs, new = self._cell(replayers, tensors).step(
                    tf.nest.pack_sequence_as(self.carry, carry),
                    tf.nest.pack_sequence_as(self.inputs, x),
                    tf.nest.map_structure(lambda all_steps: all_steps[t], self.fixed),
                )
                reached = tf.nest.flatten((outputs, new))
            d_reached = [*(stack[t] for stack in d_outputs), *d_carry]
            partials = tape.gradient(
                reached,
                [*carry, *x, *tensors, *answers],
                output_gradients=d_reached,
                unconnected_gradients=tf.UnconnectedGradients.ZERO,
            )
            new_d_carry, partials = partials[:width], partials[width:]
            dx, partials = partials[: len(x)], partials[len(x) :]
            d_own, d_sums = partials[: len(tensors)], partials[len(tensors) :]
            d_sums = [tf.cast(dy, kind) for dy, kind in zip(d_sums, types, strict=True)]
            values = kept.joined([*dx, *d_sums])
            return (
                i + 1,
                record,
                new_d_carry,
                [total + part for total, part in zip(d_tensors, d_own, strict=True)],
                [stack.write(t, value) for stack, value in zip(stacks, values, strict=True)],
            )

        _, _, d_carry, d_tensors, stacks = tf.while_loop(
            lambda i, *_: i < self.size,
            body,
            (tf.constant(0), record.steps, d_carry, zeros, stacks),
            maximum_iterations=self.size,
            parallel_iterations=1,
        )
        stacked = kept.apart([stack.stack() for stack in stacks])
        d_inputs, d_sums = stacked[: len(inputs)], stacked[len(inputs) :]
        d_matrices = [
            _deferred(product, x, dy)
            for product, x, dy in zip(self.products, record.read, d_sums, strict=True)
        ]
        return [*d_matrices, *d_tensors, *d_carry, *d_inputs]

    def _array(self, template: tf.Tensor) -> tf.TensorArray:
        return tf.TensorArray(template.dtype, self.size, element_shape=template.shape)


class _Stacks:
    """Stacks of each step's tensors; the backward loop pops and frees them one by one."""

    def __init__(self, templates: Sequence[tf.Tensor]):
        self._kinds = [(template.dtype, template.shape) for template in templates]

    def empty(self, size: tf.Tensor) -> list[tf.Tensor]:
        """An empty stack for each template, of at most `size` steps."""
        return [
            tf.raw_ops.EmptyTensorList(
                element_shape=_partial(shape), max_num_elements=size, element_dtype=dtype
            )
            for dtype, shape in self._kinds
        ]

    def push(self, stacks: Sequence[tf.Tensor], values: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """The stacks with a step's values added."""
        return [
            tf.raw_ops.TensorListPushBack(input_handle=stack, tensor=value)
            for stack, value in zip(stacks, values, strict=True)
        ]

    def pop(self, stacks: Sequence[tf.Tensor]) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """The stacks without the last step's values, and these values."""
        popped = [
            tf.raw_ops.TensorListPopBack(
                input_handle=stack, element_shape=_partial(shape), element_dtype=dtype
            )
            for stack, (dtype, shape) in zip(stacks, self._kinds, strict=True)
        ]
        return [both.output_handle for both in popped], [both.tensor for both in popped]


class _SideBySide:
    """Joins the tensors of each step into a few wide ones, in compiled code with known shapes.

    On a GPU, launching a write takes longer than the write itself. On a CPU, joining costs time.
    """

    def __init__(self, templates: Sequence[tf.Tensor]):
        self._shapes = [template.shape for template in templates]
        groups: dict[Any, list[int]] = {}
        for place, (template, shape) in enumerate(zip(templates, self._shapes, strict=True)):
            known = shape.is_fully_defined() and shape.rank > 1
            groups.setdefault((template.dtype, shape[0]) if known else place, []).append(place)
        self._groups = list(groups.values())
        self.templates = self.joined(templates)

    def joined(self, tensors: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """Join tensors (B,..) of the same type and B into (B, sum of their widths)."""
        return [
            tensors[places[0]]
            if len(places) == 1
            else tf.concat([tf.reshape(tensors[i], [tensors[i].shape[0], -1]) for i in places], 1)
            for places in self._groups
        ]

    def apart(self, joined: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """The reverse of `joined`, for one step or for all steps (T,..)."""
        tensors: dict[int, tf.Tensor] = {}
        for whole, places in zip(joined, self._groups, strict=True):
            if len(places) == 1:
                tensors[places[0]] = whole
                continue
            shapes = [self._shapes[i] for i in places]
            steps = [-1] * (whole.shape.rank - 2)  # (T,), or () for one step
            parts = tf.split(whole, [shape[1:].num_elements() for shape in shapes], axis=-1)
            for i, part, shape in zip(places, parts, shapes, strict=True):
                tensors[i] = tf.reshape(part, [*steps, *shape])
        return [tensors[i] for i in range(len(tensors))]


def _partial(shape: tf.TensorShape) -> tf.Tensor:
    """A shape for lists of tensors, with -1 for unknown sizes."""
    return tf.constant([-1 if size is None else size for size in shape], tf.int32)


def _deferred(product: Product, x: tf.Tensor, dy: tf.Tensor) -> tf.Tensor:
    """dW = X^T dY, one product over all steps; x: (T,...,N), dy: (T,...,M)."""
    matrix = product.matrix
    if matrix.shape.rank == 2:
        x = tf.reshape(x, [-1, matrix.shape[0]])
        dy = tf.reshape(dy, [-1, matrix.shape[1]])
        return tf.matmul(x, dy, transpose_a=True)
    # one matrix per sentence: (T,B,1,N) -> (B,N,T), (T,B,1,M) -> (B,T,M)
    return tf.matmul(tf.transpose(x[:, :, 0], [1, 2, 0]), tf.transpose(dy[:, :, 0], [1, 0, 2]))


class _Recorder(Product):
    """A product that keeps its input and its result."""

    def __init__(self, product: Product):
        self.product = product

    @property
    def dtype(self) -> tf.DType:
        return self.product.dtype

    def multiply(self, x: tf.Tensor) -> tf.Tensor:
        self.x, self.y = x, self.product.multiply(x)
        return self.y


class _Replayer(Product):
    """A product that returns an earlier result y; the gradient of y is dy."""

    def __init__(self, product: Product, transposed: tf.Tensor, y: tf.Tensor):
        super().__init__(product.matrix)
        self.transposed, self.y = transposed, y

    def multiply(self, x: tf.Tensor) -> tf.Tensor:
        @tf.custom_gradient
        def replay(x: tf.Tensor, y: tf.Tensor) -> tuple:
            def gradient(dy: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
                return tf.matmul(tf.cast(dy, self.matrix.dtype), self.transposed), dy

            return tf.identity(y), gradient

        return replay(x, self.y)
