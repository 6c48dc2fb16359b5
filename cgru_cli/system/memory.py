"""The memory of this machine, or of the part of it that this process may use."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def whole_memory() -> int | None:
    """Bytes of memory that processes here can have together; None where the system does not say."""
    try:
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
    for path in _LIMITS:
        with contextlib.suppress(OSError, ValueError):  # of Linux alone; `max` is no limit
            whole = min(whole, int(Path(path).read_text()))
    return whole
