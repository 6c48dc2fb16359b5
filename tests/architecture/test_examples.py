"""The example model: its card says what it gives."""

import re

import numpy as np
from documentation import ROOT

from cgru_cli.formats.read_model import read

EXAMPLES = ROOT / "examples"
CARD = (EXAMPLES / "README.md").read_text("utf-8")


def test_the_card_shows_what_the_model_translates(translate):
    rows = re.findall(r"^\| ([^|]+[.?]) \| ([^|]+[.?]) \|", CARD, re.M)
    assert len(rows) == 10
    sources = "".join(f"{source}\n" for source, _ in rows)
    code, output, messages = translate("-m", EXAMPLES / "en-de.npz", text=sources)
    assert (code, messages) == (0, "")
    assert output.splitlines() == [translation for _, translation in rows]
    first = rows[0][1]
    for page in (CARD, (ROOT / "README.md").read_text("utf-8")):
        assert f'echo "{rows[0][0]}" | cgru translate -m examples/en-de.npz' in page
        assert first in page


def test_the_card_describes_the_files():
    model = read(EXAMPLES / "en-de.npz")
    assert f"{model.parameter_count:,} parameters" in CARD
    assert sum(file.stat().st_size for file in EXAMPLES.iterdir()) <= 12e6
    with np.load(EXAMPLES / "en-de.npz") as stored:
        assert stored["Wemb"].dtype == np.float16
    named = set(re.findall(r"`(en-de\.[\w.]+)`", CARD))
    assert named == {file.name for file in EXAMPLES.glob("en-de.*")}


def test_it_is_not_in_the_wheel():
    setup = (ROOT / "setup.py").read_text("utf-8")
    assert "examples" not in setup and 'include=["cgru_cli", "cgru_cli.*"]' in setup
