"""Let each call of a save, a conversion or a step of prep fail or kill the process in turn:
afterwards the files are in the complete old or the complete new state.
"""

import builtins
import contextlib
import errno
import functools
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from cases import random_arrays, small_structure
from faults import KINDS, Faults, Killed
from selection import choice

from cgru_cli.errors import CgruError
from cgru_cli.formats import model_vocabularies, write_model
from cgru_cli.formats.model import Model
from cgru_cli.formats.read_model import read
from cgru_cli.formats.vocabulary_files import write_vocabulary
from cgru_cli.options.prep import PrepOptions
from cgru_cli.options.train import TrainOptions
from cgru_cli.prep import clean, job, word_counts
from cgru_cli.prep.folder import Folder
from cgru_cli.system import atomic_files
from cgru_cli.text.vocabulary import Vocabulary
from cgru_cli.train.run.folder import RunFolder
from cgru_cli.train.texts import Texts

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Skip syncing, because the files of a test need not survive a power failure."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def every_fault(monkeypatch, kind, prepare, work, check, more=(), every=1):
    """Do the work with a fault at its first, second, ... call, until it completes without one.

    more: modules that write files themselves. every: try only every Nth call.
    """
    for number in range(1, 400, every):
        place = prepare(number)
        faults = Faults(number, kind)
        with monkeypatch.context() as patch, contextlib.suppress(CgruError, Killed):
            patch.setattr(atomic_files, "os", faults)
            for module in (atomic_files, *more):
                patch.setattr(module, "open", faults.opened, raising=False)
            work(place)
        check(place, faults)
        shutil.rmtree(place)
        if faults.count < number:
            return number
    raise AssertionError("it does not end")


def left(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.endswith(".tmp")]


@pytest.mark.parametrize("kind", KINDS)
def test_a_save_of_a_training(tmp_path, monkeypatch, kind):
    old = {"a": np.arange(300, dtype="f4")}, {"update": 1}
    new = {"a": np.arange(300, dtype="f4") + 1}, {"update": 2}

    def prepare(number):
        folder = RunFolder(tmp_path / str(number) / "model.npz")
        folder.model.parent.mkdir()
        folder.save(*old)
        return folder.model.parent

    def work(place):
        RunFolder(place / "model.npz").save(*new)

    def check(place, faults):
        arrays, values = RunFolder(place / "model.npz").load()
        expected, state = (old if values["update"] == 1 else new)[0]["a"], values["update"]
        assert state in (1, 2) and (arrays["a"] == expected).all()
        assert kind == "kill" or faults.failed == "unlink" or not left(place)

    assert every_fault(monkeypatch, kind, prepare, work, check) > 5


@pytest.fixture
def written(tmp_path):
    """A function that writes one of two models to a folder, with its vocabularies."""
    models = {}
    structure = small_structure()
    for number in (1, 2):
        folder = tmp_path / f"from{number}"
        folder.mkdir()
        vocabularies = []
        for side, size in (("src", 11), ("trg", 13)):
            words = ["eos", "UNK", *(f"w{i}.{number}" for i in range(size - 2))]
            vocabulary = Vocabulary({w: i for i, w in enumerate(words)}, folder / f"{side}.json")
            write_vocabulary(vocabulary, vocabulary.path)
            vocabularies.append(vocabulary)
        model = Model(folder / "x", structure, random_arrays(structure, number), "nematus")
        models[number] = model, vocabularies

    def write(place, number):
        model, vocabularies = models[number]
        write_model.write(model, place / "model.npz", "nematus", vocabularies, force=True)

    return write


MARK = f"model.npz{atomic_files.INCOMPLETE}"


def content(place):
    files = (path for path in place.iterdir() if path.is_file() and path.suffix != ".tmp")
    return {path.name: path.read_bytes() for path in files}


@pytest.mark.parametrize("kind", KINDS)
def test_a_conversion(tmp_path, monkeypatch, kind, written):
    """A conversion over an older model leaves the complete old or new model, or one that is
    refused; the same conversion again gives the new one.
    """
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    written(tmp_path / "old", 1)
    (tmp_path / "old/model.npz.decoder.yml").write_text("beam-size: 3\n")  # stale after the next
    shutil.copytree(tmp_path / "old", tmp_path / "changed")
    written(tmp_path / "changed", 2)
    old, new = content(tmp_path / "old"), content(tmp_path / "changed")
    assert "model.npz.decoder.yml" in old and "model.npz.decoder.yml" not in new
    refused = []

    def prepare(number):
        return Path(shutil.copytree(tmp_path / "old", tmp_path / str(number)))

    def check(place, faults):
        if (place / MARK).exists():
            assert kind == "kill" or faults.failed == "unlink"
            with pytest.raises(CgruError, match="writing it was interrupted"):
                read(place / "model.npz")
            refused.append(content(place))
            written(place, 2)
            assert content(place) == new
        assert content(place) in (old, new)
        assert kind == "kill" or faults.failed == "unlink" or not left(place)

    calls = every_fault(monkeypatch, kind, prepare, lambda place: written(place, 2), check)
    assert calls > 20
    mixtures = [state for state in refused if state.keys() == old.keys() | {MARK}]
    assert bool(mixtures) == (kind == "kill")


def test_a_conversion_that_is_killed(tmp_path, monkeypatch, written):
    """A conversion into a new folder leaves no model, or a complete one with all its files."""

    def prepare(number):
        (tmp_path / str(number)).mkdir()
        return tmp_path / str(number)

    def check(place, faults):
        if (place / "model.npz").exists():
            model = read(place / "model.npz")
            assert len(model_vocabularies.find(model)) == 2

    every_fault(monkeypatch, "kill", prepare, lambda place: written(place, 2), check)


TEXT = "the cat sees a dog\nA dog sees the cat\nThe cat has old dogs\n"


@pytest.fixture
def prepared(tmp_path, monkeypatch):
    """A function that prepares a text in a folder, with working files of every kind; lower: with an
    option that changes the result.
    """
    (tmp_path / "a").write_text(TEXT)
    (tmp_path / "b").write_text(TEXT[::-1].strip() + "\n")
    monkeypatch.setattr(job, "WordCounts", functools.partial(word_counts.WordCounts, largest=4))

    def run(place, lower=False, force=False):
        options = PrepOptions(
            source=(str(tmp_path / "a"),), target=(str(tmp_path / "b"),), jobs=1, quiet=True,
            subwords="none" if lower else "subword-nmt", subword_vocabulary=9, force=force,
            lowercase=lower, vocabulary_format="json",
        )  # fmt: skip
        job.run(str(place / "out"), options)

    return run


OF_PREP = (clean, word_counts)


def outputs(place):
    """The final files, without the seconds in the manifest."""
    found = content(place / "out")
    found.pop(".prep.lock", None)
    if "manifest.json" in found:
        found["manifest.json"] = json.loads(found["manifest.json"]) | {"seconds": None}
    return found


@pytest.fixture
def killed_for_good(monkeypatch):
    """Kill with a signal, because an exception would still run cleanup code."""
    monkeypatch.setattr(Folder, "_leave_nothing", lambda self: None)


@pytest.mark.parametrize(
    ("kind", "every"), choice([(errno.ENOSPC, 1), ("kill", 1), ("kill", 4)], ("kill", 4))
)
def test_a_preparation(tmp_path, monkeypatch, kind, every, prepared, request):
    """Preparing a new folder leaves it complete or absent, and the same command completes it."""
    prepared(tmp_path)
    whole = outputs(tmp_path)
    assert {"train.src", "vocab.src.json", "codes.bpe", "preprocess.json"} <= whole.keys()
    if kind == "kill":
        request.getfixturevalue("killed_for_good")

    def prepare(number):
        (tmp_path / str(number)).mkdir()
        return tmp_path / str(number)

    def check(place, faults):
        if (place / "out/manifest.json").exists():
            assert outputs(place) == whole
        prepared(place)
        assert outputs(place) == whole
        assert not left(place / "out") and not (place / "out/.prep").exists()

    assert every_fault(monkeypatch, kind, prepare, prepared, check, OF_PREP, every) > 80


@pytest.mark.parametrize(
    ("kind", "every"), choice([(errno.EIO, 1), ("kill", 1), ("kill", 4)], ("kill", 4))
)
def test_a_preparation_over_an_older_folder(tmp_path, monkeypatch, kind, every, prepared, request):
    """Preparing over an older folder leaves it unchanged until the new one is complete."""
    prepared(tmp_path)
    old = outputs(tmp_path)
    (tmp_path / "new").mkdir()
    prepared(tmp_path / "new", lower=True)
    new = outputs(tmp_path / "new")
    assert old.keys() != new.keys()
    if kind == "kill":
        request.getfixturevalue("killed_for_good")
    mixtures = []

    def prepare(number):
        shutil.copytree(tmp_path / "out", tmp_path / str(number) / "out")
        return tmp_path / str(number)

    def work(place):
        prepared(place, lower=True, force=True)

    def check(place, faults):
        if atomic_files.mark_of(place / "out/manifest.json").exists():
            assert kind == "kill" or faults.failed == "unlink"
            with pytest.raises(CgruError, match="writing it was interrupted"):
                Texts.of(TrainOptions(), str(place / "out"))
            mixtures.append(outputs(place))
        else:
            assert outputs(place) in (old, new)
        prepared(place, lower=True, force=outputs(place) == old)
        assert outputs(place) == new
        assert not left(place / "out") and not (place / "out/.prep").exists()

    assert every_fault(monkeypatch, kind, prepare, work, check, OF_PREP, every) > 80
    assert bool(mixtures) == (kind == "kill") or len(mixtures) == 1


def test_faults_are_raised(tmp_path, monkeypatch):
    faults = Faults(1, errno.EIO)
    monkeypatch.setattr(atomic_files, "os", faults)
    monkeypatch.setattr(atomic_files, "open", faults.opened, raising=False)
    with (
        pytest.raises(CgruError, match="Input/output error"),
        atomic_files.atomic_write(tmp_path / "a") as file,
    ):
        file.write(b"a")
    assert builtins.open is open and not list(tmp_path.iterdir())
