"""Identify clients by address and password."""

import hmac
from collections.abc import Sequence
from typing import NamedTuple

from starlette.requests import HTTPConnection
from starlette.types import Scope


class Client(NamedTuple):
    """The sender of a request; addresses take turns in the queue.

    account: its password, or else its address.
    """

    address: str = ""
    account: str = ""


def client_of(connection: HTTPConnection) -> Client:
    """The client of a request or WebSocket."""
    address = connection.client.host if connection.client else ""
    return Client(address, connection.scope.get("account") or address)


def admit(scope: Scope, password: str, passwords: Sequence[bytes]) -> bool:
    """Whether a password is one of the server's; if so, the scope gets the account."""
    # against timing attacks: compare_digest takes constant time, and runs for all passwords
    right = [hmac.compare_digest(password.encode(), one) for one in passwords]
    if any(right):
        scope["account"] = f"password {right.index(True)}"
    return any(right)
