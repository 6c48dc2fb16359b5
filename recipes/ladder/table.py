"""The ladder's results as a table and a plot.

    python table.py OUT --seeds "1 2" --updates 2500 kneser-ney lm-gru encdec-gru ...

Reads the output of train_model.sh in OUT, writes OUT/table.md and OUT/ladder.svg, and prints the
table. Each figure is the mean over the seeds, with the standard deviation if there are several.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sacrebleu import BLEU

from cgru_cli.errors import CgruError
from cgru_cli.output.picture_style import NO_DATE, STYLE
from cgru_cli.system.atomic_files import atomic_write

FROM = (1, 10, 13, 17, 21)  # the shortest source sentence of each bucket, in words
N_GRAMS = "kneser-ney"
_CELLS = {"rnn": ("o", ":"), "gru": ("s", "-"), "lstm": ("^", "--")}  # markers and lines
_TYPES = {"lm": "C6", "encdec": "C0", "seq2seq": "C1", "rnnsearch": "C2", "cgru": "C3"}


@dataclass(frozen=True)
class Row:
    """A model's figures, one per seed; BLEU in percent, speed in target words/s."""

    model: str
    state: int | None
    parameters: int | None
    perplexity: list[float]
    bleu: list[list[float]]  # of all sentences, then by bucket; empty for a language model
    speed: list[float]


def bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Corpus BLEU of tokenised text."""
    return BLEU(tokenize="none", force=True).corpus_score(hypotheses, [references]).score


def buckets(lengths: Sequence[int]) -> list[list[int]]:
    """The indices of the sentences in each length bucket."""
    ends = (*FROM[1:], sys.maxsize)
    return [
        [i for i, length in enumerate(lengths) if low <= length < high]
        for low, high in zip(FROM, ends, strict=True)
    ]


def names_of_buckets() -> list[str]:
    """`1-9`, ..., `21-`."""
    ends = [str(low - 1) for low in FROM[1:]] + [""]
    return [f"{low}-{high}" for low, high in zip(FROM, ends, strict=True)]


def row(out: Path, model: str, sizes: dict[str, list[str]], seeds: Sequence[str]) -> Row:
    """A model's figures from its runs. Raises CgruError if a run is missing."""
    if model == N_GRAMS:
        return Row(model, None, None, [_json(out / f"{model}.json")["perplexity"]], [], [])
    state, parameters = map(int, sizes[model])
    runs = [out / model / f"seed{seed}" for seed in seeds]
    return Row(
        model,
        state,
        parameters,
        [float(_lines(run / "perplexity")[0]) for run in runs],
        [] if model.startswith("lm-") else [_bleu_by_length(out, run) for run in runs],
        [_speed(run / "model.npz.metrics.jsonl") for run in runs],
    )


def _bleu_by_length(out: Path, run: Path) -> list[float]:
    references, hypotheses = _lines(out / "test.words"), _lines(run / "test.words")
    lengths = [len(line.replace("@@ ", "").split()) for line in _lines(out / "test.src")]
    return [
        bleu([hypotheses[i] for i in some], [references[i] for i in some])
        for some in (range(len(lengths)), *buckets(lengths))
        if some
    ]


def _speed(path: Path) -> float:
    """The median over the log, which is robust against other load on the machine."""
    records = [json.loads(line) for line in _lines(path)]
    return statistics.median(r["words_per_second"] for r in records if r["type"] == "train")


def _json(path: Path) -> dict:
    return json.loads("\n".join(_lines(path)))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8").removesuffix("\n").split("\n")
    except OSError as error:
        raise CgruError(f"{path}: {error.strerror}; run.sh writes it") from None


def figure(values: Sequence[float], digits: int = 1) -> str:
    """Mean, with standard deviation if there are several values; "" if there are none."""
    if not values:
        return ""
    mean = f"{statistics.mean(values):,.{digits}f}"
    return mean + (f" ± {statistics.stdev(values):,.{digits}f}" if len(values) > 1 else "")


def table(rows: Sequence[Row], present: Sequence[str]) -> str:
    """Markdown; present: names of the buckets that have sentences."""
    head = ["model", "states", "parameters", "perplexity", "BLEU", *present, "words/s"]
    lines = [head, ["---"] * len(head)]
    for r in rows:
        columns = zip(*r.bleu, strict=True) if r.bleu else [[]] * (1 + len(present))
        lines.append(
            [
                r.model,
                f"{r.state:,}" if r.state else "",
                f"{r.parameters:,}" if r.parameters else "",
                figure(r.perplexity),
                *map(figure, columns),
                figure(r.speed, 0),
            ]
        )
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def plot(rows: Sequence[Row], present: Sequence[str], path: Path, title: str) -> None:
    """Plot BLEU by source length, perplexity, and speed."""
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with style.context(STYLE):
        picture = Figure(figsize=(14, 5.5))
        FigureCanvasAgg(picture)
        left, middle, right = picture.subplots(1, 3, width_ratios=(2.4, 1, 1))
        picture.suptitle(title)
        translators = [r for r in rows if r.bleu]
        places = np.arange(len(present))
        for i, r in enumerate(translators):
            kind, _, cell = r.model.partition("-")
            marker, line = _CELLS.get(cell, ("x", "-."))
            by_length = list(zip(*r.bleu, strict=True))[1:]
            # Shift the points, so that the error bars do not overlap.
            beside = places + 0.7 * ((i + 0.5) / len(translators) - 0.5)
            left.errorbar(
                beside,
                *_means(by_length),
                label=r.model,
                color=_TYPES.get(kind),
                marker=marker,
                linestyle=line,
                linewidth=0.8,
            )
        left.set(xlabel="words of the source sentence", ylabel="BLEU", title="BLEU by length")
        left.set_xticks(places, present)
        left.grid(axis="x", visible=False)
        if translators:
            left.legend(loc="upper left", bbox_to_anchor=(1, 1))
        for axes, what, values in (
            (middle, "perplexity", [(r.model, r.perplexity) for r in rows]),
            (right, "target words/s", [(r.model, r.speed) for r in rows if r.speed]),
        ):
            values = values[::-1]
            means, spread = _means([v for _, v in values])
            axes.barh(
                [model for model, _ in values],
                means,
                xerr=spread,
                color=[_TYPES.get(model.partition("-")[0], "0.5") for model, _ in values],
            )
            axes.set(title=what)
            axes.locator_params(axis="x", nbins=5)
            axes.grid(axis="y", visible=False)
        with atomic_write(path) as file:
            picture.savefig(file, format="svg", metadata=NO_DATE["svg"])


def _means(values: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    """Means and standard deviations (0 for a single value)."""
    spread = [statistics.stdev(v) if len(v) > 1 else 0.0 for v in values]
    return [statistics.mean(v) for v in values], spread


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", required=True)
    parser.add_argument("--updates", type=int, required=True)
    parser.add_argument("models", nargs="+")
    a = parser.parse_args(arguments)
    seeds = a.seeds.split()
    sizes = {name: values for name, *values in map(str.split, _lines(a.out / "sizes.tsv"))}
    rows = [row(a.out, model, sizes, seeds) for model in a.models]
    lengths = [len(line.replace("@@ ", "").split()) for line in _lines(a.out / "test.src")]
    counts = [len(some) for some in buckets(lengths)]
    named = zip(names_of_buckets(), counts, strict=True)
    present = [f"{name} ({count:,})" for name, count in named if count]
    text = table(rows, present)
    with atomic_write(a.out / "table.md") as file:
        file.write(text.encode())
    title = f"{a.updates:,} updates, seeds {', '.join(seeds)}"
    plot(rows, present, a.out / "ladder.svg", title)
    print(f"\n{title}; BLEU of all and by words of the source (sentences)\n\n{text}", end="")


if __name__ == "__main__":
    try:
        main()
    except CgruError as error:
        sys.exit(str(error))
