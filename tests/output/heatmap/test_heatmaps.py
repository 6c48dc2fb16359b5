"""`--heatmap` of `cgru score` and `cgru translate`: lines, content and errors."""

import json
import re

import numpy as np
import pytest
from commands import SOURCE, TARGET, as_marian, in_process, one_line, vocabulary, write_model
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from cgru_cli.errors import CgruError, OutputClosed, UsageError
from cgru_cli.output import picture_style
from cgru_cli.output.heatmap import heatmaps
from cgru_cli.output.heatmap.heatmaps import Heatmaps, chosen_lines
from cgru_cli.output.heatmap.view import View

pytestmark = pytest.mark.long


AS_JSON = ("--word-scores", "--alignment-format", "json")
LINES = "a b c\nf f a d\n\nb unseen <script>&</script>\nc\n"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return [write_model(folder / name, seed) for name, seed in (("one", 6), ("two", 8))]


def write_texts(folder):
    (folder / "src").write_text(LINES)
    (folder / "trg").write_text("A D@@ E\nF\nB\nunseen B\nA A A A F B\n")
    return "-s", folder / "src", "-t", folder / "trg"


@pytest.fixture
def texts(tmp_path):
    return write_texts(tmp_path)


def done(outcome):
    code, text, messages = outcome
    assert code == 0, messages
    return text.split("\n")[:-1], messages


def data_of(path):
    """The views of a page, by line."""
    text = path.read_text("utf-8")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    return {sentence["number"]: sentence["views"] for sentence in json.loads(data)}


def check_against_json(view, told):
    """A view shows the numbers of --alignment-format json --word-scores."""
    assert view["source"] == told["source"]
    assert view["target"] == told["target"]
    np.testing.assert_allclose(view["weights"], told["alignment"], atol=6e-6)
    assert view["strongest"] == np.argmax(told["alignment"], axis=1).tolist()
    np.testing.assert_allclose(view["probabilities"], np.exp(told["word_scores"]), atol=6e-6)


@pytest.fixture(scope="module")
def alone(models, tmp_path_factory):
    """For each model, the page of some pairs and their JSON."""
    folder = tmp_path_factory.mktemp("alone")
    score = in_process("score", folder)
    pages, told = [folder / "one.html", folder / "two.html"], []
    for model, page in zip(models, pages, strict=True):
        arguments = ("-m", model, *write_texts(folder), *AS_JSON, "--heatmap", page)
        lines, messages = done(score(*arguments))
        assert messages == f"cgru: score: wrote the attention of 5 lines to {page}\n"
        told.append([json.loads(line) for line in lines])
    return pages, told


def test_score_shows_what_it_prints_as_json(alone):
    pages, told = alone
    for page, lines in zip(pages, told, strict=True):
        data = data_of(page)
        assert list(data) == [1, 2, 3, 4, 5]
        for number, line in enumerate(lines, start=1):
            (view,) = data[number]
            assert view["name"] == "model.npz"
            check_against_json(view, line)
        assert "<script>&</script>" in data[4][0]["source"]


def test_models_in_columns(models, alone, score, texts, tmp_path):
    page = tmp_path / "out.html"
    lines, _ = done(score("-m", *models, *texts, "--heatmap", page, "--heatmap-lines", "2,4-5"))
    assert {len(line.split(" ")) for line in lines} == {2}
    data = data_of(page)
    assert list(data) == [2, 4, 5]
    for number, views in data.items():
        assert [view["name"] for view in views] == ["one/model.npz", "two/model.npz"]
        for view, told in zip(views, alone[1], strict=True):
            check_against_json(view, told[number - 1])


def test_mean_and_models_of_an_ensemble(models, alone, score, texts, tmp_path):
    page = tmp_path / "out.html"
    more = ("--weights", "3", "1", "--summary", "perplexity", "--heatmap", page)
    lines, _ = done(score("-m", *models, *texts, *more))
    assert len(lines) == 1
    for number, (mean, *views) in data_of(page).items():
        own = [told[number - 1] for told in alone[1]]
        for view, told in zip(views, own, strict=True):
            check_against_json(view, told)
        assert mean["name"] == "mean"
        expected = np.mean([one["alignment"] for one in own], axis=0)
        np.testing.assert_allclose(mean["weights"], expected, atol=6e-6)
        expected = np.exp(np.average([one["word_scores"] for one in own], axis=0, weights=(3, 1)))
        np.testing.assert_allclose(mean["probabilities"], expected, atol=6e-6)


def test_one_model_with_a_weight(models, alone, score, texts, tmp_path):
    page = tmp_path / "out.html"
    done(score("-m", models[0], *texts, "--weights", "2", "--heatmap", page))
    for number, (view,) in data_of(page).items():
        check_against_json(view, alone[1][0][number - 1])


def test_models_that_read_other_words_have_no_mean(score, texts, tmp_path, monkeypatch, models):
    from cgru_cli.formats.loaded_model import LoadedModel

    plain = LoadedModel.tokenizer

    def tokenizer(self, *reading):
        more = ["a"] if "two" in str(self.model.path) else []
        return lambda line: plain(self, *reading)(line) + more

    monkeypatch.setattr(LoadedModel, "tokenizer", tokenizer)
    page = tmp_path / "out.html"
    outcome = score("-m", *models, *texts, "--ensemble", "--heatmap", page)
    one_line(outcome, 1, "line 1: the models split the source into different words")
    assert not page.exists()
    done(score("-m", *models, *texts, "--heatmap", page))
    one, two = data_of(page)[1]
    assert [*one["source"][:-1], "a", "</s>"] == two["source"]


def test_n_best_lists(models, score, texts, tmp_path):
    entries = tmp_path / "list"
    entries.write_text("0 ||| A B\n0 ||| A\n3 ||| F F\n")
    page = tmp_path / "out.html"
    arguments = ("-m", models[0], *texts[:2], "--n-best", entries, "--heatmap", page)
    done(score(*arguments, "--heatmap-lines", "2-3"))
    data = data_of(page)
    assert [view["target"] for (view,) in data.values()] == [["A", "</s>"], ["F", "F", "</s>"]]
    assert data[2][0]["source"] == ["a", "b", "c", "</s>"]


def test_translate_shows_the_best_hypothesis(models, translate, tmp_path):
    page = tmp_path / "out.html"
    arguments = ("-m", models[0], "--n-best", "-n", *AS_JSON, "--heatmap", page)
    lines, messages = done(translate(*arguments, text=LINES))
    assert messages == (
        f"cgru: warning: {page}: without line 3, which has no words\n"
        f"cgru: translate: wrote the attention of 4 lines to {page}\n"
    )
    best = {}
    for line in lines:
        if line.startswith("{"):
            entry = json.loads(line)
            best.setdefault(entry["id"] + 1, entry)
    data = data_of(page)
    assert list(data) == [1, 2, 4, 5]
    for number, (view,) in data.items():
        check_against_json(view, best[number])


def test_translate_shows_each_model_of_an_ensemble(models, translate, score, tmp_path):
    page, page_of_scores = tmp_path / "out.html", tmp_path / "scores.html"
    several = ("-m", *models, "--weights", "3", "1")
    more = ("-k", "2", "--max-length-factor", "1", "--heatmap", page)
    translations, _ = done(translate(*several, *more, text=LINES))
    source, target = tmp_path / "src", tmp_path / "trg"
    source.write_text(LINES)
    target.write_text("".join(f"{line}\n" for line in translations))
    done(score(*several, "-s", source, "-t", target, "--heatmap", page_of_scores))
    found, scored = data_of(page), data_of(page_of_scores)
    assert list(found) == [1, 2, 4, 5]
    finished = set()
    for number, views in found.items():
        assert [view["name"] for view in views] == ["mean", "one/model.npz", "two/model.npz"]
        for view, expected in zip(views, scored[number], strict=True):
            T = len(view["target"])  # without EOS if the limit cut it
            finished.add(view["target"] == expected["target"])
            assert view["target"] == expected["target"][:T]
            for name in ("weights", "probabilities"):
                np.testing.assert_allclose(view[name], expected[name][:T], atol=2e-5)
    assert finished == {True, False}


def test_factors_and_models_that_write_from_right_to_left(translate, tmp_path):
    model = write_model(tmp_path / "m", source_vocabularies=(8, 4), source_embeddings=(3, 2))
    vocabularies = [
        vocabulary(tmp_path / name, words)
        for name, words in (("s", SOURCE), ("f", ["eos", "UNK", "x", "y"]), ("t", TARGET))
    ]
    page = tmp_path / "out.html"
    text = "a|x b|y\n"
    done(translate("-m", model, "-v", *vocabularies, "--heatmap", page, text=text))
    assert data_of(page)[1][0]["source"] == ["a", "b", "</s>"]

    model = write_model(tmp_path / "rl")
    as_marian(model, "type: nematus\nright-left: true\n")
    arguments = ("-m", model, "-m", model, "-v", *vocabularies[::2], *AS_JSON, "--heatmap", page)
    lines, _ = done(translate(*arguments, text="a b c\n"))
    mean, *of_models = data_of(page)[1]
    check_against_json(mean, json.loads(lines[0]))
    for view in of_models:  # of one model twice
        np.testing.assert_allclose(view["weights"], mean["weights"], atol=2e-5)


def test_pictures(models, score, texts, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "out.PNG"
    _, messages = done(score("-m", models[0], *texts, "--heatmap", path))
    assert path.read_bytes().startswith(b"\x89PNG")
    assert messages == (
        f"cgru: warning: {path}: shows the first 4 of 5 lines; --heatmap-lines selects others\n"
        f"cgru: score: wrote the attention of 4 lines to {path}\n"
    )


def test_contradicting_options_are_refused(models, score, translate, texts, tmp_path):
    model = ("-m", models[0], *texts)
    for name in ("out.pdf", "out", "out.html.gz"):
        one_line(score(*model, "--heatmap", tmp_path / name), 2, ".html, .png or .svg")
    one_line(translate("-m", models[0], "--heatmap", "x.jpg", text=""), 2, ".html, .png or .svg")
    one_line(score(*model, "--heatmap-lines", "1"), 2, "--heatmap-lines needs --heatmap")
    page = tmp_path / "out.html"
    one_line(score(*model, "--heatmap", page, "--heatmap-lines", "3-1"), 2, "as 1,3-5")
    same = score(*model, "--heatmap", page, output=page)
    one_line(same, 2, "--heatmap and another output name the same file")
    source = tmp_path / "src.html"
    source.write_text("a\n")
    outcome = score("-m", models[0], "-s", source, "-t", source, "--heatmap", source)
    one_line(outcome, 2, "is also the output")
    assert source.read_text() == "a\n"
    outcome = score("--metric", "bleu", "-t", source, "--reference", source, "--heatmap", page)
    one_line(outcome, 2, "takes no --heatmap")
    one_line(score(*model, "--heatmap", tmp_path / "no" / "out.html"), 1, "no folder")


def test_pictures_without_matplotlib(models, score, texts, tmp_path, monkeypatch):
    monkeypatch.setattr(picture_style.importlib.util, "find_spec", lambda name: None)
    outcome = score("-m", models[0], *texts, "--heatmap", tmp_path / "out.png")
    one_line(outcome, 1, "pip install 'cgru[plot]'")


def test_missing_lines(models, score, translate, texts, tmp_path):
    page = tmp_path / "out.html"
    arguments = ("-m", models[0], *texts, "--heatmap", page, "--heatmap-lines")
    _, messages = done(score(*arguments, "2,6-9", "--quiet"))
    assert messages == f"cgru: warning: {page}: without line 6, 7, 8, 9; the input has 5\n"
    assert list(data_of(page)) == [2]
    page.unlink()
    code, text, messages = score(*arguments, "8")
    assert (code, text.count("\n"), page.exists()) == (1, 5, False)
    assert messages == f"cgru: {page}: not written: there is no line 8; the input has 5\n"
    code, text, _ = translate("-m", models[0], "--heatmap", page, text="\n\n")
    assert (code, text, page.exists()) == (1, "\n\n", False)


def test_models_without_attention(shared, translate, tmp_path):
    (model,) = sorted(shared("fixtures/dl4mt-session1").glob("*.npz"))[:1]
    outcome = translate("-m", model, "--heatmap", tmp_path / "out.html", text="a\n")
    one_line(outcome, 1, "attention")


def small_view():
    return View("m", ["</s>"], ["</s>"], np.ones((1, 1), np.float32), None)


@given(st.sets(st.integers(1, 60), min_size=1))
def test_lines_are_chosen_by_numbers_and_ranges(numbers):
    ordered = sorted(numbers)
    assert chosen_lines(",".join(map(str, ordered)), 60) == numbers
    parts, start = [], ordered[0]
    for last, following in zip(ordered, [*ordered[1:], None], strict=True):
        if following != last + 1:
            parts.append(str(start) if start == last else f"{start}-{last}")
            start = following
    assert chosen_lines(", ".join(reversed(parts)), 60) == numbers


@each_row("text", ["", "0", "1,", "a", "-3", "5-2", "1-2-3", "1;2", "0-3", "\u0661", "\u00b2"])
def test_invalid_line_numbers(text):
    with pytest.raises(UsageError, match="as 1,3-5"):
        chosen_lines(text, 200)


@pytest.mark.parametrize("text", ["1-201", f"1-{10**17}", "1-200,300"])
def test_too_many_lines(text):
    with pytest.raises(UsageError, match="has at most 200 lines"):
        chosen_lines(text, 200)


def test_the_first_lines_are_drawn_unless_others_are_chosen(tmp_path, capsys):
    path = tmp_path / "out.html"
    with Heatmaps(str(path)) as maps:
        for number in reversed(range(30)):
            if maps.wants(number):
                maps.add(number, [small_view()], "a", "A")
    assert list(data_of(path)) == list(range(1, 21))
    assert "shows the first 20 of 30 lines; --heatmap-lines selects" in capsys.readouterr().err


def test_nothing_is_written_after_an_error(tmp_path):
    path = tmp_path / "out.html"
    for error, written in ((CgruError, False), (KeyboardInterrupt, False), (OutputClosed, True)):
        with pytest.raises(error), Heatmaps(str(path)) as maps:
            assert maps.wants(0)
            maps.add(0, [small_view()], "a", "A")
            raise error("x")
        assert path.exists() is written
    path.unlink()
    with pytest.raises(OutputClosed), Heatmaps(str(path)):
        raise OutputClosed("x")
    assert not path.exists()


def test_no_attention_is_kept_without_the_option():
    with Heatmaps(None) as maps:
        assert not maps.wanted
        assert not any(maps.wants(number) for number in range(3))


def test_limits_are_those_of_the_help():
    from cgru_cli.options.flags import statements
    from cgru_cli.options.line_filter import FilterOptions

    help = statements(FilterOptions)["heatmap_lines"][0].help
    assert re.findall(r"\d+", help) == ["1", "20", "4"]
    assert {heatmaps.LIMITS[suffix][0] for suffix in (".png", ".svg")} == {4}
    assert heatmaps.LIMITS[".html"][0] == 20
