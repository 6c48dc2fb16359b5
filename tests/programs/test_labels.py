"""Models that predict labels: used with the commands, and invalid input."""

import itertools
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import runs
from cases import random_arrays
from click.testing import CliRunner
from commands import in_process, one_line, write_model
from models import forced_scores, pad_source, typed
from selection import choice
from tolerances import LOG_PROBABILITY, ONE_STEP

from cgru_cli import Translator
from cgru_cli.cli import main
from cgru_cli.errors import CgruError
from cgru_cli.formats import read_model
from cgru_cli.network.network import Network
from cgru_cli.parameters.structure import Encoder, Pooling, Type
from cgru_cli.search.beam import shrinking_beam
from cgru_cli.search.ensemble import Ensemble
from cgru_cli.search.hypotheses import SearchBatch
from cgru_cli.search.runtime import PreparedModel
from cgru_cli.search.settings import SearchSettings

pytestmark = pytest.mark.long


LABELS = ("A", "B", "C")
SIZES = ("--dim-emb", 6, "--dim-rnn", 8, "--mini-batch", 8, "--valid-freq", 0, "--quiet")
SIZES = (*SIZES, "--learn-rate", 0.02)


# -- a label depends only on its line --------------------------------------------------------------


@pytest.mark.parametrize("pooling", Pooling)
def test_a_label_never_depends_on_the_batch(pooling):
    s = typed(Type.CLASSIFIER, pooling=pooling, encoder=Encoder.ALTERNATING)
    network = Network(s, random_arrays(s, 2), packed=True)
    sources = [[(3,), (1,), (4,)], [], [(2,)], [(6,)] * 9]
    labels = [[2], [3], [4], [5]]
    together = forced_scores(network, sources, labels)
    alone = [
        forced_scores(network, [source], [label])[0]
        for source, label in zip(sources, labels, strict=True)
    ]
    np.testing.assert_allclose(together, alone, atol=LOG_PROBABILITY)


@pytest.mark.parametrize("crf", [False, True])
def test_a_tag_never_depends_on_the_batch(crf):
    s = typed(Type.TAGGER, crf=crf)
    network = Network(s, random_arrays(s, 2), packed=True)
    # pieces, and whether each begins a word
    sources = [[(3, 1), (1, 0), (4, 1)], [(2, 1)], [(6, 1)] * 9]
    tags = [[2, 3], [4], [5] * 9]
    together = forced_scores(network, sources, tags)
    alone = [forced_scores(network, [s], [t])[0] for s, t in zip(sources, tags, strict=True)]
    np.testing.assert_allclose(together, alone, atol=LOG_PROBABILITY)


@pytest.mark.parametrize("count", [1, 6])
@pytest.mark.parametrize("crf", [False, True])
def test_the_best_taggings_are_found(crf, count):
    """A beam of K finds the K most probable taggings."""
    s = typed(Type.TAGGER, target_vocabulary=5, crf=crf)
    arrays = random_arrays(s, 4)
    if crf:  # so that the words alone would predict other tags
        arrays["crf_transitions"] *= 4
    network = Network(s, arrays, packed=True)
    source = [[(3, 1), (1, 1), (4, 1), (4, 0), (6, 1)]]
    every = list(itertools.product((2, 3, 4), repeat=4))
    scores = forced_scores(network, source * len(every), [list(tags) for tags in every])
    ensemble = Ensemble([PreparedModel(s, arrays)])
    begun = SearchBatch(ensemble.begin([[x.numpy() for x in pad_source(source)]]), [6], [5])
    ((_, found),) = shrinking_beam([begun], SearchSettings(beam_size=count))
    best = sorted(range(len(every)), key=lambda i: -scores[i])[:count]
    assert [tuple(result.words[:-1]) for result in found] == [every[i] for i in best]
    np.testing.assert_allclose(
        [result.score for result in found], scores[best], atol=LOG_PROBABILITY
    )


# -- through the commands --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Text whose first word determines its label."""
    folder = runs.prepared(tmp_path_factory.mktemp("labels") / "data", pairs=60, dev=8)
    for name in ("train", "dev"):
        first = [line.split()[0] for line in (folder / f"{name}.src").read_text().splitlines()]
        runs.lines(folder / f"{name}.labels", [LABELS[int(word[1:]) % 3] for word in first])
    return folder


def files(data):
    vocabularies = (data / "vocab.src.json", data / "labels.json")
    return ("-t", data / "train.src", data / "train.labels", "-v", *vocabularies)


def text(data, name):
    return (data / name).read_text()


@pytest.fixture(scope="module")
def model(data):
    """A classifier that has memorised its 60 lines."""
    path = data / "m.npz"
    given = ("--type", "classifier", "--pooling", "attention", *files(data), *SIZES)
    runs.trained("-m", path, *given, "--after", "25e")
    return path


def test_a_vocabulary_of_labels_is_made(data, model):
    ids = json.loads(text(data, "labels.json"))
    assert list(ids)[:2] == ["</s>", "<unk>"] and sorted(list(ids)[2:]) == list(LABELS)


def test_labels_are_learnt_and_printed(data, model, translate, score, tmp_path):
    code, labels, messages = translate("-m", model, "-i", data / "train.src")
    assert code == 0 and labels == text(data, "train.labels"), messages
    (tmp_path / "given").write_text(labels)
    pair = ("-t", tmp_path / "given", "--reference", data / "train.labels")
    code, output, _ = score("--metric", "accuracy", *pair)
    assert code == 0 and output.endswith("= 100.0\n")


def test_an_n_best_list_has_probabilities_that_score_gives(data, model, translate, score, tmp_path):
    lines = "w1 w2\n\nw0\n"
    code, lists, messages = translate("-m", model, "--n-best", text=lines)
    fields = [line.split(" ||| ") for line in lists.splitlines()]
    assert code == 0 and [int(f[0]) for f in fields] == [0, 0, 0, 1, 1, 1, 2, 2, 2], messages
    probabilities = np.array([float(f[-1]) for f in fields]).reshape(3, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=LOG_PROBABILITY)
    assert (np.diff(probabilities) <= 0).all()
    (tmp_path / "s").write_text("".join(line * 3 for line in lines.splitlines(keepends=True)))
    (tmp_path / "t").write_text("".join(f"{f[1]}\n" for f in fields))
    code, scores, _ = score("-m", model, "-s", tmp_path / "s", "-t", tmp_path / "t")
    found = np.exp([float(line) for line in scores.splitlines()])
    np.testing.assert_allclose(found, probabilities.ravel(), atol=LOG_PROBABILITY)
    code, mean, _ = score(
        "-m", model, "-s", tmp_path / "s", "-t", tmp_path / "t", "--summary", "ce-mean-words"
    )
    assert float(mean) == pytest.approx(-np.log(found).mean(), abs=1e-4)  # EOS does not count


def test_attention_is_shown(data, model, translate, tmp_path):
    picture = tmp_path / "h.html"
    code, _, messages = translate("-m", model, "--heatmap", picture, text="w1 w2\n")
    assert code == 0 and "w1" in picture.read_text(), messages
    hypothesis = Translator(str(model)).translate(["w1 w2"])[0]
    assert hypothesis.alignment.shape == (2, 3)
    np.testing.assert_allclose(hypothesis.alignment.sum(axis=1), 1, atol=ONE_STEP)


@pytest.mark.parametrize(
    "pooling",
    [p if p == "max" else pytest.param(p, marks=pytest.mark.exhaustive) for p in Pooling],
)
def test_resumes_bit_exactly(data, tmp_path, pooling):
    given = ("--type", "classifier", "--pooling", pooling, *files(data), *SIZES, "--seed", 3)
    given = (*given, "--dropout-hidden", 0.2, "--precision", "bfloat16", "--label-smoothing", 0.1)
    runs.trained("-m", tmp_path / "whole.npz", *given, "--after", "9u")
    for after in ("4u", "9u"):
        runs.trained("-m", tmp_path / "parts.npz", *given, "--after", after)
    whole, parts = (runs.arrays(tmp_path / f"{name}.npz") for name in ("whole", "parts"))
    assert all(np.array_equal(whole[name], parts[name]) for name in whole)
    assert all(np.isfinite(array).all() for array in whole.values())


def test_validates(data, tmp_path):
    valid = ("--valid-sets", data / "dev.src", data / "dev.labels", "--valid-freq", "5u")
    given = ("--type", "classifier", *files(data), *SIZES, *valid, "--log-gradients")
    metrics = ("cross-entropy", "perplexity", "accuracy", "f1")
    model = tmp_path / "m.npz"
    runs.trained("-m", model, *given, "--valid-metrics", *metrics, "--after", "5u")
    values = {r["metric"]: r["value"] for r in runs.records(model, "valid")}
    assert values["perplexity"] == pytest.approx(np.exp(values["cross-entropy"]), rel=1e-5)
    right = [
        hypothesis.tokens == [label]
        for hypothesis, label in zip(
            Translator(str(model)).translate(text(data, "dev.src").splitlines()),
            text(data, "dev.labels").split(),
            strict=True,
        )
    ]
    assert values["accuracy"] == pytest.approx(100 * np.mean(right))


@pytest.mark.parametrize("fixture", choice(["model", "tagger", "chained"], "model", "tagger"))
def test_is_converted_and_described(request, tmp_path, fixture):
    model = request.getfixturevalue(fixture)

    def run(*arguments):
        return CliRunner().invoke(main, ["convert", *map(str, arguments)])

    for source, target in ((model, tmp_path / "m.h5"), (tmp_path / "m.h5", tmp_path / "back.npz")):
        assert run(source, target).exit_code == 0
    first, back = read_model.read(model), read_model.read(tmp_path / "back.npz")
    assert back.structure == first.structure
    assert all(np.array_equal(back.arrays[name], first.arrays[name]) for name in first.arrays)
    output = run(model, "--info").stdout
    assert "decoder" not in output and ("pooling" in output) == (fixture == "model")
    assert ("crf  " in output) == (fixture != "model")
    refused = run(model, tmp_path / "x.npz", "--to", "nematus")
    assert refused.exit_code == 1 and f"type {first.structure.type}" in refused.stderr


# -- taggers ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tagged(data):
    """The text in pieces, with a tag for each word."""
    for name in ("train", "dev"):
        words = [line.split() for line in (data / f"{name}.src").read_text().splitlines()]
        pieces = [" ".join(f"{w[0]}@@ {w[1:]}" if w == "w3" else w for w in line) for line in words]
        runs.lines(data / f"{name}.pieces", pieces)
        tags = [[("B-A", "O", "I-A", "B-B")[int(w[1:]) % 4] for w in line] for line in words]
        runs.lines(data / f"{name}.tags", map(" ".join, tags))
    runs.vocabulary(data / "vocab.pieces.json", [*runs.WORDS, "w@@", "3"])
    return data


def files_of_tags(data):
    vocabularies = (data / "vocab.pieces.json", data / "tags.json")
    return ("-t", data / "train.pieces", data / "train.tags", "-v", *vocabularies)


@pytest.fixture(scope="module")
def tagger(tagged):
    path = tagged / "t.npz"
    valid = ("--valid-sets", tagged / "dev.pieces", tagged / "dev.tags", "--valid-freq", "25e")
    given = ("--type", "tagger", *files_of_tags(tagged), *SIZES, *valid)
    runs.trained("-m", path, *given, "--valid-metrics", "accuracy", "span-f1", "--after", "25e")
    return path


def test_tags_are_learnt_one_for_each_word(tagged, tagger, translate, score, tmp_path):
    code, tags, messages = translate("-m", tagger, "-i", tagged / "train.pieces")
    assert code == 0 and tags == text(tagged, "train.tags"), messages
    values = {r["metric"]: r["value"] for r in runs.records(tagger, "valid")}
    assert values["accuracy"] > 90 and values["span-f1"] > 80
    code, tags, _ = translate("-m", tagger, text="w1 never seen w@@ 3\n\nw2\n")
    assert [len(line.split()) for line in tags.splitlines()] == [4, 0, 1]
    code, output, _ = score(
        "--metric", "accuracy,span-f1", "-t", tagged / "dev.tags",
        "--reference", tagged / "dev.tags",
    )  # fmt: skip
    assert code == 0 and [line.split()[-1] for line in output.splitlines()] == ["100.0", "100.0"]
    code, scores, _ = score(
        "-m", tagger, "-s", tagged / "dev.pieces", "-t", tagged / "dev.tags", "--word-scores"
    )
    counts = [len(line.split("WordScores=")[1].split()) - 1 for line in scores.splitlines()]
    assert code == 0
    assert counts == [len(line.split()) for line in text(tagged, "dev.tags").splitlines()]


@pytest.mark.parametrize(
    "more",
    [
        ("--precision", "bfloat16"),
        ("--crf",),
        pytest.param((), marks=pytest.mark.exhaustive),
    ],
)
def test_a_tagger_resumes_bit_exactly(tagged, tmp_path, more):
    given = ("--type", "tagger", *files_of_tags(tagged), *SIZES, "--dropout-hidden", 0.2, *more)
    runs.trained("-m", tmp_path / "whole.npz", *given, "--after", "9u")
    for after in ("4u", "9u"):
        runs.trained("-m", tmp_path / "parts.npz", *given, "--after", after)
    whole, parts = (runs.arrays(tmp_path / f"{name}.npz") for name in ("whole", "parts"))
    assert all(np.array_equal(whole[name], parts[name]) for name in whole)


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        (["O O O", "O"], "line 1: 3 tags for 2 words"),
        (["O", "O"], "line 1: 1 tag for 2 words"),
        (["O X", "O"], "line 1: label 'X' is not among the 4"),
    ],
)
def test_tags_that_do_not_match_are_named(tagged, tagger, tmp_path, score, tags, message):
    tags = runs.lines(tmp_path / "bad.tags", tags)
    source = runs.lines(tmp_path / "text", ["w@@ 3 w1", "w2"])
    given = ("-v", tagged / "vocab.pieces.json", tagged / "tags.json")
    result = runs.train(
        "-m", tmp_path / "m.npz", "--type", "tagger", "-t", source, tags, *given, *SIZES,
        "--after", "1u",
    )  # fmt: skip
    assert result.code == 1 and message in result.error and str(tags) in result.error
    one_line(score("-m", tagger, "-s", source, "-t", tags), 1, message)
    long = ("-m", tagger, "--max-length", 2)
    one_line(in_process("translate", tmp_path)(*long, text="w1 w2 w3\n"), 1, "line 1: 3 words")


# -- taggers with a CRF ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chained(tagged):
    """Text in which a tag depends on the word, and on whether it is the second of a pair."""
    for name in ("train", "dev"):
        lines = (tagged / f"{name}.src").read_text().splitlines()
        tags = [["BO"[i % 2] + str(int(w[1:]) % 2) for i, w in enumerate(x.split())] for x in lines]
        runs.lines(tagged / f"{name}.pairs", map(" ".join, tags))
    path = tagged / "c.npz"
    given = ("-t", tagged / "train.src", tagged / "train.pairs")
    given += ("-v", tagged / "vocab.src.json", tagged / "pairs.json", *SIZES)
    valid = ("--valid-sets", tagged / "dev.src", tagged / "dev.pairs", "--valid-freq", "25e")
    more = ("--crf", "--precision", "bfloat16", "--valid-metrics", "accuracy", "--after")
    for after in ("10e", "25e"):
        runs.trained("-m", path, "--type", "tagger", *given, *valid, *more, after)
    return path


def test_tags_of_a_crf_are_learnt_and_scored(tagged, chained, translate, score, tmp_path):
    code, tags, messages = translate("-m", chained, "-i", tagged / "train.src")
    assert code == 0 and tags == text(tagged, "train.pairs"), messages
    code, lists, _ = translate("-m", chained, "--n-best", "-k", 40, text="w1 w2\n")
    fields = [line.split(" ||| ") for line in lists.splitlines()]
    probabilities = [float(f[-1]) for f in fields]
    assert code == 0 and len(fields) == 16 and sum(probabilities) == pytest.approx(1, abs=1e-4)
    pair = ("-s", runs.lines(tmp_path / "s", ["w1 w2"] * 16))
    pair += ("-t", runs.lines(tmp_path / "t", [f[1] for f in fields]))
    code, scores, _ = score("-m", chained, *pair)
    found = np.exp([float(line) for line in scores.splitlines()])
    np.testing.assert_allclose(found, probabilities, atol=LOG_PROBABILITY)
    one_line(translate("-m", chained, "--output-sampling", text="w1\n"), 2, "cannot be sampled")


# -- invalid input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        (("--dec-depth", 2), 2, "--dec-depth: a classifier predicts labels"),
        (("--tied-embeddings",), 2, "--tied-embeddings: a classifier"),
        (("--right-left",), 2, "--right-left: a classifier"),
        (("--normalize", 0.5), 2, "--normalize: a classifier"),
        (("--objective", "mrt"), 2, "--objective: a classifier"),
        (("--type", "cgru", "--pooling", "max"), 2, "--pooling needs --type classifier"),
        (("--crf",), 2, "--crf needs --type tagger"),
        (("--type", "tagger", "--max-length-crop"), 2, "--max-length-crop: a tagger gives"),
    ],
)
def test_options_without_a_meaning(data, tmp_path, given, code, message):
    result = runs.train(
        "-m", tmp_path / "m.npz", "--type", "classifier", *files(data), *SIZES,
        "--after", "1u", *given,
    )  # fmt: skip
    assert result.code == code and message in result.error


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["D", "A"], "line 1: label 'D' is not among the 3"),
        (["B A", "A"], "line 1: 2 labels; one is expected"),
        (["", "A"], "line 1: 0 labels; one is expected"),
        (["<unk>", "A"], "line 1: label '<unk>' is not among"),
    ],
)
def test_bad_labels_are_named_by_their_line(data, model, tmp_path, score, lines, message):
    labels = runs.lines(tmp_path / "bad.labels", lines)
    source = runs.lines(tmp_path / "text", ["w1", "w2"])
    given = ("-t", source, labels, "-v", data / "vocab.src.json", data / "labels.json")
    result = runs.train(
        "-m", tmp_path / "m.npz", "--type", "classifier", *given, *SIZES, "--after", "1u"
    )
    assert result.code == 1 and message in result.error and str(labels) in result.error
    one_line(score("-m", model, "-s", source, "-t", labels), 1, message)


def test_no_vocabulary_of_labels_is_left_of_bad_labels(data, tmp_path):
    labels = runs.lines(tmp_path / "bad.labels", ["A", "B A"])
    source = runs.lines(tmp_path / "text", ["w1", "w2"])
    given = ("-t", source, labels, "-v", data / "vocab.src.json", tmp_path / "new.json")
    result = runs.train(
        "-m", tmp_path / "m.npz", "--type", "classifier", *given, *SIZES, "--after", "1u"
    )
    assert result.code == 1 and "line 2: 2 labels" in result.error
    assert not (tmp_path / "new.json").exists()


@pytest.mark.exhaustive
def test_lines_stream_in_constant_memory(chained, tmp_path):
    def largest(count):
        """The peak memory in MiB of a process that labels `count` lines."""
        text = runs.lines(tmp_path / "text", ["w1 w2 w0"] * count)
        with open(text) as given, open(tmp_path / "labels", "w") as labels:
            command = [sys.executable, "-m", "cgru_cli", "translate", "-m", chained]
            child = subprocess.Popen(command, stdin=given, stdout=labels)
            _, status, used = os.wait4(child.pid, 0)
        assert status == 0 and (tmp_path / "labels").read_text().count("\n") == count
        return used.ru_maxrss / 1024

    assert largest(60_000) < largest(5_000) + 25


def test_options_of_text(model, translate):
    for option in ("--normalize", "--suppress-unk", "--translation-maxlen=3", "--join-bpe"):
        outcome = translate("-m", model, option, text="w1\n")
        one_line(outcome, 2, option.split("=")[0], "predicts labels and writes no text")


def test_labels_and_text_make_no_ensemble(model, tmp_path):
    other = write_model(tmp_path / "other")
    with pytest.raises(CgruError, match="labels and text cannot form an ensemble"):
        Translator([str(model), other])
