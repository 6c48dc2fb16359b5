"""Pairs kept by their scores, by one model or two, against NumPy."""

import math
import os
import subprocess
from pathlib import Path

import numpy as np
import prepared
import pytest
from commands import SOURCE, TARGET, one_line, write_model
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.errors import CgruError
from cgru_cli.parameters.structure import Type
from cgru_cli.score.pairs.filter import PairFilter, dual_cross_entropy
from cgru_cli.score.pairs.readers import Pair

SOURCES = ["a b c", "", "f f a d", "b unseen", "c", "a b", "d d d d d d", "e@@ f"]
TARGETS = ["A D@@ E", "F", "", "unseen B", "A A A F B", "A B", "C", "D@@ E E"]
PAIRS = list(zip(SOURCES, TARGETS, strict=True))


@pytest.fixture
def lines(score):
    def run(*arguments):
        code, text, messages = score(*arguments)
        assert code == 0, messages
        return text.split("\n")[:-1]

    return run


@pytest.fixture
def model(tmp_path):
    return write_model(tmp_path / "forward")


@pytest.fixture
def backward(tmp_path):
    return write_model(tmp_path / "backward", seed=9, source=TARGET, target=SOURCE)


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "pairs"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    return path


COST = st.floats(0, 50)


@given(COST, COST)
def test_agreement_and_certainty_give_high_dual_scores(forward, backward):
    score = dual_cross_entropy(forward, backward)
    assert 0 < score <= 1
    assert score == dual_cross_entropy(backward, forward)
    # the same formula in terms of the larger and the smaller cost
    large, small = max(forward, backward), min(forward, backward)
    assert score == pytest.approx(math.exp(-1.5 * large + 0.5 * small), rel=1e-9)


@given(st.floats(-10, 10), st.none() | st.floats(-10, 10), st.none() | st.floats(-10, 10))
def test_bounds_are_exclusive(score, above, below):
    text = f"{score:.3f}"
    line = PairFilter(above, below).line(Pair("a", "b"), 6, text)
    kept = (above is None or float(text) > above) and (below is None or float(text) < below)
    assert line == (f"a\tb\t{text}\t7\n" if kept else "")


def test_kept_pair_with_a_tab_is_refused():
    with pytest.raises(CgruError, match="line 7: a tab within"):
        PairFilter(0, None).line(Pair("a\tb", "c"), 6, "1")
    assert PairFilter(0, None).line(Pair("a\tb", "c"), 6, "-1") == ""


@pytest.mark.parametrize("more", [(), ("-n",), ("--compat", "nematus")])
def test_pairs_beyond_a_score_are_kept(model, lines, corpus, more):
    printed = lines("-m", model, "-t", corpus, *more)
    middle = sorted(map(float, printed))[4]
    kept = lines("-m", model, "-t", corpus, *more, "--keep-above", middle)
    assert kept == [
        f"{source}\t{target}\t{score}\t{number}"
        for number, ((source, target), score) in enumerate(zip(PAIRS, printed, strict=True), 1)
        if float(score) > middle
    ]
    assert len(kept) == 3
    rest = lines("-m", model, "-t", corpus, *more, "--keep-below", middle)
    assert len(rest) == 4
    assert not set(rest) & set(kept)


def test_dual_scores_match_numpy(model, backward, lines, corpus, tmp_path):
    forward = np.array([float(x) for x in lines("-m", model, "-t", corpus, "-n")])
    turned = tmp_path / "turned"
    turned.write_text("".join(f"{target}\t{source}\n" for source, target in PAIRS))
    back = np.array([float(x) for x in lines("-m", backward, "-t", turned, "-n")])
    expected = np.exp(-(np.abs(forward - back) - (forward + back) / 2))
    printed = lines("-m", model, "--dual", backward, "-t", corpus)
    np.testing.assert_allclose(np.array(printed, float), expected, rtol=2e-5)
    kept = lines("-m", model, "--dual", backward, "-t", corpus, "--keep-above", 0.02)
    numbers = [int(line.split("\t")[3]) for line in kept]
    assert numbers == (np.flatnonzero(expected > 0.02) + 1).tolist()
    assert 0 < len(kept) < len(PAIRS)


def test_a_language_model_reads_no_source(model, score, corpus, tmp_path):
    changes = {"source_vocabularies": (), "source_embeddings": (), "decoder_base_transition": 1}
    lm = write_model(tmp_path / "lm", type=Type.LM, **changes)
    Path(f"{lm}.json").write_text('{"dictionaries": ["trg.json"]}')
    one_line(score("-m", model, "--dual", lm, "-t", corpus), 2, "--dual", "language model")


def test_number_of_kept_pairs_is_reported(model, score, corpus):
    code, text, messages = score("-m", model, "-t", corpus, "--keep-above", -1e9)
    assert (code, text.count("\n")) == (0, len(PAIRS))
    assert messages == "cgru: 8 of 8 pairs kept\n"
    assert score("-m", model, "-t", corpus, "--keep-above", 0, "--quiet")[1:] == ("", "")


def test_ensemble_filters_by_its_common_score(model, lines, corpus, tmp_path):
    both = ["-m", model, "-m", write_model(tmp_path / "other", seed=11), "--ensemble"]
    printed = lines(*both, "-t", corpus)
    kept = lines(*both, "-t", corpus, "--keep-above", -1e9)
    assert [line.split("\t")[2] for line in kept] == printed


def test_kept_pairs_are_written_at_once(model):
    command = prepared.command("score", "-m", model, "--keep-above", "-1e9")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=os.environ | {"PYTHONUNBUFFERED": "1"}, **pipes) as child:
        child.stdin.write(b"a b\tA B\n")
        child.stdin.flush()
        first = child.stdout.readline().decode().split("\t")
        assert (first[:2], first[3]) == (["a b", "A B"], "1\n")
        child.stdin.write(b"a\tA\nbad\n")
        child.stdin.close()
        assert child.stdout.read().decode().split("\t")[3] == "2\n"
        assert child.wait() == 1


@pytest.mark.parametrize(
    "arguments, part",
    [
        (["-m", "b"], "--keep-above and --keep-below: one score per pair"),
        (["--word-scores"], "--keep-above and --word-scores exclude"),
        (["--alignment", "soft"], "--keep-above and --alignment exclude"),
        (["--summary", "ce-sum"], "--keep-above and --summary exclude"),
        (["--dual", "b", "-n"], "--dual and --normalize exclude"),
        (["--dual", "b", "--compat", "nematus"], "--dual and --compat exclude"),
        (["--dual", "b", "-v", "x", "-v", "y", "-v", "z"], "--vocabs"),
    ],
)
def test_invalid_combinations_are_refused(model, score, corpus, arguments, part):
    one_line(score("-m", model, "-t", corpus, "--keep-above", 0, *arguments), 2, part)
