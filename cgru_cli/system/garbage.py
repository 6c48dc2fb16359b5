"""Let one thread of a program choose when to collect Python's garbage."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def collected_by_hand() -> Iterator[None]:
    """Inside the block, only `collect_due` collects Python's garbage."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def keep_all() -> None:
    """Collect garbage, and exclude the remaining objects from later collections.

    The time of a collection grows with the number of objects to search. Does nothing if Python
    collects by itself.
    """
    if not gc.isenabled():
        gc.collect()
        gc.freeze()


def collect_due() -> None:
    """Collect garbage if it is due; do nothing if Python collects by itself."""
    if gc.isenabled():
        return
    due = [i for i, most in enumerate(gc.get_threshold()) if gc.get_count()[i] > most > 0]
    if due:
        gc.collect(due[-1])
