"""Documents by HTTP: started, watched, fetched, cancelled, refused."""

import asyncio
import contextlib
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import httpx2
import jsonschema
import pytest
from patience import PATIENCE
from serving import listening, serving

from cgru_cli.serve import documents
from cgru_cli.serve.engine import Engine
from cgru_cli.serve.problems import Refusal

PAGE = b"<!doctype html>\n<p>a <b>b</b> c</p>\n<p>d . a b .</p><script>a b</script>\n"


@pytest.fixture(autouse=True)
def sentences(monkeypatch):
    def segment(_language, text):
        return re.findall(r".*? \. |.+", text)

    monkeypatch.setitem(sys.modules, "sentencex", SimpleNamespace(segment=segment))


@contextlib.contextmanager
def opened(models, **more):
    """A client of a listening server, whose tasks continue between requests."""
    with serving(models, **more) as app, listening(app) as url, httpx2.Client(base_url=url) as web:
        yield web


@pytest.fixture(scope="module")
def running(models):
    with opened(models, max_body=1, max_document=2, max_lines=20, max_characters=1500) as web:
        yield web


def started(web, content, name="page.html", **more):
    answer = web.post("/v1/documents", params={"name": name} | more, content=content)
    assert answer.status_code == 202, answer.text
    address = answer.json()["address"]
    assert address == answer.headers["location"]
    return address


def finished(web, address):
    """The final answer, after those that report progress."""
    for _ in range(600):
        answer = web.get(address)
        if answer.status_code != 202:
            return answer
        time.sleep(0.05)
    raise AssertionError(answer.text)


def text_of(web, line):
    answer = web.post("/v1/translate", json={"texts": [line]})
    return answer.json()["translations"][0]["text"]


def test_a_page_is_translated_in_its_structure(running):
    answer = finished(running, started(running, PAGE))
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["content-disposition"] == "attachment"
    pattern = r"<!doctype html>\n<p>(.*)</p>\n<p>(.*)</p><script>a b</script>\n"
    first, second = re.fullmatch(pattern, answer.text).groups()
    assert re.findall("<[^>]*>", first) == ["<b>", "</b>"]
    assert re.sub("<[^>]*>", "", first) == text_of(running, "a b c")
    assert second == f"{text_of(running, 'd .')} {text_of(running, 'a b .')}"


def test_more_lines_than_a_request_may_have(running):
    lines = [f"a {'b ' * (i % 3)}c" for i in range(130)]
    answer = finished(running, started(running, "\n".join(lines).encode(), "a.txt"))
    texts = {line: text_of(running, " ".join(line.split())) for line in set(lines)}
    assert answer.text.split("\n") == [texts[line] for line in lines]


def test_the_progress_is_as_described(running):
    document = running.get("/openapi.json").json()
    schema = document["components"]["schemas"]["DocumentProgress"]
    answer = running.post("/v1/documents", params={"name": "a.txt"}, content=b"a b")
    jsonschema.validate(answer.json(), schema)
    assert "/v1/documents/{number}" in document["paths"]
    finished(running, answer.json()["address"])


def test_a_cancelled_document_is_gone(running):
    address = started(running, PAGE)
    assert running.delete(address).status_code == 204
    assert running.get(address).status_code == 404
    assert running.delete(address).status_code == 404
    metrics = running.get("/metrics").text
    assert 'path="/v1/documents/{number}"' in metrics
    assert address not in metrics  # it is as secret as the document


def test_a_document_is_kept_for_a_time(running, monkeypatch):
    monkeypatch.setattr(documents, "KEPT", 0.2)
    address = started(running, PAGE)
    assert finished(running, address).status_code == 200
    time.sleep(0.5)
    assert running.get(address).status_code == 404


@pytest.mark.parametrize(
    ("name", "content", "status", "message"),
    [
        ("a.pdf", b"%PDF", 422, "supported document formats are"),
        ("", b"a", 422, "supported document formats are"),
        ("a.xliff", b'<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', 422, "declares entities"),
        ("a.txt", b"a" * 3000, 413, "more than 2 KiB"),
        ("a.txt", b"a\n" * 900, 413, "900 paragraphs; this server takes 800"),
        ("../../a.txt", b"\xff\xff", 422, "a.txt: not a text in utf-8"),
    ],
)
def test_refusals_are_one_line(running, monkeypatch, name, content, status, message):
    monkeypatch.setattr(documents, "MOST_SEGMENTS", 800)
    answer = running.post("/v1/documents", params={"name": name}, content=content)
    assert answer.status_code == status
    assert message in answer.json()["detail"] and "\n" not in answer.json()["detail"]
    assert ".." not in answer.json()["detail"]


def test_a_paragraph_of_many_marks(running):
    answer = finished(running, started(running, b"a*b*" * 450, "a.md"))
    assert answer.status_code == 413
    assert "paragraph 1: 1800 characters; this server" in answer.json()["detail"]


def test_a_paragraph_that_the_server_does_not_read(models):
    with opened(models, max_characters=5) as web:
        answer = finished(web, started(web, b"a b c d f", "a.txt"))
        assert answer.status_code == 413
        assert "this server takes 5 per line" in answer.json()["detail"]


def test_a_document_waits_while_the_queue_is_full(models, monkeypatch):
    monkeypatch.setattr(documents, "_PAUSE", 0.01)
    waits, submit = [None, None], Engine.submit  # for the second part, after one line

    def full(self, client, kind, lines, deliver, **more):
        if waits and lines[0].text == "d":
            waits.pop()
            raise Refusal("queue_full")
        return submit(self, client, kind, lines, deliver, **more)

    monkeypatch.setattr(Engine, "submit", full)
    with opened(models, max_lines=1) as web:
        answer = finished(web, started(web, b"a b c\nd\n", "a.txt"))
        assert answer.status_code == 200 and waits == []
        assert answer.text.count("\n") == 2


def test_the_number_of_documents_is_limited(models, monkeypatch):
    monkeypatch.setattr(documents, "MOST_UNFINISHED", 2)
    monkeypatch.setattr(documents, "MOST_KEPT", 3)
    with opened(models) as web:
        post = functools.partial(web.post, "/v1/documents", params={"name": "a.txt"})
        with monkeypatch.context() as held:
            go = threading.Event()
            held.setattr(documents, "_write_file", lambda *_: go.wait())
            waiting = [started(web, b"a b\n", "a.txt") for _ in range(2)]
            answer = post(content=b"a b\n")
            assert answer.status_code == 429 and answer.json()["code"] == "rate_limited"
            assert answer.json()["detail"].startswith("this client has 2 unfinished")
            assert web.delete(waiting[0]).status_code == 204  # makes room
            started(web, b"a b\n", "a.txt")
            go.set()
        for _ in range(600):
            answer = post(content=b"a b\n")
            if answer.status_code == 503:
                break
            assert answer.status_code in (202, 429)
            time.sleep(0.05)
        assert answer.json()["code"] == "queue_full"
        assert answer.json()["detail"].startswith("this server keeps at most 3 documents")
        assert answer.headers["retry-after"] == "5"


def test_a_missing_package_is_no_fault_of_the_document(running, monkeypatch):
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    answer = running.post("/v1/documents?name=a.md", content=b"a")
    assert answer.json()["code"] == "not_installed" and answer.status_code == 501
    monkeypatch.setitem(sys.modules, "sentencex", None)
    answer = finished(running, started(running, b"a", "a.txt"))
    assert answer.json()["code"] == "not_installed" and answer.status_code == 501


def test_asking_again_for_a_failed_document_keeps_nothing():
    served = documents.Documents(None)
    job = documents._Job("a.md", "text/plain", "", problem=Refusal("too_large"))
    served._jobs["a"] = job
    lengths = []
    for _ in range(2):
        with pytest.raises(Refusal) as raised:
            asyncio.run(served.one(SimpleNamespace(path_params={"number": "a"}, method="GET")))
        lengths.append(len(raised.traceback))
    assert raised.value is job.problem and lengths[0] == lengths[1]


def test_a_document_cancelled_while_its_file_is_written_leaves_none(models, monkeypatch):
    writing, going_on, paths = threading.Event(), threading.Event(), []

    def slow(document, paragraphs, found, path):
        writing.set()
        paths.append(path)
        going_on.wait(PATIENCE)
        path.write_bytes(b"")

    monkeypatch.setattr(documents, "_write_file", slow)
    with opened(models) as web:
        address = started(web, b"a", "a.txt")
        assert writing.wait(PATIENCE)
        assert web.delete(address).status_code == 204
        going_on.set()
    assert not paths[0].parent.exists()


def test_a_cleaner_of_old_files_does_no_harm(models, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(documents, "_home", [])
    with opened(models) as web:
        assert finished(web, started(web, b"a", "a.txt")).status_code == 200
        for folder in tmp_path.iterdir():
            shutil.rmtree(folder)
        assert finished(web, started(web, b"a", "a.txt")).status_code == 200


def test_a_stopping_server_does_not_wait_for_documents(models, monkeypatch):
    writing, going_on = threading.Event(), threading.Event()

    def slow(*_):
        writing.set()
        going_on.wait(PATIENCE)

    monkeypatch.setattr(documents, "_write_file", slow)
    with opened(models) as web:
        started(web, b"a", "a.txt")
        assert writing.wait(PATIENCE)
        assert "cgru_requests_in_progress 1.0" in web.get("/metrics").text  # this one
        going_on.set()


def test_folders_of_killed_servers_are_removed(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(documents, "_home", [])
    folder = documents._folder()
    own = tmp_path / Path(folder.name).parent.name
    (own / "left").write_text("a")
    code = (
        "from cgru_cli.serve.documents import _folder; import sys\n"
        "folder = _folder(); print(folder.name, flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    others = Path(other.stdout.readline().strip())
    (others / "translation").write_text("a")
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "cgru-document-link").symlink_to(outside)
    os.mkfifo(tmp_path / "cgru-document-pipe")
    (tmp_path / "cgru-document-abandoned" / "a").mkdir(parents=True)
    documents.remove_abandoned()
    assert own.is_dir() and (others / "translation").exists() and outside.is_dir()
    assert not (tmp_path / "cgru-document-abandoned").exists()
    other.kill()
    other.communicate()
    assert others.exists()
    documents.remove_abandoned()
    assert not others.parent.exists() and own.is_dir()


def test_a_server_that_ends_leaves_no_folder(tmp_path):
    code = "from cgru_cli.serve.documents import _folder; a, b = _folder(), _folder()"
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert list(tmp_path.iterdir()) == []
