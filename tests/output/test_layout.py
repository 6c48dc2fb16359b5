"""Layouts, byte for byte those of the original programs."""

import itertools
import json
import math
import os
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_files import SHARED
from tables import each_row

from cgru_cli.errors import UsageError
from cgru_cli.output.hypothesis import Hypothesis
from cgru_cli.output.layouts import layout_of

FIXTURES = SHARED / "fixtures"


def fixture(name):
    path = FIXTURES / name
    if not path.exists():
        if os.environ.get("CGRU_REQUIRE_SHARED") == "1":
            pytest.fail(f"{path} is missing")
        pytest.skip(f"{path} is missing")
    return path


def files(*patterns):
    """Names of the fixtures that match; the patterns themselves if none does."""
    found = [path for pattern in patterns for path in sorted(FIXTURES.glob(pattern))]
    return [path.relative_to(FIXTURES).as_posix() for path in found] or list(patterns)


def lines_of(path):
    return path.read_text("utf-8").removesuffix("\n").split("\n")


def rewrite(layout, path, parse):
    """The text of an n-best file, parsed line by line and written again."""
    parsed = [parse(line.split(" ||| ")) for line in lines_of(path)]
    groups = itertools.groupby(parsed, key=lambda pair: pair[0])
    return "".join(
        layout.render(number, [], [hypothesis for _, hypothesis in group])
        for number, group in groups
    )


def words(text):
    return text.split(" ") if text else []


def same(written, path):
    """Check that text equals a file's content; fails at the first wrong line."""
    expected = path.read_text("utf-8")
    if written != expected:
        pairs = itertools.zip_longest(written.split("\n"), expected.split("\n"))
        number, (ours, theirs) = next((i, p) for i, p in enumerate(pairs, 1) if p[0] != p[1])
        pytest.fail(f"{path}:{number}\n{ours}\n{theirs}")
    return True


MARIAN = ("marian-*/nbest.*", "*/marian-*/nbest.*")


@each_row("name", [n for n in files(*MARIAN) if "align" not in n])
@each_row("program", ["marian", "cgru"])
def test_marian_n_best(name, program):
    def parse(fields):
        number, text, features, total = fields
        score = float(features.removeprefix("F0= "))
        return int(number), Hypothesis(words(text), True, score, float(total), (), (score,))

    path = fixture(name)
    assert same(rewrite(layout_of(program, n_best=True), path, parse), path)


@pytest.mark.parametrize("name", files("*/marian-*/nbest.align.wordscores.k5.norm1.txt"))
def test_marian_soft_alignment_and_word_scores(name):
    def parse(fields):
        number, text, soft, scores, features, total = fields
        rows = [[float(weight) for weight in row.split(",")] for row in soft.split(" ")]
        hypothesis = Hypothesis(
            words(text),
            len(rows) > len(words(text)),  # one of the files has a hypothesis that was cut
            float(features.removeprefix("F0= ")),
            float(total),
            [float(score) for score in scores.removeprefix("WordScores= ").split(" ")],
            (),
            np.array(rows, np.float32),
        )
        assert len(rows) == len(hypothesis.word_scores)
        return int(number), hypothesis

    path = fixture(name)
    layout = layout_of("marian", n_best=True, word_scores=True, alignment="soft")
    assert same(rewrite(layout, path, parse), path)


@each_row("name", files("marian-*/best.*"))
def test_marian_best(name):
    path = fixture(name)
    written = [
        layout_of("marian").render(i, [], [Hypothesis(words(text), True, -1.0, -1.0)])
        for i, text in enumerate(lines_of(path))
    ]
    assert same("".join(written), path)


TF = ("[a-f]*-*/nbest.*", "[a-f]*-*/native/nbest.*")


@each_row("name", [n for n in files(*TF) if "marian" not in n and "dl4mt" not in n])
def test_nematus_tf_n_best_with_its_padding(name):
    def parse(fields):
        number, text, score = fields
        cut = bool(text) and not text.endswith(" ")
        kept = words(text.removesuffix(" "))
        return int(number), Hypothesis(kept, not cut, float(score), float(score))

    path = fixture(name)
    beam = int(re.search(r"\.k(\d+)", path.name)[1])
    kept = [line for line in lines_of(path) if " ||| -10000000.0" not in line]
    parsed = [parse(line.split(" ||| ")) for line in kept]
    layout = layout_of("nematus-tf", n_best=True, beam_size=beam)
    written = "".join(
        layout.render(number, [], [hypothesis for _, hypothesis in group])
        for number, group in itertools.groupby(parsed, key=lambda pair: pair[0])
    )
    assert same(written, path)


@pytest.mark.parametrize(
    "name", [n for n in files("[a-f]*-*/best.*") if "marian" not in n and "dl4mt" not in n]
)
def test_nematus_tf_best(name):
    path = fixture(name)
    written = [  # a line was cut if no space ends it
        layout_of("nematus-tf").render(
            i, [], [Hypothesis(words(text.removesuffix(" ")), text.endswith(" "), -1.0, -1.0)]
        )
        for i, text in enumerate(lines_of(path))
    ]
    assert same("".join(written), path)


@pytest.mark.parametrize(
    ("name", "probabilities"),
    [
        ("a-shallow/theano/nbest.k5.norm1.txt", True),
        ("a-shallow/theano/nbest.k12.norm1.txt", False),
    ],
)
def test_nematus_n_best_with_probabilities(name, probabilities):
    def parse(fields):
        number, text, cost, *rest = fields
        scores = [math.log(float(p)) for p in rest[0].split(" ")] if rest else ()
        return int(number), Hypothesis(words(text), True, -1.0, -float(cost), scores)

    path = fixture(name)
    layout = layout_of("nematus", n_best=True, normalize=True, word_scores=probabilities)
    assert same(rewrite(layout, path, parse), path)


def read_alignments(path):
    """(line number, source, hypothesis) of each block of a Nematus alignment file."""
    for block in path.read_text("utf-8").removesuffix("\n\n").split("\n\n"):
        header, *rows = block.split("\n")
        number, text, cost, source, sizes = header.split(" ||| ")
        alignment = np.array([row.split(" ") for row in rows], np.float32)
        assert alignment.shape == tuple(reversed([int(size) for size in sizes.split(" ")]))
        hypothesis = Hypothesis(words(text), True, -1.0, -float(cost), alignment=alignment)
        yield int(number), source.split(" "), hypothesis


def test_nematus_alignment_file():
    path = fixture("a-shallow/theano/nbest.align.k5.norm1.txt")
    layout = layout_of("nematus", n_best=True, normalize=True, alignment="soft")
    written = [
        layout.render_apart(number, source, [hypothesis])[1]
        for number, source, hypothesis in read_alignments(path)
    ]
    assert same("".join(written), path)


@pytest.mark.parametrize(
    ("name", "normalize"),
    [("a-shallow/dl4mt/session2.nbest.k5.txt", False), ("dl4mt-session1/nbest.k5.txt", True)],
)
def test_dl4mt_n_best(name, normalize):
    def parse(fields):
        number, text, cost, *rest = fields
        total = -float(rest[0]) if rest else 0.0
        return int(number), Hypothesis(words(text), True, -float(cost), total)

    path = fixture(name)
    layout = layout_of("dl4mt", n_best=True, normalize=normalize)
    assert same(rewrite(layout, path, parse), path)


@pytest.mark.parametrize(("normalize", "cost"), [(False, "12.3000001907"), (True, "0.3")])
def test_dl4mts_own_lists_have_no_spaces(normalize, cost):
    """Session 3's -b: fields as Python 2 formats them, float32 where nothing is divided."""
    total = -0.3 if normalize else -12.3
    layout = layout_of("dl4mt", n_best=True, shown=1, normalize=normalize)
    hypotheses = [Hypothesis(("a", "b"), True, -12.3, total), Hypothesis((), True, -13.0, -13.0)]
    assert layout.render(4, [], hypotheses) == f"4|||a b|||{cost}\n"


@pytest.mark.parametrize("name", ["best.k5.txt", "best.k5.norm.txt"])
def test_dl4mt_best(name):
    path = fixture(f"dl4mt-session1/{name}")
    written = [
        layout_of("dl4mt").render(i, [], [Hypothesis(words(text), True, -1.0, -1.0)])
        for i, text in enumerate(lines_of(path))
    ]
    assert same("".join(written), path)


# Cases without a fixture, with a hypothesis of two words and a source of two words.
SOURCE = ["u@@", "v"]
ALIGNMENT = np.array([[0.25, 0.5, 0.25], [0.5, 0.125, 0.375], [0.1, 0.2, 0.7]], np.float32)
DONE = Hypothesis(["a@@", "b"], True, -3.0, -1.0, (-1.0, -1.5, -0.5), (-4.0, -2.0), ALIGNMENT)
CUT = DONE._replace(finished=False, word_scores=(-1.0, -1.5), alignment=ALIGNMENT[:2])


def test_ensembles_have_a_score_for_each_model():
    for program in ("cgru", "marian"):
        text = layout_of(program, n_best=True).render(7, SOURCE, [DONE, CUT])
        assert text == "7 ||| a@@ b ||| F0= -4 F1= -2 ||| -1\n" * 2


def test_a_noisy_channel_names_its_features():
    ranked = DONE._replace(features=[("F0", -1.5), ("Channel", -0.5), ("LM", -2.0)])
    line = layout_of("cgru", n_best=True).render(7, SOURCE, [ranked])
    assert line == "7 ||| a@@ b ||| F0= -1.5 Channel= -0.5 LM= -2 ||| -1\n"


@pytest.mark.parametrize(
    ("alignment", "done", "cut"),
    [
        ("hard", "0-1 1-0 2-2", "0-1 1-0"),
        (1.0, "0-1 1-0 2-2", "0-1 1-0"),
        (0.2, "0-0 0-1 1-0 2-0 2-1 2-2", "0-0 0-1 1-0 2-0 2-1"),
        ("soft", "0.25,0.5,0.25 0.5,0.125,0.375 0.1,0.2,0.7", "0.25,0.5,0.25 0.5,0.125,0.375"),
    ],
)
def test_marian_alignments_with_eos_and_sorted_by_source(alignment, done, cut):
    for program in ("cgru", "marian"):
        layout = layout_of(program, alignment=alignment)
        assert layout.render(0, SOURCE, [DONE]) == f"a@@ b ||| {done}\n"
        assert layout.render(0, SOURCE, [CUT]) == f"a@@ b ||| {cut}\n"


def test_a_threshold_is_exceeded_in_float32_as_marian_compares():
    # The float32 nearest to 0.2 is above the number 0.2, and not above itself.
    row = np.array([[0.2, 0.8]], np.float32)
    hypothesis = Hypothesis([], True, -1.0, -1.0, alignment=row)
    assert layout_of(alignment=0.2).render(0, [], [hypothesis]) == " ||| 1-0\n"


def test_the_first_of_equal_weights_is_aligned():
    even = DONE._replace(alignment=np.full((3, 3), 1 / 3, np.float32))
    assert layout_of(alignment="hard").render(0, SOURCE, [even]) == "a@@ b ||| 0-0 0-1 0-2\n"


def test_amun_counts_targets_first_leaves_eos_out_and_prints_three_decimals():
    best = layout_of("amun", alignment="hard").render(0, SOURCE, [DONE, CUT])
    assert best == "a@@ b ||| 0-1 1-0\n"
    listed = layout_of("amun", n_best=True, alignment="soft").render(3, SOURCE, [DONE])
    soft = "0.25,0.5,0.25 0.5,0.125,0.375"
    assert listed == f"3 ||| a@@ b ||| {soft} ||| F0= -4.000 F1= -2.000 ||| -1.000\n"
    # It leaves out the last row, which belongs to a word in a cut hypothesis.
    assert layout_of("amun", alignment="hard").render(0, SOURCE, [CUT]) == "a@@ b ||| 0-1\n"
    empty = Hypothesis([], True, -1.0, -1.0, alignment=ALIGNMENT[:1])
    assert layout_of("amun", alignment="hard").render(0, SOURCE, [empty]) == " |||\n"


def test_amun_alignment_in_nematus_format_replaces_the_line():
    layout = layout_of("amun", alignment="soft", alignment_format="nematus")
    assert layout.render(0, SOURCE, [DONE]) == (
        "0 ||| a@@ b ||| 1 ||| u@@ v ||| 3 3\n0.25 0.5 0.25\n0.5 0.125 0.375\n0.1 0.2 0.7\n\n"
    )
    with pytest.raises(UsageError):
        layout_of("amun", alignment="soft", alignment_format="nematus", n_best=True)


def test_nematus_best_prints_probabilities_on_a_second_line():
    text = layout_of("nematus", word_scores=True).render(0, SOURCE, [DONE])
    assert text == "a@@ b\n0.367879450321 0.223130166531 0.606530666351\n"


@pytest.mark.parametrize(("total", "text"), [(-5.1, "5.1"), (0.0, "0.0"), (-5e-5, "5e-05")])
def test_nematus_costs_are_float32_unless_normalized(total, text):
    hypothesis = Hypothesis(["a"], True, total, total)
    assert layout_of("nematus", n_best=True).render(0, [], [hypothesis]) == f"0 ||| a ||| {text}\n"
    precise = hypothesis._replace(total=float(np.float32(total)))
    listed = layout_of("nematus", n_best=True, normalize=True).render(0, [], [precise])
    assert listed == f"0 ||| a ||| {0 - precise.total!r}\n"


def test_nematus_alignment_counts_eos_even_without_one():
    text = layout_of("nematus", alignment="hard").render(4, SOURCE, [CUT])
    header = "4 ||| a@@ b ||| 1.0 ||| u@@ v ||| 3 3"
    assert text == f"a@@ b\n{header}\n0.25 0.5 0.25\n0.5 0.125 0.375\n\n"


def test_nematus_json_follows_the_text():
    layout = layout_of("nematus", n_best=True, alignment="soft", alignment_format="json")
    text, links = layout.render_apart(4, SOURCE, [DONE, CUT])
    assert layout.render(4, SOURCE, [DONE]) == "4 ||| a@@ b ||| 1.0\n" + links.split("]\n[")[0] + (
        "]\n"
    )
    assert text == "4 ||| a@@ b ||| 1.0\n" * 2
    assert links.startswith(
        '[\n  [\n    "a@@", \n    "u@@", \n    "0.25", \n    4, \n    4\n  ], \n'
    )
    second = json.loads("[" + links.split("]\n[")[1])
    assert second[-1] == ["b", "</s>", "0.375", 4, 5]
    assert json.loads(links.split("]\n[")[0] + "]")[-1] == ["</s>", "</s>", "0.7", 4, 4]


def test_json_is_one_object_per_line():
    layout = layout_of(
        n_best=True,
        word_scores=True,
        alignment="hard",
        alignment_format="json",
    )
    hypotheses = [one._replace(detokenized="ab") for one in (DONE, CUT)]
    first, second = layout.render(4, SOURCE, hypotheses).removesuffix("\n").split("\n")
    assert json.loads(first) == {
        "id": 4,
        "text": "ab",
        "source": ["u@@", "v", "</s>"],
        "target": ["a@@", "b", "</s>"],
        "alignment": [[0.25, 0.5, 0.25], [0.5, 0.125, 0.375], [0.1, 0.2, 0.7]],
        "score": -3.0,
        "total": -1.0,
        "word_scores": [-1.0, -1.5, -0.5],
    }
    assert json.loads(second)["target"] == ["a@@", "b"]
    assert len(json.loads(second)["alignment"]) == 2
    text, objects = layout.render_apart(4, SOURCE, hypotheses)
    assert (
        text
        == "4 ||| ab ||| WordScores= -1.00000 -1.50000 -0.50000 ||| F0= -4 F1= -2 ||| -1\n"
        + ("4 ||| ab ||| WordScores= -1.00000 -1.50000 ||| F0= -4 F1= -2 ||| -1\n")
    )
    assert objects == f"{first}\n{second}\n"


def test_an_unfinished_nematus_tf_line_has_no_space_for_eos():
    layout = layout_of("nematus-tf", n_best=True, beam_size=4)
    assert layout.render(0, SOURCE, [DONE, CUT]) == (
        "0 ||| a@@ b  ||| -1.0\n0 ||| a@@ b ||| -1.0\n" + "0 |||  ||| -10000000.0\n" * 2
    )
    assert layout_of("nematus-tf", beam_size=4).render(0, SOURCE, [DONE]) == "a@@ b \n"


def test_right_to_left_models_are_printed_left_to_right():
    options = {"right_left": True, "word_scores": True, "alignment": "hard"}
    turned = layout_of(**options).render(0, SOURCE, [DONE])
    assert turned == "b a@@ ||| 0-0 1-1 2-2 ||| WordScores= -1.50000 -1.00000 -0.50000\n"
    cut = layout_of(**options).render(0, SOURCE, [CUT])
    assert cut == "b a@@ ||| 0-0 1-1 ||| WordScores= -1.50000 -1.00000\n"
    # Marian's own output keeps these in the order of decoding.
    marian = layout_of("marian", **options).render(0, SOURCE, [DONE])
    assert marian == "b a@@ ||| 0-1 1-0 2-2 ||| WordScores= -1.00000 -1.50000 -0.50000\n"
    # columns of a reversed source are reversed again
    read_so = layout_of("marian", **options, source_reversed=True).render(0, SOURCE, [DONE])
    assert read_so == "b a@@ ||| 0-0 1-1 2-2 ||| WordScores= -1.00000 -1.50000 -0.50000\n"
    as_json = layout_of("marian", **options, alignment_format="json").render(0, SOURCE, [DONE])
    assert as_json == layout_of(**options, alignment_format="json").render(0, SOURCE, [DONE])
    joined = DONE._replace(tokens=["b", "a@@"], detokenized="ab")
    assert layout_of(right_left=True).render(0, SOURCE, [joined]) == "ab\n"


@pytest.mark.parametrize("program", ["cgru", "nematus", "nematus-tf", "dl4mt", "marian", "amun"])
def test_no_hypotheses_make_an_empty_line(program):
    assert layout_of(program).render(0, [], []) == "\n"
    assert layout_of(program, alignment="soft").render_apart(0, [], []) == ("\n", "")
    empty = layout_of(program, n_best=True, beam_size=2).render(0, [], [])
    padding = "0 |||  ||| -10000000.0\n" * 2
    assert empty == {"nematus-tf": padding, "amun": "\n"}.get(program, "")


def test_nematus_entries_of_empty_lines_have_no_probabilities():
    empty = Hypothesis((), True, 0.0, 0.0)
    layout = layout_of("nematus", word_scores=True, alignment="soft")
    assert layout.empty_line(4, empty) == "\n\n"
    listed = layout_of("nematus", word_scores=True, n_best=True)
    assert listed.empty_line(4, empty) == "4 |||  ||| 0.0 ||| \n"


@pytest.mark.parametrize("program", ["cgru", "nematus", "nematus-tf", "dl4mt", "marian"])
def test_an_empty_hypothesis_may_lack_its_alignment(program):
    nothing = Hypothesis([], True, 0.0, 0.0)
    assert layout_of(program).render(0, [], [nothing]) == "\n"
    for form in ("marian", "amun", "nematus", "json"):
        layout = layout_of(program, alignment="hard", alignment_format=form, word_scores=True)
        assert layout.render(0, [], [nothing]).endswith("\n")
        with pytest.raises(ValueError):
            layout.render(0, SOURCE, [DONE._replace(alignment=None)])


def hypotheses_of(length):
    weights = st.lists(
        st.lists(st.floats(0, 1, width=32), min_size=3, max_size=3),
        min_size=length + 1,
        max_size=length + 1,
    )
    return st.builds(
        Hypothesis,
        tokens=st.just(["w"] * length),
        finished=st.just(True),
        score=st.floats(-1e6, 0),
        total=st.floats(-1e6, 0),
        word_scores=st.lists(st.floats(-50, 0), min_size=length + 1, max_size=length + 1),
        model_scores=st.just(()),
        features=st.just(()),
        alignment=weights.map(lambda rows: np.array(rows, np.float32)),
    )


@given(st.integers(0, 4).flatmap(hypotheses_of))
def test_printed_numbers_are_read_back(hypothesis):
    layout = layout_of(n_best=True, word_scores=True, alignment="soft")
    _, _, soft, scores, score, total = (
        layout.render(0, SOURCE, [hypothesis]).removesuffix("\n").split(" ||| ")
    )
    assert float(total) == pytest.approx(hypothesis.total, rel=1e-5, abs=1e-30)
    assert float(score.removeprefix("F0= ")) == pytest.approx(hypothesis.score, rel=1e-5, abs=1e-30)
    read = [float(part) for part in scores.removeprefix("WordScores= ").split(" ")]
    assert read == pytest.approx(hypothesis.word_scores, abs=1e-5)
    weights = np.array([row.split(",") for row in soft.split(" ")], np.float32)
    np.testing.assert_allclose(weights, hypothesis.alignment, rtol=1e-5, atol=1e-30)


@given(st.integers(0, 4).flatmap(hypotheses_of))
def test_nematus_and_json_weights_are_read_back_exactly(hypothesis):
    block = layout_of("nematus", alignment="soft").render_apart(0, SOURCE, [hypothesis])[1]
    rows = np.array([row.split(" ") for row in block.strip("\n").split("\n")[1:]], np.float32)
    np.testing.assert_array_equal(rows, hypothesis.alignment)
    values = json.loads(
        layout_of(alignment="soft", alignment_format="json").render(0, SOURCE, [hypothesis])
    )
    np.testing.assert_array_equal(np.array(values["alignment"], np.float32), hypothesis.alignment)
