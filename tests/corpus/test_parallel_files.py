"""Files that are read together, and tab-separated fields instead of files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.corpus.parallel_files import Files, TsvField, parallel, text_lines
from cgru_cli.errors import CgruError

FIELD = st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), max_size=6)


def columns(path, count):
    return [TsvField(str(path), number, count) for number in range(count)]


@given(st.lists(st.tuples(FIELD, FIELD, FIELD), min_size=1, max_size=20))
def test_fields_are_read_like_files(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("tsv")
    (folder / "all.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")
    for number, side in enumerate("swt"):
        lines = "".join(f"{row[number]}\n" for row in rows)
        (folder / side).write_text(lines, "utf-8")
    source, weight, target = columns(folder / "all.tsv", 3)

    def lines_of(source, target, weight):
        return list(parallel(Files(source, target, None, weight)))

    sides = [folder / side for side in "stw"]
    assert lines_of(source, target, weight) == lines_of(*sides)
    assert list(text_lines(weight)) == [row[1] for row in rows]


def test_missing_fields_are_empty_and_extra_ones_named(tmp_path):
    path = tmp_path / "text.tsv"
    path.write_text("a\tb\nc\n")
    source, target = columns(path, 2)
    files = Files(source, target)
    (lines,) = parallel(files)
    assert lines == [("a", "b", None, None), ("c", "", None, None)]
    path.write_text("a\tb\nc\td\te\n")
    for read in (lambda: list(parallel(files)), lambda: list(text_lines(source))):
        with pytest.raises(CgruError, match=r"text\.tsv: line 2: 3 fields .* 2 are expected"):
            read()


def test_longer_file_is_named_with_both_counts(tmp_path):
    for name, count in (("s", 9000), ("t", 5000)):
        (tmp_path / name).write_text("x\n" * count)
    files = Files(tmp_path / "s", tmp_path / "t")
    with pytest.raises(CgruError, match=r"s has 9,000 lines and .*t 5,000"):
        list(parallel(files))
