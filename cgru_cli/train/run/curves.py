"""Draw learning curves from the records of training runs."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import CgruError, reading
from ...options.train import LOWER_IS_BETTER
from ...output.picture_style import ABOVE, NO_DATE, STYLE, check_installed
from ...system.atomic_files import atomic_write
from .folder import RunFolder

_MEASURES = ("risk", *LOWER_IS_BETTER)  # in the order of their panels
_TITLES = {  # for measures whose names do not serve as titles
    "risk": "expected risk",
    "cross-entropy": "cross-entropy (nats per sentence)",
    "ce-mean-words": "cross-entropy (nats per word)",
    "bleu": "BLEU",
    "chrf": "chrF",
    "bleu-detok": "BLEU",
    "translation": "score of the script",
    "valid-script": "score of the script",
    "accuracy": "accuracy of labels",
    "f1": "F1 of labels",
    "span-f1": "F1 of spans",
}

# For each type of record: the curve, and the names of measure and value.
_MEASURED = {
    "train": ("training", "cost_type", "cost"),
    "valid": ("validation", "metric", "value"),
    "look": ("validation", "metric", "value"),
}
Curve = list[tuple[int, float]]  # update and value
Panels = dict[str, dict[str, Curve]]  # the curves of "training" and "validation" by measure
_SMOOTHED = 20  # minimum number of points for smoothing training costs


def draw(records: Path, model: Path) -> None:
    """Write MODEL.png and MODEL.svg: the curves of one run.

    Skips damaged records. Raises CgruError if records cannot be read or pictures written.
    """
    check_installed("--plot")
    if panels := curves(records):
        _draw({model.name: panels}, model)


def draw_runs(models: Sequence[str]) -> Path:
    """Draw the runs that train these models, whether running, stopped or finished, in one picture.

    Writes MODEL.png and MODEL.svg for one run, curves.png and curves.svg for several, and returns
    the path without the ending. Raises CgruError for a model without records, and like `draw`.
    """
    check_installed("--curves")
    runs = {}
    for path in map(RunFolder, map(Path, models)):
        if not path.records.exists():
            raise CgruError(
                f"{path.records}: missing, so {path.model} is not the model of a training run"
            )
        if not (panels := curves(path.records)):
            raise CgruError(f"{path.records}: nothing to draw yet: no line of the log")
        runs[str(path.model)] = panels
    picture = Path(models[0]) if len(runs) == 1 else Path("curves")
    _draw(runs, picture)
    return picture


def _draw(runs: Mapping[str, Panels], picture: Path) -> None:
    """Draw a panel for each measure of the runs: their curves of training and validation."""
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    measures = [name for name in _MEASURES if any(name in panels for panels in runs.values())]
    with style.context(STYLE):
        figure = Figure(figsize=(7, 1 + 2.2 * len(measures)))
        FigureCanvasAgg(figure)
        axes = figure.subplots(len(measures), sharex=True, squeeze=False)[:, 0]
        for axis, measure in zip(axes, measures, strict=True):
            for number, (name, panels) in enumerate(runs.items()):
                alone = len(runs) == 1
                colours = ("C0", "C1") if alone else (f"C{number % 7}",) * 2
                lines = panels.get(measure, {})
                for label, colour in zip(("training", "validation"), colours, strict=True):
                    if label in lines:
                        shown = label if alone else f"{name}, {label}"
                        dashed = label == "training" and not alone
                        _plot(axis, lines[label], label, colour, shown, "--" if dashed else "-")
                if alone and "validation" in lines:
                    choose = min if LOWER_IS_BETTER[measure] else max
                    best = choose(lines["validation"], key=lambda point: point[1])
                    axis.plot(*best, "D", color="C2", markersize=6, label=f"best: {best[1]:.5g}")
            axis.set_title(_TITLES.get(measure, measure))
            axis.legend(**ABOVE, ncols=3 if len(runs) == 1 else 1)
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes[-1].set_xlabel("updates")
        if len(runs) == 1:
            figure.suptitle(Path(*runs).name)
        for kind in ("png", "svg"):
            with atomic_write(picture.with_name(f"{picture.name}.{kind}")) as file:
                figure.savefig(file, format=kind, metadata=NO_DATE[kind])


def _plot(axis: Any, curve: Curve, label: str, colour: str, shown: str, line: str) -> None:
    """Draw one curve; a long curve of training is smoothed over its faint values."""
    updates, values = zip(*curve, strict=True)
    marker = "o" if len(curve) < 40 else None
    if label == "training" and len(curve) >= _SMOOTHED:
        axis.plot(updates, values, color=colour, alpha=0.25)
        values, marker = tuple(smoothed(values)), None
    axis.plot(updates, values, line, label=shown, color=colour, marker=marker)


def curves(records: Path) -> Panels:
    """The curves of "training" and "validation" by measure, costs first.

    Costs of both are in nats per word, so that overfitting shows, if the records have them.
    """
    panels: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    with reading(records):
        lines = records.read_bytes().splitlines()
    for line in lines:
        try:
            entry = json.loads(line)
            label, name, number = _MEASURED[entry["type"]]
            update, measure, value = entry["update"], entry[name], entry[number]
            if "cost_per_word" in entry:
                measure, value = "ce-mean-words", entry["cost_per_word"]
            known = measure in _MEASURES and type(update) is int
        except (ValueError, KeyError, TypeError):
            continue
        if known and isinstance(value, (int, float)):
            panels[measure][label][update] = value
    return {
        measure: {label: [*curve.items()] for label, curve in panels[measure].items()}
        for measure in _MEASURES
        if measure in panels
    }


def smoothed(values: Sequence[float]) -> list[float]:
    """The mean of each value and its neighbours: 5 % of all values, half of them on either side."""
    most = max(1, len(values) // 40)
    means = []
    for place in range(len(values)):
        reach = min(most, place, len(values) - 1 - place)
        near = values[place - reach : place + reach + 1]
        means.append(sum(near) / len(near))
    return means
