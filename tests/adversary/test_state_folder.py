"""A changed byte in the state of a training run is refused, or makes no difference."""

import os

import numpy as np
import pytest
from corpora import encoded, rows

from cgru_cli.corpus.parallel_files import Files
from cgru_cli.errors import CgruError
from cgru_cli.train.run.folder import RunFolder

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def flipped(data: bytes, place: int) -> bytes:
    changed = bytearray(data)
    changed[place] ^= 1 << place % 8
    return bytes(changed)


def test_every_byte_of_the_state(tmp_path):
    folder = RunFolder(tmp_path / "model.npz")
    arrays = {"W": np.arange(6, dtype="f4").reshape(2, 3), "optimizer/m": np.ones(3, "f4")}
    values = {"progress": {"updates": 7}}
    folder.save(arrays, values)
    whole = folder.state.read_bytes()
    refused = 0
    for place in range(len(whole)):
        folder.state.write_bytes(flipped(whole, place))
        try:
            found, said = folder.load()
        except CgruError as error:
            assert str(error).startswith(str(folder.state)) and str(error).isprintable()
            refused += 1
            continue
        assert said == values and found.keys() == arrays.keys()
        for name, array in arrays.items():
            assert found[name].dtype == array.dtype and found[name].shape == array.shape
            assert found[name].tobytes() == array.tobytes()
    assert refused > len(whole) / 2


def test_bytes_of_the_encoded_text(tmp_path):
    cache = tmp_path / "cache"
    text = tmp_path / "text"
    text.write_text("".join(f"{i} {i + 1} {i % 7}\n" for i in range(40)))

    def content():
        corpus = encoded(cache, Files(text, text))
        return corpus.fingerprints, corpus.skipped, [rows(c) for c in corpus.columns.values()]

    def files():
        return {path: path.read_bytes() for path in cache.rglob("*") if path.is_file()}

    expected = content()
    before = files()
    assert content() == expected
    assert before == files()  # kept, not rebuilt
    chance = np.random.default_rng(1)
    for name in {path.name for path in before}:
        for _ in range(12):
            path = next(path for path in files() if path.name == name)
            whole = path.read_bytes()
            path.write_bytes(flipped(whole, int(chance.integers(len(whole)))))
            assert content() == expected
    path = next(path for path in files() if path.name == "target.values.npy")
    np.save(path, np.full_like(np.load(path), 3))
    assert content() == expected
