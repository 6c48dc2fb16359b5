"""TensorFlow on a machine with a GPU that has no package index, and cgru there.

    python benchmarks/gpu_tensorflow.py pack FOLDER --python 3.12
    python benchmarks/gpu_tensorflow.py unpack FOLDER ENVIRONMENT
    python benchmarks/gpu_tensorflow.py run ENVIRONMENT --minutes 8

`pack` downloads the wheels of TensorFlow, of the two CUDA libraries without which it registers no
GPU, and of what cgru needs, and splits them into parts of at most 60 MB, to be copied one after the
other. `unpack`, on the other machine, joins them, compares their SHA-256, and installs them into a
new environment. `run` trains and translates there, prints a table as Markdown, and stops beginning
measurements when the minutes are over: the smallest first, so that a fault shows early.

Without a GPU, `pack --cpu` takes the smaller `tensorflow_cpu`, and `run` measures the number of
threads instead.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PART = 60 << 20  # bytes
TENSORFLOW = "2.21.0"
CUDA = ("nvidia-cublas-cu12==12.5.3.2", "nvidia-cuda-runtime-cu12==12.5.82")
# TensorFlow opens these before it registers a GPU, and calls none of their functions for cgru.
UNUSED = ("libcufft.so.11", "libcusolver.so.11", "libcusparse.so.12")
LEFT_OUT = {"tensorflow", "onnxruntime"}  # requirements: named here, and not needed to train
SIZES = {"small": (64, 128, 2000), "large": (512, 1024, 30000)}  # embeddings, states, words
LINES = 20_000


def pack(options: argparse.Namespace) -> None:
    """Download the wheels and write `part-NN` files and `parts.json`."""
    options.folder.mkdir(parents=True, exist_ok=True)
    name = "tensorflow-cpu" if options.cpu else "tensorflow"
    wanted = [f"{name}=={TENSORFLOW}", *(() if options.cpu else CUDA)]
    lines = (ROOT / "requirements.txt").read_text("utf-8").split()
    wanted += [line for line in lines if re.split("[<>=]", line)[0] not in LEFT_OUT]
    platforms = [f"--platform=manylinux{kind}_x86_64" for kind in ("_2_27", "_2_28", "2014")]
    with tempfile.TemporaryDirectory() as wheels:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:"]
        pip += [*platforms, "--platform=any", f"--python-version={options.python}", "-d", wheels]
        subprocess.run([*pip, *wanted], check=True)
        archive = shutil.make_archive(str(options.folder / "wheels"), "tar", wheels)
    parts, digest = [], hashlib.sha256()
    with open(archive, "rb") as file:
        while piece := file.read(PART):
            parts.append(f"part-{len(parts):02}")
            (options.folder / parts[-1]).write_bytes(piece)
            digest.update(piece)
    os.remove(archive)
    written = json.dumps({"parts": parts, "sha256": digest.hexdigest()})
    (options.folder / "parts.json").write_text(written, "utf-8")
    print(f"{len(parts)} parts in {options.folder}")


def unpack(options: argparse.Namespace) -> None:
    """Join the parts and install them. Exits if a part is missing or damaged."""
    record = json.loads((options.folder / "parts.json").read_text("utf-8"))
    digest = hashlib.sha256()
    with tempfile.TemporaryDirectory() as scratch:
        archive = Path(scratch, "wheels.tar")
        with archive.open("wb") as file:
            for part in record["parts"]:
                piece = (options.folder / part).read_bytes()
                digest.update(piece)
                file.write(piece)
        if digest.hexdigest() != record["sha256"]:
            sys.exit("the parts are damaged or incomplete: copy them again")
        shutil.unpack_archive(archive, Path(scratch, "wheels"))
        wheels = sorted(Path(scratch, "wheels").glob("*.whl"))
        subprocess.run(
            [sys.executable, "-m", "venv", "--system-site-packages", options.environment],
            check=True,
        )
        python = options.environment / "bin/python"
        subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", *wheels], check=True)
    stubs = options.environment / "stubs"
    stubs.mkdir(exist_ok=True)
    for library in UNUSED:
        command = ["gcc", "-shared", f"-Wl,-soname,{library}", "-o", stubs / library]
        subprocess.run([*command, "-x", "c", "/dev/null"], check=True)


def libraries(environment: Path) -> Iterator[Path]:
    """The folders in which TensorFlow finds CUDA's libraries, own ones first."""
    yield environment / "stubs"
    python = environment / "bin/python"
    code = "import sys; print(*sys.path, sep='\\n')"
    found = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    for path in found.stdout.split():
        yield from sorted(Path(path).glob("nvidia/*/lib"))


def last_line(text: str) -> str:
    """The last line, which in the log of a command that failed says why; "failed" without any."""
    return (text.strip().splitlines() or ["failed"])[-1]


class Measurements:
    """Runs of cgru in the environment, each a row of the table."""

    def __init__(self, environment: Path, seconds: float):
        self.end, self.folder = time.monotonic() + seconds, Path(tempfile.mkdtemp())
        self.python = environment / "bin/python"
        self.environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "LD_LIBRARY_PATH": ":".join(map(str, libraries(environment))),
            "CUDA_MODULE_LOADING": "LAZY",
            "CUDA_CACHE_MAXSIZE": str(4 << 30),  # kernels compiled from PTX at first use
            "XLA_FLAGS": "--xla_gpu_cuda_data_dir=/usr/local/cuda",
        }
        for name, (*_, words) in SIZES.items():
            draw = random.Random(1)
            numbers = {"eos": 0, "UNK": 1} | {f"w{n}": n + 2 for n in range(words - 2)}
            (self.folder / f"{name}.json").write_text(json.dumps(numbers), "utf-8")
            for side in ("src", "trg"):
                with (self.folder / f"{name}.{side}").open("w", encoding="utf-8") as file:
                    for _ in range(LINES):
                        drawn = (int((words - 2) ** draw.random()) for _ in range(24))
                        print(*(f"w{number}" for number in drawn), file=file)

    def gpus(self) -> int:
        """The number of GPUs that TensorFlow sees; prints what it says if there is none."""
        code = "import tensorflow as tf; print(len(tf.config.list_physical_devices('GPU')))"
        done = self._python("-c", code, TF_CPP_MIN_LOG_LEVEL="0")
        count = int(done.stdout.split()[-1]) if done.stdout else 0
        if not count:
            print(done.stderr[-3000:], file=sys.stderr)
        return count

    def train(self, name: str, size: str, *options: object, model: str = "", together=1) -> None:
        """Train, in several processes at a time if asked, and print the last words/s of each."""
        embedding, state, _ = SIZES[size]
        text = [self.folder / f"{size}.{side}" for side in ("src", "trg")]
        vocabularies = [self.folder / f"{size}.json"] * 2
        model = model or re.sub(r"\W", "-", name)
        begun = time.monotonic()
        started = [
            self._start(
                "-m", "cgru_cli", "train", "-t", *text, "-m", self.folder / f"{model}{k}.npz",
                "--defaults", "fixed", "--dim-emb", embedding, "--dim-rnn", state,
                "-v", *vocabularies, "--mini-batch", 80, "--disp-freq", "20u", "--seed", 1,
                *options,
            )
            for k in range(together)
        ]  # fmt: skip
        logs = [process.communicate()[1] for process in started]
        speeds = [re.findall(r"([\d.]+) words/s", log)[-1:] or [last_line(log)] for log in logs]
        self._row(name, " + ".join(speed for (speed,) in speeds), time.monotonic() - begun)

    def translate(self, name: str, model: str, *options: object) -> None:
        begun = time.monotonic()
        lines = self.folder / "lines"
        text = (self.folder / f"{model.split('-')[0]}.src").read_text("utf-8").splitlines()
        lines.write_text("\n".join(text[:400]) + "\n", "utf-8")
        out = ("-i", lines, "-o", self.folder / "out", "--max-length", 30)
        path = self.folder / f"{model}0.npz"
        done = self._python("-m", "cgru_cli", "translate", "-m", path, *out, *options)
        result = last_line(done.stderr) if done.returncode else "400 lines"
        self._row(name, result, time.monotonic() - begun)

    def _row(self, name: str, result: str, seconds: float) -> None:
        print(f"| {name} | {result} | {seconds:.1f} |", flush=True)

    def _start(self, *command: object, **variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(self.python), *map(str, command)],
            env=self.environment | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _python(self, *command: object, **variables: str) -> subprocess.CompletedProcess[str]:
        process = self._start(*command, **variables)
        out, error = process.communicate()
        return subprocess.CompletedProcess(command, process.returncode, out, error)

    @property
    def has_time(self) -> bool:
        return time.monotonic() < self.end


def run(options: argparse.Namespace) -> None:
    """Print a table of words per second and whole seconds."""
    of = Measurements(options.environment, 60 * options.minutes)
    gpus = of.gpus()
    print(f"TensorFlow {TENSORFLOW}, GPUs: {gpus}\n\n| run | words/s | s |\n|---|---|---|")
    plans = _on_gpu(of, options.updates) if gpus else _on_cores(of, options.updates)
    for measure, *arguments in plans:
        if not of.has_time:
            print("\nstopped: the minutes are over")
            break
        named = arguments.pop() if isinstance(arguments[-1], dict) else {}
        measure(*arguments, **named)
    shutil.rmtree(of.folder)


def _on_gpu(of: Measurements, updates: int) -> Iterator[list]:
    """Small before large; the first run of a kind also compiles kernels."""
    end = ("--after", f"{updates}u")
    for jit in ("auto", "on", "off"):
        compiled = ("--jit", jit, *end)
        yield [of.train, f"small, --jit {jit}", "small", *compiled, {"model": f"small-{jit}"}]
    again = ("--jit", "auto", "--after", f"{2 * updates}u")
    yield [of.train, "small, resumed", "small", *again, {"model": "small-auto"}]
    for precision in ("bfloat16", "float16"):
        yield [of.train, f"small, {precision}", "small", "--precision", precision, *end]
    yield [of.train, "small, two processes on the GPU", "small", *end, {"together": 2}]
    yield [of.translate, "translate on the processor", "small-auto", "--device", "cpu"]
    yield [of.translate, "translate on the GPU", "small-auto", "--device", "gpu"]
    for sentences in (80, 400):
        more = ("--mini-batch", sentences, "--precision", "bfloat16", *end)
        for jit in ("on", "off"):
            name = f"512/1024/30000, {sentences} sentences, bfloat16, --jit {jit}"
            yield [of.train, name, "large", "--jit", jit, *more]
    yield [of.train, "512/1024/30000, 80 sentences, float32", "large", "--jit", "on", *end]


def _on_cores(of: Measurements, updates: int) -> Iterator[list]:
    """Training with 1, 2, 4, ... threads."""
    threads = 1
    while threads <= (os.cpu_count() or 1):
        for size in SIZES:
            name = f"{size}, {threads} threads"
            end = ("--cpu-threads", threads, "--after", f"{updates}u")
            yield [of.train, name, size, *end]
        threads *= 2


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = parser.add_subparsers(required=True, metavar="pack|unpack|run")
    packing = parts.add_parser("pack", help="download wheels and split them")
    packing.add_argument("folder", type=Path)
    packing.add_argument("--python", default="3.12", help="version on the other machine")
    packing.add_argument("--cpu", action="store_true", help="TensorFlow without GPUs")
    packing.set_defaults(part=pack)
    unpacking = parts.add_parser("unpack", help="join the parts and install them")
    unpacking.add_argument("folder", type=Path)
    unpacking.add_argument("environment", type=Path)
    unpacking.set_defaults(part=unpack)
    running = parts.add_parser("run", help="train and translate")
    running.add_argument("environment", type=Path)
    running.add_argument("--minutes", type=float, default=8)
    running.add_argument("--updates", type=int, default=60)
    running.set_defaults(part=run)
    options = parser.parse_args(given)
    options.part(options)


if __name__ == "__main__":
    main()
