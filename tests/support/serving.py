"""A server in this process: its models, its engine, and its clients."""

import asyncio
import contextlib
import threading
import time

import uvicorn
from patience import PATIENCE
from prepared_once import prepared_once
from starlette.testclient import TestClient

from cgru_cli.options.serve import ServeOptions
from cgru_cli.serve.app import application
from cgru_cli.serve.served_model import served_models
from cgru_cli.serve.service import Service


class Silent:
    """Metrics that keep only the sizes of batches."""

    def __init__(self):
        self.batches = []

    def translated(self, model, words, translation):
        pass

    def scored(self, model, words):
        pass

    def batch(self, model, lines):
        self.batches.append(lines)


def options(*models, **more):
    return ServeOptions(
        model=models,
        quiet=True,
        **{"translation_maxlen": 8, "host_name": ("testserver", "127.0.0.1", "localhost")} | more,
    )


def loaded(*models, **more):
    """The models of a command line, by name; equal models are prepared only once."""
    with prepared_once():
        return served_models(options(*models, **more))


@contextlib.contextmanager
def serving(models, password=(), **more):
    """The application of a running server, with the given models."""
    service = Service(models, options(*next(iter(models.values())).paths, **more))
    service.start()
    while not service.ready:  # it refuses some requests before
        time.sleep(0.01)
    passwords = [password] if isinstance(password, str) else password
    app = application(service, passwords)
    try:
        yield app
    finally:
        service.engine.stop()


@contextlib.contextmanager
def listening(app, **more):
    """Run a server on a local port, and yield its address; more: options of uvicorn."""
    given = {"log_config": None, "lifespan": "off", "ws": "none"} | more
    config = uvicorn.Config(app, port=0, **given)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join()


def client(app, **more):
    return TestClient(app, raise_server_exceptions=False, **more)


def computed(engine, kind, lines, client="me", **more):
    """The outcomes of a request, in the order of its lines."""
    outcomes, done = {}, threading.Event()

    def deliver(number, outcome):
        assert number not in outcomes
        outcomes[number] = outcome
        if len(outcomes) == len(lines):
            done.set()

    engine.submit(client, kind, lines, deliver, **more)
    assert done.wait(PATIENCE)
    return [outcomes[number] for number in range(len(lines))]


def run(coroutine):
    return asyncio.run(coroutine)
