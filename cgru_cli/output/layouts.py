"""The layout of each program."""

from __future__ import annotations

from typing import Any

from ..errors import UsageError
from ..parameters.program import Program
from .layout import Layout
from .marian_layout import AmunLayout, CgruLayout, MarianLayout
from .nematus_layout import DL4MTLayout, NematusLayout, NematusTFLayout

LAYOUTS: dict[str, type[Layout]] = {
    Program.CGRU: CgruLayout,
    Program.MARIAN: MarianLayout,
    Program.AMUN: AmunLayout,
    Program.NEMATUS: NematusLayout,
    Program.NEMATUS_TF: NematusTFLayout,
    Program.DL4MT: DL4MTLayout,
}


def layout_of(program: str = Program.CGRU, **fields: Any) -> Layout:
    """The layout of a program. fields: of `Layout`. Raises UsageError if it has none."""
    if program not in LAYOUTS:
        raise UsageError(f"no output layout {program!r}; there are {', '.join(LAYOUTS)}")
    return LAYOUTS[program](**fields)
