"""Where the reference cases are; how TensorFlow and hypothesis run under test."""

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

# Tests run side by side (pytest -n): one thread each, also in the processes that they start.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
os.environ.setdefault("TF_NUM_INTEROP_THREADS", "1")

# A shell that runs the tests in the background would have all of them deaf to Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("cgru", deadline=None, derandomize=True)
settings.load_profile("cgru")


class InPart:
    """Imports TensorFlow, when a test asks for it, as commands do: in less than half the time."""

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
