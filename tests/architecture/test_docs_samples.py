"""The output that pages show is that of their commands on the model of examples/."""

import importlib.util
import re
import shutil

import prepared
import pytest
from documentation import ROOT, name_of

pytestmark = pytest.mark.long


SPEC = importlib.util.spec_from_file_location("samples", ROOT / "docs/samples.py")
samples = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(samples)

NUMBER = re.compile(r"-?\d+\.\d+")


def test_pages_of_commands_show_output():
    assert {page.stem for page in samples.pages()} >= {"translate", "score", "convert"}


def test_blocks_receive_the_output_of_their_commands(tmp_path):
    (tmp_path / "cgru").write_text('#!/bin/sh\necho "$@" && cat\n')
    (tmp_path / "cgru").chmod(0o755)
    page = "<!-- sample -->\n```sh\n{}```\n\n```text\n{}```\n\nEnd. `x`\n"
    text = page.format("echo a > in.txt\n", "old\n") + page.format("cgru 1 < in.txt\n", "")
    expected = page.format("echo a > in.txt\n", "") + page.format("cgru 1 < in.txt\n", "1\na\n")
    assert samples.updated(text, str(tmp_path), tmp_path) == expected


@pytest.mark.skipif(not samples.MODEL.exists(), reason="examples/en-de.npz is not in this copy")
@pytest.mark.parametrize("page", samples.pages(), ids=name_of)
def test_output_in_pages_is_that_of_the_commands(page):
    """Numbers may differ in their last digits, as processors round differently."""
    shown = page.read_text("utf-8")
    if "\ncurl " in shown and not shutil.which("curl"):
        pytest.skip("curl is not installed")
    printed = samples.updated(shown, str(prepared.folder()))
    assert NUMBER.sub("N", printed) == NUMBER.sub("N", shown), "run python docs/samples.py"
    numbers = [list(map(float, NUMBER.findall(text))) for text in (printed, shown)]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-2, abs=1e-3)
