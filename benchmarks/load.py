"""Compare the time to read a model file with that of NumPy or h5py for the same arrays.

cgru also identifies every array, checks its shape and that its numbers are finite, and limits what
a forged file may claim; the ratio shows the cost. `--against` compares with another checkout of
cgru.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
from measuring import cpu_seconds

READ = "cgru_cli.formats.read_model:read"
KINDS = {"npz": "npz", "nematus": "npz", "dl4mt": "npz", "h5": "h5"}  # format to ending


def make(folder: Path, sizes: tuple[int, int, int], kinds: list[str]) -> dict[str, Path]:
    """Write a random shallow model (embedding, state, vocabulary) in these formats."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from products import shallow

    from cgru_cli.formats import write_model
    from cgru_cli.formats.model import Model
    from cgru_cli.parameters.names import parameters

    structure = shallow(sizes)
    chance = np.random.default_rng(1)
    arrays = {
        p.name: chance.standard_normal(p.size(structure), np.float32) for p in parameters(structure)
    }
    model = Model(folder / "made", structure, arrays, "nematus")
    paths = {}
    for kind in kinds:
        paths[kind] = folder / f"{kind}.{KINDS[kind]}"
        write_model.write(model, paths[kind], kind)
    if "nematus" in paths:  # as Nematus leaves it, and as every checkout reads it
        settings = folder / f"{paths['nematus'].name}.json"
        values = json.loads(settings.read_text())
        del values["cgru"]
        settings.write_text(json.dumps(values))
    return paths


def plainly(path: Path) -> None:
    """Read all arrays with NumPy or h5py, and check that they are finite."""
    if path.suffix == ".h5":
        with h5py.File(path) as file:
            arrays: list[np.ndarray] = []
            file.visititems(
                lambda _, item: arrays.append(item[()]) if isinstance(item, h5py.Dataset) else None
            )
    else:
        with np.load(path) as file:
            arrays = [file[name] for name in file.files]
    assert all(np.isfinite(array).all() for array in arrays if array.dtype.kind == "f")


def seconds(call: Callable[[Path], object], path: Path) -> float:
    """CPU seconds of a call."""
    begun = cpu_seconds()
    call(path)
    return cpu_seconds() - begun


class Checkout:
    """A process of another checkout that reads files on request."""

    def __init__(self, folder: str, function: str):
        environment = os.environ | {"PYTHONPATH": folder, "CGRU_MEASURED": function}
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--serve"],
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def seconds(self, path: Path) -> float:
        """The CPU seconds it takes to read the file."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise SystemExit("the process that reads files has no pipes")
        print(path, file=stdin, flush=True)
        return float(stdout.readline())


def serve() -> None:
    """Read each file named on standard input, and print the CPU seconds."""
    read = function_of(os.environ["CGRU_MEASURED"])
    for line in sys.stdin:
        print(seconds(read, Path(line.rstrip("\n"))), flush=True)


def function_of(name: str) -> Callable[[Path], object]:
    """The function named MODULE:NAME."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--sizes",
        type=int,
        nargs=3,
        default=(512, 1024, 30000),
        metavar=("EMBEDDING", "STATE", "VOCABULARY"),
        help="size of the model",
    )
    parser.add_argument(
        "--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="formats to measure"
    )
    parser.add_argument("--rounds", type=int, default=9, help="measurements of each")
    parser.add_argument("--against", metavar="FOLDER", help="another checkout of cgru")
    parser.add_argument(
        "--function",
        default=READ,
        metavar="MODULE:NAME",
        help=f"its function that reads a model ({READ})",
    )
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    read = function_of(READ)
    other = Checkout(options.against, options.function) if options.against else None
    with tempfile.TemporaryDirectory() as folder:
        for kind, path in make(Path(folder), tuple(options.sizes), options.kinds).items():
            times: dict[str, list[float]] = {}
            for turn in range(options.rounds + 1):
                measured = {"here": seconds(read, path), "plain": seconds(plainly, path)}
                if other:
                    measured["there"] = other.seconds(path)
                for name, value in measured.items() if turn else ():  # the first warms up
                    times.setdefault(name, []).append(value)
            middle = {name: statistics.median(values) for name, values in times.items()}
            print(
                f"{kind:8} {path.stat().st_size >> 20:4} MiB  here {middle['here']:.3f} s CPU, "
                f"{middle['here'] / middle['plain']:.2f} of a plain reading"
                + (
                    f", {middle['here'] / middle['there']:.2f} of the other checkout's"
                    if other
                    else ""
                )
            )


if __name__ == "__main__":
    main()
