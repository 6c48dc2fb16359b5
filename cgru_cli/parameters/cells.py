"""The recurrent cells of a model, in the order of computation."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from .structure import Bias, Encoder, Structure, Type, Unit


class BiasPlace(StrEnum):
    """The product that a cell's bias is added to (before its normalisation)."""

    INPUT = "input"  # (h U) r + (x W + b): encoder, first decoder cell, high levels
    STATE = "state"  # (s U + b) r + c W: every decoder cell after the attention
    AFTER = "after"  # a cell without an input, like transitions of the first form: b is added last
    NONE = "none"  # Nematus-TF's own encoder transitions have no bias


class CellPlace(NamedTuple):
    """One recurrent cell of the network.

    level counts from 1, transition from 0; direction: "forward" or "backward" in the encoder, "" in
    the decoder; input: the letter of its input's width, None for a transition; context: the letter
    of a context's width, if the cell also reads one.
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
    """The first cell of an encoder level and its transitions, in order of computation."""
    below = len(s.directions(level - 1)) if level > 1 else 0
    joined = s.encoder is Encoder.BI_UNIDIRECTIONAL and below > 1  # [forward ; backward]
    read = "Es" if level == 1 else ("2D" if joined else "D")
    transition_bias = BiasPlace.NONE if s.bias is Bias.NEMATUS_TF else BiasPlace.AFTER
    return [
        CellPlace(
            "encoder",
            direction,
            level,
            transition,
            None if transition else read,
            transition_bias if transition else BiasPlace.INPUT,
            s.encoder_unit,
        )
        for transition in range(s.encoder_transition)
    ]


def base_cells(s: Structure) -> list[CellPlace]:
    """The cells of the decoder's first level; the conditional cell has attention after the first.

    Other decoders read the context, if there is one, in the first.
    """
    conditional = s.type is Type.CGRU
    beside = "C" if s.type.has_context and not conditional else None
    inputs = ({0: "E"} if s.feedback else {}) | ({1: "C"} if conditional else {})
    first_bias = BiasPlace.INPUT if s.feedback else BiasPlace.AFTER
    return [
        CellPlace(
            "decoder",
            "",
            1,
            transition,
            inputs.get(transition),
            BiasPlace.STATE if transition else first_bias,
            s.decoder_unit,
            None if transition else beside,
        )
        for transition in range(s.decoder_base_transition)
    ]


def high_cells(s: Structure, level: int) -> list[CellPlace]:
    """The cells of decoder level 2 or above."""
    native = s.bias is Bias.NEMATUS_TF
    return [
        CellPlace(
            "decoder",
            "",
            level,
            transition,
            None if transition else ("D+C" if s.deep_context else "D"),
            BiasPlace.STATE if native else (BiasPlace.AFTER if transition else BiasPlace.INPUT),
            s.decoder_unit,
        )
        for transition in range(s.decoder_high_transition)
    ]
