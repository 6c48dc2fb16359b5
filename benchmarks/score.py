"""Compare the speed of scoring with its matrix products, and with Marian's scorer.

    python benchmarks/score.py --model MODEL --source FILE --target FILE [--peer marian]

MODEL is a small plain model, and the FILEs are parallel text (tokenised and split like its training
text). The model is zero-padded to 512/1024/30000, so that sentences are real and costs are those of
a big model. All ratios are within one run; the measurements take turns, and the median is printed.

- floor: the plain products of the forward pass (float32, one product of ONNX Runtime each, no
  biases, no attention, no softmax) for the words scored, without padding, compared with the time of
  scoring.
- process: whole processes, including start-up, by CPU seconds (user + system) of the child.
- memory: peak memory of the small model for increasing numbers of pairs, and the time of its first
  output.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from measuring import Clock, Run, process
from padding import SIZES, Padded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--vocabs", nargs="*", default=())
    parser.add_argument("--source", required=True, type=Path)
    parser.add_argument("--target", required=True, type=Path)
    parser.add_argument("--pairs", type=int, default=500, help="pairs per round")
    parser.add_argument("--many", type=int, nargs="*", default=[10_000, 100_000],
                        help="numbers of pairs for measuring memory")  # fmt: skip
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--precision", nargs="*", default=["float32", "int8"],
                        choices=["float32", "int8"])  # fmt: skip
    parser.add_argument("--peer", choices=["marian"])
    parser.add_argument("--parts", nargs="*", default=["floor", "process", "memory"])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments, Path(folder))
        for part in arguments.parts:
            getattr(bench, part)()


class Bench:
    def __init__(self, arguments: argparse.Namespace, folder: Path):
        self.a, self.folder = arguments, folder
        self.padded = Padded(arguments.model, arguments.vocabs, folder)
        self.pairs = list(
            zip(
                *(path.read_text("utf-8").split("\n")[:-1] for path in (arguments.source,
                arguments.target)), strict=True,
            )
        )  # fmt: skip
        print(f"model {'/'.join(map(str, SIZES))}, {arguments.threads} threads", flush=True)

    def texts(self, count: int) -> list[str]:
        """Write files of `count` pairs, source and target."""
        pairs = (self.pairs * (count // len(self.pairs) + 1))[:count]
        paths = []
        for side, lines in enumerate(zip(*pairs, strict=True)):
            path = self.folder / f"text.{count}.{side}"
            path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
            paths.append(str(path))
        return paths

    # -- the arithmetic floor ------------------------------------------------------------------

    def floor(self) -> None:
        """Compare the time of plain products with that of scoring, in this process."""
        from products import ScoringProducts

        floor = ScoringProducts(self.padded.model.structure, 64, self.a.threads)
        jobs = {p: Scored(self.a, self.padded, p) for p in self.a.precision}
        turns: dict[str, list[tuple[Run, Run]]] = {p: [] for p in jobs}
        for turn in range(self.a.turns + 1):
            for precision, job in jobs.items():
                clock, least = Clock(), Clock()
                with clock:
                    words = job(self.pairs[: self.a.pairs])
                with least:
                    for source, target in words:
                        floor(source, target)
                if turn:  # the first round allocates
                    turns[precision].append((clock.run, least.run))
        count = sum(target for _, target in words)
        for precision, runs in turns.items():
            wall = statistics.median(least.wall / run.wall for run, least in runs)
            cpu = statistics.median(least.cpu / run.cpu for run, least in runs)
            speed = count / statistics.median(run.wall for run, _ in runs)
            print(
                f"{precision}: {100 * wall:.0f} % of the floor by wall clock, {100 * cpu:.0f} % by "
                f"CPU; {speed:.0f} target words/s; {100 * jobs[precision].padding:.1f} % of padding"
            )
            first = turns[self.a.precision[0]]
            if runs is not first:
                ratios = [
                    statistics.median(
                        getattr(a[0], what) / getattr(b[0], what)
                        for a, b in zip(first, runs, strict=True)
                    )
                    for what in ("wall", "cpu")
                ]
                print(
                    f"{precision}: {ratios[0]:.2f} x the speed of {self.a.precision[0]}, "
                    f"{ratios[1]:.2f} x by CPU"
                )
        sys.stdout.flush()

    # -- whole processes -----------------------------------------------------------------------

    def cgru(self, count: int, precision: str) -> list[str]:
        source, target = self.texts(count)
        return [
            sys.executable, "-m", "cgru_cli", "score", "-m", str(self.padded.path),
            "-v", *self.padded.vocabularies, "-s", source, "-t", target,
            "-o", str(self.folder / f"out.{precision}"), "--cpu-threads", str(self.a.threads),
            "--precision", precision, "--device", "cpu",
        ]  # fmt: skip

    def marian(self, count: int) -> list[str]:
        model, vocabularies = self.padded.marian()
        return [
            sys.executable, "-m", "pymarian", "score", "-m", str(model), "-v", *vocabularies,
            "-t", *self.texts(count),
            "-o", str(self.folder / "out.marian"), "--cpu-threads", str(self.a.threads),
            "--mini-batch", "64", "--maxi-batch", "100", "-w", "2500", "--max-length", "1000",
            "--quiet",
        ]  # fmt: skip

    def process(self) -> None:
        """Measure whole runs: CPU seconds, words/s, peak memory, and Marian's over ours."""
        count = self.a.pairs
        commands = {f"cgru {p}": self.cgru(count, p) for p in self.a.precision}
        if self.a.peer:
            commands["marian"] = self.marian(count)
        runs: dict[str, list[Run]] = {name: [] for name in commands}
        for _ in range(self.a.turns):
            for name, command in commands.items():
                runs[name].append(process(command))
        words = sum(len(t.split()) + 1 for _, t in (self.pairs * count)[:count])
        for name, turns in runs.items():
            cpu, wall = (statistics.median(getattr(r, what) for r in turns) for what in
                         ("cpu", "wall"))  # fmt: skip
            peak = max(run.peak for run in turns)
            print(
                f"{count} pairs, {name}: {cpu:.1f} CPU s, {wall:.1f} s, {words / wall:.0f} target "
                f"words/s, {peak:.0f} MiB"
            )
            for ours in (n for n in runs if name == "marian" and n != name):
                ratio = statistics.median(
                    theirs.cpu / mine.cpu for theirs, mine in zip(turns, runs[ours], strict=True)
                )
                print(f"{count} pairs, {name}: {ratio:.2f} x the CPU of {ours}")
        if self.a.peer:
            self._compare()
        sys.stdout.flush()

    def _compare(self) -> None:
        theirs = np.loadtxt(self.folder / "out.marian")
        for precision in self.a.precision:
            mine = np.loadtxt(self.folder / f"out.{precision}")
            error = np.abs(mine - theirs).max()
            print(f"{precision}: scores differ from Marian's by {error:.2g} nats at most")

    # -- memory --------------------------------------------------------------------------------

    def memory(self) -> None:
        """Measure the peak memory for increasing numbers of pairs, and when output begins."""
        for count in self.a.many:
            source, target = self.texts(count)
            command = [
                sys.executable, "-m", "cgru_cli", "score", "-m", self.a.model, "-s", source,
                "-t", target, "--device", "cpu", "--cpu-threads", str(self.a.threads),
            ]  # fmt: skip
            if self.a.vocabs:
                command += ["-v", *self.a.vocabs]
            flow = Flow()
            run = process(command, stdout=flow.input)
            lines, first, half = flow.close()
            if lines != count:
                raise SystemExit(f"{lines} lines came of {count} pairs")
            print(
                f"{count} pairs, small model: peak {run.peak:.0f} MiB; {run.wall:.1f} s, the first "
                f"line after {first:.1f} s, half of them after {half:.1f} s",
                flush=True,
            )


class Scored:
    """Score pairs in batches, as in `cgru score`."""

    def __init__(self, arguments: argparse.Namespace, padded: Padded, precision: str):
        from cgru_cli.formats.loaded_model import Reading, load_model
        from cgru_cli.options.score import ScoreOptions
        from cgru_cli.score.pairs.model_scorer import ModelScorer
        from cgru_cli.search.runtime import Settings, prepared

        self.options = ScoreOptions(precision=precision)
        loaded = load_model(str(padded.path), padded.vocabularies)
        settings = Settings("cpu", arguments.threads)
        model = prepared(loaded.model, precision, settings, once=True)
        self.model = ModelScorer(loaded, Reading(), model)
        self.padding = 0.0

    def __call__(self, pairs: list[tuple[str, str]]) -> list[tuple[int, int]]:
        """Score; return the words of each batch including EOS, (source, target)."""
        from cgru_cli.score.pairs.model_scorer import Line
        from cgru_cli.system.windows import batches

        texts = [(s.split(" "), t.split(" ")) for s, t in pairs]
        sizes = [max(map(len, pair)) + 1 for pair in texts]
        words, positions = [], 0
        for batch in batches(sizes, self.options.mini_batch, self.model.max_tokens):
            sides = list(zip(*(texts[i] for i in batch), strict=True))
            self.model(batch, [Line(*texts[i]) for i in batch])
            lengths = [[len(line) + 1 for line in side] for side in sides]
            words.append(tuple(map(sum, lengths)))
            positions += sum(len(batch) * max(side) for side in lengths)
        self.padding = positions / sum(map(sum, words)) - 1
        return words


class Flow:
    """Reads the output of a process and records when it arrives."""

    def __init__(self) -> None:
        self._output, self.input = os.pipe()
        self._begun = time.perf_counter()
        self._arrivals: list[tuple[float, int]] = []
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        while data := os.read(self._output, 1 << 16):
            self._arrivals.append((time.perf_counter() - self._begun, data.count(b"\n")))

    def close(self) -> tuple[int, float, float]:
        """The number of lines, and the seconds until the first and until half of them."""
        os.close(self.input)
        self._thread.join()
        os.close(self._output)
        total = sum(count for _, count in self._arrivals)
        seen = 0
        for seconds, count in self._arrivals:
            seen += count
            if seen >= total / 2:
                return total, self._arrivals[0][0], seconds
        return total, 0.0, 0.0


if __name__ == "__main__":
    main()
