"""Saving and resuming a run, with a step that computes nothing."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import runs
import yaml
from cases import random_arrays, small_structure

from cgru_cli.errors import CgruError
from cgru_cli.formats import read_model
from cgru_cli.formats.model import Model, ModelSettings
from cgru_cli.formats.read_configuration import from_marian
from cgru_cli.formats.vocabulary_files import read_vocabulary
from cgru_cli.options.train import TrainOptions
from cgru_cli.train.plan import TrainingPlan
from cgru_cli.train.run.folder import RunFolder
from cgru_cli.train.run.log import TrainingLog
from cgru_cli.train.run.marian import MarianConventions
from cgru_cli.train.run.other_workers import NoSaving
from cgru_cli.train.run.patience import Patience
from cgru_cli.train.run.progress import Interval, Progress
from cgru_cli.train.run.resume import EarlierRun
from cgru_cli.train.run.saving import Saving
from cgru_cli.train.run.state import Course

STRUCTURE = small_structure(source_vocabularies=(5,), target_vocabulary=5)
WORDS = ["eos", "UNK", "a", "b", "c"]
IDENTITY = {"--seed": 1, "--optimizer-params": []}
LEARNT = ["the last batch"]


class Step:
    """A float16 step whose weights grow by 1 with each update; only its cost may not be finite."""

    def __init__(self, updates=0, jit=True):
        self.updates, self.cost, self.jit = updates, 2.5, jit
        self.loss_scale = SimpleNamespace(dynamic=True)
        self.model, self.optimizer = SimpleNamespace(arrays=self.weights), None

    def weights(self):
        arrays = random_arrays(STRUCTURE)
        return {name: array + np.float32(self.updates) for name, array in arrays.items()}

    def sums(self):
        return {}  # of SGD

    def state(self):
        return {"updates": np.array(self.updates), "weights/b": np.full(3, self.updates / 3)}

    def restore(self, arrays):
        if set(arrays) != set(self.state()):
            raise ValueError("other arrays than this training has")
        self.updates = int(arrays["updates"])

    def gradients(self, batch):
        assert batch == LEARNT
        return [(1.0, []), (self.cost, [])]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "run").mkdir()
    return RunFolder(tmp_path / "run" / "m.npz")


@pytest.fixture
def saving(folder, tmp_path):
    """A function that makes a Saving of a step, with its log in the folder."""

    def make(step, options=TrainOptions(), kind=Saving, **more):  # noqa: B008
        path = runs.vocabulary(tmp_path / "words.json", WORDS[2:])
        setup = SimpleNamespace(
            folder=folder,
            model=Model(Path("x"), STRUCTURE, {}, "nematus", "npz", settings=ModelSettings()),
            vocabularies=[read_vocabulary(path)] * 2,
            texts=SimpleNamespace(preprocessing=None),
            request=SimpleNamespace(settings={}),
            plan=TrainingPlan(options, can_validate=True),
        )
        log = TrainingLog(folder.beside(".log"), folder.records, quiet=True)
        return kind(setup, step, IDENTITY, log, **more)

    return make


def course(updates, **more):
    return Course(Progress(updates=updates), Progress(updates=updates), Interval(norm=1.5), **more)


def patience():
    made = Patience(["bleu", "perplexity"], TrainOptions())
    made.update("bleu", 1 / 3, 2)
    made.update("bleu", 0.1, 4)
    return made


def resumed(folder, options=TrainOptions(), identity=IDENTITY):  # noqa: B008
    followed, earlier = Patience(["bleu", "perplexity"], TrainOptions()), read(folder)
    make_step = lambda: Step(jit=earlier.jit(options))  # noqa: E731
    return earlier.resume(identity, followed, options, make_step), followed


def read(folder):
    return EarlierRun.read(folder, first=True)


def test_a_run_resumes_from_a_save(folder, saving):
    kept = saving(Step(5))
    assert kept.save(course(5, nan_in_a_row=2), patience(), LEARNT)
    assert kept.updates == 5
    read = read_model.read(folder.model)
    assert read.structure == STRUCTURE
    for name, array in Step(5).weights().items():
        np.testing.assert_array_equal(read.arrays[name], array)
    assert list(read_vocabulary(folder.model.parent / "words.json").words.values()) == WORDS
    (step, where), followed = resumed(folder)
    assert (step.updates, step.jit) == (5, True)
    assert where == course(5, nan_in_a_row=2)
    assert followed.saved() == patience().saved()
    assert not list(folder.model.parent.glob("*.u*.npz"))


def test_a_kill_after_the_state_is_repaired(folder, saving, monkeypatch):
    """The model and the kept models match the state again."""
    for updates in (1, 2):
        saving(Step(updates)).save(course(updates), patience(), LEARNT, keep=1)
    monkeypatch.setattr(Saving, "finish", lambda *_, **__: None)  # the kill
    saving(Step(3)).save(course(3), patience(), LEARNT, keep=1)
    assert folder.kept(2).exists() and folder.kept(3).exists()
    monkeypatch.undo()
    saving(Step(3), updates=3).finish(course(3), patience(), keep=1)
    assert not folder.kept(2).exists()
    for path in (folder.model, folder.kept(3)):
        np.testing.assert_array_equal(
            read_model.read(path).arrays["ff_logit_b"], Step(3).weights()["ff_logit_b"]
        )


def test_the_state_is_written_before_the_model(folder, saving, monkeypatch):
    kept = saving(Step(5))

    def broken(path, arrays=None):
        raise CgruError("full")

    monkeypatch.setattr(kept, "write", broken)
    with pytest.raises(CgruError, match="full"):
        kept.save(course(5), patience(), LEARNT)
    assert folder.state.exists() and not folder.model.exists()
    assert kept.updates == 0


def test_earlier_and_best_models(folder, saving):
    step = Step()
    kept = saving(step)
    for updates in (2, 9, 10):
        step.updates = updates
        kept.save(course(updates), patience(), LEARNT, keep=2)
    names = {path.name for path in folder.model.parent.glob("m.npz.*.npz")}
    assert names == {"m.npz.u9.npz", "m.npz.u10.npz", "m.npz.state.npz"}
    kept.write(folder.best("bleu"))
    best, last = (read_model.read(path) for path in (folder.best("bleu"), folder.model))
    for name, array in last.arrays.items():
        np.testing.assert_array_equal(best.arrays[name], array)


def test_models_that_are_not_saved(folder, saving):
    step = Step()
    kept = saving(step)
    assert not kept.save(course(0), patience(), None)
    step.cost = float("nan")
    assert not kept.save(course(3), patience(), LEARNT)
    assert not kept.save(course(3), patience(), None)  # never trained
    assert not folder.state.exists() and not folder.model.exists()
    log = folder.beside(".log").read_text()
    assert log.count("Not saved: the cost after update 3 is not finite") == 2
    assert saving(step, updates=3).save(course(3), patience(), None)  # unchanged since the save


@pytest.mark.parametrize(("gradient", "good"), [(1e18, True), (np.inf, False), (np.nan, False)])
def test_a_gradient_that_is_not_finite(saving, gradient, good):
    step = Step()
    step.loss_scale.dynamic = False
    step.gradients = lambda _: [(1.0, [np.float32([gradient, 1])])]
    assert saving(step).save(course(3), patience(), LEARNT) is good


def test_other_workers_write_nothing(folder, saving):
    kept = saving(Step(), kind=NoSaving)
    assert kept.save(course(3), patience(), LEARNT, keep=2)
    assert not kept.save(course(0), patience(), None)
    kept.resume(course(3), patience(), 2)
    assert not list(folder.model.parent.glob("*.npz"))


@pytest.mark.parametrize(
    ("saved", "nan", "message"),
    [
        (0, 3, "3 updates in a row were not finite (epoch 1, update 9); the model is not written"),
        (5, 3, "the model is kept as it was after update 5; try a lower --learn-rate"),
        (5, 0, "the cost after the last update is not finite (epoch 1, update 9)"),
    ],
)
def test_giving_up(folder, saving, saved, nan, message):
    with pytest.raises(CgruError) as caught:
        saving(Step(), updates=saved).give_up(course(9, nan_in_a_row=nan))
    assert str(caught.value).startswith(f"{folder.model}: ") and message in str(caught.value)


# -- resuming --------------------------------------------------------------------------------------


def test_a_new_run(folder):
    """With --jit auto, whether its step is compiled is not known yet."""
    (step, where), followed = resumed(folder)
    assert (step.updates, where, step.jit) == (0, Course(), None)
    assert followed.saved() == Patience(["bleu", "perplexity"], TrainOptions()).saved()


@pytest.mark.parametrize(("asked", "jit"), [("auto", True), ("off", False), ("on", True)])
def test_compilation_is_resumed_unless_an_option_decides_it(folder, saving, asked, jit):
    saving(Step(5)).save(course(5), patience(), LEARNT)
    (step, _), _ = resumed(folder, options=TrainOptions(jit=asked))
    assert step.jit is jit


def test_another_training_is_refused(folder, saving):
    saving(Step(5)).save(course(5), patience(), LEARNT)
    with pytest.raises(CgruError, match=r"other options or data: --seed was 1, is 2;"):
        resumed(folder, identity=IDENTITY | {"--seed": 2})


def test_a_state_of_other_arrays(folder, saving):
    saving(Step(5)).save(course(5), patience(), LEARNT)
    folder.save({"odd": np.zeros(2)}, folder.load()[1])
    with pytest.raises(CgruError, match=r"state.npz: not the state of this training .other arrays"):
        resumed(folder)


@pytest.mark.parametrize("change", [{"jit": "on"}, {"progress": {}}, {"patience": {"decays": 0}}])
def test_a_damaged_state(folder, saving, change):
    saving(Step(5)).save(course(5), patience(), LEARNT)
    arrays, values = folder.load()
    folder.save(arrays, values | change)
    name = next(iter(change))
    with pytest.raises(CgruError, match=rf"state\.npz: damaged: {name}.*; restore the file, or"):
        resumed(folder)


def test_marians_files_are_beside_every_model(folder, saving):
    kept = saving(Step(5), TrainOptions(compat="marian", type="amun", relative_paths=True))
    kept.write(folder.best("bleu"))
    kept.save(course(5), patience(), LEARNT)
    kept.save(course(5), patience(), LEARNT)  # replaces them
    assert b"batches: 5\n" in folder.beside(".progress.yml").read_bytes()
    for model in (folder.model, folder.best("bleu")):
        for suffix in (".decoder.yml", ".amun.yml"):
            path = model.with_name(f"{model.name}{suffix}")
            values = yaml.safe_load(path.read_bytes())
            named = values.get("models") or [values["scorers"]["F0"]["path"]]
            assert named == [model.name] and values["relative-paths"]
            told = from_marian(values, str(path))
            assert told.vocabularies and all(
                (path.parent / name).exists() for name in told.vocabularies
            )
        read = read_model.read(model)
        assert read.written_by == "marian" and read.structure.sizes() == STRUCTURE.sizes()


def test_the_program_that_saved_last_is_known(folder, saving):
    """Marian writes its progress without our comment; without --compat it does not matter."""
    marian = RunFolder(folder.model, marian=True)
    kept = saving(Step(5), TrainOptions(compat="marian", type="s2s"))
    kept.save(course(5), patience(), LEARNT)
    assert not marian.of_marian and marian.load()
    values = yaml.safe_load(folder.marian_progress.read_bytes())
    folder.marian_progress.write_text(yaml.safe_dump(values))
    assert marian.of_marian and not marian.load() and not folder.of_marian
    assert not RunFolder(folder.model, resumes=False, marian=True).of_marian
    kept.save(course(6), patience(), LEARNT)
    assert not marian.of_marian


def test_the_keys_are_marians(folder):
    """Marian 1.12 writes this after 60 updates of 4 epochs, and statistics of costs."""
    patience = Patience(["perplexity", "bleu"], TrainOptions())
    for metric, value, update in (("perplexity", 4.0, 30), ("perplexity", 5.0, 60)):
        patience.update(metric, value, update)
    course = Course(Progress(4, 60, 0, 0, 14956), interval=Interval(12.5, 7, 3, norm=0.5))
    marian = MarianConventions(TrainOptions(seed=5489, learn_rate=0.5))
    marian.write_progress(folder, course, patience)
    written = yaml.safe_load(folder.marian_progress.read_bytes())
    expected = {
        "epochs": 5,
        "batches": 60,
        "batches-epoch": 0,
        "samples": 0,
        "labels-total": 14956,
        "stalled": 1,
        "stalled-max": 1,
        "validator": "perplexity",
        "validators": {"perplexity": {"last-best": 4.0, "stalled": 1}},
        "reset": False,
        "eta": 0.5,
        "eta-factor": 1,
        "warmup-start": "0u",
        "cost-sum": 12.5,
        "cost-count": 7,
        "gradient-norm-avg": 0.5,
    }
    assert expected.items() <= written.items()
    numbers = written["seed-corpus"].split()  # of std::mt19937, whose default seed is 5489
    assert len(numbers) == 625 and numbers[:2] == ["5489", "1301868182"] and numbers[-1] == "624"
