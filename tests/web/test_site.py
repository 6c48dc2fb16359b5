"""`cgru convert --to web`: the page splits text, searches and works offline as it should."""

import functools
import gzip
import http.server
import json
import os
import random
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import click.testing
import msgspec
import numpy as np
import pytest
import sentencepiece
from browsers import Page, browser, violations  # noqa: F401
from cases import random_arrays, small_structure
from models import typed
from patience import PATIENCE
from selection import choice
from shared_files import ROOT, SHARED, need

from cgru_cli import Translator
from cgru_cli.cli import main
from cgru_cli.formats import write_model
from cgru_cli.formats.model import Model
from cgru_cli.parameters.structure import Type
from cgru_cli.serve.messages import ModelDescription
from cgru_cli.text.pipeline import PipelineSettings, Preprocessing
from cgru_cli.text.subwords import Codes
from cgru_cli.web import site as web

pytestmark = pytest.mark.long


EXAMPLE = ROOT / "examples" / "en-de.npz"
REVERSE = ROOT / "examples" / "de-en.npz"
MODEL = "model.onnx"
TEXTS = ["Where is the station?", "I don't know 12 😀 words", "  Two  spaces \u2581 ", "x"]


def convert(*arguments):
    return click.testing.CliRunner().invoke(main, ["convert", *map(str, arguments)])


@pytest.fixture(scope="session")
def runtime_files():
    """The folder `dist` of the npm package onnxruntime-web."""
    folder = os.environ.get("CGRU_WEB_RUNTIME")
    if not folder:
        pytest.skip(f"no {web.PACKAGE}: set CGRU_WEB_RUNTIME to its folder dist")
    return folder


@pytest.fixture(scope="module")
def site(runtime_files, tmp_path_factory):
    """Writes the site of the example, or of several models, with an option's value, once."""

    @functools.cache
    def made(precision, *models):
        folder = tmp_path_factory.mktemp(precision) / "site"
        result = convert(
            *(models or [EXAMPLE]), folder, "--to", "web", "--precision", precision,
            "--runtime-files", runtime_files, "--quiet",
        )  # fmt: skip
        assert (result.exit_code, result.output) == (0, "")
        return folder

    return made


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        self.server.asked.append(self.path.removeprefix("/"))


class Slow(Quiet):
    """A line of some 40 MB a second."""

    def copyfile(self, source, outputfile):
        while part := source.read(1 << 19):
            outputfile.write(part)
            time.sleep(0.0125)


@pytest.fixture
def opened(browser):  # noqa: F811
    """Opens a folder in the browser, served as any static files; returns the page and a server."""
    servers = []

    def open_folder(folder, kind=Quiet):
        handler = functools.partial(kind, directory=folder)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        server.asked = []  # the files
        threading.Thread(target=server.serve_forever).start()
        servers.append(server)
        page = Page(browser, f"http://127.0.0.1:{server.server_port}/")
        browser.set_script_timeout(PATIENCE)
        return page, server

    yield open_folder
    messages = [entry for entry in browser.get_log("browser") if entry["level"] != "DEBUG"]
    for server in servers:
        server.shutdown()
        server.server_close()
    assert messages == []


def called(page, module, script, *arguments):
    """The result of a module's function: `script` is a body with `it`, the module, and `given`."""
    answer = page.browser.execute_async_script(
        f"""const [file, given, back] = arguments;
        (async () => {{ const it = await import(file); {script} }})()
          .then(back, (error) => back({{ error: String(error.stack ?? error) }}));""",
        f"{page.run('return location.origin')}/{module}",
        list(arguments),
    )
    assert not (isinstance(answer, dict) and "error" in answer), answer
    return answer


TRANSLATED = """
    const lines = [];
    const [texts, n_best] = given;
    const request = { texts, n_best, alignment: true, word_scores: true };
    for await (const line of it.translations(request)) lines.push(line);
    return lines;
"""


def shared_lines(count):
    with gzip.open(need(SHARED / "data/tatoeba-en-de/test.en.gz"), "rt", encoding="utf-8") as file:
        return file.read().split("\n")[:count]


def test_translations_are_those_of_cgru(site, opened):
    page, _ = opened(site("float32"))
    found = called(page, "translator.js", TRANSLATED, TEXTS, 5)
    translator = Translator(EXAMPLE, attention=True)
    expected = translator.translate(TEXTS, n_best=5)
    assert [line["index"] for line in found] == [0, 1, 2, 3]
    for line, hypotheses in zip(found, expected, strict=True):
        assert [one["text"] for one in line["hypotheses"]] == [one.text for one in hypotheses]
        for one, other in zip(line["hypotheses"], hypotheses, strict=True):
            assert one["words"] == list(other.tokens) and one["finished"] == other.finished
            assert one["total"] == pytest.approx(other.total, abs=1e-4)
            assert one["word_scores"] == pytest.approx(other.word_scores, abs=1e-4)
            np.testing.assert_allclose(one["alignment"], other.alignment, atol=1e-4)
    with_prefix = {"text": TEXTS[0], "prefix": found[0]["hypotheses"][0]["words"][:2], "count": 3}
    listed = called(page, "translator.js", "return it.alternatives(given[0])", with_prefix)
    first, *others = listed["alternatives"]
    assert first["text"] == found[0]["text"]
    scores = found[0]["hypotheses"][0]["word_scores"]
    assert first["probability"] == pytest.approx(np.exp(scores[2]), rel=1e-3)
    for one in others:
        forced = translator.translate(TEXTS[0], prefixes=[*with_prefix["prefix"], one["word"]])
        assert one["text"] == forced.text and 0 < one["probability"] < first["probability"]


@pytest.mark.parametrize("precision", choice(["float32", "int8"]))
def test_two_hundred_translations(precision, site, opened, tmp_path):
    lines = shared_lines(200)
    model = tmp_path / "model.onnx"
    assert convert(EXAMPLE, model, "--precision", precision).exit_code == 0
    (tmp_path / "model.onnx.preprocess.json").write_bytes(
        Path(f"{EXAMPLE}.preprocess.json").read_bytes()
    )
    page, _ = opened(site(precision))
    found = []
    for start in range(0, len(lines), 20):
        found += called(page, "translator.js", TRANSLATED, lines[start : start + 20], 5)
    expected = Translator(model).translate(lines, n_best=5)
    assert [line["text"] for line in found] == [one.text for one, *_ in expected]
    if precision == "float32":
        lists = [[one["text"] for one in line["hypotheses"]] for line in found]
        assert lists == [[one.text for one in listed] for listed in expected]


# the values of the progress bar while it is visible
SEEN = """
    window.seen = [];
    const bar = document.querySelector("main > .hint progress");
    const see = () => bar.checkVisibility() && seen.at(-1) !== bar.value && seen.push(bar.value);
    setInterval(see, 10);
"""


def test_a_reader_sees_the_size_and_can_go_on_offline(site, opened):
    page, server = opened(site("float32"), Slow)
    until(lambda: page.run("return document.querySelector('main > .hint')"))
    page.run(SEEN)
    hint = page.find("main > .hint")
    until(lambda: "33 MB" in hint.text)
    assert large_files(server) == set()
    assert violations(page.browser) == []
    translate(page, "Where is the station?")
    assert page.find(".translation").text == "Wo ist der Bahnhof?"
    assert hint.text == "Your text stays on this device."
    seen = page.run("return seen")
    assert len(seen) > 5 and sorted(seen) == seen and 0 < seen[len(seen) // 2] < 1
    page.width(360)
    assert page.run("return document.documentElement.scrollWidth") <= 360
    assert violations(page.browser) == []
    server.shutdown()
    server.server_close()
    page.browser.refresh()
    translate(page, " I do not know.")  # after the text, which a reload keeps
    assert page.find(".translation").text == "Wo ist der Bahnhof? Ich weiß es nicht."


def large_files(server):
    """The large files that the page, or its worker, has loaded."""
    return {name for name in server.asked if name.endswith((".onnx", ".wasm"))}


def test_two_directions(site, opened):
    """Menus and swap as on the server's page; a model is loaded once its direction translates."""
    page, server = opened(site("int8", EXAMPLE, REVERSE), Slow)
    until(lambda: page.run("return document.querySelector('main > .hint')?.textContent"))
    hint = page.find("main > .hint")
    files = {"en-de": "model-en-de.onnx", "de-en": "model-de-en.onnx"}
    menus = "return ['from', 'to'].map((id) => document.getElementById(id).value)"
    assert page.run(menus) == ["en", "de"]
    until(lambda: "The first translation into German loads 20 MB, once." in hint.text)
    translate(page, "Where is the station?")
    assert page.find(".translation").text == "Wo ist der Bahnhof?"
    assert hint.text == "Your text stays on this device."
    assert large_files(server) == {web.WASM, files["en-de"]}
    page.click("#clear")
    page.click("#swap")
    assert hint.text.endswith("The first translation into English loads 6 MB, once.")
    assert page.run(menus) == ["de", "en"]
    assert large_files(server) == {web.WASM, files["en-de"]}
    for width in (390, 768, 1280):
        page.width(width)
        assert page.run("return document.documentElement.scrollWidth") <= width
        assert violations(page.browser) == []
    page.run(SEEN)
    translate(page, "Wo ist der Bahnhof?")
    assert page.find(".translation").text == "Where is the station?"
    assert hint.text == "Your text stays on this device."
    seen = page.run("return seen")
    assert sorted(seen) == seen and seen[0] < 0.5  # of this model alone
    assert large_files(server) == {web.WASM, *files.values()}
    server.shutdown()
    server.server_close()
    page.click("#swap")  # translates the translation
    until(lambda: page.find(".translation").text == "Wo ist der Bahnhof?")
    page.browser.refresh()
    until(lambda: page.find("#status").text == "Ready" and page.find(".translation").text)
    assert page.find(".translation").text == "Wo ist der Bahnhof?"


def test_each_model_translates_as_cgru(site, opened):
    page, _ = opened(site("float32", EXAMPLE, REVERSE))
    texts = {EXAMPLE: TEXTS, REVERSE: ["Wo ist der Bahnhof?", "Ich weiß es nicht."]}
    script = TRANSLATED.replace("word_scores", "model: given[2], word_scores")
    for model, lines in texts.items():
        found = called(page, "translator.js", script, lines, 2, model.stem)
        expected = Translator(model).translate(lines, n_best=2)
        listed = [[one["text"] for one in line["hypotheses"]] for line in found]
        assert listed == [[one.text for one in several] for several in expected]


def translate(page, text):
    page.find("#source").send_keys(text)
    page.click("#translate")
    until(lambda: page.find("#status").text == "Ready")


def until(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "too late"
        time.sleep(0.02)


def test_a_translation_can_be_stopped(site, opened):
    page, _ = opened(site("float32"))
    stopped = called(
        page,
        "translator.js",
        """
        const control = new AbortController();
        let lines = 0;
        try {
          for await (const line of it.translations({ texts: given[0] }, control.signal)) {
            lines += 1;
            control.abort();
          }
        } catch (error) { return [lines, error.name]; }
        """,
        TEXTS * 100,
    )
    assert stopped == [1, "AbortError"]
    assert called(page, "translator.js", TRANSLATED, TEXTS[:1], 1)[0]["index"] == 0


# --- text ----------------------------------------------------------------------------------------

SPLIT = """
    const [stored, lines, pieces] = given;
    const vocabulary = new it.Vocabulary({ words: [], ids: [], pieces: stored });
    return [lines.map((one) => vocabulary.tokens(one)), pieces.map((one) => vocabulary.line(one))];
"""
ODD = " \u3000\u00a0\t\u2581ﬁ①\uff21é\u0301ß€😀漢字<>@#\x01\ufeff½İ\u200b"


def odd_lines(count, seed, any_character=0.3):
    """Text with odd characters in it, and a share of lines of any characters."""
    rng = random.Random(seed)
    words = "the a station Bahnhof is über Straße don't 12.5 e-mail https://x.org".split()
    lines = ["", " ", "\u2581", "<unk>", "</s> <s>", "  a  b  ", "\u3000", "x" * 300]
    while len(lines) < count:
        line = list(" ".join(rng.choices(words, k=rng.randrange(12))))
        for _ in range(rng.randrange(7)):
            line.insert(rng.randrange(len(line) + 1), rng.choice(ODD) * rng.randrange(1, 4))
        if rng.random() < any_character:
            kinds = (range(32, 127), range(160, 0x3000), range(0x1F300, 0x1F700))
            line = [chr(rng.choice(rng.choice(kinds))) for _ in range(rng.randrange(1, 40))]
        lines.append("".join(line))
    return lines


KINDS = {
    "unigram": {},
    "bpe": {"model_type": "bpe"},
    "bytes": {"byte_fallback": True, "vocab_size": 420},
    "own": {"user_defined_symbols": ["<0>", "@@@", "ab", "the", "über"], "model_type": "bpe"},
    "plain": {"normalization_rule_name": "identity", "remove_extra_whitespaces": False},
}


@pytest.mark.parametrize("kind", choice(KINDS, "unigram", "own"))
def test_pieces_are_sentencepieces(kind, opened, tmp_path):
    more = {"model_type": "unigram", "vocab_size": 150} | KINDS[kind]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(odd_lines(3000, 1, any_character=0)),
        model_prefix=str(tmp_path / "m"),
        character_coverage=0.98, hard_vocab_limit=False, minloglevel=2, num_threads=2,
        eos_id=0, unk_id=1, bos_id=-1, **more,
    )  # fmt: skip
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "m.model"))
    lines, rng = odd_lines(2000, 2), random.Random(3)
    split = [processor.encode(line, out_type=str) for line in lines]
    size = processor.get_piece_size()
    drawn = [
        [processor.id_to_piece(rng.randrange(size)) for _ in range(rng.randrange(12))]
        for _ in range(500)
    ]
    joined = [processor.decode_pieces(pieces).replace("\n", " ") for pieces in split + drawn]
    page = scripts(opened, tmp_path / "page")
    stored = web._pieces(processor.serialized_model_proto())
    found, texts = called(page, "pieces.js", SPLIT, stored, lines, split + drawn)
    assert found == split
    assert texts == joined


def scripts(opened, folder):
    """A page with the files that need no model."""
    folder.mkdir()
    (folder / "index.html").write_text('<!doctype html><link rel="icon" href="data:,">')
    (folder / "pieces.js").write_bytes(
        (Path(web.__file__).parent / "site_files/pieces.js").read_bytes()
    )
    return opened(folder)[0]


CODES = "#version: 0.2\nt h\nth e</w>\ns t\nst a\na t\ni o\nio n</w>\nB a\nh n\n@ @</w>\nü b\n"


@pytest.mark.parametrize("codes", [CODES, CODES.removeprefix("#version: 0.2\n")])
def test_preparation_is_that_of_prep(codes, opened, tmp_path):
    settings = PipelineSettings(unicode="nfkc", case="lower", subwords="subword-nmt", pieces=True)
    python = Preprocessing(settings, (), (codes,))
    assert isinstance(python._splitters[0], Codes)
    lines = odd_lines(2000, 4)
    expected = [python.apply(line) for line in lines]
    page = scripts(opened, tmp_path / "page")
    script = """
        const preparation = new it.Preparation(given[0]);
        const done = given[1].map((line) => preparation.apply(line));
        return [done, done.map((line) => preparation.undo(line))];
    """
    found, undone = called(
        page, "pieces.js", script, web._preparation(SimpleNamespace(preprocessing=python)), lines
    )
    assert found == expected
    assert undone == [python.undo(line) for line in expected]


# --- the folder ----------------------------------------------------------------------------------


def test_the_page_is_the_servers(site):
    folder = site("float32")
    (model,) = json.loads((folder / web.MODELS).read_bytes())
    msgspec.convert(model, ModelDescription)
    assert set(model) >= set(ModelDescription.__struct_fields__)
    assert "wasm-unsafe-eval" in (folder / "index.html").read_text()
    assert (folder / "page.js").read_bytes() == (
        ROOT / "cgru_cli/web/page_files/page.js"
    ).read_bytes()
    assert {one["file"]: one["size"] for one in model["loads"]} == {
        name: (folder / name).stat().st_size for name in (web.WASM, MODEL, "model.json")
    }
    assert sum(file.stat().st_size for file in folder.iterdir()) < 34e6


def small(folder, structure, **settings):
    """A small model with vocabularies."""
    folder.mkdir()
    names = []
    for number, size in enumerate((*structure.source_vocabularies, structure.target_vocabulary)):
        words = ["eos", "UNK", *(f"w{i}" for i in range(2, size))]
        names.append(folder / f"{number}.json")
        names[-1].write_text(json.dumps({word: i for i, word in enumerate(words)}))
    made = Model(folder / "x", structure, random_arrays(structure), "nematus")
    made.settings.vocabularies = [name.name for name in names]
    for name, value in settings.items():
        setattr(made.settings, name, value)
    write_model.write(made, folder / "model.npz", "npz")
    return folder / "model.npz"


REFUSED = {
    "lm": (typed(Type.LM), {}, {}, "type lm; the page translates text"),
    "classifier": (typed(Type.CLASSIFIER), {}, {}, "type classifier; the page translates text"),
    "right-left": (
        small_structure(),
        {"right_left": True},
        {},
        "that read or write right to left",
    ),
    "tokeniser": (small_structure(), {}, {"tokenize": True, "languages": ("en", "de")}, "Moses"),
    "copy": (small_structure(), {}, {"copy": ("number",)}, "placeholders (--copy)"),
}


def test_names_of_models(tmp_path):
    """The languages, or the files' names, or these with a number."""
    rows = {
        ("x/model", "y/model"): ["model-1", "model-2"],
        ("x/a", "y/b"): ["a", "b"],
        ("x/a", "y/A"): ["a-1", "A-2"],
        ("x/a",): ["a"],
    }

    def made(path, languages=None):
        return SimpleNamespace(model=SimpleNamespace(path=Path(path)), languages=languages)

    for paths, names in rows.items():
        assert web._names([made(path) for path in paths]) == names
    directions = [made("x/model", ("en", "de")), made("y/model", ("de", "en"))]
    assert web._names(directions) == ["en-de", "de-en"]
    assert web._names([*directions, made("z/b", ("de", "en"))]) == ["model-1", "model-2", "b-3"]


def test_the_report_names_the_files_of_several_models(runtime_files, tmp_path):
    command = [EXAMPLE, REVERSE, tmp_path / "site", "--to", "web", "--runtime-files", runtime_files]
    result = convert(*command, "--precision", "int8")
    wrote, size, _ = result.stderr.splitlines()
    written = sorted((tmp_path / "site").iterdir())
    assert wrote.partition("site: ")[2].split(", ") == [file.name for file in written]
    assert {"model-en-de.onnx", "model-de-en.json"} <= {file.name for file in written}
    assert f"{sum(file.stat().st_size for file in written) / 1e6:.1f} MB" in size
    for option in ("--average", "--vocabs"):
        result = convert(*command, option, EXAMPLE, REVERSE)
        assert result.exit_code == 2 and f"{option} requires a single model IN" in result.stderr


@pytest.mark.parametrize("name", REFUSED)
def test_models_that_the_page_cannot_run(name, tmp_path):
    structure, settings, steps, message = REFUSED[name]
    model = small(tmp_path / "in", structure, **settings)
    if steps:
        preprocessing = Preprocessing(PipelineSettings(**steps))
        Path(f"{model}.preprocess.json").write_text(json.dumps(preprocessing.as_json()))
    result = convert(model, tmp_path / "site", "--to", "web", "--runtime-files", tmp_path)
    assert result.exit_code == 1 and message in result.stderr
    assert len(result.stderr.splitlines()) == 1 and not (tmp_path / "site").exists()


def test_files_in_the_way_and_missing_files(tmp_path, monkeypatch):
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "note").touch()
    result = convert(EXAMPLE, folder, "--to", "web")
    assert result.exit_code == 1 and "exists; --force overwrites its files" in result.stderr
    result = convert(EXAMPLE, tmp_path / "x", "--to", "web", "--runtime-files", tmp_path)
    assert result.exit_code == 1 and f"{tmp_path}/{web.LIBRARY}: " in result.stderr
    monkeypatch.setenv("PATH", str(tmp_path))
    result = convert(EXAMPLE, tmp_path / "x", "--to", "web")
    assert result.exit_code == 1 and "npm cannot install onnxruntime-web@" in result.stderr
    assert "--runtime-files names a folder" in result.stderr
    assert result.stderr.startswith("cgru: note: npm downloads onnxruntime-web@")
    result = convert(EXAMPLE, tmp_path / "x.npz", "--runtime-files", tmp_path)
    assert result.exit_code == 2 and "--runtime-files needs --to web" in result.stderr
    result = convert(EXAMPLE, tmp_path / "x", "--to", "web", "--verify")
    assert result.exit_code == 2 and "--verify" in result.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["site"]
