"""`cgru translate` from the command line: options, streams, files, signals, layouts."""

import gzip
import json
import math
import os
import select
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import prepared
import pytest
import sacrebleu
import sentencepiece
from click.testing import CliRunner
from commands import (
    SOURCE,
    TARGET,
    as_marian,
    one_line,
    output_lines,
    vocabulary,
    write_model,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patience import PATIENCE
from shared_files import text_lines

from cgru_cli.cli import main
from cgru_cli.text import pipeline

pytestmark = pytest.mark.usefixtures("prepared_once")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def lines(translate):
    """Like `translate`, but asserts success and returns the lines of the output."""
    return output_lines(translate)


def process(*arguments, **more):
    """The command as a separate process."""
    command = prepared.command("translate", *arguments)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, **(pipes | more))


# -- layouts ---------------------------------------------------------------------------------------


def same_numbers(line, expected):
    """The words are equal and the numbers are within 1e-3, also numbers joined by commas."""
    own, theirs = (text.replace(",", " , ").split(" ") for text in (line, expected))
    assert len(own) == len(theirs)
    for one, other in zip(own, theirs, strict=True):
        if one != other:
            assert math.isclose(float(one), float(other), rel_tol=1e-4, abs_tol=1e-3)


# Files of the programs' output, and the options that give the same output.
COMPATIBLE = """
nbest.k5.txt --compat nematus-tf -k 5 --n_best --minibatch_size 10
nbest.k5.norm1.txt --compat nematus-tf -k 5 --n_best --normalization_alpha 1.0 --minibatch_size 10
best.k5.norm1.txt --compat nematus-tf -k 5 -n 1.0 --minibatch_size 10
theano/nbest.k5.norm1.txt --compat nematus -k 5 -n -wp --n-best
theano/nbest.k12.norm1.txt --compat nematus -k 12 -n --n-best
dl4mt/session2.nbest.k5.txt --compat dl4mt -k 5 --n-best
marian-amun/nbest.align.wordscores.k5.norm1.txt \
  --compat marian -b 5 -n --n-best --allow-unk --alignment soft --word-scores
marian-amun/nbest.k12.txt --compat marian --n-best --allow-unk --quiet-translation
"""


@pytest.mark.parametrize("command", COMPATIBLE.strip().splitlines())
def test_layouts_match_the_programs(shared, lines, command):
    file, *options = command.split()
    folder = shared("fixtures/a-shallow")
    written = lines("-m", folder / "model.npz", "-i", folder / "src.txt", *options)
    expected = text_lines(folder / file)
    assert len(written) == len(expected)
    for line, other in zip(written, expected, strict=True):
        same_numbers(line, other)


def test_theano_alignments_go_to_their_own_file(shared, lines, tmp_path):
    folder = shared("fixtures/a-shallow")
    files = ["-m", folder / "model.npz", "-i", folder / "src.txt", "-a", tmp_path / "alignments"]
    written = lines(*files, *"--compat nematus -k 5 -n --n-best".split())
    assert len(written) == 250
    own = text_lines(tmp_path / "alignments")
    expected = text_lines(folder / "theano/nbest.align.k5.norm1.txt")
    assert len(own) == len(expected)
    for line, other in zip(own, expected, strict=True):
        same_numbers(line, other)


def test_lists_have_marians_columns(model, lines):
    short = ("--translation-maxlen", 9)
    written = lines("-m", model, "--n-best", "-k", 3, "-n", *short, text="a b\n\nc\n")
    fields = [line.split(" ||| ") for line in written]
    assert {len(f) for f in fields} == {4}
    assert [f[0] for f in fields].count("0") == 3
    assert [f[0] for f in fields] == sorted(f[0] for f in fields)
    for _, text, score, total in fields:
        name, value = score.split(" ")
        assert name == "F0="
        count = min(9, len([w for w in text.split(" ") if w]) + 1)  # 9: cut, without EOS
        if float(value):
            assert float(total) == pytest.approx(float(value) / count, rel=1e-4)
    assert "1 |||  ||| F0= 0 ||| 0" in written


def test_soft_alignments_are_distributions(model, lines):
    base = ("-m", model, "--translation-maxlen", 9)
    for line in lines(*base, "--alignment", "soft", text="a b c\nd\n"):
        text, weights = line.split(" ||| ")
        rows = [[float(w) for w in row.split(",")] for row in weights.split(" ")]
        np.testing.assert_allclose(np.sum(rows, axis=1), 1, atol=1e-4)
        assert len(rows) in (len(text.split(" ")), len(text.split(" ")) + 1)
    records = [
        json.loads(line) for line in lines(*base, "--alignment-format", "json", text="a b c\nd\n")
    ]
    assert [len(r["source"]) for r in records] == [4, 2]
    written = lines(*base, "--alignment-format", "json", "--n-best", "-k", 2, text="a\n\nd\n")
    assert [json.loads(line)["id"] for line in written] == [0, 0, 1, 2, 2]
    assert json.loads(written[2])["alignment"] == []
    hard = lines(*base, "--alignment", text="a b\n")[0].split(" ||| ")[1]
    assert all(s.isdigit() and t.isdigit() for s, t in (p.split("-") for p in hard.split()))


# -- lines and words -------------------------------------------------------------------------------


ODD = [
    b"a b c",
    b"",
    b"   ",
    b"a\r",
    "a\u2028b c".encode(),
    b"a\x00b c",
    b"\xff\xfe a",
    b"b \xe2\x82",
    " ".join(["a", "b"] * 5000).encode(),
    "\u00a0 a\u3000b".encode(),
    b"eos </s> UNK",
    b"c d",
]


def test_output_has_a_line_for_each_input_line(model, lines):
    """Every odd line gives one line, and the last line needs no newline."""
    data = b"\n".join(ODD)
    short = ("-m", model, "--translation-maxlen", 20)
    started = process(*short)
    out, err = started.communicate(data, timeout=PATIENCE)
    messages = err.decode()
    assert started.returncode == 0, messages
    written = out.decode("utf-8").split("\n")
    assert written.pop() == "" and len(written) == len(ODD)
    assert written[1] == written[2] == ""
    assert all("\r" not in line for line in written)
    assert messages.count("\n") == 4, messages
    assert "line 7: invalid UTF-8" in messages and "2 lines had invalid UTF-8" in messages
    assert "line 9 has 10000 words; cut to --max-length 1000" in messages
    assert "\\r\\n" in messages
    assert all(line.startswith("cgru: warning: ") for line in messages.splitlines())
    # the same from files, a line at a time: no line depends on its neighbours
    for i in (0, 3, 4, 6, 9, 11):
        assert lines(*short, text=ODD[i] + b"\n") == [written[i]]


line_texts = st.text(st.sampled_from("abcdf \t\r\u2028\x00é|"), max_size=12)


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(line_texts, min_size=1, max_size=8), st.integers(1, 5), st.integers(1, 3))
def test_translations_do_not_depend_on_batches(model, lines, texts, mini, maxi):
    text = "\n".join(texts) + "\n"
    arguments = ["-m", model, "--n-best", "-k", 2, "--translation-maxlen", 20]
    together = lines(*arguments, text=text)
    cut = lines(*arguments, "--mini-batch", mini, "--maxi-batch", maxi, text=text)
    unsorted = lines(*arguments, "--maxi-batch-sort", "none", "--mini-batch", mini, text=text)

    def rounded(line):
        *words, total = line.split(" ||| ")[:2] + line.split(" ||| ")[-1:]
        return (*words, round(float(total), 3))

    for other in (cut, unsorted):
        assert [rounded(line)[:2] for line in other] == [rounded(line)[:2] for line in together]
        for one, two in zip(other, together, strict=True):
            assert rounded(one)[2] == pytest.approx(rounded(two)[2], abs=2e-3)
    assert {int(line.split(" ", 1)[0]) for line in together} == set(range(len(texts)))


def test_factors_are_read_and_counted(tmp_path, translate):
    path = write_model(
        tmp_path / "factors", source_vocabularies=(len(SOURCE), 4), source_embeddings=(4, 3)
    )
    (tmp_path / "factors/fac.json").write_text(json.dumps({"eos": 0, "UNK": 1, "N": 2, "V": 3}))
    (tmp_path / "factors/model.npz.json").write_text(
        json.dumps({"dictionaries": ["src.json", "fac.json", "trg.json"]})
    )
    base = ("-m", path, "--translation-maxlen", 9)
    code, one, messages = translate(*base, text="a|N b|V\na|V b|N\n")
    assert code == 0, messages
    assert len(one.splitlines()) == 2
    for compat, source in (("nematus", "a|N b|V"), ("nematus-tf", "a b")):
        aligned = ["--compat", compat, "--alignment-format", "nematus"]
        _, shown, _ = translate(*base, *aligned, text="a|N b|V\n")
        assert shown.splitlines()[1].split(" ||| ")[3] == source
    for wrong in ("a|N b", "a|N b|V|N", "a|N |"):
        code, _, messages = translate(*base, text=f"a|N\n{wrong}\n")
        if wrong == "a|N |":
            assert code == 0
            continue
        assert code == 1
        assert messages.count("\n") == 1 and "line 2" in messages and "factors" in messages


def test_single_line_is_translated_while_the_pipe_is_open(model, tmp_path):
    """A terminated process ends at once and leaves whole lines."""
    started = process("-m", model)
    try:
        for text in (b"a b\n", b"c\n"):
            started.stdin.write(text)
            started.stdin.flush()
            ready, _, _ = select.select([started.stdout], [], [], PATIENCE)
            assert ready
            assert os.read(started.stdout.fileno(), 9999).endswith(b"\n")
        started.stdin.write(b"a b c d\n" * 150)
        started.stdin.flush()
        time.sleep(0.2)
        started.send_signal(signal.SIGTERM)
        before = time.monotonic()
        out, err = started.communicate(timeout=PATIENCE)
        assert time.monotonic() - before < 5
        assert started.returncode == 143, err
        assert err == b"" and (not out or out.endswith(b"\n"))
    finally:
        started.kill()


def test_interrupt_keeps_finished_translations(model, tmp_path):
    source = tmp_path / "in"
    source.write_bytes(b"a b c d\n" * 200000)
    out = tmp_path / "out"
    started = process("-m", model, "-i", source, "-o", out, "--mini-batch", 16)
    try:
        end = time.monotonic() + PATIENCE
        while not (out.exists() and out.stat().st_size) and time.monotonic() < end:
            time.sleep(0.05)
        started.send_signal(signal.SIGINT)
        _, err = started.communicate(timeout=PATIENCE)
        assert started.returncode == 130
        assert err == b""
        written = out.read_bytes()
        assert written.endswith(b"\n") and 0 < written.count(b"\n") < 200000
    finally:
        started.kill()


def test_a_closed_output_ends_quietly(model, tmp_path):
    source = tmp_path / "in"
    source.write_bytes(b"a b c d\n" * 20000)
    pipe = f"{shlex.join(prepared.command('translate', '-m', model))} < {source} | head -1"
    done = subprocess.run(
        ["bash", "-c", f"{pipe}; exit ${{PIPESTATUS[0]}}"], capture_output=True, timeout=PATIENCE
    )
    assert done.returncode == 0
    assert done.stdout.count(b"\n") == 1
    assert done.stderr == b""


# -- files -----------------------------------------------------------------------------------------


def test_files_may_be_several_and_compressed(model, lines, tmp_path):
    base = ("-m", model, "--translation-maxlen", 9)
    plain = lines(*base, text="a b\nc\nd f\n")
    (tmp_path / "one").write_bytes(b"a b\nc")  # no newline at the end: still a line
    with gzip.open(tmp_path / "two.gz", "wb") as file:
        file.write(b"d f\n")
    assert lines(*base, "-i", tmp_path / "one", tmp_path / "two.gz") == plain
    out = tmp_path / "out.gz"
    files = ["-i", tmp_path / "one", "-i", tmp_path / "two.gz", "-o", out]
    result = CliRunner().invoke(main, ["translate", *map(str, (*base, *files))])
    assert result.exit_code == 0
    assert gzip.decompress(out.read_bytes()).decode().splitlines() == plain


def test_bad_files_are_refused(model, translate, tmp_path):
    same = tmp_path / "same"
    same.write_text("a\n")
    result = CliRunner().invoke(main, ["translate", "-m", model, "-i", str(same), "-o", str(same)])
    assert result.exit_code == 2 and "is also the output" in result.stderr
    assert same.read_text() == "a\n"
    one_line(translate("-m", model, "-i", tmp_path / "none"), 1, "none", "No such file")
    one_line(translate("-m", model, "-i", tmp_path), 1, "directory")
    one_line(translate("-m", tmp_path / "none.npz", text="a\n"), 1, "none.npz")
    one_line(translate(text="a\n"), 2, "-m MODEL")
    one_line(
        translate("-m", model, text="a\n", output=tmp_path / "no/where"), 1, "cannot be written"
    )


# -- vocabularies ----------------------------------------------------------------------------------


def test_vocabularies_are_given_or_found(tmp_path, translate, lines):
    path = write_model(tmp_path / "m")
    base = ("-m", path, "--translation-maxlen", 9)
    expected = lines(*base, text="a b\n")
    (tmp_path / "m/model.npz.json").unlink()
    one_line(translate("-m", path, text="a\n"), 1, "-v SRC TRG")
    source, target = tmp_path / "m/src.json", tmp_path / "m/trg.json"
    given = [["-v", source, target], ["-v", source, "-v", target], ["--vocabs", source, target]]
    for pair in (*given, ["--dictionaries", source, target]):
        assert lines(*base, *pair, text="a b\n") == expected
    one_line(translate("-m", path, "-v", source, text="a\n"), 1, "2 vocabularies expected")
    one_line(translate("-m", path, "-v", source, tmp_path / "no", text="a\n"), 1, "no")


def test_swapped_vocabularies_are_refused(tmp_path, translate):
    path = write_model(tmp_path / "m", source=[*SOURCE, "g"])
    source, target = tmp_path / "m/src.json", tmp_path / "m/trg.json"
    one_line(translate("-m", path, "-v", target, source, text="a\n"), 1, "swapped")


def test_words_beyond_the_embeddings_are_unknown(tmp_path, lines):
    path = write_model(tmp_path / "m")
    vocabulary(tmp_path / "m/src.json", [*SOURCE, "g"])
    base = ("-m", path, "--translation-maxlen", 9)
    assert lines(*base, text="a g\n") == lines(*base, text="a never-seen\n")


# -- options ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--no-such-option"], ["No such option"]),
        (["--optimize"], ["--optimize cannot be honoured", "--precision int8"]),
        (["--shortlist", "lex", "many"], ["--shortlist many", "FIRST and BEST"]),
        (["--shortlist", "lex", "1", "2", "0.1", "5"], ["at most three numbers"]),
        (["--shortlist", "lex", "-1"], ["--shortlist -1"]),
        (["--gemm-type=intgemm8"], ["--gemm-type intgemm8 cannot", "--precision int8"]),
        (["-k", "0"], ["--beam-size 0: a whole number from 1 to 1,000"]),
        (["-k", "x"], ["--beam-size x: a whole number"]),
        (["--mini-batch", "0"], ["--mini-batch 0: a whole number"]),
        (["--max-length", "0"], ["--max-length 0: a whole number"]),
        (["--allow-unk", "--suppress-unk"], ["--allow-unk and --suppress-unk exclude"]),
        (["--weights", "1", "2"], ["2 given for 1 models"]),
        (["--output-sampling", "topk"], ["full [T]"]),
        (["--output-sampling", "topk", "0"], ["full [T]"]),
        (["--output-sampling", "full", "-1"], ["full [T]"]),
        (["--output-sampling", "often"], ["full [T]"]),
        (["--mbr", "4", "-k", "2"], ["--mbr and --beam-size exclude"]),
        (["--mbr", "0"], ["--mbr 0: a whole number from 1 to 1,000"]),
        (["--mbr", "4", "--mbr-utility", "ter"], ["--mbr-utility ter: one of chrf, bleu"]),
        (["--mbr-n-best"], ["--mbr-n-best needs --mbr"]),
        (["--mbr", "4", "--mbr-n-best", "--output-sampling"], ["exclude each other"]),
        (["--mbr", "4", "--constraints"], ["--constraints and --mbr without --mbr-n-best"]),
        (["--mbr", "4", "--mbr-n-best", "--compat", "nematus-tf"], ["--mbr-n-best: the search of"]),
        (["--output-sampling", "nucleus"], ["`nucleus P [T]`", "P above 0, at most 1"]),
        (["--output-sampling", "epsilon", "2"], ["E from 0 to 1"]),
        (["--alignment", "much"], ["--alignment much"]),
        (["--alignment", "1.5"], ["1.5"]),
        (["--lexicon", "x"], ["--unk-replace"]),
        (["--compat", "moses"], ["moses"]),
        (["--precision", "int4"], ["int4"]),
        (["--device", "tpu"], ["tpu"]),
        (["-v", "a", "b", "c", "-m"], ["-m lacks its value"]),
    ],
)
def test_invalid_combinations_are_refused(model, translate, arguments, parts):
    if arguments[-1] == "-m":
        arguments = [*arguments, model]
        one_line(translate(*arguments, text="a\n"), 1, "2 vocabularies expected")
        return
    one_line(translate("-m", model, *arguments, text="a\n"), 2, *parts)


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments",
    [
        ["--translation-maxlen", "1"],
        ["--translation-maxlen", "1", "--compat", "nematus-tf", "-k", "3", "--n-best"],
        ["--max-length-factor", "0.01"],
        ["--seed", "-1", "--output-sampling"],
        ["--seed", "99999999999999999999999", "--output-sampling"],
        ["-k", "100", "--n-best"],
        ["-n", "-0.5", "--n-best"],
        ["-n", "-0.5"],
        ["--word-penalty", "-3"],
        ["--workspace", "1"],
        ["--alignment-format", "nematus"],
        ["--compat", "amun", "--n-best", "--alignment", "soft"],
        ["--precision", "int8", "-k", "2"],
        ["--output-sampling", "topk", "99", "-k", "3", "--n-best"],
    ],
)
def test_extremes_run(model, translate, arguments):
    """Extreme values run, or are refused in one line."""
    code, text, messages = translate("-m", model, *arguments, text="a b c\n\nd\n")
    assert code == 0 or (code in (1, 2) and messages.strip()), messages
    if code == 0:
        assert len(text.splitlines()) >= 3


def test_normalize_without_a_value_may_precede_any_option(model, lines):
    def best(*arguments):
        return lines(*arguments, "--translation-maxlen", 9, text="a b c\nd d d d\nf\n")

    expected = best("-m", model, "-n", 1, "-k", 4)
    assert best("-m", model, "-k", 4, "-n") == expected
    assert best("-n", "-m", model, "-k", 4) == expected
    assert best("-m", model, "-n", "-k", 4) == expected
    assert best("-m", model, "--normalize=1", "-k", 4) == expected
    half = best("-m", model, "-n", 0.6, "-k", 4)
    assert best("-m", model, "--normalize=0.6", "-k", 4) == half
    lists = best("-m", model, "-k", 4, "-n", 0.6, "--n-best")
    firsts = {}
    for line in lists:
        number, text, *_ = line.split(" ||| ")
        firsts.setdefault(number, text)
    assert list(firsts.values()) == half


def test_sampling_is_reproducible(model, lines):
    text = "a b\nc d\na b\n"

    def sampled(*arguments):
        return lines("-m", model, "--translation-maxlen", 9, *arguments, text=text)

    first = sampled("--output-sampling", "--seed", 3)
    assert sampled("--output-sampling", "full", "--seed", 3, "--mini-batch", 1) == first
    assert sampled("--output-sampling", "--seed", 4) != first
    assert sampled("--output-sampling", "topk", 1) == sampled("-k", 1)
    assert sampled("--output-sampling", "epsilon", 1) == sampled("-k", 1)
    for same in (["nucleus", 1], ["epsilon", 0], ["topk", 9999]):  # nothing is left out
        assert sampled("--output-sampling", *same, "--seed", 3) == first
    assert len(sampled("--output-sampling", "topk", 3, 0.8, "-k", 5, "--n-best")) == 15


def lists_of(written):
    """The texts, scores and totals of n-best lists, by line."""
    lists = {}
    for line in written:
        number, text, score, total = line.split(" ||| ")
        lists.setdefault(number, []).append((text, float(score.split()[1]), float(total)))
    return lists


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ([], ["--output-sampling", "epsilon", 0.02]),
        (["--mbr-utility", "bleu", "--output-sampling", "full", 0.3], []),
        (["--mbr-n-best"], None),
    ],
)
def test_mbr_chooses_the_most_similar_translation(model, lines, options, same):
    """Compared with sacreBLEU's score of all pairs of the same samples, or hypotheses."""
    seed = [] if same is None else ["--seed", 5]
    run = ["-m", model, *seed, "--n-best", "--translation-maxlen", 6]
    text = "a b c\n\nf d\n"
    risks = lists_of(lines(*run, "--mbr", 6, *options, text=text))
    others = same or (options[2:] if same is not None else [])
    found = lists_of(lines(*run, "-k", 6, *others, text=text))
    score = sacrebleu.sentence_bleu if "bleu" in options else sacrebleu.sentence_chrf
    for number in ("0", "2"):
        chances = np.array([1.0 if same is not None else math.exp(s) for _, s, _ in found[number]])
        candidates = [one for one, _, _ in found[number]]
        expected = {
            one: np.dot([score(one, [other]).score for other in candidates], chances)
            / chances.sum()
            for one in candidates
        }
        own = {one: total for one, _, total in risks[number]}
        assert own == pytest.approx(expected, rel=1e-4)
        assert list(own.values()) == sorted(own.values(), reverse=True)
    assert risks["1"] == [("", 0.0, 0.0)]
    best = lines(*run, "--mbr", 6, *options, text=text)
    plain = [word for word in run if word != "--n-best"]
    assert lines(*plain, "--mbr", 6, *options, text=text) == [
        risks["0"][0][0], "", risks["2"][0][0]
    ]  # fmt: skip
    assert best == lines(*run, "--mbr", 6, *options, "--mini-batch", 1, text=text)


def test_mbr_of_one_sample_is_the_sample(model, lines):
    run = ["-m", model, "--seed", 2, "--translation-maxlen", 9]
    drawn = lines(*run, "--output-sampling", "epsilon", 0.02, text="a b\n\nc\n")
    assert lines(*run, "--mbr", 1, text="a b\n\nc\n") == drawn


def test_unknown_words_are_replaced(tmp_path, lines):
    """By the source word with the most attention, or its translation in the lexicon."""
    path = write_model(tmp_path / "m")
    with np.load(path) as file:
        arrays = dict(file)
    arrays["ff_logit_b"] = np.array([0, 60, 0, 0, 0, 0, 0, 0], np.float32)  # UNK, always
    np.savez(path, **arrays)
    base = ["-m", path, "--translation-maxlen", 3]
    assert lines(*base, text="a b\n") == ["UNK UNK UNK"]
    amun = ("--compat", "amun", "-u", "--max-length", 9)
    assert lines("-m", path, *amun, text="a\n")[0].split()[:2] == ["<unk>", "<unk>"]
    assert "UNK" not in lines(*base, "--suppress-unk", text="a b\n")[0]
    copied = lines(*base, "--unk-replace", text="a b\nzzz\n")
    assert set(copied[0].split()) <= {"a", "b"} and copied[1] == "zzz zzz zzz"
    lexicon = tmp_path / "lexicon"
    lexicon.write_text("a Alpha 0.9\na Beta 0.1\nb Beta\n")
    replaced = lines(*base, "--unk-replace", "--lexicon", lexicon, text="a b\nzzz\n")
    names = {"a": "Alpha", "b": "Beta"}
    assert replaced[0].split() == [names[word] for word in copied[0].split()]
    assert replaced[1] == "zzz zzz zzz"


def test_a_shortlist_of_all_words_changes_nothing(model, lines, tmp_path):
    table = tmp_path / "lex.s2t.gz"
    with gzip.open(table, "wt") as file:
        file.write("B a 0.6\nE a 0.4\nA b 0.9\nF c 1\n")
    text = "a\na b a\nc a\n\n"
    base = ("-m", model, "--n-best", "-k", "4", "--translation-maxlen", "7")
    every = lines(*base, "--shortlist", table, "8", "0", text=text)
    assert every == lines(*base, text=text)


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A model with forty target words, and a table that allows seven for each source word."""
    folder = tmp_path_factory.mktemp("wide")
    target = ["eos", "UNK", *(f"w{i}" for i in range(2, 40))]
    path = write_model(folder / "m", target=target)
    pairs = {word: range(5 * i, 5 * i + 6) for i, word in enumerate("abcdf", 2)}
    table = folder / "lex.s2t"
    table.write_text("".join(f"w{t} {s} 0.1\n" for s, ids in pairs.items() for t in ids))
    return path, table, {s: {f"w{t}" for t in ids} for s, ids in pairs.items()}


FILLING = {f"w{i}" for i in range(2, 9)}  # the first words, up to a multiple of eight
SHORT = ("2", "6", "--translation-maxlen", "6", "-k", "3", "--suppress-unk")


def test_each_line_has_its_own_shortlist(wide, lines):
    path, table, allowed = wide
    text = ["a", "b c", "d", "f a", "c"] * 3
    found = lines("-m", path, "--shortlist", table, *SHORT, text="\n".join(text) + "\n")
    alone = [lines("-m", path, "--shortlist", table, *SHORT, text=f"{t}\n")[0] for t in text[:5]]
    assert found == alone * 3
    assert len(set(alone)) > 2
    for source, line in zip(text, found, strict=True):
        words = set().union(*(allowed[word] for word in source.split()))
        assert set(line.split()) <= FILLING | words


def test_lines_of_a_given_mini_batch_share_their_shortlist(wide, lines):
    """As in Marian: three lines share the words of all three, in any order."""
    path, table, allowed = wide
    base = ("-m", path, "--shortlist", table, *SHORT)
    together = lines(*base, "--mini-batch", "3", text="a\nc\nf\nb\n")
    assert together[2::-1] == lines(*base, "--mini-batch", "3", text="f\nc\na\n")
    assert together != lines(*base, text="a\nc\nf\nb\n")
    assert together[3:] == lines(*base, text="b\n")
    words = set(" ".join(together[:3]).split())
    assert words <= FILLING | allowed["a"] | allowed["c"] | allowed["f"]


@pytest.mark.parametrize(
    ("compat", "separators"),
    [
        ("nematus", "\t\r\x0b\x0c"),
        ("dl4mt", "\t\r\x0b\x0c"),
        ("nematus-tf", "\t\r\x0b\x0c\u00a0\u2028"),
    ],
)
def test_what_separates_the_words_of_a_program(model, lines, compat, separators):
    base = ("-m", model, "--compat", compat, "-k", 3, "--translation-maxlen", 9)
    (expected,) = lines(*base, text="a b c\n")
    for one in separators:
        text = f"{one}a{one}b {one} c{one}\n"
        assert lines(*base, text=text) == [expected]
    (other,) = lines(*base, text="a\u200bb c\n")
    assert other != expected


def test_line_ends_of_windows(model, translate):
    """Marian drops the return; elsewhere it is part of the last word, with a warning."""
    short = ("-m", model, "-k", 3, "--translation-maxlen", 9)
    marian = (*short, "--compat", "marian")
    assert translate(*marian, text="a b c\r\n") == translate(*marian, text="a b c\n")
    native = (*short, "--n-best")
    _, without, _ = translate(*native, text="a b c\n")
    code, found, messages = translate(*native, text="a b c\r\n")
    assert code == 0 and found != without and "lines end with" in messages


@pytest.mark.parametrize(
    "more",
    [
        ("--force-decode", "--precision", "int8", "--alignment", "--word-scores"),
        ("--output-sampling", "full", "--seed", "2"),
        ("--compat", "nematus-tf"),
    ],
)
def test_shortlist_combines_with_other_options(wide, lines, more):
    path, table, allowed = wide
    text = "a b\tw39\n" if "--force-decode" in more else "a b\n"
    (line,) = lines("-m", path, path, "--shortlist", table, *SHORT, *more, text=text)
    words = line.partition(" ||| ")[0].split()
    if text != "a b\n":
        assert words.pop(0) == "w39"  # words of a prefix are allowed
    assert words and set(words) <= FILLING | allowed["a"] | allowed["b"]


def test_shortlist_of_other_words_is_refused(wide, translate, tmp_path):
    path, *_ = wide
    table = tmp_path / "lex.s2t"
    table.write_text("x y 0.5\n")
    one_line(translate("-m", path, "--shortlist", table, text="a\n"), 1, str(table), "none of")
    one_line(translate("-m", path, "--shortlist", tmp_path / "no", text="a\n"), 1, "not found")


def test_translations_satisfy_their_constraints(wide, lines, tmp_path):
    path, *_ = wide
    base = ("-m", path, "-k", "4", "-n", "--n-best", "--translation-maxlen", "9")
    text = "a b\tw9 w30\tw5\nc\t\tw9\na b\n"
    found = [line.split(" ||| ") for line in lines(*base, "--constraints", text=text)]
    free = [line.split(" ||| ") for line in lines(*base, text="a b\nc\na b\n")]
    assert {number for number, *_ in found} == {"0", "1", "2"}
    for number, words, *_ in found:
        if number == "0":
            assert " w9 w30 " in f" {words} " and " w5 " in f" {words} "
        assert number != "1" or "w9" not in words.split()
    assert [line[1:] for line in found if line[0] == "2"] == [
        line[1:] for line in free if line[0] == "2"
    ]
    marked = 'a <n translation="w9 w30">b</n> <n translation="w5"/>\nc<n avoid="w9"/>\na b\n'
    inline = lines(*base, "--constraints", "inline", text=marked)
    assert [line.split(" ||| ") for line in inline] == found
    avoided = tmp_path / "avoid"
    avoided.write_text("w9 w9\n" + "".join(f"{w}\n" for w in set(free[0][1].split())))
    none = lines(*base, "--avoid", avoided, text="a b\n")
    assert none and not any(
        set(line.split(" ||| ")[1].split()) & set(free[0][1].split()) for line in none
    )
    # scores are those of the same translations without any constraint
    best = found[0]
    scored = tmp_path / "pair"
    scored.write_text(f"{best[1].strip()}\n")
    (tmp_path / "source").write_text("a b\n")
    done = CliRunner().invoke(
        main, ["score", "-m", path, "-n", "-s", str(tmp_path / "source"), "-t", str(scored)]
    )
    if len(best[1].split()) < 9:  # it is finished
        assert float(best[-1]) == pytest.approx(float(done.stdout), abs=1e-4)


def test_unsatisfiable_constraints_are_refused(wide, translate, tmp_path):
    path, *_ = wide
    base = ("-m", path, "--constraints")
    one_line(translate(*base, text="a\tnever\n"), 1, "line 1: required phrase 'never'")
    one_line(translate(*base, text="a\tw3 w4\t\tw4\n"), 1, "line 1: a required phrase contains")
    for more in (("--compat", "nematus-tf"), ("--output-sampling", "full")):
        one_line(translate(*base, *more, text="a\n"), 2, "--constraints")


def test_subwords_are_joined(tmp_path, lines):
    path = write_model(tmp_path / "m", seed=2)
    with np.load(path) as file:
        arrays = dict(file)
    arrays["ff_logit_b"][5] -= 1  # D@@
    np.savez(path, **arrays)
    base = ["-m", path, "--translation-maxlen", 9]
    text = "a b c\nd\nf f\n"
    plain = lines(*base, text=text)
    assert any("D@@ " in line for line in plain)
    joined = [line.replace("@@ ", "").removesuffix("@@") for line in plain]
    assert lines(*base, "--join-bpe", text=text) == joined


def test_sentencepiece_reads_and_writes_raw_text(tmp_path, lines, translate):
    corpus = tmp_path / "corpus"
    corpus.write_text("the cat sat on the mat\nthe dog ran to the cat\n" * 20)
    ids = {"eos_id": 0, "unk_id": 1, "bos_id": -1, "pad_id": -1}
    size = {"vocab_size": 30, "hard_vocab_limit": False}
    sentencepiece.SentencePieceTrainer.train(
        input=str(corpus), model_prefix=str(tmp_path / "spm"), minloglevel=2, **ids, **size
    )
    spm = tmp_path / "spm.model"
    size = sentencepiece.SentencePieceProcessor(model_file=str(spm)).get_piece_size()
    path = write_model(tmp_path / "m", source=["x"] * size, target=["x"] * size)
    with np.load(path) as file:
        arrays = dict(file)
    encoder = sentencepiece.SentencePieceProcessor(model_file=str(spm))
    starts = [encoder.id_to_piece(i).startswith("\u2581") for i in range(size)]
    arrays["ff_logit_b"] += 2 * np.array(starts, np.float32)
    np.savez(path, **arrays)
    base = ["-m", path, "-v", spm, spm, "--translation-maxlen", 12]
    text = "the cat ran\n\nthe  mat\n"
    raw = lines(*base, text=text)
    pieces = lines(*base, "--no-spm-decode", text=text)
    assert raw[1] == pieces[1] == ""
    assert any("\u2581" in line for line in pieces)
    assert not any("\u2581" in line for line in raw)
    assert [line.replace(" ", "").replace("\u2581", " ").strip() for line in pieces] == [
        line.strip() for line in raw
    ]
    encoded = "\n".join(" ".join(encoder.encode(line, out_type=str)) for line in text.split("\n"))
    assert lines(*base, "--no-spm-encode", text=encoded) == raw
    code, _, message = translate(*base, "--bpe", corpus, text=text)
    assert code == 2 and "--bpe: SentencePiece splits the words of" in message


# -- raw text --------------------------------------------------------------------------------------


def prepared_by(path, **changes):
    """Write a preprocess.json for a model: tokenizer, lower case and codes, unless changed."""
    how = {"languages": ("en", "de"), "tokenize": True, "case": "lower", "pieces": True}
    settings = pipeline.PipelineSettings(**(how | {"subwords": "subword-nmt"} | changes))
    codes = ("#version: 0.2\nx y</w>\n",) if settings.subwords == "subword-nmt" else ()
    made = pipeline.Preprocessing(settings, subword_models=codes)
    with open(f"{path}.preprocess.json", "w") as file:
        json.dump(made.as_json(), file)


def write_joiner(folder, unknown=0.0):
    """A model that often writes D@@, and unknown words with this bias."""
    path = write_model(folder, seed=7)
    with np.load(path) as file:
        arrays = dict(file)
    arrays["ff_logit_b"][[1, 5]] += (unknown, 2)
    np.savez(path, **arrays)
    return path


RAW = "A b, EF\u00a0c\n\n \t \nD (f)!\r\n"
PREPARED = "a b , e@@ f c\n\n\nd ( f ) !\n"


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments",
    [
        "-k 3 --n-best",
        "--output-sampling full -k 2 --n-best",
        "--word-scores",
        "--compat nematus --n-best",
        "--alignment soft",
    ],
)
def test_raw_text_is_preprocessed_and_restored(tmp_path, lines, arguments):
    path = write_joiner(tmp_path / "m")
    prepared_by(path)
    arguments = ["-m", path, "--translation-maxlen", 9, *arguments.split()]
    expected = lines(*arguments, "--no-preprocess", text=PREPARED)
    assert any("D@@" in line for line in expected)

    def joined(line):  # words of letters need no detokenizer
        fields = line.split(" ||| ")
        place = 1 if fields[0].isdigit() and "--n-best" in arguments else 0
        fields[place] = fields[place].replace("@@ ", "").removesuffix("@@")
        return " ||| ".join(fields)

    assert lines(*arguments, text=RAW) == [joined(line) for line in expected]
    os.remove(f"{path}.preprocess.json")
    assert lines(*arguments, text=PREPARED) == expected


def test_alignments_refer_to_preprocessed_words(tmp_path, lines):
    path = write_joiner(tmp_path / "m", unknown=5)
    base = ["-m", path, "--translation-maxlen", 6, "--unk-replace", "--alignment-format", "json"]
    raw, prepared = RAW.replace("\n\n \t ", ""), PREPARED.replace("\n\n", "")
    expected = [json.loads(line) for line in lines(*base, text=prepared)]
    prepared_by(path)
    found = [json.loads(line) for line in lines(*base, text=raw)]
    sources = [["a", "b", ",", "e@@", "f", "c", "</s>"], ["d", "(", "f", ")", "!", "</s>"]]
    assert [line["source"] for line in found] == sources
    for one, other, source in zip(found, expected, sources, strict=True):
        assert one["target"] == other["target"] and one["alignment"] == other["alignment"]
        assert set(one["target"]) & set(source[:-1])  # in place of the unknown word
        assert "@@" not in one["text"]
    assert "@@" in expected[0]["text"]


def test_ensemble_shares_one_preprocessing(tmp_path, lines, translate):
    one, two = write_model(tmp_path / "a"), write_model(tmp_path / "b", 3)
    base = ("-m", one, two, "--translation-maxlen", 9)
    expected = lines(*base, "--join-bpe", text=PREPARED)
    prepared_by(two)
    assert lines(*base, text=RAW) == expected
    prepared_by(one)
    assert lines(*base, text=RAW) == expected
    prepared_by(two, escape=True)
    names = [f"{one}.preprocess.json", f"{two}.preprocess.json"]
    one_line(translate("-m", one, two, text="a\n"), 1, *names)
    assert lines(*base, "--no-preprocess", "--join-bpe", text=PREPARED) == expected


def test_invalid_preprocessing_is_refused(tmp_path, translate):
    path = write_model(tmp_path / "m")
    prepared_by(path)
    for flag in ("--join-bpe", "--no-spm-encode", "--no-spm-decode"):
        one_line(translate("-m", path, flag, text="a\n"), 2, flag, "--no-preprocess")
        assert translate("-m", path, flag, "--no-preprocess", text="a\n")[0] == 0
    prepared_by(path, factors=2, subwords="none", tokenize=False)
    one_line(translate("-m", path, text="b\n"), 1, "line 1: 'b' has 1 factors, expected 2")
    for damaged in ("", "{}", "[1]", json.dumps({"format": "cgru-preprocess", "version": 1})):
        with open(f"{path}.preprocess.json", "w") as file:
            file.write(damaged)
        one_line(translate("-m", path, text="a\n"), 1, "model.npz.preprocess.json")


def test_packages_of_preprocessing_load_only_when_used(model, lines, monkeypatch):
    for package in ("cgru_cli.text.pipeline", "sacremoses"):
        monkeypatch.setitem(sys.modules, package, None)  # importing it fails
    assert lines("-m", model, text="a b\n")


# -- Marian's configurations -----------------------------------------------------------------------


def test_marians_right_to_left_models_write_and_read_from_the_end(tmp_path, lines):
    """Their output for a source is the reversed output of others for the reversed source."""
    forward = as_marian(write_model(tmp_path / "a"), "type: amun\n")
    backward = as_marian(write_model(tmp_path / "b"), "type: amun\nright-left: true\n")
    text, from_end = "f f\na b c\nd e a b\n", "f f\nc b a\nb a e d\n"
    arguments = ["-k", 3, "--allow-unk", "--translation-maxlen", 8]
    for more in ((), ("--unk-replace",)):  # the same source words at mirrored places
        plain = lines("-m", forward, *arguments, *more, text=from_end)
        turned = lines("-m", backward, *arguments, *more, text=text)
        assert turned == [" ".join(reversed(line.split(" "))) for line in plain]
        assert turned != lines("-m", forward, *arguments, *more, text=text)


def test_a_decoder_yml_beside_the_model_is_read(tmp_path, lines):
    path = write_model(tmp_path / "m")
    text = "a b c\nd d\nf\n"
    base = ("-m", path, "--translation-maxlen", 9, "--n-best")
    expected = lines(*base, "-k", 3, "-n", text=text)
    assert expected != lines(*base, text=text)
    (tmp_path / "m/model.npz.decoder.yml").write_text("beam-size: 3\nnormalize: 1\n")
    assert lines(*base, text=text) == expected
    assert len(lines(*base, "-k", 2, text="a\n")) == 2


def test_configurations_are_read(tmp_path, lines, monkeypatch):
    path = write_model(tmp_path / "m")
    (tmp_path / "m/model.npz.json").unlink()
    text = "a b c\nd d\nf\n"
    pair = ["-v", tmp_path / "m/src.json", tmp_path / "m/trg.json"]
    more = ("--n-best", "--translation-maxlen", 9)
    expected = lines("-m", path, *pair, "-k", 4, "-n", *more, text=text)
    marian = tmp_path / "m/config.yml"
    marian.write_text(
        "relative-paths: true\nmodels:\n  - model.npz\nvocabs:\n  - src.json\n  - trg.json\n"
        "beam-size: 4\nnormalize: 1\n"
    )
    assert lines("-c", marian, *more, text=text) == expected
    amun = tmp_path / "amun.yml"
    amun.write_text(
        "relative-paths: false\nsource-vocab: src.json\ntarget-vocab: trg.json\nnormalize: true\n"
        "beam-size: 4\nscorers:\n  F0:\n    path: model.npz\n    type: Nematus\nweights:\n  F0: 1\n"
    )
    monkeypatch.chdir(tmp_path / "m")
    assert lines("-c", amun, *more, text=text) == expected


# -- ensembles -------------------------------------------------------------------------------------


@pytest.mark.long
def test_ensemble_weights_apply(tmp_path, lines, translate):
    one, two = write_model(tmp_path / "a"), write_model(tmp_path / "b", 3, encoder_depth=2)
    text = "a b c\nd\n"

    def best(*arguments):
        return lines(*arguments, "-k", 3, "--translation-maxlen", 9, text=text)

    assert best("-m", one, two, "--weights", 1, 0) == best("-m", one)
    assert best("-m", one, "-m", two, "--weights", 0, 1) == best("-m", two)
    for line in best("-m", one, two, "--weights", 0.3, 0.7, "--n-best"):
        _, _, features, total = line.split(" ||| ")
        first, second = features.split(" ")[1::2]
        assert 0.3 * float(first) + 0.7 * float(second) == pytest.approx(float(total), rel=1e-4)
    mean = best("-m", one, two, "--n-best")
    assert mean == best("-m", one, two, "--weights", 0.5, 0.5, "--n-best")
    summed = best("-m", one, two, "--n-best", "--compat", "marian", "--allow-unk")
    assert [line.split(" ||| ")[:3] for line in summed] == [
        line.split(" ||| ")[:3] for line in mean
    ]
    assert summed != mean
    other = write_model(tmp_path / "c", target=[*TARGET[:-1], "G"])
    one_line(translate("-m", one, other, text="a\n"), 1, "different target vocabulary")


def test_ensembles_of_marian_and_amun_have_the_first_models_alignments(tmp_path, lines):
    one, two = write_model(tmp_path / "a"), write_model(tmp_path / "b", 3)
    ensemble, alone = ["-m", one, two, "--weights", 1, 0], ["-m", one]
    options = ["-k", 3, "--translation-maxlen", 9, "--alignment", "soft"]
    for compat, same in (("marian", True), ("amun", True), ("nematus", False)):
        written = [
            lines(*options, "--compat", compat, *models, text="a b c\nd\n")
            for models in (ensemble, alone)
        ]
        assert (written[0] == written[1]) == same


def test_ensembles_of_nematus_have_mean_word_probabilities(tmp_path, lines):
    one, two = write_model(tmp_path / "a"), write_model(tmp_path / "b", 3)
    options = ["--compat", "nematus", "-k", 20, "--n-best", "-wp", "--translation-maxlen", 1]

    def probabilities(*models):
        listed = lines(*options, "-m", *models, text="a b\n")
        fields = (line.split(" ||| ") for line in listed)
        return {text: float(probability) for _, text, _, probability in fields}

    first, second, both = probabilities(one), probabilities(two), probabilities(one, two)
    assert len(both) > 5
    for text, mean in both.items():
        assert mean == pytest.approx((first[text] + second[text]) / 2, rel=1e-4)


def test_ensemble_mixes_dialects(shared, lines):
    folder = shared("fixtures/a-shallow")
    pair = ["-v", folder / "vocab.en.json", folder / "vocab.de.json"]
    text = "\n".join(text_lines(folder / "src.txt")[:10]) + "\n"
    arguments = [*pair, "-k", 4, "-n"]
    alone = lines("-m", folder / "model.npz", *arguments, text=text)
    models = [folder / "model.npz", folder / "marian-nematus/model.npz"]
    both = lines("-m", *models, *arguments, text=text)
    assert both == alone


def test_lower_precision_translates(shared, lines):
    """The words may differ, but their scores are close."""
    folder = shared("fixtures/a-shallow")
    text = "\n".join(text_lines(folder / "src.txt")[:20]) + "\n"
    arguments = ["-m", folder / "model.npz", "-k", 5, "--n-best"]

    def totals(name):
        listed = lines(*arguments, "--precision", name, text=text)
        fields = [line.split(" ||| ") for line in listed]
        return {tuple(one[:2]): float(one[-1]) for one in fields}

    exact, fast = totals("float32"), totals("int8")
    same = set(exact) & set(fast)
    assert len(same) >= 60  # of 100
    changes = [abs(fast[one] / exact[one] - 1) for one in same]
    assert 1e-4 < np.median(changes) < 0.01
