#!/usr/bin/env python3
"""Report which lines of the shell scripts ran, and the commands that failed.

    lines.py FOLDER RAN FAILED

RAN has a line `path:number` for every command that started, FAILED a line of text for every command
that failed. The commands of the scripts are counted: a command on several lines counts once,
comments and words such as `fi` do not count. The exit code is 1 if a command failed.
"""

import os
import re
import sys
from collections import defaultdict
from pathlib import Path

NOT_COMMANDS = re.compile(r"\s*(#.*|fi|done|do|then|else|esac|;;|[{}()])?\s*")


def commands(text: str) -> list[tuple[str, range]]:
    """The commands of a shell script: the first line of each, and the numbers of its lines."""
    found, lines = [], text.split("\n")
    start = 0
    for number, line in enumerate(lines):
        is_comment = line.lstrip().startswith("#")
        if line.endswith("\\") and not is_comment:
            continue
        if is_comment and start < number:
            continue  # a comment inside a pipeline
        if not NOT_COMMANDS.fullmatch(lines[start]):
            found.append((lines[start].strip(), range(start + 1, number + 2)))
        start = number + 1
    return found


def main(folder: str, ran: str, failed: str) -> int:
    """Print the report; returns the exit code."""
    numbers = defaultdict(set)
    for line in Path(ran).read_text("utf-8").splitlines():
        path, _, number = line.rpartition(":")
        numbers[os.path.normpath(path)].add(int(number))
    for path in sorted(numbers):
        if not Path(path).is_file() or not path.startswith(folder):
            continue
        found = commands(Path(path).read_text("utf-8"))
        missing = [first for first, lines in found if not numbers[path].intersection(lines)]
        print(f"{os.path.relpath(path, folder)}: {len(found) - len(missing)} of {len(found)} lines")
        for first in missing:
            print(f"  not run: {first}")
    failures = Path(failed).read_text("utf-8")
    print(failures or "no command failed\n", end="")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
