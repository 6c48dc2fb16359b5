"""`prepare`, `train_model` and `evaluate`: what the commands do, called from Python."""

import importlib
import json
import re
from types import ModuleType

import pytest
import runs
import sacrebleu

import cgru_cli
from cgru_cli import CgruError, Translator, UsageError

pytestmark = pytest.mark.long


PAIRS = [("the cat", "die Katze"), ("the dog", "der Hund"), ("a house", "ein Haus")]


def test_no_name_is_also_a_folder(tmp_path):
    for module in ("train.job", "prep.job", "score.job", "score.metrics.evaluate", "convert.job"):
        importlib.import_module(f"cgru_cli.{module}")
    for name in cgru_cli.__all__:
        assert not isinstance(getattr(cgru_cli, name), ModuleType)
    with pytest.raises(UsageError, match="train: no such option"):
        cgru_cli.prepare(tmp_path / "data", train="x")
    with pytest.raises(UsageError, match="model: name the file to write"):
        cgru_cli.train_model(tmp_path)
    with pytest.raises(UsageError, match="0 hypotheses for 0 references"):
        cgru_cli.evaluate([], [])
    for read in (cgru_cli.read_model, cgru_cli.load_model):
        with pytest.raises(CgruError, match="a path of a model is expected, not int"):
            read(3)


def test_text_is_prepared_as_by_the_command(tmp_path):
    for side, place in (("en", 0), ("de", 1)):
        runs.lines(tmp_path / f"train.{side}", [pair[place] for pair in PAIRS])
    files = {"source": tmp_path / "train.en", "target": tmp_path / "train.de"}
    made = cgru_cli.prepare(tmp_path / "data", **files, subwords="none", jobs=1, quiet=True)
    assert made == tmp_path / "data"
    assert (made / "train.src").read_text().splitlines() == [source for source, _ in PAIRS]
    assert cgru_cli.prepare(str(made), **files, subwords="none", jobs=1, quiet=True) == made
    with pytest.raises(CgruError, match=r"force=True") as caught:
        cgru_cli.prepare(made, **files, subwords="none", lowercase=True, jobs=1, quiet=True)
    assert "--" not in str(caught.value)
    with pytest.raises(UsageError, match="apply: no such option"):
        cgru_cli.prepare(made, apply="x")


def test_training_tells_each_validation_and_loads_the_model(tmp_path):
    data, told = runs.prepared(tmp_path / "data"), []
    options = {"dim_emb": 6, "dim_rnn": 8, "type": "seq2seq", "cell": "tanh", "quiet": True}
    options |= {"enc_type": "unidirectional", "mini_batch": 8, "valid_freq": "2u"}
    loaded = cgru_cli.train_model(
        data,
        model=tmp_path / "m.npz",
        **options,
        after="4u",
        valid_metrics=["cross-entropy", "perplexity"],
        on_validation=lambda updates, metrics: told.append((updates, metrics)),
    )
    assert [updates for updates, _ in told] == [2, 4]
    records = runs.records(tmp_path / "m.npz", "valid")
    assert [list(metrics.values()) for _, metrics in told] == [
        [record["value"] for record in records[i : i + 2]] for i in (0, 2)
    ]
    assert Translator(loaded, translation_maxlen=4).translate("w1 w2").source == ["w1", "w2"]
    with pytest.raises(UsageError, match="valid_freqs: no such option; did you mean valid_freq"):
        cgru_cli.train_model(data, model="m.npz", valid_freqs="2u")
    with pytest.raises(CgruError, match="absent"):
        cgru_cli.train_model(tmp_path / "absent", model=tmp_path / "n.npz")


def test_scores_are_those_of_sacrebleu():
    texts = ["the cat sat on the mat", "a dog is here"]
    first, second = ["the cat sat on a mat", "the dog is here"], ["a cat sat on it", "dogs here"]
    scores = cgru_cli.evaluate(texts, first, ["bleu", "chrf", "ter"])
    assert scores == {
        "bleu": sacrebleu.corpus_bleu(texts, [first]).score,
        "chrf": sacrebleu.corpus_chrf(texts, [first]).score,
        "ter": sacrebleu.corpus_ter(texts, [first]).score,
    }
    several = cgru_cli.evaluate(texts, [first, second], "bleu", tokenize="char", lowercase=True)
    bleu = sacrebleu.corpus_bleu(texts, [first, second], tokenize="char", lowercase=True)
    assert several == {"bleu": bleu.score}
    assert cgru_cli.evaluate(["a", "b"], ["a", "a"], "accuracy") == {"accuracy": 50.0}
    for arguments, message in (
        ((texts, first, "blue"), "metrics: blue: bleu, chrf"),
        ((texts, first[:1]), "2 hypotheses for 1 references"),
        (("a b", first), "hypotheses: a list or an iterator"),
        (([b"a"], ["a"]), "hypotheses: text is expected, not bytes"),
        ((texts, first, []), "metrics: an empty list"),
        ((texts, first, 3), "metrics: a list or an iterator"),
        ((texts, [first, 3]), "references: a list or an iterator"),
    ):
        with pytest.raises(UsageError, match=message):
            cgru_cli.evaluate(*arguments)


def test_a_heat_map_shows_in_a_notebook(tmp_path):
    from commands import write_model

    translator = Translator(write_model(tmp_path), beam_size=1, translation_maxlen=5)
    hypothesis = translator.translate("a b <c>")
    heatmap = hypothesis.heatmap()
    data = json.loads(re.search(r">(\{.*\}|\[.*\])</script>", heatmap.html)[1])
    view = (data["sentences"] if isinstance(data, dict) else data)[0]["views"][0]
    assert view["source"] == ["a", "b", "<c>", "</s>"]
    assert view["target"][: len(hypothesis.tokens)] == list(hypothesis.tokens)
    assert heatmap._repr_html_().startswith('<iframe srcdoc="&lt;!') and len(repr(heatmap)) < 60
    plain = Translator(str(tmp_path / "model.npz"), attention=False).translate("a")
    with pytest.raises(CgruError, match="has no attention to draw"):
        plain.heatmap()
