"""Word documents (.docx): paragraphs in text, tables, notes, headers, footers and boxes.

Word splits words into runs. Here, runs of the same format are one text; marks stand for runs whose
format differs from most of their paragraph, and for other elements between words.
"""

import io
import posixpath
import re
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

from ..errors import CgruError
from .document import LINE_BREAK, Document, translatable
from .inline import escaped, tokens
from .xml import etree, parsed, serialised

LARGEST = 100 << 20  # bytes of the unpacked files
RATIO = 100  # maximum ratio of unpacked files to the document
_BESIDE = ("header", "footer", "footnotes", "endnotes")  # parts related to the main part
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STRICT = "{http://purl.oclc.org/ooxml/"  # begins the namespaces of Strict Open XML
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_CONTROL, _CONTENT = f"{_W}sdt", f"{_W}sdtContent"
_FIELD, _CODE = f"{_W}fldSimple", f"{_W}instr"
_CHECK_BOX = f"{_W}sdtPr/{{http://schemas.microsoft.com/office/word/2010/wordml}}checkbox"
_AROUND = {f"{_W}{name}" for name in "hyperlink ins moveTo smartTag customXml dir bdo".split()}
_PROPERTIES = {f"{_W}{name}Pr" for name in ("sdt", "sdtEnd", "smartTag", "customXml")}
_LINK = re.compile(r"\s*HYPERLINK\b", re.IGNORECASE)
_DEEPEST = 8  # elements around a text; each piece of text repeats them
_DROPPED = (f"{_W}proofErr", f"{_W}lastRenderedPageBreak", f"{_W}softHyphen")


class Word(Document):
    """A document; only paragraphs with a different translation are rewritten."""

    media_type = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

    def __init__(self, content: bytes):
        """Raises CgruError for a file with macros, in Strict Open XML, or too large unpacked."""
        super().__init__()
        self._archive = zipfile.ZipFile(io.BytesIO(content))
        files = self._archive.infolist()
        unpacked = sum(one.file_size for one in files)
        if unpacked > min(LARGEST, RATIO * len(content)):
            raise CgruError(
                f"{unpacked:,} bytes when unpacked; at most {LARGEST:,} are read, and {RATIO} "
                "times the size of the file"
            )
        names = self._archive.namelist()
        mains = _related(self._archive, "", ("officeDocument",)).intersection(names)
        if not mains:
            raise CgruError("not a .docx file")
        main = mains.pop()
        types = self._archive.read("[Content_Types].xml")
        if b"macroEnabled" in types or any(name.endswith("vbaProject.bin") for name in names):
            raise CgruError("has macros; save it as a .docx file without them")
        for one in files:
            self._archive.read(one)  # a damaged file is refused now, not after the translation
        parts = {main} | _related(self._archive, main, _BESIDE)
        self._trees = {name: parsed(self._archive.read(name)) for name in names if name in parts}
        if self._trees[main].getroot().tag.startswith(_STRICT):
            raise CgruError("in Strict Open XML format; save it as a normal Word document (.docx)")
        every = (_Paragraph(p) for tree in self._trees.values() for p in tree.iter(f"{_W}p"))
        self._paragraphs = [one for one in every if translatable(one.plain)]
        self.segments = [one.segment for one in self._paragraphs]

    def written(self, translations: Sequence[str]) -> bytes:
        for paragraph, translation in zip(self._paragraphs, translations, strict=True):
            if translation != paragraph.segment:
                paragraph.write(translation)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for one in self._archive.infolist():
                tree = self._trees.get(one.filename)
                content = self._archive.read(one) if tree is None else serialised(tree)
                archive.writestr(one, content)
        return out.getvalue()


def _related(archive: zipfile.ZipFile, part: str, kinds: Collection[str]) -> set[str]:
    """The names of the parts of these kinds to which a part ("": the whole file) is related."""
    folder, name = posixpath.split(part)
    relations = posixpath.join(folder, "_rels", f"{name}.rels")
    if relations not in archive.namelist():
        return set()
    return {
        posixpath.normpath(posixpath.join("/", folder, one.get("Target", ""))).lstrip("/")
        for one in parsed(archive.read(relations)).iter("{*}Relationship")
        if posixpath.basename(one.get("Type", "")) in kinds
    }


class _Piece(NamedTuple):
    """A text in one format or, if `text` is None, elements between texts."""

    text: str | None
    format: Any = None  # w:rPr of a run
    around: tuple[Any, ...] = ()  # the enclosing elements, such as a hyperlink, outermost first
    elements: Sequence[Any] = ()  # of the run if there is one, otherwise of the paragraph
    in_run: bool = False

    @property
    def key(self) -> tuple:
        """The format as a value; equal for texts that are formatted alike."""
        shown = etree().tostring(self.format) if self.format is not None else b""
        return shown, self.around


class _Paragraph:
    """A paragraph as a segment."""

    def __init__(self, element: Any):
        self._element = element
        self._pieces: list[_Piece] = []
        for piece in _pieces(element, ()):
            last = self._pieces[-1] if self._pieces else None
            if last and piece.text and last.text is not None and last.key == piece.key:
                self._pieces[-1] = last._replace(text=last.text + piece.text)
            else:
                self._pieces.append(piece)
        self.plain = "".join(piece.text or "" for piece in self._pieces)
        sizes: Counter = Counter()
        for piece in self._pieces:
            if piece.text and not piece.around:
                sizes[piece.key] += sum(map(str.isalpha, piece.text))
        base = sizes.most_common(1)[0][0] if sizes else None
        of_base = (piece for piece in self._pieces if piece.text and piece.key == base)
        self._base = next(of_base, _Piece(""))
        shown = []
        for i, piece in enumerate(self._pieces):
            if piece.text is not None and piece.key == base:
                shown.append(escaped(piece.text))
            elif piece.text is None or not translatable(piece.text):
                shown.append(f"<x{i}/>")
            else:
                shown.append(f"<x{i}>{escaped(piece.text)}</x{i}>")
        self.segment = "".join(shown)

    def write(self, translation: str) -> None:
        """Replace the runs with runs for a translation."""
        paragraph = self._element
        for child in list(paragraph):
            if child.tag != f"{_W}pPr":
                paragraph.remove(child)
        opened: list[tuple[_Piece, Any]] = [(self._base, paragraph)]
        for token in tokens(translation):
            piece, parent = opened[-1]
            if token.kind == "text":
                parent.append(_run(piece.format, [_text(token.text)]))
            elif token.kind == "open":
                inner = self._pieces[token.number]
                opened.append((inner, _within(inner.around, parent)))
            elif token.kind == "close":
                opened.pop()
            else:
                point = self._pieces[token.number]
                parent = _within(point.around, parent)
                elements = list(point.elements) if point.text is None else [_text(point.text)]
                parent.extend([_run(point.format, elements)] if point.in_run else elements)


def _within(around: Iterable[Any], parent: Any) -> Any:
    """The innermost of new elements like `around`, such as a hyperlink, in the parent."""
    for one in around:
        parent = etree().SubElement(parent, one.tag, one.attrib)
        parent.extend(deepcopy(inside) for inside in one if inside.tag in _PROPERTIES)
        if one.tag == _CONTROL:
            parent = etree().SubElement(parent, _CONTENT)
    return parent


def _text(text: str) -> Any:
    element = etree().Element(f"{_W}t", {_SPACE: "preserve"})
    element.text = text
    return element


def _run(style: Any, elements: Sequence[Any]) -> Any:
    run = etree().Element(f"{_W}r")
    if style is not None:
        run.append(deepcopy(style))
    run.extend(elements)
    return run


def _pieces(children: Iterable[Any], around: tuple[Any, ...]) -> Iterator[_Piece]:
    """The texts of a paragraph or hyperlink, and the elements between them."""
    field: list[Any] = []
    depth = 0
    for child in children:
        is_run = child.tag == f"{_W}r"
        changes = _changes(child)
        more = changes.count("begin") - changes.count("end")
        if depth or more or (changes and is_run):
            depth = max(0, depth + more)
            field.append(child)
            if not depth:
                yield from _of_field(field, around)
                field = []
        elif is_run:
            style = child.find(f"{_W}rPr")
            for one in child:
                if one.tag == f"{_W}t" and one.text:
                    yield _Piece(LINE_BREAK.sub(" ", one.text), style, around, in_run=True)
                elif one.tag not in (f"{_W}rPr", f"{_W}t", *_DROPPED):
                    yield _Piece(None, style, around, [one], in_run=True)
        elif len(around) < _DEEPEST and _has_text(child):
            inside = child.find(_CONTENT) if child.tag == _CONTROL else child
            yield from _pieces(inside, (*around, child))
        elif child.tag not in (f"{_W}pPr", *_PROPERTIES, *_DROPPED):
            yield _Piece(None, around=around, elements=[child])
    if field:
        yield _Piece(None, around=around, elements=field)


def _has_text(element: Any) -> bool:
    """Whether an element contains runs with text to translate."""
    if element.tag == _CONTROL:
        return element.find(_CONTENT) is not None and element.find(_CHECK_BOX) is None
    is_link = element.tag == _FIELD and _LINK.match(element.get(_CODE, ""))
    return element.tag in _AROUND or bool(is_link)


def _changes(element: Any) -> list[str]:
    """The field characters in an element: begin, separate (before the result) and end."""
    return [one.get(f"{_W}fldCharType") for one in element.iter(f"{_W}fldChar")]


def _of_field(field: Sequence[Any], around: tuple[Any, ...]) -> Iterator[_Piece]:
    """The texts of a hyperlink field; another field, whose result Word computes, is one piece."""
    changes = [_changes(one) for one in field]
    code = "".join(one.text or "" for part in field for one in part.iter(f"{_W}instrText"))
    begin = next((i for i, one in enumerate(changes, 1) if "separate" in one), len(field))
    outside = [*field[:begin], field[-1]]
    whole = sum(map(len, changes)) == 3 and begin < len(field) - 1
    if _LINK.match(code) and whole and not any(True for x in outside for _ in x.iter(f"{_W}t")):
        link = etree().Element(_FIELD, {_CODE: code})
        yield from _pieces(field[begin:-1], (link, *around))
    else:
        yield _Piece(None, around=around, elements=field)
