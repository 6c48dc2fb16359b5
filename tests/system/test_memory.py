"""The memory of the machine."""

import os

from cgru_cli.system import memory


def test_memory_of_the_machine_or_of_its_cgroup(tmp_path, monkeypatch):
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < memory.whole_memory() <= physical
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_LIMITS", (str(limit), str(tmp_path / "none")))
    for text, expected in (("max\n", physical), ("1048576\n", 2**20), (str(2**62), physical)):
        limit.write_text(text)
        assert memory.whole_memory() == expected
    monkeypatch.setattr(memory.os, "sysconf", lambda name: (_ for _ in ()).throw(ValueError(name)))
    assert memory.whole_memory() is None
