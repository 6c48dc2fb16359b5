"""The example models: their model card states their scores."""

import re

import numpy as np
import pytest
from documentation import ROOT

from cgru_cli.formats.read_model import read

EXAMPLES = ROOT / "examples"
CARD = (EXAMPLES / "README.md").read_text("utf-8")


@pytest.mark.long
@pytest.mark.parametrize("name", ["en-de", "de-en"])
def test_the_card_shows_what_the_model_translates(translate, name):
    section = CARD.partition(f"\n## {name}: ")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+[.?]) \| ([^|]+[.?]) \|", section, re.M)
    assert len(rows) == 10
    sources = "".join(f"{source}\n" for source, _ in rows)
    code, output, messages = translate("-m", EXAMPLES / f"{name}.npz", text=sources)
    assert (code, messages) == (0, "")
    assert output.splitlines() == [translation for _, translation in rows]
    first = rows[0][1]
    for page in (CARD, (ROOT / "README.md").read_text("utf-8")):
        assert f'echo "{rows[0][0]}" | cgru translate -m examples/{name}.npz' in page
        assert first in page


@pytest.mark.parametrize("name", ["en-de", "de-en"])
def test_the_card_describes_the_files(name):
    model = read(EXAMPLES / f"{name}.npz")
    assert f"{model.parameter_count:,} parameters" in CARD
    assert sum(file.stat().st_size for file in EXAMPLES.iterdir()) <= 20e6
    with np.load(EXAMPLES / f"{name}.npz") as stored:
        assert stored["Wemb"].dtype == np.float16
    endings = set(re.findall(r"`NAME(\.[\w.]+)`", CARD))
    assert {f"{name}{ending}" for ending in endings} == {
        file.name for file in EXAMPLES.glob(f"{name}.*")
    }


def test_it_is_not_in_the_wheel():
    setup = (ROOT / "setup.py").read_text("utf-8")
    assert "examples" not in setup and 'include=["cgru_cli", "cgru_cli.*"]' in setup
