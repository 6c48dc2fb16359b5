"""XLIFF 1.2 and 2 (.xlf, .xliff): the segments are the units without a translation."""

import re
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from ..errors import CgruError, warn
from .document import Document, translatable
from .inline import PLACEHOLDER, MarkedText
from .xml import etree, parsed, serialised

_CODE = "ph|bpt|ept|it|sub|bx|ex|x|sc|ec|sm|em|cp"
_MARKS = re.compile(
    rf"<(?P<code>(?:\w+:)?(?:{_CODE}))\b[^<>]*(?:/>|(?<!/)>.*?</(?P=code)>)|<!--.*?-->|<\?.*?\?>"
    r"|<(?P<kept>(?:\w+:)?mrk)\b[^<>]*\s(?:mtype=\"protected\"|translate=\"no\")[^<>]*"
    r"(?:/>|(?<!/)>(?:(?!<(?:\w+:)?mrk\b).)*?</(?P=kept)>)"
    rf"|<(?P<slash>/?)(?P<name>[\w:.-]+)[^<>]*>|{PLACEHOLDER}|(?<!\s)\s*\n\s*",
    re.DOTALL,
)
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
        self._units: list[tuple[Any, MarkedText]] = []
        for source in root.iter("{*}source"):
            unit = source.getparent()
            if etree().QName(unit).localname in ("trans-unit", "segment") and _is_open(unit):
                marked = MarkedText(_inner(source), _MARKS, xml=True)
                if translatable(marked.plain):
                    self._units.append((source, marked))
        self.segments = [marked.segment for _, marked in self._units]

    def written(self, translations: Sequence[str]) -> bytes:
        for (source, marked), translation in zip(self._units, translations, strict=True):
            target = source.getparent().find("{*}target")
            if target is None:
                target = etree().SubElement(
                    source.getparent(), source.tag.removesuffix("source") + "target"
                )
                before = next(source.itersiblings("{*}seg-source"), source)
                target.tail = before.tail
                before.addnext(target)
            names = "".join(
                f" xmlns{f':{prefix}' if prefix else ''}={quoteattr(uri)}"
                for prefix, uri in source.nsmap.items()
                if prefix != "xml"
            )
            filled = etree().fromstring(f"<target{names}>{marked.restored(translation)}</target>")
            target.text, target[:] = filled.text, list(filled)
            if target.get("state"):
                target.set("state", "translated")
            elif source.getparent().get("state"):
                source.getparent().set("state", "translated")
        if self._units:
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


def _inner(element: Any) -> str:
    """The XML between the tags of an element."""
    text = etree().tostring(element, encoding="unicode", with_tail=False)
    return text[text.index(">") + 1 : text.rindex("</")] if "</" in text else ""


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
