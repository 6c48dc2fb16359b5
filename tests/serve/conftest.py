"""A small model and a server that all tests of this folder share."""

from pathlib import Path
from typing import NamedTuple

import pytest
from commands import write_model
from serving import client, loaded, serving
from shared_files import FIXTURES, need
from starlette.testclient import TestClient


@pytest.fixture(scope="session")
def model_path(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="session")
def models(model_path):
    return loaded(model_path, beam_size=3)


@pytest.fixture(scope="session")
def app(models):
    with serving(models, max_lines=20, max_characters=60, max_body=4, max_phrases=4) as running:
        yield running


@pytest.fixture(scope="session")
def web(app):
    return client(app)


class Legacy(NamedTuple):
    """A served reference model, and the folder with its program's output."""

    web: TestClient
    folder: Path

    def read(self, name):
        return (self.folder / name).read_text("utf-8")


@pytest.fixture(scope="session")
def legacy():
    folder = need(FIXTURES / "a-shallow")
    options = {"normalize": 1.0, "translation_maxlen": None, "n_best": True}
    models = loaded(str(folder / "model.npz"), **options)
    with serving(models, max_body=1024, **options) as running:
        yield Legacy(client(running), folder)
