"""Compare the time of minimum Bayes risk decoding with that of its samples alone.

    python benchmarks/mbr.py --model examples/en-de.npz --source FILE

Each turn translates the first lines of FILE with --output-sampling epsilon 0.02, and then with
--mbr and each utility, in one process after a warm-up. The ratios are those of the median CPU
seconds within this run.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from measuring import Clock

from cgru_cli import Translator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--source", required=True, type=Path)
    parser.add_argument("--lines", type=int, default=100)
    parser.add_argument("--samples", type=int, default=32)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    lines = arguments.source.read_text("utf-8").splitlines()[: arguments.lines]
    translator = Translator(arguments.model, attention=False)
    samples = arguments.samples
    runs = {
        "sampling": {"output_sampling": "epsilon 0.02", "beam_size": samples, "n_best": samples},
        "chrf": {"mbr": samples, "mbr_utility": "chrf"},
        "bleu": {"mbr": samples, "mbr_utility": "bleu"},
    }
    seconds = {name: [] for name in runs}
    translator.translate(lines[:2], **runs["sampling"])
    for _ in range(arguments.turns):
        for name, options in runs.items():
            clock = Clock()
            with clock:
                translator.translate(lines, seed=1, **options)
            seconds[name].append(clock.run.cpu)
    medians = {name: statistics.median(each) for name, each in seconds.items()}
    print(f"{len(lines)} lines, {samples} samples each, median of {arguments.turns} turns")
    for name, median in medians.items():
        print(f"{name:8} {median:7.2f} s CPU {median / medians['sampling']:6.2f} x sampling")


if __name__ == "__main__":
    main()
