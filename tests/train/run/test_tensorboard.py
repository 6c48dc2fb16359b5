"""Scalars, read back from TensorBoard's files."""

import numpy as np
import pytest
import tensorflow as tf

from cgru_cli.errors import CgruError
from cgru_cli.train.run.progress import Interval, Progress

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
    interval = Interval(cost=12.0, words=6, sentences=3, seconds=2.0, norm=0.5)
    summaries.training(Progress(updates=7), interval, "ce-mean-words", 0.125)
    summaries.validation(Progress(updates=8), "bleu", 31.5)
    expected = [
        ("train/ce-mean-words", 7, 2.0),
        ("train/words per second", 7, 3.0),
        ("train/gradient norm", 7, 0.5),
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
