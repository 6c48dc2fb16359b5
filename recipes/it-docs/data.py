#!/usr/bin/env python3
"""Extract parallel software texts from packages: Home Assistant's messages, LibreOffice's help.

Home Assistant (Apache-2.0) is a wheel on PyPI; its messages are aligned by component and key.
LibreOffice's help (MPL-2.0) is two packages of Debian; its paragraphs are aligned by page and id.
Dev and test are whole components and pages, without the lines that also occur elsewhere.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import itertools
import json
import lzma
import re
import sys
import tarfile
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.system.atomic_files import all_or_nothing, atomic_write

PLACEHOLDER = re.compile(r"\{[^{}]*\}")


class Pair(NamedTuple):
    """A source line and its translation."""

    source: str
    target: str


Documents = dict[str, list[Pair]]  # by the name of a component or page


def messages(wheel: Path, source: str, target: str) -> Documents:
    """Pairs of a Home Assistant wheel, by component.

    A message of several lines becomes one pair per line if both sides have the same number of
    lines. Raises CgruError if the file is not such a wheel or lacks a language.
    """
    documents: Documents = defaultdict(list)
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = set(archive.namelist())
            for name in sorted(names):
                found = re.fullmatch(
                    r"homeassistant/components/(\w+)/translations/(.+)\.json", name
                )
                other = f"{name.rpartition('/')[0]}/{target}.json"
                if not found or found[2] != source or other not in names:
                    continue
                sides = [dict(_texts(json.loads(archive.read(file)))) for file in (name, other)]
                for key in (key for key in sides[0] if key in sides[1]):
                    lines = [
                        [line for part in side[key].splitlines() if (line := _plain(part))]
                        for side in sides
                    ]
                    if len(lines[0]) != len(lines[1]):
                        lines = [[" ".join(side)] for side in lines]
                    pairs = map(Pair, *lines)
                    documents[f"homeassistant/{found[1]}"] += pairs
    except OSError as error:
        raise CgruError(f"{wheel}: {error.strerror or error}") from error
    except (zipfile.BadZipFile, zlib.error, ValueError, AttributeError) as error:
        raise CgruError(f"{wheel}: not a complete wheel ({error}); download it again") from error
    if not documents:
        raise CgruError(f"{wheel}: no messages in {source} and {target}; is it Home Assistant's?")
    return documents


def _texts(tree: dict, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Key and text of every leaf."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _texts(value, (*path, key))
        elif isinstance(value, str):
            yield (*path, key), value


def help_pages(packages: Sequence[Path], languages: Sequence[str]) -> Documents:
    """Pairs of two LibreOffice help packages of the same version, by page.

    Raises CgruError if a file is not such a package or has another language.
    """
    sides = [_pages(*side) for side in zip(packages, languages, strict=True)]
    documents: Documents = {}
    for page in sorted(sides[0].keys() & sides[1].keys()):
        first, second = (side[page] for side in sides)
        pairs = [Pair(first[key], second[key]) for key in first if key in second]
        documents[f"libreoffice/{page}"] = pairs
    if not documents:
        raise CgruError(f"{packages[0]} and {packages[1]}: no page is in both")
    return documents


def _pages(package: Path, language: str) -> dict[str, dict[tuple[str, int], str]]:
    """The paragraphs of each page of a .deb, by id and its number of earlier occurrences."""
    pages = {}
    place = re.compile(r"\./usr/share/libreoffice/help/([^/]+)/text/(.+)\.html")
    held = set()
    try:
        with tarfile.open(fileobj=io.BytesIO(_data(package.read_bytes()))) as archive:
            for member in archive:
                if member.isfile() and (found := place.fullmatch(member.name)):
                    held.add(found[1])
                    if found[1].split("-")[0] != language.split("-")[0]:
                        continue
                    reader = _Paragraphs()
                    reader.feed(archive.extractfile(member).read().decode("utf-8"))
                    pages[found[2]] = reader.paragraphs
    except OSError as error:
        raise CgruError(f"{package}: {error.strerror or error}") from error
    except (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, ValueError) as error:
        raise CgruError(f"{package}: not a complete .deb ({error}); download it again") from error
    if not pages:
        holds = " ".join(sorted(held)) or "no help pages"
        raise CgruError(f"{package}: holds {holds}, not {language}; name source, then target")
    return pages


def _data(package: bytes) -> bytes:
    """The member data.tar.* of an `ar` archive; raises ValueError if there is none."""
    if not package.startswith(b"!<arch>\n"):
        raise ValueError("not an ar archive")
    place = 8
    while len(header := package[place : place + 60]) == 60:
        size = int(header[48:58])
        if place + 60 + size > len(package):
            raise ValueError("the end is missing")
        if header.startswith(b"data.tar"):
            return package[place + 60 : place + 60 + size]
        place += 60 + size + size % 2
    raise ValueError("it has no data.tar")


class _Paragraphs(HTMLParser):
    """The text of a page's paragraphs and headings that have an id, without program code.

    Where the text depends on the system or application, the default is used.
    """

    BLOCKS = ("p", "h1", "h2", "h3", "h4", "h5", "h6")

    def __init__(self) -> None:
        super().__init__()
        self.paragraphs: dict[tuple[str, int], str] = {}
        self._seen: Counter[str] = Counter()
        self._id: str | None = None  # of the current paragraph
        self._text: list[str] = []
        self._hidden = 0  # depth of spans inside a hidden one

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = dict(attributes)
        identity = named.get("id") or ""
        if tag in self.BLOCKS:
            code = "code" in (named.get("class") or "")
            wanted = identity.startswith(("par_", "hd_")) and not code
            self._id = identity if wanted else None
            self._text, self._hidden = [], 0
        elif tag == "span" and (
            self._hidden or ("hidden" in named and not identity.startswith("default"))
        ):
            self._hidden += 1

    def handle_data(self, data: str) -> None:
        if self._id and not self._hidden:
            self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "span" and self._hidden:
            self._hidden -= 1
        elif tag in self.BLOCKS and self._id:
            if text := _plain("".join(self._text)):
                self.paragraphs[self._id, self._seen[self._id]] = text
            self._seen[self._id] += 1
            self._id = None


def _plain(text: str) -> str:
    """The text with white space replaced by single spaces."""
    return " ".join(text.split())


def clean(documents: Documents) -> tuple[Documents, Counter[str]]:
    """Remove duplicates and uninformative pairs; also return the number removed by reason.

    Removed are pairs with identical sides, with a side without letters, with {placeholders} that
    differ between the sides, and duplicates.
    """
    removed: Counter[str] = Counter()
    seen: set[Pair] = set()
    kept: Documents = {}
    for name, pairs in documents.items():
        kept[name] = []
        for pair in pairs:
            if pair.source == pair.target:
                removed["source = target"] += 1
            elif not all(any(map(str.isalpha, side)) for side in pair):
                removed["no letter"] += 1
            elif len({tuple(sorted(PLACEHOLDER.findall(side))) for side in pair}) > 1:
                removed["placeholders differ"] += 1
            elif pair in seen:
                removed["duplicate"] += 1
            else:
                seen.add(pair)
                kept[name].append(pair)
    return kept, removed


def split(documents: Documents, dev: int, test: int, seed: int) -> dict[str, list[Pair]]:
    """Split into train, dev and test, which share no document and no line of either language.

    Dev and test consist of whole documents, in an order that depends on the seed and their names,
    up to the given size and without lines that other documents also have (ignoring case). A
    document larger than a quarter of a set goes to train. Raises CgruError if too few pairs remain.
    """
    owners: tuple[dict[str, set[str]], ...] = (defaultdict(set), defaultdict(set))
    for name, pairs in documents.items():
        for pair in pairs:
            for side, owner in zip(pair, owners, strict=True):
                owner[side.casefold()].add(name)

    def own(name: str) -> list[Pair]:
        return [
            pair
            for pair in documents[name]
            if all(len(o[s.casefold()]) == 1 for s, o in zip(pair, owners, strict=True))
        ]

    order = sorted(documents, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).digest())
    sets: dict[str, list[Pair]] = {"train": []}
    held: set[str] = set()
    for part, size in {"test": test, "dev": dev}.items():
        sets[part] = []
        for name in order:
            lines = [] if name in held else own(name)
            if 0 < len(lines) <= max(1, size // 4):
                held.add(name)
                sets[part] += lines
                if len(sets[part]) >= size:
                    break
        else:
            raise CgruError(f"there are only {len(sets[part])} pairs for {part}; ask for fewer")
        del sets[part][size:]
    sets["train"] = [pair for name in documents if name not in held for pair in documents[name]]
    if not sets["train"]:
        raise CgruError("dev and test leave no pairs to train on; ask for fewer")
    return sets


def write(folder: Path, sets: dict[str, list[Pair]], source: str, target: str) -> None:
    """Write SET.SOURCE and SET.TARGET of every set: all files or none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CgruError(f"{folder}: cannot be created: {error.strerror}") from error
    with all_or_nothing(folder / "train"):
        for name, pairs in sorted(sets.items()):  # train is the last, by which run.sh knows
            for language, side in zip((source, target), zip(*pairs, strict=True), strict=True):
                with atomic_write(folder / f"{name}.{language}") as file:
                    file.write("".join(f"{text}\n" for text in side).encode("utf-8"))


def make(options: argparse.Namespace) -> None:
    """Read, clean, split and write, with statistics on standard error."""
    source, target = options.source, options.target
    if source == target:
        raise UsageError(f"{source} is both source and target; name two languages")
    documents: Documents = {}
    if options.wheel:
        documents |= messages(options.wheel, source, target)
    if options.debs:
        documents |= help_pages(options.debs, (source, target))
    if not documents:
        raise UsageError("nothing to read; give --wheel FILE, --debs SOURCE TARGET or both")
    for corpus, group in itertools.groupby(documents, key=lambda name: name.split("/")[0]):
        sizes = [len(documents[name]) for name in group]
        print(f"{corpus}: {sum(sizes)} pairs of {len(sizes)} documents", file=sys.stderr)
    documents, removed = clean(documents)
    for reason, number in removed.most_common():
        print(f"removed, {reason}: {number}", file=sys.stderr)
    sets = split(documents, options.dev, options.test, options.seed)
    write(options.folder, sets, source, target)
    print(", ".join(f"{name} {len(pairs)}" for name, pairs in sets.items()), file=sys.stderr)


def positive(text: str) -> int:
    """A positive integer."""
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("folder", type=Path, help="output folder for train.en, train.de, dev.en, ...")
    add("-w", "--wheel", type=Path, metavar="FILE", help="Home Assistant's wheel")
    add(
        "-d",
        "--debs",
        type=Path,
        nargs=2,
        metavar=("SOURCE", "TARGET"),
        help="LibreOffice's help in both languages (libreoffice-help-*.deb)",
    )
    add("-s", "--source", default="en", metavar="LANGUAGE", help="source language")
    add("-t", "--target", default="de", metavar="LANGUAGE", help="target language")
    add("--dev", type=positive, default=1000, metavar="N", help="pairs in dev")
    add("--test", type=positive, default=1000, metavar="N", help="pairs in test")
    add("--seed", type=int, default=1, metavar="N", help="random seed for dev and test")
    try:
        make(parser.parse_args(arguments))
    except CgruError as error:
        print(f"data.py: error: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
