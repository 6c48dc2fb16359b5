"""`--split-sentences`: paragraphs in, paragraphs out. The rules here end a sentence at ` . `."""

import re
import sys
from types import SimpleNamespace

import pytest
from commands import as_marian, in_process, one_line, output_lines, write_model

from cgru_cli import Translator, UsageError
from cgru_cli.options.flags import statements
from cgru_cli.options.translate import TranslateOptions

pytestmark = pytest.mark.usefixtures("prepared_once")
LINES = ["a b . c a", "", "f . f d . b", "  ", "a b c", " c . "]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(autouse=True)
def languages(monkeypatch):
    asked = []

    def segment(language, text):
        asked.append(language)
        return re.findall(r".*? \. |.+", text)

    monkeypatch.setitem(sys.modules, "sentencex", SimpleNamespace(segment=segment))
    return asked


def test_each_sentence_is_translated_by_itself(model, tmp_path, languages):
    lines = output_lines(in_process("translate", tmp_path))
    flags = ["-m", model, "--translation-maxlen", "6"]
    asked = "".join(f"{line}\n" for line in LINES)
    whole = lines(*flags, "--split-sentences", text=asked)
    assert len(whole) == len(LINES) and set(languages) == {"en"}
    sentences = [[one for one in re.findall(r".*? \. |.+", line) if one.strip()] for line in LINES]
    alone = iter(lines(*flags, text="".join(f"{one.strip()}\n" for x in sentences for one in x)))
    assert whole == [" ".join(filter(None, (next(alone) for _ in x))) for x in sentences]
    assert whole != lines(*flags, text=asked)
    languages.clear()
    lines(*flags, "--split-sentences", "de", text=asked)
    assert set(languages) == {"de"}


def test_scores_are_sums_and_a_single_sentence_is_as_ever(model):
    translator = Translator(model, translation_maxlen=6, split_sentences="auto")
    paragraph, first, second = (translator.translate(x) for x in ("f d . b", "f d .", "b"))
    assert paragraph.score == pytest.approx(first.score + second.score, abs=1e-5)
    assert paragraph.total == pytest.approx(first.total + second.total, abs=1e-5)
    assert list(paragraph.tokens) == [*first.tokens, *second.tokens]
    assert paragraph.text == f"{first.text} {second.text}".strip()
    assert paragraph.alignment is None and first.alignment is not None
    plain = Translator(model, translation_maxlen=6)
    assert plain.translate("f d . b", split_sentences="en").text == paragraph.text
    assert plain.translate("b").text == second.text
    with pytest.raises(UsageError, match=r"split_sentences and .* exclude each other"):
        translator.translate("a . b", n_best=2)


def test_what_does_not_go_with_it(model, tmp_path):
    run = in_process("translate", tmp_path)
    flag, _ = statements(TranslateOptions)["split_sentences"]
    for other in ("--n-best", "--alignment", "--constraints", "--word-scores", "--tsv"):
        assert other in flag.excludes
        outcome = run("-m", model, "--split-sentences", "en", other, text="a\n")
        one_line(outcome, 2, f"--split-sentences and {other} exclude each other")
    outcome = run("-m", model, "--split-sentences", "german", text="a\n")
    one_line(outcome, 2, "--split-sentences: german: not the code of a language")
    factored = write_model(tmp_path / "f", source_vocabularies=(8, 8), source_embeddings=(3, 4))
    vocabulary = [str(tmp_path / "f" / name) for name in ("src.json", "src.json", "trg.json")]
    outcome = run("-m", factored, "--split-sentences", "-v", *vocabulary, text="a|a\n")
    one_line(outcome, 2, "--split-sentences", "reads no plain source text")


def test_without_the_package(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentencex", None)
    outcome = in_process("translate", tmp_path)("-m", model, "--split-sentences", text="a\n")
    one_line(outcome, 1, "sentencex is not installed: pip install 'cgru[sentences]'")


def test_a_model_that_writes_from_the_end(tmp_path):
    path = as_marian(write_model(tmp_path / "m"), "type: amun\nright-left: true\n")
    translator = Translator(path, translation_maxlen=5)
    first, second = translator.translate(["f d .", "b"])
    assert first.tokens and second.tokens
    whole = translator.translate("f d . b", split_sentences="en")
    assert list(whole.tokens) == [*first.tokens, *second.tokens]
    assert whole.text == f"{first.text} {second.text}"
