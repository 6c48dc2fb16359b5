"""`cgru --version`: packages and processor."""

import json
import subprocess
import sys
from importlib import metadata

import pytest
from click.testing import CliRunner

from cgru_cli import __version__
from cgru_cli.cli import main
from cgru_cli.errors import NotInstalled
from cgru_cli.system import versions


def shown():
    result = CliRunner().invoke(main, ["--version"])
    assert result.exit_code == 0
    return result.output.splitlines()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("fpu avx avx2 avx512f avx512_bf16 avx512_vnni", "avx512f, avx512_bf16, avx512_vnni"),
        ("avx2 avx_vnni avx", "avx2, none, avx_vnni"),
        ("avx512f amx_int8 amx_bf16 avx512_vnni avx2", "avx512f, amx_bf16, amx_int8"),
        ("sse2", "none, none, none"),
        ("fp asimd asimddp i8mm bf16", "asimd, bf16, i8mm"),
    ],
)
def test_versions_and_instructions(flags, said, tmp_path, monkeypatch):
    stated = tmp_path / "cpuinfo"
    stated.write_text(f"processor\t: 0\nmodel name\t: X\nflags\t\t: {flags}\nbugs\t: avx\n")
    monkeypatch.setattr(versions, "PROCESSOR", str(stated))
    first, packages, processor = shown()
    assert first == f"cgru, version {__version__}"
    assert f", TensorFlow {metadata.version('tensorflow')}, Keras " in packages
    kinds = dict(one.split(" ") for one in processor.partition(": ")[2].split(", "))
    assert kinds == dict(zip(("float32", "bfloat16", "int8"), said.split(", "), strict=True))


def test_a_missing_package_is_an_error_with_advice():
    assert versions.installed("json") is json
    for extra, advice in (("", "no-such"), ("plot", "'cgru[plot]'")):
        with pytest.raises(NotInstalled) as error:
            versions.installed("no_such.part", extra)
        assert str(error.value) == f"no-such is not installed: pip install {advice}"


def test_without_proc_and_packages(tmp_path, monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(versions, "PROCESSOR", str(tmp_path / "missing"))
    monkeypatch.setattr(metadata, "version", missing)
    _, packages, processor = shown()
    assert "TensorFlow not installed" in packages
    assert processor.endswith(": instructions unknown on this system")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc/cpuinfo")
def test_the_instructions_are_those_of_lscpu():
    try:
        listed = subprocess.run(["lscpu"], capture_output=True, text=True).stdout
    except OSError:
        pytest.skip("no lscpu here")
    for one in shown()[2].partition(": ")[2].split(", "):
        word = one.split(" ")[1]
        assert word in ("none", "unknown", "instructions") or word in listed.split()
