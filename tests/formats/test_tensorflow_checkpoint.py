"""Nematus-TF checkpoints: read without a graph, written as `tf.train.Saver` restores them."""

import random
import shutil

import checkpoint_index
import click.testing
import numpy as np
import pytest
from shared_files import fixture_path

from cgru_cli.cli import main
from cgru_cli.errors import CgruError
from cgru_cli.formats.read_model import read
from cgru_cli.formats.tensorflow_checkpoint import open_checkpoint, write_checkpoint

KINDS = ["f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]
NAMES = ("a-shallow/native/ref", "e-deep-tf/native/model-1500")
ARRAYS = {"encoder/a": np.arange(12, dtype=np.float32).reshape(3, 4), "b": np.ones(5, "f4")}


def contents(prefix):
    return {name: array.read() for name, array in open_checkpoint(prefix).items()}


@pytest.mark.parametrize("name", NAMES)
def test_it_reads_what_tensorflow_reads(name):
    import tensorflow as tf

    prefix = fixture_path(f"{name}.index").with_suffix("")
    reader = tf.train.load_checkpoint(str(prefix))
    shapes = reader.get_variable_to_shape_map()
    stored = open_checkpoint(prefix)
    assert {name: list(array.shape) for name, array in stored.items()} == shapes
    assert len(shapes) > 20
    for name, array in stored.items():
        np.testing.assert_array_equal(array.read(), reader.get_tensor(name), strict=True)
        assert array.dtype == reader.get_tensor(name).dtype


def test_it_writes_the_data_that_tensorflow_writes(tmp_path):
    import tensorflow as tf

    arrays = {**ARRAYS, "time": np.float32(0)}
    write_checkpoint(tmp_path / "own", ARRAYS)
    tf.raw_ops.SaveV2(
        prefix=str(tmp_path / "tf"),
        tensor_names=list(arrays),
        shape_and_slices=[""] * len(arrays),
        tensors=[tf.constant(array) for array in arrays.values()],
    )
    data = [tmp_path / f"{name}.data-00000-of-00001" for name in ("own", "tf")]
    assert data[0].read_bytes() == data[1].read_bytes()


def test_a_checkpoint_of_early_2019_has_sums_of_gradients_and_no_configuration(tmp_path):
    """It is computed with the configuration of the run, and with its smoothed arrays."""
    prefix = fixture_path("a-shallow/native/ref.index").with_suffix("")
    arrays = contents(prefix)
    name = next(name for name in arrays if name.startswith("decoder/") and arrays[name].ndim == 2)
    more = {f"{name}_smooth": arrays[name] + 1, "accum0": arrays[name], "accumulated_loss": 1.0}
    write_checkpoint(tmp_path / "m.npz-1500", arrays | {k: np.asarray(v) for k, v in more.items()})
    plain, smooth = read(prefix), read(tmp_path / "m.npz-1500")
    changed = [key for key in plain.arrays if (plain.arrays[key] != smooth.arrays[key]).any()]
    assert len(changed) == 1 and np.allclose(
        smooth.arrays[changed[0]], plain.arrays[changed[0]] + 1
    )
    (tmp_path / "m.npz.json").write_text(
        '{"output_hidden_activation": "relu", "embedding_size": 9}'
    )
    assert read(tmp_path / "m.npz-1500").structure.readout_activation == "relu"


def test_kinds_of_numbers_and_text(tmp_path):
    import tensorflow as tf

    arrays = [np.arange(6).reshape(2, 3).astype(kind) for kind in KINDS]
    tensors = [*map(tf.constant, arrays), tf.zeros((2, 3), tf.bfloat16), tf.constant(["a", "b"])]
    names = [f"n{i:02}" for i in range(len(tensors))]
    tf.raw_ops.SaveV2(
        prefix=str(tmp_path / "m"),
        tensor_names=names,
        shape_and_slices=[""] * len(names),
        tensors=tensors,
    )
    found = open_checkpoint(tmp_path / "m")
    assert [found[name].shape for name in names] == [(2, 3)] * 13 + [(2,)]
    for name, array in zip(names[:-2], arrays, strict=True):
        np.testing.assert_array_equal(found[name].read(), array, strict=True)
    for name in names[-2:]:
        with pytest.raises(CgruError, match=f"array {name}: has TensorFlow's type"):
            found[name].read()


@pytest.fixture
def copy(tmp_path):
    for part in fixture_path(f"{NAMES[0]}.index").parent.glob("ref.*"):
        shutil.copy(part, tmp_path)
    return tmp_path / "ref"


def test_a_data_file_that_is_too_short(copy):
    data = copy.with_name("ref.data-00000-of-00001")
    data.write_bytes(data.read_bytes()[:-1])
    with pytest.raises(CgruError, match=r"ref: array .*it extends beyond the end of its file"):
        open_checkpoint(copy)
    data.unlink()
    with pytest.raises(
        CgruError, match=r"data-00000-of-00001: no such file.* but ref\.index needs"
    ):
        open_checkpoint(copy)


def test_every_changed_byte_of_an_array_is_noticed(tmp_path):
    write_checkpoint(tmp_path / "m", ARRAYS)
    data = tmp_path / "m.data-00000-of-00001"
    whole = data.read_bytes()
    for place in range(0, len(whole), 7):
        data.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(CgruError, match=r"m: array .*its checksum differs"):
            contents(tmp_path / "m")


def test_every_refusal_is_one_line(copy):
    index = copy.with_name("ref.index")
    whole = index.read_bytes()
    said = set()
    for seed in range(120):
        index.write_bytes(checkpoint_index.changed(whole, random.Random(seed)))
        try:
            open_checkpoint(copy)
        except CgruError as error:
            assert str(error).startswith(str(copy)) and str(error).isprintable()
            said.add(str(error).rpartition("(")[2])
    assert len(said) > 8


def test_saver_of_tensorflow_1_restores_it(tmp_path):
    import tensorflow as tf

    write_checkpoint(tmp_path / "model-3", ARRAYS)
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        variables = {n: v1.get_variable(n, a.shape, tf.float32) for n, a in ARRAYS.items()}
        variables["time"] = v1.get_variable("time", [], tf.float32)
        v1.train.Saver().restore(session, str(tmp_path / "model-3"))
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(session.run(variables[name]), array)
        assert session.run(variables["time"]) == 0


@pytest.mark.parametrize("suffix", ["", ".index", ".data-00000-of-00001"])
def test_every_part_names_the_checkpoint(tmp_path, suffix):
    source = fixture_path("a-shallow/native/ref.index").with_name("ref")
    model = read(f"{source}{suffix}")
    assert model.program == "nematus-tf" and model.container == "checkpoint"
    arrays = read(fixture_path("a-shallow/model.npz")).arrays
    assert all(model.arrays[name].tobytes() == array.tobytes() for name, array in arrays.items())


def damage(kind, prefix):
    """Damage a copy of a checkpoint; return the expected words of the message."""
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
