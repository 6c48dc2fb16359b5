"""The plan of `cgru score`, made from its options."""

import json
from pathlib import Path

import pytest

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.options.score import ScoreOptions
from cgru_cli.output.layouts import CgruLayout, DL4MTLayout
from cgru_cli.score.pairs.readers import NBestList, TabSeparated, Texts
from cgru_cli.score.plan import RESAMPLES, ScorePlan


def planned(**options):
    return ScorePlan(ScoreOptions(**({"model": ("m.npz",)} | options)))


@pytest.fixture
def texts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("src", "trg", "list", "ref"):
        (tmp_path / name).write_text("a\nb\n")
    (tmp_path / "w.json").write_text(json.dumps({"weights": {"F0": 2.0, "F1": 0.5}}))


def test_only_ensembles_have_weights(texts):
    two = ("m.npz", "n.npz")
    assert planned(model=two).weights == ()
    assert planned(model=two, ensemble=True).weights == (0.5, 0.5)
    assert planned(model=two, ensemble=True, compat="marian").weights == (1.0, 1.0)
    assert planned(model=two, weights=(0.1, 0.9)).weights == (0.1, 0.9)
    assert planned(model=two, weights=("w.json",)).weights == (2.0, 0.5)
    with pytest.raises(UsageError, match="1 given for 2 models"):
        planned(model=two, weights=(0.1,))
    with pytest.raises(CgruError, match=r"none\.json"):
        planned(model=two, weights=("none.json",))


def test_plan_decides_the_layout(texts):
    plain = planned()
    assert type(plain.layout([]).layout) is CgruLayout
    assert (plain.layout([]).layout.alignment, plain.normalize) == (None, 0.0)
    asked = planned(compat="dl4mt", alignment_format="marian", normalize=0.5)
    assert type(asked.layout([]).layout) is DL4MTLayout
    assert (asked.layout([]).layout.alignment, asked.normalize) == ("soft", 0.5)
    assert planned(alignment="0.25").layout([]).layout.alignment == 0.25


def test_normalize_divides_the_sum_of_a_ranked_list(texts):
    ranked = planned(n_best="list", source=("src",), rerank="equal", normalize=0.7)
    assert ranked.normalize == 0.0 and ranked.alpha == 0.7
    assert planned().ranking is None and planned(normalize=0.7).normalize == 0.7
    of_model = planned(
        n_best="list", source=("src",), rerank="equal", normalize=0.7, compat="dl4mt"
    )
    assert of_model.normalize == 0.7 and of_model.alpha == 0.0
    tuned = planned(n_best="list", source=("src",), tune="out", reference=("ref",))
    assert tuned.ranking is not None and not tuned.compares_texts


def test_file_of_weights_states_its_normalisation(texts):
    Path("n.json").write_text(json.dumps({"weights": {"F0": 1.0}, "normalize": 1.0}))
    asked = {"model": (), "n_best": "list", "rerank": "n.json"}
    assert planned(**asked).alpha == 1.0
    assert planned(**asked, normalize=0.0).alpha == 0.0


def test_plan_lists_each_metric_once_and_counts_resamples(texts):
    asked = {"model": (), "target": ("trg",), "reference": ("ref",)}
    compared = planned(**asked, metric=("BLEU,ter", "bleu"), confidence=True)
    assert compared.compares_texts and compared.metrics == ("bleu", "ter")
    assert compared.resamples == RESAMPLES
    assert planned(**asked, metric=("bleu",)).resamples == 0
    some = planned(**asked, metric=("bleu",), confidence=True, samples=50)
    assert some.resamples == 50
    assert planned(**asked, metric=("bleu",), compat="marian", max_length=999).compares_texts
    with pytest.raises(UsageError, match="bleu, chrf"):
        planned(**asked, metric=("meteor",))


@pytest.mark.parametrize(
    "options, kind",
    [
        ({"source": ("src",), "target": ("trg",)}, Texts),
        ({"target": ("src", "trg")}, Texts),
        ({"target": ("trg",)}, TabSeparated),
        ({"source": ("src",), "n_best": "list"}, NBestList),
    ],
)
def test_options_select_the_reader_of_pairs(texts, options, kind):
    with planned(**options).pairs() as pairs:
        assert type(pairs) is kind
    if "source" not in options and len(options["target"]) == 1:
        with planned(**options).pairs(one_side=True) as pairs:
            assert type(pairs) is Texts


@pytest.mark.parametrize(
    "options, message",
    [
        ({"summary": "ce-sum", "normalize": 1.0}, "--summary and --normalize"),
        ({"n_best": "list", "print_target": True}, "--print-target and --n-best"),
        ({"n_best_feature": "LM"}, "--n-best-feature needs --n-best and --model"),
        (
            {"n_best": "list", "n_best_feature": "LM", "model": (), "rerank": "equal"},
            "--n-best-feature needs --n-best and --model",
        ),
    ],
)
def test_options_without_effect_are_refused(texts, options, message):
    """Only in cgru's own form, because other programs accept them."""
    with pytest.raises(UsageError, match=message):
        planned(**options)
    if options.get("model") is None:
        planned(**options, compat="marian")


def test_most_probable_words_are_not_compressed(texts):
    with pytest.raises(UsageError, match=r"--output x\.npy\.gz: .*; name a \.npy file"):
        planned(word_top_k=3, output="x.npy.gz")


def test_language_model_refuses_a_source(texts):
    with pytest.raises(UsageError, match=r"m\.npz is a language model"):
        planned(source=("src",), target=("trg",)).pairs(one_side=True)


def test_plan_names_all_input_files(texts):
    asked = planned(
        source=("src",),
        target=("trg",),
        vocabularies=("v1", "v2"),
        weights=("w.json",),
        model=("m.npz", "n.npz"),
    )
    assert {"src", "trg", "v1", "v2", "w.json", "m.npz", "n.npz"} <= set(asked.files)
    with pytest.raises(CgruError, match="src"):
        planned(source=("src",), target=("trg",), output="src")
