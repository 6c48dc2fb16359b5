"""The common style of all pictures: heat maps, learning curves, and the plots of recipes."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from ..errors import CgruError

STYLE = Path(__file__).with_name("cgru.mplstyle")  # for matplotlib.style.context
NO_DATE = {"png": {}, "svg": {"Date": None}}  # metadata for reproducible files
ABOVE = {"loc": "lower right", "bbox_to_anchor": (1, 1), "borderaxespad": 0.2}  # of a legend


def check_installed(flag: str, otherwise: str = "") -> None:
    """Raise CgruError if matplotlib is not installed. flag: the option that needs it."""
    if importlib.util.find_spec("matplotlib") is None:
        raise CgruError(f"{flag} needs matplotlib: pip install 'cgru[plot]'{otherwise}")
