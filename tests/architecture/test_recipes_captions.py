"""The captions recipe: images show the digits of their captions; the table is correct."""

import importlib.util
import os
import subprocess
import sys

import numpy as np
import prepared
import pytest
from documentation import ROOT

pytestmark = pytest.mark.long


FOLDER = ROOT / "recipes/captions"


@pytest.fixture(scope="module")
def pictures():
    pytest.importorskip("sklearn")
    specification = importlib.util.spec_from_file_location("pictures", FOLDER / "pictures.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_pictures_hold_the_digits_of_their_numbers(pictures):
    labels = np.arange(20) % 10
    pixels = np.repeat(labels[:, None] / 10, 64, axis=1)  # every pixel encodes its digit
    numbers = np.array([341, 7, 980])
    made = pictures.draw(np.random.default_rng(1), numbers, pixels, labels)
    assert made.shape == (3, 192)
    rows = made.reshape(3, 8, 24)
    assert np.allclose(rows[:, :, ::8], np.array([[3, 4, 1], [0, 0, 7], [9, 8, 0]])[:, None] / 10)
    digits = pictures.digits_of(made)
    assert digits.shape == (3, 3, 64) and np.allclose(digits[0], [[0.3], [0.0], [0.9]])
    assert [pictures.caption(n) for n in (0, 21, 341)] == [
        "zero", "twenty one", "three hundred and forty one"
    ]  # fmt: skip


def test_the_table_counts_whole_captions(tmp_path):
    reference, half = "a b\nc\n", "a b\nc c\n"
    texts = {"test": reference, "new": reference, "nearest.test": half, "nearest.new": "x\ny\n",
             "digits.test": reference, "digits.new": half}  # fmt: skip
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text)
    for seed, text in (("seed1", reference), ("seed2", half)):
        (tmp_path / seed).mkdir()
        for name in ("test", "new"):
            (tmp_path / seed / f"{name}.txt").write_text(text)
    runs = [tmp_path / "seed1", tmp_path / "seed2"]
    command = [sys.executable, FOLDER / "results.py", tmp_path, *runs]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [[cell.strip() for cell in line.split("|")[2:4]] for line in table.splitlines()[2:]]
    assert rows == [["50.0", "0.0"], ["100.0", "50.0"], ["75.0 (50.0 to 100.0)"] * 2]


@pytest.mark.exhaustive
def test_captions(pictures, tmp_path):
    command = [FOLDER / "pictures.py", tmp_path / "data", "--train", "300", "--test", "12"]
    subprocess.run([sys.executable, *command], check=True)
    known, new = ({*(tmp_path / f"data/{n}.txt").read_text().split("\n")[:-1]} for n in
                  ("train", "new"))  # fmt: skip
    assert not known & new
    done = subprocess.run(
        [FOLDER / "run.sh", "--dim-rnn", "8", "--after", "2u"],
        env=os.environ | {"PATH": prepared.path(), "SEEDS": "1",
                          "DATA": str(tmp_path / "data"), "OUT": str(tmp_path / "o")},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "mean of 1 seeds" in done.stdout
    assert len((tmp_path / "o/seed1/new.txt").read_text().split("\n")) == 13
