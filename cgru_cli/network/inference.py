"""Functions compiled for search and scoring, which need no gradients."""

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

_FORWARD_ONLY = contextvars.ContextVar("forward_only", default=False)


def compiled(function: Callable[..., Any], *signature: Any) -> Any:
    """The function of nested tensors, traced for one signature and without gradients.

    In each call, a `tf.function` looks for the trace that fits all its arguments and all weights
    that it reads. This lookup takes 0.8 ms, compared with 2 ms for the step of a single line.
    """
    with forward_only():
        return tf.function(
            # hide arguments with defaults, because the trace would expect values for them
            lambda *given: function(*given),
            input_signature=signature,
            autograph=False,
        ).get_concrete_function()


@contextlib.contextmanager
def forward_only() -> Iterator[None]:
    """Trace functions in this block without gradients."""
    token = _FORWARD_ONLY.set(True)
    try:
        yield
    finally:
        _FORWARD_ONLY.reset(token)


def with_gradient(function: Callable[..., tuple]) -> Callable[..., Any]:
    """Like `tf.custom_gradient`, but without the gradient inside `compiled`.

    TensorFlow keeps the gradients of all graphs until the process ends, and with them the weights
    that the graphs read.
    """
    differentiable = tf.custom_gradient(function)

    def run(*given: tf.Tensor) -> Any:
        return function(*given)[0] if _FORWARD_ONLY.get() else differentiable(*given)

    return run
