"""`cgru translate --resume`: continue an interrupted run's output."""

import os

from ..errors import CgruError, reading, writing


def finished_lines(path: str | os.PathLike[str], *, n_best: bool) -> int:
    """The number of input lines whose complete output is in a file; 0 without a file.

    Removes anything after complete output. n_best: whether each input line has a list; the last
    list counts as incomplete. Raises CgruError for a file without such lists, and for a file that
    cannot be read or changed.
    """
    if not os.path.exists(path):
        return 0
    lines = begin = end = 0  # begin: where the last list begins
    with reading(path), open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            if n_best:
                sentence = line.split(b"|||", 1)[0].strip()
                if sentence == str(lines).encode():
                    lines, begin = lines + 1, end
                elif not lines or sentence != str(lines - 1).encode():
                    raise CgruError(f"{path}: line {number} is not of an n-best list")
            else:
                lines += 1
            end += len(line)
    with writing(path):
        os.truncate(path, begin if n_best else end)
    return max(lines - 1, 0) if n_best else lines
