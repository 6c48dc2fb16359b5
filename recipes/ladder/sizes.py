"""Find the state size of each model of the ladder that matches a budget of parameters.

    python sizes.py PREP OUT --embedding 64 --state 128 encdec-rnn seq2seq-lstm ...

The budget is the number of parameters of a cGRU with the given state size. Writes the options of
each model to OUT/MODEL.yml, for `cgru train --config`, and the sizes of all to OUT/sizes.tsv.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

from cgru_cli.errors import CgruError
from cgru_cli.formats.vocabulary_files import read_vocabulary
from cgru_cli.options.train import TrainOptions
from cgru_cli.parameters.names import parameters
from cgru_cli.system.atomic_files import atomic_write
from cgru_cli.text.vocabulary import Vocabulary
from cgru_cli.train.structure_from_options import new_structure

STEP = 4  # sizes are multiples of it
N_GRAMS = "kneser-ney"  # has no states


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("prepared", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--embedding", type=int, required=True)
    parser.add_argument("--state", type=int, required=True)
    parser.add_argument("models", nargs="+")
    a = parser.parse_args(arguments)
    vocabularies = [read_vocabulary(a.prepared / f"vocab.{side}.json") for side in ("src", "trg")]
    budget = count(options_of("cgru-gru", a.embedding, a.state), vocabularies)
    lines = []
    for model in a.models:
        if model == N_GRAMS:
            continue
        options = widest(model, a.embedding, budget, vocabularies)
        number = count(options, vocabularies)
        with atomic_write(a.output / f"{model}.yml") as file:
            file.write(as_yaml(options).encode())
        lines.append(f"{model}\t{options.dim_rnn}\t{number}\n")
        print(
            f"{model:16}states {options.dim_rnn:5}{number:12,} parameters, "
            f"{100 * (number / budget - 1):+.2f} %"
        )
    with atomic_write(a.output / "sizes.tsv") as file:
        file.write("".join(lines).encode())


def options_of(model: str, embedding: int, state: int) -> TrainOptions:
    """TYPE-CELL as options; seq2seq reads its source from the end (Sutskever et al. 2014)."""
    kind, _, cell = model.partition("-")
    return TrainOptions(
        type=kind,
        cell=cell,
        dim_emb=embedding,
        dim_rnn=state,
        enc_type="reversed" if kind == "seq2seq" else None,
    )


def as_yaml(options: TrainOptions) -> str:
    """The options of a model in the format of `cgru train --config`."""
    names = ("type", "cell", "enc_type", "dim_emb", "dim_rnn")
    values = {name: getattr(options, name) for name in names}
    return "".join(
        f"{name.replace('_', '-')}: {value}\n" for name, value in values.items() if value
    )


def count(options: TrainOptions, vocabularies: Sequence[Vocabulary]) -> int:
    """The number of parameters of the model. Raises UsageError for an invalid model."""
    structure = new_structure(options, vocabularies[-1:] if options.type == "lm" else vocabularies)
    sizes = structure.sizes()
    return sum(
        math.prod(sizes[letter] for letter in parameter.shape)
        for parameter in parameters(structure)
    )


def widest(
    model: str, embedding: int, budget: int, vocabularies: Sequence[Vocabulary]
) -> TrainOptions:
    """The options whose number of parameters is closest to the budget."""

    def distance(steps: int) -> int:
        return count(options_of(model, embedding, STEP * steps), vocabularies) - budget

    low, high = 1, 2
    while distance(high) < 0:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if distance(middle) < 0 else (low, middle)
    nearest = min(low, high, key=lambda steps: abs(distance(steps)))
    return options_of(model, embedding, STEP * nearest)


if __name__ == "__main__":
    try:
        main()
    except CgruError as error:
        sys.exit(str(error))
