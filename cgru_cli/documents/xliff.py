"""XLIFF 1.2 and 2 (.xlf, .xliff): the segments are the units without a translation."""

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any
from xml.sax.saxutils import quoteattr

from ..errors import CgruError, warn
from .document import Document
from .inline import Mark
from .messages import Message, marks_of, messages
from .xml import etree, parsed, serialised

_OPENING, _CLOSING = frozenset(("bpt", "bx", "sc", "sm")), frozenset(("ept", "ex", "ec", "em"))
_CODES = _OPENING | _CLOSING | {"ph", "it", "x", "cp"}
_OF_ANGULAR = re.compile(r"(START|CLOSE)_(.+?)(?:_\d+)?")  # ids of <x/>
_TRANSLATED = "node() and not(@mtype = 'protected' or @*[local-name() = 'translate'] = 'no')"
_NEW = ("new", "needs-translation", "initial")


class Xliff(Document):
    """Units whose target is missing, empty or marked as not yet translated."""

    media_type = "application/xliff+xml"

    def __init__(self, content: bytes):
        """Raises CgruError for a file that is not XLIFF."""
        super().__init__()
        self._tree = parsed(content)
        root = self._tree.getroot()
        if etree().QName(root).localname != "xliff":
            raise CgruError("not an XLIFF file")
        sources = [
            source
            for source in root.iter("{*}source")
            if etree().QName(source.getparent()).localname in ("trans-unit", "segment")
            and _is_open(source.getparent())
        ]
        parts = [(source, part) for source in sources for part in _parts(_segmented(source))]
        marks = marks_of()
        found = messages([([*_symbols(part)], marks) for _, part in parts], xml=True)
        self._units: dict[Any, list[Message]] = {source: [] for source in sources}
        for (source, _), message in zip(parts, found, strict=True):
            self._units[source].append(message)
            self.segments += message.segments

    def written(self, translations: Sequence[str]) -> bytes:
        left, filled = iter(translations), 0
        for source, found in self._units.items():
            if not any(message.segments for message in found):
                continue
            target, filled = source.getparent().find("{*}target"), filled + 1
            if target is None:
                target = etree().SubElement(
                    source.getparent(), source.tag.removesuffix("source") + "target"
                )
                before = next(source.itersiblings("{*}seg-source"), source)
                target.tail = before.tail
                before.addnext(target)
            copied = deepcopy(_segmented(source))
            target.text, target[:] = copied.text, list(copied)
            for part, message in zip(_parts(target), found, strict=True):
                _fill(part, message.restored(left))
            if target.get("state"):
                target.set("state", "translated")
            elif source.getparent().get("state"):
                source.getparent().set("state", "translated")
        if filled:
            self._name_language()
        return serialised(self._tree)

    def _name_language(self) -> None:
        """Write the target language where the file does not name it, or warn."""
        root, name = self._tree.getroot(), "target-language"
        files = root.iter("{*}file")
        if root.get("version", "").startswith("2"):
            files, name = [root], "trgLang"
        unnamed = [one for one in files if not one.get(name)]
        if unnamed and not self.target_language:
            warn(f"{name} is missing, and the model does not state its language; add it")
            return
        for one in unnamed:
            one.set(name, self.target_language)


def _segmented(source: Any) -> Any:
    """The source as tools have split it into segments, or the source itself."""
    found = source.getparent().find("{*}seg-source")
    return source if found is None else found


def _parts(element: Any) -> list[Any]:
    """The segments that tools have marked in a text, or the text itself."""
    found = [one for one in element.iter("{*}mrk") if one.get("mtype") == "seg"]
    return found or [element]


def _fill(element: Any, content: str) -> None:
    """Replace the content of an element."""
    names = "".join(
        f" xmlns{f':{prefix}' if prefix else ''}={quoteattr(uri)}"
        for prefix, uri in element.nsmap.items()
        if prefix != "xml"
    )
    filled = etree().fromstring(f"<target{names}>{content}</target>")
    element.text, element[:] = filled.text, list(filled)


def _symbols(element: Any) -> Iterator[str | Mark]:
    """The characters and marks in an element; codes and protected text are one mark each."""
    yield from element.text or ""
    for one in element:
        shown = etree().tostring(one, encoding="unicode", with_tail=False)
        name = etree().QName(one).localname if isinstance(one.tag, str) else ""
        if not name or name in _CODES or not one.xpath(_TRANSLATED):
            yield Mark(shown, *_role(one, name))
        else:
            yield Mark(shown[: shown.index(">") + 1], "open", "<")
            yield from _symbols(one)
            yield Mark(shown[shown.rindex("<") :], "close", "<")
        yield from one.tail or ""


def _role(code: Any, name: str) -> tuple[str, str]:
    """The kind of a code, and the name that it shares with the other code of its pair."""
    if name == "x" and (angular := _OF_ANGULAR.fullmatch(code.get("id", ""))):
        return "open" if angular[1] == "START" else "close", angular[2]
    if name not in _OPENING | _CLOSING:
        return "point", ""
    shared = code.get("rid") or code.get("startRef") or code.get("id")
    return "open" if name in _OPENING else "close", f"{name in ('sm', 'em')} {shared}"


def _has_content(target: Any) -> bool:
    """Whether a target has text, or an element other than empty segments."""
    if target.xpath("normalize-space()"):
        return True
    return any(etree().QName(one).localname != "mrk" for one in target.iterdescendants("{*}*"))


def _is_open(unit: Any) -> bool:
    """Whether a unit still needs a translation."""
    stated = (one.get("translate") for one in (unit, *unit.iterancestors()))
    if next(filter(None, stated), "yes") == "no":
        return False
    target = unit.find("{*}target")
    done = target is not None and _has_content(target)
    state = (target.get("state") if target is not None else None) or unit.get("state")
    return not done or state in _NEW
