"""`cgru translate --resume`: continue an interrupted run's output."""

import os

from ..errors import CgruError, reading, writing


def finished_lines(path: str | os.PathLike[str], *, n_best: bool, together: int = 1) -> int:
    """The number of input lines whose complete output is in a file; 0 without a file.

    Removes anything after complete output. n_best: whether each input line has a list; the last
    list counts as incomplete. together: the number of input lines that count only together. Raises
    CgruError for a file without such lists, and for a file that cannot be read or changed.
    """
    if not os.path.exists(path):
        return 0
    lines = end = done = kept = 0  # kept: the size of the output of `done` input lines
    with reading(path), open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            if n_best:
                sentence = line.split(b"|||", 1)[0].strip()
                if sentence == str(lines).encode():
                    if lines % together == 0:
                        done, kept = lines, end
                    lines += 1
                elif not lines or sentence != str(lines - 1).encode():
                    raise CgruError(f"{path}: line {number} is no entry of an n-best list")
            end += len(line)
            if not n_best:
                lines += 1
                if lines % together == 0:
                    done, kept = lines, end
    with writing(path):
        os.truncate(path, kept)
    return done
