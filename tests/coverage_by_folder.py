"""Print the test coverage of each folder: `python tests/coverage_by_folder.py LINES`.

LINES is the folder in which tests/measured recorded the lines that each process ran. Also writes
`.coverage`, for `coverage html`. Fails if the total is below 95 %, or one folder is below 90 %.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

import coverage

PACKAGE = Path(__file__).resolve().parents[1] / "cgru_cli"
ALL, FOLDER = 95, 90  # per cent


def main(folder: Path) -> int:
    measured = coverage.Coverage()
    measured.erase()
    for path in folder.glob("*.json"):
        measured.get_data().add_lines(json.loads(path.read_text()))
    measured.save()
    lines: dict[str, int] = defaultdict(int)
    missed: dict[str, int] = defaultdict(int)
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.stem == "__main__":
            continue
        _, statements, _, missing, _ = measured.analysis2(str(path))
        name = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        for key in (name, "all"):
            lines[key] += len(statements)
            missed[key] += len(missing)
    low = False
    for name in sorted(lines, key=lambda name: (name == "all", name)):
        share = 100 * (1 - missed[name] / lines[name]) if lines[name] else 100.0
        least = ALL if name == "all" else FOLDER
        low |= share < least
        print(f"{name:14} {lines[name]:6,} lines {share:6.1f} %{' (low)' * (share < least)}")
    return int(low)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
