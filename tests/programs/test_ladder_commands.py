"""Train, resume and translate with models of every type, and score with language models."""

import numpy as np
import pytest
import runs
from click.testing import CliRunner
from selection import choice

from cgru_cli.cli import main
from cgru_cli.formats import read_model

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return runs.prepared(tmp_path_factory.mktemp("data") / "data", pairs=24)


# Each type, with various other options; test_ladder_combinations has the combinations.
CHOSEN = [
    ("lm", "lstm", "alternating", 2, True, True),
    ("encdec", "gru", "bidirectional", 1, False, False),
    ("seq2seq", "relu", "reversed", 2, False, False),
    ("rnnsearch", "lstm", "unidirectional", 1, True, False),
    ("cgru", "gru", "bi-unidirectional", 2, False, True),
]


@pytest.mark.parametrize(
    ("kind", "cell", "encoder", "depth", "norm", "tied"), choice(CHOSEN, CHOSEN[0], *CHOSEN[2:4])
)
def test_trains_resumes_and_translates(
    data, tmp_path, translate, kind, cell, encoder, depth, norm, tied
):
    model = tmp_path / "m.npz"
    given = ["--type", kind, "--cell", cell, "--dec-depth", depth]
    if kind != "lm":
        given += ["--enc-type", encoder, "--enc-depth", depth]
    given += ["--layer-normalization"] * norm + ["--tied-embeddings"] * tied
    given = [data, "-m", model, *runs.SIZES, *given, "--valid-freq", "0", "--quiet"]
    first = runs.train(*given, "--after", "1u")
    assert first.code == 0, first.messages
    before = read_model.read(model).arrays
    assert runs.train(*given, "--after", "2u").code == 0
    after = read_model.read(model)
    assert (after.structure.type, after.structure.decoder_depth) == (kind, depth)
    assert any((after.arrays[name] != array).any() for name, array in before.items())
    assert all(np.isfinite(array).all() for array in after.arrays.values())
    text = "\n\n" if kind == "lm" else "w1 w2\nw3\n"
    code, output, messages = translate("-m", model, "-k", 2, "--translation-maxlen", 5, text=text)
    assert code == 0 and output.count("\n") == 2, messages


@pytest.fixture(scope="module")
def language_model(data):
    """A language model trained for a few updates, and its data."""
    model = data / "lm.npz"
    texts = ("-t", data / "train.trg", "-v", data / "vocab.trg.json")
    valid = ("--valid-sets", data / "dev.trg", "--valid-freq", "4u")
    result = runs.train("-m", model, "--type", "lm", *texts, *valid, *runs.SIZES, "--after", "4u")
    assert result.code == 0, result.messages
    return model


def test_a_language_model_says_what_its_training_said(data, language_model, score):
    code, output, _ = score("-m", language_model, "-t", data / "dev.trg", "--summary", "perplexity")
    last = [r for r in runs.records(language_model, "valid") if r["metric"] == "perplexity"][-1]
    assert code == 0 and float(output) == pytest.approx(last["value"], rel=1e-5)


def test_a_language_model_is_a_feature_and_a_member(data, language_model, score, translate):
    model = data / "m.npz"
    trained = runs.train(data, "-m", model, *runs.SIZES, "--valid-freq", "0", "--after", "2u")
    assert trained.code == 0
    pairs = ("-s", data / "dev.src", "-t", data / "dev.trg")

    def numbers(*arguments):
        code, output, messages = score(*arguments)
        assert code == 0, messages
        return np.array([[float(x) for x in line.split()] for line in output.splitlines()])

    alone = numbers("-m", language_model, "-t", data / "dev.trg")
    both = numbers("-m", model, language_model, *pairs)
    np.testing.assert_allclose(both[:, 1:], alone, atol=1e-5)
    together = numbers("-m", model, language_model, *pairs, "--weights", 1, 0.3)
    np.testing.assert_allclose(together[:, 0], both @ [1, 0.3], atol=1e-4)
    fused = ("-m", model, language_model, "--weights", 1, 0.3, "-k", 3, "-n", 0, "--n-best")
    code, lists, _ = translate(*fused, text="w1 w2\nw3\n")
    assert code == 0
    hypotheses = [line.split(" ||| ") for line in lists.splitlines()]
    (data / "list.src").write_text("w1 w2\nw3\n")
    (data / "list").write_text(lists)
    given = ("-m", model, language_model, "-s", data / "list.src", "--n-best", data / "list")
    code, rescored, messages = score(*given)
    assert code == 0, messages
    finished = 0
    for line, fields in zip(rescored.splitlines(), hypotheses, strict=True):
        features = line.split(" ||| ")[2].split("=")[1:]
        own = [float(f.split()[0]) for f in features]
        if len(fields[1].split()) == 200:  # cut at the limit, so it has no EOS to score
            continue
        finished += 1
        assert own[-2:] == pytest.approx(own[:2], abs=1e-3)
        total = own[0] + 0.3 * own[1]
        assert float(fields[-1]) == pytest.approx(total, abs=1e-3)
    assert finished


def test_options_that_a_language_model_refuses(data, language_model, score, translate):
    refused = {
        "no source": score("-m", language_model, "-s", data / "dev.src", "-t", data / "dev.trg"),
        "is a language model and does not translate": translate("-m", language_model, text="W1\n"),
        "type lm has no attention": translate("-m", language_model, "--alignment", text="\n"),
    }
    for message, (code, output, messages) in refused.items():
        assert code in (1, 2) and message in messages and not output


def test_texts_continue_from_their_beginnings(data, language_model, translate):
    code, output, _ = translate(
        "-m", language_model, "--force-decode", "--translation-maxlen", 4, text="W1 W2\n\nW3\n"
    )
    lines = output.split("\n")
    assert code == 0 and lines[0].startswith("W1 W2") and lines[2].startswith("W3")


@pytest.mark.parametrize("kind", ["encdec", pytest.param("seq2seq", marks=pytest.mark.exhaustive)])
def test_a_decoder_without_feedback(data, tmp_path, translate, score, kind):
    """It resumes bit-exactly, and can be searched, scored, converted and described."""
    given = [data, *runs.SIZES, "--type", kind, "--no-feedback", "--enc-type", "reversed"]
    given += ["--precision", "bfloat16", "--dropout-hidden", 0.2, "--valid-freq", 0]
    given += ["--log-gradients"]
    model, whole = tmp_path / "m.npz", tmp_path / "whole.npz"
    runs.trained("-m", whole, *given, "--after", "5u")
    for after in ("2u", "5u"):
        runs.trained("-m", model, *given, "--after", after)
    arrays = runs.arrays(whole)
    assert all(np.array_equal(array, arrays[name]) for name, array in runs.arrays(model).items())

    search = ("-k", 4, "--normalize", 0, "--n-best", "--translation-maxlen", 3)
    code, lists, messages = translate("-m", model, *search, text="w1 w2\n")
    fields = [line.split(" ||| ") for line in lists.splitlines()]
    # a translation that was cut has no EOS to score
    fields = [f for f in fields if len(f[1].split()) < 3]
    assert code == 0 and fields, messages
    runs.lines(tmp_path / "s", ["w1 w2"] * len(fields))
    runs.lines(tmp_path / "t", [f[1] for f in fields])
    code, scores, _ = score("-m", model, "-s", tmp_path / "s", "-t", tmp_path / "t")
    expected = [float(f[-1]) for f in fields]
    assert [float(line) for line in scores.splitlines()] == pytest.approx(expected, abs=2e-5)

    def convert(*arguments):
        return CliRunner().invoke(main, ["convert", *map(str, arguments)])

    assert convert(model, tmp_path / "m.h5").exit_code == 0
    code, lists_of_h5, _ = translate(
        "-m", tmp_path / "m.h5", *search, "-v", data / "vocab.src.json", data / "vocab.trg.json",
        text="w1 w2\n",
    )  # fmt: skip
    assert lists_of_h5 == lists
    assert convert(model, "--info").stdout.count("feedback") == 1
    refused = convert(model, tmp_path / "x.npz", "--to", "dl4mt")
    assert refused.exit_code == 1 and "does not read the previous word" in refused.stderr
