"""Reference files beside the repository: models, texts and outputs of the original programs."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("CGRU_SHARED") or ROOT.parent / "shared")
FIXTURES = SHARED / "fixtures"


def need(path: Path) -> Path:
    """A reference file or folder; if it is missing, the test is skipped or fails."""
    if not path.exists():
        if os.environ.get("CGRU_REQUIRE_SHARED") == "1":
            pytest.fail(f"{path} is missing and CGRU_REQUIRE_SHARED=1")
        pytest.skip(f"{path} is missing")
    return path


def fixture_path(name: str) -> Path:
    """A file of the reference cases, such as `a-shallow/model.npz`."""
    return need(FIXTURES / name)


def text_lines(path: Path) -> list[str]:
    """The lines of a text, split only at newlines."""
    return path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
