"""The client of a request: its address, and its account."""

from starlette.requests import HTTPConnection

from cgru_cli.serve.clients import client_of


def test_an_account_is_a_password_or_an_address():
    scope = {"type": "http", "client": ("192.0.2.7", 1)}
    assert client_of(HTTPConnection(scope)) == ("192.0.2.7", "192.0.2.7")
    known = client_of(HTTPConnection(scope | {"account": "password 0"}))
    assert known == ("192.0.2.7", "password 0")
