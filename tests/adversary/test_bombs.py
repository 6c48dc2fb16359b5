"""Small files that declare or unpack to gigabytes are refused before memory or time is spent."""

import gzip
import json
import pickle
import zipfile
import zlib

import h5py
import numpy as np
import pytest
from bombs import add_zeros, bounded, npy_header, refused
from cases import random_arrays, small_structure
from tables import each_row

from cgru_cli.formats import array_files, write_model
from cgru_cli.formats.model import Model
from cgru_cli.formats.read_model import read
from cgru_cli.formats.vocabulary_files import read_vocabulary
from cgru_cli.system.structured_files import LARGEST_YAML, parse_json, parse_yaml

pytestmark = pytest.mark.long


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.npz"
    np.savez(path, **random_arrays(small_structure()))
    return path


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(model, method):
    with zipfile.ZipFile(model, "a", method) as archive:
        archive.writestr("mystery.npy", npy_header((1,)) + bytes(4))
    assert "only these are read" in refused(read, model)


@pytest.mark.parametrize("name", ["mystery", "Wemb_smooth", "special:model.yml"])
def test_a_large_member_is_refused_unread(model, name):
    add_zeros(model, name, (300, 1 << 20))
    assert model.stat().st_size < 1 << 21
    message = refused(read, model, seconds=1, mebibytes=30)
    assert name in message


def test_a_table_of_zeros_is_not_a_model(tmp_path):
    arrays = random_arrays(small_structure())
    del arrays["Wemb"]
    path = tmp_path / "model.npz"
    np.savez(path, **arrays)
    add_zeros(path, "Wemb", (50 << 20, 6))
    message = refused(read, path, seconds=1, mebibytes=30)
    assert "declares arrays of" in message and "Wemb" in message


def test_a_training_array_is_not_unpacked(model):
    add_zeros(model, "adam_m", (300, 1 << 20))
    with bounded(seconds=1, mebibytes=30):
        read(model)


def test_one_member_with_many_entries(model):
    """Several directory entries refer to the same compressed bytes."""
    add_zeros(model, "mystery0", (8, 1 << 20))
    with zipfile.ZipFile(model, "a") as archive:
        first = archive.getinfo("mystery0.npy")
        for i in range(1, 100):
            copy = zipfile.ZipInfo(f"mystery{i}.npy")
            for field in ("compress_type", "CRC", "compress_size", "file_size", "header_offset"):
                setattr(copy, field, getattr(first, field))
            archive.filelist.append(copy)
            archive.NameToInfo[copy.filename] = copy
        archive._didModify = True
    refused(read, model, seconds=1, mebibytes=30)


def test_marian_configuration_of_200_mb(model):
    add_zeros(model, "special:model.yml", (200 << 20,), "|i1")
    assert "special:model.yml" in refused(read, model, seconds=1, mebibytes=30)
    np.savez(model, **{"special:model.yml": np.zeros(LARGEST_YAML + 1, "i1")})
    assert str(LARGEST_YAML) in refused(read, model, seconds=1, mebibytes=30)


def test_hdf5_of_zeros(tmp_path):
    structure = small_structure()
    model = Model(tmp_path / "x", structure, random_arrays(structure), "nematus")
    path = tmp_path / "model.h5"
    write_model.write(model, path, "h5")
    with h5py.File(path, "a") as file:
        options = {"compression": "gzip", "chunks": (1 << 20,), "fillvalue": 0}
        data = file.create_dataset("inert/huge", (300 << 20,), "f4", **options)
        chunk = zlib.compress(bytes(4 << 20))
        for start in range(0, 300 << 20, 1 << 20):
            data.id.write_direct_chunk((start,), chunk)
    refused(read, path, seconds=1, mebibytes=30)


def test_hdf5_that_reads_other_files(tmp_path):
    structure = small_structure()
    model = Model(tmp_path / "x", structure, random_arrays(structure), "nematus")
    path = tmp_path / "model.h5"
    write_model.write(model, path, "h5")
    (tmp_path / "secret").write_bytes(bytes(400))
    with h5py.File(path, "a") as file:
        external = [(str(tmp_path / "secret"), 0, 400)]
        file.create_dataset("inert/secret", (100,), "f4", external=external)
    assert "other files" in refused(read, path)


INERT = [
    {"dtype": "|S1900000000", "shape": [1], "data": ["a"]},
    {"dtype": "<f4", "shape": [500_000_000, 0], "data": []},
    {"dtype": "<f4", "shape": [10**18], "data": [1]},
    {"dtype": "(10000,10000)<f4", "shape": [1], "data": [1.0]},
    {"dtype": "O", "shape": [1], "data": [[1]]},
    {"dtype": "<f4", "shape": [1], "data": "no"},
    {"dtype": 5, "shape": [1], "data": [1]},
    {"dtype": "<f4", "shape": 5, "data": [1]},
    5,
]


@pytest.mark.parametrize("inert", INERT)
def test_arrays_in_a_configuration(tmp_path, inert):
    structure = small_structure()
    model = Model(tmp_path / "x", structure, random_arrays(structure), "nematus")
    path = tmp_path / "model.npz"
    write_model.write(model, path, "npz")
    file = tmp_path / "model.npz.json"
    values = json.loads(file.read_text())
    values["cgru"]["inert"] = {"decoder_c_tt": inert}
    file.write_text(json.dumps(values))
    if isinstance(inert, dict) and inert["shape"] == [500_000_000, 0]:  # is empty
        with bounded(seconds=1, mebibytes=30):
            read(path)
    else:
        assert "model.npz.json" in refused(read, path, seconds=1, mebibytes=30)


LAUGHS = "a0: &a0 [x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 13)
)
MERGES = "a0: &a0 {k: 1}\n" + "".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 13)
)
YAML = {
    "aliases": LAUGHS,
    "merges": MERGES,
    "a circle": "&a [*a]",
    "depth": "[" * 100_000,
    "depth of mappings": "{a: " * 100_000,
    "indentation": "".join(" " * i + "a:\n" for i in range(1000)),
    "names": "".join(f"k{i}: 1\n" for i in range(80_000)),
    "size": "a: " + "x" * (LARGEST_YAML + 1),
    "digits": "dim-emb: " + "9" * 5000,
    "base 60": "dim-emb: " + ":".join(["59"] * 100_000),
    "empty number": "dim-emb: !!int ''",
    "empty real number": "normalize: !!float ''",
    "no time": "a: !!timestamp 'x'",
    "no bytes": "a: !!binary 'é'",
    "a merge of nothing": "<<: 5",
    "a merge of a list": "<<: [1]",
    "no key": "? [a]\n: 1",
    "tag": "a: !!python/object/apply:os.system [true]",
    "half a character": 'a: "\\ud800"',
}


@pytest.mark.parametrize("name", YAML)
def test_yaml(name):
    if name == "a merge of nothing":
        refused(parse_yaml, YAML[name], "x.yml")
    message = refused(parse_yaml, YAML[name], "x.yml", seconds=5, mebibytes=150)
    assert message.startswith("x.yml: ")


def test_ordinary_yaml_is_read():
    text = "base: &size 512\ndim-emb: *size\nvocabs: [a.yml, b.yml]\ntrain-sets:\n  - a\n  - b\n"
    values = parse_yaml(text, "x.yml")
    assert values["dim-emb"] == 512 and values["vocabs"] == ["a.yml", "b.yml"]


JSON = {
    "digits": '{"dim": ' + "9" * 400 + "}",
    "more digits": '{"dim": ' + "9" * 5000 + "}",
    "half a character": '{"a": "\\ud800"}',
    "half a name": '{"\\udfff": 1}',
    "depth": "[" * 100_000,
    "depth of objects": '{"a":' * 100_000,
    "cut": '{"a": "b',
    "no UTF-8": b'{"a": "\xff"}',
}


@each_row("name", JSON)
def test_json(name):
    message = refused(parse_json, JSON[name], "x.json", seconds=2, mebibytes=60)
    assert message.startswith("x.json: not JSON")


def test_vocabularies(tmp_path):
    path = tmp_path / "vocabulary"
    path.write_bytes(gzip.compress(b"</s>\n" + b"\n" * 6_000_000))
    assert "5000000 words" in refused(read_vocabulary, path, seconds=3, mebibytes=60)
    path.write_bytes(gzip.compress(b'{"eos": 0' + b',"a":1' * 11_000_000 + b"}"))
    assert "5000000 words" in refused(read_vocabulary, path, seconds=3, mebibytes=400)
    path.write_bytes(gzip.compress(bytes((1 << 28) + 1)))
    assert "too large" in refused(read_vocabulary, path, seconds=5, mebibytes=700)


def test_pickled_numbers(tmp_path):
    path = tmp_path / "model.npz"
    np.savez(path, **random_arrays(small_structure()))
    for values in ({"dim": 10**400}, {"dim": 10**5000}, {"dictionaries": "\ud800"}, {1: 2}):
        (tmp_path / "model.npz.pkl").write_bytes(pickle.dumps(values))
        assert "model.npz.pkl" in refused(read, path)


def test_an_honest_model_of_many_zeros_is_read(tmp_path):
    arrays = {name: np.zeros_like(a) for name, a in random_arrays(small_structure()).items()}
    arrays["ff_logit_W"], arrays["ff_logit_b"] = np.zeros((6, 50_000), "f4"), np.zeros(50_000, "f4")
    arrays["Wemb_dec"] = np.zeros((50_000, 6), "f4")
    np.savez_compressed(tmp_path / "model.npz", **arrays)
    assert read(tmp_path / "model.npz").structure.target_vocabulary == 50_000
    with array_files.open_npz(tmp_path / "model.npz") as stored:
        assert stored["Wemb_dec"].read().shape == (50_000, 6)
