"""Scalars, read back from TensorBoard's files."""

import numpy as np
import pytest
import tensorflow as tf

from cgru_cli.errors import CgruError

pytest.importorskip("tensorboard")

from cgru_cli.train.run.tensorboard import Summaries


def scalars(folder):
    """Name, update and value of each scalar, in order."""
    found = []
    for path in sorted(folder.glob("events.out.tfevents.*")):
        for record in tf.data.TFRecordDataset(str(path)):
            event = tf.compat.v1.Event.FromString(record.numpy())
            for value in event.summary.value:
                found.append((value.tag, event.step, float(tf.make_ndarray(value.tensor))))
    return found


def test_scalars_are_written(tmp_path):
    folder = tmp_path / "a" / "b"
    summaries = Summaries(folder)
    summaries.write(7, {"train/ce-mean-words": 2.0, "train/learning rate": 0.125})
    summaries.write(8, {"valid/bleu": 31.5})
    expected = [
        ("train/ce-mean-words", 7, 2.0),
        ("train/learning rate", 7, 0.125),
        ("valid/bleu", 8, 31.5),
    ]
    found = scalars(folder)  # written at once
    assert [entry[:2] for entry in found] == [entry[:2] for entry in expected]
    np.testing.assert_allclose([e[2] for e in found], [e[2] for e in expected])


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CgruError, match="file"):
        Summaries(tmp_path / "file" / "below")
