"""A small model and its translator, for the tests of this folder."""

import pytest
from commands import write_model


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def translator(path):
    from cgru_cli import Translator

    return Translator(path, beam_size=3, translation_maxlen=6)
