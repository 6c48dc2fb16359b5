"""Clients of Marian's server get the answers that they expect."""

import asyncio

import pytest
from commands import in_process
from patience import PATIENCE
from serving import client, listening, loaded, serving
from starlette.websockets import WebSocketDisconnect
from websockets.sync.client import connect

from cgru_cli.serve.server import Server, serve
from cgru_cli.serve.service import Service

TEXT = "a b c\n\nf f a d\nb unseen\n"


def exchanged(web, *messages, path="/translate"):
    """Exchange messages like Marian's scripts/server/client_example.py."""
    answers = []
    with web.websocket_connect(path) as socket:
        for message in messages:
            socket.send_text(message)
            answers.append(socket.receive_text())
    return answers


def closed(web, message):
    with web.websocket_connect("/translate") as socket:
        if isinstance(message, bytes):
            socket.send_bytes(message)
        else:
            socket.send_text(message)
        with pytest.raises(WebSocketDisconnect) as error:
            socket.receive_text()
    return error.value.code, error.value.reason


def test_an_answer_is_the_output_of_the_command(web, model_path, tmp_path):
    settings = ["-m", model_path, "-k", 3, "--translation-maxlen", 8]
    code, printed, _ = in_process("translate", tmp_path)(*settings, text=TEXT)
    assert code == 0
    whole, without_end, again = exchanged(web, TEXT, TEXT[:-1], TEXT)
    assert whole == without_end == again == printed
    assert exchanged(web, "a b c", path="/translate/") == [printed.split("\n")[0] + "\n"]
    assert exchanged(web, "", "\n") == ["\n", "\n"]


def test_lists_and_alignments_are_those_of_the_command(model_path, tmp_path):
    more = ["--n-best", "--n-best-size", 2, "--alignment", "--word-scores"]
    settings = ["-m", model_path, "-k", 3, "--translation-maxlen", 8, *more]
    code, printed, _ = in_process("translate", tmp_path)(*settings, text=TEXT)
    assert code == 0
    asked = {"beam_size": 3, "n_best": True, "n_best_size": 2, "alignment": "hard"}
    asked["word_scores"] = True
    with serving(loaded(model_path, **asked), **asked) as app:
        (answer,) = exchanged(client(app), TEXT)
    assert answer == printed and printed.count("|||") > 8


def test_an_invalid_message_closes_the_connection(web):
    assert closed(web, b"\xff\xfe") == (1007, "the message is not UTF-8")
    code, why = closed(web, "a\n" * 21)
    assert code == 1009 and "21 lines" in why
    assert closed(web, "a" * 61)[0] == 1009
    assert closed(web, "a\n" * 2100)[0] == 1009
    assert exchanged(web, "a")  # the server is still running


def test_a_client_that_is_gone_ends_its_computation(models, monkeypatch):
    statuses = []
    monkeypatch.setattr(Service, "all", lambda *_: asyncio.sleep(600))
    monkeypatch.setattr(Service, "log", lambda *given: statuses.append(given[4]))
    with (
        serving(models, timeout=PATIENCE) as app,
        client(app).websocket_connect("/translate") as socket,
    ):
        socket.send_text("a")
    assert statuses == [499]


def test_messages_may_be_sent_ahead(models, monkeypatch):
    async def slow(*_):
        await asyncio.sleep(0.5)
        return []

    configs = []
    monkeypatch.setattr(Service, "all", slow)
    monkeypatch.setattr(Server, "run", lambda self, sockets: configs.append(self.config))
    with serving(models, port=0) as app:
        serve(app, app.service)
        pings = {"ws_ping_interval": 0.1, "ws_ping_timeout": configs[0].ws_ping_timeout and 0.2}
        with (
            listening(app, ws="websockets-sansio", **pings) as url,
            connect(url.replace("http", "ws") + "translate") as socket,
        ):
            for _ in range(4):
                socket.send("a")
            assert [socket.recv() for _ in range(4)] == ["\n"] * 4


def test_n_best_lists_are_those_of_marian(legacy):
    expected = legacy.read("marian-nematus/nbest.k5.norm1.txt").splitlines()
    (answer,) = exchanged(legacy.web, legacy.read("src.txt"))
    for mine, of_marian in zip(answer.splitlines(), expected, strict=True):
        *texts, total = mine.split(" ||| ")
        *of_marian, its_total = of_marian.split(" ||| ")
        assert texts[:2] == of_marian[:2]
        assert float(total) == pytest.approx(float(its_total), abs=2e-4)
