"""Compare ONNX Runtime with TensorFlow: start, memory, latency and throughput of translation.

    python benchmarks/onnx_runtime.py --model MODEL --source FILE

MODEL is a small plain model that translates FILE, zero-padded to 512/1024/30000 as for
`translate.py`. The measurements of the runtimes take turns; medians are printed, and the ratio to
TensorFlow's.

- start: a whole process that translates one line: seconds by the clock, CPU seconds, peak memory.
- throughput: whole processes on --lines lines, CPU seconds, with start-up.
- latency: lines translated one at a time by one thread, in a process for each runtime.
"""

from __future__ import annotations

import argparse
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
        print(latency(a.source, *a.latency_of))
        return
    with tempfile.TemporaryDirectory() as folder:
        kinds = models(Padded(a.model, a.vocabs, Path(folder)))
        text = a.source.read_text("utf-8").split("\n")[:-1]
        for part in a.parts:
            if part == "latency":
                for beam in a.beam:
                    report(f"latency beam {beam}, ms", kinds, a.turns, latency_of(a, beam))
                continue
            lines = text[:1] if part == "start" else (text * (a.lines // len(text) + 1))[: a.lines]
            source = Path(folder) / "source"
            source.write_text("".join(f"{line}\n" for line in lines), "utf-8")
            for figure in ("wall", "cpu", "peak") if part == "start" else ("cpu",):
                report(f"{part} {figure}", kinds, a.turns, whole(source, a.beam[0], figure))


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
    """Measure each kind in turns and print the medians."""
    figures: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _turn in range(turns):
        for kind, options in kinds.items():
            figures[kind].append(measure(options))
    first = statistics.median(next(iter(figures.values())))
    for kind, values in figures.items():
        median = statistics.median(values)
        print(f"{name}: {kind} {median:.3g} ({median / first:.2f} of TensorFlow's)", flush=True)


def whole(source: Path, beam: int, figure: str):
    """Measures a figure of a whole process."""
    command = [sys.executable, "-m", "cgru_cli", "translate", "--quiet", "--beam-size", str(beam)]
    return lambda options: getattr(process([*command, *options, "-i", str(source)]), figure)


def latency_of(a: argparse.Namespace, beam: int):
    """Measures the latency of a line in a process of its own."""
    command = [sys.executable, __file__, "--model", a.model, "--source", str(a.source)]

    def measure(options: list[str]) -> float:
        precision = options[3] if len(options) > 2 else "float32"
        with tempfile.TemporaryFile("w+") as out:
            process([*command, "--latency-of", options[1], precision, str(beam)], stdout=out)
            out.seek(0)
            return float(out.read())

    return measure


def latency(source: Path, model: str, precision: str, beam: str) -> float:
    """Median milliseconds of a line by one thread."""
    translator = Translator(model, precision=precision, beam_size=int(beam), cpu_threads=1)
    lines = source.read_text("utf-8").split("\n")[:LINES]
    translator.translate(lines[0])
    times = []
    for line in lines:
        begun = time.perf_counter()
        translator.translate(line)
        times.append(time.perf_counter() - begun)
    return 1000 * statistics.median(times)


if __name__ == "__main__":
    main()
