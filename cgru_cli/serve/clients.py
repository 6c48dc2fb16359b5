"""Identify clients by address and password, and limit their lines per minute."""

import hmac
import ipaddress
import math
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from starlette.requests import HTTPConnection
from starlette.types import Scope

from .problems import Refusal

BURST = 60  # seconds' worth of lines that may be sent at once
_MANY = 10_000  # number of accounts above which accounts without a backlog are dropped


class Client(NamedTuple):
    """The sender of a request, known by its address.

    network: the addresses that one client has; networks take turns in the queue.
    account: its password, or else its network; `--rate-limit` holds for each.
    """

    address: str = ""
    network: str = ""
    account: str = ""


def client_of(connection: HTTPConnection) -> Client:
    """The client of a request or WebSocket."""
    address = connection.client.host if connection.client else ""
    network = _network(address)
    return Client(address, network, connection.scope.get("account") or network)


def _network(address: str) -> str:
    """An IPv4 address, or the first half of an IPv6 address, which a client controls as a whole."""
    try:
        known = ipaddress.IPv6Address(address)
    except ValueError:
        return address
    return str(known.ipv4_mapped or ipaddress.IPv6Network((int(known), 64), strict=False))


def admit(scope: Scope, password: str, passwords: Sequence[bytes]) -> bool:
    """Whether a password is one of the server's; if so, the scope gets the account."""
    # against timing attacks: compare_digest takes constant time, and runs for all passwords
    right = [hmac.compare_digest(password.encode(), one) for one in passwords]
    if any(right):
        scope["account"] = f"password {right.index(True)}"
    return any(right)


class RateLimit:
    """Allows `limit` lines per minute and account, all at once or not; None: no limit.

    A request passes if its first line is within the limit. After a request with many lines, the
    account therefore has to wait longer.
    """

    def __init__(self, limit: int | None, now: Callable[[], float] = time.monotonic):
        self._seconds, self._now = 60 / limit if limit else 0.0, now  # seconds per line
        self._until: dict[str, float] = {}  # time from which the lines so far are within the limit

    def check(self, account: str) -> None:
        """Raise Refusal if an account has to wait."""
        now = self._now()
        wait = max(0.0, self._until.get(account, now) - now) + self._seconds - BURST
        if self._seconds and wait > 0.001:
            seconds = math.ceil(wait)
            message = f"more than {round(60 / self._seconds)} lines a minute; wait {seconds} s"
            raise Refusal("rate_limited", message, {"Retry-After": str(seconds)})

    def count(self, account: str, lines: int) -> None:
        """Count the lines of a request."""
        if not self._seconds:
            return
        now = self._now()
        if len(self._until) > _MANY:
            self._until = {one: until for one, until in self._until.items() if until > now}
        self._until[account] = max(now, self._until.get(account, now)) + lines * self._seconds
