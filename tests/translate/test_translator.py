"""Lines translated by `Translator`: windows, empty lines, limits, prefixes, heat maps."""

import numpy as np
import pytest
from commands import write_model

from cgru_cli import Translator
from cgru_cli.errors import CgruError, UsageError
from cgru_cli.formats.loaded_model import load_model
from cgru_cli.options.translate import TranslateOptions
from cgru_cli.parameters.structure import Type
from cgru_cli.search.settings import Sampling, SearchSettings
from cgru_cli.translate.line_search import LineSearch
from cgru_cli.translate.plan import SearchPlan

pytestmark = pytest.mark.usefixtures("prepared_once")
LINES = ["a b c", "", "f f a d", "b unseen", "c"]


def decided(path, **options):
    models = [load_model(path)]
    return SearchPlan(TranslateOptions(model=(path,), **options), models)


def searching(path, **options):
    models = [load_model(path)]
    return LineSearch(SearchPlan(TranslateOptions(model=(path,), **options), models), models)


def test_translations_carry_the_numbers_of_their_lines(path):
    search = searching(path, beam_size=3, translation_maxlen=6)
    ready = list(search.translations(LINES, 10))
    assert sorted(one.number for one in ready) == [10, 11, 12, 13, 14]
    by_number = {one.number: one for one in ready}
    assert by_number[11].empty and by_number[11].hypotheses[0].text == ""
    for number, line in enumerate(LINES, 10):
        assert list(by_number[number].source) == line.split()
    assert len(by_number[10].hypotheses) == 3


def test_numpys_numbers_are_numbers(translator):
    found = translator.translate("a b", n_best=np.int64(2), beam_size=np.int64(3))
    assert [one.total for one in found] == [
        one.total for one in translator.translate("a b", n_best=2, beam_size=3)
    ]


@pytest.mark.parametrize("given", [{}, {"prefixes": ["\udc80"]}, {"constraints": [["\udc80"]]}])
def test_half_a_surrogate_pair_is_refused(translator, given):
    line = "a" if given else "a\ud800b"
    with pytest.raises(CgruError, match=r"line 1.*U\+D[8C][08]0 is half of a surrogate pair"):
        translator.translate([line], **given)


def test_scores_add_up_and_cut_translations_lack_eos(translator):
    for hypotheses in translator.translate(LINES, n_best=3):
        totals = [one.total for one in hypotheses]
        assert totals == sorted(totals, reverse=True)
        for one in hypotheses:
            if not one.tokens:
                continue
            rows = len(one.tokens) + one.finished
            assert one.word_scores.shape == (rows,) and rows <= 6
            assert len(one.alignment) == rows
            assert one.score == pytest.approx(float(one.word_scores.sum()), abs=1e-4)
            assert one.model_scores[0] == pytest.approx(one.score, abs=1e-4)


def test_the_best_is_the_first_of_the_list_in_any_window(translator):
    best = translator.translate(LINES)
    lists = translator.translate(LINES, n_best=3)
    assert [one.text for one in best] == [listed[0].text for listed in lists]
    windows = translator.translate(LINES, mini_batch=1, maxi_batch=2)
    assert [one.text for one in windows] == [one.text for one in best]
    assert translator.translate([]) == []


def test_a_prefix_is_the_beginning(path):
    begun = searching(path, force_decode=True, beam_size=2, translation_maxlen=3)
    found = {t.number: t.hypotheses[0] for t in begun.translations(["a b\tD@@ E", "c\tF"])}
    one, other = found[0], found[1]
    assert list(one.tokens[:2]) == ["D@@", "E"] and other.tokens[0] == "F"
    assert len(one.tokens) <= 3 + 2 and len(other.tokens) <= 3 + 1


def test_a_language_model_writes_texts_and_translates_nothing(tmp_path):
    changes = {
        "type": Type.LM,
        "source_vocabularies": (),
        "source_embeddings": (),
        "decoder_base_transition": 1,
    }
    path = write_model(tmp_path, **changes)
    vocabulary = [str(tmp_path / "trg.json")]
    writer = Translator(path, vocabulary, translation_maxlen=4, beam_size=2)
    (one,) = writer.translate([""])
    assert one.score < 0 and one.alignment is None  # at least EOS was written
    with pytest.raises(CgruError, match=r"line 1: .* is a language model"):
        writer.translate(["a"])


def test_plan_holds_the_decisions(path):
    plan = decided(path)
    assert (plan.search, plan.weights) == ("shrinking", (1,))
    assert plan.settings == SearchSettings(
        beam_size=5
    )  # the unknown word is allowed, as in Nematus
    assert plan.limit(3) == plan.limit(300) == 200
    assert decided(path, compat="nematus-tf").search == "nematus-tf"
    assert decided(path, compat="marian").settings.unk == 1
    assert decided(path, max_length_factor=2.0).limit(10) == 20
    assert decided(path, max_length_factor=1.5).limit(3) == 5
    assert decided(path, max_length_factor=1.5, compat="nematus").limit(3) == 4
    assert decided(path, translation_maxlen=7).limit(10) == 7
    both = decided(path, translation_maxlen=7, max_length_factor=2.0)
    assert (both.limit(3), both.limit(10)) == (6, 7)
    assert decided(path, unk_replace=True).settings.with_alignment
    assert decided(path, alignment="0.5").layout.alignment == 0.5
    assert decided(path, output_sampling="topk 3 0.5").settings.sampling == Sampling(0.5, 3)
    assert decided(path, output_sampling="full").settings.beam_size == 1
    assert decided(path, output_sampling="full", compat="nematus-tf").settings.beam_size == 5
    with pytest.raises(UsageError, match="--force-decode: the search of Nematus-TF"):
        decided(path, compat="nematus-tf", force_decode=True)


def test_a_language_model_in_an_ensemble_has_no_view(path, tmp_path):
    no_source = {"source_vocabularies": (), "source_embeddings": ()}
    lm = write_model(tmp_path, type=Type.LM, decoder_base_transition=1, **no_source)
    models = [load_model(path), load_model(lm, [str(tmp_path / "trg.json")])]
    options = TranslateOptions(model=(path, lm), heatmap="page.html", translation_maxlen=4)
    search = LineSearch(SearchPlan(options, models), models)
    mean, own = search.results.views(next(search.translations(["a b"])))
    np.testing.assert_allclose(mean.weights, own.weights, atol=1e-5)


def test_a_beam_beyond_the_workspace_is_refused_by_name(tmp_path):
    path = write_model(tmp_path / "m", state=200)
    message = r"beam_size 1000: a word takes 5 MiB in this search, workspace is 1; increase it"
    with pytest.raises(CgruError, match=message):
        Translator(path, beam_size=1000, workspace=1)


def test_only_words_are_joined_to_a_text(path):
    for words, message in ((3, "words: a list"), ("ab", "words: a list"), ([3], "words: text is")):
        with pytest.raises(UsageError, match=message):
            Translator(path).detokenize(words)


def test_char_level_makes_each_character_a_word(path):
    assert decided(path, char_level=True).reading.split("a b") == ["a", " ", "b"]
    loaded = load_model(path)
    object.__setattr__(loaded.sources[0], "processor", object())
    for more, message in (({}, "SentencePiece splits its source"), ({"no_spm_encode": True}, None)):
        options = TranslateOptions(model=(path,), char_level=True, **more)
        if message is None:
            assert SearchPlan(options, [loaded]).reading.split("ab") == ["a", "b"]
        else:
            with pytest.raises(UsageError, match=message):
                SearchPlan(options, [loaded])


def test_phrases_are_forced_only_where_a_translation_lacks_them(translator):
    """A translation that has its phrases anyway stays as it is; forced, they come early."""
    given = {"beam_size": 2, "translation_maxlen": 8}
    lines = ["a b c", "f f a d", "c"]
    plain = translator.translate(lines, **given)
    had = [[" ".join(one.tokens[-2:])] for one in plain]
    again = translator.translate(lines, constraints=had, **given)
    assert [(one.text, one.total) for one in again] == [(one.text, one.total) for one in plain]
    lacked = [next(word for word in "ABCDF" if word not in one.tokens) for one in plain]
    forced = translator.translate(lines, constraints=[[word] for word in lacked], **given)
    assert all(word in one.tokens for word, one in zip(lacked, forced, strict=True))


def test_phrases_to_avoid_are_read_once(path, tmp_path):
    file = tmp_path / "avoid"
    plain = Translator(path)
    first = plain.translate("a b c").tokens[0]
    file.write_text(f"{first}\n")
    translator = Translator(path, avoid=str(file))
    file.unlink()
    for beam_size in (None, 3):
        assert first not in translator.translate("a b c", beam_size=beam_size).tokens
