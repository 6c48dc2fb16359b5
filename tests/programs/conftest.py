"""Commands in the test's own process; programs with old names, for scripts run as they are."""

import pytest
from commands import in_process
from whole_scripts import write_marian, write_old_programs


@pytest.fixture(scope="session")
def old_programs(tmp_path_factory):
    return write_old_programs(tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="session")
def marian(tmp_path_factory):
    return write_marian(tmp_path_factory.mktemp("marian"))


@pytest.fixture
def translate(tmp_path):
    return in_process("translate", tmp_path)


@pytest.fixture
def score(tmp_path):
    return in_process("score", tmp_path)
