"""The progress of a training run, the settings that may not change, and resuming."""

import dataclasses
import json
from types import SimpleNamespace

import pytest
from cases import small_structure
from tables import each_row

from cgru_cli.errors import CgruError
from cgru_cli.formats.model import ModelSettings
from cgru_cli.options.train import TrainOptions
from cgru_cli.system.typed_json import dataclass_from_json
from cgru_cli.text.vocabulary import Vocabulary
from cgru_cli.train.run.patience import Patience
from cgru_cli.train.run.progress import Interval, Progress
from cgru_cli.train.run.resume import EarlierRun
from cgru_cli.train.run.state import (
    OF_THE_TEXT,
    Course,
    SavedRun,
    check_same,
    identity,
)

COURSE = Course(
    Progress(epochs=1, updates=17, batches=3, sentences=24, words=99, seconds=0.1 + 0.2),
    Progress(epochs=1, updates=16, batches=2, sentences=16, words=90, seconds=0.2),
    Interval(cost=1 / 3, words=9, sentences=8, seconds=0.1, norm=2 / 7),
    nan_in_a_row=2,
)
PATIENCE = Patience(["bleu"], TrainOptions())
PATIENCE.update("bleu", 1 / 3, 16)
SAVED = dataclasses.asdict(
    SavedRun(identity={"seed": 1}, jit=True, patience=PATIENCE.saved(), **vars(COURSE))
)


def test_a_course_is_restored_exactly():
    saved = dataclass_from_json(SavedRun, json.loads(json.dumps(SAVED)), "f")
    assert {name: getattr(saved, name) for name in vars(COURSE)} == vars(COURSE)
    assert (saved.patience, saved.jit, saved.identity) == (PATIENCE.saved(), True, {"seed": 1})


@each_row("name", SAVED)
@each_row("value", [None, "x", [], {}])
def test_damaged_states(name, value):
    if name in ("identity", "chosen", "stated") and value == {}:
        return
    with pytest.raises(CgruError, match=rf"^f: damaged: {name}[.:].*; do so$"):
        dataclass_from_json(SavedRun, SAVED | {name: value}, "f", "do so")


def made(structure=None, words=("a", "b"), text="f" * 64, devices=1, **options):
    structure = structure or small_structure()
    vocabularies = [Vocabulary({w: i for i, w in enumerate(["eos", "UNK", *words])})] * 2
    none = dict.fromkeys(("alignments", "weights", "teacher"), "none")
    corpus = SimpleNamespace(fingerprints={"training text": text, **none})
    model = SimpleNamespace(structure=structure, settings=ModelSettings())
    return identity(TrainOptions(**options), model, vocabularies, corpus, devices)


def test_other_options_may_change():
    before = json.loads(json.dumps(made(optimizer_params=(0.9, 0.98))))
    now = made(
        optimizer_params=(0.9, 0.98),
        learn_rate=0.5,
        after="9e",
        valid_freq="3u",
        keep=2,
        label_smoothing=0.1,
        dropout_hidden=0.3,
    )
    check_same(before, now, "f")


@each_row(
    ("changes", "named"),
    [
        ({"mini_batch": 81}, "--mini-batch was 80, is 81"),
        ({"seed": 2}, "--seed was 1, is 2"),
        ({"optimizer": "sgd"}, "--optimizer was adam, is sgd"),
        ({"optimizer_params": (0.5,)}, r"--optimizer-params was \[\], is \[0.5\]"),
        ({"quantize_bits": 3}, "--quantize-bits was 0, is 3"),
        ({"optimizer_delay": 2}, "--optimizer-delay was 1, is 2"),
        ({"max_length": 50}, "--max-length was 100, is 50"),
        ({"no_shuffle": True}, "--no-shuffle was False, is True"),
        ({"mini_batch_fit": True}, "--mini-batch-fit was False, is True"),
        ({"exponential_smoothing": 0.1}, "smoothing was False, is True"),
        ({"text": "e" * 64}, r"training text was ffffffff\.\.\., is eeeeeeee\.\.\."),
        ({"words": ("a", "c")}, "vocabulary 1 was"),
        ({"structure": small_structure(state=5)}, "model's state was 4, is 5"),
        (
            {"structure": small_structure(tied_output=True), "seed": 3},
            "--seed was 1, is 3; model's tied_output was False, is True",
        ),
    ],
)
def test_another_model_or_other_data(changes, named):
    with pytest.raises(CgruError, match=f"^f: this training began with other .*{named}"):
        check_same(json.loads(json.dumps(made())), made(**changes), "f")


def test_the_workspace_decides_on_batches_that_fit():
    before = made(mini_batch_fit=True)
    with pytest.raises(CgruError, match="--workspace was 2048, is 9"):
        check_same(before, made(mini_batch_fit=True, workspace=9), "f")
    with pytest.raises(CgruError, match="number of devices was 1, is 2"):
        check_same(before, made(mini_batch_fit=True, devices=2), "f")
    check_same(made(), made(devices=2), "f")


def test_the_identity_is_plain_json():
    plain = made(structure=dataclasses.replace(small_structure(), state=9))
    assert json.loads(json.dumps(plain)) == plain


@pytest.mark.parametrize(
    ("record", "before"),
    [
        ({"type": "valid", "epoch": 2}, False),  # checked only up to update 16
        ({"type": "data", "epoch": 1}, True),
        ({"type": "data", "epoch": 2}, False),  # the end of the current epoch
        ({"type": "train", "epoch": 2}, False),  # 9 words are not logged yet
        ({"type": "gradients", "epoch": 2}, False),
        ({"type": "skipped", "epoch": 2}, True),
    ],
)
def test_records_of_the_last_update(record, before):
    assert COURSE.has_recorded(record) is before
    checked = dataclasses.replace(COURSE, checked=COURSE.progress, interval=Interval(norm=1.0))
    at_the_end = record["type"] == "data" and record["epoch"] == 2
    assert checked.has_recorded(record) is not at_the_end


def test_records_of_a_validation_at_the_end_of_an_epoch():
    """It follows the check after the last update of the epoch."""
    course = dataclasses.replace(COURSE, checked=COURSE.progress)
    ended = dataclasses.replace(course, progress=course.progress.next_epoch())
    record = {"type": "valid", "epoch": 3}
    assert not ended.has_recorded(record) and ended.has_recorded(record | {"epoch": 2})
    assert dataclasses.replace(ended, checked=ended.progress).has_recorded(record)


# -- resuming --------------------------------------------------------------------------------------

RESETS = {"nothing": {}, "stalled": {"valid_reset_stalled": True}, "all": {"valid_reset_all": True}}


@pytest.mark.parametrize(("resets", "stalled"), [("nothing", 1), ("stalled", 0), ("all", 0)])
def test_patience_resumes_except_for_what_it_resets(resets, stalled):
    ended = Patience(["bleu"], TrainOptions())
    for value in (30.0, 20.0):
        ended.update("bleu", value, 7)
    saved = SavedRun(identity={"seed": 1}, jit=True, patience=ended.saved(), **vars(Course()))
    values = json.loads(json.dumps(dataclasses.asdict(saved)))
    restored = []
    patience = Patience(["bleu"], TrainOptions(**RESETS[resets]))
    earlier = EarlierRun("run", values, {"w": 1})
    assert earlier.jit(TrainOptions())
    step = SimpleNamespace(restore=restored.append)
    resumed = earlier.resume({"seed": 1}, patience, TrainOptions(), lambda: step)
    assert resumed == (step, Course()) and restored == [{"w": 1}] and not earlier.arrays
    assert patience.records["bleu"].stalled == stalled
    assert patience.records["bleu"].best == (None if resets == "all" else 30.0)


def test_what_decides_batches_alone_may_change_with_the_text():
    assert made(mini_batch_fit=True).keys() >= set(OF_THE_TEXT)
