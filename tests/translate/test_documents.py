"""`cgru translate --document`: the segments of a document in its structure."""

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from commands import write_model
from devices import FULL, NULL, device, is_device
from prepared_once import prepared_once

from cgru_cli import Translator
from cgru_cli.cli import main
from cgru_cli.text.copying import PLACEHOLDERS

PAGE = (
    "<!doctype html>\n<h1>a b</h1><p>c <b>d f</b> a . b <i>a</i> c .\n"
    "<p translate=no>a<script>a</script>"
)
SOURCE = ["eos", "UNK", "a", "b", "c", "d", "f", ".", *PLACEHOLDERS[:2]]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model"), source=SOURCE, target=SOURCE, seed=3)


@pytest.fixture(autouse=True)
def sentences(monkeypatch):
    def segment(_language, text):
        return re.findall(r".*? \. |.+", text)

    monkeypatch.setitem(sys.modules, "sentencex", SimpleNamespace(segment=segment))


def run(*arguments):
    with prepared_once():
        result = CliRunner().invoke(main, ["translate", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stderr


def test_a_page_is_translated_in_its_structure(model, tmp_path):
    source, target = tmp_path / "in.html", tmp_path / "out.html"
    source.write_text(PAGE)
    report = f"cgru: translate: wrote 2 segments to {target}\n"
    assert run("-m", model, "--translation-maxlen", 6, "--document", source, target) == (0, report)
    found = re.fullmatch(
        r"<!doctype html>\n<h1>(.*)</h1><p>(.*)\n<p translate=no>a<script>a</script>",
        target.read_text(),
    )
    assert found
    translator = Translator(model, translation_maxlen=6)
    assert found[1] == translator.translate("a b").text
    sentences = translator.translate(["c d f a .", "b a c ."])
    plain = re.sub("<[^>]*>", "", found[2])
    assert plain == " ".join(one.text for one in sentences)
    marks = translator.translate("c d f a . b a c .", split_sentences="en").text
    assert plain == marks
    # each mark lies in the translation of its own sentence
    first = len(sentences[0].text)
    assert re.findall("<[^>]*>", found[2]) == ["<b>", "</b>", "<i>", "</i>"]
    bold = re.search("<b>(.+)</b>(.*)<i>(.+)</i>", found[2])
    assert bold and len(found[2][: bold.end(1)]) - 3 <= first <= len(found[2][: bold.start(3)]) - 10


def test_marks_and_sentences_go_together(model):
    """A paragraph of one sentence is as `--markup` alone has it; copied spans have their places."""
    options = {"translation_maxlen": 6, "markup": "html"}
    line = "a <b>b <i>12</i></b> c"
    whole = Translator(model, **options, copy=["number"], split_sentences="en").translate(line)
    assert whole.text == Translator(model, **options, copy=["number"]).translate(line).text
    assert whole.text.count("12") == 1 and "<i>" in whole.text


def test_the_extra_of_documents_is_named(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentencex", None)
    (tmp_path / "in.txt").write_text("a\n")
    code, message = run("-m", model, "--document", tmp_path / "in.txt", tmp_path / "out.txt")
    assert code == 1
    assert message == "cgru: sentencex is not installed: pip install 'cgru[documents]'\n"


@pytest.mark.parametrize(
    ("files", "code", "message"),
    [
        (["in.html"], 2, "two files are expected"),
        (["in.html", "in.html"], 2, "is also the output"),
        (["in.pdf", "out.pdf"], 1, "supported document formats are .txt"),
        (["bad.po", "old.po"], 1, "not a valid .po file"),
        (["none.md", "out.md"], 1, "not found"),
        (["in.txt", "out.docx"], 2, "in.txt, with the ending .txt; the known"),
        (["in.html", "out.xyz"], 2, "in.html, with the ending .html or .htm; the known endings"),
        (["in.html", "out"], 2, "are .txt, .md, .markdown, .mdx, .html, .htm, .srt, .po, .pot, "),
        (["in.html", "out.html.gz"], 2, "out.html.gz must have the format of "),
        (["in.html", ".html"], 2, "the known endings are"),
        (["in.html", "none/out.html"], 1, "none/out.html: cannot be written: No such file"),
        (["in.html", "."], 1, "cannot be written: Is a directory"),
        (["in.html", "out.html", "--n-best"], 2, "--document and --n-best exclude each other"),
    ],
)
def test_refusals(model, tmp_path, files, code, message):
    (tmp_path / "in.html").write_text(PAGE)
    (tmp_path / "in.pdf").write_bytes(b"%PDF")
    (tmp_path / "bad.po").write_text('msgid "\nmsgid')
    (tmp_path / "old.po").write_text("as before")
    names = [name if name.startswith("--") else tmp_path / name for name in files]
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    returned, said = run("-m", model, "--document", *names)
    assert returned == code and message in said and said.count("\n") <= 1 + (code == 2)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_devices_and_pipes_are_no_files_to_replace(model, tmp_path):
    source, null, full, pipe, link = (
        tmp_path / name for name in ("in.html", "null", "full.html", "pipe", "link.html")
    )
    source.write_text(PAGE)
    device(null, NULL)
    device(full, FULL)
    os.mkfifo(pipe)
    link.symlink_to(full)
    options = ("-m", model, "--translation-maxlen", 6, "--quiet", "--document", source)
    assert run(*options, null) == (0, "")
    for path in (full, link):
        message = f"cgru: {path}: cannot be written: No space left on device\n"
        assert run(*options, path) == (1, message)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(pipe.read_bytes)
        assert run(*options, pipe) == (0, "")
    target = tmp_path / "out.html"
    with open(target, "wb", buffering=0) as file:
        file.write(b"before")
        assert run(*options, f"/dev/fd/{file.fileno()}") == (0, "")
    assert target.read_bytes() == b"before" + read.result() and b"<h1>" in read.result()
    assert is_device(null) and is_device(full) and pipe.is_fifo() and link.is_symlink()
    assert len(list(tmp_path.iterdir())) == 6


def test_a_document_in_utf_16(model, tmp_path):
    source, target = tmp_path / "in.md", tmp_path / "out.MD"
    texts = []
    for encoding in ("utf-16-be", "utf-8"):
        source.write_bytes("\ufeff# a b\r\n\n```\né\n".encode(encoding))
        assert run("-m", model, "--translation-maxlen", 6, "--document", source, target)[0] == 0
        texts.append(target.read_bytes().decode(encoding))
    assert texts[0] == texts[1]
    assert re.fullmatch("\ufeff# .+\r\n\n```\né\n", texts[0])


def test_without_the_packages(model, tmp_path, monkeypatch):
    (tmp_path / "a.srt").write_text("")
    monkeypatch.setitem(sys.modules, "srt", None)
    code, said = run("-m", model, "--document", tmp_path / "a.srt", tmp_path / "b.srt")
    assert code == 1 and "srt is not installed: pip install 'cgru[documents]'" in said
