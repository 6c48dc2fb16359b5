"""Compare ONNX Runtime with TensorFlow: start, memory, latency and throughput of translation.

    python benchmarks/onnx_runtime.py --model MODEL --source FILE

MODEL is a small plain model that translates FILE, zero-padded to 512/1024/30000 as for
`translate.py`. The measurements of the runtimes take turns; medians are printed, and the ratio to
TensorFlow's.

- start: a whole process that translates one line: seconds by the clock, CPU seconds, peak memory.
- throughput: whole processes on --lines lines, with start-up; CPU seconds.
- latency: lines translated one at a time by one thread, in a process for each runtime: milliseconds
  by the clock and of CPU time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from measuring import process
from padding import Padded

from cgru_cli import Translator, write_model

LINES = 20  # lines for measuring latency


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--vocabs", nargs="*", default=())
    parser.add_argument("--source", required=True, type=Path)
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--beam", type=int, nargs="*", default=[5, 1])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--parts", nargs="*", default=["start", "latency", "throughput"])
    parser.add_argument("--latency-of", nargs=3, help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.latency_of:
        print(json.dumps(latency(a.source, *a.latency_of)))
        return
    with tempfile.TemporaryDirectory() as folder:
        kinds = models(Padded(a.model, a.vocabs, Path(folder)))
        text = a.source.read_text("utf-8").split("\n")[:-1]
        for part in a.parts:
            if part == "latency":
                for beam in a.beam:
                    report(f"latency beam {beam}", kinds, a.turns, latency_of(a, beam))
                continue
            lines = text[:1] if part == "start" else (text * (a.lines // len(text) + 1))[: a.lines]
            source = Path(folder) / "source"
            source.write_text("".join(f"{line}\n" for line in lines), "utf-8")
            report(part, kinds, a.turns, whole(source, a.beam[0]))


def models(padded: Padded) -> dict[str, list[str]]:
    """The options of each runtime and precision."""
    folder = padded.path.parent
    kinds = {"TensorFlow float32": ["-m", str(padded.path)]}
    kinds["TensorFlow int8"] = [*kinds["TensorFlow float32"], "--precision", "int8"]
    for precision in ("float32", "int8"):
        path = folder / f"{precision}.onnx"
        write_model(padded.model, path, vocabularies=padded.vocabularies, precision=precision)
        kinds[f"ONNX Runtime {precision}"] = ["-m", str(path)]
        print(f"{path.name}: {path.stat().st_size / 2**20:.0f} MiB")
    return kinds


def report(name: str, kinds: dict[str, list[str]], turns: int, measure) -> None:
    """Measure figures of each kind in turns and print the medians."""
    runs: dict[str, list[dict[str, float]]] = {kind: [] for kind in kinds}
    for _turn in range(turns):
        for kind, options in kinds.items():
            runs[kind].append(measure(options))
    first: dict[str, float] = {}
    for kind, figures in runs.items():
        medians = {name: statistics.median(run[name] for run in figures) for name in figures[0]}
        first = first or medians
        shown = (f"{x} {value:.3g} ({value / first[x]:.2f})" for x, value in medians.items())
        print(f"{name}: {kind}: {', '.join(shown)}", flush=True)


def whole(source: Path, beam: int):
    """Measures a whole process: seconds by the clock, CPU seconds, MiB of memory."""
    command = [sys.executable, "-m", "cgru_cli", "translate", "--quiet", "--beam-size", str(beam)]

    def measure(options: list[str]) -> dict[str, float]:
        done = process([*command, *options, "-i", str(source)])
        return {"s": done.wall, "CPU s": done.cpu, "peak MiB": done.peak}

    return measure


def latency_of(a: argparse.Namespace, beam: int):
    """Measures the latency of a line in a process of its own."""
    command = [sys.executable, __file__, "--model", a.model, "--source", str(a.source)]

    def measure(options: list[str]) -> dict[str, float]:
        precision = options[3] if len(options) > 2 else "float32"
        with tempfile.TemporaryFile("w+") as out:
            process([*command, "--latency-of", options[1], precision, str(beam)], stdout=out)
            out.seek(0)
            return json.loads(out.read())

    return measure


def latency(source: Path, model: str, precision: str, beam: str) -> dict[str, float]:
    """Median milliseconds of a line by one thread, by the clock and of CPU time."""
    translator = Translator(model, precision=precision, beam_size=int(beam), cpu_threads=1)
    lines = source.read_text("utf-8").split("\n")[:LINES]
    translator.translate(lines[0])
    times = []
    for line in lines:
        begun = time.perf_counter(), time.process_time()
        translator.translate(line)
        times.append((time.perf_counter() - begun[0], time.process_time() - begun[1]))
    wall, cpu = (1000 * statistics.median(column) for column in zip(*times, strict=True))
    return {"ms": wall, "CPU ms": cpu}


if __name__ == "__main__":
    main()
