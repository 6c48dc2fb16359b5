"""Random lines of XML and Markdown, and their marks in random translations by random attention."""

import html
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from fake_translations import placed
from markdown_it import MarkdownIt

from cgru_cli.documents.markup import Markup

_WORDS = ["a", "bee", "x&y", "<", "s.", "the", "é"]
_NAMES = ["b", "i", "g", "span", "x1"]
_TARGETS = [
    "(x.md)", "(a_b(c).md \"t (i\\\" '\")", "(x.md 't (i\\' \"')", "(x.md (t\\) i '))", "()",
    "(<my file.md>)", "(<a(b> 't')", "[1]", "[*a* \\] b]",
]  # fmt: skip
_PARSER = MarkdownIt("commonmark")
_DEFINED: dict[str, Any] = {}
_PARSER.parse(
    "[1]: 1.md\n\n[*a* \\] b]: 2.md 't'\n\n" + "".join(f"[the {n}]: {n}.md\n\n" for n in range(9)),
    _DEFINED,
)


def random_line(draw: np.random.Generator, depth: int = 0) -> str:
    """Words, entities, and elements with and without text, up to 4 deep."""
    parts = []
    for _ in range(draw.integers(0, 5 if depth else 7)):
        kind = draw.random()
        name = _NAMES[draw.integers(len(_NAMES))]
        attribute = f' n="{draw.integers(100)}>"' if draw.random() < 0.3 else ""
        if kind < 0.55 or depth == 4:
            parts.append(html.escape(_WORDS[draw.integers(len(_WORDS))], quote=False))
        elif kind < 0.7:
            parts.append(f"<{name}{attribute}/>")
        else:
            parts.append(f"<{name}{attribute}>{random_line(draw, depth + 1)}</{name}>")
        parts.append(" " * (draw.random() < 0.6))
    return "".join(parts)


def random_markdown(draw: np.random.Generator, inside: Sequence[str] = ("link", "image")) -> str:
    """Words, links, images inside and outside links, tags, and footnote marks after words."""
    parts = []
    for _ in range(draw.integers(0, 6)):
        kind = draw.choice(["words", "tag", "footnote", *inside, *inside])
        words = html.escape(" ".join(draw.choice(_WORDS, draw.integers(1, 3))), quote=False)
        if kind in ("link", "image"):
            target = f"]{draw.choice(_TARGETS)}"
            within = () if kind == "image" else ("image",)
            text = f"the {draw.integers(9)}][]" if draw.random() < 0.2 else ""
            text = text or random_markdown(draw, within) + target
            parts.append("!" * (kind == "image") + f"[{text}")
        elif kind == "tag" and inside:
            parts.append(f"<b>{random_markdown(draw, inside)}</b>")
        else:
            parts.append(words + f"[^{draw.integers(99)}] " * (kind == "footnote"))
        parts.append(" " * (draw.random() < 0.6))
    return "".join(parts)


def markdown_shape(line: str) -> tuple[tuple, str]:
    """The tree of a line's marks, without the order of siblings, and its text without spaces."""
    levels: list[list[tuple]] = [[]]
    words: list[str] = []

    def visit(tokens: Sequence[Any]) -> None:
        for token in tokens:
            name = token.tag or "b"
            attributes = tuple(sorted(token.attrs.items()))
            if token.type in ("text", "text_special"):
                levels[-1] += [(one, (), ()) for one in re.findall(r"\[\^\d+\]", token.content)]
                words.append(re.sub(r"\[\^\d+\]|\s", "", token.content))
                continue
            if not (token.nesting < 0 or token.content.startswith("</")):
                levels.append([])
                visit(token.children or ())
            if not (token.nesting > 0 or token.content == "<b>"):
                inner = tuple(sorted(levels.pop()))
                levels[-1].append((name, attributes, inner))

    visit(_PARSER.parseInline(line, _DEFINED)[0].children or ())
    assert len(levels) == 1
    return tuple(sorted(levels[0])), "".join(words)


def random_emphasis(draw: np.random.Generator, depth: int = 0) -> str:
    """Words, emphasis up to 2 deep, code and links."""
    parts = []
    for _ in range(draw.integers(1, 5)):
        kind, words = draw.random(), " ".join(draw.choice(["a", "bee", "s.", "-c"], 2))
        mark = str(draw.choice(["*", "**"] if depth else ["_", "__"]))
        if kind < 0.3 and depth < 2:
            parts.append(f"{mark}z {random_emphasis(draw, depth + 1)} z{mark}")
        elif kind < 0.4:
            parts.append(f"`{words}`")
        elif kind < 0.5 and depth == 0:
            parts.append(f"[{words}](x.md)")
        else:
            parts.append(words)
    return " ".join(parts)


def marks_of(line: str) -> tuple[Counter[str], str]:
    """The marks of a line of Markdown by their number, and its text without spaces."""
    tokens = _PARSER.parseInline(line)[0].children or ()
    words = "".join(one.content for one in tokens if one.type in ("text", "text_special"))
    text = ("text", "text_special", "softbreak")
    return Counter(one.type for one in tokens if one.type not in text), re.sub(r"\s", "", words)


def random_placed(
    draw: np.random.Generator, line: str, form: str = "html", words: Sequence[str] = _WORDS
) -> tuple[str, str]:
    """The marks of a line in a random translation of pieces of words, and this translation."""
    markup = Markup(line, form)
    source = markup.plain.split()
    pieces = []
    for _ in range(draw.integers(0, 9)):
        begins = " " * (draw.random() < 0.7 and bool(pieces))
        pieces.append(begins + words[draw.integers(len(words))])
    sources = max(len(source), 1)
    weights = draw.dirichlet(np.full(sources, draw.choice([0.05, 1.0])), len(pieces))
    weights = np.reshape(weights, (len(pieces), sources))
    return placed(markup, "".join(pieces), weights, pieces, source), "".join(pieces)


def shape(element) -> tuple:
    """The tree of an element's tags and attributes; the order of siblings does not count."""
    inner = sorted(shape(one) for one in element)
    return element.tag, tuple(sorted(element.attrib.items())), tuple(inner)
