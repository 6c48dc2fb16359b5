"""A training step with prescribed costs and gradients."""

from types import SimpleNamespace

import keras
import numpy as np
import tensorflow as tf

from cgru_cli.optimization.optimizers import optimizer
from cgru_cli.optimization.step import Gradients, Regularization, TrainingStep

NO_EXAMPLES = (None, None)
START = {"a": [[1.0, -2.0, 0.5]], "b": [3.0, 0.25]}


class Scripted(TrainingStep):
    """A step for two small parameters, with prescribed costs and gradients."""

    def __init__(
        self,
        name="sgd",
        given=(),
        frozen=(),
        compute_dtype="float32",
        prior=None,
        quantization=None,
        **regularization,
    ):
        parameters = {n: keras.Variable(np.float32(a), name=n) for n, a in START.items()}
        model = SimpleNamespace(
            parameters=parameters,
            compute_dtype=compute_dtype,
            arrays=lambda: {n: v.value.numpy() for n, v in parameters.items()},
            assign=lambda arrays: [v.assign(arrays[n]) for n, v in parameters.items()],
        )
        how = Regularization(**regularization)
        super().__init__(
            model,
            optimizer(name, given, 1.0),
            how,
            jit=False,
            frozen=frozen,
            prior=prior,
            quantization=quantization,
        )
        self.script = []

    def gradients(self, shares):
        cost, arrays = self.script.pop(0)
        scale = np.float32(self.loss_scale.scale)
        found = [tf.constant(scale * np.float32(arrays[name])) for name in self.trained]
        return [Gradients(tf.constant(scale * np.float32(cost)), found)]

    def follow(self, *script, divisor=1.0, rate=0.1):
        self.script = list(script)
        return self.update([[NO_EXAMPLES]] * len(script), divisor, rate)


def random_script(count, seed=0, **changes):
    """Random costs and gradients for a number of updates."""
    rng = np.random.default_rng(seed)
    shapes = {n: np.shape(a) for n, a in START.items()}
    return [
        (float(rng.uniform(1, 9)), {n: rng.normal(size=s) for n, s in shapes.items()})
        for _ in range(count)
    ]


def same(one, other):
    """Whether both are bit-identical."""
    assert one.keys() == other.keys()
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name, strict=True)
