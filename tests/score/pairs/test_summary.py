"""One number for all pairs."""

import math

import pytest

from cgru_cli.errors import CgruError
from cgru_cli.options.score import SUMMARIES
from cgru_cli.output.hypothesis import Hypothesis
from cgru_cli.score.pairs.summary import Summary

PAIRS = [("a b", -6.0), ("", -1.0), ("a b c", -5.0)]  # 3, 1 and 4 words with EOS


@pytest.mark.parametrize(
    "kind, expected",
    [
        ("ce-sum", 12),
        ("ce-mean", 4),
        ("cross-entropy", 4),
        ("ce-mean-words", 1.5),
        ("perplexity", math.exp(1.5)),
    ],
)
def test_each_column_has_its_cost_in_nats(kind, expected):
    summary = Summary(kind, [True, True])
    for text, score in PAIRS:
        one = Hypothesis(text.split(), True, score, score / 7)
        summary.add([one, one._replace(score=0.0)])
    second = 1.0 if kind == "perplexity" else 0.0
    assert summary.text() == f"{expected:.6f} {second:.6f}"


def test_perplexity_overflows_to_infinity():
    summary = Summary("perplexity", [True])
    summary.add([Hypothesis((), True, -1e4, -1e4)])
    assert summary.text() == "inf"


@pytest.mark.parametrize("kind", SUMMARIES)
def test_no_pairs_have_a_sum_but_no_mean(kind):
    if kind == "ce-sum":
        assert Summary(kind, [True]).text() == "0.000000"
        return
    with pytest.raises(CgruError, match="no pairs"):
        Summary(kind, [True]).text()


@pytest.mark.parametrize("kind", ["ce-mean-words", "perplexity"])
def test_lines_without_labels_have_no_mean(kind):
    summary = Summary(kind, [False])
    summary.add([Hypothesis((), True, 0.0, 0.0)])
    with pytest.raises(CgruError, match="no words"):
        summary.text()
