"""Recognise files of the wrong kind by their first bytes."""

import os
import re

from ..errors import CgruError

LOOKED_AT = 512  # bytes: the header of a tar archive
_KINDS = re.compile(
    rb"(?P<gzip>\x1f\x8b)|(?P<xz>\xfd7zXZ\0)|(?P<bzip2>BZh[1-9]1AY&SY)|(?P<zstd>\x28\xb5\x2f\xfd)"
    rb"|(?P<zip>PK[\3\5][\4\6])|(?P<sevenzip>7z\xbc\xaf\x27\x1c)|(?P<tar>(?s:.{257})ustar)"
    rb"|(?P<lfs>version https://git-lfs)|(?P<html>(?:\xef\xbb\xbf)?\s*(?i:<!doctype html|<html))"
)
_MESSAGES = {
    "zip": "is a zip archive; unpack it first: unzip",
    "sevenzip": "is a 7z archive; unpack it first: 7z x",
    "tar": "is a tar archive; unpack it first: tar xf",
    "lfs": "is a Git LFS pointer, not the {what}; fetch it: git lfs pull --include",
    "html": "is a web page, not the {what}; download the file itself, by its raw address, as",
}


def check_kind(start: bytes, path: str | os.PathLike[str], *allowed: str, what: str) -> None:
    """Raise CgruError for a compressed file or an archive, a pointer of Git LFS, or a web page.

    start: the first LOOKED_AT bytes; allowed: kinds that are right here; what: the expected file.
    """
    match, name = _KINDS.match(start), os.fspath(path)
    kind = match.lastgroup if match else None
    if kind is None or kind in allowed or (kind == "zip" and name.endswith(".npz")):
        return
    if name.endswith(".tgz") or ".tar." in name:
        kind = "tar"
    unpack = f"is compressed by {kind}; unpack it first: {kind} -d"
    raise CgruError(f"{name}: {_MESSAGES.get(kind, unpack).format(what=what)} {name}")
