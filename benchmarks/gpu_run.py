"""Run exported programs with JAX or TensorFlow: numbers, time, memory and operations."""

from __future__ import annotations

import collections
import math
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from exported import Case, type_of
from hlo import loops


class Limits(NamedTuple):
    """The best speeds of a device for single operations."""

    operations: float  # per second, for a large product
    traffic: float  # bytes per second, for a large copy


class Measured(NamedTuple):
    """The measurements of a program."""

    case: Case
    compiling: float  # seconds, including the first execution
    difference: float | None  # from the CPU's results, see `Case.difference`
    seconds: float  # seconds per execution, median
    memory: float  # bytes of arguments, results and temporaries; NaN if unknown
    started: list[int]  # operations per step of each loop; empty if unknown
    limits: Limits

    def row(self) -> list[str]:
        """Of the table."""
        case = self.case
        arithmetic = case.operations / self.limits.operations / self.seconds
        traffic = case.traffic / self.limits.traffic / self.seconds
        return [
            f"{case.kind} {case.model} {case.objective}".strip(),
            case.precision,
            f"{case.sentences} x {case.lengths[0]}, {case.lengths[1]}",
            f"{1000 * self.seconds:.3g}",
            f"{case.words / self.seconds:,.0f}",
            f"{arithmetic:.0%}" if arithmetic else "",
            f"{traffic:.0%}",
            "" if math.isnan(self.memory) else f"{self.memory / 2**20:,.0f}",
            "" if self.difference is None else f"{self.difference:.1e}",
            ", ".join(map(str, self.started)),
            f"{self.compiling:.1f}",
        ]


COLUMNS = [
    "program",
    "precision",
    "sentences x words",
    "ms",
    "target words/s",
    "of arithmetic limit",
    "of memory limit",
    "MiB",
    "difference",
    "operations a step, by loop",
    "s to compile",
]


class Device(Protocol):
    """A device that runs programs."""

    name: str

    def compile(self, case: Case, text: str) -> Any:
        """The compiled program."""

    def put(self, array: np.ndarray) -> Any:
        """An array on the device."""

    def execute(self, executable: Any, arguments: Sequence) -> list:
        """The results on the device; aliased arguments of an update may become invalid."""

    def wait(self, arrays: Sequence) -> None:
        """Wait until these are available."""

    def memory(self, executable: Any) -> float:
        """See `Measured`."""

    def compiled_text(self, executable: Any) -> str:
        """The HLO that the device runs; "" if unknown."""

    def limits(self, precision: str) -> Limits:
        """The limits, measured with the device's own operations."""


class Jax:
    """The first device of JAX."""

    def __init__(self) -> None:
        import jax

        jax.config.update("jax_enable_x64", True)  # 64-bit counters are not converted
        self.jax, self.device = jax, jax.devices()[0]
        self.name = f"{self.device.device_kind}, JAX {jax.__version__}"
        self.side, self.numbers = _sizes(self.device.platform == "cpu")

    def compile(self, case: Case, text: str) -> Any:
        return self.load(text, [result.argument for result in case.results])

    def load(self, text: str, arguments: Sequence[int]) -> Any:
        """The compiled program; arguments: for each result, the one that it replaces, or -1."""
        from jax._src.interpreters import mlir
        from jax._src.lib import xla_client
        from jax._src.lib.mlir import ir

        with mlir.make_ir_context():
            return self.device.client.compile_and_load(
                ir.Module.parse(aliased(text, arguments)),
                xla_client.DeviceList((self.device,)),
                xla_client.CompileOptions(),
            )

    def put(self, array: np.ndarray) -> Any:
        return self.jax.device_put(array, self.device)

    def execute(self, executable: Any, arguments: Sequence) -> list:
        results = executable.execute_sharded(list(arguments))
        return [shards[0] for shards in results.disassemble_into_single_device_arrays()]

    def wait(self, arrays: Sequence) -> None:
        self.jax.block_until_ready(arrays)

    def memory(self, executable: Any) -> float:
        sizes = executable.get_compiled_memory_stats()
        return float(
            sizes.argument_size_in_bytes
            + sizes.output_size_in_bytes
            - sizes.alias_size_in_bytes
            + sizes.temp_size_in_bytes
        )

    def compiled_text(self, executable: Any) -> str:
        return executable.hlo_modules()[0].to_string()

    def limits(self, precision: str) -> Limits:
        square = self.jax.numpy.ones((self.side, self.side), precision)
        many = self.jax.numpy.ones(self.numbers, "float32")
        product, copy = self.jax.jit(lambda x: x @ x), self.jax.jit(lambda x: x + 1)
        return limits(self, lambda: [product(square)], lambda: [copy(many)])

    def profile(
        self, function: Callable[[], Sequence], times: int
    ) -> list[tuple[str, float, float]]:
        """Operations of one execution with their counts and seconds, the longest first."""
        counts: collections.Counter[str] = collections.Counter()
        sums: collections.Counter[str] = collections.Counter()
        with tempfile.TemporaryDirectory() as folder:
            with self.jax.profiler.trace(folder):
                for _ in range(times):
                    self.wait(function())
            (path,) = Path(folder).rglob("*.xplane.pb")
            planes = list(self.jax.profiler.ProfileData.from_file(str(path)).planes)
            of_gpu = [plane for plane in planes if plane.name.startswith("/device:GPU")]
            for plane in of_gpu or [plane for plane in planes if plane.name == "/host:CPU"]:
                for event in (event for line in plane.lines for event in line.events):
                    if of_gpu or re.fullmatch(r"[a-z][\w.\-]*", event.name):  # of the program
                        name = re.sub(r"([._](\d+|clone|remat))+$", "", event.name)
                        counts[name] += 1
                        sums[name] += event.duration_ns
        return [
            (name, counts[name] / times, total / 1e9 / times) for name, total in sums.most_common()
        ]


class TensorFlow:
    """TensorFlow's last device: a GPU if there is one."""

    def __init__(self) -> None:
        import tensorflow as tf

        self.tf, device = tf, tf.config.list_logical_devices()[-1]
        self.platform = "CPU" if device.device_type == "CPU" else "CUDA"
        self.name = f"{device.name}, TensorFlow {tf.__version__}"
        self.side, self.numbers = _sizes(self.platform == "CPU")

    def compile(self, case: Case, text: str) -> Any:
        from tensorflow.compiler.tf2xla.python import xla

        def call(*arguments: Any) -> list:
            return xla.call_module(
                arguments,
                version=10,
                module=text,
                Tout=[type_of(result.dtype) for result in case.results],
                Sout=[result.shape for result in case.results],
                platforms=[self.platform],
            )

        return self.tf.function(call, jit_compile=True, autograph=False)

    def put(self, array: np.ndarray) -> Any:
        return self.tf.convert_to_tensor(array)

    def execute(self, executable: Any, arguments: Sequence) -> list:
        return executable(*arguments)

    def wait(self, arrays: Sequence) -> None:
        self.tf.reshape(arrays[0], [-1])[:1].numpy()

    def memory(self, executable: Any) -> float:
        return math.nan

    def compiled_text(self, executable: Any) -> str:
        return ""

    def limits(self, precision: str) -> Limits:
        tf = self.tf
        square, many = tf.ones([self.side] * 2, precision), tf.ones([self.numbers])
        product = tf.function(lambda x: tf.matmul(x, x), jit_compile=True)
        copy = tf.function(lambda x: x + 1, jit_compile=True)
        return limits(self, lambda: [product(square)], lambda: [copy(many)])


DEVICES = {"jax": Jax, "tensorflow": TensorFlow}


def _sizes(is_cpu: bool) -> tuple[int, int]:
    """The sizes of the square product and of the copy that determine a device's limits."""
    return (2048, 1 << 24) if is_cpu else (8192, 1 << 28)


def limits(device: Jax | TensorFlow, product: Callable, copy: Callable) -> Limits:
    """The device's limits: the fastest of five square products and of five float32 copies."""

    def least(function: Callable[[], Sequence]) -> float:
        device.wait(function())
        return min(timed(device, function) for _ in range(5))

    return Limits(2 * device.side**3 / least(product), 8 * device.numbers / least(copy))


def timed(device: Device, function: Callable[[], Sequence]) -> float:
    """Seconds until the results are available."""
    started = time.perf_counter()
    device.wait(function())
    return time.perf_counter() - started


def aliased(text: str, arguments: Sequence[int]) -> str:
    """StableHLO with attributes that tell JAX which results alias which arguments."""
    places = {argument: place for place, argument in enumerate(arguments) if argument >= 0}

    def marked(argument: re.Match[str]) -> str:
        place = places.get(int(argument[1]))
        return argument[0] + ("" if place is None else f" {{tf.aliasing_output = {place} : i32}}")

    def line(found: re.Match[str]) -> str:
        return re.sub(r"%arg(\d+): tensor<[^>]*>", marked, found[0])

    return re.sub(r"^  func\.func (?:public )?@main\(.*$", line, text, count=1, flags=re.M)


def measure(
    device: Device, folder: Path, case: Case, at_best: Limits, seconds: float, turns: int
) -> tuple[Measured, Callable[[], Sequence]]:
    """Compile a case, compare its numbers and time it; also return a function that runs it."""
    arguments = [device.put(array) for array in case.inputs(folder)]
    started = time.perf_counter()
    executable = device.compile(case, case.program(folder))
    results = device.execute(executable, arguments)
    device.wait(results)
    compiling = time.perf_counter() - started
    difference = case.difference(folder, [np.asarray(result) for result in results])

    def again() -> Sequence:
        """The arguments of the next execution: an update continues from the previous one."""
        nonlocal results
        for result, kind in zip(results, case.results, strict=True):
            if kind.argument >= 0:
                arguments[kind.argument] = result
        results = device.execute(executable, arguments)
        return results

    def several(times: int) -> Sequence:
        for _ in range(times):
            again()
        return results

    device.wait(again())
    times = max(1, int(seconds / turns / timed(device, again)))
    taken = [timed(device, lambda: several(times)) / times for _ in range(turns)]
    measured = Measured(
        case,
        compiling,
        difference,
        statistics.median(taken),
        device.memory(executable),
        [sum(loop.operations.values()) for loop in loops(device.compiled_text(executable))],
        at_best,
    )
    return measured, again


def table(rows: Sequence[Sequence[str]]) -> str:
    """As Markdown."""
    lines = [COLUMNS, ["---"] * len(COLUMNS), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def profile_table(operations: Sequence[tuple[str, float, float]], most: int) -> str:
    """The most expensive operations of one execution, as Markdown."""
    whole = sum(seconds for _, _, seconds in operations)
    lines = ["| operation | times | ms | share |", "|---|---|---|---|"]
    lines += [
        f"| `{name}` | {count:.0f} | {1000 * seconds:.3g} | {seconds / whole:.0%} |"
        for name, count, seconds in operations[:most]
    ]
    return "".join(f"{line}\n" for line in lines)
