"""What `cgru score` is to do, decided from its options."""

import json

import pytest

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.options.score import ScoreOptions
from cgru_cli.score.filter import Bounds
from cgru_cli.score.pairs import NBestList, OneText, TabSeparated, TwoTexts
from cgru_cli.score.request import RESAMPLES, ScoreRequest


def request(**options):
    return ScoreRequest.of(ScoreOptions(**({"model": ("m.npz",)} | options)))


@pytest.fixture
def texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("src", "trg", "list", "ref"):
        (tmp_path / name).write_text("a\nb\n")
    (tmp_path / "w.json").write_text(json.dumps({"weights": {"F0": 2.0, "F1": 0.5}}))


def test_weights_are_of_an_ensemble_alone(texts):
    two = ("m.npz", "n.npz")
    assert request(model=two).weights == ()
    assert request(model=two, ensemble=True).weights == (0.5, 0.5)
    assert request(model=two, ensemble=True, compat="marian").weights == (1.0, 1.0)
    assert request(model=two, weights=(0.1, 0.9)).weights == (0.1, 0.9)
    assert request(model=two, weights=("w.json",)).weights == (2.0, 0.5)
    with pytest.raises(UsageError, match="1 given for 2 models"):
        request(model=two, weights=(0.1,))
    with pytest.raises(CgruError, match=r"none\.json"):
        request(model=two, weights=("none.json",))


def test_what_is_printed_is_decided(texts):
    plain = request()
    assert (plain.program, plain.alignment, plain.normalize) == ("cgru", None, 0.0)
    asked = request(compat="dl4mt", alignment_format="marian", normalize=0.5)
    assert (asked.program, asked.alignment, asked.normalize) == ("dl4mt", "soft", 0.5)
    assert request(alignment="0.25").alignment == 0.25
    assert request(keep_above=-2.0).bounds == Bounds(-2.0, None)


def test_lists_are_normalized_when_they_are_ranked(texts):
    ranked = request(n_best="list", source=("src",), rerank="equal", normalize=0.7)
    assert ranked.normalize == 0.0 and ranked.ranking.normalize == 0.7
    assert ranked.ranking.rerank and not ranked.ranking.whole
    assert request().ranking is None
    tuned = request(n_best="list", source=("src",), tune="out", reference=("ref",), seed=3)
    assert (tuned.ranking.tune, tuned.ranking.rerank, tuned.ranking.seed) == ("out", False, 3)
    assert not tuned.texts_alone


def test_metrics_are_each_once_and_their_numbers_decided(texts):
    asked = {"model": (), "target": ("trg",), "reference": ("ref",)}
    compared = request(**asked, metric=("BLEU,ter", "bleu"), confidence=True)
    assert compared.texts_alone and compared.evaluation.metrics == ("bleu", "ter")
    assert compared.evaluation.resamples == RESAMPLES
    assert request(**asked, metric=("bleu",)).evaluation.resamples == 0
    some = request(**asked, metric=("bleu",), confidence=True, samples=50)
    assert some.evaluation.resamples == some.evaluation.samples == 50
    with pytest.raises(UsageError, match="bleu, chrf"):
        request(**asked, metric=("meteor",))


@pytest.mark.parametrize(
    "options, kind",
    [
        ({"source": ("src",), "target": ("trg",)}, TwoTexts),
        ({"target": ("src", "trg")}, TwoTexts),
        ({"target": ("trg",)}, TabSeparated),
        ({"source": ("src",), "n_best": "list"}, NBestList),
    ],
)
def test_pairs_come_from_where_the_options_say(texts, options, kind):
    with request(**options).pairs() as pairs:
        assert type(pairs) is kind
    if "source" not in options and len(options["target"]) == 1:
        with request(**options).pairs(one_side=True) as pairs:
            assert type(pairs) is OneText


def test_a_source_is_none_of_a_language_model(texts):
    with pytest.raises(UsageError, match=r"m\.npz is a language model"):
        request(source=("src",), target=("trg",)).pairs(one_side=True)


def test_files_that_are_read_are_named(texts):
    asked = request(
        source=("src",), target=("trg",), vocabularies=("v1", "v2"), weights=("w.json",),
        model=("m.npz", "n.npz"),
    )  # fmt: skip
    assert {"src", "trg", "v1", "v2", "w.json", "m.npz", "n.npz"} <= set(asked.files)
    with pytest.raises(CgruError, match="src"):
        request(source=("src",), target=("trg",), output="src")
