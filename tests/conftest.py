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

# Background jobs of a shell ignore SIGINT, those of nohup SIGHUP; tests must not inherit this.
for number, handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
    (signal.SIGTERM, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

settings.register_profile("cgru", deadline=None, derandomize=True)
settings.load_profile("cgru")


TESTS = Path(__file__).parent
TIERS = {
    "exhaustive": "further combinations (make test-all)",
    "long": "long tests (make test-long)",
}
LEFT_OUT: dict[str, int] = {}  # the number of deselected tests by tier


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


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """By default, all tests of a file run in one process, which keeps what it traced."""
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.relative_to(TESTS).as_posix()))


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Count the tests of other tiers; a test with both markers belongs to `exhaustive`."""
    for item in items:
        tier = next(filter(item.get_closest_marker, TIERS), None)
        if tier:
            LEFT_OUT[tier] = LEFT_OUT.get(tier, 0) + 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker reports to the main process which tests it left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left out"] = LEFT_OUT


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_testnodedown(node: object) -> None:
    """All workers leave out the same tests."""
    LEFT_OUT.update(getattr(node, "workeroutput", {}).get("left out", {}))


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """The last line says which tests were left out, and how to run them."""
    told = [f"{count:,} {TIERS[tier]}" for tier, count in LEFT_OUT.items() if count]
    if told and not hasattr(config, "workeroutput"):
        print(f"left out: {', '.join(told)}")


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
def prepared_once() -> Iterator[None]:
    """Prepare equal models only once for all tests of a module, without TensorFlow."""
    import prepared_once

    with prepared_once.prepared_once():
        yield


@pytest.fixture(scope="module")
def traced_once() -> Iterator[None]:
    """Share the traces of equal models among all models of a module's tests, too."""
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
