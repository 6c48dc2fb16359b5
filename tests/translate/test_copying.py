"""Spans of the source are in every translation: by placeholders, and by the words of the span."""

import dataclasses
import json
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from commands import write_model

from cgru_cli import PairScorer, Translator
from cgru_cli.errors import UsageError
from cgru_cli.formats.loaded_model import load_model
from cgru_cli.options.translate import TranslateOptions
from cgru_cli.parameters.structure import Type
from cgru_cli.text.copying import PLACEHOLDERS
from cgru_cli.text.pipeline import PipelineSettings
from cgru_cli.translate.phrases import Fields
from cgru_cli.translate.plan import SearchPlan
from cgru_cli.translate.preparation import LinePreparer

pytestmark = pytest.mark.usefixtures("prepared_once")
SOURCE = ["eos", "UNK", "a", "b", "7", *PLACEHOLDERS[:3]]
TARGET = ["eos", "UNK", "A", "B", "7", *PLACEHOLDERS[:3]]
LINES = ["a 12 b", "b", "3 a 4 5 a b", "3 3"]


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    path = write_model(tmp_path_factory.mktemp("model"), source=SOURCE, target=TARGET)
    return Translator(path, beam_size=4, copy=["number"], translation_maxlen=12)


def test_each_span_is_in_every_hypothesis_as_often_as_in_the_source(translator):
    for line, hypotheses in zip(LINES, translator.translate(LINES, n_best=4), strict=True):
        numbers = sorted(word for word in line.split() if word.isdigit())
        for one in hypotheses:
            copied = [word for word in one.tokens if word in PLACEHOLDERS]
            assert sorted(copied) == list(PLACEHOLDERS[: len(numbers)])
            kept = [
                text
                for word, text in zip(one.tokens, one.text.split(), strict=True)
                if word in copied
            ]
            assert sorted(kept) == numbers
            assert one.alignment.shape[0] == len(one.tokens) + one.finished


def test_spans_without_a_placeholder_are_phrases(translator, capsys):
    one = translator.translate("1 2 3 7")
    assert {"1", "2", "3", "7"} <= set(one.text.split()) and one.tokens.count("7") == 1
    assert "9" not in translator.translate("1 2 3 9").text.split()
    assert "line 1: the vocabulary lacks a part of '9'" in capsys.readouterr().err


def test_a_beginning_and_a_phrase_may_have_the_span(translator):
    begun = translator.translate("a 12 b 13", prefixes="A 12")
    assert begun.text.startswith("A 12") and begun.text.split().count("12") == 1
    assert "13" in begun.text.split()
    asked = translator.translate("a 12 b", constraints=["12 A"])
    assert "12 A" in asked.text and asked.text.split().count("12") == 1


def test_only_whole_spans_are_replaced_in_beginnings_and_phrases(translator):
    assert translator.translate("a 12 b 1", prefixes="12 A 112").tokens[:3] == ["⟦1⟧", "A", "UNK"]
    assert translator.translate("12 a", prefixes="⟦1⟧ A").tokens[0] == "UNK"


@pytest.mark.parametrize("phrases", [["A 12"], ["12 A", "A 12 A"], [["A 12", "B 12"]]])
def test_a_phrase_with_a_span_leaves_it_unique(translator, phrases):
    for one in translator.translate("a 12 b", constraints=phrases, n_best=4):
        assert one.tokens.count("⟦1⟧") == 1
        for some in phrases:
            assert any(p in one.text for p in ([some] if isinstance(some, str) else some))


def test_avoided_phrases_may_have_spans(translator, tmp_path):
    free = translator.translate("a 12 b")
    after = free.text.partition("12 ")[2].split()[0]
    avoided = [f"12 {after}"]
    assert avoided[0] in free.text
    assert avoided[0] not in translator.translate("a 12 b", avoid=avoided).text
    assert "12" in translator.translate("a 12 b", avoid=["12"]).text  # copied all the same
    assert "7" in translator.translate("1 2 3 7", avoid=["7"]).text.split()
    file = tmp_path / "avoid"
    file.write_text(f"B B\n12 {after}\n")
    path = write_model(tmp_path, source=SOURCE, target=TARGET)
    reader = Translator(path, beam_size=4, copy=["number"], avoid=str(file), translation_maxlen=12)
    assert avoided[0] not in reader.translate("a 12 b").text


def test_nothing_is_copied_without_patterns(translator):
    for one in translator.translate("a 12 b", copy=["none"], n_best=4):
        assert "12" not in one.text and not {*PLACEHOLDERS} & {*one.tokens}


def test_none_stands_alone(translator):
    with pytest.raises(UsageError, match="copy: none stands alone"):
        translator.translate("a 12 b", copy=["number", "none"])


def test_a_translation_with_the_whole_word_is_accepted(tmp_path):
    """Of a model without placeholders: the piece ▁7. is neither ▁7 nor 7."""
    text = tmp_path / "text"
    text.write_text("7. a (7) b 7.\n" * 50 + "7 a\n" * 9)
    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(tmp_path / "v"),
        vocab_size=30,
        hard_vocab_limit=False,
        split_by_unicode_script=False,
        minloglevel=9,
        **{"eos_id": 0, "unk_id": 1, "bos_id": -1},
    )
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "v.model"))
    assert processor.encode("a 7.", out_type=str) == ["▁a", "▁7."]
    words = [str(number) for number in range(processor.vocab_size())]
    path = write_model(tmp_path, source=words, target=words)
    loaded = load_model(path, [str(tmp_path / "v.model")] * 2)
    plan = SearchPlan(TranslateOptions(model=(path,), copy=("number",)), [loaded])
    line = LinePreparer(plan, loaded, loaded).read(Fields("a 7. b"), 0)
    for word in ("▁7.", "▁a"):
        found = [namedtuple("Found", "words")(np.array([processor.piece_to_id(word)]))]
        assert line.accepted(found) == (found if word == "▁7." else None)


@pytest.fixture
def copying_model(tmp_path):
    """A model whose preprocess.json says that numbers are copied."""
    path = write_model(tmp_path, source=SOURCE, target=TARGET)
    settings = dataclasses.asdict(PipelineSettings(copy=("number",), subwords="none"))
    written = {"format": "cgru-preprocess", "version": 1, "settings": settings}
    written |= {"case_models": [], "subword_models": []}
    Path(f"{path}.preprocess.json").write_text(json.dumps(written))
    return path


def test_scores_are_those_of_translations(copying_model):
    """Also of text that has placeholders already, like training text."""
    source = "a 12 b 3"
    scorer = PairScorer(copying_model)
    for one in Translator(copying_model, translation_maxlen=8).translate(source, n_best=3):
        assert "12" in one.text
        scored = scorer.score([(source, one.text), ("a ⟦1⟧ b ⟦2⟧", " ".join(one.tokens))])
        count = len(one.tokens)
        for pair in scored:
            assert pair.word_scores[:count] == pytest.approx(one.word_scores[:count], abs=1e-5)


@pytest.mark.long
def test_samples_are_drawn_without_constraints(copying_model):
    for kind in ({"output_sampling": "full", "beam_size": 4}, {"mbr": 4}):
        samplers = [
            Translator(copying_model, **kind, seed=seed, translation_maxlen=8) for seed in range(4)
        ]
        drawn = {one.translate("a 12 b", n_best=4)[0].text for one in samplers}
        assert len(drawn) > 1
        with pytest.raises(UsageError, match="copy: sampling cannot force the spans"):
            Translator(copying_model, **kind, copy=["number"])
        Translator(copying_model, **kind, copy=["none"])


def test_models_without_source_text_are_refused(tmp_path):
    changes = {"source_vocabularies": (), "source_embeddings": (), "decoder_base_transition": 1}
    path = write_model(tmp_path, type=Type.LM, **changes)
    with pytest.raises(UsageError, match=r"copy: .* does not translate plain text"):
        Translator(path, [str(tmp_path / "trg.json")], copy=["url"])
