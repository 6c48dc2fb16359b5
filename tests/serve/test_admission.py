"""Which requests are admitted, and the headers of all answers."""

import pytest
from serving import client, loaded, serving
from starlette.testclient import WebSocketDenialResponse
from starlette.websockets import WebSocketDisconnect

from cgru_cli import Translator, __version__

BODY = {"texts": ["a"]}


def test_every_answer_has_the_security_headers(web):
    for path in ("/health/live", "/v1/models", "/nope"):
        headers = web.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_requests_from_pages_of_other_sites_are_refused(web):
    other = {"Origin": "https://evil.example"}
    assert web.post("/v1/translate", json=BODY, headers=other).status_code == 403
    assert web.options("/v1/translate", headers=other).status_code == 403
    preflight = web.options(
        "/v1/translate", headers=other | {"Access-Control-Request-Method": "POST"}
    )
    assert preflight.status_code == 400
    assert "access-control-allow-origin" not in preflight.headers
    own = {"Origin": "http://testserver"}
    assert web.post("/v1/translate", json=BODY, headers=own).status_code == 200
    with (
        pytest.raises(WebSocketDenialResponse) as denied,
        web.websocket_connect("/translate", headers=other),
    ):
        pass
    assert denied.value.status_code == 403


def test_requests_from_a_named_site_are_answered(models):
    with serving(models, cors=("https://good.example",)) as app:
        web = client(app)
        good = {"Origin": "https://good.example"}
        answer = web.post("/v1/translate", json=BODY, headers=good)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "https://good.example"
        assert answer.headers["access-control-expose-headers"] == "Retry-After"
        asked = {
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization, content-type",
        }
        preflight = web.options("/v1/translate", headers=good | asked)
        assert preflight.status_code == 200
        assert "Authorization" in preflight.headers["access-control-allow-headers"]
        assert preflight.headers["access-control-allow-origin"] == "https://good.example"
        assert web.options("/v1/translate", headers=good).status_code == 405
        other = {"Origin": "https://good.example.evil"}
        assert web.post("/v1/translate", json=BODY, headers=other).status_code == 403


def test_a_password_is_required_if_one_is_set(models):
    good = "https://good.example"
    with serving(models, password=["battery staple", "correct horse"], cors=(good,)) as app:
        web = client(app)
        asked = {"Origin": good, "Access-Control-Request-Method": "POST"}
        assert web.options("/v1/translate", headers=asked).status_code == 200
        refused = web.post("/v1/translate", json=BODY, headers={"Origin": good})
        assert refused.status_code == 401  # readable for the page:
        assert refused.headers["access-control-allow-origin"] == good
        assert web.get("/health/live").status_code == 200
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic x"}):
            answer = web.post("/v1/translate", json=BODY, headers=headers)
            assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
            assert ("wrong" if headers else "needed") in answer.json()["detail"]
            assert web.get("/metrics", headers=headers).status_code == 401
        for one in ("battery staple", "correct horse"):
            right = {"Authorization": f"Bearer {one}"}
            assert web.get("/metrics", headers=right).status_code == 200
        assert web.post("/v1/translate", json=BODY, headers=right).status_code == 200
        with web.websocket_connect("/translate", headers=right) as socket:
            socket.send_text("a")
            assert socket.receive_text().endswith("\n")
        with pytest.raises(WebSocketDenialResponse) as denied, web.websocket_connect("/translate"):
            pass
        assert denied.value.status_code == 401


def test_a_stopping_server_refuses_new_requests(models):
    with serving(models) as app:
        web = client(app)
        with web.websocket_connect("/translate") as socket:
            socket.send_text("a")
            assert socket.receive_text()
            app.service.draining = True
            answer = web.post("/v1/translate", json=BODY)
            assert answer.status_code == 503 and "retry-after" in answer.headers
            socket.send_text("a")
            with pytest.raises(WebSocketDisconnect) as closed:
                socket.receive_text()
            assert closed.value.code == 1013
        assert web.get("/health/ready").status_code == 503
        assert web.get("/health/live").status_code == 200
        assert app.service.active == 0


def test_requests_are_counted_and_logged_without_their_texts(models, capsys):
    with serving(models) as app:
        object.__setattr__(app.service.options, "quiet", False)
        web = client(app)
        web.post("/v1/translate", json={"texts": ["a b f"]})
        web.get("/secret/path")
        log = capsys.readouterr().err
        assert "POST /v1/translate 200" in log and "a b f" not in log
        assert "404" in log and "secret" not in log
        object.__setattr__(app.service.options, "log_texts", True)
        web.post("/v1/translate", json={"texts": ["a b f"]})
        assert "a b f" in capsys.readouterr().err
        numbers = web.get("/metrics").text
    assert 'cgru_requests_total{method="POST",path="/v1/translate",status="200"} 2.0' in numbers
    assert 'path="other"' in numbers and "secret" not in numbers
    assert (
        'cgru_words_total{model="model",side="source",task="translate"} 7.0' in numbers
    )  # the warm-up line included
    assert 'cgru_batch_lines_count{model="model"} ' in numbers
    assert f'cgru_build_info{{version="{__version__}"}} 1.0' in numbers
    assert "process_cpu_seconds_total" in numbers and "python_info" in numbers
    assert "cgru_queue_lines 0.0" in numbers


def test_warnings_never_quote_texts(models, model_path, capsys):
    lines = ["a b.", "c d.", "d f."] * 3
    with serving(loaded(model_path, copy=["number"])) as app:
        client(app).post("/v1/translate", json={"texts": ["a 12 b", *lines]})
        assert capsys.readouterr().err == ""
    Translator(model_path, translation_maxlen=4, copy=["number"]).translate("a 12 b")
    assert "lacks a part of '12'" in capsys.readouterr().err


def test_an_internal_error_is_one_line(models, monkeypatch, capsys):
    with serving(models) as app:
        monkeypatch.setattr(app.service, "searching", lambda *_, **__: 1 / 0)
        answer = client(app).post("/v1/translate", json=BODY)
        assert answer.status_code == 500
        assert "content-security-policy" in answer.headers
        assert answer.json() == {
            "title": "Internal Server Error",
            "status": 500,
            "code": "internal_error",
            "detail": "internal error",
        }
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_request_has_one_host(web):
    hosts = [("Host", "testserver")]
    for given, status in ((hosts, 200), (hosts * 2, 400), ([("Host", "a"), ("Host", "b")], 400)):
        assert web.get("/v1/models", headers=given).status_code == status
        assert web.get("/health/live", headers=given).status_code == 200


@pytest.mark.parametrize(
    ("host", "names", "addressed", "others"),
    [
        ("127.0.0.1", (), "LOCALHOST:80 localhost. 127.0.0.1:8080 [::1]:80", "evil.com a"),
        ("::1", (), "localhost [::1] [::1]:80", "evil.com [::2] ::1 [::1"),
        ("0.0.0.0", (), "localhost evil.com 10.0.0.1:80", ""),
        ("192.0.2.7", ("a.org", "[::2]"), "a.org A.org:80 [::2]:80", "b.org x.a.org 192.0.2.7"),
        ("127.0.0.1", ("*",), "evil.com", ""),
    ],
)
def test_only_hosts_that_the_server_has_are_addressed(models, host, names, addressed, others):
    """A site whose name leads to this machine (DNS rebinding) has the right origin."""
    with serving(models, host=host, host_name=names) as app:
        web = client(app)
        for name in addressed.split():
            for path in ("/v1/models", "/", "/health/live"):
                assert web.get(path, headers={"Host": name}).status_code == 200, name
            with web.websocket_connect("/translate", headers={"Host": name}) as socket:
                socket.send_text("a b")
                assert socket.receive_text()
        for name in others.split():
            headers = {"Host": name, "Origin": f"http://{name}"}
            answer = web.get("/v1/models", headers=headers)
            assert answer.status_code == 421 and "--host-name" in answer.json()["detail"], name
            assert web.get("/", headers=headers).status_code == 421
            assert web.get("/health/ready", headers=headers).status_code == 200
            with (
                pytest.raises(WebSocketDenialResponse) as refused,
                web.websocket_connect("/translate", headers=headers),
            ):
                pass
            assert refused.value.status_code == 421  # instead of the handshake


def test_an_encoded_body_is_refused(web):
    for encoding, status in (("identity", 200), ("gzip", 415), ("br, gzip", 415)):
        headers = {"Content-Encoding": encoding}
        answer = web.post("/v1/translate", json=BODY, headers=headers)
        assert answer.status_code == status
        assert status == 200 or "Content-Encoding" in answer.json()["detail"]


def test_large_answers_are_compressed_for_clients_that_ask_for_it(web):
    for _ in range(2):  # an answer that is sent again is whole again
        plain = web.get("/page.js", headers={"Accept-Encoding": "identity"})
        short = web.get("/page.js", headers={"Accept-Encoding": "gzip"})
        assert "content-encoding" not in plain.headers and plain.text == short.text
        assert short.headers["content-encoding"] == "gzip"
        assert int(short.headers["content-length"]) < len(plain.content) / 2
    question = {"texts": ["a b c d e f " * 4] * 3, "alignment": True, "word_scores": True}
    headers = {"Accept-Encoding": "gzip"}
    answer = web.post("/v1/translate", json=question, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) < len(answer.content) / 2
    assert "content-encoding" not in web.get("/health/live", headers=headers).headers
    stream = web.post("/v1/translate", json=question | {"stream": True}, headers=headers)
    assert "content-encoding" not in stream.headers
    described = [web.get("/openapi.json", headers=headers).json() for _ in range(2)]
    assert described[0] == described[1]
