"""The compiled training update and decoding step on a GPU, without TensorFlow there.

    python benchmarks/gpu.py export FOLDER --sizes 512 1024 30000 --batch 80 400
    python benchmarks/gpu.py run FOLDER --profile 12 --torch

`export` needs cgru, on any machine. It writes the XLA programs of an update and of a beam search
step as StableHLO, with the batch and, for small batches, the results on this CPU. `run` needs this
folder (`benchmarks`), the exported folder, and JAX (or TensorFlow, `--with tensorflow`), usually on
a machine with a GPU. It compares the numbers, and prints as Markdown:

- milliseconds and target words per second; each update uses the weights of the previous one,
  without dropout;
- the fraction of the time for the products alone, at the speed of one large product in that
  precision (float32 is TF32 if supported), and for reading and writing the parameters, at the
  speed of one large copy;
- memory of arguments, results and temporaries; operations launched by each loop step;
- with --profile, the most expensive operations;
- with --torch, a cGRU of PyTorch modules, the same with torch.compile, and PyTorch's recurrent
  layer alone (cuDNN on a GPU) over source and target, for the same number of words.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

PRECISIONS = ["float32", "bfloat16", "float16"]
KINDS = ["cgru", "rnnsearch", "seq2seq", "encdec", "lm", "classifier", "tagger"]
OBJECTIVES = ["cross-entropy", "label-smoothing", "alignment-ce", "alignment-mse", "alignment-mult"]


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    halves = parser.add_subparsers(required=True, metavar="export|run")
    writing = halves.add_parser("export", help="write compiled programs into a folder")
    writing.set_defaults(half=export)
    writing.add_argument("folder", type=Path)
    writing.add_argument("--type", nargs="+", default=["cgru"], choices=KINDS)
    writing.add_argument("--cell", nargs="+", default=["gru"])
    writing.add_argument(
        "--sizes",
        type=int,
        nargs=3,
        default=[512, 1024, 30000],
        metavar=("EMBEDDING", "STATE", "VOCABULARY"),
    )
    writing.add_argument("--precision", nargs="+", default=PRECISIONS, choices=PRECISIONS)
    writing.add_argument("--objective", nargs="+", default=OBJECTIVES[:1], choices=OBJECTIVES)
    writing.add_argument(
        "--batch", type=int, nargs="+", default=[80, 400], help="sentences per batch"
    )
    writing.add_argument(
        "--length", type=int, nargs="+", default=[13, 25, 50], help="words of source and of target"
    )
    writing.add_argument(
        "--beam", type=int, default=5, help="beam size of decoding steps; 0: no decoding steps"
    )
    writing.add_argument(
        "--check",
        type=int,
        default=1100,
        metavar="WORDS",
        help="compute batches of up to N target words here too",
    )
    running = halves.add_parser("run", help="run the programs of a folder and measure them")
    running.set_defaults(half=run)
    running.add_argument("folder", type=Path)
    running.add_argument("--with", dest="runner", default="jax", choices=["jax", "tensorflow"])
    running.add_argument(
        "--only", default="", metavar="TEXT", help="run only cases with this in their names"
    )
    running.add_argument(
        "--seconds", type=float, default=2.0, help="duration of measurements per case"
    )
    running.add_argument(
        "--turns", type=int, default=5, help="measurements per case; the median is printed"
    )
    running.add_argument(
        "--profile",
        type=int,
        default=0,
        metavar="N",
        help="print the N most expensive operations (JAX)",
    )
    running.add_argument(
        "--torch", action="store_true", help="also measure PyTorch for each update"
    )
    arguments = parser.parse_args(given)
    if getattr(arguments, "profile", 0) and arguments.runner != "jax":
        parser.error("--profile requires JAX")
    arguments.half(arguments)


def export(a: argparse.Namespace) -> None:
    """See the module."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import gpu_export

    models = [
        gpu_export.Model(kind, cell, tuple(a.sizes), precision)
        for kind in a.type
        for cell in a.cell
        for precision in a.precision
    ]
    programs = gpu_export.programs(
        models, sentences=a.batch, lengths=a.length, objectives=a.objective, beam=a.beam
    )
    gpu_export.export(a.folder, programs, a.check)


def run(a: argparse.Namespace) -> None:
    """See the module."""
    import exported
    import gpu_run

    device = gpu_run.DEVICES[a.runner]()
    print(f"{device.name}\n", flush=True)
    rows, profiles, at_best = [], [], {}
    for case in exported.read_list(a.folder):
        if a.only not in case.name:
            continue
        if case.precision not in at_best:
            at_best[case.precision] = device.limits(case.precision)
        measured, again = gpu_run.measure(
            device, a.folder, case, at_best[case.precision], a.seconds, a.turns
        )
        rows.append(measured.row())
        print(gpu_run.table(rows[-1:]), flush=True)
        if a.profile:
            operations = gpu_run.profile_table(device.profile(again, 3), a.profile)
            profiles.append(f"{case.name}:\n\n{operations}")
        del again
        if a.torch and case.kind == "update":
            import gpu_torch

            rows += gpu_torch.rows(case, a.seconds, a.turns)
    print("\n".join([gpu_run.table(rows), *profiles]))


if __name__ == "__main__":
    main()
