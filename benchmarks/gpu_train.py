"""Train a model on a GPU, without TensorFlow there.

    python benchmarks/gpu_train.py export FOLDER DATA --dim-emb 512 --dim-rnn 1024
    python benchmarks/gpu_train.py run FOLDER --minutes 10
    python benchmarks/gpu_train.py collect FOLDER MODEL.npz

`export`, on a machine with cgru, encodes the text of DATA (a folder of `cgru prep`) and writes the
XLA program of an update for each shape of a mini-batch. `run`, on the machine with the GPU, needs
this repository, NumPy, msgspec and JAX. It runs these programs with the mini-batches, dropout and
learning rates of `cgru train`, prints the target words per second, and writes the smoothed weights
as 16-bit numbers. `collect` writes them as a model, where cgru is.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import gzip
import itertools
import json
import os
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gpu_run import Jax

from cgru_cli.corpus.corpus import Corpus, open_cache
from cgru_cli.options.train import TrainOptions
from cgru_cli.parameters.initialization import initial_arrays, output_bias
from cgru_cli.parameters.names import name_at
from cgru_cli.parameters.structure import Structure
from cgru_cli.train.examples import EpochExamples, Example
from cgru_cli.train.run.learning_rate import Schedule
from cgru_cli.train.run.progress import Progress

if TYPE_CHECKING:
    from cgru_cli.train.setup import Setup

AHEAD = 8  # updates that are started before an earlier one must have ended
SHOWN = 100  # updates between the lines of the log
READERS = 3  # threads, each of which reads other epochs
PART = 15 << 20  # bytes of a file of weights
FIXED = {
    "tied_embeddings_all": True,
    "label_smoothing": 0.1,
    "exponential_smoothing": 0.001,
    "clip_norm": 1.0,
    "lr_warmup": "500u",
    "lr_decay_inv_sqrt": "2000u",
    "jit": "on",
    "after_epochs": 1000,
}


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = parser.add_subparsers(required=True, metavar="export|run|collect")
    writing = parts.add_parser("export", help="write the text and the programs into a folder")
    writing.set_defaults(part=export)
    writing.add_argument("folder", type=Path)
    writing.add_argument("data", help="a folder of cgru prep")
    writing.add_argument("--dim-emb", type=int, default=512)
    writing.add_argument("--dim-rnn", type=int, default=1024)
    writing.add_argument("--mini-batch-words", type=int, default=8000)
    writing.add_argument("--maxi-batch", type=int, default=1000)
    writing.add_argument("--dropout-embedding", type=float, default=0.2)
    writing.add_argument("--dropout-annotation", type=float, default=0.2)
    writing.add_argument("--dropout-output", type=float, default=0.3)
    writing.add_argument("--learn-rate", type=float, default=0.002)
    writing.add_argument("--precision", default="bfloat16")
    running = parts.add_parser("run", help="train with JAX")
    running.set_defaults(part=run)
    running.add_argument("folder", type=Path)
    running.add_argument("--minutes", type=float, default=10.0, help="including compilation")
    collecting = parts.add_parser("collect", help="write the weights as a model")
    collecting.set_defaults(part=collect)
    collecting.add_argument("folder", type=Path)
    collecting.add_argument("model", type=Path)
    arguments = vars(parser.parse_args(given))
    arguments.pop("part")(**arguments)


def export(folder: Path, data: str, **options: Any) -> None:
    """See the module."""
    import tensorflow as tf
    from gpu_export import lower, signature

    from cgru_cli.train.builders import build_step

    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "options.json", {"data": data, "options": FIXED | options})
    tf.get_logger().setLevel("ERROR")  # retracing is intended: each program differs
    with _prepared(folder) as setup:
        chosen, model = setup.plan.options, setup.model
        step = build_step(model, chosen, jit=True)

        def update(examples: Any, masks: dict, scale: tf.Tensor, factor: tf.Tensor) -> tuple:
            cost, gradients = step._share_gradients(examples, masks, scale)
            norm, gradients = step._regularized(gradients, factor)
            step._applied([gradients], scale, tf.constant(chosen.exponential_smoothing))
            return cost, norm

        names = {id(_handle(v)): name for name, v in step._variables().items()}
        plan = {"structure": model.structure.as_dict(), "programs": {}}
        for example in EpochExamples(setup.corpus, model.structure, chosen, grid=True).epoch(0, 0):
            name = _name(example)
            if name in plan["programs"]:
                continue
            given = (*example, np.float32(1), np.float32(1))
            given = tf.nest.map_structure(tf.constant, given)
            text, replaced, captured = lower(update, given)
            taken, gives = signature(text)
            plan["state"] = [
                [names[id(tensor)], *kind]
                for tensor, kind in zip(captured, taken[-len(captured) :], strict=True)
            ]
            plan["programs"][name] = [replaced.get(place, -1) for place in range(len(gives))]
            (folder / f"{name}.mlir.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
            _write(folder / "plan.json", plan)
            print(f"{name}: {len(text) / 1e6:.1f} MB of StableHLO", flush=True)


def run(folder: Path, minutes: float) -> None:
    """See the module."""
    ends = time.perf_counter() + 60 * minutes
    plan = json.loads((folder / "plan.json").read_text())
    options = TrainOptions(model="", **json.loads((folder / "options.json").read_text())["options"])
    structure = Structure.from_dict(plan["structure"], "plan.json")
    corpus = open_cache(folder / "model.npz.corpus")
    assert corpus is not None
    device = Jax()
    print(f"{device.name}: {len(corpus):,} pairs", flush=True)
    started = time.perf_counter()

    def loaded(name: str) -> Any:
        text = gzip.decompress((folder / f"{name}.mlir.gz").read_bytes()).decode()
        return device.load(text, plan["programs"][name])

    with concurrent.futures.ThreadPoolExecutor() as pool:
        programs = dict(zip(plan["programs"], pool.map(loaded, plan["programs"]), strict=True))
    seconds = time.perf_counter() - started
    print(f"{len(programs)} programs compiled in {seconds:.0f} s", flush=True)
    state = [device.put(array) for array in _initial(plan["state"], structure, corpus, options)]
    rate_at = next(i for i, (name, *_) in enumerate(plan["state"]) if "learning_rate" in name)
    schedule, costs, updates, sentences = Schedule(options), queue.SimpleQueue(), 0, 0
    cost = words = 0.0
    began = time.perf_counter()
    for example in _read(EpochExamples(corpus, structure, options, grid=True)):
        if time.perf_counter() > ends:
            break
        if _name(example) not in programs:  # a rare shape, which epoch 0 does not have
            continue
        updates, sentences = updates + 1, sentences + example.batch.sentences
        rate = schedule.at(Progress(updates=updates))
        state[rate_at] = device.put(np.float32(rate))
        masks = [mask for _, mask in sorted(example.masks.items())]
        arrays = [x for x in example.batch if isinstance(x, np.ndarray)] + masks
        arrays += [np.float32(1), np.float32(1 / example.batch.sentences)]
        results = device.execute(programs[_name(example)], [*map(device.put, arrays), *state])
        for result, argument in zip(results, plan["programs"][_name(example)], strict=True):
            if argument >= 0:
                state[argument - len(arrays)] = result
        costs.put((results[0], example.batch.words))
        if costs.qsize() > AHEAD:
            some, count = costs.get()
            cost, words = cost + float(some), words + count
        if updates % SHOWN == 0:
            seconds = time.perf_counter() - began
            print(
                f"update {updates}, epoch {sentences / len(corpus):.2f}, cost per word "
                f"{cost / words:.3f}, {words / seconds:,.0f} target words/s",
                flush=True,
            )
            cost, words, began = 0.0, 0.0, time.perf_counter()
    kept = [
        np.asarray(array).astype(np.float16).tobytes()
        for (name, *_), array in zip(plan["state"], state, strict=True)
        if name.startswith("smoothed/")
    ]
    weights = b"".join(kept)
    for number, first in enumerate(range(0, len(weights), PART)):
        (folder / f"weights.{number}").write_bytes(weights[first : first + PART])


def collect(folder: Path, model: Path) -> None:
    """See the module."""
    from cgru_cli.formats.write_model import write

    plan = json.loads((folder / "plan.json").read_text())
    parts = sorted(folder.glob("weights.*"), key=lambda path: int(path.suffix[1:]))
    rest = np.frombuffer(b"".join(path.read_bytes() for path in parts), np.float16)
    with _prepared(folder) as setup:
        for name, shape, _ in plan["state"]:
            kind, _, name = name.partition("/")
            if kind == "smoothed":
                numbers, rest = np.split(rest, [int(np.prod(shape))])
                setup.model.arrays[name] = numbers.astype(np.float32).reshape(shape)
        write(setup.model, model, "npz", setup.vocabularies)


@contextlib.contextmanager
def _prepared(folder: Path) -> Iterator[Setup]:
    """The model, its vocabularies and the encoded text."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from cgru_cli.train.plan import Request
    from cgru_cli.train.setup import read_inputs

    known = json.loads((folder / "options.json").read_text())
    options = TrainOptions(model=str(folder / "model.npz"), **known["options"])
    with contextlib.ExitStack() as stack:
        yield read_inputs(Request(options, data=known["data"]), stack)


def _initial(
    state: Sequence, structure: Structure, corpus: Corpus, options: TrainOptions
) -> list[np.ndarray]:
    """The state before the first update, like that of `cgru train`."""
    arrays = initial_arrays(structure, "scaled", options.seed)
    counts = corpus.target_counts(structure.target_vocabulary)
    arrays[name_at("decoder/output/b", structure)] = output_bias(counts)
    of_weights = ("weights/", "smoothed/")
    return [
        arrays[name.partition("/")[2]].copy()
        if name.startswith(of_weights)
        else np.zeros(shape, dtype)
        for name, shape, dtype in state
    ]


def _read(examples: EpochExamples) -> Iterator[Example]:
    """The mini-batches of all epochs, read in threads."""
    waiting: queue.Queue[Example] = queue.Queue(64)

    def read(first: int) -> None:
        for epoch in itertools.count(first, READERS):
            for example in examples.epoch(epoch, 0):
                waiting.put(example)

    for first in range(READERS):
        threading.Thread(target=read, args=[first], daemon=True).start()
    while True:
        yield waiting.get()


def _name(example: Example) -> str:
    """The shape of a batch: sentences, and positions of source and target."""
    rows, source, _ = example.batch.source.shape
    return f"{rows}x{source}x{example.batch.target.shape[1]}"


def _handle(variable: Any) -> Any:
    """The resource of a variable of Keras or of TensorFlow."""
    return (variable.value if hasattr(variable, "regularizer") else variable).handle


def _write(path: Path, values: dict) -> None:
    path.write_text(f"{json.dumps(values, indent=1)}\n")


if __name__ == "__main__":
    main()
