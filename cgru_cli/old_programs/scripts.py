"""The text of a program with an old name: it calls `cgru` and nothing else.

Programs of Python run under Python 2 and 3, whichever a script starts them with, and hand over to
the Python that has `cgru`.
"""

from __future__ import annotations

import pprint
import shlex
import sys
from collections.abc import Mapping, Sequence

from .programs import (
    DEFAULTS_OF_TRAIN,
    MARIAN_COMMANDS,
    OFF_IN_TRAIN,
    OPTIONS_OF_TRAIN,
    TRAINERS,
)

MARK = "written by `cgru old-programs`"
_LONGEST_SHEBANG = 120  # characters that every kernel reads

# -P: what lies in the current folder, a nmt.py perhaps, is not to be imported.
INTERPRETER = (sys.executable, "-P", "-m", "cgru_cli")

_PYTHON = '''\
#!{shebang}
"""`{shown}`, by the name of {name}; {mark}."""

import os
import sys

CGRU = {command}


def main():
    sys.stdout.flush()
    try:
        os.execv(CGRU[0], CGRU + sys.argv[1:])
    except OSError as error:
        sys.exit("%s: %s; run cgru old-programs again" % (CGRU[0], error.strerror))


if __name__ == "__main__":
    main()
'''

_TRAIN = '''
OPTIONS = {options}
OFF = {off}
DEFAULTS = {defaults}


def arguments_of(settings):
    """Keyword arguments as options: lists are several values, True is an option without one."""
    arguments = []
    for name, value in sorted(dict(DEFAULTS, **settings).items()):
        if name in OFF:
            name, value = OFF[name], not value
        if value is None or value is False:
            continue
        values = value if isinstance(value, (list, tuple)) else [value]
        arguments.append("--" + OPTIONS.get(name, name))
        arguments += [] if value is True else [str(one) for one in values]
    return arguments


def train(**settings):
    """Train with the keyword arguments of the original function."""
    import subprocess

    sys.stdout.flush()
    code = subprocess.call(CGRU + arguments_of(settings))
    if code:
        sys.exit(code)
'''


def text_of(path: str, command: Sequence[str]) -> str:
    """The file of a program. path: in the folder; command: that of `cgru`, with its options."""
    name = path.rpartition("/")[2]
    if name.endswith(".py"):
        return _python(name, command)
    return _shell(name, command)


def _python(name: str, command: Sequence[str]) -> str:
    direct = len(sys.executable) < _LONGEST_SHEBANG and not set(sys.executable) & set(" \t")
    text = _PYTHON.format(
        shebang=sys.executable if direct else "/usr/bin/env python3",
        shown=shlex.join(("cgru", *command)),
        name=name,
        mark=MARK,
        command=_literal([*INTERPRETER, *command]),
    )
    if name not in TRAINERS:
        return text
    program = command[command.index("--compat") + 1]
    train = _TRAIN.format(
        options=_literal(OPTIONS_OF_TRAIN),
        off=_literal(OFF_IN_TRAIN),
        defaults=_literal(DEFAULTS_OF_TRAIN.get(program, {})),
    )
    before, main, after = text.partition("\n\ndef main")
    return before + train + main + after


def _shell(name: str, command: Sequence[str]) -> str:
    lines = ["#!/bin/sh", f"# `{shlex.join(('cgru', *command))}`, by the name of {name}; {MARK}."]
    if name == "marian":
        lines.append('case "$1" in')
        lines += (f"{word}) shift; {_exec(meant)} ;;" for word, meant in MARIAN_COMMANDS.items())
        lines.append("esac")
    return "\n".join([*lines, _exec(command), ""])


def _exec(command: Sequence[str]) -> str:
    return f'exec {shlex.join((*INTERPRETER, *command))} "$@"'


def _literal(value: Sequence[str] | Mapping[str, object]) -> str:
    return pprint.pformat(value, width=88, compact=True)
