"""Read Python 2 and 3 pickles of plain data without executing them.

DL4MT keeps its options (`model.npz.pkl`) and its vocabularies in pickles. A pickle is a program for
a small stack machine. `load` executes only the instructions that build data, and refuses calls,
imports and attribute access. `pickle.Unpickler` executes all of these, may hash nested tuples
almost endlessly, and allocates a memo as large as the file asks for.
"""

import codecs
import os
import pickletools
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np

from ..errors import CgruError
from ..system.structured_files import LARGEST_CONFIGURATION, LONGEST_NUMBER, read_bytes

MAX_NESTING = 100  # containers within containers
MAX_ITEMS = 50_000_000  # items in total; a shared container counts for each occurrence
_MAX_NUMBER = 10**LONGEST_NUMBER


class _Refused(Exception):
    """Raised for content that is not allowed in a pickle."""


class _Constructor:
    """A constructor on the stack, which a pickle may call."""


_MARK = object()  # on the stack below the items of a container
_ORDERED_DICT = _Constructor()
_LATIN1 = _Constructor()  # in old protocols, Python 3 writes bytes as a call of this with text
_BYTES = _Constructor()  # in old protocols, Python 3 writes empty bytes as a call of this

_CONSTRUCTORS = {
    ("collections", "OrderedDict"): _ORDERED_DICT,
    ("_codecs", "encode"): _LATIN1,
    ("__builtin__", "bytes"): _BYTES,
    ("builtins", "bytes"): _BYTES,
}
_CONTAINERS = frozenset({dict, list, tuple})
_SCALARS = frozenset({str, bytes, int, float, bool, type(None)})

# Instructions by their byte.
_OPCODES = {opcode.code.encode("latin-1"): opcode for opcode in pickletools.opcodes}
_WHOLE_NUMBERS = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": (), "MARK": _MARK}
_EMPTY: dict[str, type] = {"EMPTY_DICT": dict, "EMPTY_LIST": list}
_PUSHED = {"FLOAT", "BINFLOAT", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"}
_PUSHED |= {"SHORT_BINBYTES", "BINBYTES", "BINBYTES8"}
_READ_HERE = {"STRING", "GLOBAL", "INST"}  # pickletools of Python 3.11 reads only ASCII in these
_REFUSALS = {
    "an object": "OBJ NEWOBJ NEWOBJ_EX",
    "an object's state": "BUILD",
    "an external object": "PERSID BINPERSID",
    "a registered class": "EXT1 EXT2 EXT4",
    "a set": "EMPTY_SET ADDITEMS FROZENSET",
    "a byte array": "BYTEARRAY8",
    "a buffer": "NEXT_BUFFER READONLY_BUFFER",
}
_REFUSED = {name: what for what, names in _REFUSALS.items() for name in names.split()}


def load(source: str | os.PathLike[str] | bytes, what: str) -> Any:
    """Read one pickle (protocols 0 to 5) of plain data from a file, gzipped or not, or from bytes.

    Returns dict (also for OrderedDict), list, tuple, str, bytes, int, float, bool and None. A
    Python 2 `str` holds bytes: it is decoded as UTF-8, and bytes that are not UTF-8 become `\\xNN`,
    so that different words remain different. Python 2 `unicode`, Python 3 `str` and Python 3
    `bytes` are unchanged.

    what: the content for messages ("options"); for bytes it should name the file. Raises CgruError
    for anything but data, and for damaged or absurd input.
    """
    if isinstance(source, bytes):
        name, data = what, source
    else:
        name, data = f"{source}", read_bytes(source, what, LARGEST_CONFIGURATION)
    if not data:
        raise CgruError(f"{name}: the file is empty")
    try:
        value = _Machine(data).run()
        _check_extent(value, {}, MAX_NESTING)
    except _Refused as refused:
        raise CgruError(
            f"{name}: {refused}; refused (only dictionaries, lists, text and numbers are read)"
        ) from None
    except (LookupError, TypeError, ValueError, ArithmeticError, MemoryError, RecursionError):
        raise CgruError(f"{name}: not a pickle, or a damaged or truncated one") from None
    return value


def _check_extent(value: Any, known: dict[int, tuple[int, int]], depth: int) -> tuple[int, int]:
    """The depth of a value's nesting and its number of items, counting each occurrence.

    Lists that each hold the previous list twice need little memory but take exponential time to
    traverse; a list that holds itself never ends.
    """
    if id(value) in known:
        return known[id(value)]
    if type(value) in _SCALARS:
        return 0, 1
    if type(value) not in _CONTAINERS:
        raise _Refused("pickle contains a class as a value")
    height, items = 0, len(value)
    for child in value.values() if type(value) is dict else value:  # keys are scalars already
        if type(child) not in _SCALARS:
            if depth == 0:
                raise _Refused(f"values nest deeper than {MAX_NESTING} levels, or in a circle")
            below, within = _check_extent(child, known, depth - 1)
            height, items = max(height, below), items + within
    height += 1
    if height > MAX_NESTING:
        raise _Refused(f"values nest deeper than {MAX_NESTING} levels")
    if items > MAX_ITEMS:
        raise _Refused(f"more than {MAX_ITEMS} items")
    known[id(value)] = height, items
    return height, items


class _Machine:
    """The stack machine of the pickle format, as Python's `pickletools` describes it."""

    def __init__(self, data: bytes):
        self.stream = BytesIO(data)
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        # Items copied from lists and texts may not outnumber the bytes of the stream, because a
        # genuine pickle stores each of these items.
        self.copies_left = len(data)

    def run(self) -> Any:
        """Execute all instructions; returns the value on the stack at the end."""
        stream, stack, memo = self.stream, self.stack, self.memo
        while True:
            opcode = _OPCODES[stream.read(1)]
            name = opcode.name
            if name in _REFUSED:
                raise _Refused(f"pickle contains {_REFUSED[name]}")
            argument: Any = None
            if opcode.arg is not None and name not in _READ_HERE:
                argument = opcode.arg.reader(stream)
            match name:
                case "STRING":
                    stack.append(_python2_text(_unquoted(self.line())))
                case "BINSTRING" | "SHORT_BINSTRING":
                    stack.append(_python2_text(argument.encode("latin-1")))
                case "PUT" | "BINPUT" | "LONG_BINPUT":
                    memo[argument] = self.top()
                case "MEMOIZE":
                    memo[len(memo)] = self.top()
                case "GET" | "BINGET" | "LONG_BINGET":
                    stack.append(memo[argument])
                case "SETITEM":
                    value = self.pop()
                    self.set_items([self.pop(), value])
                case "SETITEMS":
                    self.set_items(self.pop_to_mark())
                case _ if name in _WHOLE_NUMBERS:
                    if abs(argument) >= _MAX_NUMBER:
                        raise ValueError("a number that is too large")
                    stack.append(argument)
                case _ if name in _PUSHED:
                    stack.append(argument)
                case _ if name in _CONSTANTS:
                    stack.append(_CONSTANTS[name])
                case _ if name in _EMPTY:
                    stack.append(_EMPTY[name]())
                case "DICT":
                    items = self.pop_to_mark()
                    stack.append({})
                    self.set_items(items)
                case "LIST":
                    stack.append(self.pop_to_mark())
                case "APPEND":
                    self.extend_list([self.pop()])
                case "APPENDS":
                    self.extend_list(self.pop_to_mark())
                case "TUPLE":
                    stack.append(tuple(self.pop_to_mark()))
                case "TUPLE1" | "TUPLE2" | "TUPLE3":
                    items = [self.pop() for _ in range(int(name[-1]))]
                    stack.append(tuple(reversed(items)))
                case "POP":
                    stack.pop()
                case "POP_MARK":
                    self.pop_to_mark()
                case "DUP":
                    stack.append(self.top())
                case "GLOBAL":
                    self.push_constructor(self.line().decode(), self.line().decode())
                case "STACK_GLOBAL":
                    last = self.pop()
                    self.push_constructor(self.pop(), last)
                case "REDUCE":
                    self.call()
                case "INST":
                    raise _asks_for(self.line().decode(), self.line().decode())
                case "PROTO":
                    if argument > 5:
                        raise ValueError("unknown protocol")
                case "FRAME":
                    pass  # its size helps readers of pipes
                case "STOP":
                    return self.pop()
                case _:
                    raise ValueError(f"unknown instruction {name}")

    def line(self) -> bytes:
        line = self.stream.readline()
        if not line.endswith(b"\n"):
            raise ValueError("cut short")
        return line[:-1]

    def top(self) -> Any:
        value = self.stack[-1]
        if value is _MARK:
            raise ValueError("not a value")
        return value

    def pop(self) -> Any:
        value = self.top()
        self.stack.pop()
        return value

    def pop_to_mark(self) -> list[Any]:
        stack = self.stack
        index = len(stack) - 1
        while stack[index] is not _MARK:
            index -= 1
            if index < 0:
                raise IndexError("no mark")
        items = stack[index + 1 :]
        del stack[index:]
        return items

    def extend_list(self, items: list[Any]) -> None:
        if type(self.stack[-1]) is not list:
            raise TypeError("not a list")
        self.stack[-1].extend(items)

    def set_items(self, items: Sequence[Any]) -> None:
        """Add alternating keys and values to the dictionary on top of the stack."""
        mapping = self.stack[-1]
        if type(mapping) is not dict:
            raise TypeError("not a dictionary")
        if len(items) % 2:
            raise ValueError("a key without a value")
        for key, value in zip(items[::2], items[1::2], strict=True):
            if type(key) not in _SCALARS:  # hashing nested tuples can take exponential time
                raise _Refused(f"a dictionary key is a {type(key).__name__}")
            mapping[key] = value

    def push_constructor(self, module: Any, name: Any) -> None:
        if not (isinstance(module, str) and isinstance(name, str)):
            raise TypeError("a class name is not text")
        if (module, name) not in _CONSTRUCTORS:
            raise _asks_for(module, name)
        self.stack.append(_CONSTRUCTORS[module, name])

    def call(self) -> None:
        """Call one of the constructors.

        Supports OrderedDict([[key, value], ...]) from Python 2, and OrderedDict(), encode(text,
        "latin1") and bytes() from Python 3.
        """
        arguments = self.pop()
        constructor = self.pop()
        if type(constructor) is not _Constructor:
            raise _Refused("pickle contains a call")
        if type(arguments) is not tuple:
            raise TypeError("not arguments")
        if constructor is _ORDERED_DICT and len(arguments) <= 1:
            self.stack.append({})
            for pair in self.copied(arguments[0], list) if arguments else ():
                if type(pair) not in (tuple, list) or len(pair) != 2:
                    raise TypeError("not a pair")
                self.set_items(pair)
        elif constructor is _LATIN1 and arguments[1:] in (("latin1",), ("latin-1",)):
            self.stack.append(self.copied(arguments[0], str).encode("latin-1"))
        elif constructor is _BYTES and not arguments:
            self.stack.append(b"")
        else:
            raise _Refused("pickle contains an unsupported call")

    def copied(self, value: Any, kind: type[list] | type[str]) -> Any:
        if type(value) is not kind:
            raise TypeError("not the argument expected")
        self.copies_left -= len(value)
        if self.copies_left < 0:
            raise _Refused("pickle repeats the same items too often")
        return value


def _python2_text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _unquoted(text: bytes) -> bytes:
    """The bytes written by Python 2's `repr`."""
    text = text.strip()
    if len(text) < 2 or text[:1] not in b"'\"" or text[0] != text[-1]:
        raise ValueError("text without quotes")
    return codecs.escape_decode(text[1:-1])[0]


def _asks_for(module: str, name: str) -> _Refused:
    # A line break or a control code in the file's name must not reach the terminal.
    return _Refused(f"pickle contains {ascii(f'{module}.{name}'[:100])[1:-1]}")


def as_pickle(value: Any) -> bytes:
    """A protocol 0 pickle of plain values, with text as Python 2's `str`, in UTF-8.

    Python 2 reads `unicode` from Python 3's own pickles, unlike DL4MT's byte strings.
    """
    return _pickled(value) + b"."


def _pickled(value: Any) -> bytes:
    if value is None:
        return b"N"
    if isinstance(value, bool):
        return b"I01\n" if value else b"I00\n"
    if isinstance(value, (int, np.integer)):
        return b"I%d\n" % int(value)
    if isinstance(value, (float, np.floating)):
        return b"F%s\n" % repr(float(value)).encode()
    if isinstance(value, (str, bytes)):
        raw = value.encode() if isinstance(value, str) else value
        return b"S" + repr(raw)[1:].encode() + b"\n"
    if isinstance(value, (list, tuple)):
        return b"(lp0\n" + b"".join(_pickled(item) + b"a" for item in value)
    if isinstance(value, Mapping):
        items = value.items()
        return b"(dp0\n" + b"".join(_pickled(k) + _pickled(v) + b"s" for k, v in items)
    raise TypeError(f"no pickle for {type(value).__name__}")
