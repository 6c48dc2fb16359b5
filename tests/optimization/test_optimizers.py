"""The updates of each optimizer, compared with the formulas in float64 NumPy."""

import keras
import numpy as np
import pytest
from tables import each_row

from cgru_cli.errors import UsageError
from cgru_cli.optimization.optimizers import OPTIMIZERS, optimizer

RATE = 0.1
START = np.array([[0.5, -1.0, 2.0], [0.0, 3.0, -0.25]])
GRADIENTS = [
    np.array([[0.1, -2.0, 0.3], [0.004, -0.5, 7.0]]),
    np.array([[0.2, 1.0, -0.3], [0.001, -0.5, 0.0]]),
    np.array([[-0.1, 0.5, 0.3], [0.0, 2.5, -1.0]]),
]


def adam(w, gradients, beta_1=0.9, beta_2=0.999, epsilon=1e-8):
    """Kingma and Ba 2015, in the efficient order of section 2: epsilon is added to sqrt(v)."""
    m = v = 0
    for t, g in enumerate(gradients, 1):
        m = beta_1 * m + (1 - beta_1) * g
        v = beta_2 * v + (1 - beta_2) * g**2
        rate = RATE * np.sqrt(1 - beta_2**t) / (1 - beta_1**t)
        w = w - rate * m / (np.sqrt(v) + epsilon)
    return w


def adamw(w, gradients, beta_1=0.9, beta_2=0.999, epsilon=1e-8, weight_decay=0.004):
    """Loshchilov and Hutter 2019: the decay times the rate, apart from the gradient."""
    m = v = 0
    for t, g in enumerate(gradients, 1):
        w = w - RATE * weight_decay * w
        m = beta_1 * m + (1 - beta_1) * g
        v = beta_2 * v + (1 - beta_2) * g**2
        rate = RATE * np.sqrt(1 - beta_2**t) / (1 - beta_1**t)
        w = w - rate * m / (np.sqrt(v) + epsilon)
    return w


def sgd(w, gradients, momentum=0.0):
    velocity = 0
    for g in gradients:
        velocity = momentum * velocity - RATE * g
        w = w + velocity
    return w


def adagrad(w, gradients, initial=0.0, epsilon=1e-8):
    """Duchi et al. 2011, with Marian's epsilon."""
    squares = initial
    for g in gradients:
        squares = squares + g**2
        w = w - RATE * g / (np.sqrt(squares) + epsilon)
    return w


def adadelta(w, gradients, rho=0.95, epsilon=1e-6):
    """Zeiler 2012, algorithm 1, with a factor for the step."""
    squares = steps = 0
    for g in gradients:
        squares = rho * squares + (1 - rho) * g**2
        step = -np.sqrt(steps + epsilon) / np.sqrt(squares + epsilon) * g
        steps = rho * steps + (1 - rho) * step**2
        w = w + RATE * step
    return w


def rmsprop(w, gradients, rho=0.95, momentum=0.0, epsilon=1e-7, centered=0.0):
    """Hinton's lecture 6e, momentum of the quotient; centred as in Graves 2013, eq. 38-45."""
    squares = mean = velocity = 0
    for g in gradients:
        squares = rho * squares + (1 - rho) * g**2
        mean = rho * mean + (1 - rho) * g
        variance = squares - mean**2 if centered else squares
        velocity = momentum * velocity + RATE * g / np.sqrt(variance + epsilon)
        w = w - velocity
    return w


CASES = [
    ("adam", adam, ()),
    ("adam", adam, (0.8, 0.98, 1e-3)),
    ("adamw", adamw, ()),
    ("adamw", adamw, (0.9, 0.99, 1e-6, 0.2)),
    ("sgd", sgd, ()),
    ("sgd", sgd, (0.9,)),
    ("adagrad", adagrad, ()),
    ("adagrad", adagrad, (0.1, 1e-3)),
    ("adadelta", adadelta, ()),
    ("adadelta", adadelta, (0.8, 1e-3)),
    ("rmsprop", rmsprop, ()),
    ("rmsprop", rmsprop, (0.9, 0.5, 1e-3)),
    ("rmsprop", rmsprop, (0.95, 0.9, 1e-4, 1)),  # Nematus' and DL4MT's
]


def updated(name, given):
    """The weights after the gradients above, in float32."""
    own = optimizer(name, given, RATE)
    variable = keras.Variable(START.astype(np.float32))
    for gradient in GRADIENTS:
        own.apply([keras.ops.convert_to_tensor(gradient.astype(np.float32))], [variable])
    return variable.value.numpy()


@each_row(("name", "formula", "given"), CASES)
def test_updates_are_the_formulas(name, formula, given):
    expected = formula(START, GRADIENTS, *given)
    np.testing.assert_allclose(updated(name, given), expected, rtol=1e-4, atol=1e-6)


def test_some_parameters_are_enough():
    """The others keep their defaults."""
    expected = adam(START, GRADIENTS, 0.5)
    np.testing.assert_allclose(updated("adam", (0.5,)), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_rate_is_the_one_given(name):
    assert float(optimizer(name, (), 0.25).learning_rate) == 0.25


@pytest.mark.parametrize(
    ("name", "given", "parameter"),
    [
        ("adam", (1.0,), "beta_1"),
        ("adamw", (0.9, 1.0), "beta_2"),
        ("adadelta", (1.0,), "rho"),
        ("rmsprop", (2.0,), "rho"),
        ("rmsprop", (0.9, 1.0), "momentum"),
        ("sgd", (1.5,), "momentum"),
    ],
)
def test_averages_that_never_fade_are_refused(name, given, parameter):
    expected = f"^--optimizer-params: {parameter} of {name} is {given[-1]:g}; it must be below 1$"
    with pytest.raises(UsageError, match=expected):
        optimizer(name, given, RATE)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_too_many_parameters_are_refused(name):
    names = list(OPTIMIZERS[name][1])
    with pytest.raises(UsageError) as error:
        optimizer(name, [0.5] * (len(names) + 1), RATE)
    message = str(error.value)
    assert "\n" not in message and message.startswith("--optimizer-params: ") and name in message
    assert all(parameter in message for parameter in names)
