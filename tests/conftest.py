"""Where the reference cases are; how TensorFlow and hypothesis run under test."""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import prepared
import pytest
from hypothesis import settings
from shared_files import SHARED

# Tests run side by side (pytest -n): one thread each, also in the processes that they start.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
os.environ.setdefault("TF_NUM_INTEROP_THREADS", "1")

# A shell that runs the tests in the background would have all of them deaf to Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("cgru", deadline=None, derandomize=True)
settings.load_profile("cgru")


def pytest_configure(config: pytest.Config) -> None:
    """Of the process that starts those that test, if tests run side by side."""
    if getattr(config.option, "dist", "no") != "no" and not hasattr(config, "workerinput"):
        prepared.share()


def pytest_collection_finish() -> None:
    """What was imported stays, and is not looked through for garbage again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*prepared.COLLECTED_AT)


@pytest.fixture
def shared() -> Callable[[str], Path]:
    """A file or folder below `shared`; without it the test is skipped, where that is allowed."""

    def find(name: str) -> Path:
        path = SHARED / name
        if not path.exists():
            message = f"no {name}: set CGRU_SHARED to the folder that holds fixtures/"
            if os.environ.get("CGRU_REQUIRE_SHARED") == "1":
                pytest.fail(message)
            pytest.skip(message)
        return path

    return find


@pytest.fixture
def traced_once() -> Iterator[None]:
    """What is traced of equal models is shared by all that a test translates and scores with."""
    import traced_once

    with traced_once.traced_once():
        yield
