"""Every reader gives a one-line error or a valid result for damaged files, in little time and
memory.

`soak.py` runs the same function for hours.
"""

import resource
import time

import pytest
from damage import READERS, damaged, good, read_damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import each_row

pytestmark = pytest.mark.long


SECONDS, MEBIBYTES = 5, 400


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Skip syncing, because the files of a test need not survive a power failure."""
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


@each_row("kind", READERS)
def test_good_files_are_read(kind, tmp_path):
    for name, content in good(kind).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    READERS[kind].read(tmp_path)


@pytest.mark.parametrize("kind", READERS)
def test_damaged_files(kind, tmp_path_factory):
    folder = tmp_path_factory.mktemp("damaged")
    for name, content in good(kind).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    READERS[kind].read(folder)  # which may import TensorFlow

    @settings(
        max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
    )
    @given(st.randoms(use_true_random=False, note_method_calls=False))
    def read(chance):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.process_time()
        read_damaged(kind, folder, chance)
        assert time.process_time() - start < SECONDS
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < MEBIBYTES << 10

    read()


@given(st.binary(max_size=60), st.randoms(use_true_random=False))
def test_damage_is_done(data, chance):
    assert isinstance(damaged(data, chance), bytes)
