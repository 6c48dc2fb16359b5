"""Read the text of a compiled XLA program (HLO): its loops, and the operations of their steps."""

from __future__ import annotations

import collections
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

# operations without work: names for parts of memory
FREE = {"bitcast", "constant", "get-tuple-element", "parameter", "tuple"}
HOST = {"infeed", "outfeed", "recv", "recv-done", "send", "send-done"}
MOST_STEPS = 100_000

_INSTRUCTION = re.compile(
    r"^\s+(?P<root>ROOT )?%?(?P<name>[\w.\-]+) = (?P<type>\([^=]*?\)|\S+) (?P<operation>[\w\-]+)"
    r"\((?P<operands>.*?)\)(?P<rest>.*)$"
)
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
}


class Instruction(NamedTuple):
    """One line: name = type operation(operands), attributes."""

    name: str
    type: str
    operation: str
    operands: list[str]
    rest: str
    root: bool

    def attribute(self, name: str) -> str:
        """The attribute in the text after the operands; "" if missing."""
        found = re.search(rf'\b{name}=[%"]?([\w.\-]+)', self.rest)
        return found[1] if found else ""


class Loop(NamedTuple):
    """A loop, and the operations of its steps."""

    steps: int | None  # None if unknown
    operations: collections.Counter[str]  # by kind, without those without work


Computations = Mapping[str, list[Instruction]]


def read(text: str) -> Computations:
    """Instructions by computation."""
    computations: dict[str, list[Instruction]] = {}
    inside: list[Instruction] = []
    for line in text.splitlines():
        head = re.match(r"(?:ENTRY )?%?([\w.\-]+) \(.*\{$", line)
        if head:
            inside = computations[head[1]] = []
            continue
        found = _INSTRUCTION.match(re.sub(r"/\*.*?\*/", "", line))
        if found:
            operands = re.findall(r"%?([\w.\-]+)(?:,|$)", found["operands"])
            inside.append(
                Instruction(
                    found["name"],
                    found["type"],
                    found["operation"],
                    operands,
                    found["rest"],
                    bool(found["root"]),
                )
            )
    return computations


def loops(text: str) -> list[Loop]:
    """All loops, in order."""
    computations = read(text)
    return [
        Loop(
            steps(computations, instructions, instruction),
            collections.Counter(
                inner.operation
                for inner in computations[instruction.attribute("body")]
                if inner.operation not in FREE
            ),
        )
        for instructions in computations.values()
        for instruction in instructions
        if instruction.operation == "while"
    ]


def steps(computations: Computations, around: list[Instruction], loop: Instruction) -> int | None:
    """The number of iterations of a loop, from XLA's annotation or from its condition.

    None unless the condition reads a single counter, which starts at 0 and is incremented by 1.
    """
    noted = re.search(r'"known_trip_count":\{"n":"(\d+)"', loop.rest)
    if noted:
        return int(noted[1])
    condition = computations[loop.attribute("condition")]
    read_here = {i.attribute("index") for i in condition if i.operation == "get-tuple-element"}
    if len(read_here) != 1:
        return None
    (place,) = map(int, read_here)
    names = {i.name: i for i in around}
    given = names[loop.operands[0]]
    if given.operation != "tuple":
        return None
    start = names[given.operands[place]]
    while start.operation == "copy":
        start = names[start.operands[0]]
    if start.operation != "constant" or start.operands != ["0"]:
        return None
    body = computations[loop.attribute("body")]
    try:
        for count in range(MOST_STEPS):
            if _value(computations, body, {place: count}, place) != count + 1:
                return None
            if not _value(computations, condition, {place: count}):
                return count
    except KeyError:  # not of integers
        return None
    return None


def _value(
    computations: Computations, inside: list[Instruction], carried: dict, result: int | None = None
) -> int | bool:
    """The result of an integer computation; result: the index in a tuple."""
    names = {i.name: i for i in inside}

    def value(name: str) -> int | bool:
        i = names[name]
        if i.operation == "constant":
            return {"true": True, "false": False}.get(i.operands[0]) or int(i.operands[0])
        if i.operation == "get-tuple-element":
            return carried[int(i.attribute("index"))]
        if i.operation == "parameter":
            return carried[int(i.operands[0])]
        given = [value(operand) for operand in i.operands]
        if i.operation in ("copy", "bitcast"):
            return given[0]
        if i.operation in ("fusion", "call"):
            called = computations[i.attribute("calls") or i.attribute("to_apply")]
            return _value(computations, called, dict(enumerate(given)))
        if i.operation == "compare":
            return _COMPARED[i.attribute("direction")](*given)
        return {"add": sum, "and": all, "or": any}[i.operation](given)

    (root,) = (i for i in inside if i.root)
    return value(root.name if result is None else root.operands[result])


def transfers(text: str) -> set[str]:
    """Operations that communicate with the host."""
    return {i.operation for i in _all(text) if i.operation in HOST} | {
        i.attribute("custom_call_target")
        for i in _all(text)
        if i.operation == "custom-call" and "callback" in i.rest
    }


def unknown_shapes(text: str) -> list[str]:
    """Types whose size is only known at run time."""
    return [i.type for i in _all(text) if "<=" in i.type or "?" in i.type]


def _all(text: str) -> Iterator[Instruction]:
    for instructions in read(text).values():
        yield from instructions
