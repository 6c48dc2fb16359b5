"""The devices that train one model together, here and in other processes, with tf.distribute.

Each replica has all parameters and a share of every batch. The gradient of the batch is the sum of
the replicas' gradients, and all replicas apply it. Worker 0's clock and validation decide for
all workers.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

import numpy as np
import tensorflow as tf

from ..errors import CgruError
from .cluster import Cluster

_LEAVING = 1.0  # seconds that a worker waits after a barrier
_SENT_AT_ONCE = 32 << 20  # bytes of gradients

Result = TypeVar("Result")


class Replicas:
    """The devices of a training run; without a strategy, TensorFlow's default device."""

    def __init__(
        self, strategy: tf.distribute.Strategy | None = None, workers: Cluster | None = None
    ):
        self._strategy = strategy or tf.distribute.get_strategy()
        self._workers = workers or Cluster(("",), 0)
        self.count: int = self._strategy.num_replicas_in_sync  # in all processes
        self.processes = len(self._workers.addresses)
        self.here = self.count // self.processes
        self.first = self.here * self._workers.index  # index of this process' first replica
        self._sum: Callable | None = None

    @classmethod
    def join(cls, workers: Cluster | None) -> Self:
        """The devices of all workers, or this machine's GPUs, or its CPU if it has no GPU.

        Raises CgruError if the workers do not find each other.
        """
        if workers is not None:
            workers.meet()
            resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
                tf.train.ClusterSpec({"worker": workers.addresses}), "", "worker", workers.index
            )
            try:
                return cls(tf.distribute.MultiWorkerMirroredStrategy(resolver), workers)
            except (tf.errors.OpError, RuntimeError) as error:
                reason = str(error).splitlines()[0]
                raise CgruError(f"{workers.name(workers.index)} cannot train: {reason}") from None
        devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
        names = [device.name for device in devices]
        return cls(tf.distribute.MirroredStrategy(names) if len(names) > 1 else None)

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
        """The results of function(*share) on each local replica, each with its own share."""

        def run_replica() -> Any:
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            if tf.is_tensor(number):
                number = tf.get_static_value(number)
            return function(*shares[int(number) - self.first])

        return self._strategy.experimental_local_results(self._strategy.run(run_replica))

    def sum(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        """Sums over all replicas; call it inside `run`."""
        if self.count == 1:
            return tensors
        context = tf.distribute.get_replica_context()
        here = [tf.identity(tensor) for tensor in tensors]  # because arguments have no device
        known = all(tensor.shape.is_fully_defined() for tensor in tensors)
        options = tf.distribute.experimental.CommunicationOptions(
            bytes_per_pack=_SENT_AT_ONCE * known
        )
        return context.all_reduce(tf.distribute.ReduceOp.SUM, here, options)

    def assign(
        self, variable: tf.Variable, value: Callable[[tf.Tensor, tf.Tensor], Any], other: Any
    ) -> None:
        """Assign value(variable, other) on each local replica; call it outside `run`."""
        self._strategy.extended.update(variable, value, args=(other,))

    # -- between processes ---------------------------------------------------------------------

    def all_sum(self, values: Sequence[float]) -> list[float]:
        """Elementwise sums of the values of all processes."""
        if self.processes == 1:
            return list(values)
        return self._summed(np.array(values)).tolist()

    def barrier(self) -> None:
        """Wait until all processes reach this point."""
        if self.processes > 1:
            self.all_sum([0.0])
            time.sleep(_LEAVING)  # the last messages may still be in transit

    def all_gather(self, text: str) -> list[str]:
        """The texts of all processes, in the order of the workers."""
        if self.processes == 1:
            return [text]
        content, index = np.frombuffer(text.encode(), np.uint8), self._workers.index
        sizes = np.zeros(self.processes)
        sizes[index] = len(content)
        ends = np.cumsum(self._summed(sizes)).astype(int)
        everything = np.zeros(ends[-1] + 1)  # never empty
        everything[ends[index] - len(content) : ends[index]] = content
        everything = self._summed(everything).astype(np.uint8)
        return [part.tobytes().decode() for part in np.split(everything, ends)[:-1]]

    def broadcast(self, value: Any) -> Any:
        """The value of worker 0, of any type that JSON can hold."""
        if self.processes == 1:
            return value
        return json.loads(self.all_gather(json.dumps(value) if self.is_first else "")[0])

    def broadcast_arrays(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Worker 0's arrays, bit-exact; other workers' arrays have the same names and shapes."""
        if self.processes == 1:
            return dict(arrays)
        received = {}
        for name, array in arrays.items():
            padding = bytes(-array.nbytes % 4)
            words = np.frombuffer(array.tobytes() + padding, np.int32)
            words = self._summed(words * self.is_first).astype(np.int32)
            content = words.tobytes()[: array.nbytes]
            received[name] = np.frombuffer(content, array.dtype).reshape(array.shape)
        return received

    def run_in_all(self, work: Callable[[], Result]) -> Result:
        """Run work() in every process; a CgruError in one process is raised in all."""
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
                raise CgruError(f"{self._workers.name(index)}: {problem}")
        return results[0]

    def check_same(self, values: Mapping[str, Any]) -> None:
        """Raises CgruError in every process if one process' values differ from worker 0's."""
        first, *others = (json.loads(x) for x in self.all_gather(json.dumps(dict(values))))
        for index, other in enumerate(others, 1):
            for name in first | other:
                if other.get(name) != first.get(name):
                    self.barrier()
                    value, expected = _short(other.get(name)), _short(first.get(name))
                    raise CgruError(
                        f"{self._workers.name(index)} differs from worker 0: {name} is {value}, "
                        f"not {expected}"
                    )

    @contextlib.contextmanager
    def failures_named(self) -> Iterator[None]:
        """A context that replaces TensorFlow's error with a CgruError naming the ended worker."""
        try:
            yield
        except tf.errors.OpError as error:
            if self.processes == 1:
                raise
            numbers = map(int, re.findall(r"/job:worker/replica:0/task:(\d+)", str(error)))
            other = next((n for n in numbers if n != self._workers.index), None)
            who = "another worker" if other is None else self._workers.name(other)
            raise CgruError(
                f"{who} has ended; run all workers again to resume from the last save"
            ) from None

    def _summed(self, array: np.ndarray) -> np.ndarray:
        """Sums over the processes, (N,) float64, exact for integers below 2^53."""
        if self._sum is None:
            function = tf.function(self._sum_over_processes, autograph=False)
            self._sum = function.get_concrete_function(tf.TensorSpec([None], tf.float64))
        return self._sum(tf.constant(array, tf.float64)).numpy()

    def _sum_over_processes(self, array: tf.Tensor) -> tf.Tensor:
        nothing = tf.zeros_like(array)
        shares = [(array,)] + [(nothing,)] * (self.here - 1)
        return self.run(lambda share: self.sum([share])[0], shares)[0]


def _short(value: Any) -> str:
    """A value for a message; fingerprints are shortened."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:12]}..."
