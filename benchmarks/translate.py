"""Compare the speed of translation with its matrix products, and with Marian.

    python benchmarks/translate.py --model MODEL --source FILE [--peer marian]

MODEL is a small plain model that translates FILE (tokenised and split like its training text). It
is zero-padded to 512/1024/30000, so that sentences are real and costs those of a big model. With
--parts process --own-size, MODEL is a model of Marian's, which both programs translate with as it
is. All ratios are within one run; the measurements take turns, and the median is printed.

- floor: the plain products of each step (float32, one product of ONNX Runtime per matrix, no
  biases, no attention, no softmax, no search) for exactly the rows that the search expanded,
  compared with the time of the search.
- shortlist (with --shortlist): the search with a shortlist per line, and per mini-batch, compared
  with the search over all words, including the encoder.
- latency: lines translated one at a time, each precision compared with the first.
- process: whole processes, with and without start-up, by CPU seconds (user + system) of the child;
  with --shortlist, each program also with it.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring import Clock, Run, process
from padding import SIZES, OfMarian, Padded
from products import Products

PARTS = ["floor", "latency", "process", "first", "memory"]
LINES = 20  # lines for measuring latency


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--vocabs", nargs="*", default=())
    parser.add_argument("--source", required=True, type=Path)
    parser.add_argument("--lines", type=int, nargs="*", default=[200])
    parser.add_argument("--beam", type=int, nargs="*", default=[5, 12])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--peer", choices=["marian"])
    parser.add_argument(
        "--peer-int8", action="store_true", help="also measure Marian's packed int8"
    )
    parser.add_argument("--precision", nargs="*", default=["float32"], choices=["float32", "int8"])
    parser.add_argument("--own-size", action="store_true", help="do not pad a model of Marian's")
    parser.add_argument("--parts", nargs="*", default=PARTS)
    parser.add_argument("--shortlist", nargs="*", metavar="FILE [FIRST [BEST [PRUNE]]]")
    arguments = parser.parse_args()
    if arguments.own_size and (arguments.parts != ["process"] or not arguments.vocabs):
        parser.error("--own-size needs --parts process and --vocabs")
    if arguments.shortlist:
        arguments.parts.append("shortlist")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments, Path(folder))
        for part in arguments.parts:
            getattr(bench, part)()


class Bench:
    def __init__(self, arguments: argparse.Namespace, folder: Path):
        self.a, self.folder = arguments, folder
        self.lines = arguments.source.read_text("utf-8").split("\n")[:-1]
        if arguments.own_size:
            self.padded = OfMarian(Path(arguments.model), list(arguments.vocabs))
            print(f"{arguments.model}, {arguments.threads} threads")
            return
        self.padded = Padded(arguments.model, arguments.vocabs, folder)
        self.big = self.padded.model
        embedding, state, vocabulary = SIZES
        print(f"model {embedding}/{state}/{vocabulary}, {arguments.threads} threads")

    def text(self, count: int) -> Path:
        path = self.folder / f"source.{count}"
        lines = self.lines * (count // len(self.lines) + 1)
        path.write_text("".join(f"{line}\n" for line in lines[:count]), "utf-8")
        return path

    def decoder(self, precision: str):
        """The big model, prepared for search in this process."""
        from cgru_cli.search.ensemble import Ensemble
        from cgru_cli.search.runtime import Settings, prepared

        settings = Settings("cpu", self.a.threads)
        copy = dataclasses.replace(self.big)  # `prepared` takes the arrays
        return Ensemble([prepared(copy, precision, settings, once=True)])

    # -- the arithmetic floor ------------------------------------------------------------------

    def floor(self) -> None:
        """Compare the time of plain products with that of the search, in this process."""
        floor = step_products(self.big.structure, self.a.threads)
        for precision in self.a.precision:
            decoder = self.decoder(precision)
            for beam in self.a.beam:
                turns = [self.turn(decoder, floor, beam) for _ in range(self.a.turns + 1)][1:]
                wall = statistics.median(t.floor_wall / t.wall for t in turns)
                cpu = statistics.median(t.floor_cpu / t.cpu for t in turns)
                speed = statistics.median(t.words / t.wall for t in turns)
                print(
                    f"{precision} beam {beam}: {100 * wall:.0f} % of the floor by wall clock, "
                    f"{100 * cpu:.0f} % by CPU; {speed:.0f} target words/s; "
                    f"encoding took {100 * statistics.median(t.encode for t in turns):.0f} % more"
                )

    # -- fewer words -----------------------------------------------------------------------------

    def shortlist(self) -> None:
        """Compare the CPU seconds of the search over all words with those with a shortlist."""
        from cgru_cli.formats.shortlist import Shortlist
        from cgru_cli.options.kinds import shortlist

        path, numbers = shortlist(self.a.shortlist)
        vocabularies = (v.limited(SIZES[2]) for v in (self.padded.source, self.padded.target))
        table = Shortlist.read(path, *vocabularies, *numbers)

        def own(batch):
            return [table.of_words(word for (word,) in line) for line in batch]

        def shared(batch):
            return [table.of_words(word for line in batch for (word,) in line)]

        kinds = {"all words": None, "a line's own": own, "a mini-batch's": shared}
        for precision in self.a.precision:
            decoder = self.decoder(precision)
            for beam in self.a.beam:
                turns: dict[str, list[Turn]] = {name: [] for name in kinds}
                for _ in range(self.a.turns + 1):
                    for name, words in kinds.items():
                        turns[name].append(self.turn(decoder, None, beam, words))
                for name in list(kinds)[1:]:
                    pairs = list(zip(turns["all words"], turns[name], strict=True))[1:]
                    ratio = statistics.median(a.whole / b.whole for a, b in pairs)
                    speed = statistics.median(b.words / b.whole for _, b in pairs)
                    print(
                        f"{precision} beam {beam}, shortlist {numbers.first} {numbers.best}, "
                        f"{name} words: {ratio:.2f} x all words' speed by CPU; "
                        f"{speed:.0f} target words per CPU second"
                    )

    def turn(
        self,
        decoder,
        floor: Products | None,
        beam: int,
        words=None,
        *,
        lines: int = 0,
        size: int = 64,
    ) -> Turn:
        """Search once and measure it.

        floor: None to skip its measurement; words: the shortlists of a batch, as in
        `Ensemble.begin`; lines: the number of lines, 0 for the number in --lines; size: the size of
        a mini-batch.
        """
        from cgru_cli.search.beam import shrinking_beam
        from cgru_cli.search.hypotheses import SearchBatch
        from cgru_cli.search.settings import SearchSettings
        from cgru_cli.text.source_words import pad_ids

        lines = self.lines[: lines or self.a.lines[0]]
        ids = [[(i,) for i in self.padded.source.encode(line.split(" "))] for line in lines]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        settings = SearchSettings(beam, normalize=1.0, best_only=True)
        turn, rows, starts = Turn(), [], range(0, len(order), size)
        encoding = Clock()

        def batches():
            for start in starts:
                batch = [ids[i] for i in order[start : start + size]]
                lengths = [len(line) + 1 for line in batch]
                with encoding:
                    states = decoder.begin([pad_ids(batch)], words(batch) if words else ())
                expand = states.expand

                def counted(sentences, *rest, expand=expand):
                    rows.append(len(sentences))
                    return expand(sentences, *rest)

                states.expand = counted
                yield SearchBatch(states, lengths, [3 * length for length in lengths])

        whole = Clock()
        with whole:
            for _, found in shrinking_beam(batches(), settings):
                turn.words += len(found[0].words)
        turn.wall = whole.run.wall - encoding.run.wall
        turn.cpu = whole.run.cpu - encoding.run.cpu
        turn.encode = encoding.run.wall / turn.wall
        turn.whole, turn.alone = whole.run.cpu, whole.run.wall
        if floor is None:
            return turn
        plain = Clock()
        with plain:
            for count in rows:
                floor(count)
        turn.floor_wall, turn.floor_cpu = plain.run.wall, plain.run.cpu
        return turn

    # -- whole processes -----------------------------------------------------------------------

    def cgru(self, count: int, precision: str, shortlist: bool = False) -> list[str]:
        return [
            sys.executable, "-m", "cgru_cli", "translate", "-m", str(self.padded.path),
            "-v", *self.padded.vocabularies,
            "-i", str(self.text(count)), "-o", str(self.folder / f"out.cgru {precision}"),
            "-k", "5", "-n", "--allow-unk", "--cpu-threads", str(self.a.threads),
            "--precision", precision, "--max-length-factor", "3", "--device", "cpu",
            *self.shortlist_options(shortlist),
        ]  # fmt: skip

    def marian(self, count: int, precision: str, shortlist: bool = False) -> list[str]:
        model, vocabularies = self.padded.marian()
        packed = ["--gemm-type", "packed8", "--optimize"] if precision == "packed8" else []
        return [
            sys.executable, "-m", "pymarian", "decode", "-m", str(model), "-v", *vocabularies,
            "-i", str(self.text(count)), "-o", str(self.folder / f"out.marian {precision}"),
            "-b", "5", "-n", "--allow-unk", "--cpu-threads", str(self.a.threads),
            "--mini-batch", "64", "--maxi-batch", "100", "--maxi-batch-sort", "src",
            "-w", "2500", "--quiet", "--quiet-translation", *packed,
            *self.shortlist_options(shortlist),
        ]  # fmt: skip

    def shortlist_options(self, wanted: bool) -> list[str]:
        return ["--shortlist", *self.a.shortlist] if wanted else []

    def process(self) -> None:
        """Measure whole translations: CPU seconds, words/s, peak memory, and ratios to Marian.

        The time without start-up is that of all lines minus that of a single line.
        """
        programs = [(self.cgru, "cgru", precision) for precision in self.a.precision]
        if self.a.peer == "marian":
            programs += [(self.marian, "marian", "float32")]
            programs += [(self.marian, "marian", "packed8")] * self.a.peer_int8
        for count in self.a.lines:
            for shortlist in [False, True][: 1 + bool(self.a.shortlist)]:
                print(f"{count} lines, beam 5" + shortlist * ", with the shortlist")
                self.compare(programs, count, shortlist)

    def compare(self, programs, count: int, shortlist: bool) -> None:
        runs: dict[str, list[Run]] = {}
        without_start: dict[str, list[float]] = {}  # CPU seconds of each round
        for _ in range(self.a.turns):
            for command, name, precision in programs:
                name = f"{name} {precision}"
                start = process(command(1, precision, shortlist))
                run = process(command(count, precision, shortlist))
                runs.setdefault(name, []).append(run)
                without_start.setdefault(name, []).append(run.cpu - start.cpu)
        for name, turns in runs.items():
            words = len((self.folder / f"out.{name}").read_text("utf-8").split())
            cpu = statistics.median(run.cpu for run in turns)
            wall = statistics.median(run.wall for run in turns)
            print(
                f"  {name}: {cpu:.1f} CPU s, {wall:.1f} s, {words / wall:.0f} words/s, "
                f"{max(run.peak for run in turns):.0f} MiB; without start-up "
                f"{statistics.median(without_start[name]):.1f} CPU s"
            )
            for ours in (n for n in runs if n.startswith("cgru") and name.startswith("marian")):
                pairs = zip(turns, runs[ours], strict=True)
                whole = statistics.median(theirs.cpu / mine.cpu for theirs, mine in pairs)
                rest = zip(without_start[name], without_start[ours], strict=True)
                search = statistics.median(theirs / mine for theirs, mine in rest)
                print(f"    {whole:.2f} x the CPU of {ours}, without start-up {search:.2f} x")
        if not self.a.peer:
            return
        theirs = (self.folder / "out.marian float32").read_text("utf-8").split("\n")
        for precision in self.a.precision:
            mine = (self.folder / f"out.cgru {precision}").read_text("utf-8").split("\n")
            same = sum(a == b for a, b in zip(mine, theirs, strict=True)) - 1
            print(f"  {precision}: {same} translations equal Marian's in float32")

    def first(self) -> None:
        """Measure the seconds from the start of the process to the first translation on a pipe."""
        times: dict[str, list[float]] = {name: [] for name in self.a.precision}
        imports = []
        for _ in range(self.a.turns):
            for name, taken in times.items():
                command = self.cgru(200, name)
                del command[command.index("-o") : command.index("-o") + 2]
                start = time.perf_counter()
                child = subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
                )
                child.stdout.readline()
                taken.append(time.perf_counter() - start)
                child.kill()
                child.communicate()
            imports.append(process([sys.executable, "-c", "import numpy, onnxruntime"]).wall)
        for name, taken in times.items():
            print(
                f"{name}: first translation after {statistics.median(taken):.1f} s (importing "
                f"NumPy and ONNX Runtime alone takes {statistics.median(imports):.1f} s here)"
            )

    def latency(self) -> None:
        """Measure the milliseconds for a line that is translated alone, without start-up."""
        decoders = {name: self.decoder(name) for name in self.a.precision}
        for beam in self.a.beam:
            turns: dict[str, list[Turn]] = {name: [] for name in decoders}
            for _ in range(self.a.turns + 1):
                for name, decoder in decoders.items():
                    turns[name].append(self.turn(decoder, None, beam, lines=LINES, size=1))
            first = turns[self.a.precision[0]][1:]
            for name, all_turns in turns.items():
                mine = all_turns[1:]
                wall, cpu = (
                    1000 / LINES * statistics.median(getattr(t, kind) for t in mine)
                    for kind in ("alone", "whole")
                )
                ratio = statistics.median(
                    a.whole / b.whole for a, b in zip(first, mine, strict=True)
                )
                print(
                    f"one line at a time, beam {beam}, {name}: {wall:.0f} ms, {cpu:.0f} CPU ms; "
                    f"{ratio:.2f} x {self.a.precision[0]}'s speed by CPU"
                )

    def memory(self) -> None:
        """Measure the peak memory of the small model for increasing numbers of lines."""
        small = self.a.model
        for count in (10_000, 100_000):
            command = [
                sys.executable, "-m", "cgru_cli", "translate", "-m", small, "-k", "1",
                "-i", str(self.text(count)), "-o", str(self.folder / "out"), "--device", "cpu",
            ]  # fmt: skip
            if self.a.vocabs:
                command += ["-v", *self.a.vocabs]
            print(f"{count} lines, small model, greedy: peak {process(command).peak:.0f} MiB")


@dataclasses.dataclass
class Turn:
    wall: float = 0.0
    cpu: float = 0.0
    encode: float = 0.0
    whole: float = 0.0  # CPU seconds, including the encoder
    alone: float = 0.0  # wall-clock seconds, including the encoder
    words: int = 0
    floor_wall: float = 0.0
    floor_cpu: float = 0.0


def step_products(structure, threads: int) -> Products:
    """The matrix products of one step."""
    d, e, c, v = (
        structure.state, structure.target_embedding, structure.context,
        structure.target_vocabulary,
    )  # fmt: skip
    matrices = [(e, 3 * d), (d, 3 * d), (d, c), (d, 3 * d), (c, 3 * d)]
    matrices += [(e, e), (d, e), (c, e), (e, v)]
    return Products(matrices, threads)


if __name__ == "__main__":
    main()
