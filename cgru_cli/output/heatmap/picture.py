"""Draw heat maps with matplotlib: a row of panels for each line, a panel for each view."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ...errors import CgruError, warn
from ..picture_style import STYLE
from .view import Sentence, View, is_right_to_left

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

_INK, _PAPER, _GREY = "#0a4a7a", "#f4f2ee", "#8a857d"
_LONGEST = 24  # characters of a label
_GAP, _BARS = 0.35, 0.8  # inches between panels; width of the probabilities beside a matrix
_SCALE = 0.75  # inches: width of the legend beside the panels of a line
_DPI = 130
_MOST_PIXELS = 30_000  # per side, because viewers reject larger pictures


def draw(file: BinaryIO, kind: str, title: str, sentences: Sequence[Sentence]) -> None:
    """Write a picture (kind: png or svg) of these lines; in SVG, words remain text.

    A dot marks the source word that a target word attends to most. Raises CgruError if the picture
    would be too large.
    """
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    sizes = [[_Size(view) for view in sentence.views] for sentence in sentences]
    width = max(sum(size.width + _GAP for size in row) for row in sizes) + _SCALE + _GAP
    height = sum(max(size.height for size in row) + _GAP for row in sizes) + _GAP
    if max(width, height) * _DPI > _MOST_PIXELS:
        raise CgruError(
            f"--heatmap: a picture of {width:.0f} x {height:.0f} inches; choose fewer lines with "
            "--heatmap-lines, or name an .html file"
        )
    without: Any = {
        "axes.grid": False,
        "figure.constrained_layout.use": False,
        "text.parse_math": False,
    }
    metadata = {"png": {"Title": title}, "svg": {"Title": title, "Date": None}}[kind]
    with style.context([STYLE, without]), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = Figure(figsize=(width, height))
        FigureCanvasAgg(figure)
        top = height - _GAP
        for sentence, row in zip(sentences, sizes, strict=True):
            left = _GAP
            for view, size in zip(sentence.views, row, strict=True):
                heading = f"Line {sentence.number}, {view.name}"
                _panel(figure, (left, top), view, size, heading)
                left += size.width + _GAP
            _scale(figure, (left - _GAP / 2, top), row[-1])
            top -= max(size.height for size in row) + _GAP
        figure.savefig(file, format=kind, dpi=_DPI, metadata=metadata, bbox_inches="tight")
    if kind == "png" and any("missing from" in str(warning.message) for warning in caught):
        warn("the fonts lack some characters, which appear as boxes; .svg and .html show them")


class _Size:
    """The size of a panel in inches, with smaller cells for long lines."""

    def __init__(self, view: View):
        T, S = view.weights.shape
        self.cell = 0.26 if max(T, S) <= 40 else 0.2 if max(T, S) <= 80 else 0.14
        self.words = 0.2 + 0.3 * self.cell * max(_width(_label(word)) for word in view.target)
        self.head = 0.4 + 0.3 * self.cell * max(_width(_label(word)) for word in view.source)
        self.matrix = S * self.cell, T * self.cell
        heading = 0.09 * len(view.name) + 0.6
        self.width = max(self.words + self.matrix[0] + _BARS, heading)
        self.height = self.head + self.matrix[1]
        self.font = min(9.0, 46 * self.cell)


def _panel(
    figure: Figure, corner: tuple[float, float], view: View, size: _Size, heading: str
) -> None:
    """Draw a matrix with its words, and the probabilities beside it. corner: left and top."""
    (width, height), (left, top) = figure.get_size_inches(), corner
    T, S = view.weights.shape
    bottom = top - size.head - size.matrix[1]

    def place(x: float, w: float) -> tuple[float, float, float, float]:
        return x / width, bottom / height, w / width, size.matrix[1] / height

    axes = figure.add_axes(place(left + size.words, size.matrix[0]))
    shades = _shades()
    axes.imshow(view.weights, cmap=shades, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    axes.set_xticks(np.arange(S), [_label(word) for word in view.source], rotation=90)
    axes.set_yticks(np.arange(T), [_label(word) for word in view.target])
    axes.set_xticks(np.arange(S + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(T + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=0.6)
    axes.xaxis.tick_top()
    _bare(axes, size.font)
    strongest = view.strongest
    dots = np.where(view.weights[np.arange(T), strongest] > 0.5, "white", _INK)
    axes.scatter(strongest, np.arange(T), s=30 * size.cell, c=dots, linewidths=0)
    if is_right_to_left(view.source[:-1]):
        axes.invert_xaxis()
    figure.text(left / width, top / height, heading, va="top", weight="bold", fontsize=9)
    if view.probabilities is None:
        return
    bars = figure.add_axes(place(left + size.words + size.matrix[0] + 0.1, _BARS - 0.1))
    bars.barh(np.arange(T), view.probabilities, height=0.7, color="#c9d8e4")
    bars.set(xlim=(0, 1), ylim=axes.get_ylim(), xticks=[0.5], yticks=[])
    bars.set_xticklabels(["probability"], color=_GREY)
    bars.xaxis.tick_top()
    for j, probability in enumerate(view.probabilities):
        bars.text(0.04, j, f"{probability:.2f}", va="center", fontsize=size.font - 1)
    _bare(bars, size.font)


def _scale(figure: Figure, corner: tuple[float, float], size: _Size) -> None:
    """Draw the legend of shades beside the last matrix of a line. corner: left and top."""
    (width, height), (left, top) = figure.get_size_inches(), corner
    high = min(size.matrix[1], 1.3)
    bottom = top - size.height
    axes = figure.add_axes((left / width, bottom / height, 0.12 / width, high / height))
    edges = np.linspace(0, 100, 65)
    axes.pcolormesh([0, 1], edges, edges[:-1, None], cmap=_shades(), rasterized=True)
    ticks = (0, 50, 100) if high > 0.6 else (0, 100)
    axes.set(xticks=[], yticks=ticks, yticklabels=[f"{tick} %" for tick in ticks])
    axes.yaxis.tick_right()
    _bare(axes, min(size.font, 8))


def _shades() -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("attention", [_PAPER, _INK])


def _bare(axes: Any, font: float) -> None:
    axes.tick_params(which="both", length=0, labelsize=font)
    axes.spines[:].set_visible(False)


def _label(word: str) -> str:
    return word if len(word) <= _LONGEST else f"{word[: _LONGEST - 1]}…"


def _width(text: str) -> int:
    """The width of a text in columns, of which a wide character takes two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
