"""Array headers and dataset names on which NumPy and HDF5 themselves fail."""

import zipfile

import h5py
import numpy as np
import pytest
from bombs import refused
from cases import random_arrays, small_structure
from tables import each_row

from cgru_cli.formats import write_model
from cgru_cli.formats.model import Model
from cgru_cli.formats.read_model import read

pytestmark = pytest.mark.long


HEADERS = [
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), ",  # TokenError, IndentationError
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (3,}",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }\n  (",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': '''",
    b"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
    b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }",
    b"{'descr': '<f4', 'fortran_order': 7, 'shape': (3,), }",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (True,), }",
    b"{'descr': '<f4', 'fortran_order': False, 'shape': (-3, -1), }",
    b"(" * 500,
    b"",
]


@each_row("header", HEADERS, ids=range(len(HEADERS)))
def test_a_header_of_an_array(tmp_path, header):
    path = tmp_path / "model.npz"
    np.savez(path, **random_arrays(small_structure()))
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(12)
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("ff_state_c.npy", content)
    assert "model.npz: array ff_state_c" in refused(read, path)


@pytest.fixture
def hdf5(tmp_path):
    structure = small_structure()
    model = Model(tmp_path / "x", structure, random_arrays(structure), "nematus")
    write_model.write(model, tmp_path / "model.h5", "h5")
    return tmp_path / "model.h5"


def test_a_dataset_whose_name_is_not_utf8(hdf5):
    with h5py.File(hdf5, "a") as file:
        h5py.h5d.create(file.id, b"\xff\xfe", h5py.h5t.NATIVE_FLOAT, h5py.h5s.create_simple((3,)))
    assert "model.h5: " in refused(read, hdf5)


@pytest.mark.parametrize("content", ["text", [b"a", b"b"], np.zeros(2, "S9"), h5py.Empty("f4")])
def test_a_dataset_that_holds_no_numbers(hdf5, content):
    with h5py.File(hdf5, "a") as file:
        name = "decoder/output/b"
        assert name in file
        del file[name]
        file[name] = content
    assert "model.h5: " in refused(read, hdf5)
