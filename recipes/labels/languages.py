#!/usr/bin/env python3
"""Extract short messages with their languages: Home Assistant's messages.

    python languages.py FOLDER --wheel homeassistant-2026.2.3-py3-none-any.whl

Home Assistant (Apache-2.0) is a wheel on PyPI, with a file of messages for each language of each
component. Dev and test are whole components. Messages that occur in several languages (names,
untranslated text) or have fewer than three words are removed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from texts import write

from cgru_cli.errors import CgruError

LANGUAGES = "ca cs de en es et fi fr hu id it lt nb nl pl pt sk sl sv tr"
FEWEST_WORDS = 3
Messages = dict[str, dict[str, set[str]]]  # by language, then by component


def messages(wheel: Path, languages: Sequence[str]) -> Messages:
    """The messages of all components. Raises CgruError if the file is not such a wheel."""
    found: Messages = {language: defaultdict(set) for language in languages}
    place = re.compile(r"homeassistant/components/(\w+)/translations/(.+)\.json")
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                match = place.fullmatch(name)
                if match and match[2] in found:
                    lines = _texts(json.loads(archive.read(name)))
                    found[match[2]][match[1]].update(
                        line for line in lines if _words(line) >= FEWEST_WORDS
                    )
    except OSError as error:
        raise CgruError(f"{wheel}: {error.strerror or error}") from error
    except (zipfile.BadZipFile, zlib.error, ValueError, AttributeError) as error:
        raise CgruError(f"{wheel}: not a complete wheel ({error}); download it again") from error
    for language, components in found.items():
        if not components:
            raise CgruError(f"{wheel}: no messages in {language}; is it Home Assistant's?")
    return found


def _texts(tree: dict) -> Iterator[str]:
    """The text of every leaf, each as one line."""
    for value in tree.values():
        if isinstance(value, dict):
            yield from _texts(value)
        elif isinstance(value, str):
            yield " ".join(value.split())


def _words(line: str) -> int:
    return len(re.findall(r"[^\W\d_]+", line))


def sets(found: Messages, sizes: dict[str, int], seed: int) -> dict[str, list[tuple[str, str]]]:
    """Draw lines with their languages, equally many per language in each set, in random order.

    Raises CgruError if a language has too few.
    """
    draw = random.Random(seed)
    languages_of = defaultdict(set)
    for language, components in found.items():
        for lines in components.values():
            for line in lines:
                languages_of[line].add(language)
    components = sorted(set().union(*found.values()))
    draw.shuffle(components)
    tenth = max(1, len(components) // 10)
    parts = {"dev": components[:tenth], "test": components[tenth : 3 * tenth]}
    parts["train"] = components[3 * tenth :]
    taken: set[str] = set()
    drawn = {}
    for name, part in parts.items():
        drawn[name] = []
        for language, by_component in found.items():
            own = {line for component in part for line in by_component.get(component, ())}
            lines = sorted(line for line in own - taken if len(languages_of[line]) == 1)
            if len(lines) < sizes[name]:
                raise CgruError(
                    f"{language}: {len(lines)} messages for {name}, but {sizes[name]} are needed; "
                    f"give --{name}, or leave the language out"
                )
            drawn[name] += [(line, language) for line in draw.sample(lines, sizes[name])]
            taken |= own
        draw.shuffle(drawn[name])
    return drawn


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("folder", type=Path, help="output folder for train.text, train.labels, ...")
    parser.add_argument("--wheel", type=Path, required=True, help="Home Assistant's wheel")
    parser.add_argument("--languages", default=LANGUAGES, help="as the wheel names them")
    for name, size in {"train": 1400, "dev": 50, "test": 200}.items():
        parser.add_argument(
            f"--{name}", type=int, default=size, help=f"lines per language in {name}"
        )
    parser.add_argument("--seed", type=int, default=1, help="random seed")
    options = parser.parse_args(arguments)
    try:
        sizes = {name: getattr(options, name) for name in ("train", "dev", "test")}
        drawn = sets(messages(options.wheel, options.languages.split()), sizes, options.seed)
        write(options.folder, drawn)
    except CgruError as error:
        print(f"languages.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
