"""Compare the speed of training with its matrix products, and with other programs.

    python benchmarks/train.py --source FILE --target FILE [--peer marian]
    python benchmarks/train.py --source FILE --target FILE --type seq2seq --cell lstm --parts floor

The FILEs are parallel text, split into the model's words at spaces; the vocabularies have these
words, padded to the size of the model. All ratios are within one run; the measurements take turns,
and the median is printed.

- floor: the plain products of forward and backward pass (one TensorFlow product each, no biases, no
  attention, no softmax, no update) for the words trained on, without padding, compared with the
  time of the updates. Recurrent products are computed step by step, the others over all positions
  at once.
- first: time from the start of the process to the first update, with empty and filled cache.
- process: whole training programs on identical batches, one run each: `--warm-up` updates and then
  `--process-updates`. Prints their median words/s and its ratio to each peer's (see `peers.py`).
- threads: whole trainings with 1, 2, 4, .. `--threads` on identical batches, and with `--against
  FOLDER` those of another checkout of cgru. Prints words/s, CPU seconds and peak memory, and
  the speed relative to one thread.
- workers (`--workers N`): updates of one process compared with those of N processes that train
  together on this machine with the same total number of threads; bytes sent per update.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import itertools
import json
import math
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent import futures
from pathlib import Path

import peers
from measuring import Clock, Run, process

from cgru_cli.system import tensorflow_start

MIN_UPDATES = 2  # the first updates of a process trace and allocate
MAX_LENGTH = 50
IN_ORDER = ("--no-shuffle", "--maxi-batch", "1", "--maxi-batch-sort", "none")

# Nematus was written for TensorFlow 1; TensorFlow 2 runs it in compatibility mode.
_NEMATUS = """
import os, runpy, sys
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
del sys.argv[0]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", required=True, type=Path)
    parser.add_argument("--target", required=True, type=Path)
    parser.add_argument(
        "--type", default="cgru", choices=["lm", "encdec", "seq2seq", "rnnsearch", "cgru"]
    )
    parser.add_argument("--cell", default="gru", choices=["gru", "lstm", "tanh", "relu"])
    parser.add_argument("--enc-type", help="as in cgru train; default for seq2seq: reversed")
    parser.add_argument("--sizes", type=int, nargs=3, default=[512, 1024, 30000],
                        metavar=("EMBEDDING", "STATE", "VOCABULARY"))  # fmt: skip
    parser.add_argument("--batch", type=int, default=80)
    parser.add_argument("--updates", type=int, default=10, help="updates per round")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument(
        "--process-updates", type=int, default=30, help="timed updates of --parts process"
    )
    parser.add_argument("--warm-up", type=int, default=5, help="updates before the timed ones")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--precision", nargs="*", default=["float32", "bfloat16"])
    parser.add_argument("--peer", nargs="*", default=[], choices=["marian", "nematus"])
    parser.add_argument("--nematus", type=Path, help="the folder that contains nematus/train.py")
    parser.add_argument(
        "--parts", nargs="*", default=["floor", "first", "process"],
        choices=["floor", "first", "process", "threads"],
    )  # fmt: skip
    parser.add_argument("--against", type=Path, help="another checkout, for --parts threads")
    parser.add_argument("--workers", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    if arguments.peer and (arguments.type, arguments.cell) != ("cgru", "gru"):
        parser.error("--peer requires --type cgru --cell gru")
    if arguments.workers:
        arguments.parts.append("workers")
    if arguments.type == "seq2seq":
        arguments.enc_type = arguments.enc_type or "reversed"
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments, Path(folder))
        for part in arguments.parts:
            getattr(bench, part)()


class Bench:
    def __init__(self, arguments: argparse.Namespace, folder: Path):
        self.a, self.folder = arguments, folder
        for side, text in (("src", arguments.source), ("trg", arguments.target)):
            shutil.copy(text, folder / side)
            write_vocabulary(text, folder / f"{side}.json", arguments.sizes[2])
        sizes = "/".join(map(str, arguments.sizes))
        kind = f"{arguments.type} {arguments.cell} {arguments.enc_type or ''}".rstrip()
        print(
            f"{kind}, model {sizes}, batch {arguments.batch}, {arguments.threads} threads",
            flush=True,
        )

    # -- the arithmetic floor ------------------------------------------------------------------

    def floor(self) -> None:
        """Compare the time of plain products with that of updates, in this process."""
        tensorflow_start.start("cpu", self.a.threads)
        from training_products import TrainingProducts  # which imports TensorFlow

        jobs = {p: Updates(self.a, self.folder, p) for p in self.a.precision}
        floors = {
            p: TrainingProducts(job.structure, self.a.batch, p) for p, job in jobs.items()
        }  # fmt: skip
        turns: dict[str, list[tuple[Run, Run, int]]] = {p: [] for p in jobs}
        for turn in range(self.a.turns + 1):
            for precision, job in jobs.items():
                clock, lengths = job(self.a.updates)
                least = Clock()
                with least:
                    for source, target in lengths:
                        floors[precision](source, target)
                if turn:  # the first round traces and allocates
                    words = sum(target for _, target in lengths)
                    turns[precision].append((clock.run, least.run, words))
        for precision, runs in turns.items():
            wall = statistics.median(least.wall / run.wall for run, least, _ in runs)
            cpu = statistics.median(least.cpu / run.cpu for run, least, _ in runs)
            speed = statistics.median(words / run.wall for run, _, words in runs)
            print(
                f"{precision}: {100 * wall:.0f} % of the floor by wall clock, {100 * cpu:.0f} % "
                f"by CPU; {speed:.0f} target words/s"
            )
            print(f"{precision}: {jobs[precision].padding()}", flush=True)
        for precision in self.a.precision[1:]:
            first = self.a.precision[0]
            wall, cpu = (
                statistics.median(
                    (getattr(a[0], what) / a[2]) / (getattr(b[0], what) / b[2])
                    for a, b in zip(turns[first], turns[precision], strict=True)
                )
                for what in ("wall", "cpu")
            )
            print(f"{precision}: {wall:.2f} x the speed of {first}, {cpu:.2f} x by CPU", flush=True)

    def kind(self) -> list[str]:
        """The options for the type of model, here and in `cgru train`."""
        reader = ["--enc-type", self.a.enc_type] if self.a.enc_type else []
        return ["--type", self.a.type, "--cell", self.a.cell, *reader]

    # -- whole processes -----------------------------------------------------------------------

    def shared(self, updates: int, threads: int = 0) -> list[str]:
        """The options that Marian shares."""
        return [
            "--mini-batch", str(self.a.batch), "--max-length", str(MAX_LENGTH - 1),
            "-l", "0.0001", "--clip-norm", "1", "--seed", "1", "--after", f"{updates}u",
            "--disp-freq", "1u", "--cpu-threads", str(threads or self.a.threads),
        ]  # fmt: skip

    def cgru(self, model: Path, updates: int, *more: str, threads: int = 0) -> list[str]:
        embedding, state, _ = self.a.sizes
        texts, vocabularies = files(self.folder, self.a.type)
        return [
            sys.executable, "-m", "cgru_cli", "train", "-t", *texts, "-v", *vocabularies,
            "-m", str(model), "--defaults", "fixed", "--dim-emb", str(embedding),
            "--dim-rnn", str(state), *self.kind(),
            *self.shared(updates, threads), "--save-freq", "0", "--device", "cpu", *more,
        ]  # fmt: skip

    def marian(self, model: Path, updates: int) -> list[str]:
        embedding, state, vocabulary = self.a.sizes
        return [
            sys.executable, "-m", "pymarian", "train", "--type", "amun",
            "-t", str(self.folder / "ordered.src"), str(self.folder / "ordered.trg"),
            "-v", str(self.folder / "src.json"), str(self.folder / "trg.json"),
            "-m", str(model), "--dim-emb", str(embedding), "--dim-rnn", str(state),
            "--dim-vocabs", str(vocabulary), str(vocabulary),
            # without --sync-sgd, each thread has its own batch, and they end in any order
            *self.shared(updates), *IN_ORDER, "--sync-sgd", "-w", "6000", "--dropout-rnn", "0",
        ]  # fmt: skip

    def nematus(self, model: Path, updates: int) -> list[str]:
        embedding, state, vocabulary = self.a.sizes
        return [
            sys.executable, "-c", _NEMATUS, str(self.a.nematus / "nematus" / "train.py"),
            "--source_dataset", str(self.folder / "ordered.src"),
            "--target_dataset", str(self.folder / "ordered.trg"),
            "--dictionaries", str(self.folder / "src.json"), str(self.folder / "trg.json"),
            "--source_vocab_sizes", str(vocabulary), "--target_vocab_size", str(vocabulary),
            "--model", str(model), "--embedding_size", str(embedding), "--state_size", str(state),
            "--batch_size", str(self.a.batch), "--maxibatch_size", "1", "--no_shuffle",
            "--no_sort_by_length", "--maxlen", str(MAX_LENGTH),
            "--learning_rate", "0.0001", "--clip_c", "1", "--finish_after", str(updates),
            "--disp_freq", "1", "--valid_freq", "0", "--save_freq", "0",
        ]  # fmt: skip

    def identical_batches(self) -> list[tuple[int, int]]:
        """Write the text of the updates in order; the words of each timed update."""
        return peers.write_batches(
            self.folder / "src", self.folder / "trg", self.folder, batch=self.a.batch,
            count=self.a.warm_up + self.a.process_updates, longest=MAX_LENGTH - 2,
        )[self.a.warm_up:]  # fmt: skip

    def in_order(self, precision: str, threads: int = 0) -> list[str]:
        """The training by cgru on the text that `identical_batches` wrote."""
        count = self.a.warm_up + self.a.process_updates
        more = *IN_ORDER, "--precision", precision
        command = self.cgru(self.folder / "model.npz", count, *more, threads=threads)
        texts = {str(self.folder / side): str(self.folder / f"ordered.{side}")
                 for side in ("src", "trg")}  # fmt: skip
        return [texts.get(word, word) for word in command]

    def threads(self) -> None:
        """Compare the speed of `cgru train` with one and with several threads."""
        words, most = self.identical_batches(), self.a.threads
        counts = [*(2**n for n in range(most.bit_length()) if 2**n < most), most]
        here = Path(__file__).parents[1]
        for precision in self.a.precision:
            for folder in filter(None, (self.a.against, here)):
                alone = 0.0
                for threads in counts:
                    command = self.in_order(precision, threads)
                    run = peers.follow(
                        command, peers.LINES["cgru"], len(words), self.a.warm_up, threads, folder
                    )
                    self._remove_models()
                    name = f"{folder.resolve().name}, {precision}, {threads} threads"
                    speed = sum(target for _, target in words) / sum(run.wall)
                    alone = alone or speed
                    print(
                        f"{peers.report(name, run, words)}; {speed / alone:.2f} x one thread",
                        flush=True,
                    )

    def process(self) -> None:
        """Compare the words/s of whole programs on identical batches."""
        count, warm_up = self.a.process_updates, self.a.warm_up
        words, model = self.identical_batches(), self.folder / "model.npz"
        programs = {f"cgru {precision}": self.in_order(precision) for precision in self.a.precision}
        programs |= {peer: getattr(self, peer)(model, warm_up + count) for peer in self.a.peer}
        runs = {}
        for name, command in programs.items():
            line = peers.LINES[name.split()[0]]
            runs[name] = peers.follow(command, line, count, warm_up, self.a.threads)
            self._remove_models()
            print(peers.report(name, runs[name], words), flush=True)
            if name in self.a.peer:
                for ours in (n for n in runs if n.startswith("cgru")):
                    print(f"{ours}: {peers.compare(name, runs[name], runs[ours])}", flush=True)

    def _remove_models(self) -> None:
        for path in self.folder.glob("model.npz*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def workers(self) -> None:
        """Compare several processes on loopback with one, and count the bytes sent."""
        few, many = MIN_UPDATES, MIN_UPDATES + self.a.updates
        speeds: dict[int, list[Run]] = {1: [], self.a.workers: []}
        sent = []
        for _ in range(self.a.turns):
            for count, runs in speeds.items():
                (short, before), (long, after) = (self._together(count, n) for n in (few, many))
                runs.append(Run(long.wall - short.wall, long.cpu - short.cpu, long.peak))
                if count > 1:
                    sent.append((after - before) / self.a.updates)
        for count, runs in speeds.items():
            wall, cpu = (
                statistics.median(getattr(run, what) for run in runs) / self.a.updates
                for what in ("wall", "cpu")
            )
            peak = max(run.peak for run in runs)
            print(f"{count} workers: {wall:.2f} s, {cpu:.2f} CPU s per update, peak {peak:.0f} MiB")
        wall, cpu = (
            statistics.median(
                getattr(alone, what) / getattr(shared, what)
                for alone, shared in zip(*speeds.values(), strict=True)
            )
            for what in ("wall", "cpu")
        )
        print(
            f"{self.a.workers} workers: {wall:.2f} x the speed of one process with as many "
            f"threads, {cpu:.2f} x by CPU"
        )
        size = self._model_size()
        print(
            f"sent per update: {statistics.median(sent) / 1e6:.1f} MB by all workers; the "
            f"gradient has {size / 1e6:.1f} MB", flush=True,
        )  # fmt: skip

    def _together(self, count: int, updates: int) -> tuple[Run, int]:
        """Run `count` workers that share the threads; also return the bytes sent over loopback."""
        threads = str(max(1, self.a.threads // count))
        command = self.cgru(self.folder / "model.npz", updates, "--quiet", "--cpu-threads", threads)
        command += ["--precision", self.a.precision[0], "--mini-batch", str(self.a.batch)]
        with contextlib.ExitStack() as stack:  # find free ports
            servers = [stack.enter_context(socket.create_server(("", 0))) for _ in range(count)]
            cluster = {"worker": [f"localhost:{s.getsockname()[1]}" for s in servers]}
        environments = [
            {
                "OMP_NUM_THREADS": threads,
                "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"index": index}}),
            }
            for index in range(count)
        ]
        before = loopback_bytes()
        with futures.ThreadPoolExecutor(count) as pool:
            runs = list(
                pool.map(lambda env: process(command, environment=env), environments)
            )  # fmt: skip
        sent = loopback_bytes() - before
        self._remove_models()
        total = Run(
            max(run.wall for run in runs),
            sum(run.cpu for run in runs),
            sum(run.peak for run in runs),
        )
        return total, sent

    def _model_size(self) -> int:
        """The size of the parameters in bytes."""
        tensorflow_start.start("cpu", self.a.threads)
        from products import shallow

        from cgru_cli.parameters.names import parameters

        structure = shallow(self.a.sizes, self.a.type, self.a.cell, self.a.enc_type)
        return 4 * sum(math.prod(row.size(structure)) for row in parameters(structure))

    def first(self) -> None:
        """Seconds from the start of the process to the line of the first update."""
        for jit in ("off", "on"):
            cache = self.folder / "cache"
            for what in ("cold", "warm") if jit == "on" else ("no",):
                model = self.folder / "model.npz"
                command = self.cgru(model, 1, "--jit", jit)
                begun = time.perf_counter()
                child = subprocess.Popen(
                    command, stderr=subprocess.PIPE, text=True,
                    env=os.environ | {"XDG_CACHE_HOME": str(cache)},
                )  # fmt: skip
                for line in child.stderr:
                    if re.search(r"Up\. 1 ", line):
                        break
                seconds = time.perf_counter() - begun
                child.kill()
                child.communicate()
                print(f"first update after {seconds:.1f} s, --jit {jit}, {what} cache", flush=True)
                self._remove_models()


class Updates:
    """Updates of one model, batch after batch, as in `cgru train`."""

    def __init__(self, arguments: argparse.Namespace, folder: Path, precision: str):
        from cgru_cli.corpus.text_encoding import TextEncoding
        from cgru_cli.options.train import TrainOptions
        from cgru_cli.train.builders import build_step
        from cgru_cli.train.encoding import encode
        from cgru_cli.train.examples import EpochExamples
        from cgru_cli.train.starting_model import make_starting_model
        from cgru_cli.train.texts import Texts

        embedding, state, _ = arguments.sizes
        text, vocabularies = files(folder, arguments.type)
        options = TrainOptions(
            train_sets=text, vocabularies=vocabularies, type=arguments.type,
            cell=arguments.cell, enc_type=arguments.enc_type,
            model=str(folder / "model.npz"), dim_emb=embedding, dim_rnn=state,
            mini_batch=arguments.batch, max_length=MAX_LENGTH - 1, learn_rate=0.0001,
            precision=precision,
        )  # fmt: skip
        texts = Texts.of(options, None)
        model, vocabularies, _ = make_starting_model(options, texts)
        self.structure = model.structure
        encoding = TextEncoding.of(model, vocabularies)
        corpus = encode(texts, encoding, options, folder / "corpus")
        self.step = build_step(model, options, jit=False)
        model.arrays.clear()  # as in `cgru train`
        tensorflow_start.return_freed_memory()
        self.data = EpochExamples(corpus, self.structure, options, grid=False)
        epochs = (self.data.epoch(n, 0) for n in itertools.count())
        self.examples = itertools.chain.from_iterable(epochs)
        self.words = self.positions = 0
        self.waited, self.time = 0.0, 0.0

    def __call__(self, count: int) -> tuple[Clock, list[tuple[int, int]]]:
        """Run `count` updates; return their time and the words of each, (source, target)."""
        import numpy as np

        from cgru_cli.system.side_by_side import Ahead

        clock, lengths = Clock(), []
        with Ahead(itertools.islice(self.examples, count)) as examples, clock:
            for batch, masks in examples:
                self.step.update([[(batch, masks)]], batch.sentences, 0.0001)
                source = batch.source_mask if self.structure.type.reads_source else np.zeros(0)
                lengths.append((int(source.sum()), batch.words))
                self.words += sum(lengths[-1])
                self.positions += source.size + batch.target_mask.size
        self.waited += examples.waited
        self.time += clock.run.wall
        return clock, lengths

    def padding(self) -> str:
        """The share of padding, and of time that updates waited for batches."""
        more = 100 * (self.positions / self.words - 1)
        waited = 100 * self.waited / self.time
        return f"{more:.1f} % padding; waited for batches {waited:.2f} % of the time"


def loopback_bytes() -> int:
    """Bytes that this machine has sent over loopback so far."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    (counters,) = (line.split(":")[1].split() for line in lines if line.strip().startswith("lo:"))
    return int(counters[8])


def files(folder: Path, kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Texts and vocabularies of a training run; for a language model, only the target's."""
    names = ("trg",) if kind == "lm" else ("src", "trg")
    return (
        tuple(str(folder / name) for name in names),
        tuple(str(folder / f"{name}.json") for name in names),
    )


def write_vocabulary(text: Path, path: Path, size: int) -> None:
    """Write the most frequent words of a text, padded with fillers, as Nematus' json."""
    counts = collections.Counter(text.read_text("utf-8").split())
    words = ["eos", "UNK", *(word for word, _ in counts.most_common(size - 2))]
    words[0] = "</s>"
    words += [f"filler{i}" for i in range(size - len(words))]
    content = json.dumps({word: i for i, word in enumerate(words)}, ensure_ascii=False)
    path.write_text(content, "utf-8")


if __name__ == "__main__":
    main()
