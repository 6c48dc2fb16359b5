"""`cgru score` from the command line: the programs' scores, layouts, n-best lists, streams."""

import json
import os

import numpy as np
import pytest
from commands import SOURCE, as_marian, in_process, one_line, output_lines, vocabulary, write_model
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from references import MARIAN, NEMATUS, OOV, SCORES
from selection import choice
from shared_files import text_lines

WORDS = "a b c d e@@ f unseen"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def lines(score):
    """Like `score`, but asserts success and returns the lines of the output."""
    return output_lines(score)


@pytest.fixture
def texts(tmp_path):
    """Pairs in two files: known words, unknown words, and an empty line."""
    source, target = tmp_path / "src", tmp_path / "trg"
    source.write_text("a b c\n\nf f a d\nb unseen\nc\n")
    target.write_text("A D@@ E\nF\n\nunseen B\nA A A A F B\n")
    return "-s", source, "-t", target


def numbers(lines):
    return np.array([[float(x) for x in line.split(" ")] for line in lines])


@pytest.mark.parametrize(
    ("compat", "odd"),
    [
        ("nematus", "a\tb\rc"), ("dl4mt", "\ta b\x0bc"), ("nematus-tf", "a\u00a0b c\r"),
        ("marian", "a b c\r"),
    ],
)  # fmt: skip
def test_words_and_line_ends_of_a_program(model, lines, tmp_path, compat, odd):
    def scored(source, target):
        (tmp_path / "s").write_bytes(f"{source}\n".encode())
        (tmp_path / "t").write_bytes(f"{target}\n".encode())
        more = ("--compat", compat, "-s", tmp_path / "s", "-t", tmp_path / "t")
        return lines("-m", model, *more)

    expected = scored("a b c", "A B")
    assert scored(odd, "A B\r") == expected
    assert scored("a b\u200bc", "A B") != expected


# Vocabularies that were given to the programs, as the model names none.
NAMES = {"a-shallow/marian-nematus/model.npz": ("vocab.en.json", "vocab.de.json")}


def forced(lines, shared, name, compat, ending="", *more):
    folder = shared(f"fixtures/{name.split('/')[0]}")
    vocabularies = [f"-v{folder / v}" for v in NAMES.get(name, ())]
    model = ["-m", folder / name.partition("/")[2], *vocabularies]
    pairs = ["-s", folder / f"src{ending}.txt", "-t", folder / f"trg{ending}.txt"]
    return folder, lines(*model, *pairs, "--compat", compat, *more)


PRINTED = (  # one model of each program
    "a-shallow/model.npz", "e-deep-tf/native/model-1500", "c-tied-dec/model.npz",
    "marian-s2s-deep/model.npz", "dl4mt-session1/model.npz",
)  # fmt: skip


@pytest.mark.parametrize(
    "name, file, ending",
    [
        *choice(  # tests of the network check the others
            [(name, SCORES[name][-1], "") for name in SCORES],
            *((name, SCORES[name][-1], "") for name in PRINTED[1:3]),
            long=[(name, SCORES[name][-1], "") for name in PRINTED],
        )
    ]
    + [("a-shallow/model.npz", file, "") for file in ("scores.norm1.txt", "theano/scores.txt")]
    + [("f-factors/model.npz", OOV["f-factors/model.npz"][0], ".oov")],
)
def test_scores_match_the_programs(shared, lines, name, file, ending):
    marian = "marian" in file or (name.startswith("marian") and "/" not in file)
    compat = "marian" if marian else "dl4mt" if "dl4mt" in file else "nematus"
    normalize = ["-n"] if "norm" in file else []
    folder, printed = forced(lines, shared, name, compat, ending, *normalize)
    expected = numbers(line.split(" ||| ")[0] for line in text_lines(folder / file))
    assert len(printed) == len(expected) > 0
    error = np.abs(numbers(printed) - expected) / np.maximum(1, np.abs(expected) / 10)
    assert error.max() <= (MARIAN if marian else NEMATUS)


@pytest.mark.parametrize("name", ["marian-s2s", "marian-amun"])
def test_alignments_match_marians(shared, lines, name):
    folder, printed = forced(
        lines, shared, f"{name}/model.npz", "marian", "", "-n", "--alignment", "soft"
    )
    for mine, theirs in zip(printed, text_lines(folder / "scores.align.txt"), strict=True):
        mine, theirs = (line.split(" ||| ") for line in (mine, theirs))
        assert len(mine) == len(theirs) == 2
        rows, expected = (
            [[float(x) for x in row.split(",")] for row in line[1].split(" ")]
            for line in (mine, theirs)
        )
        assert [len(row) for row in rows] == [len(row) for row in expected]
        error = max(
            abs(a - b)
            for row, other in zip(rows, expected, strict=True)
            for a, b in zip(row, other, strict=True)
        )
        assert error < 1e-4


def test_each_program_has_its_number_format(model, lines, texts):
    plain = lines("-m", model, *texts)
    assert all(line.startswith("-") and len(line.partition(".")[2]) == 6 for line in plain)
    assert lines("-m", model, *texts, "--compat", "marian") == plain
    costs = lines("-m", model, *texts, "--compat", "nematus")
    assert costs == [repr(float(str(np.float32(-x)))) for x in numbers(costs)[:, 0] * -1]
    np.testing.assert_allclose(numbers(costs), -numbers(plain), atol=1e-6)
    doubles = lines("-m", model, *texts, "--compat", "dl4mt")
    assert doubles == [repr(float(np.float32(x))) for x in numbers(doubles)[:, 0]]


def test_word_scores_add_up_to_the_score(model, lines, texts):
    plain = numbers(lines("-m", model, *texts))[:, 0]
    lengths = [len(line.split()) + 1 for line in texts[-1].read_text().splitlines()]
    for line, total, length in zip(
        lines("-m", model, *texts, "--word-scores"), plain, lengths, strict=True
    ):
        score, words = line.split(" ||| WordScores= ")
        assert float(score) == pytest.approx(total, abs=1e-6)
        assert len(words.split(" ")) == length
        assert sum(map(float, words.split(" "))) == pytest.approx(total, abs=1e-4)
    alpha = numbers(lines("-m", model, *texts, "-n", "0.7"))[:, 0]
    np.testing.assert_allclose(alpha, plain / np.array(lengths) ** 0.7, atol=2e-6)


def test_json_has_the_whole_matrix(model, lines, texts):
    objects = [json.loads(x) for x in lines("-m", model, *texts, "--alignment-format", "json")]
    plain = numbers(lines("-m", model, *texts))[:, 0]
    for object_, score in zip(objects, plain, strict=True):
        matrix = np.array(object_["alignment"])
        assert matrix.shape == (len(object_["target"]), len(object_["source"]))
        np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-5)
        assert object_["score"] == pytest.approx(score, abs=1e-5)


@pytest.mark.parametrize("weights", [(), ("0.3", "0.9")])
def test_scores_match_those_of_translate(shared, lines, tmp_path, weights):
    folder = shared("fixtures/a-shallow")
    source = tmp_path / "src"
    source.write_text("".join(f"{line}\n" for line in text_lines(folder / "src.txt")[:6]))
    models = [folder / "model.npz", shared("fixtures/marian-nematus/model.npz")]
    flags = [f"-m{path}" for path in models[: len(weights) or 1]]
    flags += ["-n", "0.8", *(f"--weights={w}" for w in weights)]
    translate = in_process("translate", tmp_path)
    _, text, _ = translate(*flags, "-i", source, "--n-best", output=tmp_path / "list")
    assert text.count("\n") > 20
    rescored = lines(*flags, "-s", source, "--n-best", tmp_path / "list")
    for line in rescored:
        features, total = line.split(" ||| ")[2:]
        assert float(features.split("Score= ")[1]) == pytest.approx(float(total), abs=1e-4)


def test_models_have_columns_and_ensembles_one(model, lines, texts, tmp_path):
    other = write_model(tmp_path / "other", seed=11)
    one, two = (numbers(lines("-m", m, *texts))[:, 0] for m in (model, other))
    both = ["-m", model, "-m", other]
    np.testing.assert_allclose(numbers(lines(*both, *texts)), np.stack([one, two], 1), atol=1e-6)
    together = numbers(lines(*both, *texts, "--ensemble"))[:, 0]
    np.testing.assert_allclose(together, (one + two) / 2, atol=2e-6)
    weighted = numbers(lines(*both, *texts, "--weights", "0.25", "--weights", "2"))[:, 0]
    np.testing.assert_allclose(weighted, one / 4 + 2 * two, atol=2e-5)


@settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(WORDS.split(" ")), max_size=9),
            st.lists(st.sampled_from(WORDS.upper().split(" ")), max_size=9),
        ),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 5),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
)
def test_scores_do_not_depend_on_batches(model, lines, tmp_path, pairs, mini, maxi, random):
    def scored(pairs, *more):
        text = tmp_path / "pairs"
        text.write_text("".join(f"{' '.join(s)}\t{' '.join(t)}\n" for s, t in pairs))
        return numbers(lines("-m", model, "-t", text, *more))[:, 0]

    together = scored(pairs)
    order = list(range(len(pairs)))
    random.shuffle(order)
    shuffled = scored([pairs[i] for i in order], "--mini-batch", mini, "--maxi-batch", maxi)
    np.testing.assert_allclose(shuffled, together[order], atol=1e-5)


def test_lists_keep_their_lines(model, lines, score, texts, tmp_path):
    entries = [
        "0 ||| A D@@ E ||| F0= -1.5 ||| -1.5",
        "0 ||| F ||| F0= -2 F1= 3 ||| -2",
        "3 ||| B ||| -7",
        "3 ||| unseen",
    ]
    path = tmp_path / "list"
    path.write_text("".join(f"{entry}\n" for entry in entries))
    printed = lines("-m", model, "-s", texts[1], "--n-best", path, "--n-best-feature", "R2L")
    scores = [float(line.split("R2L= ")[1].split(" ")[0]) for line in printed]
    shapes = [line.replace(f"{score:g}", "X") for line, score in zip(printed, scores, strict=True)]
    assert shapes == [
        "0 ||| A D@@ E ||| F0= -1.5 R2L= X ||| -1.5",
        "0 ||| F ||| F0= -2 F1= 3 R2L= X ||| -2",
        "3 ||| B ||| -7 R2L= X ",
        "3 ||| unseen ||| R2L= X ",
    ]
    again = tmp_path / "again"
    again.write_text("".join(f"{line}\n" for line in printed))
    given = ["-m", model, "-s", texts[1], "--n-best", again, "--n-best-feature", "R2L"]
    code, text, messages = score(*given)
    assert (code, text) == (1, "")
    assert f"{again}: line 1: the list already has a feature R2L; name the new one with" in messages
    nematus = lines("-m", model, "-s", texts[1], "--n-best", path, "--compat", "nematus")
    for line, entry, score in zip(nematus, entries, scores, strict=True):
        assert line.startswith(f"{entry} ")
        assert float(line.removeprefix(f"{entry} ")) == pytest.approx(-score, rel=1e-5)


@pytest.mark.parametrize("file, more", [("nbest.k5.norm1.txt", ["-n"]), ("nbest.k5.txt", [])])
def test_rescoring_matches_nematus_rescore_py(shared, score, tmp_path, file, more):
    """A list rescored by the model that wrote it: each line ends with its cost, positive.

    `rescore.py -s SRC -i LIST -b 80 -n`, and the list on standard input.
    """
    folder = shared("fixtures/a-shallow")
    lines = (folder / file).read_text("utf-8").splitlines()
    entries = [line for line in lines if int(line.split(" ||| ")[0]) < 6]
    listed = tmp_path / "list"
    listed.write_text("".join(f"{entry}\n" for entry in entries), "utf-8")
    given = ["-m", folder / "model.npz", "-s", folder / "src.txt", "-b", 80, *more]
    code, rescored, messages = score(*given, "-i", listed, "--compat", "nematus-tf")
    assert code == 0, messages
    assert rescored.count("\n") == len(entries) == 30
    for line, entry in zip(rescored.splitlines(), entries, strict=True):
        assert line.rpartition(" ")[0] == entry.strip()
        printed, cost = float(entry.rpartition(" ")[2]), float(line.rpartition(" ")[2])
        if printed > -1e6:  # others are empty hypotheses that pad the list
            assert cost == pytest.approx(-printed, rel=NEMATUS, abs=NEMATUS)
    with open(listed) as standard_input:
        descriptor = os.dup(0)
        os.dup2(standard_input.fileno(), 0)
        try:
            assert score(*given, "--compat", "nematus-tf") == (0, rescored, messages)
        finally:
            os.dup2(descriptor, 0)
            os.close(descriptor)
    code, text, messages = score("-m", folder / "model.npz", "-s", listed, "-t", listed)
    assert (code, text) == (1, "")
    assert f"{listed}: line 1 is an entry of an n-best list" in messages


def test_factors_are_read(tmp_path, lines):
    path = write_model(tmp_path / "m", source_vocabularies=(8, 3), source_embeddings=(4, 2))
    names = ["src.json", "f.json", "trg.json"]
    vocabulary(tmp_path / "m" / "f.json", ["eos", "UNK", "x"])
    (tmp_path / "m" / "model.npz.json").write_text(json.dumps({"dictionaries": names}))
    text = tmp_path / "pairs"
    text.write_text("a|x b|x\tA B\n")
    assert numbers(lines("-m", path, "-t", text)).shape == (1, 1)
    assert SOURCE[2] == "a"


def test_bad_input_is_refused(model, score, texts, tmp_path):
    one_line(score("-m", model, *texts[:-1], texts[1].parent / "no"), 1, "no: No such file")
    short = tmp_path / "short"
    short.write_text("A\n")
    one_line(score("-m", model, *texts[:-1], short), 1, "5 lines", "short 1")
    long = tmp_path / "long"
    long.write_text("a\tA A A A\n")
    one_line(score("-m", model, "-t", long, "--max-length", 3), 1, "line 1", "4 words")
    far = tmp_path / "far"
    far.write_text("9 ||| A ||| 1\n")
    one_line(score("-m", model, "-s", texts[1], "--n-best", far), 1, "line 1", "5 lines")


@pytest.mark.parametrize(
    "arguments, part",
    [
        (["--n-best", "x"], "--n-best LIST needs --source"),
        (["-s", "-", "-t", "-"], "both standard input"),
        (["-s", "a", "-t", "b", "--summary", "ce-sum", "--word-scores"], "--summary"),
        (["-s", "a", "--n-best", "b", "--alignment-format", "json"], "does not fit"),
        (["-s", "a", "-t", "b", "--alignment", "maybe"], "--alignment maybe"),
        (["-s", "a", "-t", "b", "--mini-batch", "0"], "--mini-batch"),
        (["-s", "a", "-t", "b", "--weights", "1", "--weights", "2"], "--weights: 2 given"),
        (["-t", "a", "-t", "b", "-t", "c"], "name the source"),
    ],
)
def test_invalid_combinations_are_refused(model, score, tmp_path, monkeypatch, arguments, part):
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        (tmp_path / name).write_text("a\n")
    one_line(score("-m", model, *arguments), 2, part)


def test_word_scores_of_several_columns_are_refused(model, score, texts, tmp_path):
    other = write_model(tmp_path / "other", seed=11)
    one_line(score("-m", model, "-m", other, *texts, "--word-scores"), 2, "--ensemble")


def test_right_to_left_models_read_from_the_right(lines, tmp_path):
    forward = as_marian(write_model(tmp_path / "f"), "type: amun\n")
    backward = as_marian(write_model(tmp_path / "b"), "type: amun\nright-left: true\n")
    text, turned = tmp_path / "text", tmp_path / "turned"
    text.write_text("a b c\tA B F\n")
    turned.write_text("c b a\tF B A\n")
    printed, expected = (
        lines("-m", path, "-t", file, "--word-scores")[0].split(" ||| WordScores= ")
        for path, file in ((backward, text), (forward, turned))
    )
    assert printed[0] == expected[0]
    words, reversed_ = (line[1].split(" ") for line in (printed, expected))
    assert words == [*reversed(reversed_[:-1]), reversed_[-1]]
