"""Python's garbage collected by one thread of a program, when that thread chooses."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def collected_by_hand() -> Iterator[None]:
    """Inside the block, Python's garbage is collected by `collect_due` alone."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def keep_all() -> None:
    """Collect garbage, and never search the objects that are left again: they stay in use.

    A collection takes as long as there are objects to search. Does nothing if Python collects by
    itself.
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
