"""An update of the weights with the gradients of one or several batches."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..errors import CgruError
from .examples import Example, size_of
from .plan import TrainingPlan

if TYPE_CHECKING:
    from ..optimization.step import Outcome, Share, TrainingStep


def update(
    step: TrainingStep,
    plan: TrainingPlan,
    group: Sequence[Example],
    shares: Sequence[Sequence[Share]],
    rate: float,
) -> Outcome:
    """Update the weights once; the norm is that of the gradient of the plan's --cost-type.

    shares: those of each batch of the group, from `device_shares`. rate: the learning rate, before
    --lr-words-ref and --mini-batch-words-ref adjust it to the words of the update.
    """
    (sentences, words), kind = size_of(group), plan.options.cost_type
    divisor = {"ce-mean": sentences, "ce-mean-words": words, "ce-sum": 1}[kind]
    rate, size = plan.schedule.of_update(rate, words)
    outcome = step.update(shares, divisor=divisor, rate=rate, size=size)
    return outcome._replace(norm=outcome.norm / words) if kind == "ce-sum" else outcome


@contextlib.contextmanager
def memory_named(group: Sequence[Example]) -> Iterator[None]:
    """Raises CgruError, with the size of these batches, if a device has not enough memory."""
    import tensorflow as tf

    try:
        yield
    except tf.errors.ResourceExhaustedError:
        sentences, words = size_of(group)
        raise CgruError(
            f"{sentences} pairs of {words:,} target words do not fit into the memory of the "
            "device; lower --mini-batch, or use --mini-batch-fit with --workspace"
        ) from None
