"""Options as keyword arguments: the names, checks and messages of the commands' options."""

import dataclasses
from pathlib import Path

import pytest

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.options.flags import applying
from cgru_cli.options.keyword_types import ScoringKeywords, SearchKeywords, TranslatorKeywords
from cgru_cli.options.keywords import checked, in_python
from cgru_cli.options.scope import Scope
from cgru_cli.options.score import ScoreOptions
from cgru_cli.options.train import TrainOptions
from cgru_cli.options.translate import TranslateOptions

# Options of the commands' files and their output, and those that Python has as other arguments.
OF_FILES = """
    config dump_config interpolate_env_vars relative_paths input source target tsv output log quiet
    model model_is vocabularies n_best n_best_size word_scores alignment alignment_format
    output_alignment heatmap heatmap_lines force_decode constraints resume document
""".split()


def test_every_option_of_translate_is_a_keyword_or_of_files():
    names = {field.name for field in dataclasses.fields(TranslateOptions)}
    keywords = TranslatorKeywords.__annotations__.keys()
    assert keywords == applying(TranslateOptions, Scope.TRANSLATOR | Scope.CALL).keys()
    assert names - keywords == names & set(OF_FILES)
    assert SearchKeywords.__annotations__.keys() == applying(TranslateOptions, Scope.CALL).keys()
    assert ScoringKeywords.__annotations__.keys() == applying(ScoreOptions, Scope.SCORER).keys()


def test_lists_and_paths_become_what_options_hold():
    known = ["weights", "bpe", "shortlist", "beam_size", "output_sampling"]
    given = {"weights": [1, 0.5], "bpe": Path("codes"), "shortlist": "lex", "beam_size": None}
    given["output_sampling"] = None
    assert checked(TranslateOptions, given, known) == {
        "weights": (1.0, 0.5),
        "bpe": "codes",
        "shortlist": ("lex",),
        "beam_size": None,
        "output_sampling": None,
    }
    with pytest.raises(UsageError, match="beam_size: True: a whole number from 1"):
        checked(TranslateOptions, {"beam_size": True}, known)


def test_a_keyword_without_effect_is_accepted_with_a_note(capsys):
    for options in (TranslateOptions, ScoreOptions):
        assert checked(options, {"runtime": "onnx"}, ["runtime"]) == {"runtime": "onnx"}
        note = "cgru: note: without effect here: runtime (ONNX Runtime runs every model)\n"
        assert capsys.readouterr().err == note
        with pytest.raises(UsageError, match=r"^runtime: jax: one of auto, tensorflow, onnx is"):
            checked(options, {"runtime": "jax"}, ["runtime"])
        with pytest.raises(UsageError, match=r"^precision: bfloat16: only training computes in"):
            checked(options, {"precision": "bfloat16"}, ["precision"])
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("a; --beam-size 3 is too much", "a; beam_size 3 is too much"),
        ("prepare it and add --no-preprocess", "prepare it and add no_preprocess=True"),
        ("m.npz: exists; --force overwrites it", "m.npz: exists; force=True overwrites it"),
        ("--vocabs names none, --unheard neither", "vocabularies names none, --unheard neither"),
        ("rerank it (cgru score --n-best)", "rerank it (cgru score --n-best)"),
        ("a--b --", "a--b --"),
    ],
)
def test_messages_speak_python(message, expected):
    for kind in (CgruError, UsageError):
        with pytest.raises(kind) as caught, in_python():
            raise kind(message)
        assert str(caught.value) == expected


TRANSLATOR = [*TranslatorKeywords.__annotations__]
CALL = [*SearchKeywords.__annotations__, "n_best"]


@pytest.mark.parametrize(
    ("options", "known", "typed", "advice"),
    [
        (TranslateOptions, CALL, "num_beams", "it is called beam_size here"),
        (TranslateOptions, CALL, "max_length", "it is called translation_maxlen here"),
        (TranslateOptions, CALL, "lenpen", "it is called normalize here"),
        (TranslateOptions, CALL, "num_return_sequences", "it is called n_best here"),
        (TranslateOptions, CALL, "batch_size", "it is called mini_batch here"),  # Nematus'
        (TranslateOptions, CALL, "device", "give device to Translator"),
        (TranslateOptions, TRANSLATOR, "nbest", "give n_best to Translator.translate"),
        (TranslateOptions, TRANSLATOR, "prefixes", "give prefixes to Translator.translate"),
        (TranslateOptions, TRANSLATOR, "beam_sise", "did you mean beam_size?"),
        (TranslateOptions, TRANSLATOR, "temperature", ""),
        (TrainOptions, ["model"], "output_dir", "it is called model here"),
        (TrainOptions, ["learn_rate"], "learning_rate", "it is called learn_rate here"),
        (TrainOptions, ["enc_depth", "dec_depth"], "num_layers", "it is called enc_depth and dec_"),
    ],
)
def test_arguments_of_other_toolkits_and_functions(options, known, typed, advice):
    with pytest.raises(UsageError) as error:
        checked(options, {typed: 1}, known)
    assert str(error.value).startswith(f"{typed}: no such option{advice and f'; {advice}'}")
    assert bool(advice) == (";" in str(error.value))
