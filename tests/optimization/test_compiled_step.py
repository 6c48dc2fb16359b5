"""The training step compiled by XLA: no transfers that a GPU waits for, and few operations.

On a GPU a step of a loop takes as long as starting its operations, one after the other. The counts
are those of XLA for CPUs; XLA for GPUs fuses more, and has 10, 13, 20 and 9 of a GRU.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from cases import random_arrays, tiny

from cgru_cli.corpus.batches import Batch
from cgru_cli.network.keras_model import RecurrentModel
from cgru_cli.optimization.optimizers import optimizer
from cgru_cli.optimization.step import Regularization, TrainingStep
from cgru_cli.parameters.structure import Unit

pytestmark = pytest.mark.long


HLO = Path(__file__).resolve().parents[2] / "benchmarks/hlo.py"
B, S, T = 4, 3, 5


@pytest.fixture
def hlo():
    spec = importlib.util.spec_from_file_location("hlo", HLO)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def compiled(unit):
    structure = tiny(encoder_unit=unit, decoder_unit=unit)
    model = RecurrentModel(structure, random_arrays(structure))
    step = TrainingStep(model, optimizer("sgd", (), 0.1), Regularization(), jit=True)
    ones = np.ones
    examples = Batch(
        ones([B, S, 1], "i4"), ones([B, S], "f4"), ones([B, T], "i4"), ones([B, T], "f4")
    )
    examples = tf.nest.map_structure(tf.constant, examples)
    given = examples, {}, tf.constant(1.0)
    return step._compute.experimental_get_compiler_ir(*given)(stage="optimized_hlo")


@pytest.mark.parametrize(
    ("unit", "most"),  # operations per step: encoder and decoder, then both backward
    [
        (Unit.GRU, [10, 16, 46, 24]),
        pytest.param(Unit.LSTM, [20, 19, 48, 34], marks=pytest.mark.exhaustive),
    ],
)
def test_loops_of_the_training_step(hlo, unit, most):
    text = compiled(unit)
    assert hlo.unknown_shapes(text) == []
    assert hlo.transfers(text) == set()
    loops = hlo.loops(text)
    assert [loop.steps for loop in loops] == [S, T, T, S]
    counts = [sum(loop.operations.values()) for loop in loops]
    assert all(count <= limit for count, limit in zip(counts, most, strict=True)), counts
