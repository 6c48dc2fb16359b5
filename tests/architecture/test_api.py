"""The Python interface: docs/api.md runs, and its results equal those of the commands."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import SOURCE, TARGET, in_process, write_model
from tolerances import LOG_PROBABILITY

import cgru_cli
from cgru_cli import CgruError, PairScorer, Translator, load_model, read_model
from cgru_cli import write_model as write
from cgru_cli.options.keywords import SearchKeywords

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
EXAMPLES = PAGE.parents[1] / "examples"
pytestmark = pytest.mark.usefixtures("traced_once")
LINES = ["a b c", "", "f f a d", "b unseen"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("other"), seed=6)


def ran(command, folder, *arguments, text=None):
    code, output, messages = in_process(command, folder)(*arguments, text=text)
    assert code == 0, messages
    return output.removesuffix("\n").split("\n")


@pytest.mark.long
@pytest.mark.skipif(not EXAMPLES.exists(), reason="examples/ is not in this copy")
def test_the_page_runs_and_prints_what_it_shows(tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = re.findall(
        r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", PAGE.read_text("utf-8"), re.S | re.M
    )
    for code, shown in blocks:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, str(PAGE), "exec"), names)
        assert printed.getvalue() == shown
    assert len(blocks) == 14 and sum(bool(shown) for _, shown in blocks) == 11
    assert np.load("tuned.npz")["Wemb"].shape == names["plain"].arrays["Wemb"].shape
    # the page prints the same translation as the command
    model = "examples/en-de.npz"
    found = ran("translate", tmp_path, "-m", model, text="Where is the station?\n")
    assert found == [names["best"].text]


def test_public_names_are_stated_once():
    assert set(cgru_cli.__all__) == {*cgru_cli._PUBLIC, "__version__"}
    for name in cgru_cli.__all__:
        assert getattr(cgru_cli, name) is not None
        assert name in dir(cgru_cli)
        assert name == "__version__" or f"`{name}`" in PAGE.read_text("utf-8")
    with pytest.raises(AttributeError, match="no attribute 'Decoder'"):
        cgru_cli.Decoder  # noqa: B018


def test_the_page_lists_the_options_of_a_call():
    row = r"^\| (.*) \| as in `Translator`, for this call \|$"
    (listed,) = re.findall(row, PAGE.read_text("utf-8"), re.M)
    assert set(re.findall(r"\w+", listed)) == set(SearchKeywords.__annotations__)


def test_nothing_heavy_is_loaded_before_it_is_asked_for():
    script = (
        "import sys\n"
        "import cgru_cli\n"
        "assert 'numpy' not in sys.modules\n"
        "from cgru_cli import Structure, read_model, write_model, load_model, Hypothesis\n"
        "sys.exit('tensorflow' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.long
def test_an_ensemble_translates_as_the_command_does(model, other, tmp_path):
    models = [model, other]
    # one by one, because lines computed together may differ in the last digit
    options = {"beam_size": 4, "normalize": 0.8, "mini_batch": 1, "translation_maxlen": 9}
    translator = Translator(models, weights=(0.3, 0.9), **options)
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    arguments += ["--n-best", "--word-scores", "--alignment=soft", "--weights=0.3", "--weights=0.9"]
    text = "".join(f"{line}\n" for line in LINES)
    expected = ran("translate", tmp_path, "-m", model, "-m", other, *arguments, text=text)
    given = []
    for number, hypotheses in enumerate(translator.translate(LINES, n_best=4)):
        for one in hypotheses:
            if not one.tokens and not LINES[number]:
                given.append(f"{number} |||  ||| F0= 0 F1= 0 ||| 0")
                continue
            rows = " ".join(",".join(f"{x:g}" for x in row) for row in one.alignment.tolist())
            words = "".join(f" {score:.5f}" for score in one.word_scores)
            features = " ".join(f"F{i}= {s:g}" for i, s in enumerate(one.model_scores))
            given.append(
                f"{number} ||| {one.text} ||| {rows} ||| WordScores={words} ||| {features} ||| "
                f"{np.float32(one.total):g}"
            )
    assert given == expected
    best = translator.translate(LINES)
    lists = translator.translate(LINES, n_best=4)
    assert [one.text for one in best] == [listed[0].text for listed in lists]


def test_scores_are_those_of_the_command(model, other, tmp_path):
    pairs = [("a b c", "A D@@ E"), ("", "F"), ("f f a d", ""), ("c", "A A A A F B")]
    file = tmp_path / "pairs"
    file.write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    for models, more in (([model], []), ([model, other], ["--ensemble"])):
        flags = [f"-m{path}" for path in models]
        expected = ran("score", tmp_path, *flags, *more, "-t", file, "-n", 0.5)
        scorer = PairScorer(models, normalize=0.5)
        # the command prints the nearest float32, as Marian and Nematus do; an iterator's pairs are
        # scored in the command's batches, a list's in larger ones, which round differently
        same_batches = list(scorer.score(iter(pairs)))
        assert [f"{np.float32(one.total):.6f}" for one in same_batches] == expected
        scored = scorer.score(pairs)
        for one, other in zip(scored, same_batches, strict=True):
            assert one.total == pytest.approx(other.total, abs=4 * LOG_PROBABILITY)
        for one, (source, target) in zip(scored, pairs, strict=True):
            assert one.text == target and one.finished
            shape = len(target.split()) + 1, len(source.split()) + 1
            assert one.word_scores.shape == shape[:1] and one.alignment.shape == shape
            assert one.score == pytest.approx(float(one.word_scores.sum()), abs=1e-5)
    assert PairScorer(model, attention=False).score(pairs[:1])[0].alignment is None


@pytest.mark.long
def test_a_right_to_left_model_is_read_from_the_left(tmp_path):
    path = write_model(tmp_path)
    forward = load_model(path)
    backward = load_model(path)
    backward.model.settings.right_left = True
    one, other = (Translator(loaded, beam_size=2).translate(["a b c"])[0]
                  for loaded in (forward, backward))  # fmt: skip
    assert list(other.tokens) == list(one.tokens)[::-1] and other.text == " ".join(other.tokens)
    T = len(one.tokens)
    np.testing.assert_array_equal(other.word_scores[:T], one.word_scores[:T][::-1])
    np.testing.assert_array_equal(other.alignment[:T], one.alignment[:T][::-1])
    scored = PairScorer(backward).score([("a b c", other.text)])[0]
    np.testing.assert_allclose(scored.word_scores[:T], other.word_scores[:T], atol=LOG_PROBABILITY)


@pytest.mark.long
def test_a_source_that_is_read_from_its_end_is_shown_from_its_beginning(tmp_path):
    """Marian's right-to-left models give the results of the reversed line, in line order."""
    plain = load_model(write_model(tmp_path))
    backward = load_model(plain.model.path)
    backward.model.settings.source_reversed = True
    lines, from_end = ["a b c", "d", "e e a b f"], ["c b a", "d", "f b a e e"]
    pairs = [(line, "A B") for line in lines]
    for ours, theirs in (
        (Translator(backward, beam_size=2).translate(lines),
         Translator(plain, beam_size=2).translate(from_end)),
        (PairScorer(backward).score(pairs),
         PairScorer(plain).score([(line, "A B") for line in from_end])),
    ):  # fmt: skip
        for one, other, line in zip(ours, theirs, lines, strict=True):
            assert one.text == other.text
            np.testing.assert_allclose(one.word_scores, other.word_scores, atol=1e-6)
            S = len(line.split())
            assert one.alignment.shape[1] == S + 1
            columns = [*reversed(range(S)), S]
            np.testing.assert_allclose(one.alignment, other.alignment[:, columns], atol=1e-6)
    ids, _ = backward.source_batch([["a", "b"]])
    assert ids[0, :, 0].tolist() == [SOURCE.index("b"), SOURCE.index("a"), 0]
    with pytest.raises(CgruError, match="reads the source right to left, "):
        Translator([plain, backward])


@pytest.mark.long
def test_loaded_models_stay_as_they_are(model, tmp_path):
    loaded = load_model(model)
    first = Translator([loaded]).translate(["a b"])
    assert set(loaded.model.arrays) == {row.name for row in loaded.model.parameters()}
    other = loaded.with_arrays({n: a * 0.5 for n, a in loaded.model.arrays.items()})
    assert Translator(other).translate(["a b"])[0].score != first[0].score
    assert Translator(loaded).translate(["a b"])[0].score == first[0].score
    write(other, tmp_path / "half.npz")
    half = read_model(tmp_path / "half.npz")
    np.testing.assert_array_equal(half.arrays["Wemb"], loaded.model.arrays["Wemb"] * 0.5)
    ids, mask = loaded.source_batch([["a", "unseen"], []])
    assert ids.shape == (2, 3, 1) and mask.tolist() == [[1, 1, 1], [1, 0, 0]]
    assert ids[0, :, 0].tolist() == [SOURCE.index("a"), 1, 0]
    ids, mask = loaded.target_batch([["B"], []])
    assert ids.tolist() == [[TARGET.index("B"), 0], [0, 0]] and mask.tolist() == [[1, 1], [1, 0]]


@pytest.mark.parametrize("kind", [Translator, PairScorer])
def test_public_members_are_documented(kind):
    page = PAGE.read_text("utf-8")
    members = [name for name in dir(kind) if not name.startswith("_")]
    assert "languages" in members
    for name in members:
        assert re.search(rf"[.`]{name}\b", page), name
        assert getattr(kind, name).__doc__
