"""The devices that train one model together, here and in other processes, by tf.distribute.

Each replica has all parameters and a share of every batch: the sum of the replicas' gradients is
the batch's, and each follows it alike. What a training decides by, its clock and its validation,
is that of worker 0.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

import numpy as np
import tensorflow as tf

from ..errors import CgruError
from ..system.cluster import Cluster

_LEAVING = 1.0  # seconds
_SENT_AT_ONCE = 32 << 20  # bytes of gradients

Result = TypeVar("Result")


class Replicas:
    """The devices of a training; without a strategy, the one that TensorFlow computes on."""

    def __init__(
        self, strategy: tf.distribute.Strategy | None = None, workers: Cluster | None = None
    ):
        self._strategy = strategy or tf.distribute.get_strategy()
        self._workers = workers
        self.count: int = self._strategy.num_replicas_in_sync  # of all processes
        self.processes = len(workers.addresses) if workers else 1
        self.here = self.count // self.processes
        self.first = self.here * (workers.index if workers else 0)  # number of the first one here
        self._sum: Callable | None = None

    @classmethod
    def join(cls, workers: Cluster | None) -> Self:
        """The devices of all workers, or this machine's GPUs, or its CPU where there is none.

        Raises CgruError where workers do not find each other.
        """
        if workers is not None:
            workers.meet()
            os.environ["TF_CONFIG"] = workers.tf_config()
            try:
                return cls(tf.distribute.MultiWorkerMirroredStrategy(), workers)
            except (tf.errors.OpError, RuntimeError) as error:
                reason = str(error).splitlines()[0]
                raise CgruError(f"{workers.name(workers.index)} cannot train: {reason}") from None
        for kind in ("GPU", "CPU"):
            names = [device.name for device in tf.config.list_logical_devices(kind)]
            if len(names) > 1:
                return cls(tf.distribute.MirroredStrategy(names))
            if names:
                break
        return cls()

    @property
    def is_first(self) -> bool:
        """Whether this is worker 0."""
        return self.first == 0

    def __str__(self) -> str:
        """The number of devices and workers for the log; "" for one device."""
        if self.count == 1:
            return ""
        processes = f" of {self.processes} workers" if self.processes > 1 else ""
        return f"{self.count} devices{processes}"

    def scope(self) -> contextlib.AbstractContextManager:
        """A context in which new variables are placed on every replica."""
        return self._strategy.scope()

    # -- in compiled functions -----------------------------------------------------------------

    def run(self, function: Callable[..., Any], shares: Sequence[tuple]) -> tuple:
        """The results of function(*share) on each replica here, each with its own share."""

        def of_replica() -> Any:
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            if tf.is_tensor(number):
                number = tf.get_static_value(number)
            return function(*shares[int(number) - self.first])

        return self._strategy.experimental_local_results(self._strategy.run(of_replica))

    def sum(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """Sums over all replicas; inside of `run`."""
        if self.count == 1:
            return tensors
        context = tf.distribute.get_replica_context()
        here = [tf.identity(tensor) for tensor in tensors]  # what a function is given is nowhere
        known = all(tensor.shape.is_fully_defined() for tensor in tensors)
        options = tf.distribute.experimental.CommunicationOptions(
            bytes_per_pack=_SENT_AT_ONCE * known
        )
        return context.all_reduce(tf.distribute.ReduceOp.SUM, here, options)

    def assign(
        self, variable: tf.Variable, value: Callable[[tf.Tensor, tf.Tensor], Any], other: Any
    ) -> None:
        """Call value(variable, other) on each replica here, to assign; outside of `run`."""
        self._strategy.extended.update(variable, value, args=(other,))

    # -- between processes ---------------------------------------------------------------------

    @property
    def _named(self) -> Cluster:
        """The processes, where there are several."""
        assert self._workers is not None  # noqa: S101 - for types: asked for where there are
        return self._workers

    def all_sum(self, values: Sequence[float]) -> list[float]:
        """Elementwise sums of the values of all processes."""
        if self.processes == 1:
            return list(values)
        return self._summed(np.array(values)).tolist()

    def barrier(self) -> None:
        """Wait until all processes get here; none leaves before the others know."""
        if self.processes > 1:
            self.all_sum([0.0])
            time.sleep(_LEAVING)  # others may still be told that this one was here

    def all_gather(self, text: str) -> list[str]:
        """The texts of all processes, in the order of the workers."""
        if self.processes == 1:
            return [text]
        content = np.frombuffer(text.encode(), np.uint8)
        sizes = np.zeros(self.processes, int)
        sizes[self._named.index] = len(content)
        *ends, length = np.cumsum(self._summed(sizes)).astype(int)
        start = ([0, *ends])[self._named.index]
        everything = np.zeros(length + 1)  # no empty sums
        everything[start : start + len(content)] = content
        everything = self._summed(everything)[:length].astype(np.uint8)
        return [part.tobytes().decode() for part in np.split(everything, ends)]

    def broadcast(self, value: Any) -> Any:
        """The value of worker 0, anything that JSON can hold."""
        text = json.dumps(value) if self.is_first else ""
        return json.loads(self.all_gather(text)[0]) if self.processes > 1 else value

    def broadcast_arrays(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The arrays of worker 0, to the bit; the others' have the same names and shapes."""
        if self.processes == 1:
            return dict(arrays)
        of_first = {}
        for name, array in arrays.items():
            content = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
            whole = np.zeros(-(-len(content) // 4) * 4, np.uint8)
            if self.is_first:
                whole[: len(content)] = content
            summed = self._summed(whole.view(np.int32)).astype(np.int32).tobytes()
            of_first[name] = np.frombuffer(summed[: len(content)], array.dtype).reshape(array.shape)
        return of_first

    def run_in_all(self, work: Callable[[], Result]) -> Result:
        """The result of work(), run in every process; a CgruError of one is raised in all."""
        if self.processes == 1:
            return work()
        results: list[Result] = []
        failed: CgruError | None = None
        try:
            results.append(work())
        except CgruError as error:
            failed = error
        problems = self.all_gather(str(failed or ""))
        if any(problems):
            self.barrier()
        if failed:
            raise failed
        for index, problem in enumerate(problems):
            if problem:
                raise CgruError(f"{self._named.name(index)}: {problem}")
        return results[0]

    def check_same(self, values: Mapping[str, Any]) -> None:
        """Raises CgruError in every process where one has other values than worker 0."""
        given = [json.loads(text) for text in self.all_gather(json.dumps(dict(values)))]
        for index, others in enumerate(given):
            for name in given[0] | others:
                value, expected = others.get(name), given[0].get(name)
                if value != expected:
                    self.barrier()
                    raise CgruError(
                        f"{self._named.name(index)} trains otherwise than worker 0: {name} is "
                        f"{_short(value)}, not {_short(expected)}"
                    )

    @contextlib.contextmanager
    def failures_named(self) -> Iterator[None]:
        """Raises CgruError, naming the worker that has ended, in place of TensorFlow's error."""
        try:
            yield
        except tf.errors.OpError as error:
            if self.processes == 1:
                raise
            numbers = map(int, re.findall(r"/job:worker/replica:0/task:(\d+)", str(error)))
            other = next((n for n in numbers if n != self._named.index), None)
            who = "another worker" if other is None else self._named.name(other)
            raise CgruError(
                f"{who} has ended; the same command, for all workers, goes on from the last save"
            ) from None

    def _summed(self, array: np.ndarray) -> np.ndarray:
        """Sums over the processes, (N,) float64: whole numbers below 2^53 stay what they are."""
        if self._sum is None:
            function = tf.function(self._sum_over_processes, autograph=False)
            self._sum = function.get_concrete_function(tf.TensorSpec([None], tf.float64))
        return self._sum(tf.constant(array, tf.float64)).numpy()

    def _sum_over_processes(self, array: tf.Tensor) -> tf.Tensor:
        nothing = tf.zeros_like(array)
        shares = [(array,)] + [(nothing,)] * (self.here - 1)
        return self.run(lambda share: self.sum([share])[0], shares)[0]


def _short(value: Any) -> str:
    """A value in a message; of a fingerprint, enough to tell it from another."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:12]}..."
