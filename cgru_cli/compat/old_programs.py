"""`cgru old-programs`: write files that have the names of old programs and run cgru.

`programs/` has the list of programs of Marian, Nematus and DL4MT, and their texts. The Python
programs run under Python 2 and 3, and start the Python interpreter that has `cgru`.
"""

from __future__ import annotations

import pprint
import shlex
import sys
from pathlib import Path

from ..errors import CgruError, reading, writing
from ..options.old_programs import OldProgramsOptions
from ..system.atomic_files import atomic_write
from ..system.terminal import tell

# -P: do not import from the current folder, which may hold an nmt.py.
INTERPRETER = (sys.executable, "-P", "-m", "cgru_cli")

_MARK = "written by `cgru old-programs`"
_LONGEST_SHEBANG = 120  # the longest first line that all kernels read
_TEMPLATES = Path(__file__).with_name("programs")
_TRAINERS = ("nmt.py", "lm.py")
_PACKAGES = ("nematus", "nematus-tf/nematus")  # as in `from nematus.nmt import train`
_HINT = "MARIAN={0} nematus={0} (on TensorFlow: nematus={0}/nematus-tf) dl4mt={0}/dl4mt"


def programs() -> dict[str, list[str]]:
    """The programs: path below the folder -> command and options of cgru."""
    lines = (_TEMPLATES / "programs.txt").read_text("utf-8").splitlines()
    rows = (line.split() for line in lines if line and not line.startswith("#"))
    return {path: command for path, *command in rows}


def run(folder: str, options: OldProgramsOptions) -> None:
    """Write all programs below the folder, creating it if needed.

    Raises CgruError before writing anything if another file is in the way, and for files and
    folders that cannot be written.
    """
    texts = {path: _text(path, command) for path, command in programs().items()}
    packages = {f"{package}/__init__.py": f'"""Nematus; {_MARK}."""\n' for package in _PACKAGES}
    place = Path(folder)
    if not options.force:
        for path in (*texts, *packages):
            _check_own(place / path)
    for path, text in (*texts.items(), *packages.items()):
        _write(place / path, text, executable=path in texts)
    hint = _HINT.format(place.absolute())
    tell(f"{folder}: {len(texts)} programs; in scripts: {hint}", options.quiet)


def _text(path: str, command: list[str]) -> str:
    """The content of a program's file, which runs this command of cgru."""
    name = path.rpartition("/")[2]
    if name.endswith(".py"):
        template = "trainer.py.in" if name in _TRAINERS else "program.py.in"
    else:
        template = "marian.in" if name == "marian" else "shell.in"
    is_short = len(sys.executable) < _LONGEST_SHEBANG and not set(sys.executable) & set(" \t")
    values = {
        "SHEBANG": sys.executable if is_short else "/usr/bin/env python3",
        "COMMAND": shlex.join(command),
        "NAME": name,
        "MARK": _MARK,
        "CGRU": shlex.join(INTERPRETER),
        "ARGUMENTS": pprint.pformat([*INTERPRETER, *command], width=88, compact=True),
    }
    text = (_TEMPLATES / template).read_text("utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def _check_own(path: Path) -> None:
    """Raise CgruError if the file exists and was not written by this command."""
    if not path.exists():
        return
    with reading(path):
        content = path.read_bytes()
    if _MARK.encode() not in content:
        raise CgruError(f"{path}: not a file of cgru; name another folder, or use --force")


def _write(path: Path, text: str, *, executable: bool) -> None:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))
    if executable:
        mode = path.stat().st_mode
        path.chmod(mode | (mode & 0o444) >> 2)  # everyone who may read the file may execute it
