"""Random lines of XML, and their marks in random translations by random attention."""

import html

import numpy as np

from cgru_cli.text.markup import Markup

_WORDS = ["a", "bee", "x&y", "<", "s.", "the", "é"]
_NAMES = ["b", "i", "g", "span", "x1"]


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


def random_placed(draw: np.random.Generator, line: str) -> tuple[str, str]:
    """The marks of a line in a random translation of pieces, and this translation."""
    markup = Markup(line, "html")
    source = {place: len(markup.plain[:place].split()) for place in markup.borders()}
    pieces = []
    for _ in range(draw.integers(0, 9)):
        begins = " " * (draw.random() < 0.7 and bool(pieces))
        pieces.append(begins + _WORDS[draw.integers(len(_WORDS))])
    words = max(len(markup.plain.split()), 1)
    weights = draw.dirichlet(np.full(words, draw.choice([0.05, 1.0])), len(pieces))
    output = markup.placed(
        np.reshape(weights, (len(pieces), words)), source, lambda n: "".join(pieces[:n])
    )
    return output, "".join(pieces)


def shape(element) -> tuple:
    """The tree of an element's tags and attributes; the order of siblings does not count."""
    inner = sorted(shape(one) for one in element)
    return element.tag, tuple(sorted(element.attrib.items())), tuple(inner)
