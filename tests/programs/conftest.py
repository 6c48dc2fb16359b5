"""Commands in the test's own process, and programs with old names for unchanged scripts."""

import pytest
from whole_scripts import write_marian, write_old_programs


@pytest.fixture(scope="session")
def old_programs(tmp_path_factory):
    return write_old_programs(tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="session")
def marian(tmp_path_factory):
    return write_marian(tmp_path_factory.mktemp("marian"))
