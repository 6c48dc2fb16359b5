"""Which lines of `cgru_cli` a process runs, written to a file in the folder CGRU_LINES_RUN.

Python imports this module at its start where PYTHONPATH names its folder, so that every process
that a test starts is measured. SlipCover marks the lines in the compiled code; a tracer, which is
told of every call in TensorFlow too, made the tests half as long again.
"""

import atexit
import importlib.abc
import json
import os
import sys
import tempfile


class Measure(importlib.abc.MetaPathFinder):
    """Loads SlipCover when the first module of the package is imported, and not before."""

    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "cgru_cli":
            sys.meta_path.remove(self)
            _measure()
            return sys.meta_path[0].find_spec(name, path, target)  # SlipCover's, for this one too
        return None


def _measure() -> None:
    from slipcover.importer import FileMatcher, ImportManager
    from slipcover.slipcover import Slipcover

    # Marks that have been met stay: their removal looks through all objects of all frames.
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
            os.rename(file.name, file.name + ".json")  # whole, or killed in the midst and not there
            measured.newly_seen.clear()

    def save_and_leave(status: int) -> None:
        save()
        leave(status)

    atexit.register(save)
    os._exit = save_and_leave  # as the processes of multiprocessing end
    os.register_at_fork(after_in_child=measured.newly_seen.clear)  # the parent tells of them


if "CGRU_LINES_RUN" in os.environ:
    sys.meta_path.insert(0, Measure())
