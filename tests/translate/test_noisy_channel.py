"""Translations ranked by a noisy channel, against `cgru score` of each single model."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from cases import random_arrays, tiny
from commands import SOURCE, TARGET, in_process, vocabulary, write_model
from deep_equations import DeepModel
from prepared_once import prepared_once
from selection import LONG, in_turns

from cgru_cli import Translator
from cgru_cli.errors import UsageError
from cgru_cli.formats.loaded_model import LoadedModel
from cgru_cli.formats.model import Model
from cgru_cli.options.translate import TranslateOptions
from cgru_cli.parameters.structure import Type
from cgru_cli.text.vocabulary import Vocabulary
from cgru_cli.translate.noisy_channel import in_order_of

LINES = ["a b c", "", "f f a d", "b unseen", "c"]
TEXT = "".join(f"{line}\n" for line in LINES)
NO_SOURCE = {"source_vocabularies": (), "source_embeddings": ()}
LM = {"type": Type.LM, "decoder_base_transition": 1, **NO_SOURCE}
# The same words with other ids, as if the vocabulary had been built separately.
MIXED_SOURCE = [*SOURCE[:2], *SOURCE[:1:-1]]
MIXED_TARGET = [*TARGET[:2], *TARGET[:1:-1]]


def write_lm(folder, target=MIXED_TARGET, **changes):
    path = write_model(folder, seed=9, target=target, **(LM | changes))
    (folder / "model.npz.json").write_text(json.dumps({"dictionaries": ["trg.json"]}))
    return path


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A direct model, a channel model and a language model."""
    folder = tmp_path_factory.mktemp("models")
    direct = write_model(folder / "direct", seed=3)
    with np.load(direct) as file:
        arrays = dict(file)
    arrays["ff_logit_b"][[0, 5]] += 3.5, 1  # shorter translations, with split words in them
    np.savez(direct, **arrays)
    return (
        direct,
        write_model(folder / "channel", seed=7, source=MIXED_TARGET, target=MIXED_SOURCE),
        write_lm(folder / "lm"),
    )


@pytest.fixture
def translate(tmp_path):
    run = in_process("translate", tmp_path)

    def lists(*arguments, text=TEXT):
        code, output, messages = run(*arguments, "--translation-maxlen", 6, text=text)
        assert code == 0, messages
        return [line.split(" ||| ") for line in output.splitlines()]

    return lists


@pytest.fixture
def score(tmp_path):
    def scores(model, pairs):
        """log p of each pair by `cgru score`; source None: by a language model."""
        targets, sources = tmp_path / "t.txt", tmp_path / "s.txt"
        targets.write_text("".join(f"{target}\n" for _, target in pairs))
        arguments = ["-m", model, "-t", targets]
        if pairs[0][0] is not None:
            sources.write_text("".join(f"{source}\n" for source, _ in pairs))
            arguments += ["-s", sources]
        code, output, messages = in_process("score", tmp_path)(*arguments)
        assert code == 0, messages
        return [float(line) for line in output.splitlines()]

    return scores


def features(entry):
    words = entry[2].split()
    return dict(
        zip([name.rstrip("=") for name in words[::2]], map(float, words[1::2]), strict=True)
    )


IN_THE_BEAM = ("--channel-candidates", 3)


@pytest.mark.parametrize(("way", "alpha"), in_turns([IN_THE_BEAM, ()], [1, 0], others=LONG))
def test_features_are_the_scores_of_each_model(models, translate, score, way, alpha):
    direct, channel, lm = models
    weights = (0.5, 0.3, 0.2)
    asked = ["-m", direct, "--channel-model", channel, "--lm", lm, "--weights", *weights]
    asked += ["--n-best", "-k", 4, *way]
    entries = translate(*asked, *(() if alpha else ("-n", 0)))
    assert {entry[0] for entry in entries} == set("01234")
    finished = [(int(number), text, *rest) for number, text, *rest in entries if LINES[int(number)]]
    pairs = [(LINES[number], text) for number, text, *_ in finished]
    of_direct = score(direct, pairs)
    of_channel = score(channel, [(target, source) for source, target in pairs])
    of_lm = score(lm, [(None, target) for _, target in pairs])
    checked = 0
    for entry, (source, text), *scores in zip(
        finished, pairs, of_direct, of_channel, of_lm, strict=True
    ):
        own = features(entry)
        assert list(own) == ["F0", "Channel", "LM"]
        total = sum(w * f for w, f in zip(weights, own.values(), strict=True))
        assert float(entry[3]) == pytest.approx(total, abs=1e-4)
        t, s = (n**alpha for n in (len(text.split()) + 1, len(source.split()) + 1))
        if len(text.split()) < 6:  # longer ones may be cut by the limit, without EOS
            assert list(own.values()) == pytest.approx(
                [scores[0] / t, scores[1] / s, scores[2] / s], abs=2e-4
            )
            checked += 1
    assert checked > len(finished) // 2
    for number in "0234":
        totals = [float(entry[3]) for entry in entries if entry[0] == number]
        assert totals == sorted(totals, reverse=True)


def test_the_list_is_that_of_the_direct_model_in_another_order(models, translate):
    direct, channel, lm = models
    plain = translate("-m", direct, "--n-best", "-k", 6)
    asked = ["-m", direct, "--channel-model", channel, "--lm", lm, "-k", 6]
    ranked = translate(*asked, "--n-best")
    assert sorted(entry[:2] for entry in ranked) == sorted(entry[:2] for entry in plain)
    assert [entry[1] for entry in ranked] != [entry[1] for entry in plain]
    first = {entry[0]: entry[1] for entry in reversed(ranked)}
    best = [entry[0] for entry in translate(*asked)]
    assert best == [first[str(number)] for number in range(len(LINES))]
    options = {"channel_model": channel, "lm": lm, "beam_size": 6, "translation_maxlen": 6}
    with prepared_once():
        translator = Translator(direct, **options)
        assert [one.text for one in translator.translate(LINES)] == best
        two = translator.translate(LINES[0], n_best=2)
        narrow = {**options, "beam_size": 2, "normalize": 0.5}
        made = Translator(direct, **narrow).translate(LINES, avoid=["B"])
        called = translator.translate(LINES, beam_size=2, normalize=0.5, avoid=["B"])
        wide = translator.translate(LINES[0], n_best=9)
    assert [one.text for one in two] == [entry[1] for entry in ranked[:2]]
    assert [(one.text, one.total) for one in called] == [(one.text, one.total) for one in made]
    assert not any("B" in one.tokens for one in called) and len(wide) == 9
    alone = translate(*asked, "--weights", 1, 0, 0, "-n", 1)
    assert alone == translate("-m", direct, "-k", 6, "-n", 1)


def test_wide_beam_with_many_candidates_equals_ranking_at_the_end(models, translate):
    direct, channel, lm = models
    asked = ["-m", direct, "--channel-model", channel, "--lm", lm, "--translation-maxlen", 3]
    asked += ["-k", 400, "--n-best"]

    def lists(*way):
        entries = translate(*asked, *way, text="a b\n")
        return {tuple(entry[:2]): entry[2:] for entry in entries}

    run = [lists(), lists("--channel-candidates", len(TARGET))]
    finished = [key for key in run[0] if len(key[1].split()) < 3]
    assert len(finished) > 40
    for key in finished:
        assert features(["", "", run[0][key][0]]) == pytest.approx(
            features(["", "", run[1][key][0]]), abs=1e-4
        )


def test_without_a_language_model(models, translate):
    direct, channel, lm = models
    asked = ["-m", direct, "--channel-model", channel, "--n-best"]
    both = translate(*asked, "--lm", lm, "--weights", 1, 0.4, 0)
    alone = translate(*asked, "--weights", 1, 0.4)
    assert [(e[0], e[1], e[3]) for e in alone] == [(e[0], e[1], e[3]) for e in both]
    assert [list(features(e).items()) for e in alone] == [
        list(features(e).items())[:2] for e in both
    ]
    assert alone != translate(*asked)


def test_tuned_weights_apply_to_the_sum(models, translate, tmp_path):
    direct, channel, lm = models
    asked = ["-m", direct, "--channel-model", channel, "--lm", lm, "--n-best"]
    named = {"weights": {"F0": 1, "Channel": 0.25, "LM": 0.5}, "normalize": 0}
    path = tmp_path / "weights.json"
    path.write_text(json.dumps(named))
    assert translate(*asked, "--weights", path) == translate(*asked, "--weights", 1, 0.25, 0.5)
    (tmp_path / "list").write_text("".join(f"{' ||| '.join(e)}\n" for e in translate(*asked)))
    code, output, messages = in_process("score", tmp_path)(
        "--n-best", tmp_path / "list", "--rerank", path
    )
    assert code == 0, messages
    assert output.splitlines() == [e[0] for e in translate(*asked[:-1], "--weights", path)]


# -- words and text --------------------------------------------------------------------------------


def test_models_with_other_words_split_the_text_anew(models, translate, score, tmp_path):
    direct, _, _ = models
    plain = [word.replace("@@", "") for word in TARGET]
    source = [word.replace("@@", "") for word in SOURCE]
    channel = write_model(tmp_path / "channel", seed=7, source=plain, target=source)
    lm = write_lm(tmp_path / "lm", plain)
    asked = ["-m", direct, "--channel-model", channel, "--lm", lm, "--n-best", "-n", 0]
    checked = []
    for entry in translate(*asked, text="a e@@ f\n"):
        if len(entry[1].split()) < 6:
            checked.append(entry[1])
            text = entry[1].replace("@@ ", "").replace("@@", "")
            own = features(entry)
            assert own["Channel"] == pytest.approx(score(channel, [(text, "a ef")])[0], abs=1e-4)
            assert own["LM"] == pytest.approx(score(lm, [(None, text)])[0], abs=1e-4)
    assert any("D@@ " in text for text in checked)


def arpa(path, words):
    """A unigram model whose later words are less probable; KenLM needs a bigram too."""
    lines = [f"{-0.25 * i}\t{word}\t0" for i, word in enumerate(words, 2)]
    text = ["\\data\\", f"ngram 1={len(lines) + 1}", "ngram 2=1", "", "\\1-grams:", "-99\t<s>\t0"]
    text += [*lines, "", "\\2-grams:", "-9\t<unk> <unk>", "", "\\end\\"]
    path.write_text("".join(f"{line}\n" for line in text))
    return path


def test_n_grams_are_a_language_model_too(models, translate, tmp_path):
    pytest.importorskip("kenlm")
    direct, channel, _ = models
    words = ["</s>", "<unk>", *TARGET[2:]]
    lm = arpa(tmp_path / "lm.arpa", words)
    asked = ["-m", direct, "--channel-model", channel, "--lm", lm, "--n-best", "-n", 0]
    for entry in translate(*asked, text="a b\n"):
        places = [words.index(word) for word in [*entry[1].split(), "</s>"]]
        expected = math.log(10) * sum(-0.25 * (place + 2) for place in places)
        assert features(entry)["LM"] == pytest.approx(expected, rel=1e-4)
    error = refused(tmp_path, *asked, "--channel-candidates", 2)
    assert f"--channel-candidates: {lm} is an n-gram model" in error
    other = arpa(tmp_path / "other.arpa", ["</s>", "<unk>", "x", "y"])
    error = refused(tmp_path, *asked[:4], "--lm", other)
    assert "of the 8 words of" in error and str(other) in error


def refused(tmp_path, *arguments):
    code, _, messages = in_process("translate", tmp_path)(*arguments, text="a b\n")
    lines = [line for line in messages.splitlines() if "warning" not in line]
    assert len(lines) == 1 and code in (1, 2), messages
    return lines[0]


def test_models_of_another_kind_are_refused(models, tmp_path):
    direct, channel, lm = models
    assert "--channel-candidates needs --lm" in refused(
        tmp_path, "-m", direct, "--channel-model", channel, "--channel-candidates", 2
    )
    assert "--lm needs --channel-model" in refused(tmp_path, "-m", direct, "--lm", lm)
    asked = ["-m", direct, "--channel-model"]
    assert f"--channel-model: {lm} is a model of type lm; a trans" in refused(
        tmp_path, *asked, lm, "--lm", lm
    )
    assert f"--lm: {channel} is a model of type cgru; a language model" in refused(
        tmp_path, *asked, channel, "--lm", channel
    )
    assert "lm, which does not translate" in refused(
        tmp_path, "-m", lm, "--channel-model", channel, "--lm", lm
    )
    assert "in the same direction, not in the reverse" in refused(
        tmp_path, *asked, direct, "--lm", lm
    )
    both = [*asked, channel, "--lm", lm]
    assert "--weights: 2 given for 3 models" in refused(tmp_path, *both, "--weights", 1, 1)
    assert "all translation models have weight zero" in refused(
        tmp_path, *both, "--weights", 0, 1, 1
    )
    assert "search of Nematus-TF" in refused(
        tmp_path, *both, "--channel-candidates", 3, "--compat", "nematus-tf"
    )
    with pytest.raises(UsageError, match="--channel-model and --output-sampling exclude"):
        TranslateOptions(model=(direct,), channel_model=channel, lm=lm, output_sampling="full")


def test_other_words_are_refused_where_they_cannot_be_mapped(models, tmp_path):
    direct, channel, lm = models
    fewer = write_model(tmp_path / "fewer", source=TARGET[:-2], target=SOURCE)
    asked = ["-m", direct, "--channel-model"]
    error = refused(tmp_path, *asked, fewer, "--lm", lm, "--channel-candidates", 2)
    assert "--channel-candidates: " in error and "lacks 2 words of" in error and "'E'" in error
    other = write_lm(tmp_path / "lm", [*TARGET, "G"])
    error = refused(tmp_path, *asked, channel, "--lm", other, "--channel-candidates", 2)
    assert "lacks 1 words of" in error and "'G'" in error
    split = write_model(tmp_path / "split", source=[*TARGET[:-1], "X@@"], target=SOURCE)
    error = refused(tmp_path, *asked, split, "--lm", lm)
    assert "sub-words" in error and "'F'" in error


def test_nematus_list_without_features_keeps_its_columns(models, translate):
    direct, channel, lm = models
    asked = ["-m", direct, "--channel-model", channel, "--lm", lm, "--n-best", "-k", 2]
    empty = [entry for entry in translate(*asked) if entry[0] == "1"]
    assert empty == [["1", "", "F0= 0 Channel= 0 LM= 0", "0"]]
    costs = translate(*asked, "--compat", "nematus")
    assert all(len(entry) == 3 and math.isfinite(float(entry[2])) for entry in costs)


def test_given_vocabularies_apply_to_all_three_models(models, translate, tmp_path):
    direct, channel, lm = models
    source = vocabulary(tmp_path / "s.json", SOURCE)
    target = vocabulary(tmp_path / "t.json", TARGET)
    asked = ["-m", direct, "--channel-model", channel, "--lm", lm, "-v", source, target]
    assert len(translate(*asked, "--channel-candidates", 3)) == len(LINES)


# -- a language model in another vocabulary's order ------------------------------------------------

OWN = {"eos": 0, "UNK": 1, "a": 2, "b": 3, "c": 5}  # 4 has no word
OTHER = {"</s>": 0, "c": 1, "<unk>": 2, "b": 4, "a": 5}  # 3 has none


@pytest.mark.parametrize("tied", [False, True])
def test_words_keep_their_probabilities(tied):
    structure = tiny(**LM, target_vocabulary=6, tied_output=tied)
    arrays = random_arrays(structure, 4)
    model = Model(Path("lm.npz"), structure, arrays, "nematus")
    vocabulary = Vocabulary(OTHER, "other.json")
    turned = in_order_of(vocabulary, LoadedModel(model, [], Vocabulary(OWN, "own.json")))
    assert turned.target is vocabulary
    before, after = DeepModel(arrays, type="lm"), DeepModel(turned.model.arrays, type="lm")
    for text in (["a", "b"], ["c"], [], ["c", "unseen", "a"]):
        own = before.force_decode(None, Vocabulary(OWN).encode(text)).log_probs
        new = after.force_decode(None, vocabulary.encode(text)).log_probs
        np.testing.assert_allclose(new, own, rtol=1e-12)
    assert arrays["ff_logit_b"] is not turned.model.arrays["ff_logit_b"]
