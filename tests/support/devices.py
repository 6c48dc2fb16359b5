"""Devices of the test's own, because a faulty program would replace the machine's."""

import os
import stat

import pytest

_MEMORY = 1  # major number of the devices null and full
NULL, FULL = 3, 7


def device(path, minor):
    """Make a device, which only root may; returns its path."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(_MEMORY, minor))
    except PermissionError:
        pytest.skip("only root makes devices")
    return path


def is_device(path):
    """Whether a path still is a device."""
    return stat.S_ISCHR(os.lstat(path).st_mode)
