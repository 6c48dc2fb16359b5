"""Compare translation and scoring with another checkout of cgru, such as an older version.

    python benchmarks/checkouts.py --model MODEL --source FILE --against FOLDER

MODEL is a small plain model that translates FILE, zero-padded to --sizes as for `translate.py`. The
scored translations are its own. Each checkout converts the model to an `.onnx` in 8 bits itself.
The checkouts take turns; medians are printed, and the ratios to the other checkout with the same
model and with float32. A command that fails, such as 8 bits in an older version on some processors,
is left out.

- start: a whole `cgru translate` of one line by one thread: CPU seconds, peak memory.
- latency: lines translated one at a time by one thread in a running process: milliseconds by the
  clock and of CPU time.
- throughput: whole processes of one thread on --lines lines, without the CPU seconds of one line.
- threads: the same by the clock with each number of --threads, and how many times as fast as with
  the first number.
- same: how many translations are those of this checkout in float32, and how far scores differ.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from measuring import Run, process
from padding import SIZES, Padded

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples/en-de.npz"
PARTS = ["start", "latency", "throughput", "threads", "same"]
LINES = 20  # lines for measuring latency
Figures = dict[str, float]

# The arguments of this program: the model, its precision, the beam size and the lines.
LATENCY = """
import json, statistics, sys, time
from cgru_cli import Translator

model, precision, beam, *lines = sys.argv[1:]
translator = Translator(model, precision=precision, beam_size=int(beam), cpu_threads=1)
translator.translate(lines[0])
times = []
for line in lines:
    begun = time.perf_counter(), time.process_time()
    translator.translate(line)
    times.append((time.perf_counter() - begun[0], time.process_time() - begun[1]))
print(json.dumps([1000 * statistics.median(column) for column in zip(*times)]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--vocabs", nargs="*", default=())
    parser.add_argument("--source", required=True, type=Path)
    parser.add_argument("--against", metavar="FOLDER", type=Path, help="another checkout of cgru")
    parser.add_argument("--python", default=sys.executable, help="the Python that runs it")
    parser.add_argument("--sizes", type=int, nargs=3, default=SIZES,
                        metavar=("EMBEDDING", "STATE", "VOCABULARY"))  # fmt: skip
    parser.add_argument("--lines", type=int, default=400)
    parser.add_argument("--beam", type=int, nargs="*", default=[5, 1])
    parser.add_argument("--threads", type=int, nargs="*", default=[1, os.cpu_count()])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--parts", nargs="*", default=PARTS, choices=PARTS)
    a = parser.parse_args()
    checkouts = [Checkout("here", ROOT, sys.executable)]
    if a.against:
        checkouts.append(Checkout("there", a.against.resolve(), a.python))
    with tempfile.TemporaryDirectory() as folder:
        padded = Padded(a.model, a.vocabs, Path(folder), a.sizes)
        text = a.source.read_text("utf-8").split("\n")[:-1]
        os.chdir(folder)  # because Python imports from the current folder first
        bench = Bench(a, padded, checkouts, text)
        for part in a.parts:
            getattr(bench, part)()


class Checkout(NamedTuple):
    """A checkout of cgru, and the Python that runs it."""

    name: str
    folder: Path
    python: str

    def run(self, *command: object, stdout=subprocess.DEVNULL) -> Run:
        """Run Python with these arguments as a whole process."""
        where = {"PYTHONPATH": str(self.folder)}
        return process([self.python, *map(str, command)], stdout, where)

    def cgru(self, *command: object) -> Run:
        """Run a command of cgru."""
        return self.run("-m", "cgru_cli", *command)


class Bench:
    """The models, texts and measurements, in the current folder."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        padded: Padded,
        checkouts: list[Checkout],
        lines: list[str],
    ):
        self.a, self.checkouts, self.lines = arguments, checkouts, lines
        self.first: dict[str, list[str]] = {}  # the first output of each command, in `same`
        model = padded.path.name
        # the options of each kind of model; {} is the name of the checkout
        self.kinds = {
            "float32 .npz": ["-m", model],
            "int8 of the .npz": ["-m", model, "--precision", "int8"],
            "int8 .onnx": ["-m", "{}.onnx"],
        }
        for checkout in checkouts:
            checkout.cgru("convert", model, f"{checkout.name}.onnx", "--precision", "int8")
        self.text("one", lines[:1])
        self.text("many", (lines * (arguments.lines // len(lines) + 1))[: arguments.lines])
        for name in ("one", "many"):
            options = ["-m", model, "-i", name, "-o", f"{name}.translated", "--allow-unk"]
            checkouts[0].cgru("translate", *options)
        print(f"{'/'.join(map(str, arguments.sizes))}, {arguments.lines} lines", flush=True)

    def text(self, name: str, lines: list[str]) -> None:
        Path(name).write_text("".join(f"{line}\n" for line in lines), "utf-8")

    def start(self) -> None:
        """See the module."""

        def measure(checkout: Checkout, options: list[str]) -> Figures:
            run = self.command("translate", checkout, options, "one", 1)
            return {"CPU s": run.cpu, "s": run.wall, "peak MiB": run.peak}

        self.report("start", measure, {"the example": ["-m", str(EXAMPLE)]})

    def latency(self) -> None:
        """See the module."""
        for beam in self.a.beam:

            def measure(checkout: Checkout, options: list[str], beam=beam) -> Figures:
                precision = options[3] if len(options) > 2 else "float32"
                lines = self.lines[:LINES]
                with tempfile.TemporaryFile("w+") as out:
                    checkout.run("-c", LATENCY, options[1], precision, beam, *lines, stdout=out)
                    out.seek(0)
                    return dict(zip(("ms", "CPU ms"), json.load(out), strict=True))

            self.report(f"latency at beam {beam}", measure)

    def throughput(self) -> None:
        """See the module."""
        for command in ("translate", "score"):

            def measure(checkout: Checkout, options: list[str], command=command) -> Figures:
                runs = [self.command(command, checkout, options, x, 1) for x in ("one", "many")]
                return {"CPU s": runs[1].cpu - runs[0].cpu, "peak MiB": runs[1].peak}

            self.report(command, measure)

    def threads(self) -> None:
        """See the module."""
        for command in ("translate", "score"):

            def measure(checkout: Checkout, options: list[str], command=command) -> Figures:
                seconds = {}
                for n in self.a.threads:
                    runs = [self.command(command, checkout, options, x, n) for x in ("one", "many")]
                    seconds[n] = runs[1].wall - runs[0].wall
                first, *more = self.a.threads
                figures = {f"s with {n}": one for n, one in seconds.items()}
                return figures | {f"x with {n}": seconds[first] / seconds[n] for n in more}

            self.report(f"{command} by the clock", measure)

    def same(self) -> None:
        """See the module."""
        for command in ("translate", "score"):

            def measure(checkout: Checkout, options: list[str], command=command) -> Figures:
                self.command(command, checkout, options, "many", self.a.threads[-1])
                found = Path(f"{checkout.name}.{command}").read_text("utf-8").split("\n")[:-1]
                pairs = list(zip(found, self.first.setdefault(command, found), strict=True))
                if command == "translate":
                    return {"the same": sum(a == b for a, b in pairs)}
                return {"nats apart": max(abs(float(a) - float(b)) for a, b in pairs)}

            self.report(f"{command}, compared", measure)

    def command(
        self, command: str, checkout: Checkout, options: list[str], text: str, threads: int
    ) -> Run:
        """Translate or score a text with a number of threads."""
        given = ["-i", text, "-k", self.a.beam[0], "-n", "--allow-unk", "--quiet"]
        if command == "score":
            given = ["-s", text, "-t", f"{text}.translated"]
        more = ["-o", f"{checkout.name}.{command}", "--cpu-threads", threads, "--device", "cpu"]
        return checkout.cgru(command, *options, *given, *more)

    def report(
        self,
        name: str,
        measure: Callable[[Checkout, list[str]], Figures],
        more: dict[str, list[str]] | None = None,
    ) -> None:
        """Measure all kinds in turns and print medians, as the module says; more: more kinds."""
        kinds = self.kinds | (more or {})
        runs: dict[tuple[str, str], list[Figures]] = {}
        for _turn in range(self.a.turns):
            for kind, options in kinds.items():
                for checkout in self.checkouts:
                    own = [option.replace("{}", checkout.name) for option in options]
                    try:
                        figures = measure(checkout, own)
                    except SystemExit as failed:  # from `process`
                        print(f"{checkout.name}: {failed}", file=sys.stderr)
                    else:
                        runs.setdefault((kind, checkout.name), []).append(figures)
        *_, last = (checkout.name for checkout in self.checkouts)
        for (kind, who), turns in runs.items():
            float32 = next(iter(kinds)) if kind in self.kinds else None  # of the same model
            others = [runs[x, last] for x in (kind, float32) if (x, last) in runs]
            shown = []
            for figure in turns[0]:
                shown.append(f"{figure} {statistics.median(turn[figure] for turn in turns):.3g}")
                if who != last:
                    shown[-1] += f" ({', '.join(_ratio(turns, other, figure) for other in others)})"
            print(f"{name}: {kind}: {who}: {'; '.join(shown)}", flush=True)


def _ratio(turns: list[Figures], others: list[Figures], figure: str) -> str:
    """The median ratio to another program's figure in the same turn."""
    pairs = [(a[figure], b[figure]) for a, b in zip(turns, others, strict=True)]
    return f"{statistics.median(a / b if b else math.nan for a, b in pairs):.2f}"


if __name__ == "__main__":
    main()
