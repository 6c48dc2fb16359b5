"""Documents of other programs, written without translations and with texts in capitals.

Other programs read the results: lxml, Babel, python-docx, and regular expressions for .srt and .md.
"""

import argparse
import getopt
import io
import optparse
import pydoc
import re
import shlex
import textwrap
import zipfile
from importlib import metadata
from pathlib import Path

import click
import docx
import markdown
import pytest
import yaml
from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.pofile import read_po, write_po
from documentation import ROOT
from lxml import etree, html
from tables import each_row

from cgru_cli.documents.reader import document_of

FILES = Path(__file__).parent / "files"
WORDS = {"_": None, "ngettext": (1, 2), "gettext": None}


def capitals(segment):
    """A segment with text in capitals, and tags, code and entities as they were."""
    parts = re.split(r"(<code>.*?</code>|<[^<>]*>|&#?\w+;)", segment)
    return "".join(part if i % 2 else part.upper() for i, part in enumerate(parts))


def both(name, content, change=capitals):
    """The document written with its own segments, and with changed ones."""
    document = document_of(name, content)
    assert document.segments and not any("\n" in one for one in document.segments)
    same = document.written(document.segments)
    again = document_of(name, content)
    changed = again.written([change(one) for one in again.segments])
    return same, changed


def stored(ending):
    return {path.name: path.read_bytes() for path in sorted(FILES.glob(f"*{ending}"))}


def description(package):
    return metadata.metadata(package).get_payload()


def upper(text):
    return text.upper() if text else text


TEXTS = stored(".txt") | {
    f"{name}.txt": text.encode()
    for name, text in {
        "license": click.__doc__ or textwrap.__doc__,
        "windows": "One line.\r\n\r\n  Indented.\t\r\nNo end",
        "argparse": argparse.__doc__,
        "shlex": Path(shlex.__file__).read_text("utf-8"),
        "bom": "\ufeffFirst.\nSecond.\n",
    }.items()
}
PAGES = stored(".html") | {
    "pydoc.html": pydoc.HTMLDoc().document(textwrap).encode(),
    "pydoc-getopt.html": pydoc.HTMLDoc().document(getopt).encode(),
    "markdown.html": markdown.markdown(description("starlette")).encode(),
    "readme.html": markdown.markdown((ROOT / "README.md").read_text("utf-8")).encode(),
}
MARKDOWN = stored(".md") | {
    "README.md": (ROOT / "README.md").read_bytes(),
    "server.md": (ROOT / "docs/server.md").read_bytes(),
    "starlette.md": description("starlette").encode(),
    "msgspec.md": description("msgspec").encode(),
    "matter.md": b"---\ntitle: A title\n---\n\n# Head #\r\n\n> - *Two*\n>   lines\n\n    code\n",
}


def catalogue(module):
    found = Catalog(locale="de")
    for line, message, _, _ in extract_from_file("python", module.__file__, keywords=WORDS):
        found.add(message, None, [(module.__name__, line)])
    out = io.BytesIO()
    write_po(out, found)
    return out.getvalue()


MODULES = (click.exceptions, click.core, click.types, argparse, optparse)
CATALOGUES = stored(".po") | stored(".pot")
CATALOGUES |= {f"{module.__name__}.po": catalogue(module) for module in MODULES}


@each_row("name", TEXTS)
def test_lines_of_plain_text(name):
    same, changed = both(name, TEXTS[name], str.upper)
    assert same == TEXTS[name]
    assert changed.decode().split(" ") != same.decode().split(" ")
    lines = [[line.split() for line in x.decode().splitlines()] for x in (same, changed)]
    assert lines[1] == [[word.upper() for word in line] for line in lines[0]]


def _tree(content):
    return [
        (one.tag, sorted(one.attrib.items()), " ".join((one.text or "").split()),
         " ".join((one.tail or "").split()))
        for one in html.document_fromstring(content, html.HTMLParser(encoding="utf-8")).iter()
        if isinstance(one.tag, str)
    ]  # fmt: skip


@each_row("name", PAGES)
def test_html(name):
    same, changed = both(name, PAGES[name])
    assert same == PAGES[name]
    kept = ("script", "style", "pre", "code", "html", "head")
    before, after = _tree(PAGES[name]), _tree(changed)
    assert [one[:2] for one in before] == [one[:2] for one in after]
    shown = [(a, b) for a, b in zip(before, after, strict=True) if a[0] not in kept]
    assert sum(a[2].upper() == b[2] != a[2] for a, b in shown) > 5
    assert [
        a for a, _ in zip(before, after, strict=True) if a[0] in ("script", "style", "pre")
    ] == [b for b in after if b[0] in ("script", "style", "pre")] or "pre" in name


def _blocks(content):
    """Code blocks and front matter, and the kinds of lines."""
    text = content.decode()
    matter = re.match(r"---\n.*?\n---\n", text, re.DOTALL)
    fences = re.findall(r"^(?:```|~~~).*?^(?:```|~~~)$", text, re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ ", text, re.MULTILINE)
    links = re.findall(r"\]\(([^()\s]*)", text)
    return matter and matter[0], fences, headings, links, re.findall(r"`[^`\n]+`", text)


@pytest.mark.parametrize("name", MARKDOWN)
def test_markdown(name):
    same, changed = both(name, MARKDOWN[name], lambda one: one.replace("e", "€").replace("€", "e"))
    assert same == changed == MARKDOWN[name]
    _, changed = both(name, MARKDOWN[name], lambda one: f"{one} +")
    assert _blocks(changed)[:4] == _blocks(MARKDOWN[name])[:4]
    assert sorted(set(_blocks(MARKDOWN[name])[4])) == sorted(set(_blocks(changed)[4]))
    assert changed.count(b" +") >= 2
    if name == "matter.md":
        assert b"> - *Two* lines +\n" in changed and b"\n    code\n" in changed
        assert yaml.safe_load(changed.decode().split("---")[1]) == {"title": "A title"}


@each_row("name", stored(".srt"))
def test_subtitles(name):
    content = (FILES / name).read_bytes()
    same, changed = both(name, content)
    assert same.rstrip() == content.rstrip()
    times = rb"(?m)^\d\d:\d\d:\d\d,\d{3} --> .*$"
    assert re.findall(times, changed) == re.findall(times, content)

    def words(text):
        return [re.sub(rb"<[^>]*>|\{[^}]*\}", b"", line) for line in text.strip().splitlines()]

    upper = [line if b"-->" in line else line.decode().upper().encode() for line in words(content)]
    assert words(changed) == upper
    tags = rb"<[^>]*>|\{\\[^}]*\}"
    assert re.findall(tags, changed) == re.findall(tags, content)


@each_row("name", CATALOGUES)
def test_messages(name):
    same, changed = both(name, CATALOGUES[name])
    before, after = (read_po(io.BytesIO(x)) for x in (CATALOGUES[name], changed))
    copied = read_po(io.BytesIO(same))
    assert len(before) == len(after) == len(copied) > 3
    for message in before:
        if not message.id:
            continue
        given = [message.id] if isinstance(message.id, str) else list(message.id)
        for found, change in ((copied, str), (after, str.upper)):
            one = found.get(message.id, message.context)
            strings = [one.string] if isinstance(one.string, str) else list(one.string)
            assert one.locations == message.locations and one.flags == message.flags
            if any(message.string):  # translated already
                assert one.string == message.string
                continue
            sources = [given[0], *[given[-1]] * (len(strings) - 1)]
            for source, string in zip(sources, strings, strict=True):
                codes = r"%\(\w+\)[drs]|%[drs]|\{[^{} ]*\}"
                assert re.findall(codes, string) == re.findall(codes, source)
                plain = [re.sub(codes, "", text) for text in (source, string)]
                if any(map(str.isalpha, plain[0])):
                    assert plain[1] == change(plain[0])


@each_row("name", [*stored(".xlf"), *stored(".xliff")])
def test_units(name):
    content = (FILES / name).read_bytes()
    same, changed = both(name, content)
    before, copied, after = map(etree.fromstring, (content, same, changed))

    def shape(element):
        return element.tag, sorted(element.attrib.items()), [shape(one) for one in element]

    filled = 0
    sources = [list(tree.iter("{*}source")) for tree in (before, copied, after)]
    for old, same_one, new in zip(*sources, strict=True):
        assert shape(old) == shape(same_one) == shape(new)
        assert "".join(old.itertext()) == "".join(new.itertext())
        target, given = new.getparent().find("{*}target"), old.getparent().find("{*}target")
        if given is not None and (
            (given.text and given.get("state") != "new") or not "".join(old.itertext()).strip()
        ):
            assert given.text == target.text
            continue
        copy = same_one.getparent().find("{*}target")
        assert shape(copy)[2] == shape(target)[2] == shape(old)[2]
        assert "".join(copy.itertext()) == "".join(old.itertext())
        codes = re.compile(r"%\(\w+\)[drs]|%[drs]|\{[^{} ]*\}")
        texts = ["".join(one.itertext()) for one in (old, target)]
        assert codes.findall(texts[0]) == codes.findall(texts[1])
        given_text, target_text = (codes.sub("", text) for text in texts)
        if "{VAR_" in given_text:  # arguments and selectors are not translated
            selectors = re.compile(r"\{VAR_\w+, \w+, \S+ \{|\} \S+ \{")
            assert selectors.findall(target_text) == selectors.findall(given_text) != []
            assert target_text != given_text
            target_text = target_text.upper()
        assert target_text == given_text.upper() or old[:]
        filled += 1
    assert filled


def _members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _same_xml(one, other):
    return etree.tostring(etree.fromstring(one), method="c14n") == etree.tostring(
        etree.fromstring(other), method="c14n"
    )


@each_row("name", stored(".docx"))
def test_word(name):
    content = (FILES / name).read_bytes()
    same, changed = both(name, content)
    members = _members(content)
    assert list(members) == list(_members(same)) == list(_members(changed))
    assert all(x == members[n] or _same_xml(x, members[n]) for n, x in _members(same).items())
    before, after = (docx.Document(io.BytesIO(x)) for x in (content, changed))
    for old, new in zip(before.paragraphs, after.paragraphs, strict=True):
        assert new.text == old.text.upper() and new.style.name == old.style.name
        assert [h.address for h in new.hyperlinks] == [h.address for h in old.hyperlinks]
        for look in ("bold", "italic"):
            texts = [
                [r.text.upper() for r in p.runs if getattr(r, look) and r.text] for p in (old, new)
            ]
            assert "".join(texts[0]) == "".join(texts[1])
    cells = [[c.text for t in d.tables for r in t.rows for c in r.cells] for d in (before, after)]
    assert cells[1] == [text.upper() for text in cells[0]]
    heads = [d.sections[0].header.paragraphs[0].text for d in (before, after)]
    assert heads[1] == heads[0].upper()
    changed_parts = {n for n, x in _members(changed).items() if x != members[n]}
    assert all(re.fullmatch(r"word/(document|header\d*|footer\d*|\w+notes)\.xml", n)
               for n in changed_parts)  # fmt: skip
