"""Nematus-TF checkpoints: read without a graph, written as `tf.train.Saver` restores them."""

import shutil

import click.testing
import numpy as np
import pytest
from shared_files import fixture_path

from cgru_cli.cli import main
from cgru_cli.errors import CgruError
from cgru_cli.formats.read_model import read
from cgru_cli.formats.tensorflow_checkpoint import read_checkpoint, write_checkpoint

ARRAYS = {"encoder/a": np.arange(12, dtype=np.float32).reshape(3, 4), "b": np.ones(5, "f4")}


def test_round_trip(tmp_path):
    write_checkpoint(tmp_path / "model-3", ARRAYS, updates=3)
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == ["model-3.data-00000-of-00001", "model-3.index"]
    found = read_checkpoint(tmp_path / "model-3")
    assert found.pop("time") == 3
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert found[name].tobytes() == array.tobytes() and found[name].shape == array.shape


def test_saver_of_tensorflow_1_restores_it(tmp_path):
    import tensorflow as tf

    write_checkpoint(tmp_path / "model-3", ARRAYS, updates=7)
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        variables = {n: v1.get_variable(n, a.shape, tf.float32) for n, a in ARRAYS.items()}
        variables["time"] = v1.get_variable("time", [], tf.float32)
        v1.train.Saver().restore(session, str(tmp_path / "model-3"))
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(session.run(variables[name]), array)
        assert session.run(variables["time"]) == 7


def test_names_to_skip(tmp_path):
    write_checkpoint(tmp_path / "m", ARRAYS)
    assert set(read_checkpoint(tmp_path / "m", skip=lambda name: name != "b")) == {"b"}


@pytest.mark.parametrize("suffix", ["", ".index", ".data-00000-of-00001"])
def test_every_part_names_the_checkpoint(tmp_path, suffix):
    source = fixture_path("a-shallow/native/ref.index").with_name("ref")
    model = read(f"{source}{suffix}")
    assert model.program == "nematus-tf" and model.container == "checkpoint"
    arrays = read(fixture_path("a-shallow/model.npz")).arrays
    assert all(model.arrays[name].tobytes() == array.tobytes() for name, array in arrays.items())


def damage(kind, prefix):
    """Spoil a copy of a checkpoint; gives the words that tell it."""
    index = prefix.with_name("ref.index")
    data = prefix.with_name("ref.data-00000-of-00001")
    if kind == "no data":
        data.unlink()
        return "no such file"
    if kind == "empty data":
        data.write_bytes(b"")
        return "no such file"
    file = index if "index" in kind else data
    content = file.read_bytes()
    if "changed" in kind:
        middle = len(content) // 2
        content = content[:middle] + b"\xff\x00\xff" + content[middle + 3 :]
    else:
        content = content[: len(content) // 2]
    file.write_bytes(content)
    return "not a complete TensorFlow checkpoint" if "index" in kind else "ref"


@pytest.mark.parametrize(
    "kind", ["no data", "empty data", "half data", "half index", "changed data", "changed index"]
)
def test_damaged(tmp_path, kind):
    for file in fixture_path("a-shallow/native").glob("ref.*"):
        shutil.copy(file, tmp_path)
    words = damage(kind, tmp_path / "ref")
    out = tmp_path / "out.npz"
    result = click.testing.CliRunner().invoke(main, ["convert", str(tmp_path / "ref"), str(out)])
    assert result.exit_code == 1 and words in result.stderr
    assert len(result.stderr.splitlines()) == 1 and not out.exists()


def test_unwritable(tmp_path):
    with pytest.raises(CgruError, match="cannot be written"):
        write_checkpoint(tmp_path / "absent" / "model-1", ARRAYS)
    assert not list(tmp_path.iterdir())
