"""Marian itself decodes what is written for it, and gives the reference cases' n-best lists."""

import subprocess
import sys
from pathlib import Path

import pytest
from shared_files import fixture_path

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
