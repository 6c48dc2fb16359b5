"""Run `cgru` in a separate process without the seconds for importing TensorFlow.

A server for all tests imports everything and then only forks. A program named `cgru` passes it the
command line, the environment, the folder and the three standard streams, forwards signals, and
exits like the forked process. TensorFlow starts its threads at its first operation, so the server
forks with a single thread. Tests of the start itself (its memory, messages or imports) must use
`python -m cgru_cli`.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHARED = "CGRU_PREPARED"  # the folder of a server started by another process
# For gc.set_threshold: tracing makes many objects, few of which are garbage.
COLLECTED_AT = 20_000, 10, 10
ROOT = Path(__file__).resolve().parents[2]
CLIENT = '''#!{python} -IS
"""Hands a command to the server and ends as it does."""
import json, os, signal, socket, struct, sys

server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
request = {{"arguments": sys.argv[1:], "environment": dict(os.environ), "folder": os.getcwd()}}
data = json.dumps(request).encode()
streams = []
for stream in (0, 1, 2):
    try:
        os.fstat(stream)
        streams.append(stream)
    except OSError:
        pass  # closed, as by `>&-`
socket.send_fds(server, [struct.pack("IB", len(data), sum(1 << s for s in streams))], streams)
server.sendall(data)
(pid,) = struct.unpack("i", server.recv(4, socket.MSG_WAITALL))
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, lambda number, _: os.kill(pid, number))
answer = server.recv(4, socket.MSG_WAITALL)
status = struct.unpack("i", answer)[0] if answer else 256
if status < 0:
    if status != -signal.SIGKILL:
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
sys.exit(status)
'''


def share() -> None:
    """Start the server for the worker processes of pytest -n."""
    os.environ[SHARED] = str(_start())


@functools.cache
def folder() -> Path:
    """A folder with the program `cgru`, to put first in PATH; also starts the server."""
    place = Path(os.environ[SHARED]) if SHARED in os.environ else _start()
    until = time.monotonic() + 300
    while not (place / "server").exists():
        assert time.monotonic() < until, "the prepared server did not start"
        time.sleep(0.02)
    return place


def _start() -> Path:
    place = Path(tempfile.mkdtemp(prefix="cgru-prepared-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    address = str(place / "server")
    program = place / "cgru"
    program.write_text(CLIENT.format(python=sys.executable, address=address))
    program.chmod(0o755)
    quiet = {
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": "1",
        "KERAS_BACKEND": "tensorflow",
        "OPENBLAS_NUM_THREADS": "1",
    }
    environment = os.environ | quiet | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    server = subprocess.Popen(
        [sys.executable, __file__, address],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    atexit.register(server.wait)
    atexit.register(server.stdin.close)  # ends it; run first
    return place


def command(*arguments: object) -> list[str]:
    """The command that replaces `python -m cgru_cli ARGUMENTS`."""
    return [str(folder() / "cgru"), *map(str, arguments)]


def path() -> str:
    """PATH with the prepared `cgru` first."""
    return os.pathsep.join([str(folder()), str(Path(sys.executable).parent), os.environ["PATH"]])


def _serve(address: str) -> dict:
    """Fork for every connection; returns in the forked process, with its request."""
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"{address}.new")
    listening.listen(64)
    os.rename(f"{address}.new", address)  # exists once it listens
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    children: dict[int, socket.socket] = {}
    selector = selectors.DefaultSelector()
    selector.register(0, selectors.EVENT_READ, "parent")
    selector.register(listening, selectors.EVENT_READ, "new")
    selector.register(reading, selectors.EVENT_READ, "ended")
    while True:
        for key, _ in selector.select():
            if key.data == "parent":  # the tests have ended
                for pid in children:
                    os.kill(pid, signal.SIGKILL)
                os._exit(0)
            elif key.data == "ended":
                os.read(reading, 4096)
                _reap(children, selector)
            elif key.data == "new":
                connection, _ = listening.accept()
                request, streams = _received(connection)
                pid = os.fork()
                if pid == 0:
                    signal.set_wakeup_fd(-1)
                    selector.close()
                    for mine in (listening, connection, *children.values()):
                        mine.detach()  # or it would close a reused descriptor when deleted
                    for number in range(3):
                        if number in streams:
                            os.dup2(streams[number], number)
                        else:
                            os.close(number)
                    os.closerange(3, 1024)
                    return request
                for stream in streams.values():
                    os.close(stream)
                children[pid] = connection
                connection.send(pid.to_bytes(4, sys.byteorder, signed=True))
                selector.register(connection, selectors.EVENT_READ, pid)
            elif key.data in children:  # its client was killed
                os.kill(key.data, signal.SIGKILL)
                selector.unregister(key.fileobj)


def _received(connection: socket.socket) -> tuple[dict, dict[int, int]]:
    head, descriptors, _, _ = socket.recv_fds(connection, 5, 3)
    given = [number for number in range(3) if head[4] >> number & 1]
    left, data = int.from_bytes(head[:4], sys.byteorder), b""
    while left:
        part = connection.recv(left)
        data, left = data + part, left - len(part)
    # above the three standard descriptors
    streams = {number: os.dup(stream) for number, stream in zip(given, descriptors, strict=True)}
    for stream in descriptors:
        os.close(stream)
    return json.loads(data), streams


def _reap(children: dict[int, socket.socket], selector: selectors.BaseSelector) -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            connection = children.pop(pid)
            with contextlib.suppress(KeyError):
                selector.unregister(connection)
            code = os.waitstatus_to_exitcode(status)
            with contextlib.suppress(OSError):
                connection.send(code.to_bytes(4, sys.byteorder, signed=True))
            connection.close()


def _imports() -> None:
    """Import everything that a command may need."""
    from cgru_cli.system.tensorflow_start import quick_import

    with quick_import():
        import tensorflow  # noqa: F401
    for module in sorted((ROOT / "cgru_cli").rglob("*.py")):
        if module.stem != "__main__":
            name = ".".join(module.relative_to(ROOT).with_suffix("").parts)
            importlib.import_module(name.removesuffix(".__init__"))
    for name in ("h5py", "sacrebleu.metrics", "sacremoses", "sentencepiece", "subword_nmt"):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED_AT)


_SERVERS: list[object] = []  # its own streams, which would close the descriptors when deleted


def _become(request: dict) -> None:
    """Turn into the requested process."""
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["cgru", *request["arguments"]]
    sys.path[:] = [entry for entry in sys.path if entry != str(Path(__file__).parent)]
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
            errors = "backslashreplace" if number == 2 else "strict"
            stream = open(number, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
        except OSError:
            stream = None
        _SERVERS.append(getattr(sys, name))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    import faults  # here, because child processes read this file without tests/support

    _imports()
    _become(_serve(sys.argv[1]))
    from cgru_cli.__main__ import main

    report = faults.asked_for()
    try:
        main()
    finally:
        report()
