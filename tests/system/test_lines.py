"""Lines in and out: nothing is lost, reordered, split or delayed."""

import bz2
import gzip
import lzma
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from patience import PATIENCE
from tables import each_row

from cgru_cli.errors import CgruError, OutputClosed, UsageError
from cgru_cli.system import lines as module
from cgru_cli.system.line_writer import LineWriter
from cgru_cli.system.lines import LineReader, byte_lines, check_distinct, tokens
from cgru_cli.system.windows import windows

fast = settings(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
# Bytes that break implementations: characters like line ends, partial and invalid UTF-8.
pieces = st.sampled_from(
    [b"\n", b"\r", b"\r\n", b"\0", b" ", b"a", b"\x0b", b"\x0c", b"\x1c", b"\x85", b"\xff"]
    + [text.encode() for text in ("\u2028", "\u2029", "\x85", "\u00a0", "\ufeff", "é", "𝄞")]
    + [b"\xe2\x80", b"\xf0\x9d", b"\xed\xa0\x80"]
)
texts = st.lists(pieces | st.binary(max_size=3), max_size=40).map(b"".join)
texts = texts.filter(lambda text: not text.startswith(b"\x1f\x8b"))  # refused as compressed


def oracle(data: bytes) -> list[str]:
    parts = data.split(b"\n")
    if not parts[-1]:
        parts.pop()
    return [part.decode("utf-8", errors="replace") for part in parts]


def read_all(reader: LineReader, limit: int = 7) -> list[str]:
    return [line for window in iter(lambda: reader.window(limit), []) for line in window]


@pytest.fixture
def pipe():
    """(reading end, writing end) as raw files; `path_of(end)` is a path to open it by."""
    reading, writing = (
        os.fdopen(end, mode, 0) for end, mode in zip(os.pipe(), ("rb", "wb"), strict=True)
    )
    with reading, writing:
        yield reading, writing


def path_of(end) -> str:
    return f"/dev/fd/{end.fileno()}"


@fast
@given(data=texts, chunk=st.integers(1, 9), limit=st.integers(1, 9), zipped=st.booleans())
def test_any_bytes_keep_number_and_order_of_lines(
    tmp_path, monkeypatch, data, chunk, limit, zipped
):
    path = tmp_path / ("x.gz" if zipped else "x")
    path.write_bytes(gzip.compress(data) if zipped else data)
    monkeypatch.setattr(module, "CHUNK", chunk)  # cuts inside of characters and \r\n
    with LineReader(path) as reader:
        assert read_all(reader, limit) == oracle(data)
        assert reader.window(limit) == []
        bad = [
            part for part in data.split(b"\n") if part.decode("utf-8", "ignore").encode() != part
        ]
        assert reader.invalid == len(bad)


@fast
@given(data=texts, cuts=st.lists(st.integers(0, 60), max_size=4))
def test_a_pipe_gives_the_same_lines_as_a_file(data, cuts):
    reading, writing = os.pipe()

    def produce():
        for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), None], strict=True):
            os.write(writing, data[start:end])
        os.close(writing)

    with LineReader(f"/dev/fd/{reading}") as reader:
        thread = threading.Thread(target=produce)
        thread.start()
        try:
            assert read_all(reader) == oracle(data)
        finally:
            thread.join()
            os.close(reading)


@given(text=st.text(alphabet=" \t\r\u00a0\u2003\x0bab", max_size=30))
def test_tokens_end_at_ascii_spaces_only(text):
    assert tokens(text) == [part for part in text.split(" ") if part != ""]
    assert " ".join(tokens(text)).replace(" ", "") == text.replace(" ", "")


def test_tokens_of_a_long_line_take_little_memory():
    line = "abc  de " * (5 * module.LONG // 8) + "\u00a0x"
    expected = line.split(" ")
    tracemalloc.start()
    found = tokens(line)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == [token for token in expected if token]
    assert peak < 8 * len(line)  # a list of references; with an object per token, 30 times as much


@given(st.text(" ab", max_size=40), st.integers(1, 5))
def test_tokens_of_a_long_line_are_those_of_a_short_one(text, long):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LONG", long)
        assert tokens(text) == [token for token in text.split(" ") if token]


def test_inputs_are_concatenated_and_their_lines_never_joined(tmp_path):
    for name, data in (("a", b"1\n2"), ("b", b""), ("c.gz", gzip.compress(b"3\n\n"))):
        (tmp_path / name).write_bytes(data)
    reader = LineReader(*(tmp_path / name for name in ("a", "b", "c.gz")))
    assert reader.window(100) == ["1", "2", "3", ""]


def test_gzip_members_are_concatenated(tmp_path):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b"a\nb") + gzip.compress(b"c\n"))
    assert read_all(LineReader(path)) == ["a", "bc"]


def test_single_line_is_returned_at_once(pipe):
    reading, writing = pipe
    reader = LineReader(path_of(reading))
    timer = threading.Timer(0.05, writing.write, (b"alone\nunfinish",))
    timer.start()
    started = time.monotonic()
    assert reader.window(1000) == ["alone"]  # the writer stays open
    assert time.monotonic() - started < 2
    writing.write(b"ed\n")
    assert reader.window(1000) == ["unfinished"]


def test_steady_trickle_cannot_delay_a_window(pipe):
    reading, writing = pipe
    done = threading.Event()

    def trickle():
        while not done.wait(module.GRACE / 4):
            writing.write(b"line\n")

    thread = threading.Thread(target=trickle)
    thread.start()
    try:
        assert 1 <= len(LineReader(path_of(reading)).window(100_000)) < 500
    finally:
        done.set()
        thread.join()


def test_a_fast_producer_fills_the_window(pipe):
    reading, writing = pipe
    thread = threading.Thread(
        target=lambda: [writing.write(b"a b c\n" * 1000) for _ in range(50)] and writing.close()
    )
    thread.start()
    reader = LineReader(path_of(reading))
    sizes = [len(window) for window in windows(reader, 80, 20)]
    thread.join()
    assert sizes[:3] == [1, 16, 256]
    assert sum(sizes) == 50_000
    assert len(sizes) < 100  # most are the full 1600


def test_fifo_after_a_file_does_not_delay_the_file(tmp_path):
    (tmp_path / "file").write_bytes(b"first\n")
    os.mkfifo(tmp_path / "fifo")
    reader = LineReader(tmp_path / "file", tmp_path / "fifo")
    assert reader.window(10) == ["first"]
    writer = threading.Thread(target=(tmp_path / "fifo").write_bytes, args=(b"second\n",))
    writer.start()
    assert reader.window(10) == ["second"]
    writer.join()


def test_endless_input_needs_constant_memory(pipe):
    reading, writing = pipe
    block = (b"x" * 999 + b"\n") * 60

    def produce():
        for _ in range(833):  # 50 MB
            writing.write(block)
        writing.close()

    thread = threading.Thread(target=produce)
    reader = LineReader(path_of(reading))
    tracemalloc.start()
    try:
        thread.start()
        total = sum(len(window) for window in iter(lambda: reader.window(100), []))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        thread.join()
    assert total == 833 * 60
    assert peak < 2_000_000


def test_one_huge_line(tmp_path):
    (tmp_path / "x").write_bytes(b"y" * 20_000_000 + b"\nz")
    assert [len(line) for line in read_all(LineReader(tmp_path / "x"))] == [20_000_000, 1]


def test_a_line_without_end():
    with pytest.raises(CgruError, match=r"/dev/zero: a line of 67,108,864 bytes"):
        LineReader("/dev/zero").window(1)
    with pytest.raises(CgruError, match=r"/dev/zero: a line of 67,108,864 bytes"):
        next(byte_lines("/dev/zero"))


def test_invalid_utf8_is_warned_about_once_and_counted(tmp_path, capsys):
    (tmp_path / "x").write_bytes(b"ok\n\xff\n\xc3\n")
    with LineReader(tmp_path / "x") as reader:
        assert read_all(reader) == ["ok", "\ufffd", "\ufffd"]
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        assert "x: line 2: invalid UTF-8" in err
        assert reader.invalid == 2
    assert "2 lines had invalid UTF-8" in capsys.readouterr().err


def test_carriage_returns_stay_and_are_warned_about_once(tmp_path, capsys):
    (tmp_path / "x").write_bytes(b"a b\r\nc\r\n")
    assert read_all(LineReader(tmp_path / "x")) == ["a b\r", "c\r"]
    told = capsys.readouterr().err
    assert told.count("\\r\\n") == 1 and "tr -d '\\r' <" in told


@each_row(
    ("name", "content", "says"),
    [
        ("missing", None, "No such file"),
        (".", None, "directory"),
        ("plain.gz", b"plain text\n", "gzip"),
        ("empty.gz", b"", "gzip"),
        ("short.gz", gzip.compress(bytes(range(256)))[:-20], "gzip"),
        ("crc.gz", gzip.compress(b"a\n")[:-8] + bytes(8), "gzip"),
        ("garbage.gz", gzip.compress(b"a\n")[:10] + b"\xff" * 50, "gzip"),
        ("text", gzip.compress(b"a\n"), "is compressed by gzip; unpack it first"),
        ("text.xz", lzma.compress(b"a\n"), "is compressed by xz; unpack it first"),
        ("text.bz2", bz2.compress(b"a\n"), "is compressed by bzip2; unpack it first"),
        ("text.zst", b"\x28\xb5\x2f\xfd \2\21\0\0a\n", "is compressed by zstd; unpack it first"),
    ],
    ids="missing directory plain empty short checksum garbage renamed xz bzip2 zstd".split(),
)
def test_unreadable_inputs_give_one_line_that_names_them(tmp_path, name, content, says):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    for read in (lambda: read_all(LineReader(path)), lambda: [*byte_lines(path)]):
        with pytest.raises(CgruError, match=says) as caught:
            read()
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_lines_before_a_damaged_end_are_returned_first(tmp_path):
    whole = gzip.compress("".join(f"{i}\n" for i in range(20_000)).encode())
    (tmp_path / "x.gz").write_bytes(whole[: len(whole) // 2])
    reader = LineReader(tmp_path / "x.gz")
    lines = reader.window(100_000)
    assert lines
    assert lines == [str(i) for i in range(len(lines))]
    for _ in range(2):
        with pytest.raises(CgruError, match="gzip"):
            reader.window(100_000)


def test_output_file_grows_line_by_line(tmp_path):
    writer = LineWriter(tmp_path / "x")
    writer.write("é\n\u2028\r\n")
    assert (tmp_path / "x").read_bytes() == "é\n\u2028\r\n".encode()
    writer.write("")
    writer.write("\ud800\n")
    writer.close()
    writer.close()
    assert (tmp_path / "x").read_bytes().endswith(b"\n?\n")


def test_compressed_output_can_be_read_while_it_grows(tmp_path):
    with LineWriter(tmp_path / "x.gz") as writer:
        writer.write("a\n")
        writer.write("b\n")
        reader = LineReader(tmp_path / "x.gz")
        assert reader.window(10) == ["a", "b"]
    assert gzip.decompress((tmp_path / "x.gz").read_bytes()) == b"a\nb\n"
    LineWriter(tmp_path / "nothing.gz").close()
    assert read_all(LineReader(tmp_path / "nothing.gz")) == []


def test_unwritable_outputs(tmp_path):
    for path in (tmp_path, tmp_path / "no" / "x"):
        with pytest.raises(CgruError, match="cannot be written"):
            LineWriter(path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("zipped", [False, True])
def test_full_disk_gives_one_line(zipped, tmp_path):
    path = tmp_path / ("full.gz" if zipped else "full")
    path.symlink_to("/dev/full")
    writer = LineWriter(path)
    with pytest.raises(CgruError, match="No space left"):
        writer.write("x\n")
    writer.close(failed=True)


def test_partial_line_on_a_full_disk_is_removed(tmp_path, monkeypatch):
    writer = LineWriter(tmp_path / "x")
    writer.write("before\n")
    room, write = [9], os.write

    def limited(descriptor, data):
        if not room[0]:
            raise OSError(28, "No space left on device")
        size = write(descriptor, bytes(data)[: room[0]])
        room[0] -= size
        return size

    monkeypatch.setattr(os, "write", limited)
    with pytest.raises(CgruError, match="No space left"):
        writer.write("first\nsecond\n")
    monkeypatch.undo()
    writer.close(failed=True)
    assert (tmp_path / "x").read_bytes() == b"before\nfirst\n"


def test_reader_of_a_fifo_has_gone(pipe):
    reading, writing = pipe
    writer = LineWriter(path_of(writing))
    reading.close()
    with pytest.raises(OutputClosed):
        writer.write("x\n")
    writer.close(failed=True)


def test_check_distinct(tmp_path):
    (tmp_path / "a").write_text("a\n")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(UsageError, match="output"):
        check_distinct(["-", tmp_path / "a"], tmp_path / "link")
    check_distinct([tmp_path / "a", None], tmp_path / "new")
    check_distinct([tmp_path / "missing"], tmp_path / "a")
    check_distinct(["/dev/null"], "/dev/null")
    check_distinct([tmp_path / "a"], None)
    code = "import sys; from cgru_cli.system import lines; lines.check_distinct(sys.argv[1:], None)"
    with open(tmp_path / "a", "ab") as same:
        command = [sys.executable, "-c", code, tmp_path / "a"]
        done = subprocess.run(command, stdout=same, stderr=subprocess.PIPE)
    assert b"is also the output" in done.stderr
    assert (tmp_path / "a").read_text() == "a\n"


FILTER = """
import sys
from cgru_cli.errors import OutputClosed
from cgru_cli.system.line_writer import LineWriter
from cgru_cli.system.lines import LineReader
from cgru_cli.system.windows import windows
from cgru_cli.system.signals import stop_cleanly
assert "numpy" not in sys.modules and "tensorflow" not in sys.modules
try:
    with stop_cleanly(), LineReader(*sys.argv[2:]) as reader, LineWriter(sys.argv[1]) as writer:
        for window in windows(reader, 80, 20):
            writer.write("".join(line + "\\n" for line in window))
except OutputClosed:
    pass
"""
COPY = [sys.executable, "-c", FILTER]


def test_filter_copies_all_bytes():
    data = "".join(f"{i} é\u2028\r\n" for i in range(30_000)).encode()
    done = subprocess.run([*COPY, "-"], input=data, capture_output=True, check=True)
    assert done.stdout == data


def test_filter_with_a_closed_or_nonblocking_stdout(pipe):
    done = subprocess.run(
        ["sh", "-c", f"'{sys.executable}' -c \"$0\" - >&-", FILTER],
        input=b"x\n",
        capture_output=True,
    )
    assert b"CgruError: standard output is closed" in done.stderr

    reading, writing = pipe
    os.set_blocking(writing.fileno(), False)
    data = b"some words\n" * 30_000  # more than a pipe holds
    process = subprocess.Popen([*COPY, "-"], stdin=subprocess.PIPE, stdout=writing)
    writing.close()
    thread = threading.Thread(target=process.communicate, args=(data,))
    thread.start()
    time.sleep(0.2)
    assert reading.readall() == data
    thread.join()
    assert process.returncode == 0


def test_filter_ends_quietly_when_its_reader_is_gone():
    piped = subprocess.PIPE
    with subprocess.Popen([*COPY, "-"], stdin=piped, stdout=piped, stderr=piped) as process:
        process.stdin.write(b"x\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"x\n"
        process.stdout.close()
        process.stdin.write(b"y\n")
        process.stdin.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_filter_with_closed_or_nonblocking_stdin(pipe):
    command = f"'{sys.executable}' -c \"$0\" - <&-"
    done = subprocess.run(["sh", "-c", command, FILTER], capture_output=True)
    assert done.returncode and b"CgruError: standard input is closed; name a file" in done.stderr

    reading, writing = pipe
    os.set_blocking(reading.fileno(), False)
    process = subprocess.Popen([*COPY, "-"], stdin=reading, stdout=subprocess.PIPE)
    time.sleep(0.2)
    writing.write(b"late\n")
    assert process.stdout.readline() == b"late\n"
    writing.close()
    assert process.communicate()[0] == b""
    assert process.returncode == 0


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_stopped_filter_keeps_finished_lines(tmp_path, signum, name):
    path = tmp_path / name
    piped = subprocess.PIPE
    with subprocess.Popen([*COPY, path], stdin=piped, stderr=piped) as process:
        process.stdin.write(b"done\nunfinish")
        process.stdin.flush()
        limit = time.monotonic() + PATIENCE
        while not (path.exists() and path.stat().st_size) and time.monotonic() < limit:
            time.sleep(0.01)
        process.send_signal(signum)
        assert process.wait(PATIENCE) == 128 + signum
        assert process.stderr.read() == b""
    assert read_all(LineReader(path)) == ["done"]


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="terminals of Unix")
@pytest.mark.parametrize("sources", ["", "'-'", "'/dev/null'"])
def test_a_reader_says_that_it_reads_from_the_keyboard(sources):
    keyboard, terminal = os.openpty()
    script = f"from cgru_cli.system.lines import LineReader\nprint(LineReader({sources}).rest())"
    os.write(keyboard, b"a b\nc\n\x04")
    done = subprocess.run(
        [sys.executable, "-c", script],
        stdin=terminal,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    os.close(keyboard), os.close(terminal)
    said = "cgru: reading lines from the keyboard; press Ctrl-D to end\n"
    reads = "null" not in sources
    assert (done.stdout, done.stderr) == (("['a b', 'c']\n", said) if reads else ("[]\n", ""))
    piped = subprocess.run(
        [sys.executable, "-c", script], input="a\n", capture_output=True, text=True
    )
    assert piped.stderr == ""
