"""`cgru score --rerank` and `--tune` from the command line, on lists of the programs."""

import json

import numpy as np
import pytest
from commands import in_process, one_line, output_lines, write_model
from sacrebleu.metrics import BLEU, CHRF
from shared_files import fixture_path, text_lines

from cgru_cli.score.n_best.entry import parse

pytestmark = pytest.mark.long


@pytest.fixture
def lines(score):
    """Like `score`, but asserts success and returns the lines of the output."""
    return output_lines(score)


def written(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def by_sentence(lines):
    lists = {}
    for entry in map(parse, lines):
        lists.setdefault(entry.sentence, []).append(entry)
    return list(lists.values())


def best_of(lists, weights, alpha=0.0):
    """The best texts, computed independently."""
    texts = []
    for entries in lists:
        totals = [
            sum(weights[name] * value for name, value in entry.features.items())
            / entry.words**alpha
            for entry in entries
        ]
        texts.append(entries[totals.index(max(totals))].text)
    return texts


@pytest.fixture(scope="module")
def two_scores(tmp_path_factory):
    """The n-best list of one model with the scores of another: (folder, path)."""
    folder, place = fixture_path("marian-amun"), tmp_path_factory.mktemp("two")
    listed = ["-s", folder / "src.txt", "--n-best", folder / "nbest.k12.norm1.txt"]
    model = fixture_path("marian-s2s/model.npz")
    lines = output_lines(in_process("score", place))
    rescored = lines("-m", model, *listed, "--n-best-feature", "S2S")
    return folder, written(place / "two", rescored)


@pytest.mark.parametrize("metric", ["bleu", "chrf"])
def test_tuned_weights_are_at_least_as_good_as_a_grids(two_scores, score, tmp_path, metric):
    folder, path = two_scores
    files = ["--n-best", path, "--tune", tmp_path / "w.json", "--reference", folder / "trg.txt"]
    options = "--tokenize none -n --seed 5 --restarts 2 --rerank --in-words".split()
    code, text, messages = score(*files, "--metric", metric, *options)
    assert code == 0, messages
    found = json.loads((tmp_path / "w.json").read_text())
    oracle = BLEU(tokenize="none", force=True) if metric == "bleu" else CHRF()
    references = [text_lines(folder / "trg.txt")]
    lists = by_sentence(text_lines(path))

    def scored(weights):
        return oracle.corpus_score(best_of(lists, weights, 1.0), references).score

    angles = np.linspace(-np.pi, np.pi, 121)
    grid = max(scored({"F0": np.cos(a), "S2S": np.sin(a)}) for a in angles)
    assert found["tuned"]["score"] >= grid
    assert found["tuned"]["score"] == pytest.approx(scored(found["tuned"]["weights"]))
    assert found["score"] == pytest.approx(scored(found["weights"]))
    assert found["starting"]["score"] == pytest.approx(scored({"F0": 1, "S2S": 1}))
    assert found["first"]["score"] == pytest.approx(
        oracle.corpus_score([entries[0].text for entries in lists], references).score
    )
    assert found["signature"] == oracle.get_signature().format()
    assert (found["sentences"], found["hypotheses"], found["normalize"]) == (50, 600, 1.0)
    assert text.split("\n")[:-1] == best_of(lists, found["weights"], 1.0)
    best = found["tuned"]["score"]
    assert messages.startswith(
        f"cgru: {metric} {best:.1f} with the tuned weights; with the starting"
    )


def test_a_list_is_rescored_and_reranked_at_once(two_scores, lines, shared):
    folder, path = two_scores
    model = shared("fixtures/marian-s2s/model.npz")
    options = ["-n", "0.7", "--rerank", "0.3", "0.7"]
    expected = lines("--n-best", path, *options, "--in-words")
    weights = {"F0": 0.3, "S2S": 0.7}
    assert expected == best_of(by_sentence(text_lines(path)), weights, 0.7)
    given = ["-s", folder / "src.txt", "--n-best", folder / "nbest.k12.norm1.txt"]
    assert lines("-m", model, *given, *options) == expected
    whole = lines("-m", model, *given, *options, "--rerank-list")
    assert [entries[0].text for entries in by_sentence(whole)] == expected
    assert len(whole) == 600


@pytest.mark.parametrize(
    "name, path, sign, alpha, k",
    [
        ("a-shallow/model.npz", "theano/nbest.k12.norm1.txt", -1, "1", 12),
        ("marian-amun/model.npz", "nbest.k12.norm1.txt", 1, "1", 12),
        ("marian-s2s/model.npz", "nbest.k5.txt", 1, "0", 5),
        ("e2-deep-theano/model.npz", "nbest.k5.norm1.txt", 1, "1", 5),
    ],
)
def test_model_that_wrote_a_list_ranks_it_the_same(
    shared, lines, name, path, sign, alpha, k, tmp_path
):
    folder = shared(f"fixtures/{name.split('/')[0]}")
    entries = [parse(line) for line in text_lines(folder / path)]
    bare = [f"{entry.sentence} ||| {entry.text}" for entry in entries]
    given = ["-s", folder / "src.txt", "--n-best", written(tmp_path / "bare", bare)]
    model = shared(f"fixtures/{name}")
    ranked = lines("-m", model, *given, "-n", alpha, "--rerank", "--rerank-list")
    totals = [float(line.split(" ||| ")[-1]) for line in ranked]
    theirs = [sign * float(line.split(" ||| ")[-1]) for line in text_lines(folder / path)]
    padding = [entry.text == "" for entry in entries]
    if not any(padding):
        np.testing.assert_allclose(totals, theirs, atol=5e-4)
    for start in range(0, len(entries), k):
        mine = [parse(line).text for line in ranked[start : start + k]]
        real = [i for i in range(start, start + k) if not padding[i]]
        expected = sorted(real, key=lambda i: -theirs[i])
        mine = [text for text in mine if text]
        gaps = -np.diff([theirs[i] for i in expected])
        if len(gaps) == 0 or gaps.min() > 2e-4:  # else rounding decides
            assert mine == [entries[i].text for i in expected]


def test_file_of_weights_applies_to_an_ensemble(lines, tmp_path):
    one, two = (write_model(tmp_path / name, seed) for name, seed in (("a", 5), ("b", 11)))
    both = ["-m", one, "-m", two]
    text = written(tmp_path / "pairs", ["a b\tA B", "f c d\tF"])
    path = tmp_path / "w.json"
    path.write_text(json.dumps({"weights": {two: 0.7, one: 0.3}}))
    scored = lines(*both, "-t", text, "--weights", path)
    assert scored == lines(*both, "-t", text, "--weights", 0.3, "--weights", 0.7)
    translate, short = in_process("translate", tmp_path), ("--n-best", "--translation-maxlen", 9)
    by_file, by_number = (
        translate(*both, *short, *(f"--weights={w}" for w in weights), text="a b\nf c d\n")
        for weights in ((path,), (0.3, 0.7))
    )
    assert by_file[:2] == by_number[:2]
    assert by_file[0] == 0


def test_translate_reads_the_weights_that_tune_wrote(lines, tmp_path):
    models = [write_model(tmp_path / name, seed) for name, seed in (("a", 5), ("b", 11))]
    flags = [*(f"-m{model}" for model in models), "--translation-maxlen", 9]
    source = written(tmp_path / "src", ["a b c", "f f", "d a", "b c d f"])
    reference = written(tmp_path / "ref", ["A B C", "F F", "D@@ A", "B C F"])
    translate = in_process("translate", tmp_path)
    code, _, _ = translate(*flags, "-i", source, "--n-best", "-k", 6, output=tmp_path / "list")
    assert code == 0
    tuned = tmp_path / "w.json"
    arguments = ["--n-best", tmp_path / "list", "--tune", tuned, "--reference", reference]
    arguments += ["--metric", "chrf", "--restarts", 1, "--samples", 10, "--quiet"]
    assert lines(*arguments, "--rerank", 0.5, 0.5) == lines(
        "--n-best", tmp_path / "list", "--rerank", tuned
    )
    assert list(json.loads(tuned.read_text())["weights"]) == ["F0", "F1"]
    code, text, messages = translate(*flags, "-i", source, "--weights", tuned)
    assert code == 0, messages
    assert text.count("\n") == 4


def test_sub_words_are_joined(lines, tmp_path):
    path = written(tmp_path / "list", ["0 ||| A D@@ E ||| F0= -1", "0 ||| B ||| F0= -2"])
    assert lines("--n-best", path, "--rerank") == ["A D@@ E"]
    assert lines("--n-best", path, "--rerank", "--join-bpe") == ["A DE"]


def test_sentences_without_hypotheses_are_empty_lines(lines, tmp_path):
    path = written(tmp_path / "list", ["1 ||| A ||| F0= -1"])
    source = written(tmp_path / "src", "abcd")
    assert lines("--n-best", path, "--rerank") == ["", "A"]
    assert lines("--n-best", path, "-s", source, "--rerank") == ["", "A", "", ""]


def test_finished_sentences_are_written_before_an_error(score, tmp_path):
    entries = [
        "0 ||| A ||| F0= -1",
        "1 ||| B ||| F0= -1",
        "1 ||| C ||| F0= -1",
        "0 ||| D ||| F0= 1",
    ]
    code, text, messages = score("--n-best", written(tmp_path / "list", entries), "--rerank")
    assert (code, text) == (1, "A\n")
    assert messages.count("\n") == 1
    assert "list: line 4: hypothesis of sentence 0 after sentence 1" in messages


def test_bad_lists_references_and_weights_are_refused(score, tmp_path):
    path = written(tmp_path / "list", ["0 ||| A ||| F0= -1 F1= 2", "2 ||| B ||| F0= -1 F1= 2"])
    source, reference = (written(tmp_path / name, "abc") for name in ("src", "ref"))
    short = written(tmp_path / "short", "ab")
    empty = written(tmp_path / "empty", [])
    weights = tmp_path / "w.json"
    weights.write_text('{"F0": 1}')
    tune = ["--rerank", "--tune", tmp_path / "out.json"]
    for arguments, parts in (
        (["--n-best", path, "--rerank", weights], ["w.json: no weight of F1"]),
        (["--n-best", path, "-s", short, "--rerank"], ["list: line 2", "short has 2 lines"]),
        (["--n-best", path, *tune, "-r", short], ["list: line 2", "2 lines"]),
        (["--n-best", path, *tune, "-r", reference, "-r", short], ["3 lines", "short 2"]),
        (["--n-best", path, *tune, "-s", source, "-r", short], ["src has 3 lines", "short 2"]),
        (["--n-best", empty, *tune, "-r", reference], ["empty: is empty"]),
        (["--n-best", path, *tune, "-r", tmp_path / "no"], ["no: No such file"]),
        (
            ["--n-best", path, "--rerank", "--tune", tmp_path / "f/w.json", "-r", reference],
            ["w.json: its folder"],
        ),
    ):
        one_line(score(*arguments), 1, *parts)
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    "arguments, part",
    [
        (["--rerank"], "--n-best"),
        (["--n-best", "a", "--rerank", "--word-scores"], "--rerank and --word-scores exclude"),
        (["--n-best", "a", "--rerank", "--summary", "ce-sum"], "--rerank and --summary exclude"),
        (["--n-best", "a", "--rerank", "--ensemble"], "--ensemble needs --model"),
        (["--n-best", "a", "--rerank", "1", "nan"], "--rerank 1 nan: a weight from"),
        (["--n-best", "a", "--rerank", "1", "2"], "--rerank: 2 weights given"),
        (["--n-best", "a", "--rerank-list"], "--rerank-list needs --rerank"),
        (["--n-best", "a", "--tune", "w", "--rerank"], "--tune needs --reference"),
        (["--n-best", "a", "--tune", "a", "-r", "b", "--rerank"], "a: is also the output"),
        (["--n-best", "a", "--tune", "w", "-r", "b", "--rerank", "--metric", "ter"], "one metric"),
        (["--n-best", "a", "--tune", "w", "-r", "b", "--rerank", "--seed", "-1"], "--seed"),
        (["--n-best", "a", "--rerank", "--seed", "1"], "--seed needs --tune"),
        (["--n-best", "a", "--rerank", "-r", "b"], "--reference needs --metric or --tune"),
        (["--n-best", "a", "-s", "b", "--join-bpe"], "--join-bpe needs --rerank or --tune"),
        (["--n-best", "a"], "name a model"),
    ],
)
def test_invalid_combinations_are_refused(score, tmp_path, monkeypatch, arguments, part):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "a", ["0 ||| A ||| F0= -1"])
    written(tmp_path / "b", ["A"])
    one_line(score(*arguments), 2, part)


def test_model_gives_the_length_of_raw_text(lines, score, tmp_path):
    """Lengths count the model's sub-words, not the words of the list."""
    model = write_model(tmp_path / "m")
    source = written(tmp_path / "src", ["a b c", "f f d"])
    pieces = ["A B C D@@ E", "A F", "D@@ E D@@ E", "A B"]
    entries = [f"{i // 2} ||| {text} ||| F0= {-3 - i}" for i, text in enumerate(pieces)]
    listed = written(tmp_path / "list", entries)
    given = ["-m", model, "-s", source, "--n-best", listed]
    scored = lines(*given, "--n-best-feature", "M")
    whole = lines(*given, "--rerank", "-n", "--rerank-list", "--join-bpe")
    totals = sorted(float(line.split(" ||| ")[-1]) for line in whole)
    sums = [sum(parse(line).features.values()) for line in scored]
    expected = sorted(s / (len(text.split(" ")) + 1) for s, text in zip(sums, pieces, strict=True))
    np.testing.assert_allclose(totals, expected, rtol=1e-4)
    joined = written(tmp_path / "joined", [entry.replace("@@ ", "") for entry in entries])
    one_line(
        score("--n-best", joined, "--rerank", "-n"), 1, "--normalize needs the number of words"
    )
    assert lines("--n-best", joined, "--rerank", "-n", "--in-words")
    one_line(score("--n-best", joined, "--in-words", "-m", model, "--rerank"), 2, "--in-words")


def test_starting_weights_are_kept_without_a_held_out_gain(lines, score, tmp_path, monkeypatch):
    """The file then has the starting weights, because other commands use its weights."""
    from cgru_cli.score.n_best import weight_search

    entries = ["0 ||| A ||| F0= -1 F1= -2", "0 ||| B ||| F0= -2 F1= -1", "1 ||| A ||| F0= 1 F1= 1"]
    listed = written(tmp_path / "list", entries)
    reference = written(tmp_path / "ref", ["B", "A"])
    tuned = tmp_path / "w.json"
    given = ["--n-best", listed, "--tune", tuned, "--reference", reference, "--metric", "chrf"]
    given += ["--rerank", 0.9, 0.1, "--restarts", 1, "--samples", 10]
    tune = weight_search.tune
    monkeypatch.setattr(weight_search, "tune", lambda *a: tune(*a) | {"held_out_gain": -0.5})
    code, text, messages = score(*given)
    assert code == 0, messages
    assert "the starting weights are kept" in messages
    found = json.loads(tuned.read_text())
    assert found["weights"] == found["starting"]["weights"] != found["tuned"]["weights"]
    assert found["score"] == found["starting"]["score"] <= found["tuned"]["score"]
    assert text == "A\nA\n", "reranked by the weights of the file"
    monkeypatch.setattr(weight_search, "tune", lambda *a: tune(*a) | {"held_out_gain": 0.5})
    assert score(*given)[1] == "B\nA\n"
    assert json.loads(tuned.read_text())["weights"] == found["tuned"]["weights"]
