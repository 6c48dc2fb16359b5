"""Initial embeddings from files."""

from pathlib import Path

import numpy as np
import pytest
from cases import random_arrays, small_structure
from tables import each_row

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.formats.model import Model
from cgru_cli.text.vocabulary import Vocabulary
from cgru_cli.train.word_vectors import place

SOURCE = Vocabulary({w: i for i, w in enumerate(["eos", "UNK", *"abcdefghi"])})
TARGET = Vocabulary({w: i for i, w in enumerate(["eos", "UNK", *"ABCDEFGHIJK"])})


def model(**changes):
    structure = small_structure(**changes)
    return Model(Path("m.npz"), structure, random_arrays(structure), "nematus", "npz")


def line(word, *numbers):
    return " ".join([word, *map(str, numbers)]) + "\n"


def written(path, *lines):
    path.write_text("".join(lines))
    return str(path)


def test_embeddings_are_the_vectors_of_words(tmp_path):
    given = model()
    before = {name: array.copy() for name, array in given.arrays.items()}
    row = [0.5, -1, 2e-3, 4, 5, 6]
    source = written(
        tmp_path / "src", "3 6\n", line("b", *row), line("zzz", *row), line("</s>", *range(6))
    )
    target = written(tmp_path / "trg", line("K", *row).replace("\n", " \r\n"))
    notes = place(given, [SOURCE, TARGET], [source, target])
    assert notes == [
        f"{source}: vectors for 2 of 11 words",
        f"{target}: vectors for 1 of 13 words",
    ]
    expected = before["Wemb"].copy()
    expected[3], expected[0] = np.float32(row), np.arange(6)
    np.testing.assert_array_equal(given.arrays["Wemb"], expected)
    expected = before["Wemb_dec"].copy()
    expected[12] = np.float32(row)
    np.testing.assert_array_equal(given.arrays["Wemb_dec"], expected)
    for name in set(before) - {"Wemb", "Wemb_dec"}:
        np.testing.assert_array_equal(given.arrays[name], before[name])


def test_one_file_for_one_embedding(tmp_path):
    given = model(source_vocabularies=(13,), shared_embeddings=True)
    path = written(tmp_path / "both", line("A", *range(6)))
    assert place(given, [TARGET, TARGET], [path]) == [f"{path}: vectors for 1 of 13 words"]
    np.testing.assert_array_equal(given.arrays["Wemb"][2], np.arange(6))
    with pytest.raises(UsageError, match="one file expected, 2 given"):
        place(given, [TARGET, TARGET], [path, path])


@each_row(
    ("content", "message"),
    [
        ("a 1 2 3\n", r"line 1: a word and 3 numbers, the embedding has 6"),
        (line("a", *range(6)) + "b 1\n", "line 2: a word and 1 numbers"),
        ("2 7\n", "vectors have 7 numbers, the embedding has 6"),
        ("a 1 2 3 4 5 x\n", "line 1: could not convert"),
        ("a 1 2 3 4 5 6_0\n", "line 1: numbers are expected"),
        ("a 1 2 3 4 5 nan\n", "line 1: numbers must be finite"),
        (line("a", *range(6)) * 2, "line 2: second vector of a"),
        (line("zzz", *range(6)), "has no vector for any word"),
        ("", "has no vector for any word"),
    ],
)
def test_damaged_files_of_vectors(tmp_path, content, message):
    path = written(tmp_path / "src", content)
    with pytest.raises(CgruError, match=f"{path}: {message}"):
        place(model(), [SOURCE, TARGET], [path, path])


def test_one_file_is_missing(tmp_path):
    path = written(tmp_path / "src", line("a", *range(6)))
    with pytest.raises(UsageError, match="files for source and target expected, 1 given"):
        place(model(), [SOURCE, TARGET], [path])
    with pytest.raises(CgruError, match="none: "):
        place(model(), [SOURCE, TARGET], [str(tmp_path / "none"), path])
