"""The recurrent cells of a model, in the order of computation."""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from .structure import WITHOUT_STATE_PRODUCT, Bias, Encoder, Structure, Type, Unit


class BiasPlace(StrEnum):
    """The product to which a cell's bias is added (before its normalisation)."""

    INPUT = "input"  # (h U) r + (x W + b): encoder, first decoder cell, high levels
    STATE = "state"  # (s U + b) r + c W: every decoder cell after the attention
    AFTER = "after"  # b is added last: transitions of the first form, cells without an input
    NONE = "none"  # Nematus-TF's own encoder transitions have no bias


class CellPlace(NamedTuple):
    """One recurrent cell of the network.

    level counts from 1, transition from 0; direction: "forward" or "backward" in the encoder, "" in
    the decoder; input: the letter of its input's width, None for a transition; context: the letter
    of the context's width, if the cell reads a context.
    """

    part: str
    direction: str
    level: int
    transition: int
    input: str | None
    bias: BiasPlace
    unit: Unit = Unit.GRU
    context: str | None = None

    @property
    def path(self) -> str:
        """The place of the cell in the model, e.g. `encoder/forward/level1/cell1`."""
        steps = [self.part, self.direction, f"level{self.level}", f"cell{self.transition + 1}"]
        return "/".join(step for step in steps if step)


def encoder_cells(s: Structure, direction: str, level: int) -> list[CellPlace]:
    """The first cell of an encoder level and its transitions."""
    below = len(s.directions(level - 1)) if level > 1 else 0
    joined = s.encoder is Encoder.BI_UNIDIRECTIONAL and below > 1  # [forward ; backward]
    read = "Es" if level == 1 else ("2D" if joined else "D")
    first = CellPlace("encoder", direction, level, 0, read, BiasPlace.INPUT, s.encoder_unit)
    bias = BiasPlace.NONE if s.bias is Bias.NEMATUS_TF else BiasPlace.AFTER
    return [first, *_transitions(first, s.encoder_transition, bias)]


def base_cells(s: Structure) -> list[CellPlace]:
    """The cells of the decoder's first level.

    The second cell of the conditional GRU comes after attention and reads the context; if there is
    only one cell, as in some models of Marian, only the readout reads the context. Other decoders
    read the context, if any, in the first cell.
    """
    conditional = s.type is Type.CGRU
    context = "C" if s.type.has_context and not conditional else None
    read, bias = ("E", BiasPlace.INPUT) if s.feedback else (None, BiasPlace.AFTER)
    first = CellPlace("decoder", "", 1, 0, read, bias, s.decoder_unit, context)
    others = _transitions(first, s.decoder_base_transition, BiasPlace.STATE)
    if conditional:
        others[:1] = [cell._replace(input="C") for cell in others[:1]]
    return [first, *others]


def high_cells(s: Structure, level: int) -> list[CellPlace]:
    """The first cell of a decoder level above the first, and its transitions."""
    native = s.bias is Bias.NEMATUS_TF
    read = "D+C" if s.deep_context else "D"
    bias = BiasPlace.STATE if native else BiasPlace.INPUT
    first = CellPlace("decoder", "", level, 0, read, bias, s.decoder_unit)
    bias = BiasPlace.STATE if native else BiasPlace.AFTER
    return [first, *_transitions(first, s.decoder_high_transition, bias)]


def all_cells(s: Structure) -> Iterator[CellPlace]:
    """Every cell of a model."""
    for level in s.encoder_levels():
        for direction in s.directions(level):
            yield from encoder_cells(s, direction, level)
    for level in s.decoder_levels():
        yield from base_cells(s) if level == 1 else high_cells(s, level)


def impossible(s: Structure) -> str:
    """The reason why a model's cells are impossible, "" if they are possible."""
    for cell in all_cells(s):
        if cell.unit in WITHOUT_STATE_PRODUCT and cell.input is None:
            return f"{cell.path}: {cell.unit} cells need an input besides the state"
        width = s.sizes()[cell.input] if cell.input else 0
        if cell.unit is Unit.SRU and (width != s.state or cell.context):
            return (
                f"{cell.path}: the input of an sru cell must be as wide as its state ({s.state}), "
                f"and is {width + (s.context if cell.context else 0)}"
            )
    return ""


def _transitions(first: CellPlace, count: int, bias: BiasPlace) -> list[CellPlace]:
    """The cells after the first of a level with `count` cells, which have no input."""
    cell = first._replace(input=None, context=None, bias=bias)
    return [cell._replace(transition=transition) for transition in range(1, count)]
