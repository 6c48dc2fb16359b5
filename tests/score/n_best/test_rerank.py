"""N-best lists reranked by weights, line by line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from cgru_cli.errors import CgruError
from cgru_cli.options.feature_weights import FeatureWeights
from cgru_cli.score.n_best.rerank import Reranker, Sentences
from cgru_cli.text.subwords import join_bpe

FLOATS = st.integers(-40, 40).map(lambda i: i / 4)
HYPOTHESIS = st.tuples(st.lists(st.sampled_from("ab"), max_size=3), FLOATS, FLOATS)


def reranked(lines, weights=(), alpha=0.0, sentences=None, lengths=None, in_words=True, **more):
    kept = Sentences("list", alpha=alpha, lengths=lengths, in_words=in_words)
    reranker = Reranker(kept, FeatureWeights(in_order=weights), **more)
    text = "".join("".join(reranker.add(f"{line}\n")) for line in lines)
    return text + "".join(reranker.close(sentences))


@given(
    st.lists(st.lists(HYPOTHESIS, max_size=4), max_size=5),
    st.tuples(FLOATS, FLOATS),
    st.sampled_from([0.0, 1.0, 0.5]),
)
def test_the_best_of_every_sentence_is_written(sentences, weights, alpha):
    lines = [
        f"{s} ||| {' '.join(words)} ||| F0= {a} F1= {b} ||| 0"
        for s, hypotheses in enumerate(sentences)
        for words, a, b in hypotheses
    ]
    expected = ""
    for hypotheses in sentences:
        best, text = -float("inf"), ""
        for words, a, b in hypotheses:
            score = (weights[0] * a + weights[1] * b) / (len(words) + 1) ** alpha
            if score > best:
                best, text = score, " ".join(words)
        expected += f"{text}\n"
    assert reranked(lines, weights, alpha, len(sentences)) == expected


def test_a_sentence_is_written_as_soon_as_the_next_begins():
    reranker = Reranker(Sentences("list"), FeatureWeights())
    assert not list(reranker.add("0 ||| a ||| F0= -2\n0 ||| b ||| F0= -1\n"))
    assert list(reranker.add("2 ||| c ||| F0= -1\n")) == ["b\n", "\n"]
    assert list(reranker.close(None)) == ["c\n"]


def test_the_whole_list_is_sorted_and_has_new_totals():
    lines = ["0 ||| a a ||| F0= -3 ||| 9", "0 ||| b ||| F0= -1.5 ||| 8", "2 ||| c ||| F0= -1 ||| 7"]
    assert reranked(lines, alpha=1.0, sentences=4, whole=True) == (
        "0 ||| b ||| F0= -1.5 ||| -0.75\n0 ||| a a ||| F0= -3 ||| -1\n2 ||| c ||| F0= -1 ||| -0.5\n"
    )
    pieces = ["0 ||| d@@ e f ||| F0= -1 ||| 5"]
    assert reranked(pieces, whole=True, join=join_bpe) == "0 ||| de f ||| F0= -1 ||| -1\n"


def test_lengths_are_in_words_of_the_model():
    """The text has fewer words than the model's pieces, and would rank another hypothesis first."""
    lines = ["0 ||| one ||| F0= -4", "0 ||| two words ||| F0= -5"]
    scored = [
        "0 ||| one ||| WordScores= -1 -1 -1 -1 ||| F0= -4 ||| -1",
        "0 ||| two words ||| WordScores= -2 -2 -1 ||| F0= -5 ||| -1",
    ]
    assert reranked(lines, alpha=1.0) == "two words\n"
    assert reranked(scored, alpha=1.0, in_words=False) == "one\n"
    assert reranked(lines, alpha=1.0, lengths={0: 4, 1: 3}) == "one\n"
    assert reranked(lines, alpha=0.0, in_words=False) == "one\n", "nothing is divided"
    with pytest.raises(CgruError, match="list: line 1: --normalize needs the number of words"):
        reranked(lines, alpha=1.0, in_words=False)


@each_row(
    "lines, message",
    [
        (["0 ||| a ||| F0= 1", "x"], "list: line 2: not an entry"),
        (
            ["1 ||| a ||| F0= 1", "0 ||| a ||| F0= 1"],
            "list: line 2: hypothesis of sentence 0 after",
        ),
        (
            ["0 ||| a ||| F0= 1 F1= 2", "0 ||| a ||| F0= 1"],
            "list: line 2: feature F1 of line 1 is missing",
        ),
        (
            ["0 ||| a ||| F0= 1", "0 ||| a ||| F0= 1 F1= 2"],
            "list: line 2: feature F1 is not in line 1",
        ),
        (["0 ||| a ||| F0= 1", "0 ||| a ||| F0= y"], "list: line 2: feature F0 is y"),
        (["0 ||| a"], "list: line 1: no features to rank by"),
        (
            ["0 ||| a ||| F0= 1", "999999999999999999 ||| a ||| F0= 1"],
            "list: line 2: hypothesis of sentence 999999999999999999 after sentence 0: more than",
        ),
        (["9" * 5000 + " ||| a ||| F0= 1"], "list: line 1: not an entry"),
    ],
)
def test_unrankable_lists_are_refused(lines, message):
    with pytest.raises(CgruError, match=message):
        reranked(lines)
