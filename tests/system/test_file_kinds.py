"""Files of other kinds in the place of models, vocabularies, configurations and texts."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path

import pytest

from cgru_cli.errors import CgruError
from cgru_cli.formats.model_files import opened
from cgru_cli.formats.vocabulary_files import read_vocabulary
from cgru_cli.system.file_kinds import check_kind
from cgru_cli.system.lines import LineReader, byte_lines
from cgru_cli.system.structured_files import read_json, read_yaml

CONTENT = b"\x93NUMPY" + bytes(200)


def tar(mode):
    with io.BytesIO() as file:
        with tarfile.open(fileobj=file, mode=mode) as archive:
            member = tarfile.TarInfo("model/model.npz")
            member.size = len(CONTENT)
            archive.addfile(member, io.BytesIO(CONTENT))
        return file.getvalue()


def zipped():
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("model/model.npz", CONTENT)
        return file.getvalue()


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab\nsize 12345\n"
PAGE = b"\n<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>\n"
FILES = {  # and what the message says
    "x.npz.gz": (gzip.compress(CONTENT), "compressed by gzip; unpack it first: gzip -d"),
    "x.npz.bz2": (bz2.compress(CONTENT), "compressed by bzip2; unpack it first: bzip2 -d"),
    "x.npz.xz": (lzma.compress(CONTENT), "compressed by xz; unpack it first: xz -d"),
    "x.npz.zst": (b"\x28\xb5\x2f\xfd" + CONTENT, "compressed by zstd; unpack it first: zstd -d"),
    "x.7z": (b"7z\xbc\xaf\x27\x1c" + CONTENT, "is a 7z archive; unpack it first: 7z x"),
    "x.tar": (tar("w"), "is a tar archive; unpack it first: tar xf"),
    "x.tar.gz": (tar("w:gz"), "unpack it first: tar xf"),
    "x.zip": (zipped(), "zip archive"),
    "pointer": (POINTER, "is a Git LFS pointer, not the "),
    "page": (PAGE, "is a web page, not the "),
}


def model(path):
    with opened(Path(path)):
        pass


def text(path):
    with LineReader(path) as reader:
        reader.rest()


READERS = {
    "model": model,
    "vocabulary": read_vocabulary,
    "json": read_json,
    "yaml": read_yaml,
    "text": text,
    "training text": lambda path: list(byte_lines(path)),
}


def unfit(what, name):
    """Whether a reader does not refuse this file: gzip's content, or a text that has markup."""
    return ("text" in what and name == "page") or (name == "x.npz.gz" and what != "model")


@pytest.mark.parametrize("what", READERS)
def test_other_kinds_of_files(tmp_path, what):
    for name, (content, message) in FILES.items():
        path = tmp_path / name
        path.write_bytes(content)
        if unfit(what, name):
            continue
        if "text" in what and name.endswith(".gz"):
            message = "is a tar archive"
        with pytest.raises(CgruError) as error:
            READERS[what](str(path))
        assert str(error.value).startswith(f"{path}: "), (name, str(error.value))
        assert message in str(error.value), name


def test_an_npz_is_no_archive_to_unpack():
    check_kind(zipped(), "model.npz", what="vocabulary")
    with pytest.raises(CgruError, match="zip archive"):
        check_kind(zipped(), "model.npz.zip", what="vocabulary")


def test_lists_that_are_no_vocabularies(tmp_path):
    """Of SentencePiece (--model_prefix), subword-nmt (learn-bpe, get-vocab) and `uniq -c`."""
    for content, message in {
        "<unk>\t0\n<s>\t0\n</s>\t0\n▁the\t-3.06\ns\t-3.5\n": "give the model",
        "#version: 0.2\nt h\nth e</w>\n": "codes of subword-nmt",
        "t h\nth e</w>\n": None,
        "e n</w>\ne r\n": "codes of subword-nmt",
        "the 1061\nof@@ 522\n": "words and their counts",
        "    1061 the\r\n    522 of\r\n": "words and their counts",
        "the\nof\n": None,
        "the: 0\nof: x\n": None,
    }.items():
        path = tmp_path / "list"
        path.write_text(content, newline="")
        with pytest.raises(CgruError, match=f"^{path}: ") as error:
            read_vocabulary(path)
        assert (message or "not a vocabulary") in str(error.value), content
    path.write_text("</s>: 0\n<unk>: 1\nof: 2\n")
    assert len(read_vocabulary(path)) == 3
