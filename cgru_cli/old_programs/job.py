"""`cgru old-programs`: the programs as files, each one whole."""

from __future__ import annotations

from pathlib import Path

from ..errors import CgruError, reading, writing
from ..options.old_programs import OldProgramsOptions
from ..system.atomic_files import atomic_write
from ..system.terminal import tell
from .programs import HINT, PACKAGES, PROGRAMS
from .scripts import MARK, text_of


def run(folder: str, options: OldProgramsOptions) -> None:
    """Write all programs below the folder, which is made where it is not there.

    Raises CgruError before anything is written where a file is somebody else's, and for files and
    folders that cannot be written.
    """
    texts = {path: text_of(path, command) for path, command in PROGRAMS.items()}
    packages = {f"{package}/__init__.py": f'"""Nematus; {MARK}."""\n' for package in PACKAGES}
    place = Path(folder)
    if not options.force:
        for path in (*texts, *packages):
            _check_own(place / path)
    for path, text in (*texts.items(), *packages.items()):
        _write(place / path, text, executable=path in texts)
    tell(
        f"{folder}: {len(texts)} programs; in scripts: {HINT.format(place.absolute())}",
        options.quiet,
    )


def _check_own(path: Path) -> None:
    """Raise CgruError where there is a file that this command has not written."""
    if not path.exists():
        return
    with reading(path):
        content = path.read_bytes()
    if MARK.encode() not in content:
        raise CgruError(f"{path}: is another program; name another folder, or --force")


def _write(path: Path, text: str, *, executable: bool) -> None:
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))
    if executable:
        mode = path.stat().st_mode
        path.chmod(mode | (mode & 0o444) >> 2)  # executed by whoever may read it
