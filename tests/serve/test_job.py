"""The command: its requirements, and a server as a separate process."""

import contextlib
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest
from click.testing import CliRunner
from patience import PATIENCE
from prepared import command
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect

from cgru_cli.cli import main
from cgru_cli.errors import CgruError
from cgru_cli.serve.job import _passwords


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "uvicorn", None)
    ended = CliRunner().invoke(main, ["serve", "-m", "model.npz"])
    assert ended.exit_code == 1
    assert ended.stderr == "cgru: uvicorn is not installed: pip install 'cgru[serve]'\n"


def last_words(*arguments):
    """The last line on standard error of a server that cannot start."""
    ended = subprocess.run(command("serve", *arguments), capture_output=True, text=True)
    assert ended.returncode == 1
    return ended.stderr.splitlines()[-1]


def test_passwords_have_eight_ascii_characters(tmp_path):
    path = tmp_path / "passwords"
    path.write_text("correct horse\n\n battery staple \n")
    assert _passwords(str(path)) == ["correct horse", "battery staple"]
    for bad, number in (("", 1), ("short\n", 1), ("correct horse\npässword\n", 2)):
        path.write_text(bad, "utf-8")
        with pytest.raises(CgruError, match=f"password {number} must .* 8 printable ASCII"):
            _passwords(str(path))


class Process:
    """`cgru serve` as a process, and requests to it."""

    def __init__(self, *arguments, scheme="http"):
        self.process = subprocess.Popen(
            command("serve", *arguments, "--port", "0", "--cpu-threads", "1"),
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        for line in self.process.stderr:
            if found := re.search(rf"listening at {scheme}://127.0.0.1:(\d+)/", line):
                break
        else:
            raise AssertionError("it does not listen")
        self.port, self.scheme, self.started = int(found[1]), scheme, line
        self.messages = []
        threading.Thread(
            target=lambda: self.messages.extend(self.process.stderr), daemon=True
        ).start()

    def ask(self, path, data=None, context=None):
        body = None if data is None else json.dumps(data).encode()
        address = f"{self.scheme}://127.0.0.1:{self.port}{path}"
        try:
            with urllib.request.urlopen(address, body, timeout=PATIENCE, context=context) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def send(self, content, wait=True):
        """Send bytes on a new connection; wait: return the answer when the server closes it."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall(content)
            answer = b""
            while wait and (part := connection.recv(65536)):
                answer += part
            return answer

    def ready(self):
        while self.ask("/health/ready")[0] != 200:
            time.sleep(0.05)
        return self


@contextlib.contextmanager
def serving(model_path):
    short = ("-m", model_path, "-k", "3", "--translation-maxlen", "8")
    server = Process(*short, "--max-body", "64", "--timeout", "5").ready()
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
        server.process.wait()


@pytest.fixture(scope="module")
def running(model_path):
    with serving(model_path) as server:
        yield server


def test_a_request_without_a_known_host_is_refused(running):
    for host, status in (("", 400), ("Host: evil.com\r\n", 421), ("Host: [::1]:80\r\n", 200)):
        request = f"GET /v1/models HTTP/1.1\r\n{host}Connection: close\r\n\r\n"
        assert running.send(request.encode()).startswith(f"HTTP/1.1 {status} ".encode())
    handshake = b"GET /translate HTTP/1.1\r\nHost: evil.com\r\nUpgrade: websocket\r\n"
    handshake += b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    handshake += b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    assert running.send(handshake).startswith(b"HTTP/1.1 421 ")
    assert "localhost, 127.0.0.1, [::1] (--host-name)" in running.started


@pytest.mark.long
def test_invalid_requests_do_no_harm(running):
    for garbage in (b"\x00\xff\x16\x03\x01garbage\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"\r\n" * 9):
        answer = running.send(garbage + b"\r\n\r\n")
        assert b" 500 " not in answer and b"Traceback" not in answer
    head = (
        b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: "
    )
    assert running.send(head + b"10000000\r\n\r\n").startswith(b"HTTP/1.1 413")
    chunked = head.replace(b"Content-Length: ", b"Transfer-Encoding: chunked\r\n\r\n")
    chunk = b"8000\r\n" + b"a" * 0x8000 + b"\r\n"
    assert running.send(chunked + 3 * chunk).startswith(b"HTTP/1.1 413")
    running.send(head + b"99\r\n\r\n{", wait=False)  # an incomplete body
    running.send(b"GE", wait=False)
    body = json.dumps({"texts": ["a b c"] * 200}).encode()
    running.send(head + str(len(body)).encode() + b"\r\n\r\n" + body, wait=False)
    assert running.send(head + b"99\r\n\r\n{").startswith(b"HTTP/1.1 408")  # too slow
    with connect(f"ws://127.0.0.1:{running.port}/translate") as marian:
        marian.send("a b")
        assert marian.recv().endswith("\n")
        marian.send("a" * 70_000)
        with pytest.raises(ConnectionClosedError) as closed:
            marian.recv()
        assert closed.value.rcvd.code == 1009
    status, answer = running.ask("/v1/translate", {"texts": ["a b"]})
    assert status == 200 and json.loads(answer)["translations"][0]["text"]
    assert not any("internal error" in line or "Traceback" in line for line in running.messages)
    queue = running.ask("/metrics")[1].decode()
    assert "cgru_queue_lines 0.0" in queue and "cgru_requests_in_progress 1.0" in queue


def test_a_port_in_use_is_an_error(running, model_path):
    last = last_words("-m", model_path, "--port", str(running.port))
    assert f"cannot listen at 127.0.0.1, port {running.port}" in last


def test_open_requests_are_answered_before_the_server_stops(model_path):
    answers = []
    with serving(model_path) as server:

        def ask(number):
            answers.append(server.ask("/v1/translate", {"texts": ["a b c d", "f f"] * 10}))

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        while "cgru_requests_in_progress 9.0" not in server.ask("/metrics")[1].decode():
            if len(answers) == 8:
                break
        server.process.send_signal(signal.SIGTERM)
        for thread in threads:
            thread.join()
        assert server.process.wait(PATIENCE) == 0
    assert len(answers) == 8
    for status, answer in answers:
        if status == 200:
            assert len(json.loads(answer)["translations"]) == 20
        else:
            assert status == 503
    assert any(status == 200 for status, _ in answers)


@pytest.mark.long
def test_over_tls(model_path, tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    openssl = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost".split()
    openssl += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
    made = subprocess.run(openssl, capture_output=True)
    assert made.returncode == 0, made.stderr
    trusted = ssl.create_default_context(cafile=str(certificate))
    server = Process(
        *["-m", model_path, "--tls-key", key, "--tls-certificate", certificate], scheme="https"
    )
    try:
        assert server.ask("/health/live", context=trusted)[0] == 200
    finally:
        server.process.kill()
        server.process.wait()
    wrong = ["-m", model_path, "--tls-key", str(key), "--tls-certificate", str(key)]
    problem = "not a certificate and its private key without a password, as .pem files"
    assert last_words(*wrong) == f"cgru: {key}, {key}: {problem}"
    wrong[-1] = str(tmp_path / "missing.pem")
    assert "missing.pem" in (said := last_words(*wrong)) and "No such file" in said


def test_sites_of_cors_are_checked():
    for site in ("foo", "example.org", "https://example.org/", "ftp://example.org", "null"):
        ended = CliRunner().invoke(main, ["serve", "-m", "model.npz", "--cors", site])
        assert ended.exit_code == 2
        assert f"{site}: a site such as https://example.org, or * is expected" in ended.stderr
