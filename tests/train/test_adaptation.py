"""Frozen parameters, priors, and training in other directions."""

import numpy as np
import pytest
import runs
from cases import random_arrays, small_structure
from commands import in_process

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.formats import model_vocabularies, read_model, write_model
from cgru_cli.formats.model import Model
from cgru_cli.train import adaptation

pytestmark = pytest.mark.long


def model(path="m.npz", **changes):
    structure = small_structure(**changes)
    return Model(path, structure, random_arrays(structure), "nematus")


@pytest.mark.parametrize(
    ("patterns", "embeddings", "names"),
    [
        (("ff_logit_W",), False, {"ff_logit_W"}),
        (("Wemb*",), False, {"Wemb", "Wemb_dec"}),
        ((), True, {"Wemb", "Wemb_dec"}),
        (
            ("encoder_?", "decoder/output/*"),
            False,
            {"encoder_U", "encoder_W", "encoder_b", "ff_logit_W", "ff_logit_b"},
        ),
        (
            ("encoder/backward/*",),
            True,
            {"Wemb", "Wemb_dec", *(f"encoder_r_{n}" for n in ("U", "Ux", "W", "Wx", "b", "bx"))},
        ),
    ],
)
def test_patterns_of_names_and_of_paths(patterns, embeddings, names):
    assert set(adaptation.frozen(model(), patterns, embeddings=embeddings)) == names


def test_one_embedding_is_fixed():
    one = model(source_vocabularies=(13,), shared_embeddings=True, tied_output=True)
    assert adaptation.frozen(one, (), embeddings=True) == ["Wemb"]


@pytest.mark.parametrize(
    ("patterns", "message"),
    [(("encoder_X",), "no parameter has this name"), (("*",), "nothing is left to train")],
)
def test_patterns_that_are_refused(patterns, message):
    with pytest.raises(UsageError, match=message):
        adaptation.frozen(model(), patterns)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"state": 5}, r"encoder_U: \(5, 10\), but the model being trained has \(4, 8\)"),
        ({"decoder_depth": 2}, "decoder_2_U: the model being trained has no such array"),
        ({"tied_output": True}, "ff_logit_W: missing"),
    ],
)
def test_a_prior_of_another_structure(tmp_path, changes, message):
    other = model(**changes)
    np.savez(tmp_path / "prior.npz", **other.arrays)
    with pytest.raises(CgruError, match=message):
        adaptation.prior(model(), str(tmp_path / "prior.npz"))


# -- whole trainings -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return runs.prepared(tmp_path_factory.mktemp("data") / "data", pairs=24)


@pytest.fixture(scope="module")
def first(data):
    path = data / "first" / "m.npz"
    trained(data, path)
    return path


def trained(data, path, *options, model=runs.PLAIN, after=2):
    given = (*model, "--valid-freq", "0", "--after", f"{after}u", "-l", "0.01")
    result = runs.train(data, "-m", path, *given, *options)
    assert result.code == 0, result.messages
    return read_model.read(path).arrays


def distance(arrays, others):
    return sum(float(((array - others[name]) ** 2).sum()) for name, array in arrays.items())


def test_frozen_parameters_stay_and_others_do_not(data, first, tmp_path):
    before = read_model.read(first).arrays
    given = ("--pretrained-model", first, "--freeze", "decoder_*", "--fix-embeddings")
    after = trained(data, tmp_path / "m.npz", *given)
    for name, array in after.items():
        kept = name.startswith(("decoder_", "Wemb"))
        assert kept == np.array_equal(array, before[name]), name


def test_a_prior_without_weight_changes_nothing(data, first, tmp_path):
    plain = trained(data, tmp_path / "a" / "m.npz", "--pretrained-model", first)
    prior = trained(data, tmp_path / "b" / "m.npz", "--prior-model", first, "--map-decay-c", "0")
    assert all(np.array_equal(array, prior[name]) for name, array in plain.items())


def test_a_prior_keeps_weights_close(data, first, tmp_path):
    before = read_model.read(first).arrays
    plain = trained(data, tmp_path / "a" / "m.npz", "--pretrained-model", first, after=9)
    given = ("--prior-model", first, "--map-decay-c", "1")
    held = trained(data, tmp_path / "b" / "m.npz", *given, after=9)
    assert 0 < distance(held, before) < 0.8 * distance(plain, before)


def test_from_right_to_left_is_forward_on_reversed_lines(data, tmp_path):
    turned = []
    for name in ("train", "dev"):
        lines = (data / f"{name}.trg").read_text().splitlines()
        text = [" ".join(line.split()[::-1]) for line in lines]
        turned.append(runs.lines(tmp_path / f"{name}.trg", text))
    common = (*runs.PLAIN, "--valid-freq", "2u", "--after", "2u", "-l", "0.01")
    backward = runs.train(data, "-m", tmp_path / "a" / "m.npz", "--right-left", *common)
    texts = ("-t", data / "train.src", turned[0], "--valid-sets", data / "dev.src", turned[1])
    forward = runs.train(data, "-m", tmp_path / "b" / "m.npz", *common, *texts)
    assert backward.code == forward.code == 0, (backward.messages, forward.messages)
    models = [tmp_path / side / "m.npz" for side in "ab"]
    assert read_model.read(models[0]).settings.right_left
    one, other = (read_model.read(path).arrays for path in models)
    assert all(np.array_equal(array, other[name]) for name, array in one.items())
    costs = [runs.records(path, "valid") for path in models]
    for record, same in zip(*costs, strict=True):
        if record["metric"] == "cross-entropy":
            assert record["value"] == same["value"]
    score = in_process("score", tmp_path)
    pairs = ("-s", data / "dev.src")
    assert (
        score("-m", models[0], *pairs, "-t", data / "dev.trg")[1]
        == score("-m", models[1], *pairs, "-t", turned[1])[1]
    )
    translate = in_process("translate", tmp_path)
    text = (data / "dev.src").read_text()
    ours, theirs = (
        translate("-m", path, "--translation-maxlen", 9, text=text)[1].splitlines()
        for path in models
    )
    assert ours == [" ".join(line.split()[::-1]) for line in theirs]


def test_a_source_from_its_end_is_forward_on_reversed_lines(data, first, tmp_path):
    """Training from a model that reads both sides from the end, as Marian's do."""
    texts = {}
    for side in ("src", "trg"):
        for name in ("train", "dev"):
            lines = (data / f"{name}.{side}").read_text().splitlines()
            turned = [" ".join(line.split()[::-1]) for line in lines]
            texts[name, side] = runs.lines(tmp_path / f"{name}.{side}", turned)
    model = read_model.read(first)
    model.settings.right_left = model.settings.source_reversed = True
    backward = tmp_path / "backward.npz"
    write_model.write(model, backward, "npz", model_vocabularies.find(model))
    common = ("--valid-freq", "2u", "--after", "2u", "-l", "0.01")
    runs.trained(
        data,
        "-m",
        tmp_path / "a" / "m.npz",
        *runs.SIZES[4:],
        *common,
        "--pretrained-model",
        backward,
        "--right-left",
    )
    runs.trained(
        data,
        "-m",
        tmp_path / "b" / "m.npz",
        *runs.SIZES[4:],
        *common,
        "--pretrained-model",
        first,
        "-t",
        texts["train", "src"],
        texts["train", "trg"],
        "--valid-sets",
        texts["dev", "src"],
        texts["dev", "trg"],
    )
    models = [tmp_path / side / "m.npz" for side in "ab"]
    one, other = map(read_model.read, models)
    assert one.settings.source_reversed and not other.settings.source_reversed
    assert all(np.array_equal(array, other.arrays[name]) for name, array in one.arrays.items())
    of_both = zip(*(runs.records(path, "valid") for path in models), strict=True)
    costs = [(a["value"], b["value"]) for a, b in of_both if a["metric"] == "cross-entropy"]
    assert costs and all(ours == theirs for ours, theirs in costs)


def test_alignments_turn_with_the_targets(data, tmp_path):
    """Each target word is aligned with its source word, in both directions."""
    lines = [line.split() for line in (data / "train.src").read_text().splitlines()]
    mirrored = [" ".join(f"{i}-{len(w) - 1 - i}" for i in range(len(w))) for w in lines]
    file = runs.lines(tmp_path / "align", mirrored)
    turned = [" ".join(f"{i}-{i}" for i in range(len(w))) for w in lines]
    reverse = runs.lines(tmp_path / "reverse", turned)
    targets = (data / "train.trg").read_text().splitlines()
    text = runs.lines(tmp_path / "t.trg", [" ".join(t.split()[::-1]) for t in targets])
    given = ("--right-left", "--guided-alignment", file)
    one = trained(data, tmp_path / "a" / "m.npz", *given, model=runs.ATTENTIVE)
    given = ("-t", data / "train.src", text, "--guided-alignment", reverse)
    other = trained(data, tmp_path / "b" / "m.npz", *given, model=runs.ATTENTIVE)
    assert all(np.array_equal(array, other[name]) for name, array in one.items())


def test_models_that_write_in_two_directions(data, first, tmp_path):
    result = runs.train(data, "-m", tmp_path / "m.npz", "--pretrained-model", first, "--right-left")
    assert result.code == 2 and "leave out --right-left" in result.error
