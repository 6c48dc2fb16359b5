"""Marian itself decodes what is written for it, and gives the reference cases' n-best lists."""

import itertools
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from shared_files import fixture_path

from cgru_cli.cli import main
from cgru_cli.formats import model_vocabularies, write_model
from cgru_cli.formats.read_configuration import from_marian
from cgru_cli.formats.read_model import read
from cgru_cli.system.structured_files import parse_yaml

pytest.importorskip("pymarian")

BATCHED = ["--mini-batch", "10", "--maxi-batch", "10", "--maxi-batch-sort", "src"]
NORMALIZED = ["--normalize", "1"]

CASES = [
    ("a-shallow", "marian-amun", "marian-amun/nbest.k5.norm1.txt", [*NORMALIZED, *BATCHED]),
    ("a-shallow", "marian-nematus", "marian-nematus/nbest.k5.norm1.txt", [*NORMALIZED, *BATCHED]),
    ("a-shallow", "marian-s2s", "marian-amun/nbest.k5.txt", BATCHED),
    ("b-layernorm", "marian-nematus", "marian-nematus/nbest.k5.norm1.txt", [*NORMALIZED, *BATCHED]),
    ("c-tied-dec", "marian-nematus", "marian-nematus/nbest.k5.norm1.txt", [*NORMALIZED, *BATCHED]),
    ("d-tied-all", "marian-amun", "marian-amun/nbest.k5.norm1.txt", [*NORMALIZED, *BATCHED]),
    ("marian-s2s", "marian-nematus", "nbest.k5.txt", []),
    ("marian-s2s-deep", "marian-s2s", "nbest.k5.norm1.txt",
     [*NORMALIZED, "--max-length-factor", "2"]),
    *((f"marian-s2s-{kind}", "marian-s2s", "nbest.k5.norm1.txt",
       [*NORMALIZED, "--max-length-factor", "2"])
      for kind in ("lstm", "tanh", "bi-unidirectional", "bi-uni-cell2-skip")),
]  # fmt: skip


def decode(folder, name, to, options):
    """Marian's n-best lists from a model converted to one of its types."""
    model = read(fixture_path(f"{name}/model.npz"))
    out = folder / "model.npz"
    write_model.write(model, out, to, model_vocabularies.find(model))
    told = parse_yaml((folder / "model.npz.decoder.yml").read_bytes(), "decoder.yml")
    vocabularies = [str(folder / v) for v in from_marian(told, "decoder.yml").vocabularies]
    program = Path(sys.executable).with_name("pymarian")
    subprocess.run(
        [str(program), "decode", "-m", str(out), "-v", *vocabularies, "-b", "5", "--allow-unk",
         "-i", str(fixture_path(f"{name}/src.txt")), "-o", str(folder / "nbest"), "--n-best",
         "--cpu-threads", "1", "--quiet", "--quiet-translation", *options],
        check=True, capture_output=True,
    )  # fmt: skip
    return n_best(folder / "nbest")


def n_best(path):
    """Hypotheses and totals by sentence."""
    lists = {}
    for line in path.read_text().split("\n")[:-1]:
        number, hypothesis, *_, total = line.split(" ||| ")
        lists.setdefault(int(number), []).append((hypothesis.strip(), float(total)))
    return lists


@pytest.mark.parametrize(("name", "to", "expected", "options"), CASES)
def test_marian_gives_the_reference_lists(tmp_path, name, to, expected, options):
    found = decode(tmp_path, name, to, options)
    wanted = n_best(fixture_path(f"{name}/{expected}"))
    assert found.keys() == wanted.keys()
    for number, hypotheses in wanted.items():
        assert [h for h, _ in found[number]] == [h for h, _ in hypotheses]
        totals = [total for _, total in hypotheses]
        assert [total for _, total in found[number]] == pytest.approx(totals, abs=1e-3)


def test_marian_computes_a_deep_nematus_model(tmp_path):
    """Nematus-TF searches otherwise: the best hypotheses are the same, and shared scores."""
    found = decode(tmp_path, "e2-deep-theano", "marian-s2s", BATCHED)
    wanted = n_best(fixture_path("e2-deep-theano/nbest.k5.txt"))
    shared = 0
    for number, hypotheses in wanted.items():
        assert found[number][0][0] == hypotheses[0][0]
        scores = dict(hypotheses)
        for hypothesis, total in found[number]:
            if hypothesis in scores:
                assert total == pytest.approx(scores[hypothesis], abs=1e-3)
                shared += 1
    assert shared >= 4 * len(wanted)


# -- shortlists ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shortlisted(tmp_path_factory):
    """A folder with a tied model, as Marian needs it for shortlists, and a table of words."""
    folder = tmp_path_factory.mktemp("shortlist")
    model = read(fixture_path("c-tied-dec/model.npz"))
    vocabularies = model_vocabularies.find(model)
    write_model.write(model, folder / "model.npz", "marian-nematus", vocabularies)
    texts = [fixture_path(f"c-tied-dec/{name}.txt").read_text().splitlines()
             for name in ("src", "trg")]  # fmt: skip
    counts = Counter(
        pair
        for source, target in zip(*texts, strict=True)
        for pair in itertools.product(source.split(), target.split())
    )
    counts[max(vocabularies[0].words.items())[1], "."] = 1  # Marian's binary file needs the last
    (folder / "lex.s2t").write_text(
        "".join(f"{t} {s} {count / 100:.3f}\n" for (s, t), count in counts.items())
    )
    return folder


def pymarian(*arguments):
    program = Path(sys.executable).with_name("pymarian")
    subprocess.run([str(program), *map(str, arguments)], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("kind", "batched"), [("text", ()), ("text", ("--mini-batch", "50")), ("binary", ())]
)
def test_a_shortlist_gives_marians_lists(shortlisted, tmp_path, kind, batched):
    folder = shortlisted
    vocabularies = [folder / "vocab.en.yml", folder / "vocab.de.yml"]
    given = [folder / "lex.s2t", "20", "10"]
    if kind == "binary":
        pymarian("convert", "--shortlist", *given, "0", "--dump-shortlist", tmp_path / "lex.bin",
                 "--vocabs", *vocabularies)  # fmt: skip
        given = [tmp_path / "lex.bin"]
    source = fixture_path("c-tied-dec/src.txt")
    options = ["-m", folder / "model.npz", "-i", source, "--n-best", "--normalize", "1",
               "--allow-unk", "--shortlist", *given, *batched]  # fmt: skip
    pymarian("decode", *options, "-v", *vocabularies, "-b", "5", "-o", tmp_path / "theirs",
             "--cpu-threads", "1", "--quiet", "--quiet-translation")  # fmt: skip
    done = CliRunner().invoke(
        main, ["translate", *map(str, options), "-k", "5", "-o", str(tmp_path / "own")]
    )
    assert done.exit_code == 0, done.stderr
    own, theirs = n_best(tmp_path / "own"), n_best(tmp_path / "theirs")
    assert own.keys() == theirs.keys() and len(own) == 50
    for number, hypotheses in theirs.items():
        assert [h for h, _ in own[number]] == [h for h, _ in hypotheses]
        totals = [total for _, total in hypotheses]
        assert [total for _, total in own[number]] == pytest.approx(totals, abs=1e-3)
