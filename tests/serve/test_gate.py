"""Who is let in, and what every answer's headers say."""

import pytest
from serving import client, serving
from starlette.websockets import WebSocketDisconnect

BODY = {"texts": ["a"]}


def test_every_answer_has_the_headers_that_keep_others_out(web):
    for path in ("/health/live", "/v1/models", "/nope"):
        headers = web.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_pages_of_other_sites_may_send_nothing(web):
    other = {"Origin": "https://evil.example"}
    assert web.post("/v1/translate", json=BODY, headers=other).status_code == 403
    assert web.options("/v1/translate", headers=other).status_code == 403
    own = {"Origin": "http://testserver"}
    assert web.post("/v1/translate", json=BODY, headers=own).status_code == 200
    with pytest.raises(Exception) as error, web.websocket_connect("/translate", headers=other):
        pass
    assert isinstance(error.value, WebSocketDisconnect) or error.value.status_code == 403


def test_a_site_that_is_named_may(models):
    with serving(models, cors=("https://good.example",)) as gate:
        web = client(gate)
        good = {"Origin": "https://good.example"}
        answer = web.post("/v1/translate", json=BODY, headers=good)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "https://good.example"
        asked = web.options("/v1/translate", headers=good)
        assert asked.status_code == 204
        assert "Authorization" in asked.headers["access-control-allow-headers"]
        other = {"Origin": "https://good.example.evil"}
        assert web.post("/v1/translate", json=BODY, headers=other).status_code == 403


def test_a_password_is_needed_where_there_is_one(models):
    with serving(models, password="correct horse") as gate:
        web = client(gate)
        assert web.get("/health/live").status_code == 200
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic x"}):
            answer = web.post("/v1/translate", json=BODY, headers=headers)
            assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
            assert web.get("/metrics", headers=headers).status_code == 401
        right = {"Authorization": "Bearer correct horse"}
        assert web.post("/v1/translate", json=BODY, headers=right).status_code == 200
        with web.websocket_connect("/translate", headers=right) as socket:
            socket.send_text("a")
            assert socket.receive_text().endswith("\n")
        with pytest.raises(Exception), web.websocket_connect("/translate"):  # noqa: B017
            pass


def test_while_it_stops_new_requests_are_sent_elsewhere(models):
    with serving(models) as gate:
        web = client(gate)
        with web.websocket_connect("/translate") as socket:
            socket.send_text("a")
            assert socket.receive_text()
            gate.draining = True
            answer = web.post("/v1/translate", json=BODY)
            assert answer.status_code == 503 and "retry-after" in answer.headers
            socket.send_text("a")
            with pytest.raises(WebSocketDisconnect) as closed:
                socket.receive_text()
            assert closed.value.code == 1013
        assert web.get("/health/ready").status_code == 503
        assert web.get("/health/live").status_code == 200
        assert gate.active == 0


def test_requests_are_counted_and_logged_without_their_texts(models, capsys):
    with serving(models) as gate:
        object.__setattr__(gate.service.options, "quiet", False)
        web = client(gate)
        web.post("/v1/translate", json={"texts": ["a b f"]})
        web.get("/secret/path")
        told = capsys.readouterr().err
        assert "POST /v1/translate 200" in told and "a b f" not in told
        assert "404" in told and "secret" not in told
        object.__setattr__(gate.service.options, "log_texts", True)
        web.post("/v1/translate", json={"texts": ["a b f"]})
        assert "a b f" in capsys.readouterr().err
        numbers = web.get("/metrics").text
    assert 'cgru_requests_total{method="POST",path="/v1/translate",status="200"} 2.0' in numbers
    assert 'path="other"' in numbers and "secret" not in numbers
    assert 'cgru_words_total{side="source",task="translate"} 7.0' in numbers  # and the first line's
    assert "cgru_queue_lines 0.0" in numbers


def test_a_mistake_is_a_line_and_no_traceback(models, monkeypatch, capsys):
    with serving(models) as gate:
        monkeypatch.setattr(gate.service, "searching", lambda *_, **__: 1 / 0)
        answer = client(gate).post("/v1/translate", json=BODY)
        assert answer.status_code == 500
        assert answer.json() == {"status": "error", "error": "internal error"}
    assert "ZeroDivisionError" in capsys.readouterr().err
