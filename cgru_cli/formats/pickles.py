"""Python 2 and 3 pickles of plain data, read without running anything they ask for.

DL4MT keeps its options (`model.npz.pkl`) and its vocabularies in pickles. A pickle is a program
for a small stack machine; `load` is such a machine that knows only the instructions which build
data. There is no call, import or attribute access in it to be misused.
"""

import codecs
import os
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import CgruError
from ..system.structured_files import LARGEST_CONFIGURATION, LONGEST_NUMBER, read_bytes

MAX_NESTING = 100  # containers within containers
MAX_ITEMS = 50_000_000  # items in all, shared containers counted as often as they are met

READ_AS_DATA = "only dictionaries, lists, text and numbers are read"


class _Stop(Exception):
    """The pickle's last instruction."""


class _Refused(Exception):
    """The pickle asks for something that is not allowed."""


class _Mark:
    """The mark on the stack where the items of a container begin."""


class _Constructor:
    """A constructor on the stack: one of the names that a pickle may call."""


_MARK = _Mark()
_ORDERED_DICT = _Constructor()
_LATIN1 = _Constructor()  # Python 3 writes bytes in the old protocols as text and this call
_BYTES = _Constructor()  # and empty bytes as this one

_CONSTRUCTORS = {
    ("collections", "OrderedDict"): _ORDERED_DICT,
    ("_codecs", "encode"): _LATIN1,
    ("__builtin__", "bytes"): _BYTES,
    ("builtins", "bytes"): _BYTES,
}
_CONTAINERS = frozenset({dict, list, tuple})
_SCALARS = frozenset({str, bytes, int, float, bool, type(None)})


def load(
    source: str | os.PathLike[str] | bytes, what: str, limit: int = LARGEST_CONFIGURATION
) -> Any:
    """Read one pickle (protocols 0 to 5) of plain data from a file, gzipped or not, or from bytes.

    Returns dict (also for OrderedDict), list, tuple, str, bytes, int, float, bool and None. A `str`
    that Python 2 pickled holds bytes: it is decoded as UTF-8, and bytes that are not UTF-8 become
    `\\xNN`, which keeps apart words that differ. Python 2 `unicode`, Python 3 `str` and Python 3
    `bytes` stay what they are.

    `what` says what the pickle is meant to be, for messages ("options"); for bytes it should
    name the file; `limit` is the most bytes of a file. Raises CgruError for anything else than
    data, and for damaged or absurd input.
    """
    if isinstance(source, bytes):
        name, data = what, source
    else:
        name, data = f"{source}", read_bytes(source, what, limit)
    if not data:
        raise CgruError(f"{name}: the file is empty")
    try:
        value = _Machine(data).run()
        _check_extent(value, {}, MAX_NESTING)
    except _Refused as refused:
        raise CgruError(f"{name}: {refused}; refused ({READ_AS_DATA})") from None
    except (IndexError, struct.error, EOFError):
        raise CgruError(f"{name}: damaged or truncated pickle") from None
    except (LookupError, TypeError, ValueError, ArithmeticError, MemoryError, RecursionError):
        raise CgruError(f"{name}: not a pickle, or a damaged one") from None
    return value


def _check_extent(value: Any, known: dict[int, tuple[int, int]], depth: int) -> tuple[int, int]:
    """The depth of a value's nesting and its number of items, counting shared ones each time.

    Lists in which each holds the one before twice are small in memory and endless to whoever
    walks through them; a list that holds itself is so even more.
    """
    if id(value) in known:
        return known[id(value)]
    if type(value) in _SCALARS:
        return 0, 1
    if type(value) not in _CONTAINERS:
        raise _Refused("pickle asks for a class as a value")
    height, items = 0, len(value)
    # Keys are scalars already.
    for child in value.values() if type(value) is dict else value:
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


def _python2_text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _whole(digits: bytes) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise ValueError("a number of no use")
    return int(digits)


def _key(key: Any) -> Any:
    """A dictionary key: never a container, because hashing nested tuples can take for ever."""
    if type(key) in _SCALARS:
        return key
    raise _Refused(f"a dictionary key is a {type(key).__name__}")


class _Machine:
    """The stack machine of the pickle format (described in Python's `pickletools`)."""

    def __init__(self, data: bytes):
        self.data = data
        self.position = 0
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        # Copies may not grow beyond the stream itself: an honest pickle writes out each item.
        self.copies_left = len(data)

    def run(self) -> Any:
        data, instructions = self.data, _INSTRUCTIONS
        try:
            while True:
                code = data[self.position]
                self.position += 1
                instruction = instructions.get(code)
                if instruction is None:
                    raise self.refusal(code)
                instruction(self)
        except _Stop:
            return self.pop()

    def refusal(self, code: int) -> Exception:
        """The error for an instruction that is refused."""
        if code == ord("i"):
            self.name_class(self.line().decode("utf-8"), self.line().decode("utf-8"), called=True)
        if code in _REFUSED:
            return _Refused(f"pickle asks for {_REFUSED[code]}")
        return ValueError("unknown instruction")

    # Arguments in the stream.

    def take(self, count: int) -> bytes:
        start, self.position = self.position, self.position + count
        if self.position > len(self.data):
            raise EOFError
        return self.data[start : self.position]

    def line(self) -> bytes:
        end = self.data.find(b"\n", self.position)
        if end < 0:
            raise EOFError
        start, self.position = self.position, end + 1
        return self.data[start:end]

    def number(self, form: str) -> int:
        size = struct.calcsize(form)
        return struct.unpack(form, self.take(size))[0]

    def counted(self, form: str) -> bytes:
        """Bytes behind their count."""
        count = self.number(form)
        if count < 0:
            raise ValueError("negative size")
        return self.take(count)

    # The stack.

    def pop(self) -> Any:
        value = self.stack.pop()
        if value is _MARK:
            raise ValueError("not a value")
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

    def pop_pairs(self) -> list[tuple[Any, Any]]:
        items = self.pop_to_mark()
        if len(items) % 2:
            raise ValueError("a key without a value")
        return list(zip(items[::2], items[1::2], strict=True))

    # Instructions that do more than push one value.

    def integer_line(self) -> int | bool:
        text = self.line()
        # The old spelling of the two truth values.
        return text == b"01" if text in (b"00", b"01") else _whole(text)

    def long_line(self) -> int:
        return _whole(self.line().removesuffix(b"L"))

    def string_line(self) -> str:
        quoted = self.line().strip()
        if len(quoted) < 2 or quoted[:1] not in b"'\"" or quoted[0] != quoted[-1]:
            raise ValueError("text without quotes")
        return _python2_text(codecs.escape_decode(quoted[1:-1])[0])

    def append(self) -> None:
        value = self.pop()
        self.list_on_top().append(value)

    def appends(self) -> None:
        values = self.pop_to_mark()
        self.list_on_top().extend(values)

    def list_on_top(self) -> list[Any]:
        if not isinstance(self.stack[-1], list):
            raise TypeError("not a list")
        return self.stack[-1]

    def set_item(self) -> None:
        value = self.pop()
        self.set_pairs([(self.pop(), value)])

    def set_items(self) -> None:
        self.set_pairs(self.pop_pairs())

    def set_pairs(self, pairs: list[Any]) -> None:
        mapping = self.stack[-1]
        if not isinstance(mapping, dict):
            raise TypeError("not a dictionary")
        for pair in pairs:
            if type(pair) not in (tuple, list):
                raise TypeError("not a pair")
            key, value = pair
            mapping[_key(key)] = value

    def new_dict(self) -> None:
        pairs = self.pop_pairs()
        self.stack.append({})
        self.set_pairs(pairs)

    def tuple_of(self, count: int) -> None:
        items = [self.pop() for _ in range(count)]
        self.stack.append(tuple(reversed(items)))

    def get(self, index: int) -> None:
        self.stack.append(self.memo[index])

    def put(self, index: int) -> None:
        if self.stack[-1] is _MARK:
            raise ValueError("not a value")
        self.memo[index] = self.stack[-1]

    def global_line(self) -> None:
        self.name_class(self.line().decode("utf-8"), self.line().decode("utf-8"))

    def global_on_stack(self) -> None:
        name, module = self.pop(), self.pop()
        if not (isinstance(module, str) and isinstance(name, str)):
            raise TypeError("a class name is not text")
        self.name_class(module, name)

    def name_class(self, module: str, name: str, called: bool = False) -> None:
        constructor = _CONSTRUCTORS.get((module, name))
        if constructor is None or called:
            # The name is the file's: a line break or a control code must not reach the terminal.
            wanted = ascii(f"{module}.{name}"[:100])[1:-1]
            raise _Refused(f"pickle asks for {wanted}")
        self.stack.append(constructor)

    def reduce(self) -> None:
        """Call one of the constructors.

        That is OrderedDict([[key, value], ...]) from Python 2, OrderedDict(), encode(text,
        "latin1") or bytes() from Python 3.
        """
        arguments = self.pop()
        constructor = self.pop()
        if type(constructor) is not _Constructor:
            raise _Refused("pickle asks for a call")
        if type(arguments) is not tuple:
            raise TypeError("not arguments")
        if constructor is _ORDERED_DICT and len(arguments) <= 1:
            self.stack.append({})
            self.set_pairs(self.copied(arguments[0], list) if arguments else [])
        elif constructor is _LATIN1 and arguments[1:] in (("latin1",), ("latin-1",)):
            self.stack.append(self.copied(arguments[0], str).encode("latin-1"))
        elif constructor is _BYTES and not arguments:
            self.stack.append(b"")
        else:
            raise _Refused("pickle asks for an unusual call")

    def copied(self, value: Any, kind: type[list] | type[str]) -> Any:
        if type(value) is not kind:
            raise TypeError("not the argument expected")
        self.copies_left -= len(value)
        if self.copies_left < 0:
            raise _Refused("pickle asks for the same items again and again")
        return value

    def stop(self) -> None:
        raise _Stop

    def protocol(self) -> None:
        if self.number("<B") > 5:
            raise ValueError("unknown protocol")

    def duplicate(self) -> None:
        self.stack.append(self.pop())
        self.stack.append(self.stack[-1])


def _push(read: Callable[[_Machine], Any]) -> Callable[[_Machine], None]:
    """The instruction that pushes one value."""

    def instruction(machine: _Machine) -> None:
        machine.stack.append(read(machine))

    return instruction


def _utf8(form: str) -> Callable[[_Machine], None]:
    # As pickle writes it: lone surrogates pass.
    return _push(lambda m: m.counted(form).decode("utf-8", "surrogatepass"))


def _python2(form: str) -> Callable[[_Machine], None]:
    return _push(lambda m: _python2_text(m.counted(form)))


def _long(form: str) -> Callable[[_Machine], None]:
    def read(machine: _Machine) -> int:
        digits = machine.counted(form)
        if len(digits) > 16:
            raise ValueError("a number of no use")
        return int.from_bytes(digits, "little", signed=True)

    return _push(read)


_INSTRUCTIONS: dict[int, Callable[[_Machine], None]] = {
    ord(code): instruction
    for code, instruction in {
        "\x80": _Machine.protocol,
        "\x95": lambda m: m.take(8),  # a frame's size, of use to who reads from a pipe
        ".": _Machine.stop,
        "(": _push(lambda m: _MARK),
        "0": lambda m: m.stack.pop(),
        "1": lambda m: m.pop_to_mark(),
        "2": _Machine.duplicate,
        # Scalars.
        "N": _push(lambda m: None),
        "\x88": _push(lambda m: True),
        "\x89": _push(lambda m: False),
        "I": _push(_Machine.integer_line),
        "J": _push(lambda m: m.number("<i")),
        "K": _push(lambda m: m.number("<B")),
        "M": _push(lambda m: m.number("<H")),
        "L": _push(_Machine.long_line),
        "\x8a": _long("<B"),
        "\x8b": _long("<i"),
        "F": _push(lambda m: float(m.line())),
        "G": _push(lambda m: m.number(">d")),
        # Text: Python 2 str, then Python 2 unicode and Python 3 str, then Python 3 bytes.
        "S": _push(_Machine.string_line),
        "T": _python2("<i"),
        "U": _python2("<B"),
        "V": _push(lambda m: m.line().decode("raw-unicode-escape")),
        "X": _utf8("<I"),
        "\x8c": _utf8("<B"),
        "\x8d": _utf8("<Q"),
        "B": _push(lambda m: m.counted("<I")),
        "C": _push(lambda m: m.counted("<B")),
        "\x8e": _push(lambda m: m.counted("<Q")),
        # Containers.
        ")": _push(lambda m: ()),
        "t": _push(lambda m: tuple(m.pop_to_mark())),
        "\x85": lambda m: m.tuple_of(1),
        "\x86": lambda m: m.tuple_of(2),
        "\x87": lambda m: m.tuple_of(3),
        "]": _push(lambda m: []),
        "l": _push(lambda m: m.pop_to_mark()),
        "a": _Machine.append,
        "e": _Machine.appends,
        "}": _push(lambda m: {}),
        "d": _Machine.new_dict,
        "s": _Machine.set_item,
        "u": _Machine.set_items,
        # Values met before.
        "g": lambda m: m.get(int(m.line())),
        "h": lambda m: m.get(m.number("<B")),
        "j": lambda m: m.get(m.number("<I")),
        "p": lambda m: m.put(int(m.line())),
        "q": lambda m: m.put(m.number("<B")),
        "r": lambda m: m.put(m.number("<I")),
        "\x94": lambda m: m.put(len(m.memo)),
        # The one class.
        "c": _Machine.global_line,
        "\x93": _Machine.global_on_stack,
        "R": _Machine.reduce,
    }.items()
}

_REFUSED = {
    ord(code): meaning
    for code, meaning in {
        "o": "an object",
        "b": "an object's state",
        "\x81": "an object",
        "\x92": "an object",
        "P": "an external object",
        "Q": "an external object",
        "\x82": "a registered class",
        "\x83": "a registered class",
        "\x84": "a registered class",
        "\x8f": "a set",
        "\x90": "a set",
        "\x91": "a set",
        "\x96": "a byte array",
        "\x97": "a buffer",
        "\x98": "a buffer",
    }.items()
}


def as_pickle(value: Any) -> bytes:
    """A protocol 0 pickle of plain values in which text is Python 2's `str`, in UTF-8.

    Python 3's own pickles give Python 2 `unicode`, which DL4MT's byte strings do not equal.
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
