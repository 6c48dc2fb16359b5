"""`Translator` in Python: arguments of any shape, options per call, memory, threads, pickling."""

import copy
import os
import pickle
import pydoc
import re
import subprocess
import sys
import threading

import pytest
from commands import write_model
from patience import PATIENCE

from cgru_cli import (
    CgruError,
    PairScorer,
    Translator,
    UsageError,
    load_model,
    prepare,
    train_model,
)

pytestmark = pytest.mark.usefixtures("prepared_once")
LINES = ["a b c", "", "f f a d", "b unseen", "c"]


@pytest.fixture(scope="module")
def scorer(path):
    return PairScorer(path)


def test_the_result_has_the_shape_of_the_lines(translator):
    listed = translator.translate(LINES)
    assert translator.translate(LINES[0]).text == listed[0].text
    assert [one.text for one in translator.translate(tuple(LINES))] == [x.text for x in listed]
    three = translator.translate(LINES[0], n_best=3)
    assert len(three) == 3 and three[0].text == listed[0].text
    assert three[0].total >= three[1].total >= three[2].total
    assert [len(some) for some in translator.translate(LINES, n_best=2)] == [2, 1, 2, 2, 2]
    assert translator.translate([]) == [] and list(translator.translate(iter([]))) == []


def test_a_line_has_no_line_break_within(translator, scorer):
    for lines in ("a b\nc", ["a", "b\r\nc"], ("a", "b\nc")):
        number = 1 if isinstance(lines, str) else 2
        with pytest.raises(UsageError, match=rf"^line {number}: a line break .* text\.splitlines"):
            translator.translate(lines)
    with pytest.raises(UsageError, match=r"^pair 1: a line break"):
        scorer.score([("a", "b\nc")])
    plain = translator.translate("a b c")
    for ending in ("\n", "\r\n"):  # as of the lines of a file
        assert translator.translate(f"a b c{ending}").text == plain.text


def test_a_tuple_means_the_same_as_a_list(path, translator, scorer):
    def texts(results):
        return [one.text for one in results]

    ensembles = []
    for kind in (list, tuple):
        lines, pairs = kind(LINES), kind((line, "A") for line in LINES)
        assert texts(translator.translate(lines)) == texts(translator.translate(LINES))
        assert [one.total for one in scorer.score(pairs)] == [
            one.total for one in scorer.score([[line, "A"] for line in LINES])
        ]
        required = translator.translate("a b", constraints=kind([kind(["C", "E"])]))
        assert {"C", "E"} & set(required.tokens)
        assert translator.translate("a b", prefixes=kind(["C"])).tokens[0] == "C"
        assert "C" not in translator.translate("a b", avoid=kind(["C"])).tokens
        both = Translator(kind([path, path]), weights=kind([0.5, 0.5]))
        ensembles.append(both.translate("a b", translation_maxlen=5).text)
    assert ensembles[0] == ensembles[1]


def test_help_lists_the_options_with_types_and_defaults():
    for init in (Translator.__init__, PairScorer.__init__, prepare, train_model):
        text = pydoc.plain(pydoc.render_doc(init))
        listed = re.sub(r"cgru [a-z]+ --\S+", "", " ".join(text.split()))
        assert not re.findall(r"--[a-z]\S+", listed.replace("--normalize-gradient", ""))  # Marian's
    text = pydoc.plain(pydoc.render_doc(Translator))
    assert "beam_size: int | None = None\n" in text and "workspace: int = 2048\n" in text
    assert "mini_batch: int = 80\n" in pydoc.render_doc(train_model)


def test_an_iterator_is_read_as_its_results_are_taken(translator):
    read, told = [], []

    def lines():
        for line in LINES * 10:
            read.append(line)
            yield line

    results = translator.translate(lines(), progress=told.append)
    assert read == []
    first = next(results)
    assert len(read) == 1 and told == [1]
    texts = [first.text, *(one.text for one in results)]
    assert texts == [one.text for one in translator.translate(LINES)] * 10
    assert told == [*range(1, 51)]


def test_progress_is_counted_on_standard_error(translator, capsys, monkeypatch):
    monkeypatch.setattr("time.monotonic", iter(range(100)).__next__)
    translator.translate(LINES, progress=True)
    assert "\r5 lines, " in capsys.readouterr().err
    translator.translate(LINES)
    assert capsys.readouterr().err == ""


@pytest.mark.long
def test_options_of_a_call_are_those_of_a_translator(path, translator):
    for options in (
        {"beam_size": 1},
        {"normalize": 1.0, "word_penalty": 0.3},
        {"translation_maxlen": 2},
        {"output_sampling": "topk 3", "seed": 7},
        {"output_sampling": "nucleus 0.7", "seed": 7},
        {"suppress_unk": True, "mini_batch": 1},
    ):
        own = Translator(path, **({"beam_size": 3, "translation_maxlen": 6} | options))
        for one, other in zip(
            translator.translate(LINES, **options), own.translate(LINES), strict=True
        ):
            assert list(one.tokens) == list(other.tokens)
            assert one.total == pytest.approx(other.total, abs=1e-5)
    # the next call has the options of the translator again
    lengths = [len(one.tokens) for one in translator.translate(LINES)]
    assert max(lengths) > 2


def test_mbr_ranks_samples_by_similarity(path, translator):
    ranked = translator.translate(LINES, mbr=8, seed=3, n_best=8)
    assert [one[0].text for one in ranked] == [
        one.text for one in translator.translate(LINES, mbr=8, seed=3)
    ]
    for several in ranked:
        totals = [one.total for one in several]
        assert len(several) <= 8 and totals == sorted(totals, reverse=True)
        assert len({one.text for one in several}) == len(several)
    with pytest.raises(UsageError, match="mbr and beam_size exclude each other"):
        translator.translate("a", mbr=4, beam_size=2)
    own = Translator(path, mbr=8, seed=3, translation_maxlen=6).translate(LINES)
    assert [one.text for one in own] == [one[0].text for one in ranked]


def test_n_best_widens_the_beam(translator):
    assert len(translator.translate("a b", n_best=5)) == 5
    with pytest.raises(UsageError, match="n_best 5: more than beam_size, 2"):
        translator.translate("a b", n_best=5, beam_size=2)


def test_prefixes_and_phrases(translator):
    begun = translator.translate("a b", prefixes="D@@ E")
    assert list(begun.tokens[:2]) == ["D@@", "E"]
    soft = translator.translate("a b", prefixes="D@@ E", prefix_bias=0.999999)
    assert list(soft.tokens[:2]) == ["D@@", "E"] and soft.word_scores[0] > begun.word_scores[0]
    soft = translator.translate("a b", prefixes="D@@ E", prefix_bias=1e-9)
    assert list(soft.tokens[:6]) == list(translator.translate("a b").tokens)
    with pytest.raises(UsageError, match="prefix_bias needs prefixes"):
        translator.translate("a b", prefix_bias=0.5)
    one, other = translator.translate(["a b", "c"], prefixes=[["F", "F"], ""])
    assert list(one.tokens[:2]) == ["F", "F"] and other.text == translator.translate("c").text
    one, other = translator.translate(["a b", "c"], constraints=[["D@@ C"], []], beam_size=8)
    assert "D@@ C" in " ".join(one.tokens)
    for some in (["B B", "D@@ C"], ("D@@ C", "never written", "B B")):  # any of them
        words = " ".join(translator.translate("a b", constraints=[some], beam_size=8).tokens)
        assert ("B B" in words) + ("D@@ C" in words) == 1
    free = translator.translate("a b").tokens
    assert free[0] not in translator.translate("a b", avoid=[free[0]]).tokens


@pytest.mark.long
def test_totals_are_those_of_the_scorer(path):
    line, totals = "f f a d", set()
    for options in ({}, {"normalize": 0.3}, {"word_penalty": -0.5}, {"normalize": 1.0}):
        loaded = load_model(path)
        loaded.model.settings.normalize, loaded.model.settings.word_penalty = 0.6, 0.2
        bias = loaded.model.arrays["ff_logit_b"].copy()
        bias[0] += 4.0  # EOS, so that translations end
        loaded.model.arrays["ff_logit_b"] = bias
        translations = Translator(loaded, beam_size=6, **options).translate(line, n_best=6)
        one = next(one for one in translations if one.finished and one.text)
        (scored,) = PairScorer(loaded, **options).score([(line, one.text)])
        assert scored.total == pytest.approx(one.total, abs=1e-4)
        assert list(scored.source) == list(one.source) == line.split()
        totals.add(round(scored.total, 2))
    assert len(totals) == 4  # each option had an effect


def test_invalid_arguments_are_usage_errors(path, translator, scorer, tmp_path):
    for made, message in (
        (lambda: Translator(path, beam_sise=3), "beam_sise: no such option; did you mean beam_si"),
        (lambda: Translator(path, output="file"), "output: no such option"),
        (lambda: Translator(path, beam_size=0), "beam_size: 0: a whole number from 1 to 1,000"),
        (lambda: Translator(path, beam_size="many"), "beam_size: many: a whole number"),
        (lambda: Translator(path, avoid=["A"]), "avoid: one value is expected, not a list"),
        (lambda: Translator(path, precision="half"), "precision: half: one of float32"),
        (lambda: Translator(path, allow_unk=True, suppress_unk=True), "allow_unk=True and supp"),
        (lambda: Translator([]), "models: an empty list"),
        (lambda: Translator(5), "models: a path, a model of load_model, or a list"),
        (lambda: Translator([path, b"model"]), "models: a path"),
        (lambda: Translator(path, "vocab.json"), "vocabularies: a list of files"),
        (lambda: translator.translate(b"a b"), "lines: a list or an iterator is expected, not by"),
        (lambda: translator.translate(5), "lines: a list or an iterator is expected, not int"),
        (lambda: translator.translate(["a", b"b"]), "line 2: text is expected, not bytes; decode"),
        (lambda: translator.translate(["a", 3]), "line 2: text is expected, not int"),
        (lambda: translator.translate("a", n_best=0), "n_best: a whole number from 1"),
        (lambda: translator.translate("a", precision="int8"), "precision: no such option"),
        (lambda: translator.translate(["a", "b"], prefixes=["A"]), "more lines than prefixes"),
        (lambda: translator.translate(["a"], prefixes=["A", ""]), "fewer lines than prefixes"),
        (lambda: translator.translate(["a"], constraints=["A"]), "line 1: constraints: a list is"),
        (lambda: translator.translate("a", constraints=[["A", 5]]),
         "line 1: constraints: text is expected, not int"),
        (lambda: translator.translate("a", avoid="A"), "avoid: a list or an iterator"),
        (lambda: translator.translate("a", constraints=["A"], output_sampling="full"),
         "constraints and output_sampling exclude each other"),
        (lambda: PairScorer(path, summary="ce-sum"), "summary: no such option"),
        (lambda: PairScorer(path, word_penalty="much"), "word_penalty: much: a number"),
        (lambda: scorer.score(("a b", "A B")), r"pair 1: \(source, translation\) is expected"),
        (lambda: scorer.score("a b"), "pairs: a list or an iterator is expected, not str"),
        (lambda: scorer.score([("a", 5)]), "pair 1: text is expected, not int"),
        (lambda: list(scorer.score(iter([("a", "A"), "ab"]))), "pair 2: "),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=message):
            made()


@pytest.mark.long
def test_messages_name_arguments_and_not_flags(path, tmp_path):
    with pytest.raises(CgruError, match=r"missing\.npz"):
        Translator(tmp_path / "missing.npz")
    with pytest.raises(CgruError, match=r"line 2: the translation has 3 words; max_length 3"):
        PairScorer(path, max_length=2).score([("a", "A"), ("a", "A A A")])
    with pytest.raises(CgruError, match=r"^weights: 1 given for 2 models"):
        Translator([path, path], weights=[1.0])
    for name in ("lexicon", "lm", "channel_candidates"):
        with pytest.raises(UsageError) as caught:
            Translator(path, **{name: 3 if name == "channel_candidates" else "file"})
        assert "--" not in str(caught.value) and str(caught.value).startswith(f"{name} needs ")


def test_long_lines_are_cut_with_a_warning(path, capsys):
    short = Translator(path, max_length=2, beam_size=1)
    cut, same = short.translate(["a b c", "a b"])
    assert cut.text == same.text
    assert "cut to max_length 2" in capsys.readouterr().err


def test_words_and_text(translator):
    assert translator.tokenize("a b e@@ f") == ["a", "b", "e@@", "f"]
    assert translator.detokenize(["D@@", "E"]) == "D@@ E"
    with pytest.raises(UsageError, match="line: text is expected, not bytes"):
        translator.tokenize(b"a")
    assert translator.languages is None


def test_they_show_what_they_are(path, translator, scorer):
    shown = f"'{path}', cgru, 8 -> 8 words, state 8"
    assert repr(translator) == f"Translator({shown}; float32, beam_size=3)"
    assert repr(scorer) == f"PairScorer({shown}; float32)"
    assert repr(load_model(path)) == f"LoadedModel({shown})"


@pytest.mark.long
def test_they_are_pickled_by_path(path, translator, scorer):
    again = pickle.loads(pickle.dumps(translator))
    assert [x.text for x in again.translate(LINES)] == [x.text for x in translator.translate(LINES)]
    assert copy.copy(scorer).score([("a", "A")])[0].score == scorer.score([("a", "A")])[0].score
    with pytest.raises(UsageError, match="a model in memory cannot be pickled; write it with"):
        pickle.dumps(Translator(load_model(path)))


def test_threads_share_a_translator(translator, scorer):
    pairs = [(line, "A B") for line in LINES]
    expected = [one.text for one in translator.translate(LINES)]
    scores = [one.score for one in scorer.score(pairs)]
    found = []

    def work():
        for _ in range(3):
            texts = [one.text for one in translator.translate(LINES)]
            found.append((texts, [one.score for one in scorer.score(pairs)]))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12
    for texts, own in found:
        assert texts == expected and own == pytest.approx(scores, abs=1e-5)


FORKED = """
import os, sys
from cgru_cli import CgruError, PairScorer, Translator

path, threads = sys.argv[1], int(sys.argv[2])
before = Translator(path, cpu_threads=threads, mini_batch=1, beam_size=3, translation_maxlen=6)
print(before.translate("a b c").text)
scorer = PairScorer(path, cpu_threads=threads)
scorer.score([("a", "A")])
sys.stdout.flush()
pid = os.fork()
if pid == 0:
    own = Translator(path, cpu_threads=2, beam_size=3, translation_maxlen=6)
    for used, lines in (own, ["a b c"]), (before, ["a b c"]), (before, ["a b c", "f"]):
        try:
            print(used.translate(lines)[0].text)
        except CgruError as error:
            print("refused:", error)
    try:
        print(scorer.score([("a", "A")])[0].score < 0)
    except CgruError as error:
        print("refused:", error)
    sys.stdout.flush()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_process_uses_models_of_one_thread_only(path, translator):
    """Models that the forked process loads itself may have several threads."""

    def printed(threads):
        done = subprocess.run(
            [sys.executable, "-c", FORKED, path, str(threads)],
            capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    text = translator.translate("a b c").text
    assert printed(1) == [text, text, text, text, "True"]
    before, own, *refused = printed(2)
    assert before == own == text and len(refused) == 3
    for message in refused:
        assert message.startswith("refused: ONNX Runtime hangs in a process forked from one")
        assert message.endswith("or give cpu_threads 1")


def test_translators_have_their_own_numbers_of_threads(path, translator):
    texts = [one.text for one in translator.translate(LINES)]
    others = [
        Translator(path, cpu_threads=count, beam_size=3, translation_maxlen=6) for count in (1, 3)
    ]
    for other in others:
        assert [one.text for one in other.translate(LINES)] == texts


GROWTH = """
import ctypes, gc, resource, sys
from cgru_cli import PairScorer, Translator
path, rounds = sys.argv[1], int(sys.argv[2])

def used():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

def once():
    Translator(path, beam_size=1, translation_maxlen=2).translate("w1")
    PairScorer(path).score([("w1", "w2")])

once()
before = used()
for _ in range(rounds):
    once()
print(used() - before)
"""


def grown(folder, rounds):
    """The growth in bytes of a process that loads a model in each round, and the model's size."""
    words = ["eos", "UNK", *(f"w{i}" for i in range(20_000))]
    sizes = {"source_embeddings": (512,), "state": 32}
    path = write_model(folder, source=words, target=words, **sizes)
    done = subprocess.run(
        [sys.executable, "-c", GROWTH, path, str(rounds)],
        capture_output=True,
        text=True,
        env=os.environ | {"MALLOC_ARENA_MAX": "1"},  # threads' heaps would blur the measurement
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout), os.path.getsize(path)


@pytest.mark.long
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="counts memory on Linux only")
def test_memory_comes_back(tmp_path):
    """The limit allows for the allocator's growth; models that are not freed far exceed it."""
    growth, size = grown(tmp_path, 2)
    assert growth < 2 * size


@pytest.mark.exhaustive
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="counts memory on Linux only")
def test_memory_comes_back_fifty_times(tmp_path):
    growth, size = grown(tmp_path, 50)
    assert growth < size
