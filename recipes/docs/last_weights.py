#!/usr/bin/env python3
"""Write the last weights of a run whose saved model has averaged ones.

python recipes/docs/last_weights.py run/model.npz last.npz
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np


def main(model: str, output: str) -> None:
    """Replace the arrays of the model by those of the same names in its state."""
    with np.load(model) as averaged, np.load(f"{model}.state.npz") as state:
        last = {n: state.get(f"weights/{n}", a) for n, a in averaged.items()}
    np.savez(output, **last)
    for ending in (".json", ".preprocess.json"):
        if Path(model + ending).exists():
            shutil.copy(model + ending, output + ending)
    for pieces in Path(model).parent.glob("*.spm"):
        if pieces.parent != Path(output).parent:
            shutil.copy(pieces, Path(output).parent)


if __name__ == "__main__":
    main(*sys.argv[1:])
