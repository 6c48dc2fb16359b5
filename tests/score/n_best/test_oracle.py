"""`cgru score --oracle`: the hypotheses most similar to a reference."""

import pytest
from commands import one_line
from sacrebleu.metrics import BLEU, CHRF

LISTS = (
    ("a house", "the house is big", "the big house"),
    (),
    ("yes", "no", "yes , no"),
    ("one two three four five", "one two four three five", "five"),
)
FIRST = ("the house is small", "nothing", "no", "one two three five four")
SECOND = ("a house is large", "none", "not", "five")


@pytest.fixture
def files(tmp_path):
    entries = [
        f"{number} ||| {text} ||| F0= -1 ||| -1\n"
        for number, texts in enumerate(LISTS)
        for text in texts
    ]
    (tmp_path / "list").write_text("".join(entries))
    for name, texts in (("first", FIRST), ("second", SECOND)):
        (tmp_path / name).write_text("".join(f"{text}\n" for text in texts))
    return tmp_path


@pytest.mark.parametrize("name", ["chrf", "bleu"])
@pytest.mark.parametrize("count", [1, 2])
def test_the_most_similar_of_each_sentence(score, files, name, count):
    references = [files / "first", files / "second"][:count]
    code, text, messages = score("--n-best", files / "list", "--oracle", name, "-r", *references)
    assert code == 0, messages
    metric = CHRF() if name == "chrf" else BLEU(effective_order=True)
    expected = ""
    for texts, *wanted in zip(LISTS, *(FIRST, SECOND)[:count], strict=True):
        ranked = sorted(texts, key=lambda one: -metric.sentence_score(one, wanted).score)
        expected += f"{(ranked or [''])[0]}\n"
    assert text == expected and text.count("\n") == 4


def test_sentences_at_the_end_may_have_no_hypotheses(score, files):
    (files / "first").write_text("a\n" * 7)
    _, text, _ = score("--n-best", files / "list", "--oracle", "chrf", "-r", files / "first")
    assert text.endswith("\n\n\n\n") and text.count("\n") == 7


def test_features_do_not_matter(score, files):
    (files / "plain").write_text("0 ||| a c\n0 ||| a b ||| F0= -1\n")
    (files / "first").write_text("a b\n")
    given = ("--n-best", files / "plain", "--oracle", "chrf", "-r", files / "first")
    assert score(*given)[:2] == (0, "a b\n")


def test_what_does_not_fit_is_refused(score, files):
    given = ("--n-best", files / "list", "--oracle", "chrf")
    one_line(score(*given), 2, "--reference")
    one_line(score(*given, "-r", files / "first", "--rerank"), 2, "--rerank")
    (files / "first").write_text("a\n" * 2)
    one_line(score(*given, "-r", files / "first"), 1, "the references have 2 lines")
