"""`cgru score --word-top-k`: the words of models and ensembles, by the equations in NumPy."""

import json
from pathlib import Path

import numpy as np
import pytest
from cases import random_arrays, tiny
from commands import SOURCE, TARGET, in_process, one_line, write_model
from models import reference
from oracles.labels import LabelModel

import cgru_cli
from cgru_cli.parameters.structure import Type

PAIRS = (
    ("a b c", "A D@@ E"), ("f f a d", "F"), ("b b", "unseen B"), ("c", "A A A A F B"), ("", ""),
)  # fmt: skip


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return [write_model(folder / str(seed), seed) for seed in (5, 6)]


@pytest.fixture
def texts(tmp_path):
    source, target = tmp_path / "src", tmp_path / "trg"
    source.write_text("".join(f"{pair[0]}\n" for pair in PAIRS))
    target.write_text("".join(f"{pair[1]}\n" for pair in PAIRS))
    return "-s", source, "-t", target


def expected(seeds, weights, step=1):
    """Log-probabilities of all words at all positions: (N,V). step: -1 from right to left."""
    structure = tiny(source_vocabularies=(len(SOURCE),), target_vocabulary=len(TARGET), state=8)
    rows = []
    for source, target in PAIRS:
        ids = [(SOURCE.index(word),) for word in source.split()]
        words = [TARGET.index(w) if w in TARGET else 1 for w in target.split()]
        total = 0
        for seed, weight in zip(seeds, weights, strict=True):
            arrays = random_arrays(structure, seed, scale=2.0)
            arrays["ff_logit_b"][:2] -= (1, 2)
            log_p = reference(structure, arrays).force_decode(ids, words[::step]).distributions
            log_p = np.concatenate([log_p[:-1][::step], log_p[-1:]])
            total = total + weight * log_p
        rows.append(total - np.log(np.exp(total).sum(axis=1, keepdims=True)))
    return np.concatenate(rows)


@pytest.mark.long
@pytest.mark.parametrize("weights", [(1.0,), (0.5, 0.5), (0.7, 0.3)])
def test_words_of_a_model_and_of_an_ensemble(models, texts, tmp_path, weights):
    path, count = tmp_path / "top.npy", len(weights)
    more = ("--weights", *weights) if count > 1 else ()
    code, _, messages = binary(
        tmp_path, "-m", *models[:count], *more, *texts, "--word-top-k", 3, "--mini-batch", 2
    )
    assert code == 0, messages
    check(np.load(path, allow_pickle=False), expected((5, 6)[:count], weights))


def check(found, log_p):
    """The three best words of log-probabilities (N,V)."""
    best = np.argsort(-log_p, axis=1)[:, :3]
    assert found.shape == best.shape
    assert np.array_equal(found["id"], best) and not found["id_high"].any()
    wanted = np.take_along_axis(log_p, best, axis=1)
    np.testing.assert_allclose(found["log_probability"], wanted, rtol=1e-3, atol=1e-4)


def test_words_from_right_to_left_are_in_the_order_of_the_text(models, texts, tmp_path):
    model = cgru_cli.read_model(models[0])
    model.settings.right_left = True
    cgru_cli.write_model(model, tmp_path / "reversed.npz")
    vocabularies = [Path(models[0]).with_name(name) for name in ("src.json", "trg.json")]
    code, _, messages = binary(
        tmp_path, "-m", tmp_path / "reversed.npz", "-v", *vocabularies, *texts, "--word-top-k", 3
    )
    assert code == 0, messages
    check(np.load(tmp_path / "top.npy"), expected((5,), (1.0,), step=-1))


@pytest.mark.parametrize("crf", [False, True])
def test_labels_of_a_tagger(tmp_path, crf):
    structure = tiny(
        type=Type.TAGGER, crf=crf, source_vocabularies=(len(SOURCE),),
        target_vocabulary=len(TARGET), state=8,
    )  # fmt: skip
    arrays = random_arrays(structure, 5, scale=2.0)
    model = cgru_cli.Model(tmp_path / "tagger.npz", structure, arrays, "nematus")
    cgru_cli.write_model(model, model.path)
    labels = {"a b c": "A D@@ B", "f": "F", "b b": "B A"}
    (tmp_path / "src").write_text("".join(f"{line}\n" for line in labels))
    (tmp_path / "trg").write_text("".join(f"{line}\n" for line in labels.values()))
    for name, words in (("src.json", SOURCE), ("trg.json", TARGET)):
        (tmp_path / name).write_text(json.dumps({word: i for i, word in enumerate(words)}))
    code, _, messages = binary(
        tmp_path, "-m", tmp_path / "tagger.npz", "-v", tmp_path / "src.json", tmp_path / "trg.json",
        "-s", tmp_path / "src", "-t", tmp_path / "trg", "--word-top-k", 3,
    )  # fmt: skip
    assert code == 0, messages
    oracle, rows = LabelModel(arrays, type="tagger", crf=crf), []
    for source, tags in labels.items():
        ids = [SOURCE.index(word) for word in source.split()]
        rows.append(oracle.force_decode(ids, [TARGET.index(tag) for tag in tags.split()])[0])
    found, log_p = np.load(tmp_path / "top.npy"), np.concatenate(rows)
    likely = found["log_probability"] > -np.inf  # after the last label, only the end is possible
    assert likely.sum() == 3 * 6 + 3
    best = np.argsort(-log_p, axis=1)[:, :3]
    assert np.array_equal(found["id"][likely], best[likely])
    wanted = np.take_along_axis(log_p, best, axis=1)
    np.testing.assert_allclose(found["log_probability"], wanted, rtol=1e-3, atol=1e-4)


def binary(folder, *arguments):
    """Run the command, which writes top.npy."""
    from click.testing import CliRunner

    from cgru_cli.cli import main

    result = CliRunner().invoke(
        main, ["score", *map(str, arguments), "-o", str(folder / "top.npy"), "--quiet"]
    )
    return result.exit_code, result.stdout, result.stderr


def test_more_words_than_the_vocabulary_has(models, texts, tmp_path):
    code, _, messages = binary(tmp_path, "-m", models[0], *texts, "--word-top-k", 100)
    assert code == 0, messages
    found = np.load(tmp_path / "top.npy")
    assert found.shape[1] == len(TARGET)
    np.testing.assert_allclose(np.exp(found["log_probability"].astype(float)).sum(1), 1, rtol=5e-3)


def test_what_has_no_such_words_is_refused(models, texts, tmp_path):
    run = in_process("score", tmp_path)
    one_line(run("-m", *models, *texts, "--word-top-k", 3), 2, "several models need --ensemble")
    one_line(run("-m", models[0], *texts, "--word-top-k", 3, "--word-scores"), 2, "--word-scores")
    (tmp_path / "trg").write_text("A\n")
    one_line(run("-m", models[0], *texts, "--word-top-k", 3), 1, "trg")
