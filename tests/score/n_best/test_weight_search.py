"""Weights found on a list, against a grid, sacreBLEU and exhaustive search."""

import builtins

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sacrebleu.metrics import BLEU, CHRF

from cgru_cli.errors import CgruError
from cgru_cli.score.n_best.entry import parse
from cgru_cli.score.n_best.weight_search import Development, tune

WORDS = ["the", "a", "cat", "dog", "sat", "on", "mat", "log", "big", "small"]
METRICS = [BLEU(tokenize="none"), CHRF(), CHRF(word_order=2)]


def in_words(line, alpha):
    """An entry whose text has the words of the model that wrote it."""
    entry = parse(line)
    return entry._replace(divisor=entry.words**alpha)


def corpus(seed, sentences=30, hypotheses=9, features=2, alpha=1.0):
    """Entries of random sentences whose features correlate with their quality."""
    generator = np.random.default_rng(seed)
    references, lists = [], []
    for s in range(sentences):
        reference = list(generator.choice(WORDS, size=generator.integers(4, 12)))
        entries = []
        for _ in range(generator.integers(1, hypotheses + 1) if s % 7 else 0):
            wrong = generator.random(len(reference)) < generator.random()
            words = np.where(wrong, generator.choice(WORDS, len(reference)), reference)
            words = words[: generator.integers(2, len(words) + 1)]
            values = -wrong.sum() + generator.normal(0, 2, features)
            text = " ".join(f"F{i}= {value:.3f}" for i, value in enumerate(values))
            entries.append(in_words(f"{s} ||| {' '.join(words)} ||| {text} ||| 0", alpha))
        lists.append(entries)
        references.append(" ".join(reference))
    return lists, references


def development(lists, references, metric=METRICS[0]):
    texts = [[entry.text for entry in entries] for entries in lists]
    return Development.of(lists, texts, [references], metric)


def ranked(lists, weights, alpha):
    """The best texts, computed one by one."""
    best = []
    for entries in lists:
        totals = [
            sum(w * x for w, x in zip(weights, entry.features.values(), strict=True))
            / entry.words**alpha
            for entry in entries
        ]
        best.append(entries[totals.index(max(totals))].text if entries else "")
    return best


@pytest.mark.parametrize("metric", METRICS, ids=["bleu", "chrf", "chrf++"])
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_scores_match_sacrebleus_corpus_score(metric, alpha):
    lists, references = corpus(1, alpha=alpha)
    of_list = development(lists, references, metric)
    for weights in np.random.default_rng(2).normal(size=(5, 2)):
        expected = metric.corpus_score(ranked(lists, weights, alpha), [references]).score
        assert of_list.of_weights(weights) == pytest.approx(expected, abs=1e-9)
        counts = np.arange(len(lists)) % 3
        texts = np.repeat(np.array(ranked(lists, weights, alpha), object), counts).tolist()
        expected = metric.corpus_score(texts, [np.repeat(references, counts).tolist()]).score
        assert of_list.of_weights(weights, counts) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_weights_are_at_least_as_good_as_a_grids(seed):
    of_list = development(*corpus(seed))
    angles = np.linspace(0, 2 * np.pi, 721)
    grid = max(of_list.of_weights(np.array([np.cos(a), np.sin(a)])) for a in angles)
    found = tune(of_list, [1.0, 1.0], restarts=2, samples=20, seed=seed)
    weights, score = found["tuned"].values()
    assert score >= grid
    assert score == of_list.of_weights(np.array(weights))
    assert np.abs(weights).sum() == pytest.approx(1)


class Sum:
    """A metric whose score is the sum of its statistics."""

    def _compute_score_from_stats(self, stats):
        self.score = stats[0]
        return self


NUMBERS = st.integers(-6, 6).map(float)


@given(
    arrays.arrays(np.float64, (4, 3, 2), elements=NUMBERS),
    arrays.arrays(np.float64, (4, 3, 1), elements=st.integers(0, 9).map(float)),
    arrays.arrays(np.float64, 2, elements=NUMBERS),
    arrays.arrays(np.float64, 2, elements=NUMBERS),
)
def test_line_search_finds_the_best_point(features, stats, weights, direction):
    of_list = Development(features, stats, Sum())
    reached = of_list.of_weights(of_list.along(weights, direction))
    heights, slopes = features @ weights, features @ direction
    falls = (heights[:, :, None] - heights[:, None]).ravel()
    rises = (slopes[:, None] - slopes[:, :, None]).ravel()
    crossings = np.unique([0, *(falls[rises != 0] / rises[rises != 0])])
    between = [crossings[0] - 1, *(crossings[1:] + crossings[:-1]) / 2, crossings[-1] + 1]
    assert reached >= max(of_list.of_weights(weights + t * direction) for t in between)


def test_the_same_seed_gives_the_same_weights():
    of_list = development(*corpus(3, features=3))
    first, again, other = (tune(of_list, [1.0] * 3, 2, 50, seed) for seed in (7, 7, 8))
    assert first == again
    assert first != other


def test_gains_and_intervals_are_reported():
    lists, references = corpus(4)
    of_list = development(lists, references)
    found = tune(of_list, [1.0, -1.0], 3, 200, 0)
    metric = METRICS[0]
    firsts = [entries[0].text if entries else "" for entries in lists]
    assert found["first"]["score"] == pytest.approx(metric.corpus_score(firsts, [references]).score)
    expected = metric.corpus_score(ranked(lists, [1, -1], 1), [references]).score
    assert found["starting"]["score"] == pytest.approx(expected)
    assert found["first"]["gain"] == found["tuned"]["score"] - found["first"]["score"] > 0
    for one in (found["starting"], found["first"]):
        low, high = one["interval"]
        assert low < one["gain"] < high
    assert found["held_out_gain"] is not None
    assert tune(of_list, [1.0, -1.0], 0, 20, 0)["held_out_gain"] is None


def test_tuned_weights_are_never_worse_than_the_starting_ones():
    of_list = development(*corpus(5))
    best = tune(of_list, [1.0, 1.0], 2, 20, 0)
    again = tune(of_list, best["tuned"]["weights"], 0, 20, 1)
    assert again["tuned"]["score"] >= best["tuned"]["score"]
    assert again["starting"]["gain"] >= 0


def test_costs_start_with_negative_weights():
    lines = ["0 ||| a ||| 3 F= -1 G= 0", "0 ||| b ||| 0.5 F= -2 G= 0"]
    of_list = development([[in_words(line, 1.0) for line in lines]], ["a"])
    assert of_list.starting() == [-1, 1, 1]


def test_single_feature_gets_its_sign():
    lines = ["0 ||| a b c d e ||| F= 3", "0 ||| b b ||| F= 5"]
    of_list = development([[in_words(line, 1.0) for line in lines]], ["a b c d e"])
    found = tune(of_list, [1.0], 1, 5, 0)
    assert found["tuned"] == {"weights": [-1], "score": pytest.approx(100)}


def test_scipy_is_named_where_it_is_missing(monkeypatch):
    real = builtins.__import__

    def without(name, *more):
        if name.startswith("scipy"):
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(CgruError, match=r"pip install 'cgru\[tune\]'"):
        tune(development(*corpus(1)), [1.0, 1.0], 1, 5, 0)
