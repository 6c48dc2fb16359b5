"""Compiled programs in a folder: StableHLO, arguments, and results on a CPU.

`cases.json` lists them. Each case has `NAME.mlir.gz`, the program as StableHLO text, and
`NAME.npz`, the batch and a part of the results. Weights are not stored: every machine draws the
same ones. Needs only NumPy, and ml_dtypes, which TensorFlow and JAX install.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

KEPT = 2048  # evenly spaced numbers of each result that are stored for comparison


@dataclasses.dataclass(frozen=True)
class Argument:
    """An argument of a program: part of the batch, or uniform in [low, high)."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    low: float = 0.0
    high: float = 0.0
    seed: int = 0
    given: bool = False  # in the .npz

    def draw(self) -> np.ndarray:
        """Draw numbers that are the same on every machine and with every version of NumPy."""
        count = math.prod(self.shape)
        if self.low == self.high:
            return np.full(self.shape, self.low, type_of(self.dtype))
        # a generator's raw numbers are stable, NumPy's distributions may change (NEP 19)
        raw = np.random.Philox(self.seed).random_raw(count)
        unit = (raw >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24)
        numbers = unit * np.float32(self.high - self.low) + np.float32(self.low)
        return numbers.reshape(self.shape).astype(type_of(self.dtype))


@dataclasses.dataclass(frozen=True)
class Result:
    """A result of a program; `argument`: the index of the aliased argument, or -1."""

    shape: tuple[int, ...]
    dtype: str
    argument: int = -1


@dataclasses.dataclass(frozen=True)
class Case:
    """A program, the batch it was compiled for, and lower bounds of its work."""

    name: str
    kind: str  # "update" or "decoding step"
    model: str  # such as "cgru gru 512/1024/30000"
    precision: str
    objective: str
    sentences: int
    lengths: tuple[int, int]  # positions of source and target
    words: int  # target words of one execution
    operations: float  # of the products; an addition and a multiplication count as two
    traffic: float  # bytes that are read or written at least once
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]

    def inputs(self, folder: Path) -> list[np.ndarray]:
        """All arguments, in order."""
        with np.load(folder / f"{self.name}.npz") as given:
            return [
                given[f"argument/{place}"] if argument.given else argument.draw()
                for place, argument in enumerate(self.arguments)
            ]

    def program(self, folder: Path) -> str:
        """The StableHLO text."""
        return gzip.decompress((folder / f"{self.name}.mlir.gz").read_bytes()).decode()

    def difference(self, folder: Path, results: Sequence[np.ndarray]) -> float | None:
        """The largest difference from the CPU's results, relative to the largest value of each
        array. Integers are left out: rounding may exchange the best words of a search.

        None if they were not computed.
        """
        with np.load(folder / f"{self.name}.npz") as kept:
            if "result/0" not in kept:
                return None
            apart = [
                _difference(some(result), kept[f"result/{place}"])
                for place, result in enumerate(results)
                if np.dtype(result.dtype).kind not in "iu"
            ]
        return float(np.max(apart))  # NaN where one is


def write(
    folder: Path, case: Case, program: str, given: Mapping[int, np.ndarray], results: Sequence
) -> None:
    """Write a case; given: arguments by position; results: () if not computed."""
    (folder / f"{case.name}.mlir.gz").write_bytes(gzip.compress(program.encode(), mtime=0))
    arrays = {f"argument/{place}": array for place, array in given.items()}
    arrays |= {f"result/{place}": some(result) for place, result in enumerate(results)}
    np.savez_compressed(folder / f"{case.name}.npz", **arrays)


def write_list(folder: Path, cases: Sequence[Case]) -> None:
    """Write the list of all cases of a folder."""
    text = json.dumps([dataclasses.asdict(case) for case in cases], indent=1)
    (folder / "cases.json").write_text(f"{text}\n", "utf-8")


def read_list(folder: Path) -> list[Case]:
    """Read the output of `write_list`."""
    return [_case(fields) for fields in json.loads((folder / "cases.json").read_text("utf-8"))]


def type_of(name: str) -> np.dtype:
    """The NumPy type of this name, including bfloat16."""
    return np.dtype(getattr(ml_dtypes, name, name))


def some(array: np.ndarray) -> np.ndarray:
    """The numbers to compare, as float64: at most (KEPT,), the last one is the norm of all."""
    flat = np.asarray(array).ravel()
    numbers = flat[:: max(1, math.ceil(flat.size / (KEPT - 1)))].astype(np.float64)
    # in float64 piece by piece, because an array may take a fifth of the memory
    squares = sum(
        float(np.square(flat[i : i + (1 << 20)].astype(np.float64)).sum())
        for i in range(0, flat.size, 1 << 20)
    )
    return np.append(numbers, math.sqrt(squares))


def _difference(numbers: np.ndarray, expected: np.ndarray) -> float:
    *found, norm = numbers
    *wanted, wanted_norm = expected
    largest = np.abs(wanted).max(initial=0.0) or wanted_norm or 1.0
    apart = np.abs(np.subtract(found, wanted)).max(initial=0.0) / largest
    return float(np.max([apart, abs(norm - wanted_norm) / (wanted_norm or 1.0)]))


def _case(fields: dict[str, Any]) -> Case:
    arguments = tuple(Argument(**f | {"shape": tuple(f["shape"])}) for f in fields["arguments"])
    results = tuple(Result(**f | {"shape": tuple(f["shape"])}) for f in fields["results"])
    lengths = tuple(fields["lengths"])
    return Case(**fields | {"lengths": lengths, "arguments": arguments, "results": results})
