"""A log file: a copy of standard error."""

import sys

from cgru_cli.system.log_file import log_to
from cgru_cli.system.terminal import ProgressCounter, tell


def test_the_log_is_written_even_if_standard_error_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with log_to(str(tmp_path / "log"), "cgru score"):
        ProgressCounter("pairs", quiet=False).add(1)
        tell("done")
    assert "cgru: done\n" in (tmp_path / "log").read_text()
