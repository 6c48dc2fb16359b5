"""Accuracy, F1 and confusion of labels against plain counts, and by the command."""

import json

import numpy as np
import pytest
from commands import one_line
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.score.metrics.labels import LabelMetric, confusion, spans

labels = st.sampled_from(["a", "b", "c", "d"])
lines = st.lists(st.lists(st.tuples(labels, labels), min_size=1, max_size=4), min_size=1)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("O O O B-MISC I-MISC I-MISC O", {("MISC", 3, 5)}),
        ("B-PER I-PER O", {("PER", 0, 1)}),
        ("I-A I-A B-A I-B", {("A", 0, 1), ("A", 2, 2), ("B", 3, 3)}),
        ("B-A E-A I-A S-A S-A", {("A", 0, 1), ("A", 2, 2), ("A", 3, 3), ("A", 4, 4)}),
        ("O NOUN", set()),
        ("", set()),
    ],
)
def test_spans_match_seqeval(tags, expected):
    assert spans(tags.split()) == expected


def test_f1_of_spans():
    """The example of seqeval's README."""
    right = ["O O O B-MISC I-MISC I-MISC O", "B-PER I-PER O"]
    given = ["O O B-MISC I-MISC I-MISC I-MISC O", "B-PER I-PER O"]
    assert score_of("span-f1", given, right) == pytest.approx(50)


def score_of(name, given, right):
    return LabelMetric(name, [given], [right]).corpus_score(given, None).score


def split(pairs):
    """The lines of a system, and those of the reference."""
    return [[" ".join(one[side] for one in line) for line in pairs] for side in (0, 1)]


@given(lines)
def test_scores_match_their_definition(pairs):
    given, right = split(pairs)
    flat = [pair for line in pairs for pair in line]

    def score(name):
        return score_of(name, given, right) / 100

    assert score("accuracy") == pytest.approx(np.mean([g == r for g, r in flat]))
    of_labels = []
    for label in sorted({label for pair in flat for label in pair}):
        hits = sum(g == r == label for g, r in flat)
        shown, wanted = (sum(pair[side] == label for pair in flat) for side in (0, 1))
        precision, recall = hits / (shown or 1), hits / (wanted or 1)
        of_labels.append(2 * precision * recall / (precision + recall) if hits else 0.0)
    assert score("f1") == pytest.approx(np.mean(of_labels))
    known, counts = confusion(given, right)
    for r, row in zip(known, counts, strict=True):
        for g, count in zip(known, row, strict=True):
            assert count == flat.count((g, r))


def write(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


def test_the_command_resamples_compares_and_confuses(tmp_path, score):
    right = write(tmp_path, "right", "a\nb\nb\nc\n" * 25)
    good = write(tmp_path, "good", "a\nb\nb\nb\n" * 25)
    bad = write(tmp_path, "bad", "b\na\nb\na\n" * 25)
    asked = ("--metric", "accuracy,f1", "--reference", right)
    code, text, _ = score(*asked, "-t", good, "--confidence", "--confusion")
    rows = text.splitlines()
    assert code == 0 and "= 75.0 (" in rows[0] and "±" in rows[0] and "average:macro" in rows[1]
    assert [row.split() for row in rows[3:]] == [
        "reference \\ given a b c".split(),
        "a 25 0 0".split(),
        "b 0 50 0".split(),
        "c 0 25 0".split(),
    ]
    code, text, _ = score(*asked, "-t", good, "--confusion", "--format", "json")
    *scores, table = json.loads(text)
    assert [one["score"] for one in scores] == [75.0, 60.0]
    assert table["counts"] == [[25, 0, 0], [0, 50, 0], [0, 25, 0]]
    code, text, _ = score(*asked, "-t", good, bad, "--paired", "bootstrap", "--samples", 100)
    assert code == 0 and "p = 0.0099*" in text


def test_systems_with_other_labels_are_compared(tmp_path, score):
    """Each label that any system gives has its counts, whichever system is scored."""
    right = write(tmp_path, "right", "a\nb\nb\nc\n" * 25)
    good = write(tmp_path, "good", "a\nb\nb\nb\n" * 25)
    bad = write(tmp_path, "bad", "d\nd\ne\nf\n" * 25)
    asked = ("--metric", "f1", "--reference", right, "--format", "json")
    alone = [json.loads(score(*asked, "-t", one)[1])["score"] for one in (good, bad)]
    for test in ("bootstrap", "randomisation"):
        code, text, _ = score(*asked, "-t", good, bad, "--paired", test, "--samples", 50)
        assert code == 0
        systems = json.loads(text)["systems"]
        assert [round(one["f1"]["score"], 1) for one in systems] == alone == [60.0, 0.0]
        assert systems[1]["f1"]["p"] < 0.05


def test_invalid_use_is_refused(tmp_path, score):
    right, short = write(tmp_path, "r", "a\nb c\n"), write(tmp_path, "s", "a\nb\n")
    asked = ("--reference", right, "-t", short)
    one_line(score("--metric", "accuracy", *asked), 1, "s: line 2: 1 label, 2 in", "r")
    one_line(score("--metric", "bleu", "--confusion", *asked), 2, "--confusion needs labels")
    one_line(score("--metric", "f1", "--lowercase", *asked), 2, "--lowercase is for texts")
    one_line(score("--metric", "f1", *asked, "--reference", right, short), 2, "one --reference")
