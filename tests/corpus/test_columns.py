"""Ragged columns do the same as lists of lists, in memory and from files."""

import itertools

import numpy as np
import pytest
from corpora import column
from corpora import rows as rows_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cgru_cli.corpus.columns import Column, ColumnWriter, GrowingArray, within

numbers = st.integers(0, 9)
RAGGED = {
    (): st.lists(st.lists(numbers, max_size=5), min_size=1, max_size=9),
    (2,): st.lists(st.lists(st.tuples(numbers, numbers), max_size=4), min_size=1, max_size=9),
}
shapes = st.sampled_from([*RAGGED])


def joined(rows):
    return list(itertools.chain.from_iterable(rows))


@given(st.data(), shapes)
def test_rows_are_those_of_a_list(data, shape):
    rows = data.draw(RAGGED[shape])
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9))
    made = column(rows, shape)
    lists = [[list(value) if shape else value for value in row] for row in rows]
    picked = [lists[i] for i in chosen]
    chosen = np.array(chosen, int)
    assert len(made) == len(rows) and rows_of(made) == lists
    assert made.lengths().tolist() == [*map(len, lists)]
    assert made.lengths(chosen).tolist() == [*map(len, picked)]
    assert made.joined(chosen).tolist() == joined(picked)
    assert made.joined(slice(1, 3)).tolist() == joined(lists[1:3])
    selected = made.select(chosen)
    assert rows_of(selected) == picked and selected.joined(slice(None)).tolist() == joined(picked)


@given(st.data(), shapes, st.integers(0, 3), st.integers(0, 3))
def test_padded_rows_are_those_of_a_list(data, shape, more_rows, longer):
    rows = data.draw(RAGGED[shape])
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9))
    longest = max([len(rows[i]) for i in chosen], default=0) + longer
    fill = [-1, -1] if shape else -1
    expected = [[*map(list, rows[i])] if shape else [*rows[i]] for i in chosen] + [[]] * more_rows
    expected = [row + [fill] * (longest - len(row)) for row in expected]
    of_batch = len(expected), longest
    padded = column(rows, shape, "u2").padded(np.array(chosen, int), of_batch, np.int32(-1))
    assert padded.shape == (*of_batch, *shape) and padded.dtype == np.int32
    assert padded.tolist() == expected
    lengths = np.array([len(rows[i]) for i in chosen], int)
    inside = within(lengths, of_batch)
    assert inside.tolist() == [
        [place < n for place in range(longest)] for n in [*lengths, *[0] * more_rows]
    ]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), shapes, st.integers(0, 9))
def test_files_have_the_rows_that_were_added(tmp_path, data, shape, place):
    rows = data.draw(RAGGED[shape])
    for file in tmp_path.iterdir():
        file.unlink()
    with ColumnWriter(tmp_path / "c", "<u2", shape) as writer:
        for part in (rows[:place], rows[place:]):
            writer.append(part)
    read = Column.open(tmp_path / "c")
    assert rows_of(read) == rows_of(column(rows, shape))
    assert read.values.dtype == np.uint16 and read.values.shape[1:] == shape
    assert not read.values.flags.writeable
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.ends.npy", "c.values.npy"]
    assert np.load(tmp_path / "c.ends.npy").tolist() == [0, *np.cumsum([*map(len, rows)])]


def test_fractions_and_no_values(tmp_path):
    for name, rows, shape in (("a", [[0.5], [1.25, 3.0]], ()), ("b", [[], []], (0,))):
        with ColumnWriter(tmp_path / name, "<f4", shape) as writer:
            writer.append(rows)
        assert rows_of(Column.open(tmp_path / name)) == rows


@pytest.mark.parametrize(
    ("rows", "shape", "error"),
    [([[70000]], (), OverflowError), ([[(1, 2), (3,)]], (2,), ValueError)],
)
def test_values_of_another_type_or_shape_are_refused(tmp_path, rows, shape, error):
    with pytest.raises(error), ColumnWriter(tmp_path / "c", "<u2", shape) as writer:
        writer.append(rows)


def test_a_growing_array_is_a_file_of_numpy(tmp_path):
    parts = [np.arange(6).reshape(2, 3), np.zeros((0, 3), int), np.ones((1, 3), int)]
    with open(tmp_path / "a.npy", "wb") as file:
        array = GrowingArray(file, "<u4", (3,))
        for part in parts:
            array.append(part)
        array.close()
    whole = np.concatenate(parts).astype("<u4")
    np.save(tmp_path / "b.npy", whole)
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()
