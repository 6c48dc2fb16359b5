"""Write docs/options.md, docs/names.md and the manual from the code: `python docs/generate.py`.

What they say stands in `cgru_cli/options/` and `cgru_cli/parameters/names.py` and nowhere
else; a test compares the files with what is generated here.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from program_options import Documented, documented, other_defaults

from cgru_cli import __version__
from cgru_cli.cli import Command
from cgru_cli.cli import main as cgru
from cgru_cli.options.flags import Flag, grouped, shown_default
from cgru_cli.parameters.names import parameters
from cgru_cli.parameters.parameter import Dialect, Parameter
from cgru_cli.parameters.structure import (
    Activation,
    Condition,
    Encoder,
    Normalization,
    Pooling,
    Structure,
    Type,
    Unit,
)

FOLDER = Path(__file__).parent
COMMANDS = {
    name: command for name, command in sorted(cgru.commands.items()) if isinstance(command, Command)
}
NOTICE = "<!-- Made by docs/generate.py; `make docs` makes it again. -->\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    escaped = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)


def code(*words: str) -> str:
    """Words as Markdown code, a comma between them."""
    return ", ".join(f"`{word}`" for word in words if word)


def options_page() -> str:
    """docs/options.md."""
    parts = [NOTICE, "# Options\n"]
    parts.append(
        "Generated from `cgru_cli/options/`. Secondary names are those of Nematus and Marian for "
        "an option of the same meaning; an underscore in a name stands for a dash. Where no "
        "default is shown, "
        "the model's program or its configuration decides, or nothing is done. Options whose "
        "value ends in `...` take several values after one flag, or are repeated. A value outside "
        "its range is an error (exit code 2).\n"
    )
    for name, command in COMMANDS.items():
        parts.append(f"## cgru {name}\n")
        for group, members in grouped(command.options):
            if group:
                parts.append(f"### {group}\n")
            head = ("option", "value", "range", "default", "secondary names", "what it does")
            parts.append(table(head, (_option(flag, default) for flag, default in members)))
    return "\n".join(parts)


def _option(flag: Flag, default: Any) -> tuple[str, ...]:
    """A row of a table of options."""
    return (
        code(*flag.flags), code(flag.value_name), str(flag.bounds),
        code(shown_default(default)), code(*flag.aliases), flag.description,
    )  # fmt: skip


SHALLOW = Structure((0,), (0,), 0, 0, 0)  # the table needs no numbers
# Structures beyond the shallow one, and what to say of them.
FEATURES = {
    "Tied": ("One embedding for source, target and output layer.",
             {"tied_output": True, "shared_embeddings": True}),
    "Deep": ("Encoder depth 2 and transition 2; decoder base transition 3, depth 2, high "
             "transition 2. More depth is more numbers in the same places.",
             {"encoder_depth": 2, "encoder_transition": 2, "decoder_base_transition": 3,
              "decoder_depth": 2, "decoder_high_transition": 2}),
    "Layer normalisation of Nematus": ("Gain and bias of every product, eps 1e-5.",
                                       {"normalization": Normalization.NEMATUS}),
    "Layer normalisation of Marian": ("One gain for gates and proposal at once, eps 1e-9.",
                                      {"normalization": Normalization.MARIAN}),
    "Weight normalisation": ("", {"weight_normalization": True}),
    "Source factors": ("Two factors.",
                       {"source_vocabularies": (0, 0), "source_embeddings": (0, 0)}),
    "Mixture of two softmaxes": ("", {"mixture": 2}),
    "Lexical model": ("", {"lexical": True}),
    "PReLU readout": ("", {"readout_activation": Activation.PRELU}),
    "Maxout readout": ("R is twice E.", {"readout_activation": Activation.MAXOUT}),
    "LSTM cells": ("", {"encoder_unit": Unit.LSTM, "decoder_unit": Unit.LSTM}),
    "Plain cells": ("tanh or ReLU.", {"encoder_unit": Unit.TANH, "decoder_unit": Unit.TANH}),
    "Bi-unidirectional encoder": (
        "Depth 3.", {"encoder": Encoder.BI_UNIDIRECTIONAL, "encoder_depth": 3}),
    "Type rnnsearch": ("", {"type": Type.RNNSEARCH, "decoder_base_transition": 1}),
    "Type encdec": ("", {"type": Type.ENCDEC, "decoder_base_transition": 1,
                         "encoder": Encoder.UNIDIRECTIONAL}),
    "Type seq2seq": ("", {"type": Type.SEQ2SEQ, "decoder_base_transition": 1,
                          "encoder": Encoder.REVERSED}),
    "Type encdec without feedback": ("", {"type": Type.ENCDEC, "decoder_base_transition": 1,
                                          "encoder": Encoder.UNIDIRECTIONAL, "feedback": False}),
    "Type lm": ("", {"type": Type.LM, "decoder_base_transition": 1,
                     "source_vocabularies": (), "source_embeddings": ()}),
    "Type lm with a condition": (
        "N are the labels, or the numbers of a vector.",
        {"type": Type.LM, "decoder_base_transition": 1, "source_vocabularies": (),
         "source_embeddings": (), "condition": Condition.VECTOR, "condition_size": 1}),
    "Type classifier": ("With attention; L are the labels, all words but the first two.",
                        {"type": Type.CLASSIFIER, "pooling": Pooling.ATTENTION}),
    "Type tagger": ("With `--crf`.", {"type": Type.TAGGER, "crf": True}),
}  # fmt: skip


def names_page() -> str:
    """docs/names.md."""
    parts = [NOTICE, "# Names\n"]
    parts.append(
        "Generated from `cgru_cli/parameters/names.py`, the one table of parameters. Symbols are "
        "those of the DL4MT cGRU note; primes mark the first cell of the decoder. Shapes are "
        "letters: D state, C context (2D, or D of one reader), A the attention's hidden layer "
        "(as wide as C), "
        "E target and Es source embedding, R readout, V target and Vs0, Vs1 source vocabularies, "
        "M softmaxes, N labels or numbers of a condition. Gates are stored [reset | update], an "
        "LSTM's blocks [f | i | c | o]. The "
        "path names the Keras variable and the dataset in `.h5`. The name of DL4MT and Nematus "
        "(Theano) is also the name in cgru's own `.npz`. T marks an array that is stored "
        "transposed, - one that the dialect has no name for.\n"
    )
    parts.append("## Shallow\n")
    parts.append(_names(parameters(SHALLOW)))
    shallow = {(p.name, p.shape): p.names for p in parameters(SHALLOW)}
    for title, (text, values) in FEATURES.items():
        rows = parameters(dataclasses.replace(SHALLOW, **values))
        added = [p for p in rows if shallow.get((p.name, p.shape)) != p.names]
        gone = [name for name, _ in shallow if name not in {p.name for p in rows}]
        parts.append(f"## {title}\n")
        sentences = [text, f"Without {code(*gone)}." if gone else ""]
        sentences.append("Added or named differently:" if added else "No array is added.")
        parts.append(" ".join(filter(None, sentences)) + "\n")
        if added:
            parts.append(_names(added))
    return "\n".join(parts)


def _names(rows: Iterable[Parameter]) -> str:
    head = ("symbol", "path", "shape", *(d.value for d in Dialect))
    return table(head, (_row(p) for p in rows))


def _row(p: Parameter) -> list[str]:
    cells = [p.symbol, code(p.path), " x ".join(p.shape)]
    for dialect in Dialect:
        names = [code(p.names[dialect])] if dialect in p.names else []
        if dialect in p.transposed:
            names.append(f"{code(p.transposed[dialect])} (T)")
        cells.append(" or ".join(names) or "-")
    return cells


EXIT_CODES = {
    "0": "Success, also where nobody reads the output to its end.",
    "1": "Bad input, or output that cannot be written. One line on standard error says why.",
    "2": "An invalid command line.",
    "128 + N": "Ended by signal N.",
}


def manual(command: click.Command) -> str:
    """A page of the manual in roff: of a command, or of `cgru` itself."""
    is_main = not isinstance(command, Command)
    words = ["cgru"] if is_main else ["cgru", str(command.name)]
    context = click.Context(command, info_name=" ".join(words))
    summary, *paragraphs = (command.help or "").strip().split("\n\n")
    usage = [piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]"]
    lines = [
        '.\\" Made by docs/generate.py; `make docs` makes it again.',
        f'.TH "{"-".join(words).upper()}" 1 "" "cgru {__version__}" "Manual of cgru"',
        ".SH NAME",
        roff(f"{'-'.join(words)} - {' '.join(summary.split()).rstrip('.')}"),
        ".SH SYNOPSIS",
        f".B {roff(' '.join(words))}",
        roff(" ".join(["[OPTION]...", *usage])),
    ]
    if paragraphs:
        lines.append(".SH DESCRIPTION")
    for paragraph in paragraphs:
        as_typed = paragraph.lstrip().startswith("\b")
        text = [roff(line.strip()) for line in paragraph.replace("\b", "").strip().split("\n")]
        lines += [".PP", *([".nf", *text, ".fi"] if as_typed else text)]
    if is_main:
        lines.append(".SH COMMANDS")
        for name, sub in COMMANDS.items():
            lines += entry(f"cgru {name}", sub.get_short_help_str() + ".")
    else:
        lines += _manual_options(command)
    lines.append(".SH EXIT STATUS")
    for status, meaning in EXIT_CODES.items():
        lines += entry(status, meaning)
    others = ["cgru", *(f"cgru-{name}" for name in COMMANDS)]
    others.remove("-".join(words))
    lines += [".SH SEE ALSO", ", ".join(f"{roff(other)}(1)" for other in others)]
    return "\n".join(lines) + "\n"


def _manual_options(command: Command) -> list[str]:
    lines = [".SH OPTIONS"]
    for group, members in grouped(command.options):
        if group:
            lines.append(f'.SS "{roff(group)}"')
        for flag, default in members:
            notes = [f"{name} {value}." for name, value in (
                ("Range:", flag.bounds), ("Default:", shown_default(default)),
                ("Also:", ", ".join(flag.aliases)),
            ) if str(value)]  # fmt: skip
            text = f"{flag.description[0].upper()}{flag.description[1:]}."
            flags = " ".join(filter(None, (", ".join(flag.flags), flag.value_name)))
            lines += entry(flags, " ".join((text, *notes)))
    return lines


def entry(term: str, text: str) -> list[str]:
    """A term and what it means, in roff."""
    return [".TP", f'.B "{roff(term)}"', roff(text)]


def roff(text: str) -> str:
    """A line of text as roff has it: no request, no escape, hyphens that can be copied."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return f"\\&{text}" if text.startswith((".", "'")) else text


# Pages written by hand, with tables of the options of these programs in them.
FROM = {
    "from-nematus.md": ("nematus", "nematus-tf"),
    "from-marian.md": ("marian", "amun"),
    "from-dl4mt.md": ("dl4mt",),
}


def _page_of_programs(name: str) -> str:
    """A page as it stands, its tables made again between `<!-- generated: .. -->` and its end."""
    text = (FOLDER / name).read_text("utf-8")
    made = {"options": _options_of(FROM[name]), "defaults": _defaults_of(FROM[name])}
    for what, tables in made.items():
        text = re.sub(
            rf"(<!-- generated: \w+ {what} -->\n).*?(<!-- end generated -->)",
            lambda match, tables=tables: f"{match[1]}\n{tables}\n{match[2]}",
            text,
            flags=re.DOTALL,
        )
    return text


def _options_of(programs: Sequence[str]) -> str:
    parts = []
    for program in programs:
        for command in ("train", "translate", "score"):
            rows = list(documented(program, command, COMMANDS[command].options))
            if rows:
                parts.append(f"#### `cgru {command} --compat {program}`\n")
                head = ("option", "default", "option of cgru", "remark")
                parts.append(table(head, (
                    (code(*row.flags), code(row.default), code(row.here), row.remark)
                    for row in rows if not row.kind
                )))  # fmt: skip
                parts += _others(rows)
    return "\n".join(parts)


def _others(rows: Sequence[Documented]) -> Iterator[str]:
    """Lists of the options that have no counterpart, by what becomes of them and why."""
    compared = [flag for row in rows if row.kind == "compared" for flag in row.flags]
    if compared:
        yield f"Compared with the model, which may not differ: {code(*compared)}.\n"
    for kind, title in (("no effect", "Accepted without effect"), ("refused", "Refused")):
        reasons: dict[str, list[str]] = {}
        for row in rows:
            if row.kind == kind:
                reasons.setdefault(row.remark, []).extend(row.flags)
        if reasons:
            yield f"{title}:\n"
            yield "".join(f"- {code(*flags)}: {reason}\n" for reason, flags in reasons.items())


def _defaults_of(programs: Sequence[str]) -> str:
    parts = []
    for program in programs:
        rows = [
            (code(row.flags[-1]), code(row.default), code(row.here), code(row.default_here))
            for row in other_defaults(program, "train", COMMANDS["train"].options)
        ]
        if rows:
            parts.append(f"#### `cgru train --compat {program}`\n")
            head = ("option", "default", "option of cgru", "default without --compat")
            parts.append(table(head, rows))
    return "\n".join(parts)


PAGES = {
    "options.md": options_page,
    "names.md": names_page,
    "man/cgru.1": lambda: manual(cgru),
    **{f"man/cgru-{name}.1": functools.partial(manual, c) for name, c in COMMANDS.items()},
    **{name: functools.partial(_page_of_programs, name) for name in FROM},
}


def main() -> None:
    """Write all pages."""
    for name, page in PAGES.items():
        (FOLDER / name).parent.mkdir(exist_ok=True)
        (FOLDER / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
