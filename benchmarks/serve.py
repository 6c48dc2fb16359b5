"""Measure `cgru serve` with many concurrent clients, and compare it with `cgru translate`.

    pip install aiohttp
    python benchmarks/serve.py --model MODEL --source FILE [--bpe CODES]

MODEL is any model, or with --padded a small plain one that is zero-padded to 512/1024/30000, so
that sentences are real and costs are those of a big model. FILE is text like the training text. The
clients share its lines: each repeatedly sends --lines of them and waits for the translations. All
results are compared with those of `cgru translate` for the same lines. Options that this program
does not have, such as --max-length-factor 1.5, are passed to both commands.

- throughput: for each number of --clients, the processor seconds (user + system) of the server for
  all lines, compared with those of `cgru translate` without start-up, which is measured with one
  line and subtracted. Wall-clock time is not compared, because the clients need processors too.
- load: --load-clients for --seconds: p50, p95 and p99 of the latency, and the server's memory after
  warming up and at each tenth of the time.
- greedy: the latency of a client that sends one line at a time, alone and while a client at another
  address (127.0.0.2) keeps sending expensive requests of one kind; and the server's processor time
  per line, which shows how much of the latency is due to the server.
- threads: for each number of --threads a server of its own: lines per second by the clock, of
  --thread-clients that send one line at a time and of a request of --document lines, with the
  processors that the server kept busy; and p50 and p95 of the latency of a short line, alone and
  while a client at another address keeps sending such requests. Needs a machine that does nothing
  else.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import aiohttp
from measuring import process
from padding import Padded

TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """`cgru serve` as a process."""

    def __init__(self, options: Sequence[str]):
        command = [sys.executable, "-m", "cgru_cli", "serve", *options, "--port", "0", "--quiet"]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if found := re.search(r"listening at (http://\S+)", line):
                self.address = found[1]
                return
            print(line, end="", file=sys.stderr)
        sys.exit("the server does not listen")

    @property
    def cpu_seconds(self) -> float:
        """User and system time until now."""
        return self._cpu_seconds(f"{self._process.pid}")

    @property
    def http_cpu_seconds(self) -> float:
        """The CPU seconds of its first thread, which talks to the clients."""
        return self._cpu_seconds(f"{self._process.pid}/task/{self._process.pid}")

    @staticmethod
    def _cpu_seconds(of: str) -> float:
        stat = Path(f"/proc/{of}/stat").read_text().rpartition(") ")[2].split()
        return (int(stat[11]) + int(stat[12])) / TICKS

    @property
    def megabytes(self) -> float:
        """Current resident memory."""
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def close(self) -> int:
        """Stop the server with SIGTERM, like systemd; return its exit code."""
        self._process.terminate()
        return self._process.wait()


class Clients:
    """Clients that share lines, and their results."""

    def __init__(self, address: str, lines: Sequence[str], expected: Sequence[str], size: int):
        """size: lines per request."""
        self._address, self._lines, self._expected, self._size = address, lines, expected, size
        self.latencies: list[float] = []
        self.statuses: Counter[int] = Counter()
        self.wrong = self.done = self.words = 0

    async def run(self, count: int, places: Iterator[int]) -> float:
        """Run `count` clients until all places are taken; return the seconds."""
        connector = aiohttp.TCPConnector(limit=count)
        start = time.monotonic()
        async with aiohttp.ClientSession(self._address, connector=connector) as session:
            await asyncio.gather(*(self._client(session, places) for _ in range(count)))
        return time.monotonic() - start

    async def ready(self) -> None:
        """Wait until the server is ready."""
        async with aiohttp.ClientSession(self._address) as session:
            while True:
                async with session.get("/health/ready") as answer:
                    if answer.status == 200:
                        return
                await asyncio.sleep(0.1)

    async def _client(self, session: aiohttp.ClientSession, places: Iterator[int]) -> None:
        for place in places:
            part = slice(place, place + self._size)
            start = time.monotonic()
            async with session.post("/v1/translate", json={"texts": self._lines[part]}) as answer:
                self.statuses[answer.status] += 1
                told = await answer.json()
            self.latencies.append(time.monotonic() - start)
            if answer.status == 200:
                texts = [one["text"] for one in told["translations"]]
                self.done += len(texts)
                self.words += sum(len(line.split()) for line in self._lines[part])
                self.wrong += sum(a != b for a, b in zip(texts, self._expected[part], strict=True))
            else:
                await asyncio.sleep(float(answer.headers.get("Retry-After", 1)))

    def report(self, seconds: float) -> str:
        """A summary of the results."""
        cuts = statistics.quantiles(self.latencies, n=100)
        quantiles = ", ".join(f"p{p} {1000 * cuts[p - 1]:.0f} ms" for p in (50, 95, 99))
        others = {status: n for status, n in self.statuses.items() if status != 200}
        return (
            f"{len(self.latencies)} requests, {self.done} lines in {seconds:.0f} s, "
            f"{self.words / seconds:.0f} words/s; {quantiles}; "
            f"statuses other than 200: {others or 'none'}; differing translations: {self.wrong}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--source", required=True, type=Path)
    parser.add_argument("--bpe")
    parser.add_argument("--count", type=int, default=2000, help="lines of the source")
    parser.add_argument("--clients", type=int, nargs="*", default=[1, 8, 64])
    parser.add_argument("--lines", type=int, default=1, help="lines per request")
    parser.add_argument("--batch-wait", default="5")
    parser.add_argument("--seconds", type=float, default=120, help="duration of the load")
    parser.add_argument("--load-clients", type=int, default=200)
    parser.add_argument("--padded", action="store_true")
    parser.add_argument("--parts", nargs="*", default=["throughput", "load", "greedy", "threads"])
    parser.add_argument("--small-requests", type=int, default=20, help="for each greedy client")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--thread-clients", type=int, default=64)
    parser.add_argument("--document", type=int, default=400, help="lines of a large request")
    a, others = parser.parse_known_args()  # the others are options of both commands
    with tempfile.TemporaryDirectory() as folder:
        model = a.model
        if a.padded:
            model = str(Padded(a.model, (), Path(folder)).path)
        shared = ["-m", model, "-k", "5", "-n", *(["--bpe", a.bpe] if a.bpe else []), *others]
        lines = a.source.read_text("utf-8").splitlines()[: a.count]
        text = Path(folder) / "source"
        text.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        expected, whole = translated(shared, text)
        text.write_text(f"{lines[0]}\n", "utf-8")
        _, start = translated(shared, text)
        print(
            f"cgru translate: {len(lines)} lines, {whole - start:.1f} CPU seconds "
            f"and {start:.1f} for the start"
        )
        served = [*shared, "--batch-wait", a.batch_wait]
        for count in a.threads if "threads" in a.parts else ():
            server = Server([*served, "--cpu-threads", str(count), "--timeout", "3600"])
            try:
                clients, document = a.thread_clients, a.document
                threads(server, lines, expected, count, clients, document, a.small_requests)
            finally:
                server.close()
        if not {"throughput", "load", "greedy"} & {*a.parts}:
            return
        server = Server(served)
        try:
            for count in a.clients if "throughput" in a.parts else ():
                throughput(server, lines, expected, a.lines, count, whole - start)
            if "load" in a.parts:
                load(server, lines, expected, a.lines, a.load_clients, a.seconds)
            if "greedy" in a.parts:
                greedy(server, lines, expected, a.small_requests)
        finally:
            print(f"exit code of the server: {server.close()}")


def translated(shared: Sequence[str], text: Path) -> tuple[list[str], float]:
    """Translate with `cgru translate`; also return its CPU seconds."""
    output = text.with_name("output")
    run = process(
        [
            sys.executable,
            "-m",
            "cgru_cli",
            "translate",
            *shared,
            "--quiet",
            "-i",
            str(text),
            "-o",
            str(output),
        ]
    )
    return output.read_text("utf-8").splitlines(), run.cpu


def throughput(
    server: Server,
    lines: Sequence[str],
    expected: Sequence[str],
    size: int,
    count: int,
    of_command: float,
) -> None:
    """Send all lines once."""
    clients = Clients(server.address, lines, expected, size)
    asyncio.run(clients.ready())
    before, http_before = server.cpu_seconds, server.http_cpu_seconds
    seconds = asyncio.run(clients.run(count, iter(range(0, len(lines), size))))
    cpu, http = server.cpu_seconds - before, server.http_cpu_seconds - http_before
    print(
        f"{count} clients: {clients.report(seconds)}\n  {cpu:.1f} CPU seconds of the server, "
        f"{http:.1f} of them HTTP: {of_command / cpu:.0%} of the lines per CPU second of cgru "
        f"translate, {of_command / (cpu - http):.0%} in the search alone"
    )


def load(
    server: Server,
    lines: Sequence[str],
    expected: Sequence[str],
    size: int,
    count: int,
    seconds: float,
) -> None:
    """Send as many requests as possible for some seconds."""

    def places(until: float) -> Iterator[int]:
        while time.monotonic() < until:
            for place in range(0, len(lines), size):
                if time.monotonic() >= until:
                    return
                yield place

    warm = Clients(server.address, lines, expected, size)
    asyncio.run(warm.ready())
    asyncio.run(warm.run(count, places(time.monotonic() + seconds / 10)))
    before = server.megabytes
    clients = Clients(server.address, lines, expected, size)
    memory: list[float] = []

    async def watched() -> float:
        running = asyncio.create_task(clients.run(count, places(time.monotonic() + seconds)))
        while not running.done():
            await asyncio.wait({running}, timeout=seconds / 10)
            memory.append(server.megabytes)
        return running.result()

    took = asyncio.run(watched())
    print(
        f"load of {count} clients: {clients.report(took)}\n  memory {before:.0f} MB after "
        f"warming up, then {', '.join(f'{size:.0f}' for size in memory)} MB"
    )


def greedy(server: Server, lines: Sequence[str], expected: Sequence[str], count: int) -> None:
    """Measure the latency of single lines beside each greedy client."""
    short = sorted(lines, key=len)[: max(1, len(lines) // 4)]
    warm = Clients(server.address, short, expected, 1)
    asyncio.run(warm.ready())
    asyncio.run(warm.run(1, iter(range(count))))
    word = short[0].split()[0]
    longest = 10_000 // (len(expected[0].split()[0]) + 1)  # words in --max-characters
    phrase = " ".join(expected[0].split()[:1] * min(4_900, longest))
    thousand = [short[i % len(short)] for i in range(1000)]
    requests: dict[str, dict[str, object] | None] = {
        "no other client": None,
        "long lines": {"texts": [" ".join([word] * 1000)] * 10, "beam_size": 12},
        "wide beams": {"texts": thousand, "beam_size": 24},
        "short lines": {"texts": thousand},
        "a constraint": {"texts": [word], "constraints": [[phrase]]},
        "pairs": {"pairs": [{"source": " ".join([word] * 1000), "target": phrase[:2000]}] * 100},
    }
    for name, request in requests.items():
        small = Clients(server.address, short, expected, 1)
        asyncio.run(small.ready())
        statuses, cpu = asyncio.run(beside(server, small, request, count))
        times = sorted(1000 * seconds for seconds in small.latencies)
        print(
            f"beside {name}: {statistics.median(times):.0f} ms (median), {times[-1]:.0f} ms (most) "
            f"for a line, in which the server computes for {1000 * cpu / count:.0f} ms (mean); "
            f"answers to the others: {dict(statuses) or 'none'}"
        )


def threads(
    server: Server,
    lines: Sequence[str],
    expected: Sequence[str],
    count: int,
    clients: int,
    document: int,
    small_requests: int,
) -> None:
    """Measure the speed by the clock, and the latency of short lines, with so many threads."""
    rates = []
    for size, together in ((1, clients), (document, 1)):
        every = Clients(server.address, lines, expected, size)
        asyncio.run(every.ready())
        before = server.cpu_seconds
        seconds = asyncio.run(every.run(together, iter(range(0, len(lines), size))))
        busy = (server.cpu_seconds - before) / seconds
        rates.append(f"{every.done / seconds:.1f} lines/s ({busy:.2f} processors busy)")
        assert not every.wrong and every.done == len(lines), every.report(seconds)
    print(f"{count} threads: {clients} clients {rates[0]}, requests of {document} {rates[1]}")
    places = sorted(range(len(lines)), key=lambda place: len(lines[place]))[: len(lines) // 4]
    short, of_short = [lines[i] for i in places], [expected[i] for i in places]
    for name, request in (("alone", None), (f"beside {document} lines", lines[:document])):
        small = Clients(server.address, short, of_short, 1)
        body: dict[str, object] | None = {"texts": request} if request else None
        asyncio.run(beside(server, small, body, small_requests, connections=1))
        times = sorted(1000 * seconds for seconds in small.latencies)
        p95 = times[max(0, round(0.95 * len(times)) - 1)]
        print(f"  a short line {name}: p50 {statistics.median(times):.0f} ms, p95 {p95:.0f} ms")


async def beside(
    server: Server,
    small: Clients,
    request: dict[str, object] | None,
    count: int,
    connections: int = 4,
) -> tuple[Counter[int], float]:
    """Send single lines while several connections send `request`.

    Returns the statuses of these, and the server's CPU seconds.
    """
    address = server.address
    statuses: Counter[int] = Counter()
    timeout = aiohttp.ClientTimeout(total=None)

    async def send() -> None:
        path = "/v1/score" if request and "pairs" in request else "/v1/translate"
        connector = aiohttp.TCPConnector(local_addr=("127.0.0.2", 0))
        async with aiohttp.ClientSession(address, connector=connector, timeout=timeout) as session:
            while True:
                async with session.post(path, json=request) as answer:
                    await answer.read()
                    statuses[answer.status] += 1
                if answer.status != 200:
                    await asyncio.sleep(0.1)

    others = [asyncio.create_task(send()) for _ in range(connections if request else 0)]
    await asyncio.sleep(1)
    before = server.cpu_seconds
    await small.run(1, iter(range(count)))
    cpu = server.cpu_seconds - before
    for other in others:
        other.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    return statuses, cpu


if __name__ == "__main__":
    main()
