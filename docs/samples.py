"""Write the output of the commands that pages show: `python docs/samples.py`.

A shell block after `<!-- sample -->` is run, and the text block after it receives its standard
output. A block marked `bash` has mistakes on purpose, so other tests do not parse its commands.
The blocks of a page share a temporary folder, which has the repository's `examples/`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODEL = ROOT / "examples/en-de.npz"
SAMPLE = re.compile(r"(<!-- sample -->\n```(?:ba)?sh\n(.*?)```\n\n```text\n)(.*?)(```)", re.S)


def pages() -> list[Path]:
    """The pages with samples."""
    return [page for page in sorted(ROOT.glob("docs/**/*.md")) if SAMPLE.search(page.read_text())]


def updated(text: str, programs: str, examples: Path = MODEL.parent) -> str:
    """The text of a page with the output of its samples; programs: the folder that has `cgru`.

    Raises CalledProcessError if a command fails.
    """
    environment = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(examples)

        def run(match: re.Match[str]) -> str:
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", match[2]], cwd=folder, env=environment,
                stdout=subprocess.PIPE, check=True, encoding="utf-8",
            )  # fmt: skip
            return f"{match[1]}{done.stdout}{match[4]}"

        return SAMPLE.sub(run, text)


def main() -> None:
    """Update all pages, with the model of examples/ or the one in the folder that is given."""
    examples = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else MODEL.parent
    for page in pages():
        text = page.read_text("utf-8")
        page.write_text(updated(text, str(Path(sys.executable).parent), examples), "utf-8")


if __name__ == "__main__":
    main()
