"""Validation: Nematus' costs, and the translations of `cgru translate`."""

import dataclasses
import math
import os
import random
import stat
import sys

import numpy as np
import pytest
import sacrebleu
from cases import random_arrays, tiny
from models import case, text_lines

from cgru_cli.corpus.text_encoding import TextEncoding
from cgru_cli.errors import CgruError, UsageError
from cgru_cli.formats.loaded_model import LoadedModel
from cgru_cli.formats.model import Model
from cgru_cli.network.keras_model import RecurrentModel
from cgru_cli.options.train import TrainOptions
from cgru_cli.options.translate import TranslateOptions
from cgru_cli.parameters.program import PROGRAMS
from cgru_cli.text.pipeline import PipelineSettings, Preprocessing
from cgru_cli.text.subwords import join_bpe
from cgru_cli.text.vocabulary import Vocabulary
from cgru_cli.train import builders
from cgru_cli.train.dev_set import DevSet
from cgru_cli.translate.line_search import LineSearch
from cgru_cli.translate.plan import SearchPlan

SOURCE = Vocabulary({w: i for i, w in enumerate(["eos", "UNK", "a", "b", "c@@", "d", "e"])})
TARGET = Vocabulary({w: i for i, w in enumerate(["eos", "UNK", "A", "B", "C@@", "D"])})
STRUCTURE = tiny()
pytestmark = pytest.mark.usefixtures("traced_once")


@pytest.fixture(autouse=True)
def limit(monkeypatch):
    """Random models end few translations, which would have 200 words."""
    brief = dataclasses.replace(PROGRAMS["nematus"], limit=lambda _: 60)
    monkeypatch.setitem(PROGRAMS, "nematus", brief)


def not_interrupted():
    """The check of a training run that is not interrupted."""


def files(folder, source="a b c@@ d\n\nzzz e\na a a a a\n", target="A B\nC@@ D\n\nA D zzz\n"):
    """A small dev set."""
    (folder / "dev.src").write_text(source)
    (folder / "dev.trg").write_text(target)
    return folder / "dev.src", folder / "dev.trg"


def validator(
    paths,
    preprocessing=None,
    structure=STRUCTURE,
    sources=(SOURCE,),
    reference=None,
    metrics=("cross-entropy",),
    **options,
):
    encoding = TextEncoding((*sources, TARGET), preprocessing=preprocessing)
    dev_set = DevSet.read(*paths, encoding, reference=reference)
    model = RecurrentModel(structure, packed=True)
    return builders.Validator(TrainOptions(**options), metrics, dev_set, model)


def arrays_of(seed=5):
    """Random weights with which translations are not empty."""
    return random_arrays(STRUCTURE, seed, scale=2.0)


def translated(arrays, lines, join=True, **options):
    """The translations of lines by `cgru translate`."""
    model = Model("m", STRUCTURE, dict(arrays), "nematus")
    settings = TranslateOptions(model=("m",), join_bpe=join, **options)
    models = [LoadedModel(model, [SOURCE], TARGET)]
    search = LineSearch(SearchPlan(settings, models), models)
    texts = {one.number: one.hypotheses[0].text for one in search.translations(lines)}
    return [texts[number] for number in range(len(lines))]


def script(folder, body, name="script"):
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport sys, os, time\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


# -- costs -----------------------------------------------------------------------------------------


def test_costs_and_scores_of_a_reference_case(shared):
    """Costs are Nematus' scores; BLEU and chrF are sacreBLEU's of Nematus' translations."""
    folder = shared("fixtures/a-shallow")
    of = case(folder / "model.npz")
    metrics = ("perplexity", "bleu", "cross-entropy", "chrf", "ce-mean-words")
    options = TrainOptions(valid_mini_batch=20)
    checks = []
    encoding = TextEncoding((*of.sources, of.target))
    dev_set = DevSet.read(folder / "src.txt", folder / "trg.txt", encoding)
    model = RecurrentModel(of.model.structure, packed=True)
    made = builders.Validator(options, metrics, dev_set, model)
    values = made.run(of.model.arrays, 1, 2, lambda: checks.append(1))
    assert tuple(values) == metrics
    costs = np.loadtxt(folder / "scores.txt")
    words = sum(len(line.split(" ")) + 1 for line in text_lines(folder / "trg.txt"))
    assert values["cross-entropy"] == pytest.approx(costs.mean(), rel=1e-5)
    assert values["ce-mean-words"] == pytest.approx(costs.sum() / words, rel=1e-5)
    assert values["perplexity"] == pytest.approx(math.exp(costs.sum() / words), rel=1e-4)
    assert len(checks) >= 2 * math.ceil(len(costs) / 20)

    references = [join_bpe(line) for line in text_lines(folder / "trg.txt")]
    # the program's own search was the same
    best = {}
    for line in text_lines(folder / "theano/nbest.k5.norm1.txt"):
        number, text, *_ = line.split(" ||| ")
        best.setdefault(number, join_bpe(text))
    hypotheses = list(best.values())
    assert values["bleu"] == sacrebleu.corpus_bleu(hypotheses, [references], force=True).score
    assert values["chrf"] == sacrebleu.corpus_chrf(hypotheses, [references]).score


@pytest.mark.parametrize(("compat", "longest"), [("nematus", 3), ("nematus-tf", 4), (None, 4)])
def test_nematus_validates_on_the_pairs_within_its_maxlen(tmp_path, compat, longest):
    """The last pair has 5 words; --maxlen 4 of Nematus on Theano counts EOS in training alone."""
    metrics = ("cross-entropy", "ce-mean-words")
    made = validator(files(tmp_path), metrics=metrics, compat=compat, max_length=longest)
    values = made.run(arrays_of(), 1, 1, not_interrupted)
    kept = files(tmp_path, "a b c@@ d\n\nzzz e\n", "A B\nC@@ D\n\n") if compat else files(tmp_path)
    expected = validator(kept, metrics=metrics).run(arrays_of(), 1, 1, not_interrupted)
    assert values == pytest.approx(expected, rel=1e-6)


def test_costs_do_not_depend_on_batches_and_are_traced_once(tmp_path):
    settings = {"metrics": ("cross-entropy", "ce-mean-words")}
    arrays = arrays_of()
    together = validator(files(tmp_path), **settings)
    one_by_one = validator(files(tmp_path), **settings, valid_mini_batch=1)
    values = together.run(arrays, 1, 1, not_interrupted)
    assert values == pytest.approx(one_by_one.run(arrays, 1, 1, not_interrupted), rel=1e-5)
    assert values["cross-entropy"] == pytest.approx(values["ce-mean-words"] * (3 + 3 + 1 + 4) / 4)
    other = together.run(arrays_of(4), 1, 2, not_interrupted)
    assert other["cross-entropy"] != pytest.approx(values["cross-entropy"])
    assert together.run(arrays, 1, 3, not_interrupted) == values
    assert together._costs.experimental_get_tracing_count() == 1


def test_weights_that_are_not_finite(tmp_path):
    metrics = ("cross-entropy", "perplexity", "bleu")
    made = validator(files(tmp_path, "a b\n", "A B\n"), metrics=metrics)
    far = arrays_of(6)
    far["ff_logit_b"][2] = -5000.0
    assert made.run(far, 1, 1, not_interrupted)["perplexity"] == math.inf
    broken = {name: np.full_like(array, np.nan) for name, array in far.items()}
    values = made.run(broken, 1, 1, not_interrupted)
    assert math.isnan(values["cross-entropy"]) and values["bleu"] == 0


def test_factors_are_read(tmp_path):
    structure = tiny(source_vocabularies=(7, 4), source_embeddings=(4, 3))
    factor = Vocabulary({"eos": 0, "UNK": 1, "N": 2, "V": 3})
    arrays = random_arrays(structure)
    values = []
    for text in ("a|N b|V\n\n", "a|N b|N\n\n"):
        paths = files(tmp_path, text, "A\nB\n")
        made = validator(paths, structure=structure, sources=(SOURCE, factor))
        values.append(made.run(arrays, 1, 1, not_interrupted)["cross-entropy"])
    assert values[0] != values[1]


# -- translations ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("beam", "normalize"), [(1, 0.0), (4, 0.6)])
def test_translations_are_those_of_translate(tmp_path, beam, normalize):
    made = validator(
        files(tmp_path),
        metrics=("bleu",),
        valid_translation_output=str(tmp_path / "out/{E}.{U}.{U}.txt"),
        beam_size=beam,
        normalize=normalize,
    )
    for update, seed in ((10, 4), (20, 8)):
        arrays = arrays_of(seed)
        made.run(arrays, 2, update, not_interrupted)
        written = text_lines(tmp_path / f"out/2.{update}.{update}.txt")
        lines = text_lines(tmp_path / "dev.src")
        expected = translated(arrays, lines, beam_size=beam, normalize=normalize)
        assert written == expected
        assert written[1] == "" and any(written)
    assert sorted(os.listdir(tmp_path / "out")) == ["2.10.10.txt", "2.20.20.txt"]


def test_the_unknown_word_is_produced_unless_it_is_suppressed(tmp_path):
    arrays, output = arrays_of(), tmp_path / "out"
    arrays["ff_logit_b"][TARGET.unk_id] += 20
    for options, is_there in (({}, True), ({"suppress_unk": True}, False)):
        given = {"metrics": ("bleu",), "valid_translation_output": str(output), **options}
        validator(files(tmp_path), **given).run(arrays, 1, 1, not_interrupted)
        assert ("UNK" in output.read_text()) is is_there
        assert output.read_text().strip()


def test_preprocessing_is_undone(tmp_path):
    codes = PipelineSettings(
        case="none", subwords="subword-nmt", pieces=True, languages=("en", "de")
    )
    codes = dataclasses.replace(codes, tokenize=True)
    preprocessing = Preprocessing(codes, subword_models=("#version: 0.2\nC D</w>\n",))
    arrays, paths, output = arrays_of(), files(tmp_path), str(tmp_path / "out")
    made = validator(paths, preprocessing, metrics=("bleu",), valid_translation_output=output)
    value = made.run(arrays, 1, 1, not_interrupted)
    plain = translated(
        arrays, text_lines(tmp_path / "dev.src"), join=False, beam_size=5, normalize=1.0
    )
    undone = [preprocessing.undo(text) for text in plain]
    assert text_lines(tmp_path / "out") == undone
    references = [preprocessing.undo(line) for line in text_lines(tmp_path / "dev.trg")]
    assert value["bleu"] == sacrebleu.corpus_bleu(undone, [references]).score
    raw = tmp_path / "raw"
    raw.write_text("\n".join(undone) + "\n")
    made = validator(paths, preprocessing, metrics=("chrf",), reference=raw)
    assert made.run(arrays, 1, 1, not_interrupted)["chrf"] == pytest.approx(100)


def test_validation_is_deterministic(tmp_path):
    metrics = ("cross-entropy", "bleu", "chrf", "translation")
    made = validator(files(tmp_path), metrics=metrics, valid_script=script(tmp_path, "print(1)"))
    python, numpy = random.getstate(), np.random.get_state()
    first = made.run(arrays_of(), 1, 1, not_interrupted)
    assert made.run(arrays_of(), 9, 9, not_interrupted) == first
    assert random.getstate() == python
    assert np.array_equal(np.random.get_state()[1], numpy[1])
    assert np.random.get_state()[2:] == numpy[2:]


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("metric", ["cross-entropy", "bleu"])
def test_a_validation_may_be_interrupted(tmp_path, metric):
    calls = []

    def check():
        calls.append(1)
        if len(calls) == 3:
            raise Interrupted

    with pytest.raises(Interrupted):
        made = validator(files(tmp_path), metrics=(metric,), valid_mini_batch=1)
        made.run(arrays_of(), 1, 1, check)


def test_a_first_look_has_greedy_translations_and_leaves_no_trace(tmp_path):
    """Costs are those of a validation, scores those of a greedy search; no script, no file."""
    failing, output = script(tmp_path, "sys.exit('called')"), tmp_path / "out"
    metrics = ("translation", "bleu", "cross-entropy", "valid-script", "chrf", "perplexity")
    made = validator(
        files(tmp_path), metrics=metrics, valid_script=failing, beam_size=4,
        valid_translation_output=str(output),
    )  # fmt: skip
    arrays = arrays_of()
    looked = made.look(arrays, not_interrupted)
    assert tuple(looked) == ("bleu", "cross-entropy", "chrf", "perplexity")
    assert not output.exists() and not made.translated
    expected = {}
    for beam, names in ((4, ("cross-entropy", "perplexity")), (1, ("bleu", "chrf"))):
        other = validator(files(tmp_path), metrics=names, beam_size=beam)
        expected |= other.run(arrays, 1, 1, not_interrupted)
    assert looked == expected and looked["bleu"] > 0
    assert made.look(arrays_of(4), not_interrupted) != looked == made.look(arrays, not_interrupted)
    alone = validator(files(tmp_path), metrics=("valid-script",), valid_script=failing)
    assert alone.look(arrays, not_interrupted) == {}

    def check():
        raise Interrupted

    with pytest.raises(Interrupted):
        made.look(arrays, check)


# -- the script ------------------------------------------------------------------------------------


def test_a_script_scores_translations(tmp_path):
    body = "print('lines', 'x' * 5); print(f'BLEU = {len(list(open(sys.argv[-1])))}.5e1 (good)')"
    path = script(tmp_path, f"assert sys.argv[1:-1] == ['a b', '--x'], sys.argv\n{body}")
    settings = {"metrics": ("translation",), "valid_script": f"{path} 'a b' --x"}
    for more in ({}, {"valid_translation_output": str(tmp_path / "kept")}):
        made = validator(files(tmp_path), **settings, **more)
        assert made.run(arrays_of(), 1, 1, not_interrupted) == {"translation": 45.0}
    assert len(text_lines(tmp_path / "kept")) == 4


# -- files -----------------------------------------------------------------------------------------


def test_settings_that_exclude_each_other(tmp_path):
    with pytest.raises(UsageError, match="--valid-translation-output needs"):
        validator(files(tmp_path), valid_translation_output="x")


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    made = validator(
        files(tmp_path), metrics=("bleu",), valid_translation_output=str(tmp_path / "file/out")
    )
    with pytest.raises(CgruError, match=r"file/out: cannot be written"):
        made.run(arrays_of(), 1, 1, not_interrupted)
