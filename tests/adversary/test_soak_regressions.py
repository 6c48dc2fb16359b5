"""Regression tests for problems found by the soak."""

import faulthandler

import pytest
from bombs import refused
from damage import good

from cgru_cli.corpus import word_alignments
from cgru_cli.formats.read_model import read
from cgru_cli.text.subwords import check_codes

pytestmark = pytest.mark.long


@pytest.mark.parametrize("inserted", [9, 8, 1, 16])
def test_an_hdf5_heap_in_which_the_library_walks_for_ever(tmp_path, inserted):
    path = tmp_path / "model.h5"
    whole = good("h5")["model.h5"]
    place = whole.index(b"encoder_transition")
    path.write_bytes(whole[:place] + bytes(inserted) + whole[place:])
    faulthandler.dump_traceback_later(20, exit=True)  # such a loop ignores signals
    try:
        assert "not a complete HDF5 file" in refused(read, path, seconds=5)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.mark.parametrize("line", ["#version:0.2", "#version: 0.2 x", "#version:", "#version: 0"])
def test_versions_of_codes(line):
    assert "unknown version" in refused(check_codes, f"{line}\na b\n", "codes")


def test_codes_without_any():
    assert "no merges of sub-words" in refused(check_codes, "#version: 0.2\n", "codes")


@pytest.mark.parametrize("point", ["0-" + "9" * 5000, "9" * 5000 + "-0", "0-" + "1" * 41])
def test_points_of_5000_digits(point):
    assert "is not an alignment" in refused(word_alignments.parse, point, 3, 3)
