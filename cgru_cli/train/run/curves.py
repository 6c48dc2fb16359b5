"""Draw learning curves from the records of a training run."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from ...errors import reading
from ...output.picture_style import ABOVE, NO_DATE, STYLE, check_installed
from ...system.atomic_files import atomic_write
from .patience import LOWER_IS_BETTER

_COLOURS = {"training": "C0", "validation": "C1"}

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
}
Curve = list[tuple[int, float]]  # update and value
_SMOOTHED = 20  # minimum number of points for smoothing training costs


def draw(records: Path, model: Path) -> None:
    """Write MODEL.png and MODEL.svg: a panel for each measure of training and validation.

    Skips damaged records. Raises CgruError if records cannot be read or pictures written.
    """
    check_installed("--plot")
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    panels = curves(records)
    if not panels:
        return
    with style.context(STYLE):
        figure = Figure(figsize=(7, 1 + 2.2 * len(panels)))
        FigureCanvasAgg(figure)
        axes = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
        for axis, (measure, lines) in zip(axes, panels.items(), strict=True):
            for label, curve in lines.items():
                marker = "o" if len(curve) < 40 else None
                updates, values = zip(*curve, strict=True)
                colour = _COLOURS[label]
                if label == "training" and len(curve) >= _SMOOTHED:
                    axis.plot(updates, values, color=colour, alpha=0.25)
                    values, marker = tuple(smoothed(values)), None
                axis.plot(updates, values, label=label, color=colour, marker=marker)
            if "validation" in lines:
                choose = min if LOWER_IS_BETTER[measure] else max
                best = choose(lines["validation"], key=lambda point: point[1])
                axis.plot(*best, "D", color="C2", markersize=6, label=f"best: {best[1]:.5g}")
            axis.set_title(_TITLES.get(measure, measure))
            axis.legend(**ABOVE, ncols=3)
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes[-1].set_xlabel("updates")
        figure.suptitle(model.name)
        for kind in ("png", "svg"):
            with atomic_write(model.with_name(f"{model.name}.{kind}")) as file:
                figure.savefig(file, format=kind, metadata=NO_DATE[kind])


def curves(records: Path) -> dict[str, dict[str, Curve]]:
    """The curves of "training" and "validation" by measure, costs first."""
    panels: dict[str, dict[str, Curve]] = defaultdict(dict)
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
            panels[measure].setdefault(label, []).append((update, value))
    return {measure: panels[measure] for measure in _MEASURES if measure in panels}


def smoothed(values: Sequence[float]) -> list[float]:
    """The mean of each value and its neighbours: 5 % of all values, half of them on either side."""
    most = max(1, len(values) // 40)
    means = []
    for place in range(len(values)):
        reach = min(most, place, len(values) - 1 - place)
        near = values[place - reach : place + reach + 1]
        means.append(sum(near) / len(near))
    return means
