"""The location of the reference cases, and the settings of TensorFlow and hypothesis."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

import prepared
import pytest
from hypothesis import settings
from shared_files import SHARED

from cgru_cli.system.tensorflow_start import quick_import

# Tests run in parallel (pytest -n), so each uses one thread, also in child processes.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
os.environ.setdefault("TF_NUM_INTEROP_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `cgru` does

# Until the tests are collected (`pytest_collection_finish`), almost nothing becomes garbage, and
# looking for it would take a quarter of the time.
gc.disable()

# In a background job of a shell, SIGINT would be ignored by all tests.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("cgru", deadline=None, derandomize=True)
settings.load_profile("cgru")


class InPart:
    """Imports TensorFlow like the commands, in less than half the time."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        """As `importlib.abc.MetaPathFinder`."""
        if name not in ("keras", "tensorflow"):
            return None
        sys.meta_path.remove(InPart)
        spec = PathFinder.find_spec(name, path)
        load = spec.loader.exec_module

        def load_in_part(module: object) -> None:
            with quick_import():
                load(module)

        spec.loader.exec_module = load_in_part
        return spec


sys.meta_path.insert(0, InPart)


def pytest_configure(config: pytest.Config) -> None:
    """Called in the main process if tests run in parallel."""
    if getattr(config.option, "dist", "no") != "no" and not hasattr(config, "workerinput"):
        prepared.share()
        gc.enable()


def pytest_collection_finish() -> None:
    """Exclude imported objects from garbage collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*prepared.COLLECTED_AT)
    gc.enable()


@pytest.fixture
def shared() -> Callable[[str], Path]:
    """A file or folder below `shared`; without it the test is skipped, if that is allowed."""

    def find(name: str) -> Path:
        path = SHARED / name
        if not path.exists():
            message = f"no {name}: set CGRU_SHARED to the folder that holds fixtures/"
            if os.environ.get("CGRU_REQUIRE_SHARED") == "1":
                pytest.fail(message)
            pytest.skip(message)
        return path

    return find


@pytest.fixture(scope="module")
def traced_once() -> Iterator[None]:
    """Share the traces of equal models among all models of a module's tests."""
    import traced_once

    with traced_once.traced_once():
        yield


@pytest.fixture
def translate(tmp_path: Path) -> Callable:
    """Run `cgru translate` in this process, on files: (exit code, output, messages)."""
    from commands import in_process

    return in_process("translate", tmp_path)


@pytest.fixture
def score(tmp_path: Path) -> Callable:
    """Run `cgru score` in this process, on files: (exit code, output, messages)."""
    from commands import in_process

    return in_process("score", tmp_path)
