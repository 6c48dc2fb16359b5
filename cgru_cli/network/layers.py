"""The layers that the encoder, the decoders and the readout are built from.

Matrices with the same input are joined into one product. Parameters are given by their path in the
model, as in `names.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..parameters.cell_names import (
    ITSELF,
    bias_arrays,
    context_arrays,
    input_arrays,
    input_gains,
    state_arrays,
    state_gains,
)
from ..parameters.cells import BiasPlace, CellPlace
from ..parameters.integers import Integers
from ..parameters.structure import WITHOUT_STATE_PRODUCT, Normalization, Structure, Unit
from . import ops
from .folded_weights import FoldedWeights
from .integer_products import IntegerProduct
from .normalization import Norm, normalize
from .ops import Tensor
from .products import Product, Products
from .units import GRU, LSTM, PHI, SRU, SSRU, GRUBefore, Plain, Recurrent, Sums, UnitState


class Transition(NamedTuple):
    """A cell: the product of its state, and the unit that computes the next state."""

    product: Products
    unit: Recurrent

    def step(self, state: UnitState, x: Tensor | None) -> UnitState:
        """The next state. x: from `Sums.from_input`; None in a transition cell, without input."""
        (hU,) = self.product(state[0])
        return self.unit.step(state, hU, self.unit.sums.from_input(None) if x is None else x)


def transit(cells: list[Transition], state: UnitState, x: Tensor | None) -> UnitState:
    """One step of a cell, which reads x, and then of its transition cells."""
    for cell in cells:
        state, x = cell.step(state, x), None
    return state


class Affine(NamedTuple):
    """x W + b with its normalisation: Nematus LN(x W + b), Marian LN(x W) + b."""

    product: Products
    bias: Tensor
    norm: Norm | None

    def __call__(self, x: Tensor, sentence: Tensor | None = None) -> Tensor:
        """x: (R,N) -> (R,M); sentence: (R,), the sentence of each row, see `Products.for_rows`."""
        (xW,) = self.product.for_rows(sentence)(x)
        return self.add(xW)

    def add(self, xW: Tensor) -> Tensor:
        """Add bias and normalisation to x W, even if another product has computed x W."""
        if self.norm is not None and self.norm.kind is Normalization.MARIAN:
            return normalize(xW, self.norm) + self.bias
        return normalize(xW + self.bias, self.norm)


class Table(NamedTuple):
    """Embeddings (V,E), or `Integers` with a scale for each row."""

    rows: Tensor | Integers

    def take(self, words: Tensor) -> Tensor:
        """Words (..) int32 -> (..,E) float32."""
        if isinstance(self.rows, Integers):
            integers = ops.take(ops.convert(self.rows.integers), words)
            scale = ops.take(ops.convert(self.rows.scale), words)
            return ops.cast(integers, "float32") * ops.expand_dims(scale, -1)
        return ops.take(self.rows, words)


class Layers:
    """The arrays of one model, by path.

    dtype: the type of the products of float32 matrices; matrices may also be `Integers`. masks:
    those of dropout in training. packed, tiled: as in `Network`.
    """

    def __init__(
        self,
        structure: Structure,
        arrays: Mapping,
        dtype: str,
        masks: Mapping[str, Tensor],
        packed: bool = False,
        tiled: bool = False,
    ):
        self.structure, self.masks, self.packed = structure, masks, packed
        self.dtype = dtype
        # whether all states lie in [-1,1], like initial states and outputs of tanh and sigma
        units = {structure.encoder_unit, structure.decoder_unit}
        self.bounded_states = units.isdisjoint((Unit.RELU, *WITHOUT_STATE_PRODUCT))
        self.tiled = tiled
        self.weights = FoldedWeights(structure, arrays)

    def product(self, *groups: tuple[str, ...], bounded: bool = False) -> Products:
        """The product with all matrices at the groups' paths.

        bounded: whether the input lies in [-1,1].
        """
        matrices = [
            [None if path == ITSELF else self.weights[path] for path in group] for group in groups
        ]
        masks = [self.masks.get(path) for group in groups for path in group]
        return Products.of(matrices, self._multiplication(bounded), masks)

    def output(self, *, bounded: bool = False) -> Products:
        """The product with W_o, or with the target embeddings if they are tied."""
        masks = [self.masks.get("decoder/output/W")]
        return Products.of([[self.weights.output()]], self._multiplication(bounded), masks)

    def _multiplication(self, bounded: bool) -> Callable[[Sequence[Tensor]], Product]:
        def product(matrices: Sequence[Tensor]) -> Product:
            if isinstance(matrices[0], Integers):
                return IntegerProduct.of(matrices, bounded=bounded)
            return Product(ops.cast(ops.concat(matrices, axis=1), self.dtype))

        return product

    def table(self, path: str) -> Table:
        """Embeddings, by the word's id."""
        return Table(self.weights[path])

    def affine(self, path: str, *, bounded: bool = False) -> Affine:
        """The feed-forward layer at this path; see `product`."""
        product = self.product((f"{path}/W",), bounded=bounded)
        norm = self.weights.norm(f"{path}/W", f"{path}/gamma")
        return Affine(product, self.weights[f"{path}/b"], norm)

    def annotation_layer(self, path: str, *, bounded: bool = False) -> Affine:
        """W_a h_i + b_a of the attention at this path, for annotations (B,S,C)."""
        product = self.product((f"{path}/Wc_att",), bounded=bounded).at_positions()
        norm = self.weights.norm(f"{path}/Wc_att", f"{path}/gamma1")
        return Affine(product, self.weights[f"{path}/b_att"], norm)

    def energy_vector(self, path: str) -> Tensor:
        """v of the attention at this path, for `attention.energies`."""
        v = self.weights[f"{path}/U_att"]
        return v if self.packed else ops.squeeze(v, 1)

    def reader(self, cells: Sequence[CellPlace]) -> tuple[Products, list[Transition]]:
        """The product of a cell's input, and the cell followed by its transition cells."""
        return self.product(input_arrays(cells[0])), [self.transition(cell) for cell in cells]

    def transition(self, cell: CellPlace) -> Transition:
        """A cell, with the product of its state."""
        return Transition(
            self.product(state_arrays(cell), bounded=self.bounded_states), self.unit(cell)
        )

    def unit(self, cell: CellPlace) -> Recurrent:
        """The unit of a cell, with its biases and normalisation."""
        inputs = self._norms(cell, input_gains(cell))
        states = self._norms(cell, state_gains(cell))
        biases = [self.weights[path] for path in bias_arrays(cell) if path in self.weights]
        bias = ops.concat(biases, axis=0) if biases else None
        if cell.unit in WITHOUT_STATE_PRODUCT:  # x W and x have no bias
            zeros = ops.zeros([self.structure.state])
            around = [zeros] if cell.unit is Unit.SRU else []
            sums = Sums(BiasPlace.INPUT, ops.concat([zeros, *biases, *around], axis=0), inputs)
            return SRU(sums) if cell.unit is Unit.SRU else SSRU(sums)
        if cell.unit is Unit.GRU_BEFORE:
            place = cell.bias if cell.bias is BiasPlace.STATE else BiasPlace.NONE
            gates, proposal = (
                Sums(place, part, (), states[i : i + 1])
                for i, part in enumerate(biases or (None, None))
            )
            reset_product = self.product((f"{cell.path}/Ux",), bounded=True)
            return GRUBefore(Sums(cell.bias, bias, inputs), gates, proposal, reset_product)
        sums = Sums(cell.bias, bias, inputs, states)
        if cell.unit is Unit.GRU:
            return GRU(sums)
        return LSTM(sums) if cell.unit is Unit.LSTM else Plain(sums, PHI[cell.unit])

    def context_sums(self, cell: CellPlace) -> Sums:
        """The normalisation of a context's product, for a cell that also has another input."""
        return Sums(
            BiasPlace.NONE, None, self._norms(cell, dict.fromkeys(context_arrays(cell), ""))
        )

    def _norms(self, cell: CellPlace, gains: Mapping[str, str]) -> tuple[Norm, ...]:
        """gains: Marian's for each matrix, by their paths."""
        marian = self.structure.normalization is Normalization.MARIAN
        norms: dict[str, Norm] = {}
        for path, gain in gains.items():
            norm = self.weights.norm(path, gain)
            if norm is None:
                continue
            if marian and cell.unit is Unit.TANH:  # Marian stores 3D numbers and uses D
                norm = norm._replace(gain=norm.gain[: self.structure.state])
            norms[gain if marian else path] = norm
        return tuple(norms.values())
