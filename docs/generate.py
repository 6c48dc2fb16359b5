"""Write docs/options.md and docs/names.md from the code: `python docs/generate.py`.

What the tables say stands in `cgru_cli/options/` and `cgru_cli/parameters/names.py` and nowhere
else; a test compares the files with what is generated here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cgru_cli.options.convert import ConvertOptions
from cgru_cli.options.flags import Flag, grouped, shown_default
from cgru_cli.options.old_programs import OldProgramsOptions
from cgru_cli.options.prep import PrepOptions
from cgru_cli.options.score import REFUSED_BY_SCORE, ScoreOptions
from cgru_cli.options.train import REFUSED_BY_TRAIN, TrainOptions
from cgru_cli.options.translate import REFUSED_BY_TRANSLATE, TranslateOptions
from cgru_cli.parameters.names import parameters
from cgru_cli.parameters.parameter import Dialect, Parameter
from cgru_cli.parameters.structure import Activation, Encoder, Normalization, Structure, Type, Unit

FOLDER = Path(__file__).parent
COMMANDS = {
    "convert": ConvertOptions,
    "old-programs": OldProgramsOptions,
    "prep": PrepOptions,
    "score": ScoreOptions,
    "train": TrainOptions,
    "translate": TranslateOptions,
}
REFUSED = {
    "score": REFUSED_BY_SCORE,
    "train": REFUSED_BY_TRAIN,
    "translate": REFUSED_BY_TRANSLATE,
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
        "Generated from `cgru_cli/options/`. Aliases are the names that Nematus and Marian give "
        "the same option. Where no default is shown, "
        "the model's program or its configuration decides, or nothing is done. Options whose "
        "value ends in `...` take several values after one flag, or are repeated. A value outside "
        "its range is an error (exit code 2).\n"
    )
    for command, options in COMMANDS.items():
        parts.append(f"## cgru {command}\n")
        for group, members in grouped(options):
            if group:
                parts.append(f"### {group}\n")
            head = ("option", "value", "range", "default", "aliases", "what it does")
            parts.append(table(head, (_option(flag, default) for flag, default in members)))
        if command in REFUSED:
            parts.append("### Known and refused\n")
            parts.append(
                f"Options of Nematus' and Marian's programs that `cgru {command}` cannot honour. "
                "They are errors (exit code 2), never ignored.\n"
            )
            reasons = [(code(flag), reason) for flag, reason in REFUSED[command].items()]
            parts.append(table(("option", "why, or what to do instead"), reasons))
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
    "Type lm": ("", {"type": Type.LM, "decoder_base_transition": 1,
                     "source_vocabularies": (), "source_embeddings": ()}),
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
        "M softmaxes. Gates are stored [reset | update], an LSTM's blocks [f | i | c | o]. The "
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


PAGES = {"options.md": options_page, "names.md": names_page}


def main() -> None:
    """Write both pages."""
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
