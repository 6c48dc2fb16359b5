"""The warning for text that looks raw or tokenised, unlike the model's training text."""

import gzip
from pathlib import Path

import pytest

from cgru_cli import load_model
from cgru_cli.formats.loaded_model import Reading, preprocessing_of
from cgru_cli.text.source_words import LEAST, WATCHED, Tokenisation

KNOWN = {"a", "house", "trees", ".", ",", "?", "Dr.", "U.S."}
ROOT = Path(__file__).resolve().parents[2]


def warned(capsys, lines, alone=".,", words=KNOWN):
    watched = Tokenisation(alone, words.__contains__ if words else None)
    for line in lines:
        watched.see(line)
    said = capsys.readouterr().err
    assert said.count("\n") <= 1
    return said


def test_raw_text_for_a_model_of_tokenised_text(capsys):
    raw = ["a house.", "a house, trees", "trees?"]
    assert "it knows 'trees' and '?', not 'trees?'; tokenise it" in warned(capsys, raw * 5)
    for quiet in (
        raw[: LEAST - 1],
        ["a house .", "Dr. a house", "U.S. trees"] * 9,  # tokenised, with abbreviations
        ["unseen.", "house!", "a.b"] * 9,  # `unseen` and `!` are unknown too
        ["a house. ."] * 9,
        ["a"] * 4 * LEAST + raw,  # less than half
        ["a"] * WATCHED + raw * 99,
        [""] * 9,
    ):
        assert warned(capsys, quiet) == ""


def test_several_threads_may_see_lines(capsys):
    def knows(word):
        if word == "Dr.":  # as other threads would do here
            for _ in range(LEAST):
                watched.see("a house, trees")
        return word in KNOWN

    watched = Tokenisation(".,", knows)
    watched.see("Dr. a house")
    assert "tokenise it" in capsys.readouterr().err


def test_tokenised_text_for_a_model_of_raw_text(capsys):
    tokenised = ["a house .", "a house , trees", "."]
    assert "looks tokenised" in warned(capsys, tokenised * 2, words=None)
    assert warned(capsys, tokenised * 9, alone="", words=None) == ""  # trained on such text
    for quiet in (["a house."] * 9, ["Quoi ?", "Oh !"] * 9, ["a . house."] * 9, tokenised[:2]):
        assert warned(capsys, quiet, words=None) == ""


def read(model, lines):
    reader = model.source_lines(Reading(preprocessing_of([model], {})))
    for number, line in enumerate(lines):
        reader.words(line, number)


def test_the_example_model_reads_raw_text(capsys):
    pytest.importorskip("sentencepiece")
    model = load_model(str(ROOT / "examples/en-de.npz"))
    raw = ["Where is the station?", "I like it, and you do too.", "Mr. Smith came.", "No."]
    read(model, raw * 9)
    assert capsys.readouterr().err == ""
    tokenised = [line.replace(".", " .").replace(",", " ,") for line in raw]
    read(model, tokenised * 9)
    read(model, tokenised * 9)  # once
    assert capsys.readouterr().err.count("looks tokenised") == 1


def test_the_models_of_old_programs_are_quiet_on_their_text(capsys, shared):
    for folder in ("marian-s2s", "marian-amun", "a-shallow"):
        path = shared(f"fixtures/{folder}") / "model.npz"
        model = load_model(str(path))
        read(model, path.with_name("src.txt").read_text("utf-8").splitlines())
        assert capsys.readouterr().err == ""
    with gzip.open(shared("data/multi30k/val.en.gz"), "rt", encoding="utf-8") as file:
        read(load_model(str(path)), file.read().splitlines())
    assert "the text looks raw" in capsys.readouterr().err
