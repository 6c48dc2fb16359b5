"""Marian itself decodes converted models, with the n-best lists of the reference cases."""

import itertools
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from selection import choice
from shared_files import fixture_path

from cgru_cli.cli import main
from cgru_cli.formats import model_vocabularies, write_model
from cgru_cli.formats.read_configuration import from_marian
from cgru_cli.formats.read_model import read
from cgru_cli.system.structured_files import parse_yaml

pytestmark = pytest.mark.long


pytest.importorskip("pymarian")

LINES = 20  # of the 50 lines of the reference cases: two batches
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
    """Marian's n-best lists of the first lines, with a model converted to one of its types."""
    model = read(fixture_path(f"{name}/model.npz"))
    out = folder / "model.npz"
    write_model.write(model, out, to, model_vocabularies.find(model))
    configuration = parse_yaml((folder / "model.npz.decoder.yml").read_bytes(), "decoder.yml")
    vocabularies = [str(folder / v) for v in from_marian(configuration, "decoder.yml").vocabularies]
    lines = fixture_path(f"{name}/src.txt").read_text("utf-8").splitlines(keepends=True)
    (folder / "src.txt").write_text("".join(lines[:LINES]), "utf-8")
    program = Path(sys.executable).with_name("pymarian")
    subprocess.run(
        [str(program), "decode", "-m", str(out), "-v", *vocabularies, "-b", "5", "--allow-unk",
         "-i", str(folder / "src.txt"), "-o", str(folder / "nbest"), "--n-best",
         "--cpu-threads", "1", "--quiet", "--quiet-translation", *options],
        check=True, capture_output=True,
    )  # fmt: skip
    return n_best(folder / "nbest")


def n_best(path, lines=None):
    """Hypotheses and totals by sentence, for the first lines."""
    lists = {}
    for line in path.read_text().split("\n")[:-1]:
        number, hypothesis, *_, total = line.split(" ||| ")
        if lines is None or int(number) < lines:
            lists.setdefault(int(number), []).append((hypothesis.strip(), float(total)))
    return lists


@pytest.mark.parametrize(
    ("name", "to", "expected", "options"), choice(CASES, *(CASES[i] for i in (0, 1, 2, 3, 7, 8)))
)
def test_marian_gives_the_reference_lists(tmp_path, name, to, expected, options):
    found = decode(tmp_path, name, to, options)
    wanted = n_best(fixture_path(f"{name}/{expected}"), LINES)
    assert found.keys() == wanted.keys()
    for number, hypotheses in wanted.items():
        assert [h for h, _ in found[number]] == [h for h, _ in hypotheses]
        totals = [total for _, total in hypotheses]
        assert [total for _, total in found[number]] == pytest.approx(totals, abs=1e-3)


def test_marian_computes_a_deep_nematus_model(tmp_path):
    """The search of Nematus-TF differs: compare best hypotheses and the scores of common ones."""
    found = decode(tmp_path, "e2-deep-theano", "marian-s2s", BATCHED)
    wanted = n_best(fixture_path("e2-deep-theano/nbest.k5.txt"), LINES)
    shared = 0
    for number, hypotheses in wanted.items():
        assert found[number][0][0] == hypotheses[0][0]
        scores = dict(hypotheses)
        for hypothesis, total in found[number]:
            if hypothesis in scores:
                assert total == pytest.approx(scores[hypothesis], abs=1e-3)
                shared += 1
    assert shared >= 4 * len(wanted)


# -- right to left ---------------------------------------------------------------------------------


def test_a_right_to_left_model_gives_marians_numbers(tmp_path):
    """Marian also reverses the source, and prints the attention in reversed order."""
    fixture = fixture_path("marian-s2s/model.npz")
    with np.load(fixture) as file:
        arrays = dict(file)
    said = arrays["special:model.yml"].tobytes()
    assert b"right-left: false\n" in said
    said = said.replace(b"right-left: false\n", b"right-left: true \n")
    arrays["special:model.yml"] = np.frombuffer(said, np.int8)
    np.savez(tmp_path / "model.npz", **arrays)
    texts = []
    for name in ("src.txt", "trg.txt"):
        lines = fixture_path(f"marian-s2s/{name}").read_text().splitlines()[:12]
        texts.append(tmp_path / name)
        texts[-1].write_text("".join(f"{line}\n" for line in lines))
    vocabularies = [fixture_path(f"marian-s2s/vocab.{language}.json") for language in ("en", "de")]
    common = ["-m", tmp_path / "model.npz", "-v", *vocabularies, "--alignment", "soft",
              "--word-scores", "--quiet"]  # fmt: skip
    listed = ["-i", texts[0], "--n-best", "--allow-unk", "-b", 5, "-o"]
    pymarian("decode", *common, *listed, tmp_path / "theirs", "--cpu-threads", 1,
             "--quiet-translation")  # fmt: skip
    scored = pymarian("score", *common, "-t", *texts, "--cpu-threads", 1)
    ran("translate", "--compat", "marian", *common, *listed, tmp_path / "ours")
    same_numbers((tmp_path / "ours").read_text(), (tmp_path / "theirs").read_text())
    ran("score", "--compat", "marian", *common, "-t", *texts, "-o", tmp_path / "scores")
    same_numbers((tmp_path / "scores").read_text(), scored)


@pytest.mark.parametrize(
    "options",
    choice(
        ["", "--alignment hard", "--alignment soft --word-scores", "--alignment 0.4 --n-best -b 3"],
        "--alignment soft --word-scores",
        "--alignment 0.4 --n-best -b 3",
    ),
)
def test_empty_lines_are_printed_as_marian_does(tmp_path, options):
    lines = fixture_path("marian-s2s/src.txt").read_text().splitlines()
    (tmp_path / "src").write_text(f"{lines[0]}\n\n{lines[1]}\n\n")
    vocabularies = [fixture_path(f"marian-s2s/vocab.{language}.json") for language in ("en", "de")]
    common = ["-m", fixture_path("marian-s2s/model.npz"), "-v", *vocabularies, "--quiet",
              "-i", tmp_path / "src", *options.split(), "-o"]  # fmt: skip
    pymarian("decode", *common, tmp_path / "theirs", "--cpu-threads", 1, "--quiet-translation")
    ran("translate", "--compat", "marian", *common, tmp_path / "ours")
    theirs = (tmp_path / "theirs").read_text()
    # Marian's F0 of an empty line depends on the lines around it
    theirs = re.sub(r"^(\d+ \|\|\|  .* F0=) \S+", r"\1 0", theirs, flags=re.M)
    same_numbers((tmp_path / "ours").read_text(), theirs)


def ran(*arguments):
    done = CliRunner().invoke(main, list(map(str, arguments)))
    assert done.exit_code == 0, done.stderr


def same_numbers(ours, theirs):
    """Check for equal lines, with almost equal numbers."""
    ours, theirs = (text.replace(",", " ").splitlines() for text in (ours, theirs))
    assert len(ours) == len(theirs) > 0
    for one, other in zip(ours, theirs, strict=True):
        words = list(zip(one.split(" "), other.split(" "), strict=True))
        for mine, wanted in words:
            if mine != wanted:
                assert float(mine) == pytest.approx(float(wanted), rel=1e-5, abs=2e-4)


@pytest.fixture
def pairs(tmp_path):
    """The arguments of a model and its vocabularies; 8 lines of text are in src and trg."""
    for name in ("src", "trg"):
        lines = fixture_path(f"marian-s2s/{name}.txt").read_text().splitlines()[:8]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    vocabularies = [fixture_path(f"marian-s2s/vocab.{language}.json") for language in ("en", "de")]
    return ["-m", fixture_path("marian-s2s/model.npz"), "-v", *vocabularies, "--quiet"]


def scored(out, *arguments):
    ran("score", "--compat", "marian", *arguments, "-o", out)
    return out.read_text()


def test_the_longest_line_counts_its_end_as_marian_does(tmp_path, pairs):
    """Without it, a line has one word more, and other translations and scores."""
    cut = [*pairs, "--max-length", "4", "--max-length-crop"]
    given = ["-i", tmp_path / "src", "-b", "2", "-o"]
    pymarian("decode", *cut, *given, tmp_path / "theirs", "--cpu-threads", 1, "--quiet-translation")
    ran("translate", "--compat", "marian", *cut, *given, tmp_path / "ours")
    assert (tmp_path / "ours").read_text() == (tmp_path / "theirs").read_text()
    texts = ["-t", tmp_path / "src", tmp_path / "trg"]
    theirs = pymarian("score", *cut, *texts, "--cpu-threads", 1)
    same_numbers(scored(tmp_path / "ours", *cut, *texts), theirs)


def test_training_takes_the_pairs_that_marian_takes(tmp_path, pairs):
    small = "--type s2s --dim-emb 4 --dim-rnn 4 --mini-batch 1 --maxi-batch 8 -e 1 --no-shuffle"
    texts = ["-t", tmp_path / "src", tmp_path / "trg", *pairs[2:5], *small.split()]
    lines = [(tmp_path / name).read_text().splitlines() for name in ("src", "trg")]
    longest = max(len(line.split()) for side in lines for line in side)
    texts += ["--max-length", longest, "--disp-freq", "1"]  # leaves out the longest pair
    updates = []
    for run, more in ((pymarian, ["--cpu-threads", 1]), (ran, [])):
        model = tmp_path / f"{run.__name__}.npz"
        command = ["train"] if run is pymarian else ["train", "--compat", "marian"]
        run(*command, *texts, "-m", model, *more)
        text = Path(f"{model}.progress.yml").read_text()
        updates.append(parse_yaml(text.encode(), "progress")["batches"])
    assert updates == [7, 7]


@pytest.mark.parametrize(
    "kind",
    choice(
        ["ce-mean", "ce-sum", "ce-mean-words", "perplexity", "ce-rescore"], "ce-mean", "perplexity"
    ),
)
def test_a_summary_is_marians_to_the_digit(tmp_path, pairs, kind):
    line = [*pairs, "-t", tmp_path / "src", tmp_path / "trg", "--summary", kind]
    theirs = pymarian("score", *line, "--cpu-threads", 1)
    ours = scored(tmp_path / "ours", *line)
    assert len(ours) == len(theirs)
    assert float(ours) == pytest.approx(float(theirs), rel=1e-4)


@pytest.mark.parametrize("options", ["--summary", "--word-scores"])
def test_a_list_is_scored_as_marian_does(tmp_path, pairs, options):
    targets = (tmp_path / "trg").read_text().splitlines()
    entries = [f"{i} ||| {text} ||| F0= -1 ||| -1\n" for i, text in enumerate(targets)]
    (tmp_path / "list").write_text("".join(entries))
    line = [*pairs, "--n-best", "-t", tmp_path / "src", tmp_path / "list", options]
    theirs = pymarian("score", *line, "--cpu-threads", 1)
    same_numbers(scored(tmp_path / "ours", *line), theirs)


def test_scores_of_words_have_five_decimals(tmp_path, pairs):
    line = [*pairs, "-t", tmp_path / "src", tmp_path / "trg", "--word-scores"]
    theirs = pymarian("score", *line, "--cpu-threads", 1)
    ours = scored(tmp_path / "ours", *line)
    same_numbers(ours, theirs)
    assert re.sub(r"\d", "9", ours) == re.sub(r"\d", "9", theirs)


# -- shortlists ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shortlisted(tmp_path_factory):
    """A folder with a tied model, which Marian needs for shortlists, and a shortlist."""
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
    counts[max(vocabularies[0].words.items())[1], "."] = 1  # Marian's binary file requires the last
    (folder / "lex.s2t").write_text(
        "".join(f"{t} {s} {count / 100:.3f}\n" for (s, t), count in counts.items())
    )
    return folder


def pymarian(*arguments):
    program = Path(sys.executable).with_name("pymarian")
    command = [str(program), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("kind", "batched"),
    choice(
        [("text", ()), ("text", ("--mini-batch", "50")), ("binary", ())],
        ("text", ()),
        ("binary", ()),
    ),
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
