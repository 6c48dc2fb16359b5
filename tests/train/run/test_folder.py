"""The folder of a run: the state, the lock, leftovers and kept models."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.formats import array_files
from cgru_cli.formats.vocabulary_files import read_vocabulary
from cgru_cli.options.train import TrainOptions
from cgru_cli.train.run.folder import RunFolder


@pytest.fixture
def runs(tmp_path):
    return RunFolder(tmp_path / "run" / "model.npz")


def test_the_state_comes_back(runs):
    runs.model.parent.mkdir()
    assert runs.load() is None
    arrays = {"weights/W": np.arange(6, dtype=np.float32).reshape(2, 3), "updates": np.array(7)}
    values = {"progress": {"updates": 7}, "rate": 0.1 + 0.2, "text": "ü"}
    runs.save(arrays, values)
    loaded, known = runs.load()
    assert known == values
    assert set(loaded) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded[name], array)
        assert loaded[name].dtype == array.dtype


def test_a_failing_save_leaves_the_old_state(runs, monkeypatch):
    runs.model.parent.mkdir()
    runs.save({"W": np.zeros(3)}, {"age": 1})
    before = runs.state.read_bytes()

    def fails(*_):
        raise OSError(28, "No space left on device")

    for name in ("replace", "fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fails)
            with pytest.raises(CgruError, match=r"state.npz: cannot be written: No space left"):
                runs.save({"W": np.ones(3)}, {"age": 2})
        assert runs.state.read_bytes() == before
        assert [path.name for path in runs.model.parent.iterdir()] == [runs.state.name]


@pytest.mark.parametrize(
    "arrays",
    [
        {"W": np.zeros(3)},
        {"json": np.frombuffer(b"{", np.uint8)},
        {"json": np.frombuffer(b"[]", np.uint8)},
        {"json": np.frombuffer(b'{"format": 99}', np.uint8)},
        {"json": np.zeros(2)},
    ],
    ids=["none", "cut off", "a list", "another age", "numbers"],
)
def test_damaged_states(runs, arrays):
    runs.model.parent.mkdir()
    array_files.write_npz(runs.state, arrays)
    refused = "not the state of a training run; restore it, or remove it"
    with pytest.raises(CgruError, match=refused):
        runs.load()


def test_a_state_that_was_cut_off(runs):
    runs.model.parent.mkdir()
    runs.save({"W": np.zeros(300)}, {})
    runs.state.write_bytes(runs.state.read_bytes()[:-200])
    with pytest.raises(CgruError, match=r"state.npz: not a complete"):
        runs.load()


def test_one_process_at_a_time(runs):
    script = (
        "import sys, pathlib\n"
        "from cgru_cli.errors import CgruError\n"
        "from cgru_cli.train.run.folder import RunFolder\n"
        "try:\n"
        "    with RunFolder(pathlib.Path(sys.argv[1])).locked():\n"
        "        print('in')\n"
        "except CgruError as error:\n"
        "    print(error)\n"
    )

    def other(model):
        command = [sys.executable, "-c", script, str(model)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    with runs.locked():
        assert f"{runs.model}: another process is training it" in other(runs.model)
        assert other(runs.model.with_name("another.npz")) == "in"
    assert other(runs.model) == "in"


def test_the_folder_is_made_and_leftovers_go(runs, tmp_path):
    with runs.locked():
        pass
    folder = runs.model.parent
    vocabulary = tmp_path / "src.json"
    vocabulary.write_text(json.dumps({"eos": 0, "UNK": 1, "a": 2}))
    names = ("model.npz.state.npz", "model.npz", "src.json")
    left = [folder / f".{name}.0123456789ab.tmp" for name in names]
    others = [folder / ".another.npz.0123456789ab.tmp", folder / "model.npz.log"]
    for path in (*left, *others):
        path.write_text("")
    runs.remove_interrupted([read_vocabulary(vocabulary)] * 2)
    assert not any(path.exists() for path in left)
    assert all(path.exists() for path in others)


@pytest.mark.parametrize("folder", ["file", "file/below"])
def test_a_folder_that_cannot_be_made(tmp_path, folder):
    (tmp_path / "file").write_text("")
    with pytest.raises(CgruError, match="file"), RunFolder(tmp_path / folder / "m.npz").locked():
        pass


def test_another_model_is_not_overwritten(runs, tmp_path):
    folder = runs.model.parent
    folder.mkdir()
    source, target = tmp_path / "src.json", tmp_path / "trg.json"
    source.write_text(json.dumps({"eos": 0, "UNK": 1, "a": 2}))
    target.write_text(json.dumps({"eos": 0, "UNK": 1, "b": 2}))
    vocabularies = [read_vocabulary(source), read_vocabulary(target)]
    runs.check_new(vocabularies)
    (folder / "src.json").write_bytes(source.read_bytes())
    runs.check_new(vocabularies)  # the same
    (folder / "trg.json").write_bytes(source.read_bytes())
    with pytest.raises(CgruError, match=r"trg.json: differs from the vocabulary"):
        runs.check_new(vocabularies)
    (folder / "trg.json").unlink()
    runs.model.write_text("")
    with pytest.raises(CgruError, match="exists, and training cannot resume from it"):
        runs.check_new(vocabularies)
    runs.save({}, {})
    runs.check_new(vocabularies)


def test_the_newest_are_kept(runs):
    folder = runs.model.parent
    folder.mkdir()
    for updates in (5, 10, 100, 20):
        runs.kept(updates).write_text("")
        runs.kept(updates).with_name(runs.kept(updates).name + ".json").write_text("")
    others = [folder / "model.npz.ux.npz", runs.best("bleu"), runs.model]
    for path in others:
        path.write_text("")
    runs.thin(2, 10**9)
    kept = {path.name for path in folder.iterdir()} - {path.name for path in others}
    assert kept == {f"model.npz.u{n}.npz{end}" for n in (20, 100) for end in ("", ".json")}


def test_models_of_a_replaced_run_are_removed_first(runs):
    runs.model.parent.mkdir()
    for updates, kept in ((10, [10]), (20, [10, 20]), (4, [4, 20]), (8, [4, 8])):
        runs.kept(updates).write_text("")
        runs.thin(2, updates)
        assert [n for n in range(99) if runs.kept(n).exists()] == kept


@pytest.mark.parametrize(
    ("name", "endings"),
    [
        ("m.iter{U}.npz", ("", ".json", ".decoder.yml")),
        ("m-{U}", (".index", ".data-00000-of-00001", ".json", ".progress.json")),
    ],
)
def test_kept_models_of_other_names(tmp_path, name, endings):
    runs = RunFolder(tmp_path / "m.npz", str(tmp_path / name))
    kept = {n: {f"{name.replace('{U}', str(n))}{end}" for end in endings} for n in (2, 10, 100)}
    names = set().union(*kept.values(), {"m.npz", "m.npz.json", "m-best.index"})
    for file in names:
        (tmp_path / file).write_text("")
    left = [tmp_path / f".{name.replace('{U}', '7')}.0123456789ab.tmp", tmp_path / ".m-x.tmp"]
    for path in left:
        path.write_text("")
    runs.remove_interrupted([])
    assert [path.exists() for path in left] == [False, True]
    left[1].unlink()
    runs.thin(3, 10**9)
    assert {path.name for path in tmp_path.iterdir()} == names
    runs.thin(2, 10**9)
    assert {path.name for path in tmp_path.iterdir()} == names - kept[2]


def test_the_folder_of_kept_models_is_made_first(tmp_path):
    with RunFolder(tmp_path / "run" / "m.npz", str(tmp_path / "kept/u{U}.npz")).locked():
        assert (tmp_path / "kept").is_dir()


def test_the_name_of_kept_models_has_the_update():
    with pytest.raises(UsageError, match=r"--keep-as {U}/kept.npz: the file name lacks \{U\}"):
        TrainOptions(keep=1, keep_as="{U}/kept.npz")


def test_a_kill_while_old_ones_are_removed(runs, monkeypatch):
    folder = runs.model.parent
    folder.mkdir()
    unlink = Path.unlink
    for removed in range(3):
        for updates in (5, 10):
            for end in ("", ".json", ".preprocess.json"):
                Path(f"{runs.kept(updates)}{end}").write_text("")
        with monkeypatch.context() as patch:
            left = iter(range(removed))

            def dies(path, missing_ok=False, left=left):
                if next(left, None) is None:
                    raise KeyboardInterrupt
                unlink(path, missing_ok=missing_ok)

            patch.setattr(Path, "unlink", dies)
            with pytest.raises(KeyboardInterrupt):
                runs.thin(1, 10**9)
        assert runs.kept(5).exists()
    runs.thin(1, 10**9)
    assert {path.name.count("u10") for path in folder.iterdir()} == {1}
