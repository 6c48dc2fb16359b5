"""Models in files of every format give the same results, alone and together."""

import os
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from commands import in_process, output_lines, write_model
from tolerances import LOG_PROBABILITY

from cgru_cli import write_model as converted
from cgru_cli.cli import main
from cgru_cli.formats.read_model import read
from cgru_cli.search.ensemble import Ensemble
from cgru_cli.translate.translator import Translator

TEXT = "a b c\n\nf f a d\nb unseen\n"
SEARCH = ("-k", 3, "-n", 0, "--translation-maxlen", 6, "--n-best", "--quiet")
# without TensorFlow and other packages that only training and metrics need
WITHOUT = """
import sys
for name in ("tensorflow", "keras", "tf2onnx", "sacrebleu"):
    sys.modules[name] = None
from cgru_cli.__main__ import main
main()
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """One model as an .npz, an .h5, an .onnx, and a TensorFlow checkpoint."""
    folder = tmp_path_factory.mktemp("models")
    path = write_model(folder, source_embeddings=(4,), target_embedding=4)
    vocabularies = [str(folder / "src.json"), str(folder / "trg.json")]
    paths = [path]
    for name, to in (("x.h5", "h5"), ("x.onnx", "onnx"), ("checkpoint", "nematus-tf")):
        paths.append(str(converted(read(path), folder / name, to, vocabularies)))
    return paths


@pytest.fixture
def translate(tmp_path):
    return output_lines(in_process("translate", tmp_path))


@pytest.fixture
def score(tmp_path):
    return output_lines(in_process("score", tmp_path))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """The options that name the source and the target of some pairs."""
    folder = tmp_path_factory.mktemp("pairs")
    (folder / "source").write_text("a b c\nf f a d\nc\n")
    (folder / "target").write_text("A B\nF\nA A B\n")
    return "-s", folder / "source", "-t", folder / "target", "--quiet"


def lists(lines):
    """(number, text) and scores of a list."""
    fields = [line.split(" ||| ") for line in lines]
    return [one[:2] for one in fields], [float(one[-1]) for one in fields]


def test_every_format_gives_the_same_lists(models, translate):
    first, *others = (translate("-m", path, *SEARCH, text=TEXT) for path in models)
    assert len(first) == 10
    for other in others:
        assert other == first


def test_an_ensemble_of_all_formats_is_each_of_them(models, pairs, translate, score):
    texts, totals = lists(translate("-m", models[0], *SEARCH, text=TEXT))
    together, means = lists(translate("-m", *models, *SEARCH, text=TEXT))
    assert together == texts
    np.testing.assert_allclose(means, totals, atol=LOG_PROBABILITY)
    alone = [float(line.split()[0]) for line in score("-m", models[0], *pairs)]
    several = score("-m", *models, *pairs)
    for line, expected in zip(several, alone, strict=True):
        assert [float(number) for number in line.split()[:4]] == [expected] * 4
    mean = [float(line.split()[0]) for line in score("-m", *models, "--ensemble", *pairs)]
    np.testing.assert_allclose(mean, alone, atol=LOG_PROBABILITY)


def test_the_best_words_of_every_format(models, pairs, tmp_path):
    tables = []
    for path in models:
        output = tmp_path / "top.npy"
        given = ["score", "-m", path, "--word-top-k", 3, *pairs, "-o", output]
        done = CliRunner().invoke(main, [*map(str, given)])
        assert done.exit_code == 0, done.stderr
        tables.append(np.load(output))
    assert tables[0].shape == (9, 3)
    for table in tables[1:]:
        np.testing.assert_array_equal(table, tables[0])


def test_batches_fit_into_the_workspace(models, monkeypatch):
    sizes = {}
    encode = Ensemble.encode
    for workspace in (1, 64):
        monkeypatch.setattr(
            Ensemble,
            "encode",
            lambda self, sources, w=workspace: (
                sizes.setdefault(w, []).append(sources[0][0].shape[0]) or encode(self, sources)
            ),
        )
        options = {"workspace": workspace, "mini_batch": 500, "translation_maxlen": 1}
        Translator(models[2], **options).translate(["a b c d e@@ f a b c d e@@"] * 500)
    assert max(sizes[1]) < 250 and max(sizes[64]) == 500


def test_commands_compute_without_tensorflow(models, pairs, translate, score):
    expected = "".join(f"{line}\n" for line in translate("-m", *models, *SEARCH, text=TEXT))
    scored = "".join(f"{line}\n" for line in score("-m", *models, *pairs))

    def run(*arguments, text=""):
        return subprocess.run(
            [sys.executable, "-c", WITHOUT, *map(str, arguments)],
            input=text, capture_output=True, text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip

    done = run("translate", "-m", *models, *SEARCH, text=TEXT)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
    done = run("score", "-m", *models, *pairs)
    assert (done.returncode, done.stdout) == (0, scored), done.stderr
