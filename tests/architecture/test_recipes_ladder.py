"""The ladder recipe: equal numbers of parameters, Kneser-Ney, table and plot."""

import collections
import importlib.util
import json
import math
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest
import sacrebleu

from cgru_cli.formats.arpa import NGrams
from cgru_cli.options.config_file import load, settings
from cgru_cli.options.train import TrainOptions
from cgru_cli.parameters.initialization import initial_arrays
from cgru_cli.text.vocabulary import Vocabulary
from cgru_cli.train.structure_from_options import new_structure

pytestmark = pytest.mark.long


FOLDER = Path(__file__).resolve().parents[2] / "recipes" / "ladder"


def _load(name: str):
    spec = importlib.util.spec_from_file_location(f"ladder_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


# --- sizes --------------------------------------------------------------------------------------

MODELS = ("lm-rnn", "encdec-gru", "seq2seq-lstm", "rnnsearch-gru", "cgru-gru")


def test_models_have_equal_numbers_of_parameters(tmp_path):
    """The parameters are counted in the initial arrays of a training run."""
    words = {"</s>": 0, "<unk>": 1} | {f"w{i}": i for i in range(2, 600)}
    for side in ("src", "trg"):
        (tmp_path / f"vocab.{side}.json").write_text(json.dumps(words), "utf-8")
    given = [str(tmp_path), str(tmp_path), "--embedding", "16", "--state", "48"]
    _load("sizes").main([*given, "kneser-ney", *MODELS])
    rows = [line.split("\t") for line in (tmp_path / "sizes.tsv").read_text().splitlines()]
    assert [name for name, _, _ in rows] == list(MODELS)
    budget = next(int(count) for name, _, count in rows if name == "cgru-gru")
    vocabulary = Vocabulary(words)
    for name, state, count in rows:
        values = settings(load(str(tmp_path / f"{name}.yml")), TrainOptions).values
        kind, cell = name.split("-")
        assert (values["type"], values["cell"], values["dim_rnn"]) == (kind, cell, int(state))
        assert values.get("enc_type") == ("reversed" if kind == "seq2seq" else None)
        sides = 1 if kind == "lm" else 2
        structure = new_structure(TrainOptions(**values), [vocabulary] * sides)
        arrays = initial_arrays(structure, "glorot", 1)
        assert sum(array.size for array in arrays.values()) == int(count)
        assert abs(int(count) / budget - 1) < 0.03


# --- Kneser-Ney ---------------------------------------------------------------------------------

TEXT = [line.split() for line in ("2 3 4", "2 3 5", "3 4", "2 3 4 5", "", "5 5 2 3 4")]
SIZE = 8  # 0 EOS, 1 UNK; 6 and 7 are never seen


@pytest.fixture(scope="module")
def kneser_ney():
    pytest.importorskip("nltk")
    return _load("kneser_ney")


def _by_hand(text, order, discount, word, context):
    """p(word | context) of interpolated Kneser-Ney with one discount, by definition."""
    padded = [["<s>"] * (order - 1) + line + ["0"] for line in text]

    def grams(n):
        return collections.Counter(
            tuple(line[i - n + 1 : i + 1]) for line in padded for i in range(order - 1, len(line))
        )

    def probability(context):
        n = len(context) + 1
        if n == order:
            counts = {g[-1]: c for g, c in grams(n).items() if g[:-1] == context}
        else:  # number of different preceding words
            counts = collections.Counter(g[-1] for g in grams(n + 1) if g[1:-1] == context)
        lower = probability(context[1:]) if context else 1 / SIZE
        total = sum(counts.values())
        if not total:
            return lower
        kept = max(counts.get(word, 0) - discount, 0)
        return (kept + discount * len(counts) * lower) / total

    return probability(tuple(context))


@pytest.mark.parametrize(
    "context", [["<s>", "<s>"], ["2", "3"], ["3", "4"], ["4", "7"], ["6", "6"]]
)
def test_probabilities_are_those_of_the_definition_and_sum_to_one(kneser_ney, context):
    model = kneser_ney.train(TEXT, SIZE, 3)
    model.estimator.discount = 0.6
    found = [model.unmasked_score(str(word), tuple(context)) for word in range(SIZE)]
    by_hand = [_by_hand(TEXT, 3, 0.6, str(word), context) for word in range(SIZE)]
    assert found == pytest.approx(by_hand, rel=1e-12)
    assert sum(found) == pytest.approx(1, rel=1e-12) and min(found) > 0


def test_counts_are_those_of_nltk(kneser_ney):
    from nltk.lm.smoothing import KneserNey

    model = kneser_ney.train(TEXT, SIZE, 3)
    slow = KneserNey(model.vocab, model.counts, 3, discount=model.estimator.discount)
    for context in [("3",), ("2", "3"), ("<s>", "<s>"), ("<s>",), ("5",)]:
        for word in map(str, range(SIZE)):
            assert model.estimator.alpha_gamma(word, context) == slow.alpha_gamma(word, context)


def test_perplexity_counts_words_and_eos(kneser_ney):
    model = kneser_ney.train(TEXT, SIZE, 2)
    discount = model.estimator.discount
    lines = [["2", "6"], []]
    events = [("2", "<s>"), ("6", "2"), ("0", "6"), ("0", "<s>")]
    total = sum(math.log(_by_hand(TEXT, 2, discount, word, [before])) for word, before in events)
    assert kneser_ney.perplexity(model, lines) == pytest.approx(math.exp(-total / 4), rel=1e-12)


def test_discount_is_chosen_on_dev(kneser_ney, tmp_path):
    words = {"</s>": 0, "<unk>": 1} | {word: i for i, word in enumerate("abcdef", 2)}
    (tmp_path / "vocab.trg.json").write_text(json.dumps(words), "utf-8")
    (tmp_path / "train.trg").write_text("a b c\na b d\nb c\n" * 3, "utf-8")
    (tmp_path / "dev.trg").write_text("a b c\nb d e\n", "utf-8")
    (tmp_path / "test").write_text("a b\nc zzz\n", "utf-8")
    output = tmp_path / "kn.json"
    kneser_ney.main([str(tmp_path), str(tmp_path / "test"), "--output", str(output)])
    result = json.loads(output.read_text())
    assert (result["events"], result["unknown"], result["order"]) == (6, 1, 5)
    lines = [[str(words[w]) for w in line.split()] for line in ("a b c", "a b d", "b c")] * 3
    model = kneser_ney.train(lines, 8, 5)
    on_dev = {}
    for model.estimator.discount in kneser_ney.DISCOUNTS:
        dev = [["2", "3", "4"], ["3", "5", "6"]]
        on_dev[model.estimator.discount] = kneser_ney.perplexity(model, dev)
    assert on_dev[result["discount"]] == min(on_dev.values())
    model.estimator.discount = result["discount"]
    expected = kneser_ney.perplexity(model, [["2", "3"], ["4", "1"]])
    assert result["perplexity"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("order", [2, 3, 5])
def test_the_arpa_file_gives_every_text_its_probability(kneser_ney, tmp_path, order):
    """The probabilities are computed by kenlm."""
    pytest.importorskip("kenlm")
    model = kneser_ney.train(TEXT, SIZE, order)
    words = ["</s>", "<unk>", *"abcdef"]
    assert kneser_ney.perplexity(model, [["6", "2", "6", "7"]]) > 1  # with unseen contexts
    path = tmp_path / "kn.arpa"
    path.write_text("".join(f"{line}\n" for line in kneser_ney.arpa(model, words)), "utf-8")
    n_grams = NGrams(str(path))
    texts = [[], ["2", "3", "4", "5"], ["5", "2"], ["3"], ["6", "2", "3"], ["2", "1", "4"]]
    texts += [["4", "4", "4", "4", "4", "4"], ["5", "5", "2", "3", "4", "5", "2"]]
    expected = [
        sum(math.log(model.unmasked_score(word, tuple(context)))
            for *context, word in kneser_ney.events(text, order))
        for text in texts
    ]  # fmt: skip
    found = n_grams.log_probs([[words[int(word)] for word in text] for text in texts])
    assert found.tolist() == pytest.approx(expected, rel=1e-5)


# --- table and plot -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    return _load("table")


def test_buckets_take_each_sentence_once(table):
    lengths = [1, 9, 10, 12, 13, 40, 16, 17, 20, 21]
    assert table.buckets(lengths) == [[0, 1], [2, 3], [4, 6], [7, 8], [5, 9]]
    assert table.names_of_buckets() == ["1-9", "10-12", "13-16", "17-20", "21-"]


def _results(folder: Path) -> list[str]:
    """Write results for two seeds of a translation and a language model, and for n-grams."""
    source = ["a b", "a@@ b c@@ d e", "a " * 11 + "a", "b " * 24 + "b"]
    references = ["ein roter ball liegt da", "zwei hunde laufen im gras", "drei " * 9, "vier " * 12]
    (folder / "test.src").write_text("".join(f"{line}\n" for line in source), "utf-8")
    (folder / "test.words").write_text("".join(f"{line}\n" for line in references), "utf-8")
    (folder / "sizes.tsv").write_text("lm-gru\t1200\t3400\nencdec-gru\t60\t3500\n", "utf-8")
    (folder / "kneser-ney.json").write_text('{"perplexity": 50.25}\n', "utf-8")
    for name in ("lm-gru", "encdec-gru"):
        for seed in (1, 2):
            run = folder / name / f"seed{seed}"
            run.mkdir(parents=True)
            (run / "perplexity").write_text(f"{20 * seed}.000000\n", "utf-8")
            speeds = [{"type": "train", "words_per_second": s * seed} for s in (1.0, 900.0, 1000.0)]
            records = [*speeds, {"type": "valid", "value": 1.0}]
            text = "".join(f"{json.dumps(record)}\n" for record in records)
            (run / "model.npz.metrics.jsonl").write_text(text, "utf-8")
            if name == "encdec-gru":
                lines = [*references[:seed], *("drei drei drei drei vier",) * (4 - seed)]
                (run / "test.words").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return references


def test_table_has_the_results_of_the_runs(table, tmp_path, capsys):
    references = _results(tmp_path)
    models = ["kneser-ney", "lm-gru", "encdec-gru"]
    table.main([str(tmp_path), "--seeds", "1 2", "--updates", "7", *models])
    text = (tmp_path / "table.md").read_text("utf-8")
    assert capsys.readouterr().out.endswith(text)
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()]
    head, _, *rows = rows
    assert head[:5] == ["model", "states", "parameters", "perplexity", "BLEU"]
    assert head[5:] == ["1-9 (2)", "10-12 (1)", "21- (1)", "words/s"]  # without empty buckets
    assert rows[0] == ["kneser-ney", "", "", "50.2", *[""] * 5]
    spread = math.sqrt(200)  # of 20 and 40
    assert rows[1] == [
        "lm-gru", "1,200", "3,400", f"30.0 ± {spread:.1f}", *[""] * 4, "1,350 ± 636",
    ]  # fmt: skip
    found = rows[2][4:-1]
    for places, cell in zip(([0, 1, 2, 3], [0, 1], [2], [3]), found, strict=True):
        scores = []
        for seed in (1, 2):
            run = tmp_path / "encdec-gru" / f"seed{seed}" / "test.words"
            hypotheses = run.read_text("utf-8").splitlines()
            scores.append(
                sacrebleu.corpus_bleu(
                    [hypotheses[i] for i in places],
                    [[references[i] for i in places]],
                    tokenize="none",
                    force=True,
                ).score
            )
        mean, gap = sum(scores) / 2, abs(scores[0] - scores[1])
        assert cell == f"{mean:.1f} ± {gap / math.sqrt(2):.1f}"


def test_plot_shows_each_model(table, tmp_path):
    pytest.importorskip("matplotlib")
    _results(tmp_path)
    arguments = [str(tmp_path), "--seeds", "1", "--updates", "7", "lm-gru", "encdec-gru"]
    table.main(arguments)
    drawn = (tmp_path / "ladder.svg").read_bytes()
    assert xml.etree.ElementTree.fromstring(drawn).tag.endswith("svg")
    for text in ("encdec-gru", "7 updates, seeds 1", "BLEU", "perplexity"):
        assert f">{text}</text>".encode() in drawn
    table.main(arguments)
    assert (tmp_path / "ladder.svg").read_bytes() == drawn


def test_a_missing_run_is_named(table, tmp_path):
    _results(tmp_path)
    (tmp_path / "lm-gru/seed2/perplexity").unlink()
    with pytest.raises(table.CgruError, match=r"lm-gru/seed2/perplexity: No such file"):
        table.main([str(tmp_path), "--seeds", "1 2", "--updates", "7", "lm-gru"])
