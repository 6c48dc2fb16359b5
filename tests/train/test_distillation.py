"""`cgru train --objective distill`: what a student learns from a teacher's words."""

import numpy as np
import pytest
import runs
from click.testing import CliRunner
from runs import PLAIN, arrays, train, trained

from cgru_cli.cli import main
from cgru_cli.corpus.columns import GrowingArray
from cgru_cli.corpus.teacher_words import ENTRY, entries

pytestmark = pytest.mark.long


SHORT = ("--after", "12u", "-l", 0.02, "--valid-freq", 0, "--seed", 3)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return runs.prepared(tmp_path_factory.mktemp("data"))


@pytest.fixture
def model(tmp_path):
    return tmp_path / "run" / "m.npz"


def teacher(data, path, shift):
    """A file in which the teacher is certain of the word with the text's id plus `shift`."""
    ids = []
    for line in (data / "train.trg").read_text().splitlines():
        words = [2 + int(word.removeprefix("W")) for word in line.split()]
        ids += [2 + (word - 2 + shift) % len(runs.WORDS) for word in words] + [0]
    rows = np.array([[i, (i + 1) % 10] for i in ids])
    with open(path, "wb") as file:
        writer = GrowingArray(file, ENTRY, (2,))
        writer.append(entries(rows, np.broadcast_to([0.0, -60000.0], rows.shape)))
        writer.close()
    return path


def test_the_teacher_changes_with_the_text(data, model, tmp_path):
    given = (data, "-m", model, *PLAIN, "--valid-freq", 0, "--objective", "distill")
    trained(*given, "--teacher", teacher(data, tmp_path / "t.npy", 0), "--after", "1u")
    again = ("--teacher", teacher(data, tmp_path / "u.npy", 1), "--after", "2u")
    assert "teacher was " in train(*given, *again).error
    trained(*given, *again, "--no-restore-corpus")


@pytest.mark.parametrize("more", [(), ("--right-left",)])
def test_a_teacher_that_is_sure_of_the_text_teaches_the_same(data, model, tmp_path, more):
    """Lines that are left out do not shift the others' words."""
    file = teacher(data, tmp_path / "t.npy", 0)
    given = (*PLAIN, *SHORT, "--max-length", 4, "--label-smoothing", 0.1, *more)
    trained(data, "-m", model, *given, "--objective", "distill", "--teacher", file)
    plain = tmp_path / "plain" / "m.npz"
    trained(data, "-m", plain, *given)
    for name, value in arrays(plain).items():
        if value.dtype.kind == "f":
            np.testing.assert_allclose(arrays(model)[name], value, atol=2e-5)


def test_the_weight_says_whom_the_student_believes(data, tmp_path):
    """A teacher of other words: with weight 0 the text is learned, with weight 1 the teacher."""
    file = teacher(data, tmp_path / "t.npy", 1)
    costs = {}
    for weight in (0, 1):
        path = tmp_path / str(weight) / "m.npz"
        given = ("--objective", "distill", "--teacher", file, "--teacher-weight", weight)
        trained(data, "-m", path, *PLAIN, "--after", "60u", "-l", 0.02, "--valid-freq", 0, *given)
        texts = ["-s", data / "dev.src", "-t", data / "dev.trg", "--summary", "ce-mean-words"]
        scores = ["-o", tmp_path / f"{weight}.cost"]
        CliRunner().invoke(main, ["score", "-m", *map(str, [path, *texts, *scores])])
        costs[weight] = float(scores[1].read_text())
    assert costs[0] < costs[1] - 0.5


def test_a_run_resumes_only_with_the_same_teacher(data, model, tmp_path):
    file = teacher(data, tmp_path / "t.npy", 0)
    given = (data, "-m", model, *PLAIN, "--valid-freq", 0, "--objective", "distill", "--teacher")
    trained(*given, file, "--after", "2u")
    trained(*given, file, "--after", "4u")
    other = teacher(data, tmp_path / "other.npy", 1)
    result = train(*given, other, "--after", "6u")
    assert result.code == 1 and "teacher was" in result.error


def test_what_does_not_fit_is_refused(data, model, tmp_path):
    file = teacher(data, tmp_path / "t.npy", 0)
    base = (data, "-m", model, *PLAIN, *SHORT)
    distill = ("--objective", "distill", "--teacher")
    for given, code, part in (
        (("--objective", "distill"), 2, "with --teacher"),
        (("--teacher", file), 2, "--objective distill"),
        ((*distill, data / "train.src"), 1, "not a file of cgru score"),
        ((*distill, file, "-t", data / "dev.src", data / "dev.trg"), 1, "and the training text"),
    ):  # fmt: skip
        result = train(*base, *given)
        assert result.code == code and part in result.error
