"""Models of other programs can be trained further, and other programs can score ours."""

import functools
import gzip
import hashlib
import itertools
import json
import subprocess
import sys
from pathlib import Path

import click.testing
import numpy as np
import pytest
from cases import tiny
from models import Case, forced_scores, nmtpy, pad_source, pad_target
from selection import choice

from cgru_cli.cli import main
from cgru_cli.corpus.batches import Batch
from cgru_cli.formats import model_vocabularies, read_model, write_model
from cgru_cli.formats.model import Model
from cgru_cli.network.keras_model import RecurrentModel
from cgru_cli.network.network import Network
from cgru_cli.optimization.optimizers import optimizer
from cgru_cli.optimization.step import Regularization, TrainingStep
from cgru_cli.parameters.initialization import initial_arrays
from cgru_cli.parameters.structure import Normalization
from cgru_cli.text.moses import Tokenizer
from cgru_cli.text.subwords import Codes

pytestmark = pytest.mark.long


LEGACY = {
    "Nematus-Theano": "a-shallow/model.npz",
    "Nematus-TF": "a-shallow/native/ref",
    "Nematus-TF, its own biases": "e-deep-tf/native/model-1500",
    "Marian nematus": "marian-nematus/model.npz",
    "Marian amun": "marian-amun/model.npz",
    "Marian s2s": "marian-s2s/model.npz",
    "DL4MT": "a-shallow/model.npz",
    "nmtpy": "a-shallow/model.npz",
}
UPDATES, ROWS, RATE = 100, 8, 3e-4
# lines of Multi30k's validation text, on which no model was trained
HELD_OUT, LEARNT = 50, UPDATES * ROWS


@functools.cache
def unseen_text(codes, folder, language):
    """Further lines, prepared like the text of the reference models."""
    tokenizer = Tokenizer(language, escape=True, split_hyphens=False)
    split = Codes(codes.read_text("utf-8"), str(codes)).split
    with gzip.open(folder / f"val.{language}.gz", "rt", encoding="utf-8", newline="\n") as stream:
        lines = [line.rstrip("\n") for line in itertools.islice(stream, HELD_OUT + LEARNT)]
    return [split(tokenizer.split(line)) for line in lines[HELD_OUT:]]


@functools.cache
def legacy_step(structure):
    model = RecurrentModel(structure, initial_arrays(structure, "scaled", 1))
    step = TrainingStep(model, optimizer("adam", (), 0.1), Regularization(clip_norm=1.0), jit=False)
    return step, step.state()


def as_dialect(dialect, path, vocabularies, folder):
    """The model's file in the dialect: converted to DL4MT or nmtpy, otherwise `path`."""
    model = read_model.read(path)
    if dialect == "DL4MT":
        path = folder / "model.npz"
        write_model.write(model, path, "dl4mt", model_vocabularies.find(model, vocabularies))
    elif dialect == "nmtpy":
        path = folder / "model.npz"
        np.savez(path, **nmtpy(model.structure, model.arrays))
    return path


COSTS = {}  # costs before and after each training that was run


def costs(case, held_out, sources, targets):
    """The cost in nats of held-out lines, before and after the updates; equal trainings run
    once."""
    arrays = {name: array.tobytes() for name, array in sorted(case.model.arrays.items())}
    given = repr((case.model.structure, held_out, sources, targets, arrays))
    key = hashlib.sha256(given.encode()).digest()
    if key not in COSTS:
        before = -forced_scores(case.network, *held_out).sum()
        step, state = legacy_step(case.model.structure)
        step.restore(state)
        step.model.assign(case.model.arrays)
        # batches of similar lengths in random order, as in `cgru train`
        by_length = np.argsort([len(target) for target in targets], kind="stable")
        for rows in np.random.default_rng(1).permutation(by_length.reshape(UPDATES, ROWS)):
            pairs = [[side[row] for row in rows] for side in (sources, targets)]
            batch = Batch(*pad_source(pairs[0]), *pad_target(pairs[1]))
            assert step.update([[(batch, {})]], float(ROWS), RATE).applied
        learnt = Network(case.model.structure, step.weights())
        COSTS[key] = before, -forced_scores(learnt, *held_out).sum()
    return COSTS[key]


# the trace of the deep model takes most of the time
@pytest.mark.parametrize(
    "dialect", choice(LEGACY, *(LEGACY.keys() - {"Nematus-TF, its own biases"}))
)
def test_a_model_of_each_dialect_learns_on(shared, tmp_path, dialect):
    """A hundred updates on text like its training text improve the cost of other lines."""
    pytest.importorskip("sacremoses")
    pytest.importorskip("subword_nmt")
    folder = shared("fixtures") / Path(LEGACY[dialect]).parts[0]
    vocabularies = [str(folder / f"vocab.{language}.json") for language in ("en", "de")]
    path = as_dialect(dialect, shared("fixtures") / LEGACY[dialect], vocabularies, tmp_path)
    case = Case(path, vocabularies)
    held_out = case.source_ids(folder / "src.txt"), case.target_ids(folder / "trg.txt")
    assert len(held_out[0]) == HELD_OUT
    text = [
        unseen_text(shared("fixtures/a-shallow/codes.bpe"), shared("data/multi30k"), language)
        for language in ("en", "de")
    ]
    sources = [[(i,) for i in case.sources[0].encode(words)] for words in text[0]]
    targets = [case.target.encode(words) for words in text[1]]
    before, after = costs(case, held_out, sources, targets)
    assert after < 0.99 * before  # measured: 0.971 to 0.987


@pytest.mark.exhaustive
def test_marian_gives_a_trained_model_the_same_scores(tmp_path):
    """After some updates and conversion, Marian 1.12 gives the same scores, to 2e-4 nats."""
    pytest.importorskip("pymarian")
    words = ["eos", "UNK", *(f"w{i}" for i in range(2, 14))]
    for side in ("src", "trg"):
        (tmp_path / f"{side}.json").write_text(json.dumps({w: i for i, w in enumerate(words)}))
    structure = tiny(
        source_vocabularies=(14,), source_embeddings=(8,), target_vocabulary=14,
        target_embedding=8, state=8, normalization=Normalization.NEMATUS, tied_output=True,
    )  # fmt: skip
    rng = np.random.default_rng(3)
    sources = [[int(i) for i in rng.integers(1, 14, size=n)] for n in (3, 1, 7, 5, 4, 2)]
    targets = [source[::-1] for source in sources]
    batch = Batch(*pad_source([[(i,) for i in s] for s in sources]), *pad_target(targets))
    step, _ = legacy_step(structure)
    costs = [step.update([[(batch, {})]], 6.0, 0.02).cost for _ in range(25)]
    assert costs[-1] < 0.8 * costs[0]

    trained = Model(tmp_path / "x", structure, step.weights(), "nematus")
    trained.settings.vocabularies = ["src.json", "trg.json"]
    write_model.write(trained, tmp_path / "model.npz", "npz")
    (tmp_path / "marian").mkdir()
    converted = tmp_path / "marian" / "model.npz"
    command = ["convert", str(tmp_path / "model.npz"), str(converted), "--to", "marian-nematus"]
    result = click.testing.CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    for side, lines in (("src", sources), ("trg", targets)):
        text = "".join(" ".join(words[i] for i in line) + "\n" for line in lines)
        (tmp_path / side).write_text(text)
    vocabularies = [str(v.path) for v in model_vocabularies.find(read_model.read(converted))]
    subprocess.run(
        [str(Path(sys.executable).with_name("pymarian")), "score", "-m", str(converted),
         "-v", *vocabularies, "-t", str(tmp_path / "src"), str(tmp_path / "trg"),
         "-o", str(tmp_path / "scores"), "--cpu-threads", "1", "--quiet"],
        check=True, capture_output=True,
    )  # fmt: skip
    found = np.array((tmp_path / "scores").read_text().split(), float)
    own = forced_scores(
        Network(structure, step.weights()), [[(i,) for i in s] for s in sources], targets
    )
    np.testing.assert_allclose(found, own, atol=2e-4)
    assert -own.sum() == pytest.approx(step.update([[(batch, {})]], 6.0, 0.0).cost, rel=1e-5)
