"""An update: what it divides the gradient by, the norm it returns, and too little memory."""

from types import SimpleNamespace

import pytest
import tensorflow as tf

from cgru_cli.errors import CgruError
from cgru_cli.optimization.step import Outcome
from cgru_cli.options.train import TrainOptions
from cgru_cli.train.plan import TrainingPlan
from cgru_cli.train.update import memory_named, update

GROUP = [SimpleNamespace(batch=SimpleNamespace(sentences=n, words=5 * n)) for n in (2, 4)]


@pytest.mark.parametrize(
    ("options", "expected", "norm"),
    [
        ({"cost_type": "ce-mean"}, {"divisor": 6, "rate": 0.5, "size": 1}, 60.0),
        ({"cost_type": "ce-mean-words"}, {"divisor": 30, "rate": 0.5, "size": 1}, 60.0),
        ({"cost_type": "ce-sum"}, {"divisor": 1, "rate": 0.5, "size": 1}, 2.0),  # of a word
        ({"lr_words_ref": 10}, {"divisor": 6, "rate": 1.5, "size": 1}, 60.0),
        ({"mini_batch_words_ref": 10}, {"divisor": 6, "rate": 1.5, "size": 3}, 60.0),
    ],
)
def test_the_updates_of_the_options(options, expected, norm):
    """Six pairs of thirty words in two batches."""
    seen = []

    def recorded(shares, **values):
        seen.append((shares, values))
        return Outcome(7.0, 60.0, True)

    plan = TrainingPlan(TrainOptions(model="m.npz", **options), can_validate=False)
    step = SimpleNamespace(update=recorded)
    outcome = update(step, plan, GROUP, ["of two", "of four"], 0.5)
    assert outcome == Outcome(7.0, norm, True)
    assert seen == [(["of two", "of four"], expected)]


def test_too_little_memory():
    message = r"6 pairs of 30 target words do not fit .* --workspace"
    with pytest.raises(CgruError, match=message), memory_named(GROUP):
        raise tf.errors.ResourceExhaustedError(None, None, "out of memory")
