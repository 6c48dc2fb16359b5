"""The Spark recipe: no line is lost or duplicated, whatever process is killed."""

import gzip
import importlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import in_process, write_model
from documentation import ROOT
from hypothesis import given
from hypothesis import strategies as st

from cgru_cli.errors import CgruError
from cgru_cli.options.translate import TranslateOptions

pytestmark = pytest.mark.long


FOLDER = ROOT / "recipes" / "spark"
SEARCH = ("-k", "2", "--translation-maxlen", "8")


@pytest.fixture(scope="module")
def recipe():
    """The two modules that do not need Spark."""
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module("parts"), importlib.import_module("worker")
    finally:
        sys.path.remove(str(FOLDER))
        for name in ("parts", "worker"):
            sys.modules.pop(name, None)


def text_of(count, seed=1):
    """Random lines of a small model's words; some are empty."""
    chance = random.Random(seed)
    lines = (chance.choices("abcdf", k=chance.randrange(7)) for _ in range(count))
    return "".join(f"{' '.join(line)}\n" for line in lines)


def planned(parts, files, size):
    """All parts of some files, with their numbers of lines."""
    cut = [part for file in files for part in parts.cut(file, size, "text")]
    return parts.numbered(cut, [parts.count(part) for part in cut])


# --- parts ----------------------------------------------------------------------------------------


@given(
    st.lists(st.text("ab\n\r", max_size=30).map(str.encode), min_size=1, max_size=3),
    st.integers(1, 12),
)
def test_each_line_is_in_one_part_and_in_order(tmp_path_factory, recipe, texts, size):
    parts, _ = recipe
    folder = tmp_path_factory.mktemp("corpus")
    lines = []
    for number, text in enumerate(texts):
        if number == 1:
            (folder / "1.gz").write_bytes(gzip.compress(text))
        else:
            (folder / str(number)).write_bytes(text)
        lines += text.removesuffix(b"\n").split(b"\n") if text else []
    plan = planned(parts, parts.files_of(folder), size)
    assert [line for part in plan for line in parts.lines_of(part)] == lines
    assert all(part.lines == len(list(parts.lines_of(part))) > 0 for part in plan)
    assert [part.first for part in plan] == [
        sum(part.lines for part in plan[:i]) for i in range(len(plan))
    ]


def test_an_invalid_corpus_is_an_error(recipe, tmp_path):
    parts, _ = recipe
    with pytest.raises(CgruError, match="No such file"):
        parts.files_of(tmp_path / "missing")
    (tmp_path / "_SUCCESS").touch()
    with pytest.raises(CgruError, match="no files in it"):
        parts.files_of(tmp_path)
    for name in ("a.txt", "b.parquet"):
        (tmp_path / name).touch()
    with pytest.raises(CgruError, match="use one kind only"):
        parts.files_of(tmp_path)


def test_a_job_resumes_only_with_the_same_request(recipe, tmp_path):
    parts, _ = recipe
    (tmp_path / "text").write_text("a\nb\nc\n")
    plan = planned(parts, [tmp_path / "text"], 2)
    out = tmp_path / "out"
    out.mkdir()
    request = {"options": {"beam_size": 2}, "models": [["m", 1]]}
    assert parts.read_plan(out, request) is None
    parts.write_plan(out, request, plan)
    assert parts.read_plan(out, request) == plan
    with pytest.raises(CgruError, match="other options; name another folder"):
        parts.read_plan(out, request | {"options": {"beam_size": 3}})
    assert parts.left(out, plan) == [0, 1, 2]
    parts.output_of(out, 1, plan[1]).touch()
    (out / ".part-000000.txt.0.tmp").touch()  # of a worker that was killed
    assert parts.left(out, plan) == [0, 2]
    parts.tidy(out)
    assert sorted(path.name for path in out.iterdir()) == ["_plan.json", "part-000001.txt"]
    (out / "_plan.json").write_text("{")
    with pytest.raises(CgruError, match="not the plan"):
        parts.read_plan(out, request)


# --- the worker -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model"))


def translate(recipe, folder, text, *, last=False, size=60, **options):
    """Translate parts of a text in this process; return their results."""
    parts, worker = recipe
    (folder / "in").write_bytes(text)
    plan = planned(parts, [folder / "in"], size)
    asked = TranslateOptions(**{"translation_maxlen": 8, "beam_size": 2} | options)
    done = [
        worker.translate(i, part, parts.output_of(folder, i, part), asked, column="text",
                         added="translation", last=last)
        for i, part in enumerate(plan)
    ]  # fmt: skip
    texts = [path.read_text() for path in sorted(folder.glob("part-*"))]
    return done, texts


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({}, ()),
        ({"n_best": True}, ("--n-best",)),
        ({"output_sampling": "full", "seed": 3}, ("--output-sampling", "full", "--seed", "3")),
    ],
    ids=["best", "n-best", "samples"],
)
def test_parts_together_equal_the_output_of_the_command(
    recipe, model, tmp_path, options, arguments
):
    text = text_of(60).encode()
    done, texts = translate(recipe, tmp_path, text, model=(model,), **options)
    assert len(texts) > 3 and not any(one.error for one in done)
    assert sum(one.lines for one in done) == 60
    assert sum(one.words for one in done) == len(text.split())
    code, whole, _ = in_process("translate", tmp_path)(
        "-m", model, *SEARCH, *arguments, text=text.decode()
    )
    assert code == 0
    # scores of a list may differ in their last digit, depending on the batch
    fields = [[line.split(" ||| ")[:2] for line in t.splitlines()] for t in ("".join(texts), whole)]
    assert fields[0] == fields[1]


def test_a_failed_part_is_missing_and_others_are_complete(recipe, model, tmp_path, monkeypatch):
    _, worker = recipe
    search = worker.search_of(TranslateOptions(model=(model,), translation_maxlen=8, beam_size=2))
    read = search.preparer.read

    def picky(fields, number, part):
        if number == 30:
            raise MemoryError("no room")
        return read(fields, number, part)

    monkeypatch.setattr(search.preparer, "read", picky)
    text = text_of(60).encode()
    with pytest.raises(MemoryError):  # for Spark, which retries
        translate(recipe, tmp_path, text, model=(model,))
    done, texts = translate(recipe, tmp_path, text, model=(model,), last=True)
    wrong = [one for one in done if one.error]
    assert len(wrong) == 1 and len(texts) == len(done) - 1
    assert "MemoryError: no room" in wrong[0].error
    assert not list(tmp_path.glob(".*.tmp"))


def test_a_model_stays_on_its_gpu(recipe, model, monkeypatch):
    _, worker = recipe
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    worker.take_gpus([])
    worker.search_of.cache_clear()
    worker.take_gpus(["3"])
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "3"
    worker.search_of(TranslateOptions(model=(model,)))
    worker.take_gpus(["3"])
    with pytest.raises(CgruError, match="give each executor one GPU"):
        worker.take_gpus(["1"])


def test_back_translations_stand_beside_text_behind_links(tmp_path):
    (tmp_path / "text").mkdir()
    (tmp_path / "file").write_text("b")  # its last line has no end
    (tmp_path / "text/1").write_text("a\n")
    (tmp_path / "text/2").symlink_to(tmp_path / "file")
    (tmp_path / "mono").symlink_to(tmp_path / "text")
    (tmp_path / "bin").mkdir()
    # spark-submit --master local[2,4] translate.py MONO OUT ...
    submit = 'mkdir -p "$5" && printf "A\\nB\\n" > "$5/part-000000.txt"'
    for name, text in (("cgru", ":"), ("spark-submit", submit)):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [FOLDER / "back_translate.sh"],
        env=os.environ | {"PATH": path, "MONO": "mono", "OUT": "out"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    for side, lines in (("source", "A\nB\n"), ("target", "a\nb\n")):
        assert (tmp_path / f"out/text.{side}").read_text() == lines


# --- with Spark -----------------------------------------------------------------------------------

LINES = 20_000


class Job:
    """`spark-submit` with two workers; by default the corpus is a text in two files."""

    def __init__(self, folder, model, *more, out="out", master="local[2,4]"):
        self.out, corpus = folder / out, folder / "corpus"
        if not corpus.exists():
            corpus.mkdir()
            lines = text_of(LINES).splitlines(keepends=True)
            (corpus / "a").write_text("".join(lines[: LINES // 2]))
            (corpus / "b").write_text("".join(lines[LINES // 2 :]))
        self.log = open(folder / f"{time.monotonic_ns()}.log", "w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            ["spark-submit", "--master", master, "--conf", "spark.ui.enabled=false",
             FOLDER / "translate.py", corpus, self.out, "--part-size", "0.01", "-m", model,
             *SEARCH, *more],
            env=os.environ | {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable,
                              "PYSPARK_DRIVER_PYTHON": sys.executable},
            stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

    def parts(self):
        return {path: path.stat().st_mtime_ns for path in self.out.glob("part-*")}

    def wait_for(self, count):
        while len(self.parts()) < count:
            assert self.process.poll() is None, self.finished()
            time.sleep(0.05)

    def workers(self):
        """The processes forked by Spark's daemon."""
        found = []
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                parent = int(status.read_text().rpartition(") ")[2].split()[1])
                lines = [(status.parents[1] / str(p) / "cmdline").read_bytes()
                         for p in (int(status.parent.name), parent)]  # fmt: skip
                session = os.getsid(int(status.parent.name))
            except OSError:
                continue
            if session == self.process.pid and all(b"pyspark.daemon" in line for line in lines):
                found.append(int(status.parent.name))
        return found

    def finished(self):
        code = self.process.wait(300)
        with self.log as log:
            log.seek(0)
            return code, log.read()

    def text(self):
        return "".join(path.read_text() for path in sorted(self.out.glob("part-*")))


@pytest.fixture(scope="module")
def whole(model, tmp_path_factory):
    pytest.importorskip("pyspark")
    if not (shutil.which("java") and shutil.which("spark-submit")):
        pytest.skip("needs Java, and spark-submit of PySpark")
    code, text, _ = in_process("translate", tmp_path_factory.mktemp("whole"))(
        "-m", model, *SEARCH, text=text_of(LINES)
    )
    assert code == 0
    return text


@pytest.mark.exhaustive
def test_a_killed_worker_loses_and_duplicates_nothing(model, whole, tmp_path):
    job = Job(tmp_path, model)
    job.wait_for(2)
    killed = job.workers()
    assert killed
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    code, messages = job.finished()
    assert code == 0, messages
    assert "crashed" in messages  # as reported by Spark
    assert job.text() == whole
    assert not list(job.out.glob(".part-*.tmp"))


@pytest.mark.exhaustive
def test_a_killed_job_resumes_without_its_finished_parts(model, whole, tmp_path):
    job = Job(tmp_path, model)
    job.wait_for(4)
    os.killpg(job.process.pid, signal.SIGKILL)
    job.finished()
    before = job.parts()
    code, messages = Job(tmp_path, model, "--cpu-threads", "1").finished()
    assert code == 0, messages
    assert f"{len(before)} parts are done" in messages
    assert before.items() <= job.parts().items() and len(before) < len(job.parts())
    assert job.text() == whole
    code, messages = Job(tmp_path, model).finished()
    assert code == 0 and "nothing left to do" in messages
    code, messages = Job(tmp_path, model, "-n").finished()
    assert code == 1 and "was begun with other options" in messages


@pytest.mark.exhaustive
def test_a_worker_killed_repeatedly_ends_the_job_with_one_line(model, whole, tmp_path):
    job = Job(tmp_path, model, master="local[2,1]")
    job.wait_for(1)
    for pid in job.workers():
        os.kill(pid, signal.SIGKILL)
    code, messages = job.finished()
    assert code == 1 and "Spark has given up: Job aborted" in messages
    assert "complete parts are kept" in messages and job.parts()


@pytest.mark.exhaustive
def test_a_table_keeps_its_columns(model, whole, tmp_path):
    from pyarrow import parquet, table

    given = text_of(200).splitlines()
    texts = [None if i == 70 else line for i, line in enumerate(given)]
    (tmp_path / "corpus").mkdir()
    columns = {"id": list(range(200)), "text": texts}
    parquet.write_table(table(columns), tmp_path / "corpus/a.parquet", row_group_size=64)
    job = Job(tmp_path, model, "--part-size", "0.0005")
    code, messages = job.finished()
    assert code == 0, messages
    rows = [row for path in sorted(job.out.glob("*")) if path.suffix == ".parquet"
            for row in parquet.read_table(path).to_pylist()]  # fmt: skip
    assert len(job.parts()) > 2 and [row["id"] for row in rows] == list(range(200))
    assert [row["text"] for row in rows] == texts
    translations = [None if i == 70 else line for i, line in enumerate(whole.split("\n")[:200])]
    assert [row["translation"] for row in rows] == translations
    code, messages = Job(tmp_path, model, "--column", "no", out="other").finished()
    assert code == 1 and "no column 'no'; --column names one of id, text" in messages
