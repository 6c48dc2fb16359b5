"""`prepare`: prepare a folder for training, in Python."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..options.flags import statements
from ..options.keywords import NOT_IN_PYTHON, checked, in_python, lists, takes
from ..options.prep import PrepOptions
from . import job

_FILTERS = {"apply", "undo", "side", "words", "vocabulary_only", "compat"}
_KNOWN = [*statements(PrepOptions).keys() - NOT_IN_PYTHON - _FILTERS]


@takes(PrepOptions)
@lists(PrepOptions, _KNOWN)
def prepare(folder: str | os.PathLike[str], /, **options: Any) -> Path:
    """Prepare parallel text for training in a folder, like `cgru prep FOLDER`; returns its path.

    options: those of `cgru prep`, with "_" for "-" in their names, such as source="train.en",
    target="train.de", dev=["dev.en", "dev.de"] and subwords="bpe". Does nothing if the folder is up
    to date. Raises CgruError for unreadable files, UsageError for invalid arguments.
    """
    with in_python():
        job.run(os.fspath(folder), PrepOptions.of(checked(PrepOptions, options, _KNOWN)))
    return Path(folder)
