"""Accounts, passwords, and the rate limit."""

import pytest
from serving import client, serving
from starlette.requests import HTTPConnection

from cgru_cli.serve.clients import RateLimit, client_of
from cgru_cli.serve.problems import Refusal


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
    ],
)
def test_turns_and_limits_count_the_network_that_one_client_has(address, network):
    scope = {"type": "http", "client": (address, 1)}
    assert client_of(HTTPConnection(scope)) == (address, network, network)
    known = client_of(HTTPConnection(scope | {"account": "password 0"}))
    assert known == (address, network, "password 0")


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def test_lines_within_a_minute_and_spread():
    clock = Clock()
    limit = RateLimit(60, clock)
    for _ in range(60):
        limit.check("a")
        limit.count("a", 1)
    for wait in ("1", "1"):
        with pytest.raises(Refusal, match="more than 60 lines a minute; wait 1 s") as refusal:
            limit.check("a")
        assert refusal.value.status == 429 and refusal.value.headers == {"Retry-After": wait}
    limit.check("b")
    clock.now += 1
    limit.check("a")
    limit.count("a", 30)
    with pytest.raises(Refusal, match="wait 30 s"):
        limit.check("a")
    clock.now += 29
    with pytest.raises(Refusal, match="wait 1 s"):
        limit.check("a")
    clock.now += 1
    limit.check("a")
    clock.now += 1000
    limit.count("a", 59)  # unused minutes are not saved
    limit.check("a")
    limit.count("a", 1)
    with pytest.raises(Refusal):
        limit.check("a")
    RateLimit(None).count("a", 10**9)
    RateLimit(None).check("a")


def test_accounts_that_may_send_are_forgotten():
    clock = Clock()
    limit = RateLimit(60, clock)
    limit.count("busy", 1000)
    for number in range(10_000):
        limit.count(f"{number}", 1)
    clock.now += 2
    limit.count("last", 1)
    assert set(limit._until) == {"busy", "last"}


def test_every_protocol_counts_and_connections_do_not_matter(models, monkeypatch):
    for model in models.values():
        monkeypatch.setattr(model, "languages", ("en", "de"))
    with serving(models, rate_limit=6) as app:
        requests = [
            ("/v1/translate", {"texts": ["a", "b"]}),
            ("/v1/score", {"pairs": [{"source": "a", "target": "A"}]}),
            ("/translate", {"segments": [["a"]]}),
            ("/translate", {"q": "a", "source": "en", "target": "de"}),
        ]
        for path, asked in requests:  # each by a connection of its own
            assert client(app).post(path, json=asked).status_code == 200
        with client(app).websocket_connect("/translate") as socket:
            socket.send_text("a")
            assert socket.receive_text()
        requests.append(("/v1/translate", {"texts": ["a"], "stream": True}))
        for path, asked in requests:
            answer = client(app).post(path, json=asked)
            assert answer.status_code == 429 and 1 <= int(answer.headers["retry-after"]) <= 10
        assert answer.json()["code"] == "rate_limited"
        document = client(app).post("/v1/documents?name=a.txt", content=b"a")
        assert document.status_code == 429
        with client(app).websocket_connect("/translate") as socket:
            socket.send_text("a")
            assert socket.receive()["code"] == 1013
        other = client(app, client=("192.0.2.7", 1))
        assert other.post(*requests[0][:1], json=requests[0][1]).status_code == 200
        assert client(app).get("/v1/models").json()["limits"]["lines_per_minute"] == 6


def test_each_password_has_a_rate_of_its_own(models):
    with serving(models, ["battery staple", "correct horse"], rate_limit=1) as app:
        for password, status in (
            ("battery staple", 200),
            ("battery staple", 429),
            ("correct horse", 200),
        ):
            headers = {"Authorization": f"Bearer {password}"}
            answer = client(app, client=(password[:3], 1)).post(
                "/v1/translate", json={"texts": ["a"]}, headers=headers
            )
            assert answer.status_code == status


def test_a_request_is_admitted_once(models):
    with serving(models, rate_limit=1) as app:
        asked = {"text": "a b", "prefix": []}  # suggests words, then translates with each
        for status in (200, 429):
            assert client(app).post("/v1/alternatives", json=asked).status_code == status
