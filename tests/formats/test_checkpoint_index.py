"""The index of a TensorFlow checkpoint, read as TensorFlow reads it."""

import random
import shutil

import numpy as np
import pytest
import sealed_index
from shared_files import fixture_path

from cgru_cli.errors import CgruError
from cgru_cli.formats.checkpoint_index import read_index
from cgru_cli.formats.tensorflow_checkpoint import write_checkpoint

KINDS = ["f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]
NAMES = ("a-shallow/native/ref", "e-deep-tf/native/model-1500")


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_tensorflow_says(name):
    import tensorflow as tf

    prefix = fixture_path(f"{name}.index").with_suffix("")
    shapes = tf.train.load_checkpoint(str(prefix)).get_variable_to_shape_map()
    found = read_index(prefix)
    assert {name: list(tensor.shape) for name, tensor in found.items()} == shapes
    assert len(shapes) > 20 and not any(tensor.is_text for tensor in found.values())


def test_kinds_of_numbers_and_text(tmp_path):
    import tensorflow as tf

    arrays = [np.zeros((2, 3), kind) for kind in KINDS]
    tensors = [*map(tf.constant, arrays), tf.zeros((2, 3), tf.bfloat16), tf.constant(["a", "b"])]
    names = [f"n{i:02}" for i in range(len(tensors))]
    tf.raw_ops.SaveV2(
        prefix=str(tmp_path / "m"), tensor_names=names, shape_and_slices=[""] * len(names),
        tensors=tensors,
    )  # fmt: skip
    found = read_index(tmp_path / "m")
    assert [found[name].shape for name in names] == [(2, 3)] * 13 + [(2,)]
    assert [name for name in names if found[name].is_text] == names[-1:]


@pytest.fixture
def copy(tmp_path):
    for part in fixture_path(f"{NAMES[0]}.index").parent.glob("ref.*"):
        shutil.copy(part, tmp_path)
    return tmp_path / "ref"


def test_a_data_file_that_is_too_short(copy):
    data = copy.with_name("ref.data-00000-of-00001")
    data.write_bytes(data.read_bytes()[:-1])
    with pytest.raises(CgruError, match=r"ref: array .*it ends behind the files that hold it"):
        read_index(copy)
    data.unlink()
    with pytest.raises(CgruError, match=r"data-00000-of-00001: no such file, but ref\.index needs"):
        read_index(copy)


def test_every_refusal_is_one_line(copy):
    index = copy.with_name("ref.index")
    whole = index.read_bytes()
    said = set()
    for seed in range(120):
        index.write_bytes(sealed_index.changed(whole, random.Random(seed)))
        try:
            read_index(copy)
        except CgruError as error:
            assert str(error).startswith(str(copy)) and str(error).isprintable()
            said.add(str(error).rpartition("(")[2])
    assert len(said) > 8


def test_sound_checksums_are_those_of_tensorflow(tmp_path):
    write_checkpoint(tmp_path / "m", {"a": np.ones(3, "f4")})
    whole = (tmp_path / "m.index").read_bytes()

    class Same(random.Random):
        def choice(self, options):
            return options[0]

        def randrange(self, end):
            return 0

    once = sealed_index.changed(whole, Same())
    assert once != whole and sealed_index.changed(once, Same()) == whole  # one bit, and back
