"""Record the lines of `cgru_cli` that a process runs, in a file in the folder CGRU_LINES_RUN.

Python imports this module at its start if its folder is in PYTHONPATH, so every process of a test
is measured. SlipCover instruments the compiled code; a tracer, which also sees every call in
TensorFlow, would make the tests half as long again.
"""

import atexit
import importlib.abc
import json
import os
import sys
import tempfile


class Measure(importlib.abc.MetaPathFinder):
    """Loads SlipCover when the first module of the package is imported."""

    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "cgru_cli":
            sys.meta_path.remove(self)
            _measure()
            # SlipCover's loader, also for this module
            return sys.meta_path[0].find_spec(name, path, target)
        return None


def _measure() -> None:
    from slipcover.importer import FileMatcher, ImportManager
    from slipcover.slipcover import Slipcover

    # Keep the instrumentation: removing it scans all objects of all frames.
    measured = Slipcover(d_miss_threshold=-1)
    package = os.path.join(os.path.dirname(__file__), "..", "..", "cgru_cli")
    ImportManager(measured, FileMatcher(sources=[package])).__enter__()
    leave = os._exit

    def save() -> None:
        lines = {path: sorted(lines) for path, lines in list(measured.newly_seen.items())}
        folder = os.environ.get("CGRU_LINES_RUN")
        if lines and folder:
            with tempfile.NamedTemporaryFile("w", suffix=".tmp", dir=folder, delete=False) as file:
                json.dump(lines, file)
            # complete, or missing if the process is killed
            os.rename(file.name, file.name + ".json")
            measured.newly_seen.clear()

    def save_and_leave(status: int) -> None:
        try:
            save()
        finally:
            leave(status)

    atexit.register(save)
    os._exit = save_and_leave  # as processes of multiprocessing end
    os.register_at_fork(after_in_child=measured.newly_seen.clear)  # the parent reports them


if "CGRU_LINES_RUN" in os.environ:
    sys.meta_path.insert(0, Measure())
