"""The memory of this machine, or the part that this process may use."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def whole_memory() -> int | None:
    """Bytes of memory for all processes here; None if the system does not say."""
    try:
        whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None
    for path in _LIMITS:
        with contextlib.suppress(OSError, ValueError):  # Linux only; "max" is no number
            whole = min(whole, int(Path(path).read_text()))
    return whole
