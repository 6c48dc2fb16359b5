#!/usr/bin/env python3
"""Write the text and initial models of the recipe, and the tables, plots and page of its results.

A line is a word, 20 fillers, a question mark, and the word again:

    s2 x x x x x x x x x x x x x x x x x x x x ? s2

Each seed draws a model with an orthogonal recurrent matrix (`--init scaled`), which is then
multiplied by a factor: all its singular values equal that factor.
"""

from __future__ import annotations

import argparse
import html
import json
import math
import random
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cgru_cli.errors import CgruError
from cgru_cli.formats import write_model
from cgru_cli.options.train import TrainOptions
from cgru_cli.output.picture_style import NO_DATE, STYLE
from cgru_cli.system.atomic_files import atomic_write
from cgru_cli.train.starting_model import make_starting_model
from cgru_cli.train.texts import Texts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SYMBOLS, FILLERS, LINES = 4, 20, 2000
FIRST = FILLERS + 1  # steps from the state that has read the first word to the question mark
WORDS = FILLERS + 4  # per line, including EOS
GUESS = math.log(SYMBOLS)  # cost in nats of guessing the last word


class Start(NamedTuple):
    """An initial model: its cell, the factor of its recurrent matrix, and its colour in plots."""

    cell: str
    factor: float
    colour: str


STARTS = {
    "tanh-small": Start("rnn", 0.5, "#9ecae1"),
    "tanh-orthogonal": Start("rnn", 1.0, "#3182bd"),
    "tanh-large": Start("rnn", 2.0, "#08306b"),
    "relu-small": Start("relu", 0.5, "#fdae6b"),
    "relu-orthogonal": Start("relu", 1.0, "#e6550d"),
    "relu-large": Start("relu", 1.25, "#7f2704"),
    "gru": Start("gru", 1.0, "#31a354"),
    "lstm": Start("lstm", 1.0, "#756bb1"),
}


def start(out: Path, names: Sequence[str], seeds: Sequence[int]) -> None:
    """Write the text, its vocabulary, and the initial models."""
    draw = random.Random(1)
    symbols = [f"s{i}" for i in range(SYMBOLS)]
    drawn = [draw.choice(symbols) for _ in range(LINES)]
    lines = [" ".join([symbol, *["x"] * FILLERS, "?", symbol]) for symbol in drawn]
    words = ["eos", "UNK", *symbols, "x", "?"]
    (out / "start").mkdir(parents=True, exist_ok=True)
    text, vocabulary = out / "train.txt", out / "vocab.json"
    with atomic_write(text) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
    with atomic_write(vocabulary) as file:
        file.write(json.dumps({word: i for i, word in enumerate(words)}).encode())
    for name in names:
        for seed in seeds:
            path = out / f"start/{name}-{seed}.npz"
            if path.exists():  # from an interrupted run
                continue
            options = TrainOptions(
                type="lm",
                cell=STARTS[name].cell,
                dim_emb=16,
                dim_rnn=32,
                seed=seed,
                train_sets=(str(text),),
                vocabularies=(str(vocabulary),),
                model=str(path),
            )
            model, vocabularies, _ = make_starting_model(options, Texts.of(options, None))
            model.arrays["encoder_U"] *= np.float32(STARTS[name].factor)
            write_model.write(model, path, "npz", vocabularies, force=True)


# -- records ---------------------------------------------------------------------------------------


class Run(NamedTuple):
    """One training: its records of gradients and of cost."""

    gradients: list[dict]
    costs: list[tuple[int, float]]  # update, and mean cost since the last one, nats
    stopped: bool  # because of values that were not finite

    @classmethod
    def read(cls, folder: Path) -> Run:
        path = folder / "model.npz.metrics.jsonl"
        records = [json.loads(line) for line in path.read_text().splitlines()]
        gradients = [entry for entry in records if entry["type"] == "gradients"]
        costs = [(e["update"], number(e["cost"])) for e in records if e["type"] == "train"]
        return cls(gradients, costs, bool((folder / "errors").read_text()))

    def flow(self, place: int) -> np.ndarray:
        """|d cost of the last word / d state| by distance from that word.

        place: 0 before training, -1 after it. For an LSTM, the norm covers output and memory.
        """
        arrays = self.gradients[place]["last_word"].values()
        return np.linalg.norm([[number(norm) for norm in norms] for norms in arrays], axis=0)

    def kept(self, place: int) -> float:
        """The fraction of the gradient that reaches the first word."""
        flow = self.flow(place)
        return flow[FIRST] / flow[0] if flow[0] else 0.0

    def recall(self) -> list[tuple[int, float]]:
        """Cost of the last word over updates, nats."""
        return [(entry["update"], number(entry["last_word_cost"])) for entry in self.gradients]

    def recalled(self) -> float:
        """Mean cost of the last word in the last fifth of the updates."""
        last = [cost for _, cost in self.recall()]
        return float(np.mean(last[-max(1, len(last) // 5) :]))

    def ended(self) -> float:
        """Mean cost in the last fifth of the updates; infinite if the training stopped early."""
        last = [cost for _, cost in self.costs[-max(1, len(self.costs) // 5) :]]
        return math.inf if self.stopped or not last else float(np.mean(last))

    def diverged(self) -> bool:
        """Whether the final cost is higher than the initial cost, or not finite."""
        return not self.ended() < number(self.gradients[0]["cost"])


def number(value: float | None) -> float:
    """A number of the records; null stands for one that is not finite."""
    return math.nan if value is None else value


Runs = dict[str, list[Run]]  # by model, one run per seed


def runs(out: Path, optimiser: str) -> Runs:
    """All finished trainings."""
    found = {}
    for name in STARTS:
        folders = sorted((out / optimiser).glob(f"{name}-*"))
        done = [Run.read(folder) for folder in folders if (folder / "done").exists()]
        if done:
            found[name] = done
    return found


# -- tables ----------------------------------------------------------------------------------------

Table = list[list[str]]  # the first row is the header


def flow_table(trained: Runs) -> Table:
    """Gradients at the first word before and after training, and final costs by seed."""
    rows = [["recurrence", "gradient at the first word / at the last, before training",
             "a step", "after training", "cost of a line", "of its last word"]]  # fmt: skip
    for name, of_seeds in trained.items():
        rows.append([
            name,
            spread([run.kept(0) for run in of_seeds]),
            f"{geometric([run.kept(0) for run in of_seeds]) ** (1 / FIRST):.2f}",
            spread([run.kept(-1) for run in of_seeds]),
            ", ".join(shown(WORDS * run.ended()) for run in of_seeds),
            ", ".join(shown(run.recalled()) for run in of_seeds),
        ])  # fmt: skip
    return rows


def clipping_table(clipped: Runs, unclipped: Runs) -> Table:
    """Costs of plain gradient descent, with clipping and without."""
    rows = [["recurrence", "clipped", "cost of a line at the start", "at the end",
             "highest on the way", "diverged"]]  # fmt: skip
    for name in (name for name in clipped if name in unclipped):
        for word, of_seeds in (("yes", clipped[name]), ("no", unclipped[name])):
            rows.append([
                name,
                word,
                mean([number(run.gradients[0]["cost"]) for run in of_seeds]),
                ", ".join(shown(run.ended()) for run in of_seeds),
                shown(max(cost for run in of_seeds for _, cost in run.costs or [(0, math.nan)])),
                f"{sum(run.diverged() for run in of_seeds)} of {len(of_seeds)}",
            ])  # fmt: skip
    return rows


def shown(value: float) -> str:
    """Three digits; a dash if the number is not finite."""
    if not math.isfinite(value):
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def mean(values: Sequence[float]) -> str:
    """Mean and standard deviation over seeds."""
    deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{deviation}"


def geometric(values: Sequence[float]) -> float:
    """Geometric mean; 0 if any value is 0."""
    return math.exp(np.mean(np.log(values))) if min(values) > 0 else 0.0


def spread(values: Sequence[float]) -> str:
    """Geometric mean over seeds, with minimum and maximum."""
    if not all(map(math.isfinite, values)):
        return "not finite"
    return f"{geometric(values):.0e} ({min(values):.0e} to {max(values):.0e})"


def as_markdown(table: Table) -> str:
    head, *rows = table
    return "".join(f"| {' | '.join(row)} |\n" for row in [head, ["---"] * len(head), *rows])


def as_html(table: Table) -> str:
    def row(cells: Iterable[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>\n"

    head, *rows = table
    return f"<table>\n{row(head, 'th')}{''.join(row(cells, 'td') for cells in rows)}</table>\n"


# -- plot and page ---------------------------------------------------------------------------------


def draw(trained: Runs, clipped: Runs, unclipped: Runs, out: Path) -> None:
    """Write OUT/vanishing.png and .svg."""
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with style.context(STYLE):
        figure = Figure(figsize=(12, 9.5))
        FigureCanvasAgg(figure)
        (before, after), (learning, clipping) = figure.subplots(2, 2)
        for axis, place, title in ((before, 0, "before training"), (after, -1, "after training")):
            _draw_flow(axis, trained, place)
            axis.set(yscale="log", title=f"Gradient of the last word's cost, {title}")
            axis.set(xlabel="steps back from the last word", ylabel="norm at the state")
        after.set_ylim(bottom=1e-12)
        for name, of_seeds in trained.items():
            updates = [update for update, _ in of_seeds[0].recall()]
            costs = np.array([[cost for _, cost in run.recall()] for run in of_seeds])
            learning.plot(updates, costs.mean(axis=0), color=STARTS[name].colour)
        learning.axhline(GUESS, color="grey", linewidth=0.8, linestyle=":")
        learning.set(title="Cost of the last word (Adam, clipped; dotted: a guess)")
        learning.set(xlabel="updates", ylabel="nats", ylim=(0, 3))
        for word, line, of_models in (("clipped", "-", clipped), ("not clipped", "--", unclipped)):
            for name, of_seeds in of_models.items():
                for place, run in enumerate(of_seeds):
                    label = f"{name}, {word}" if not place else None
                    colour = STARTS[name].colour
                    clipping.plot(*zip(*run.costs or [(0, math.nan)], strict=True), line,
                                  label=label, color=colour, linewidth=1)  # fmt: skip
        clipping.set(yscale="log", title="Cost of a line (gradient descent), each seed")
        clipping.set(xlabel="updates", ylabel="nats")
        if before.containers:
            handles, labels = before.get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
        if clipping.lines:
            clipping.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3)
        for kind in ("png", "svg"):
            with atomic_write(out / f"vanishing.{kind}") as file:
                figure.savefig(file, format=kind, metadata=NO_DATE[kind])


def _draw_flow(axis: Axes, trained: Runs, place: int) -> None:
    """Draw geometric means over the seeds, with bars from the smallest to the largest.

    Each model has its bars at other steps, so that they do not overlap.
    """
    for i, (name, of_seeds) in enumerate(trained.items()):
        flows = np.array([run.flow(place)[: FIRST + 1] for run in of_seeds])
        flows = np.where(flows > 0, flows, np.nan)
        mean = np.exp(np.log(flows).mean(axis=0))
        reach = np.array([mean - flows.min(axis=0), flows.max(axis=0) - mean]).clip(min=0)
        axis.errorbar(np.arange(flows.shape[1]), mean, reach, errorevery=(i, len(trained)),
                      color=STARTS[name].colour, label=name, elinewidth=0.9)  # fmt: skip


PAGE = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>Vanishing and exploding gradients</title>
<style>body {{ font: 15px sans-serif; max-width: 75em; margin: 2em auto }}
table {{ border-collapse: collapse }} th, td {{ padding: .3em .8em; text-align: left;
border-bottom: 1px solid #ccc }} svg {{ width: 100%; height: auto }}</style>
<h1>Vanishing and exploding gradients</h1>
{picture}
<h2>Gradients through {steps} steps</h2>
{flow}
<h2>Clipping</h2>
{clipping}
</html>
"""


def report(out: Path) -> None:
    """Print the tables; write OUT/results.md, vanishing.png, vanishing.svg and vanishing.html."""
    trained, clipped, unclipped = (runs(out, o) for o in ("adam", "clipped", "unclipped"))
    tables = flow_table(trained), clipping_table(clipped, unclipped)
    text = "\n".join(map(as_markdown, tables))
    with atomic_write(out / "results.md") as file:
        file.write(text.encode())
    draw(trained, clipped, unclipped, out)
    picture = (out / "vanishing.svg").read_text()
    flow, clipping = map(as_html, tables)
    page = PAGE.format(
        picture=picture[picture.index("<svg") :], steps=FIRST, flow=flow, clipping=clipping
    )
    with atomic_write(out / "vanishing.html") as file:
        file.write(page.encode())
    print(text, end="")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    begins = commands.add_parser("start", help="write text and first models")
    begins.add_argument("out", type=Path)
    begins.add_argument("names", nargs="+", choices=STARTS)
    begins.add_argument("--seeds", nargs="+", type=int, required=True)
    commands.add_parser("report", help="write tables, plot and page").add_argument("out", type=Path)
    options = parser.parse_args(arguments)
    try:
        if options.command == "start":
            start(options.out, options.names, options.seeds)
        else:
            report(options.out)
    except CgruError as error:
        print(f"vanishing.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
