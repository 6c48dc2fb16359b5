"""The encoder, which runs the readers of every level over the source."""

from typing import Any, NamedTuple

from ..parameters.cells import encoder_cells
from ..parameters.structure import Encoder, Structure, Type
from . import ops
from .layers import Layers, Transition, transit
from .ops import Tensor
from .units import UnitState, nudged, tensors_of_state


class Encoded(NamedTuple):
    """An encoded source: B sentences, S words with EOS; () if there is no encoder."""

    annotations: Tensor | tuple  # (B,S,C): [forward ; backward], or one reader's
    mask: Tensor  # (B,S): 1 at words and EOS
    embeddings: Tensor | tuple  # (B,S,Es)
    last: tuple[tuple[UnitState, ...], ...]  # by level and reader: the state after its last word
    starts: Tensor | tuple = ()  # (B,S) int32: 1 where a word begins; for taggers
    condition: Any = ()  # (B,S,F) int32: the source itself if there is no encoder


def distinct(words: Tensor) -> tuple[Tensor, Tensor]:
    """Words (...) int32 -> the distinct words (U,), and the index of each word in them (...)."""
    once, places = ops.unique(ops.reshape(words, [-1]))
    return once, ops.reshape(places, ops.shape(words))


def at_their_places(rows: Tensor, places: Tensor | None) -> Tensor:
    """Rows of distinct words (U,...) gathered at indices (...); all rows if places is None."""
    return rows if places is None else ops.take(rows, places)


def last_annotation(annotations: Any, mask: Tensor, structure: Structure) -> Tensor:
    """[hf_S ; hb_1], the last annotation of each direction: (B,S,C), (B,S) -> (B,C)."""
    s = structure
    ends = ops.cast(ops.sum(mask, axis=1), "int32") - 1
    last = {"forward": ops.take_each(annotations, ends), "backward": annotations[:, 0]}
    parts = [
        last[direction][:, place * s.state : (place + 1) * s.state]
        for place, direction in enumerate(s.directions(s.encoder_depth))
    ]
    return ops.concat(parts, axis=-1)


def _starts(source: Tensor, mask: Tensor, structure: Structure) -> Tensor:
    """1 where a word begins, 0 elsewhere and at EOS: (B,S) int32."""
    if source.shape[-1] == structure.source_columns:
        return source[..., -1]
    return ops.cast(ops.cumsum(mask, axis=1, reverse=True) > 1, "int32")


class Readers(NamedTuple):
    """The readers of an encoder level, side by side."""

    cells: list[list[Transition]]

    def step(
        self,
        states: tuple[UnitState, ...],
        inputs: tuple[tuple[Tensor, UnitState], ...],
        mask: tuple[Tensor, ...],
    ) -> tuple[tuple, tuple]:
        """One step; for each reader: states (B,D), inputs x W and nudges, masks (B,1), 1 at words.

        Padding leaves the state unchanged, so the backward reader starts at the last word.
        """
        new = []
        for cells, state, (x, nudge), here in zip(self.cells, states, inputs, mask, strict=True):
            stepped = nudged(transit(cells, state, x), nudge)
            new.append(tuple(h + here * (n - h) for h, n in zip(state, stepped, strict=True)))
        return tuple(state[0] for state in new), tuple(new)


class SourceEncoder:
    """Embeddings and levels of readers; once: process each distinct word once."""

    def __init__(self, layers: Layers, once: bool = False):
        s = self.structure = layers.structure
        self.once = once and len(s.source_embeddings) == 1
        self.masks = layers.masks
        self.embeddings = [
            layers.table(f"encoder/embedding{factor or ''}")
            for factor in range(len(s.source_embeddings))
        ]
        self.nudges: dict[tuple[int, str], UnitState] = {}  # by level and direction, (S,B,D) each
        self.levels = [
            [layers.reader(encoder_cells(s, direction, level)) for direction in s.directions(level)]
            for level in s.encoder_levels()
        ]

    def __call__(self, source: Tensor, mask: Tensor, differentiable: bool) -> Encoded:
        """source: (B,S,F) int32; mask: (B,S) float32, 1 at words and EOS.

        A tagger's source may have one more column, 1 where a word begins; without it, each position
        is a word.
        """
        if not self.levels:
            return Encoded((), mask, (), (), condition=source)
        s = self.structure
        words, places = ops.transpose(source, [1, 0, 2]), None
        if self.once:
            words, places = distinct(words[..., 0])
            words = words[..., None]
        embedded = ops.concat(
            [
                embedding.take(words[..., factor])
                for factor, embedding in enumerate(self.embeddings)
            ],
            axis=-1,
        )
        if "source" in self.masks:  # whole words
            embedded *= ops.transpose(self.masks["source"])[..., None]
        embeddings = at_their_places(embedded, places)  # (S,B,Es)
        steps = ops.transpose(mask)[..., None]  # (S,B,1)
        states = [embeddings] * len(s.directions(1))
        last = []
        for level in s.encoder_levels():
            read = states
            if level > 1 and len(states) > len(s.directions(level)):
                read = [ops.concat(states, axis=-1)]
            elif level > 1 and s.encoder is Encoder.ALTERNATING:
                read = states[::-1]
            below, where = ([embedded] * len(read), places) if level == 1 else (read, None)
            states, ended = self._read(level, below, steps, differentiable, where)
            last.append(ended)
            if s.adds_input(level):
                states = [state + x for state, x in zip(states, read, strict=True)]
        # the forward reader's states come first, whatever the direction of the stack
        annotations = ops.transpose(ops.concat(states, axis=-1), [1, 0, 2])
        if "annotations" in self.masks:
            annotations *= self.masks["annotations"][:, None]
        encoded = Encoded(annotations, mask, ops.transpose(embeddings, [1, 0, 2]), tuple(last))
        if s.type is Type.TAGGER:
            return encoded._replace(starts=_starts(source, mask, s))
        return encoded

    def _read(
        self,
        level: int,
        below: list[Tensor],
        mask: Tensor,
        differentiable: bool,
        places: Tensor | None,
    ) -> tuple[list[Tensor], tuple[UnitState, ...]]:
        """Run a level over inputs (S,B,N): states (S,B,D) by source position, and last states.

        With places (S,B), the inputs (U,N) belong to distinct words.
        """
        directions = self.structure.directions(level)
        backward = [direction == "backward" for direction in directions]

        def in_order(x: Tensor, reverse: bool) -> Tensor:
            return ops.flip(x, 0) if reverse else x

        inputs = []
        readers = self.levels[level - 1]
        for direction, (product, cells), x in zip(directions, readers, below, strict=True):
            (xW,) = product(x)
            xW = at_their_places(cells[0].unit.sums.from_input(xW), places)
            nudge, reverse = self.nudges.get((level, direction), ()), direction == "backward"
            nudge = tuple(in_order(array, reverse) for array in nudge)
            inputs.append((in_order(xW, reverse), nudge))
        zeros = ops.zeros([ops.shape(mask)[1], self.structure.state])
        state = (zeros,) * tensors_of_state(self.structure.encoder_unit)
        states, last = ops.scan(
            Readers([cells for _, cells in readers]),
            (state,) * len(readers),
            tuple(inputs),
            tuple(in_order(mask, reverse) for reverse in backward),
            differentiable=differentiable,
        )
        return [in_order(x, reverse) for x, reverse in zip(states, backward, strict=True)], last
