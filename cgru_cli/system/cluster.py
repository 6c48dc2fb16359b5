"""The processes that train a model together, from TF_CONFIG or from a Slurm step."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from ..errors import CgruError, warn

_HERE, _GO = b"cgru worker ", b"go"  # what workers tell each other when they meet
_TURN = 1.0  # seconds between two attempts
_PATIENCE = 5.0  # seconds before the user is told who is waited for
_SLURM_PORTS = 20_000  # that many from this one on, by the number of the job


def named(environment: Mapping[str, str]) -> bool:
    """Whether the environment names workers; they are not parsed."""
    tasks = environment.get("SLURM_STEP_NUM_TASKS", "1")
    return bool(environment.get("TF_CONFIG", "").strip()) or (tasks.isdigit() and int(tasks) > 1)


class Cluster(NamedTuple):
    """All processes of a training; worker 0 writes, logs and validates."""

    addresses: tuple[str, ...]  # HOST:PORT of each
    index: int  # type: ignore[assignment]  # which of them this one is; tuple's own is not used

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self | None:
        """Those that the environment names: TF_CONFIG before Slurm. None where there is one only.

        Raises CgruError where what it says is not understood.
        """
        if environment.get("TF_CONFIG", "").strip():
            cluster = cls(*_of_tf_config(environment["TF_CONFIG"]))
        elif named(environment):
            cluster = cls(*_of_slurm(environment))
        else:
            return None
        return cluster if len(cluster.addresses) > 1 else None

    def name(self, index: int) -> str:
        """The name of a worker in messages."""
        return f"worker {index} ({self.addresses[index]})"

    def meet(self, seconds: float = 300) -> None:
        """Wait until all are there, at the address of worker 0, which they leave free again.

        TensorFlow, too, would wait, but for ever, and deaf to signals. Raises CgruError where some
        have not come in so many seconds.
        """
        until = time.monotonic() + seconds
        missing = _gathered(self, until) if self.index == 0 else _reported(self, until)
        if missing:
            names = ", ".join(map(self.name, missing))
            raise CgruError(f"{names} did not come in {seconds:.0f} seconds; start all workers")

    def tf_config(self) -> str:
        """TF_CONFIG, as TensorFlow is to read it."""
        return json.dumps({
            "cluster": {"worker": self.addresses},
            "task": {"type": "worker", "index": self.index},
        })  # fmt: skip


def _gathered(workers: Cluster, until: float) -> list[int]:
    """Worker 0's part: hear of all others, then let them go; who did not come."""
    missing = set(range(1, len(workers.addresses)))
    port = int(workers.addresses[0].rpartition(":")[2])
    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(socket.create_server(("", port)))
        except OSError as error:
            raise CgruError(f"{workers.name(0)}: its port is taken ({error.strerror})") from None
        others = {}
        told = time.monotonic() + _PATIENCE
        while missing and time.monotonic() < until:
            if time.monotonic() > told:
                warn(f"waiting for {', '.join(map(workers.name, sorted(missing)))}")
                told = until
            server.settimeout(_TURN)
            with contextlib.suppress(OSError, ValueError):  # nobody, or somebody else
                other = stack.enter_context(server.accept()[0])
                other.settimeout(_TURN)
                index = int(other.recv(len(_HERE) + 20).removeprefix(_HERE))
                others[index] = other
                missing.discard(index)
        if not missing:
            for other in others.values():
                with contextlib.suppress(OSError):
                    other.sendall(_GO)
    return sorted(missing)


def _reported(workers: Cluster, until: float) -> list[int]:
    """The others' part: tell worker 0, and wait for its word; [0] if it does not come."""
    host, _, port = workers.addresses[0].rpartition(":")
    told = time.monotonic() + _PATIENCE
    while (now := time.monotonic()) < until:
        if now > told:
            warn(f"waiting for {workers.name(0)}, and all others")
            told = until
        address = host.strip("[]"), int(port)
        with contextlib.suppress(OSError), socket.create_connection(address, _TURN) as first:
            first.sendall(_HERE + str(workers.index).encode())
            first.settimeout(max(_TURN, until - now))
            if first.recv(len(_GO)) == _GO:
                return []
        time.sleep(_TURN / 5)
    return [0]


def _of_tf_config(text: str) -> tuple[tuple[str, ...], int]:
    """Addresses and index; of a chief and workers, the chief is worker 0."""
    try:
        values = json.loads(text)
        cluster, task = values.get("cluster") or {}, values.get("task") or {}
        jobs = {job: _addresses(cluster[job]) for job in cluster}
        kind, index = task.get("type", "worker"), int(task.get("index", 0))
    except (AttributeError, TypeError, ValueError) as error:
        raise CgruError(f"TF_CONFIG: not understood ({error})") from None
    if others := sorted({*jobs, kind} - {"chief", "worker"}):
        raise CgruError(f"TF_CONFIG: {others[0]}: workers, and one chief, train; nothing else")
    chiefs = jobs.get("chief", ())
    addresses = chiefs + jobs.get("worker", ())
    if kind == "worker":
        index += len(chiefs)
    if addresses and not 0 <= index < len(addresses):
        raise CgruError(f"TF_CONFIG: no {kind} {task.get('index')} among {len(addresses)} workers")
    if len(set(addresses)) < len(addresses):
        raise CgruError("TF_CONFIG: two workers have the same address")
    return addresses, index


def _addresses(values: Any) -> tuple[str, ...]:
    for address in values:
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise ValueError(f"{address!r} where HOST:PORT is expected")
    return tuple(values)


def _of_slurm(environment: Mapping[str, str]) -> tuple[tuple[str, ...], int]:
    """Addresses and index of a step's tasks, as TensorFlow understands Slurm's variables."""
    import tensorflow as tf

    port = _SLURM_PORTS + int(environment.get("SLURM_JOB_ID") or 0) % _SLURM_PORTS
    tasks = int(environment["SLURM_STEP_NUM_TASKS"])
    try:  # GPUs, which it would ask nvidia-smi for, are looked for by TensorFlow itself
        resolver = tf.distribute.cluster_resolver.SlurmClusterResolver(
            port_base=port, gpus_per_node=tasks, gpus_per_task=1, auto_set_gpu=False
        )
        addresses = resolver.cluster_spec().as_dict()["worker"]
    except (KeyError, RuntimeError, ValueError, AssertionError) as error:
        raise CgruError(f"Slurm's variables are not understood: {error}") from None
    return tuple(addresses), resolver.task_id
