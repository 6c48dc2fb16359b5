"""Where a training is, and what may not change while it goes on."""

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from cases import random_arrays, small_structure

from cgru_cli.errors import CgruError
from cgru_cli.formats.model import Model
from cgru_cli.options.train import TrainOptions
from cgru_cli.text.vocabulary import Vocabulary
from cgru_cli.train.run.log import Interval
from cgru_cli.train.run.progress import Progress
from cgru_cli.train.run.state import Course, check_same, identity
from cgru_cli.train.starting_model import Beginning

COURSE = Course(
    Progress(epochs=1, updates=17, batches=3, sentences=24, words=99, seconds=0.1 + 0.2),
    Progress(epochs=1, updates=16, batches=2, sentences=16, words=90, seconds=0.2),
    Interval(cost=1 / 3, words=9, sentences=8, seconds=0.1, norm=2 / 7),
    nan_in_a_row=2,
)


def test_a_course_comes_back_to_the_bit():
    data = json.loads(json.dumps(COURSE.to_json()))
    assert Course.from_json(data, "f") == COURSE


@pytest.mark.parametrize("name", COURSE.to_json())
@pytest.mark.parametrize("value", [None, "x", [], {}])
def test_what_is_no_course(name, value):
    with pytest.raises(CgruError, match=r"^f: .*"):
        Course.from_json(COURSE.to_json() | {name: value}, "f")


def made(structure=None, words=("a", "b"), text="f" * 64, **options):
    structure = structure or small_structure()
    model = Model(Path("m.npz"), structure, random_arrays(structure), "nematus", "npz")
    vocabularies = [Vocabulary({w: i for i, w in enumerate(["eos", "UNK", *words])})] * 2
    corpus = SimpleNamespace(fingerprint=text, alignments=None, weights=None)
    return identity(TrainOptions(**options), Beginning(model, vocabularies, []), corpus)


def test_the_same_goes_on():
    before = json.loads(json.dumps(made(optimizer_params=(0.9, 0.98))))
    now = made(
        optimizer_params=(0.9, 0.98), learn_rate=0.5, after="9e", valid_freq="3u", keep=2,
        label_smoothing=0.1, dropout_hidden=0.3, workspace=7,
    )  # fmt: skip
    check_same(before, now, "f")


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"mini_batch": 81}, "--mini-batch was 80, is 81"),
        ({"seed": 2}, "--seed was 1, is 2"),
        ({"optimizer": "sgd"}, "--optimizer was adam, is sgd"),
        ({"optimizer_params": (0.5,)}, r"--optimizer-params was \[\], is \[0.5\]"),
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
    with pytest.raises(CgruError, match=f"^f: this training was begun otherwise: .*{named}"):
        check_same(json.loads(json.dumps(made())), made(**changes), "f")


def test_the_workspace_decides_on_batches_that_fit():
    before = made(mini_batch_fit=True)
    with pytest.raises(CgruError, match="--workspace was 2048, is 9"):
        check_same(before, made(mini_batch_fit=True, workspace=9), "f")


def test_the_identity_is_plain_json():
    plain = made(structure=dataclasses.replace(small_structure(), state=9))
    assert json.loads(json.dumps(plain)) == plain
