"""Documents that are refused in one line: bombs, macros, and files of another kind."""

import io
import zipfile
import zlib
from pathlib import Path

import pytest
from bombs import refused
from tables import each_row

from cgru_cli.documents.reader import document_of

FILES = Path(__file__).parent / "files"


def changed(**members):
    """A document of Word with other contents of some files."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(FILES / "word-header.docx") as before,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        contents = {name: before.read(name) for name in before.namelist()}
        for name, content in (contents | members).items():
            archive.writestr(name, content(contents[name]) if callable(content) else content)
    return out.getvalue()


XLIFF = b"<xliff><trans-unit><source>a</source></trans-unit></xliff>"
STRICT = (
    b"schemas.openxmlformats.org/wordprocessingml/2006/main",
    b"purl.oclc.org/ooxml/wordprocessingml/main",
)
PICTURE = changed(**{"word/media/image1.png": b"A picture"})
TYPES = "[Content_Types].xml"
BOMB = b"""<?xml version="1.0"?>
<!DOCTYPE xliff [<!ENTITY a "aaaaaaaaaa">%s]>
<xliff version="1.2"><file><body><trans-unit><source>&k;</source></trans-unit></body></file></xliff>
""" % b"".join(b'<!ENTITY %c "%s">' % (i, b"&%c;" % (i - 1) * 10) for i in range(98, 108))
OUTSIDE = BOMB.replace(b'<!ENTITY a "aaaaaaaaaa">', b'<!ENTITY k SYSTEM "/etc/passwd">')


@each_row(
    ("name", "content", "message"),
    [
        ("a.docx", changed(**{"word/zeros.xml": bytes(20 << 20)}), "when unpacked"),
        ("a.docx", changed(**{"word/vbaProject.bin": b"Sub"}), "has macros"),
        (
            "a.docx",
            changed(
                **{TYPES: lambda x: x.replace(b"document.main", b"document.macroEnabled.main")}
            ),
            "has macros",
        ),
        ("a.docx", changed(**{"word/document.xml": BOMB}), "declares entities"),
        (
            "a.docx",
            changed(**{"word/document.xml": lambda x: x.replace(*STRICT)}),
            "in Strict Open XML format; save it as a normal Word document (.docx)",
        ),
        (
            "a.docx",
            PICTURE.replace(zlib.crc32(b"A picture").to_bytes(4, "little"), b"0000"),
            "Bad CRC-32 for file 'word/media/image1.png'",
        ),
        ("a.docx", b"PK\3\4 no archive", "not a valid .docx file"),
        ("a.docx", b"\xd0\xcf\x11\xe0 an old or encrypted one", "not a valid .docx file"),
        ("a.xliff", BOMB, "declares entities"),
        ("a.xliff", OUTSIDE, "declares entities"),
        ("a.xlf", b"<tmx/>", "not an XLIFF file"),
        ("a.xlf", b"<xliff><a></b></xliff>", "not a valid .xlf file"),
        (
            "a.txt",
            b"\xe9",
            "not a text in utf-8 (byte 1: unexpected end of data); save it in UTF-8",
        ),
        ("a.md", b"\xff\xfe\0", "not a text in utf-16-le (byte 3: truncated data); save it in"),
        ("a.html", b"\xfe\xff\xd8\0", "not a text in utf-16-be (byte 3"),
        ("a.html", b"\xef\xbb\xbf<meta charset=latin-1>\xe9", "not a text in utf-8 (byte 26"),
        ("a.srt", "1\r\n".encode("utf-16-le"), "UTF-16 without a byte order mark?"),
        ("a.txt", "a".encode("utf-16-be"), "UTF-16 without a byte order mark?"),
        ("a.po", b'"Content-Type: text/plain; charset=ascii\\n"\xe9', "not a text in ascii"),
        ("a.po", b'msgid "\nmsgid', "not a valid .po file"),
        ("a.srt", b"1\nno times\n", "not a valid .srt file"),
        ("a.pdf", b"%PDF", "supported document formats are .txt"),
    ],
)
def test_one_line(name, content, message):
    said = refused(document_of, name, content)
    assert said.startswith("a.") and message in said


def test_a_catalogue_is_never_the_name_of_a_file(tmp_path):
    secret = tmp_path / "secret.po"
    secret.write_text('msgid "Secret"\nmsgstr ""\n')
    assert "not a valid" in refused(document_of, "a.po", str(secret).encode())


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", b"<b>" * 30_000 + b"</i>x" * 30_000),
        ("a.html", b"<pre>" * 90_000),
        ("a.html", b"<!--" * 90_000),
        ("a.html", b"<a " * 90_000),
        ("a.md", b"*a " * 30_000),
        ("a.md", b"[" * 15_000),
        ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\n" + b"<i>" * 60_000 + b"a</b>" * 15_000),
        ("a.md", b"---\r\n" + b"a\r\n" * 5000),
        ("a.md", b"a" + b" " * 100_000 + b"a"),
        ("a.po", b'msgid ""\nmsgstr "' + b"Content-Type:" * 30_000 + b'\\n"\n'),
        ("a.po", b'msgid "a' + b" " * 100_000 + b'a"\nmsgstr ""\n'),
        ("a.po", b'msgid "a %' + b"0" * 50_000 + b'"\nmsgstr ""\n'),
        ("a.xlf", XLIFF.replace(b">a<", b">a" + b" " * 100_000 + b"a<")),
        ("a.po", b'msgid "' + b"<a>" * 60_000 + b"</b>" * 60_000 + b'x"\nmsgstr ""\n'),
    ],
)
def test_long_documents_take_little_time(name, content):
    from bombs import bounded

    with bounded(seconds=20, mebibytes=800):
        document_of(name, content)


@pytest.mark.parametrize("run", [b"\n" * 20_000, b"1" * 2000])
def test_long_runs_in_subtitles_are_refused(run):
    message = refused(document_of, "a.srt", run, seconds=5)
    assert message == "a.srt: has 100 spaces or line breaks in a row, or 30 digits; remove them"
