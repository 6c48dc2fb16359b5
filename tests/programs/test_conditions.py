"""Texts generated from labels and vectors with the commands, and invalid input."""

import json

import numpy as np
import pytest
import runs
from cases import random_arrays
from click.testing import CliRunner
from commands import one_line
from models import forced_scores, typed

from cgru_cli import Translator
from cgru_cli.cli import main
from cgru_cli.corpus.parallel_files import Files
from cgru_cli.corpus.text_encoding import TextEncoding
from cgru_cli.errors import CgruError
from cgru_cli.formats import read_model
from cgru_cli.formats.vocabulary_files import read_vocabulary
from cgru_cli.network.network import Network
from cgru_cli.options.train import TrainOptions
from cgru_cli.parameters.structure import Condition, Type
from cgru_cli.train.encoding import encode
from cgru_cli.train.texts import Texts

pytestmark = pytest.mark.long


TEXTS = {"sport": "w1 w2 w3", "news": "w4", "art": "w5 w1"}
NUMBERS = {"sport": (1.0, 0.25), "news": (-1.0, 3.0), "art": (0.1, -2.0)}
SIZES = ("--dim-emb", 6, "--dim-rnn", 12, "--mini-batch", 8, "--learn-rate", 0.03, "--quiet")
SIZES = ("--type", "lm", "--condition", *SIZES)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Labels, each with a vector and a text."""
    folder = tmp_path_factory.mktemp("conditions")
    labels = [("sport", "news", "art")[i % 3] for i in range(24)]
    runs.lines(folder / "labels", labels)
    runs.lines(folder / "text", [TEXTS[label] for label in labels])
    numbers = [NUMBERS[label] for label in labels]
    runs.lines(folder / "numbers", [" ".join(map(str, row)) for row in numbers])
    np.save(folder / "numbers.npy", np.array(numbers))
    runs.vocabulary(folder / "vocab.json", runs.WORDS)
    return folder


def given(data, condition="labels"):
    vocabularies = [data / "labels.json"] * (condition == "labels") + [data / "vocab.json"]
    return ("-t", data / condition, data / "text", "-v", *vocabularies, *SIZES)


@pytest.fixture(scope="module")
def of_labels(data):
    """A model that has memorised the text of each label."""
    valid = ("--valid-sets", data / "labels", data / "text", "--valid-freq", "40e")
    runs.trained("-m", data / "l.npz", *given(data), *valid, "--after", "40e")
    return data / "l.npz"


@pytest.fixture(scope="module")
def of_vectors(data):
    path = data / "v.npz"
    runs.trained("-m", path, *given(data, "numbers.npy"), "--valid-freq", 0, "--after", "40e")
    return path


def text(data, name="text"):
    return (data / name).read_text()


def test_texts_of_labels_are_generated(data, of_labels, translate):
    assert list(json.loads(text(data, "labels.json"))) == ["</s>", "<unk>", "art", "news", "sport"]
    code, found, messages = translate("-m", of_labels, "-i", data / "labels")
    assert code == 0 and found == text(data), messages
    validated = {r["metric"]: r["value"] for r in runs.records(of_labels, "valid")}
    assert validated["cross-entropy"] < 0.3 and "bleu" in validated
    sampled = translate("-m", of_labels, "--output-sampling", "--seed", 3, text="news\nart\n")
    assert sampled[0] == 0 and sampled[1].count("\n") == 2
    begun = translate("-m", of_labels, "--force-decode", text="art\tw4\nnews\n")
    assert begun[0] == 0 and begun[1].startswith("w4") and begun[1].endswith("\nw4\n")


def test_texts_of_vectors_are_generated(data, of_vectors, translate):
    """A `.npy` and numbers in a text give the same results."""
    outcomes = [translate("-m", of_vectors, "-i", data / n) for n in ("numbers.npy", "numbers")]
    assert outcomes == [(0, text(data), "")] * 2


def test_a_vector_in_text_is_trained_on_as_in_an_array(data, tmp_path):
    encoding = TextEncoding([read_vocabulary(data / "vocab.json")], kind=Type.LM, condition=2)
    options = TrainOptions(model="unused", max_length=9)
    corpora = [
        encode(Texts((Files(data / name, data / "text"),), ()), encoding, options, tmp_path / name)
        for name in ("numbers", "numbers.npy")
    ]
    assert corpora[0].fingerprints == corpora[1].fingerprints
    vectors = corpora[0].columns["source"][2].view(np.float32)
    assert vectors.tolist() == [[np.float32(0.1), -2.0]]


@pytest.mark.parametrize("name", ["l", "v"])
def test_scores_are_those_of_the_search(
    data, of_labels, of_vectors, translate, score, tmp_path, name
):
    line = {"l": "art", "v": "0.1 -2"}[name]
    model = data / f"{name}.npz"
    search = ("-m", model, "--n-best", "-k", 3, "--normalize", 0)
    code, lists, messages = translate(*search, text=f"{line}\n")
    fields = [entry.split(" ||| ") for entry in lists.splitlines()]
    assert code == 0 and len(fields) == 3, messages
    pair = ("-s", runs.lines(tmp_path / "s", [line] * 3))
    pair += ("-t", runs.lines(tmp_path / "t", [f[1] for f in fields]))
    code, scores, _ = score("-m", model, *pair)
    expected = [float(f[-1]) for f in fields]
    assert [float(x) for x in scores.splitlines()] == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("condition", [Condition.LABEL, Condition.VECTOR])
def test_a_text_never_depends_on_the_batch(condition):
    s = typed(Type.LM, condition=condition, condition_size=3)
    network = Network(s, random_arrays(s, 2), packed=True)
    sources = [[(2,)], [(4,)], [(3,)]]
    if condition is Condition.VECTOR:
        rows = np.float32([[1, 2, -3], [0.5, 0, 0], [-1, 1, 9]]).view(np.int32)
        sources = [[tuple(row)] for row in rows]
    targets = [[2, 3], [4], [5] * 9]
    together = forced_scores(network, sources, targets)
    alone = [forced_scores(network, [s], [t])[0] for s, t in zip(sources, targets, strict=True)]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert len(set(np.round(forced_scores(network, sources, [[2]] * 3), 4))) == 3


@pytest.mark.parametrize(
    ("condition", "more"),
    [
        ("labels", ("--precision", "bfloat16", "--dropout-hidden", 0.2)),
        pytest.param(
            "numbers.npy",
            ("--precision", "bfloat16", "--log-gradients"),
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_resumes_bit_exactly(data, tmp_path, condition, more):
    arguments = (*given(data, condition), "--valid-freq", 0, *more)
    runs.trained("-m", tmp_path / "whole.npz", *arguments, "--after", "9u")
    for after in ("4u", "9u"):
        runs.trained("-m", tmp_path / "parts.npz", *arguments, "--after", after)
    whole, parts = (runs.arrays(tmp_path / f"{name}.npz") for name in ("whole", "parts"))
    assert all(np.array_equal(whole[name], parts[name]) for name in whole)


@pytest.mark.parametrize("name", ["l", "v"])
def test_is_converted_and_described(data, of_labels, of_vectors, translate, tmp_path, name):
    def run(*arguments):
        return CliRunner().invoke(main, ["convert", *map(str, arguments)])

    model, h5, back = data / f"{name}.npz", tmp_path / "m.h5", tmp_path / "back.npz"
    assert run(model, h5).exit_code == run(h5, back).exit_code == 0
    first, last = read_model.read(model), read_model.read(back)
    assert last.structure == first.structure
    assert all(np.array_equal(last.arrays[n], first.arrays[n]) for n in first.arrays)
    lines = {"l": "art\n", "v": "0.1 -2\n"}[name]
    assert translate("-m", h5, text=lines)[:2] == (0, f"{TEXTS['art']}\n")
    output = run(model, "--info").stdout
    assert f"condition size           {3 if name == 'l' else 2}\n" in output
    refused = run(model, tmp_path / "x.npz", "--to", "dl4mt")
    assert refused.exit_code == 1 and "a condition" in refused.stderr


# -- invalid input ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("l", "music\n", "line 1: label 'music' is not among the 3"),
        ("l", "\n", "line 1: 0 labels; one is expected"),
        ("l", "art news\n", "line 1: 2 labels; one is expected"),
        ("v", "1 2 3\n", "line 1: 3 numbers; 2 are expected"),
        ("v", "\n", "line 1: 0 numbers; 2 are expected"),
        ("v", "1 x\n", "line 1: 'x' is not a number"),
        ("v", "1 inf\n", "line 1: 'inf' is not a finite number"),
    ],
)
def test_a_bad_line_is_named(
    data, of_labels, of_vectors, translate, score, tmp_path, name, lines, message
):
    model = data / f"{name}.npz"
    one_line(translate("-m", model, text=lines), 1, message)
    (tmp_path / "bad").write_text(lines)
    target = runs.lines(tmp_path / "t", ["w1"])
    one_line(score("-m", model, "-s", tmp_path / "bad", "-t", target), 1, message)
    first = {"l": "sport\nart\nnews\n", "v": "1 2\n"}[name]
    (tmp_path / "bad").write_text(first + lines)
    target = runs.lines(tmp_path / "t", ["w1"] * (first + lines).count("\n"))
    vocabularies = [data / "labels.json"] * (name == "l") + [data / "vocab.json"]
    result = runs.train(
        "-m", tmp_path / "m.npz", "-t", tmp_path / "bad", target, "-v", *vocabularies, *SIZES,
        "--after", "1u",
    )  # fmt: skip
    number = 1 + first.count("\n")
    assert result.code == 1 and message.replace("line 1", f"bad: line {number}") in result.error


def test_a_bad_line_is_refused_before_the_search(of_labels, of_vectors):
    """This lets a server refuse only that line."""
    for model, line in ((of_labels, "music"), (of_vectors, "1 x")):
        with pytest.raises(CgruError, match=r"^line 2: "):
            Translator(str(model)).session().read(line, 1)


def arrays_with(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    return tmp_path / "a.npy"


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((23, 2)), "a.npy has 23 lines and"),
        (np.zeros(24), "an array of shape (24,)"),
        (np.array([["x"] * 2] * 24), "a matrix of numbers is expected"),
        (np.full((24, 2), np.nan), "line 1: 'nan' is not a finite number"),
    ],
)
def test_a_bad_array_is_named(data, of_vectors, score, tmp_path, array, message):
    path = arrays_with(tmp_path, array)
    arguments = ("-t", path, data / "text", "-v", data / "vocab.json", *SIZES, "--after", "1u")
    result = runs.train("-m", tmp_path / "m.npz", *arguments)
    assert result.code == 1 and message in result.error
    one_line(score("-m", of_vectors, "-s", path, "-t", data / "text"), 1, message)


def test_vectors_of_another_width_are_named(data, of_vectors, translate, score, tmp_path):
    path, message = arrays_with(tmp_path, np.zeros((24, 3))), "line 1: 3 numbers; 2 are expected"
    one_line(translate("-m", of_vectors, "-i", path), 1, message)
    one_line(score("-m", of_vectors, "-s", path, "-t", data / "text"), 1, message)


def test_labels_without_their_vocabulary_are_refused(data, tmp_path):
    result = runs.train(
        "-m", tmp_path / "m.npz", "-t", data / "labels", data / "text", "-v", data / "vocab.json",
        *SIZES, "--after", "1u",
    )  # fmt: skip
    assert result.code == 1
    assert "line 1: 'sport' is not a number; labels need their own vocabulary" in result.error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--type", "cgru"), "--condition needs --type lm"),
        (("--enc-depth", 2), "--enc-depth: a language model reads no source text"),
        (("--guided-alignment", "text"), "--guided-alignment: lm has no attention"),
    ],
)
def test_options_without_a_meaning(data, tmp_path, arguments, message):
    (tmp_path / "text").write_text("0-0\n" * 24)
    arguments = [tmp_path / a if a == "text" else a for a in arguments]
    result = runs.train("-m", tmp_path / "m.npz", *given(data), *arguments, "--after", "1u")
    assert result.code == 2 and message in result.error


def test_what_a_search_without_source_words_cannot(data, of_labels, translate, tmp_path):
    one_line(translate("-m", of_labels, "--max-length-factor", 2, text="art\n"), 2, "no source")
    one_line(translate("-m", of_labels, "--alignment", text="art\n"), 1, "no attention")
    runs.lines(tmp_path / "s", ["w1 w1 0.5"])
    refused = translate("-m", of_labels, "--shortlist", tmp_path / "s", text="art\n")
    one_line(refused, 2, "no source words")


@pytest.mark.exhaustive
def test_a_pretrained_model_is_trained_further_with_its_condition(data, of_labels, tmp_path):
    more = ("--pretrained-model", of_labels, "--after", "1u", "--valid-freq", 0)
    runs.trained("-m", tmp_path / "m.npz", *given(data), *more)
    structures = [read_model.read(path).structure for path in (of_labels, tmp_path / "m.npz")]
    assert structures[0] == structures[1]


def test_a_trained_model_keeps_its_condition(data, of_labels, tmp_path):
    more = ("--pretrained-model", of_labels, "--after", "1u", "--valid-freq", 0)
    without = [a for a in given(data) if a != "--condition"]
    without[without.index(data / "labels")] = data / "text"
    without.remove(data / "labels.json")
    result = runs.train("-m", tmp_path / "n.npz", *without, *more)
    assert result.code == 2 and "generates text from a label; --condition" in result.error
