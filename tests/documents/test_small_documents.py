"""Details of formats that are rare in documents of other programs."""

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from tables import each_row

from cgru_cli.documents.reader import document_of

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def translated(name, text, old="", new=""):
    """The segments, and the document with `new` instead of `old` in all of them."""
    document = document_of(name, text if isinstance(text, bytes) else text.encode())
    segments = document.segments
    return segments, document.written([one.replace(old, new) for one in segments])


TAG = """<a href="/s?q=a  b" onclick="f('x  y')">"""


@pytest.mark.parametrize("tag", [TAG, TAG.replace("  ", "\t"), TAG.replace(" onclick", "\r\n x")])
def test_spaces_in_tags_are_kept(tag):
    segments, written = translated("a.html", f"<p>One\n\n two {tag}of  it</a>.</p>", "two", "2")
    assert segments == [f"One two {tag}of it</a>.".replace("\r\n", " ")]
    assert written.decode() == f"<p>One 2 {tag}of it</a>.</p>"


@pytest.mark.parametrize(
    ("page", "segments"),
    [
        ("<ul><li {}>Tom<ul><li>A</ul><li>The dog</ul><h2>B</h2>", ["The dog", "B"]),
        ("<ul><li>A<li {}>Tom</b><p>B</ul>The dog", ["A", "The dog"]),
        ("<div><p {}>Tom <b>B</b></div>The dog<p {}>Tom<h1>A</h1>", ["The dog", "A"]),
        ("<tr><td {}>A<table><tr><td>B</table>C<td>D<tr {}><td>E<tr><td>F", ["D", "F"]),
        ("<dl><dt {}>Tom<dd>A<dd {}>B</dl>C<div {}><p>D<p>E</div>F", ["A", "C", "F"]),
    ],
)
def test_an_untranslated_element_ends_without_its_end_tag(page, segments):
    page = page.replace("{}", "translate=no")
    assert document_of("a.html", page.encode()).segments == segments


@pytest.mark.parametrize(
    ("declared", "encoding", "written"),
    [
        ('charset="ISO-8859-1"', "latin-1", "ä &#8364;"),
        ("http-equiv=Content-Type content='text/html; charset=koi8-r'", "koi8-r", "&#228; &#8364;"),
        ("charset=utf-16", "utf-8", "ä €"),
        ("charset=unknown", "utf-8", "ä €"),
    ],
)
def test_a_page_keeps_the_encoding_that_it_declares(declared, encoding, written):
    page = f"<meta {declared}><p>©</p><p>One</p>"
    _, changed = translated("a.html", page.encode(encoding), "One", "ä €")
    assert changed.decode(encoding) == page.replace("One", written)


CATALOGUE = """msgid ""
msgstr ""
"Content-Type: text/plain; charset={charset}\\n"
"Plural-Forms: nplurals={count}; plural=0;\\n"

msgid "One file"
msgid_plural "%d files"
"""


@pytest.mark.parametrize("charset", ["ASCII", "us-ascii", "ISO-8859-1"])
def test_a_catalogue_becomes_utf_8_if_its_encoding_lacks_a_character(charset):
    catalogue = CATALOGUE.format(charset=charset, count=2)
    assert f"charset={charset}" in translated("a.po", catalogue)[1].decode()
    written = translated("a.po", catalogue, "file", "ファイル")[1].decode()
    assert "charset=UTF-8" in written and 'msgstr[0] "One ファイル"' in written


@each_row("forms", ["", 'msgstr[0] ""\n', 'msgstr[0] ""\nmsgstr[1] ""\n'])
@each_row("count", [1, 2, 4])
def test_the_header_states_the_number_of_plural_forms(count, forms):
    catalogue = CATALOGUE.format(charset="UTF-8", count=count) + forms
    segments, written = translated("a.po", catalogue)
    messages = ["One file", *["<code>%d</code> files"] * 3][:count]
    assert segments == (messages if count > 1 else ["<code>%d</code> files"])
    assert written.count(b"msgstr[") == count


def test_a_catalogue_of_windows():
    catalogue = CATALOGUE.format(charset="UTF-8", count=2).replace("\n", "\r\n")
    segments, written = translated("a.po", b"\xef\xbb\xbf" + catalogue.encode(), "file", "Datei")
    assert segments == ["One file", "<code>%d</code> files"]
    assert written.startswith(b'\xef\xbb\xbfmsgid ""\r\n')
    assert b"Datei" in written and written.count(b"\n") == written.count(b"\r\n")


def paragraph(inner):
    """A document of Word with one paragraph and a header, which names its parts as others do."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        for name, kind, target in (
            ("_rels/.rels", "officeDocument", "/word/main.xml"),
            ("word/_rels/main.xml.rels", "header", "head/1.xml"),
        ):
            relation = f'<Relationship Type="{RELATION}/{kind}" Target="{target}"/>'
            archive.writestr(name, f"<Relationships>{relation}</Relationships>")
        for name, text in (("main", inner), ("head/1", ""), ("document", run("Unrelated"))):
            body = f"<w:body><w:p>{text}</w:p></w:body>"
            archive.writestr(f"word/{name}.xml", f'<w:d xmlns:w="{W}">{body}</w:d>')
    return out.getvalue()


def run(text, style=""):
    return f'<w:r>{style}<w:t xml:space="preserve">{text}</w:t></w:r>'


def rewritten(inner, old, new):
    """The segments of a paragraph of Word, and the paragraph with `new` instead of `old`."""
    segments, written = translated("a.docx", paragraph(inner), old, new)
    with zipfile.ZipFile(io.BytesIO(written)) as archive:
        found = etree.fromstring(archive.read("word/main.xml")).find(f".//{{{W}}}p")
    return segments, etree.tostring(found, method="c14n")


def canonical(inner):
    return etree.tostring(etree.fromstring(f'<w:p xmlns:w="{W}">{inner}</w:p>'), method="c14n")


def test_content_controls_of_word():
    control = (
        '<w:sdt><w:sdtPr><w:alias w:val="Name"/></w:sdtPr><w:sdtContent><w:r>'
        '<w:t xml:space="preserve">{}</w:t></w:r></w:sdtContent></w:sdt>'
    )
    before = run("Dear ")
    segments, written = rewritten(before + control.format("reader"), "reader", "writer")
    assert segments == ["Dear <x1>reader</x1>"]
    assert written == canonical(before + control.format("writer"))


def field(kind):
    return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'


CODE = "<w:r><w:instrText> HYPERLINK x </w:instrText></w:r>"
LINK = f"{field('begin')}{CODE}{field('separate')}{{}}{field('end')}"
SIMPLE = '<w:fldSimple w:instr=" HYPERLINK x ">{}</w:fldSimple>'


@each_row(
    ("around", "kept"),
    [
        (LINK, SIMPLE),
        (SIMPLE, SIMPLE),
        (f"<w:ins>{LINK}</w:ins>", SIMPLE.format("<w:ins>{}</w:ins>")),
        ('<w:dir w:val="rtl">{}</w:dir>', None),
        ('<w:bdo w:val="ltr">{}</w:bdo>', None),
        ('<w:moveTo w:id="1">{}</w:moveTo>', None),
        ('<w:customXml w:element="a"><w:customXmlPr/>{}</w:customXml>', None),
        ('<w:ins w:id="1"><w:hyperlink w:anchor="b">{}</w:hyperlink></w:ins>', None),
    ],
)
def test_texts_in_other_elements_of_word(around, kept):
    before = run("The ")
    segments, written = rewritten(before + around.format(run("dog")), "dog", "cat")
    assert segments == ["The <x1>dog</x1>"]
    assert written == canonical(before + (kept or around).format(run("cat")))


BOX = """<w:sdt><w:sdtPr><c:checkbox xmlns:c="http://schemas.microsoft.com/office/word/2010/wordml"/>
</w:sdtPr><w:sdtContent><w:r><w:t>X</w:t></w:r></w:sdtContent></w:sdt>"""


@pytest.mark.parametrize("inner", [run(" \u2610 ", "<w:rPr><w:b/></w:rPr>"), BOX])
def test_pieces_of_word_without_letters_are_kept(inner):
    segments, written = rewritten(f"{inner}{run('Yes')}", "Yes", "No")
    assert segments == ["<x0/>Yes"]
    assert written == canonical(f"{inner}{run('No')}")


def test_line_breaks_in_texts_of_word_are_spaces():
    segments, _ = translated("a.docx", paragraph("<w:r><w:t>One\nline, too</w:t></w:r>"))
    assert segments == ["One line, too"]


def test_the_target_follows_the_segmented_source():
    unit = (
        "<trans-unit><source>A. B.</source><seg-source><mrk>A.</mrk> <mrk>B.</mrk></seg-source>"
        "<note>C</note></trans-unit>"
    )
    xliff = f'<xliff version="1.2"><file><body>{unit}</body></file></xliff>'
    _, written = translated("a.xlf", xliff)
    children = etree.fromstring(written).find(".//trans-unit")
    assert [one.tag for one in children] == ["source", "seg-source", "target", "note"]


@pytest.mark.parametrize(
    ("target", "is_open"),
    [
        ("<target/>", True),
        ('<target> <mrk mtype="seg" mid="1"></mrk></target>', True),
        ("<target><!-- later --></target>", True),
        ('<target><mrk mtype="seg" mid="1">B</mrk></target>', False),
        ('<target><mrk mtype="seg" mid="1"><x id="1"/></mrk></target>', False),
    ],
)
def test_targets_without_text_are_open(target, is_open):
    unit = f"<trans-unit><source>A</source>{target}</trans-unit>"
    xliff = f'<xliff version="1.2"><file><body>{unit}</body></file></xliff>'
    segments, _ = translated("a.xlf", xliff)
    assert segments == ["A"] * is_open


def test_namespaces_of_xliff_may_have_special_characters():
    space = 'xmlns:x="http://x.org/?a&amp;b"'
    unit = '<trans-unit><source>A <x:g id="1"/> B</source></trans-unit>'
    xliff = f'<xliff version="1.2" {space}><file><body>{unit}</body></file></xliff>'
    _, written = translated("a.xlf", xliff, "A", "C")
    (target,) = etree.fromstring(written).iter("target")
    assert target.text == "C " and target[0].tag == "{http://x.org/?a&b}g"


XLIFF_2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en">
<file id="f" translate="no"><unit id="u" translate="yes"><segment><source>See <mrk id="m"
translate="no">the dog</mrk> and <mrk id="n">me</mrk>.</source></segment></unit>
<unit id="v"><segment><source>Kept</source></segment></unit></file></xliff>"""
XLIFF_1 = """<xliff version="1.2"><file source-language="en" translate="no"><body>
<group translate="yes"><trans-unit id="u"><source>See <mrk
mtype="protected">the dog</mrk> and <mrk mtype="x">me</mrk>.</source></trans-unit></group>
<trans-unit id="v"><source>Kept</source></trans-unit></body></file></xliff>"""


@pytest.mark.parametrize(
    ("xliff", "language"), [(XLIFF_2, 'trgLang="de"'), (XLIFF_1, 'target-language="de"')]
)
def test_protected_parts_and_the_language_of_xliff(xliff, language, capsys):
    segments, written = translated("a.xlf", xliff, "me", "you")
    assert segments == ["See <x0/> and <x1>me</x1>."]
    assert "is missing, and the model does not state its language" in capsys.readouterr().err
    target = etree.fromstring(written).find(".//{*}target")
    assert "".join(target.itertext()) == "See the dog and you."
    document = document_of("a.xlf", xliff.encode())
    document.target_language = "de"
    assert language in document.written(segments).decode()
    assert capsys.readouterr().err == ""


def test_escaped_pipes_in_tables():
    table = "| a \\| b | `c \\| d` e |\n|---|---|\n| f | g |\n"
    segments, written = translated("a.md", table, "b", "b | h")
    assert segments == ["a \\| b", "`c \\| d` e", "f", "g"]
    assert written.decode() == table.replace("b", "b \\| h")


def test_numbers_and_times_of_subtitles_are_kept():
    subtitles = "1\n00:00:01.500 --> 00:00:02.5\nOne\n\n0:0:3,0 --> 0:0:4,0 X1:5\nTwo\n\n3\n"
    subtitles += "00:00:05,000 --> 00:00:06,000\nThree"
    for old, new in (("", ""), ("One", "1"), ("Two", "2")):
        _, written = translated("a.srt", subtitles, old, new)
        assert written.decode() == subtitles.replace(old, new)


# as of CCExtractor (its issue 394), with line ends of Windows and of Unix in one file
MIXED = (
    "\ufeff1\n00:00:01,000 --> 00:00:02,000\r\nOne\r\n\n"
    "2\r\n00:00:03,000 --> 00:00:04,000\nOne <i>two\r\nthree</i>\nfour\r\n\r\n"
    "3\n00:00:05,000 --> 00:00:06,000\nFive\r\n\r\nsix\n\n\r\n"
)


def test_lines_of_subtitles_keep_their_ends():
    segments, written = translated("a.srt", MIXED)
    assert written.decode() == MIXED
    assert segments[1] == "One <x0>two<x1/>three</x0><x2/>four"
    for old, new in (("One", "1"), ("two", "2"), ("four", "4"), ("nothing", "")):
        assert translated("a.srt", MIXED, old, new)[1].decode() == MIXED.replace(old, new)
    assert translated("a.srt", MIXED, "six", "6")[1].decode() == MIXED.replace("six", "6")
    document = document_of("a.srt", MIXED.encode())
    last = document.segments[2]  # a new blank line would end the subtitle
    written = document.written(["One", "<x1/>1<x1/><x2/>4<x0>2</x0><x2/>", last])
    before, after = "One <i>two\r\nthree</i>\nfour", "1\r\n4<i>2</i>"
    assert written.decode() == MIXED.replace(before, after)


ENDS = st.sampled_from(["\n", "\r\n"])
BLOCKS = st.lists(st.tuples(st.lists(st.tuples(st.sampled_from("abc"), ENDS), min_size=1), ENDS))


@given(BLOCKS, ENDS, ENDS, st.sampled_from(["", "\ufeff"]))
def test_subtitles_change_nothing_else(blocks, first, second, mark):
    def text(change=str):
        return mark + "".join(
            f"{number}{first}00:00:01,000 --> 00:00:02,000{second}"
            + "".join(change(line) + end for line, end in lines)
            + last
            for number, (lines, last) in enumerate(blocks, 1)
        )

    for old, new in (("a", "a"), ("b", "xyz"), ("c", "")):
        changed = text(lambda line: line.replace(old, new or line))  # noqa: B023
        assert translated("a.srt", text(), old, new or old)[1].decode() == changed


PO = 'msgid ""\nmsgstr "Content-Type: text/plain; charset={}\\n"\n\nmsgid "One"\nmsgstr "{}"\n'
XML = """<?xml version='1.0' encoding='{}'?>
<xliff version="1.2"><file target-language="de"><body><trans-unit id="1"><source>One</source>{}\
</trans-unit></body></file></xliff>"""
XML_TARGET = "<target>\U0001f600 é</target>"
WITH_MARKS = {  # before and after the translation
    "a.txt": ("One\r\n\n one\r", "\U0001f600 é\r\n\n one\r"),
    "a.md": ("---\r\nOne: 1\r\n---\r\n# One\n", "---\r\nOne: 1\r\n---\r\n# \U0001f600 é\n"),
    "a.html": ("<meta charset=latin-1><p>One", "<meta charset=latin-1><p>\U0001f600 é"),
    "a.htm": ("<meta charset=utf-16><p>One", "<meta charset=utf-16><p>\U0001f600 é"),
    "a.srt": (MIXED.strip("\ufeff"), MIXED.strip("\ufeff").replace("One", "\U0001f600 é")),
    "a.po": (PO.format("UTF-16", ""), PO.format("UTF-16", "\U0001f600 é")),
    "a.pot": (PO.format("UTF-8", ""), PO.format("UTF-8", "\U0001f600 é")),
    "a.xlf": (XML.format("UTF-16", ""), XML.format("UTF-16", XML_TARGET)),
}


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_byte_order_mark_states_the_encoding(encoding):
    for name, (before, after) in WITH_MARKS.items():
        before, after = (
            f"\ufeff{one}".replace("'UTF-16'", f"'{encoding[:6].upper()}'")
            for one in (before, after)
        )
        content = before.encode(encoding)
        document = document_of(name, content)
        changed = [one.replace("One", "\U0001f600 é") for one in document.segments]
        assert document.written(changed).decode(encoding).strip() == after.strip(), name
        if name[:4] not in ("a.po", "a.xl"):
            assert document_of(name, content).written(document.segments) == content, name
        is_text = "charset=" in document.media_type
        assert not is_text or document.media_type.endswith(f"charset={encoding}"), name


@pytest.mark.parametrize("kept", ["<li translate=no>a\n", "<p>a $$\nx\n$$</p>", "<p>{{\na\n}}</p>"])
def test_line_breaks_at_the_ends_of_protected_texts(kept):
    document = document_of("a.html", f"<ul>{kept}<li>one <b>two</b>\n<li>three</ul>".encode())
    assert document.segments[-2:] == ["one <b>two</b>", "three"]
