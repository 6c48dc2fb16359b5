"""Rows of `.npy` files as lines."""

import io

import numpy as np
import pytest
from tables import each_row

from cgru_cli.errors import CgruError
from cgru_cli.system.lines import LineReader, count_lines
from cgru_cli.system.number_rows import lines_of_rows


def numbers_of(path):
    with LineReader(path) as reader:
        return [[float(word) for word in line.split(" ")] for line in reader.rest()]


@each_row("dtype", ["f2", "f4", "f8", ">f4", "i2", "u1"])
@each_row("order", ["C", "F"])
def test_rows_are_lines_of_the_same_numbers(tmp_path, dtype, order):
    rows = np.asarray(np.random.default_rng(1).normal(0, 50, (5, 3)) ** 2, dtype, order=order)
    np.save(tmp_path / "rows.npy", rows)
    assert np.array_equal(np.array(numbers_of(tmp_path / "rows.npy"), dtype), rows)
    assert count_lines([tmp_path / "rows.npy"]) == 5


def test_windows_have_the_size_asked_for(tmp_path):
    np.save(tmp_path / "rows.npy", np.zeros((5, 2)))
    with LineReader(tmp_path / "rows.npy") as reader:
        assert [len(reader.take(2)) for _ in range(4)] == [2, 2, 1, 0]


def test_large_file_is_not_read_into_memory(tmp_path):
    path = tmp_path / "large.npy"  # a sparse file of 80 GB
    with open(path, "wb") as file:
        header = io.BytesIO()
        shape = (10_000_000, 2_000)
        description = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_2_0(header, description)
        file.write(header.getvalue())
        file.truncate(len(header.getvalue()) + 4 * shape[0] * shape[1])
    assert len(next(lines_of_rows(path)).split()) == 2_000
    assert count_lines([path]) == 10_000_000


def damaged(path, change):
    np.save(path, np.zeros((2, 3), "f4"))
    path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3), r"an array of shape \(3,\); one row for each line"),
        (np.zeros((1, 2, 3)), r"an array of shape \(1, 2, 3\)"),
        (np.array([["a"]]), "a matrix of numbers is expected, not <U1"),
        (np.array([[1j]]), "not complex128"),
        (np.array([[True]]), "not bool"),
        (np.array([[{}]]), r"not a \.npy file of numbers"),  # a pickle
    ],
)
def test_other_arrays_are_refused(tmp_path, array, message):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(CgruError, match=message) as refused:
        numbers_of(tmp_path / "a.npy")
    assert str(refused.value).startswith(str(tmp_path / "a.npy"))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "change", [lambda b: b[:-1], lambda b: b[:50], lambda b: b"x" + b, lambda _: b""]
)
def test_damaged_files_are_refused(tmp_path, change):
    damaged(tmp_path / "a.npy", change)
    with pytest.raises(CgruError, match=r"not a \.npy file of numbers"):
        numbers_of(tmp_path / "a.npy")


def test_an_archive_is_refused(tmp_path):
    with open(tmp_path / "a.npy", "wb") as file:
        np.savez(file, rows=np.zeros((2, 2)))
    with pytest.raises(CgruError, match="not an archive"):
        numbers_of(tmp_path / "a.npy")
