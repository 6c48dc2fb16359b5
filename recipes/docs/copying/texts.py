#!/usr/bin/env python3
"""The training text and the test sets of this recipe: python texts.py PLAIN MARKUP OUT

PLAIN and MARKUP are the files en-de.tsv.gz and en-de.markup.tsv.gz of localised documentation: a
pair on each line as repository, file, source and target. In OUT: train, dev, markup, and a test set
of 500 lines for each pattern: number, name, code, url, email and placeholder, each as .en and .de.
Sets are split by document. URLs and e-mail addresses are too rare in this text, so they are put
into 2 % of the training text, and into test lines; so are placeholders where too few are found.
"""

import gzip
import hashlib
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from cgru_cli.text.copying import Copying

TRAIN_PLAIN, TRAIN_CODE, LINES, MARKUP_LINES = 60_000, 12_000, 500, 1000
TEST, DEV = (0, 1, 2), (99,)  # SHA-1 of the document modulo 100
OTHER_MARKS, MARKS = re.compile(r"[\[*<]"), re.compile(r"[*`\\]")
Pair = tuple[str, str]


def documents(path: str) -> Iterator[tuple[int, str, str]]:
    """The number of each pair's document, modulo 100, and its two sides."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        for line in file:
            repository, name, source, target = line.rstrip("\n").split("\t")
            digest = hashlib.sha1(f"{repository}/{name}".encode()).hexdigest()
            yield int(digest, 16) % 100, source, target


def bare(text: str) -> str:
    """The text without marks of emphasis, code and escapes, as in the plain text."""
    return MARKS.sub("", text)


def copied(pattern: str, pair: Pair) -> bool:
    """Whether both sides have the same spans of a pattern, and at least one."""
    source, target = (sorted(s.text for s in COPYING[pattern].spans(side)) for side in pair)
    return bool(source) and source == target


COPYING = {name: Copying([name]) for name in ("number", "name", "code", "placeholder")}
WORDS = "sales stock order cloud data build pack host query ledger north blue river page".split()


def some_words(draw: random.Random, joined: str, most: int) -> str:
    return joined.join(draw.choices(WORDS, k=draw.randint(1, most)))


def url(draw: random.Random) -> str:
    number = draw.choice(["", f"?id={draw.randint(1, 9999)}", f"#{some_words(draw, '-', 2)}"])
    host = f"{some_words(draw, '-', 2)}.{draw.choice(['com', 'org', 'de', 'net'])}"
    return f"https://{draw.choice(['www.', ''])}{host}/{some_words(draw, '/', 3)}{number}"


def email(draw: random.Random) -> str:
    return f"{some_words(draw, '.', 2)}{draw.randint(1, 99)}@{some_words(draw, '-', 2)}.com"


def placeholder(draw: random.Random) -> str:
    return draw.choice([f"{{{some_words(draw, '_', 2)}}}", f"{{{draw.randint(0, 9)}}}"])


def put_in(pair: Pair, span: str) -> Pair:
    """The pair with a span before the full stop of both sides, in parentheses."""
    source, target = (side.removesuffix(".") for side in pair)
    ends = ["." if side.endswith(".") else "" for side in pair]
    return f"{source} ({span}){ends[0]}", f"{target} ({span}){ends[1]}"


def made(pairs: list[Pair], make: Callable[[random.Random], str], draw: random.Random) -> list:
    return [put_in(pair, make(draw)) for pair in pairs]


def write(out: Path, name: str, pairs: list[Pair]) -> None:
    for i, ending in enumerate(("en", "de")):
        with open(out / f"{name}.{ending}", "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{pair[i]}\n" for pair in pairs)
    print(f"{name}: {len(pairs):,} lines")


def main(plain: str, markup: str, folder: str) -> None:
    out, draw = Path(folder), random.Random(1)
    out.mkdir(parents=True, exist_ok=True)
    train, dev, test = [], [], []
    for number, *pair in documents(plain):
        (test if number in TEST else dev if number in DEV else train).append(tuple(pair))
    code, code_test, braces, marked = [], [], [], []
    for number, *sides in documents(markup):
        pair = sides[0], sides[1]
        if number in TEST:
            marked.append(pair)
        if number % 2 == 0 and copied("placeholder", pair):
            braces.append(pair)
        elif not OTHER_MARKS.search("".join(pair)) and copied("code", pair):
            if number in TEST:
                code_test.append(pair)
            elif number not in DEV:
                code.append(pair)
    for pairs in (train, dev, test, code, code_test, braces, marked):
        draw.shuffle(pairs)
    sets = {name: [p for p in test if copied(name, p)][:LINES] for name in ("number", "name")}
    sets["code"] = code_test[:LINES]
    short = [pair for pair in test if all(len(side.split()) < 30 for side in pair)]
    sets["placeholder-found"] = braces[:LINES]
    sets["placeholder-made"] = made(short[: max(0, LINES - len(braces))], placeholder, draw)
    sets["url"] = made(short[LINES : 2 * LINES], url, draw)
    sets["email"] = made(short[2 * LINES : 3 * LINES], email, draw)
    tested = {bare(source) for pairs in (*sets.values(), marked, test) for source, _ in pairs}
    chosen = [p for p in (*train[:TRAIN_PLAIN], *code[:TRAIN_CODE]) if bare(p[0]) not in tested]
    for start, make in enumerate((url, email)):  # 1 % each
        for i in range(start * 50, len(chosen), 100):
            chosen[i] = put_in(chosen[i], make(draw))
    for name, pairs in sets.items():
        write(out, name, pairs)
    write(out, "markup", marked[:MARKUP_LINES])
    write(out, "dev", dev[:LINES])
    write(out, "train", chosen)


if __name__ == "__main__":
    main(*sys.argv[1:])
