#!/usr/bin/env python3
"""Extract translated sentences from clones of localised documentation.

    extract.py PAIRS.tsv.gz CLONE... [--markup MARKUP.tsv.gz] [--branch live-sxs]

A CLONE is a git repository of Microsoft's documentation in another language, for example of
MicrosoftDocs/Dynamics-365-Operations.de-de. The pages of its side-by-side branch hold each sentence
in both languages; those that people translated (`ms.translationtype: HT`) are used. PAIRS gets the
sentences as plain text, MARKUP those whose source has inline mark-up, as it was. Each line has
repository, file, source and target, separated by tabs.
"""

from __future__ import annotations

import argparse
import html
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pairs import write_lines

from cgru_cli.errors import CgruError

SENTENCE = re.compile(
    r"<span data-ttu-id[^>]*>(.*?)</span>"
    r'<span class="sxs-lookup"><span data-stu-id[^>]*>(.*?)</span></span>',
    re.DOTALL,
)
TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--.*?-->", re.DOTALL)
# [text](address) and [text][name], which may be a picture's
LINK = re.compile(
    r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\]]*\])"
)
MARKS = re.compile(r"[*`\\]")  # of emphasis, code and escapes
MARKED = re.compile(r"`[^`]+`|\*\*[^*]+\*\*|\]\(|</?[A-Za-z][^<>]*>|\{[^{}]+\}")


def pages(clone: Path, branch: str) -> Iterator[tuple[str, str]]:
    """Name and text of the Markdown pages of a branch, also of origin's in a plain clone.

    Raises CgruError if git refuses.
    """
    git = ["git", "-C", str(clone)]
    known = _output([*git, "branch", "--all", "--format=%(refname:short)"], clone).decode().split()
    if branch not in known and f"origin/{branch}" in known:
        branch = f"origin/{branch}"
    names = _output([*git, "ls-tree", "-r", "-z", "--name-only", branch], clone).split(b"\0")
    for name in sorted(name.decode() for name in names if name.endswith(b".md")):
        yield name, _output([*git, "show", f"{branch}:{name}"], clone).decode("utf-8", "replace")


def _output(command: Sequence[str], clone: Path) -> bytes:
    try:
        return subprocess.run(command, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        detail = getattr(error, "stderr", b"") or str(error).encode()
        raise CgruError(f"{clone}: {detail.decode(errors='replace').strip()}") from error


def sentences(page: str) -> Iterator[tuple[str, str]]:
    """Source and target of a page's sentences; none if people did not translate it."""
    if re.search(r"^ms\.translationtype: *HT\s*$", page, re.MULTILINE):
        for target, source in SENTENCE.findall(page):
            yield _one_line(source), _one_line(target)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def plain(text: str) -> str:
    """The text without mark-up: a link's own text, no tags, emphasis or backticks."""
    text = LINK.sub(r"\1", LINK.sub(r"\1", TAG.sub("", text)))
    return _one_line(html.unescape(MARKS.sub("", text)))


def usable(source: str, target: str) -> bool:
    """Whether sides of 3 to 60 words differ, and neither is 2.5 times as long as the other."""
    lengths = len(source.split()), len(target.split())
    return (
        min(lengths) >= 3
        and max(lengths) <= 60
        and source != target
        and (max(len(source), len(target)) <= 2.5 * min(len(source), len(target)))
    )


def repository(clone: Path) -> str:
    """OWNER/NAME of a clone's origin, or the name of its folder."""
    try:
        url = _output(["git", "-C", str(clone), "remote", "get-url", "origin"], clone).decode()
    except CgruError:
        return clone.resolve().name
    return "/".join(url.strip().removesuffix(".git").replace(":", "/").split("/")[-2:])


def extract(clones: Sequence[Path], branch: str) -> Iterator[tuple[str, str, str, str, bool]]:
    """Repository, file, source, target and whether it is as it was, with mark-up."""
    seen: set[tuple[str, str, bool]] = set()
    for clone in clones:
        name = repository(clone)
        for file, page in pages(clone, branch):
            for pair in sentences(page):
                stripped = plain(pair[0]), plain(pair[1])
                for marked, (source, target) in ((False, stripped), (True, pair)):
                    if marked and not MARKED.search(source):
                        continue
                    if (source, target, marked) not in seen and usable(source, target):
                        seen.add((source, target, marked))
                        yield name, file, source, target, marked


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pairs", type=Path, help="output: plain text (.tsv.gz)")
    parser.add_argument("clones", type=Path, nargs="+", help="git repositories")
    parser.add_argument("--markup", type=Path, help="output: pairs with their mark-up (.tsv.gz)")
    parser.add_argument("--branch", default="live-sxs", help="branch of the side-by-side pages")
    options = parser.parse_args(arguments)
    try:
        rows = list(extract(options.clones, options.branch))
        for path, marked in ((options.pairs, False), (options.markup, True)):
            if path:
                lines = ["\t".join(row[:4]) for row in rows if row[4] == marked]
                write_lines(path, lines)
                print(f"{path}: {len(lines):,} pairs")
    except CgruError as error:
        print(f"extract.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
