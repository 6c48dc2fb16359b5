"""Messages of all kinds to each protocol: never an internal error, never a traceback."""

import json

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.websockets import WebSocketDisconnect

from cgru_cli.serve import messages
from cgru_cli.serve.problems import CODES

pytestmark = pytest.mark.long


REST = {
    "/v1/translate": messages.TranslateRequest,
    "/v1/alternatives": messages.AlternativesRequest,
    "/v1/score": messages.ScoreRequest,
}
NEMATUS = {"/translate": messages.NematusRequest}
TEXT = st.text(max_size=8) | st.text("abc \t\r\n|", max_size=70)
SCALARS = st.none() | st.booleans() | st.integers(-3, 30) | st.floats() | TEXT
PAIRS = st.fixed_dictionaries({"source": TEXT, "target": TEXT})
VALUES = st.recursive(
    SCALARS | PAIRS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
LISTS = st.lists(TEXT, max_size=4) | st.lists(st.lists(TEXT, max_size=3), max_size=3)
LIKELY = VALUES | LISTS | st.lists(PAIRS, max_size=3)


@st.composite
def requests(draw, paths):
    path = draw(st.sampled_from(sorted(paths)))
    fields = msgspec.structs.fields(paths[path])
    likely = st.dictionaries(st.sampled_from(sorted(field.name for field in fields)), LIKELY)
    data = draw(likely | VALUES)
    if isinstance(data, dict) and draw(st.booleans()):
        for field in fields:
            if field.required:
                fitting = {"text": TEXT, "pairs": st.lists(PAIRS, max_size=3)}
                data[field.name] = draw(fitting.get(field.name, LISTS))
    body = json.dumps(data).encode()
    if draw(st.integers(0, 4)) == 0:
        place = draw(st.integers(0, len(body)))
        body = body[:place] + draw(st.binary(max_size=4)) + body[place + draw(st.integers(0, 3)) :]
    return path, draw(st.just(body) | st.binary(max_size=60) if not data else st.just(body))


def check_http(web, path, body):
    answer = web.post(path, content=body)
    assert answer.status_code in (200, 400, 404, 413, 422), (answer.status_code, answer.text)
    assert "Traceback" not in answer.text
    if answer.status_code != 200:
        assert not any(name in answer.text for name in ("src.json", "trg.json", ".npz"))
        error = answer.json()
        assert error["status"] == "error" if path == "/translate" else error["code"] in CODES


def check_websocket(web, message):
    with web.websocket_connect("/translate") as socket:
        if isinstance(message, bytes):
            socket.send_bytes(message)
        else:
            socket.send_text(message)
        try:
            assert "Traceback" not in socket.receive_text()
        except WebSocketDisconnect as closed:
            assert closed.code in (1007, 1008, 1009), closed
            assert "Traceback" not in (closed.reason or "")


FEW = settings(max_examples=60, suppress_health_check=list(HealthCheck))
MANY = settings(suppress_health_check=list(HealthCheck))
MESSAGES = TEXT | st.text(max_size=200) | st.binary(max_size=40)


@given(requests(REST | NEMATUS))
@FEW
def test_requests(web, asked):
    check_http(web, *asked)


@given(MESSAGES)
@FEW
def test_messages(web, message):
    check_websocket(web, message)


@pytest.mark.exhaustive
@pytest.mark.parametrize("paths", [REST, NEMATUS], ids=["rest", "nematus"])
@given(data=st.data())
@settings(MANY, max_examples=10_000)
def test_very_many_requests(web, paths, data):
    check_http(web, *data.draw(requests(paths)))


@pytest.mark.exhaustive
@given(MESSAGES)
@settings(MANY, max_examples=10_000)
def test_very_many_messages(web, message):
    check_websocket(web, message)
