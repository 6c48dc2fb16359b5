"""Translate a column of a table, with the probability that the model gives each translation.

pip install pandas
python examples/python/data_frame.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from cgru_cli import Translator

MODEL = Path(__file__).parents[1] / "en-de.npz"


def with_translations(table: pd.DataFrame, translator: Translator) -> pd.DataFrame:
    """The table with the columns `german` and `probability` (a word) beside `english`.

    translator: with normalize=1, so that `total` is the mean log-probability of the words.
    """
    best = translator.translate(table["english"].tolist())
    return table.assign(
        german=[one.text for one in best], probability=np.exp([one.total for one in best])
    )


if __name__ == "__main__":
    table = pd.DataFrame({"english": ["Where is the station?", "My cat reads Kant."]})
    print(with_translations(table, Translator(MODEL, normalize=1.0)).to_string(index=False))
