"""`RecurrentModel` and `PreparedData` with Keras: saving, cloning, summary, fit."""

import keras
import numpy as np
import pytest
import runs
from cases import random_arrays, small_structure, tiny
from commands import write_model

from cgru_cli import CgruError, PreparedData, RecurrentModel, load_model
from cgru_cli.parameters.structure import Type

pytestmark = pytest.mark.long


def batch(structure, rows=2):
    draw = np.random.default_rng(1)
    source = draw.integers(0, structure.source_vocabularies[0], (rows, 3, 1)).astype(np.int32)
    target = draw.integers(0, structure.target_vocabulary, (rows, 4)).astype(np.int32)
    return source, np.ones((rows, 3), np.float32), target


@pytest.mark.parametrize("structure", [tiny(), small_structure(type=Type.RNNSEARCH)], ids=str)
def test_keras_saves_and_clones(tmp_path, structure):
    model = RecurrentModel(structure, random_arrays(structure, 3))
    model.save(tmp_path / "m.keras")
    loaded = keras.saving.load_model(tmp_path / "m.keras")
    assert isinstance(loaded, RecurrentModel) and loaded.structure == structure
    np.testing.assert_array_equal(loaded(batch(structure)), model(batch(structure)))
    clone = keras.models.clone_model(model)
    assert clone.structure == structure
    clone.set_weights(model.get_weights())
    np.testing.assert_array_equal(clone(batch(structure)), model(batch(structure)))


def test_the_summary_has_shapes(capsys):
    structure = tiny()
    RecurrentModel(structure).summary()
    title, head, *rows = capsys.readouterr().out.splitlines()
    shapes = {name: str(array.shape) for name, array in random_arrays(structure).items()}
    numbers = sum(array.size for array in random_arrays(structure).values())
    assert title == f"cgru: {numbers:,} parameters" and head.split() == [
        "array", "name", "shape", "parameters",
    ]  # fmt: skip
    assert len(rows) == len(shapes)
    for row in rows:
        assert shapes[row.split()[1]] in row
    told = []
    RecurrentModel(structure).summary(print_fn=told.append)
    assert told[0].startswith(title)


def test_a_folder_is_read_in_batches(tmp_path, caplog):
    data = runs.prepared(tmp_path / "data", pairs=40)
    words = ["eos", "UNK", *runs.WORDS]
    path = write_model(tmp_path / "m", source=words, target=[w.upper() for w in words])
    loaded = load_model(path)
    folder = PreparedData(loaded, data, mini_batch=4, max_length=5)
    pairs = set()
    for i in range(len(folder)):
        (source, source_mask, target), labels, weights = folder[i]
        assert labels is target and source.shape[:2] == source_mask.shape and len(source) <= 4
        assert weights.shape == target.shape
        for row in range(len(source)):
            ids = source[row, : int(source_mask[row].sum()) - 1, 0]
            words_out = target[row, : int(weights[row].sum()) - 1]
            pairs.add(
                (" ".join(words[k] for k in ids), " ".join(words[k].upper() for k in words_out))
            )
    lines = [(data / f"train.{side}").read_text().splitlines() for side in ("src", "trg")]
    kept = {pair for pair in zip(*lines, strict=True) if len(pair[0].split()) <= 5}
    assert pairs == kept and len(kept) < 40
    before = [batch[1].shape for batch in (folder[i] for i in range(len(folder)))]
    model = RecurrentModel(loaded.model.structure, loaded.model.arrays)
    model.compile(
        keras.optimizers.Adam(0.01),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=False,
    )
    losses = model.fit(folder, epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0] and "retracing" not in caplog.text
    assert [folder[i][1].shape for i in range(len(folder))] != before
    with pytest.raises(CgruError, match="no pair with 1 to 0 words on each side"):
        PreparedData(loaded, data, max_length=0)
