"""The pinned packages satisfy setup.py for every Python version, each with its hashes."""

import re
from pathlib import Path
from unittest import mock

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = ("documents", "prep", "sentences", "plot", "tune", "tensorboard")


def pinned(python):
    """The requirements by name for this Python version on Linux."""
    machine = {
        "python_version": python, "python_full_version": f"{python}.4",
        "sys_platform": "linux", "platform_machine": "x86_64", "platform_system": "Linux",
        "os_name": "posix", "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }  # fmt: skip
    text = (ROOT / "constraints.txt").read_text()
    entries = re.split(r"\n(?=\S)", re.sub(r"(?m)^#.*\n", "", text).strip())
    found = {}
    for entry in entries:
        line, *hashes = re.split(r"\s*\\\n\s*", entry)
        assert hashes and all(re.fullmatch("--hash=sha256:[0-9a-f]{64}", h) for h in hashes), line
        requirement = Requirement(line)
        assert re.fullmatch(r"==[^*,]+", str(requirement.specifier))
        if requirement.marker is None or requirement.marker.evaluate(machine):
            assert requirement.name not in found
            found[requirement.name] = str(requirement.specifier).removeprefix("==")
    return found


@pytest.fixture(scope="module")
def asked():
    """The requirements of setup.py."""
    given = {}
    file = ROOT / "setup.py"
    with mock.patch("setuptools.setup", lambda **arguments: given.update(arguments)):
        exec(compile(file.read_text(), file, "exec"), {"__file__": str(file)})
    texts = [*given["install_requires"]]
    for extra in EXTRAS:
        texts += given["extras_require"][extra]
    return [Requirement(text) for text in texts]


def test_the_page_names_the_pinned_extras():
    page = (ROOT / "docs/security.md").read_text("utf-8")
    (named,) = re.findall(r"that cgru and its extras (.*?) need,", page, re.S)
    assert set(re.findall(r"`(\w+)`", named)) == set(EXTRAS)


@pytest.mark.parametrize("python", ["3.11", "3.12", "3.13"])
def test_every_package_is_pinned_within_its_range(python, asked):
    versions = {name.lower(): version for name, version in pinned(python).items()}
    assert len(asked) > 10
    for requirement in asked:
        assert versions[requirement.name.lower()] in requirement.specifier, requirement
