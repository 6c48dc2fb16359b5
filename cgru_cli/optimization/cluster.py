"""The processes that train a model together, from TF_CONFIG or from a Slurm step.

TensorFlow is imported only where Slurm's variables are read.
"""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from ..errors import CgruError, warn

_HERE, _GO = b"cgru worker ", b"go"  # the messages that workers exchange at the start
_TURN = 1.0  # seconds between two attempts
_PATIENCE = 5.0  # seconds before a warning names the workers that are missing
_SLURM_PORTS = 20_000  # the first port, and the number of ports: a job's number chooses one


def is_named(environment: Mapping[str, str]) -> bool:
    """Whether the environment names workers; does not parse it."""
    tasks = environment.get("SLURM_STEP_NUM_TASKS", "1")
    return bool(environment.get("TF_CONFIG", "").strip()) or (tasks.isdigit() and int(tasks) > 1)


class Cluster(NamedTuple):
    """All processes of a training run; worker 0 writes, logs and validates."""

    addresses: tuple[str, ...]  # HOST:PORT of each process
    index: int  # type: ignore[assignment]  # of this process; hides a tuple's method

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self | None:
        """The workers from TF_CONFIG, else from Slurm's variables; None for a single process.

        Raises CgruError for invalid values.
        """
        if environment.get("TF_CONFIG", "").strip():
            cluster = cls(*_from_tf_config(environment["TF_CONFIG"]))
        elif is_named(environment):
            cluster = cls(*_from_slurm(environment))
        else:
            return None
        return cluster if len(cluster.addresses) > 1 else None

    def name(self, index: int) -> str:
        """The name of a worker in messages."""
        return f"worker {index} ({self.addresses[index]})"

    def meet(self, seconds: float = 300) -> None:
        """Wait for all workers, at the address of worker 0, and then release the address.

        TensorFlow would wait forever and ignore signals. Raises CgruError if a worker does not
        connect in time.
        """
        until = time.monotonic() + seconds
        missing = _wait_for_others(self, until) if self.index == 0 else _report(self, until)
        if missing:
            names = ", ".join(map(self.name, missing))
            raise CgruError(
                f"{names} did not connect within {seconds:.0f} seconds; start all workers"
            )


def _wait_for_others(workers: Cluster, until: float) -> list[int]:
    """In worker 0, wait for the others' reports, then answer all; returns the missing workers."""
    missing = set(range(1, len(workers.addresses)))
    port = int(workers.addresses[0].rpartition(":")[2])
    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(socket.create_server(("", port)))
        except OSError as error:
            raise CgruError(f"{workers.name(0)}: its port is in use ({error.strerror})") from None
        server.settimeout(_TURN)
        others = {}
        warning = time.monotonic() + _PATIENCE
        while missing and time.monotonic() < until:
            if time.monotonic() > warning:
                warn(f"waiting for {', '.join(map(workers.name, sorted(missing)))}")
                warning = until
            with contextlib.suppress(OSError, ValueError):  # no connection, or another program
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


def _report(workers: Cluster, until: float) -> list[int]:
    """In other workers, report to worker 0 and await its answer; returns [0] without an answer."""
    host, _, port = workers.addresses[0].rpartition(":")
    warning = time.monotonic() + _PATIENCE
    while (now := time.monotonic()) < until:
        if now > warning:
            warn(f"waiting for {workers.name(0)} and all others")
            warning = until
        address = host.strip("[]"), int(port)
        with contextlib.suppress(OSError), socket.create_connection(address, _TURN) as first:
            first.sendall(_HERE + str(workers.index).encode())
            first.settimeout(max(_TURN, until - now))
            if first.recv(len(_GO)) == _GO:
                return []
        time.sleep(_TURN / 5)
    return [0]


def _from_tf_config(text: str) -> tuple[tuple[str, ...], int]:
    """Addresses and index; a chief is worker 0, before the workers.

    TensorFlow's own resolver does not check the values.
    """
    try:
        values = json.loads(text)
        jobs, task = values.get("cluster") or {}, values.get("task") or {}
        for address in (address for job in jobs.values() for address in job):
            host, _, port = address.rpartition(":")
            if not host or not port.isdigit():
                raise ValueError(f"{address!r} where HOST:PORT is expected")
        kind, index = task.get("type", "worker"), int(task.get("index", 0))
        addresses = (*jobs.get("chief", ()), *jobs.get("worker", ()))
    except (AttributeError, TypeError, ValueError) as error:
        raise CgruError(f"TF_CONFIG: invalid ({error})") from None
    if others := sorted({*jobs, kind} - {"chief", "worker"}):
        raise CgruError(f"TF_CONFIG: {others[0]}: only workers and one chief can train")
    if kind == "worker":
        index += len(jobs.get("chief", ()))
    if addresses and not 0 <= index < len(addresses):
        raise CgruError(f"TF_CONFIG: no {kind} {task.get('index')} among {len(addresses)} workers")
    if len(set(addresses)) < len(addresses):
        raise CgruError("TF_CONFIG: two workers have the same address")
    return addresses, index


def _from_slurm(environment: Mapping[str, str]) -> tuple[tuple[str, ...], int]:
    """Addresses and index of a step's tasks; TensorFlow parses Slurm's variables."""
    import tensorflow as tf

    port = _SLURM_PORTS + int(environment.get("SLURM_JOB_ID") or 0) % _SLURM_PORTS
    tasks = int(environment["SLURM_STEP_NUM_TASKS"])
    try:  # with numbers of GPUs, TensorFlow does not run nvidia-smi; it finds the GPUs later
        resolver: Any = tf.distribute.cluster_resolver.SlurmClusterResolver(
            port_base=port, gpus_per_node=tasks, gpus_per_task=1, auto_set_gpu=False
        )
        addresses = resolver.cluster_spec().as_dict()["worker"]
    except (KeyError, RuntimeError, ValueError, AssertionError) as error:
        raise CgruError(f"invalid Slurm variables: {error}") from None
    return tuple(addresses), resolver.task_id
