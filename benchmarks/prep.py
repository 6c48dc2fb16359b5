"""Compare the time and memory of cgru prep with those of SentencePiece alone on the same text.

    python benchmarks/prep.py -s FILE... -t FILE... [--pieces 16000]

Each turn runs whole processes with one job, one after another; medians are printed, and their ratio
to SentencePiece's.

- sentencepiece: learns pieces from both sides, with the settings of cgru prep, and encodes both
- prep: keeps the text in words, which training encodes (--vocabulary-format spm, the default)
- prep json: writes the text in pieces
- encode: cgru train --dry-run on the folder of prep: encodes the text and makes the first batch

The peak memory is that of the largest process.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from measuring import Run, process

# The arguments of this program: the number of pieces, the folder for the output, and the texts.
ALONE = """
import sys
import sentencepiece

def lines():
    for path in texts:
        with open(path, encoding="utf-8", newline="\\n") as file:
            for line in file:
                yield line.removesuffix("\\n")

pieces, folder, *texts = sys.argv[1:]
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=lines(), model_prefix=f"{folder}/alone", model_type="bpe",
    vocab_size=int(pieces), character_coverage=1.0, normalization_rule_name="identity",
    max_sentence_length=1 << 20, num_threads=4, minloglevel=2,
)
processor = sentencepiece.SentencePieceProcessor(model_file=f"{folder}/alone.model")
with open(f"{folder}/alone.pieces", "w", encoding="utf-8", newline="\\n") as output:
    for line in lines():
        print(*processor.encode(line, out_type=str), file=output)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-s", "--source", required=True, nargs="+")
    parser.add_argument("-t", "--target", required=True, nargs="+")
    parser.add_argument("--pieces", type=int, default=16000)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    runs: dict[str, list[Run]] = {}
    for turn in range(options.turns):
        with tempfile.TemporaryDirectory() as folder:
            for name, command in programs(options, Path(folder)).items():
                runs.setdefault(name, []).append(process(command))
                print(f"turn {turn + 1}: {name} {runs[name][-1].cpu:.1f}", file=sys.stderr)
    report(runs)


def programs(options: argparse.Namespace, folder: Path) -> dict[str, list[str]]:
    """The commands of a turn, in their order."""
    texts = ["-s", *options.source, "-t", *options.target]
    cgru = [sys.executable, "-m", "cgru_cli"]
    prep = [*cgru, "prep", *texts, "-j", "1", "--subword-vocabulary", str(options.pieces)]
    both = [*options.source, *options.target]
    train = ["train", str(folder / "spm"), "-m", str(folder / "model.npz"), "--dry-run"]
    return {
        "sentencepiece": [sys.executable, "-c", ALONE, str(options.pieces), str(folder), *both],
        "prep": [*prep, str(folder / "spm")],
        "prep json": [*prep, str(folder / "json"), "--vocabulary-format", "json"],
        "encode": [*cgru, *train],
    }


def report(runs: dict[str, list[Run]]) -> None:
    """Print the medians of all turns, and the ratios within each turn."""
    for name, each in runs.items():
        cpu, wall, peak = (
            statistics.median(getattr(run, what) for run in each)
            for what in ("cpu", "wall", "peak")
        )
        ratio = statistics.median(
            run.cpu / first.cpu for run, first in zip(each, runs["sentencepiece"], strict=True)
        )
        print(f"{name:14}{cpu:8.1f} s CPU {ratio:6.2f} x {wall:8.1f} s {peak:8.0f} MiB")


if __name__ == "__main__":
    main()
