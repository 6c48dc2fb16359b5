"""The sizes of a model, by a majority vote of its arrays."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ..errors import CgruError
from ..parameters.parameter import Dialect, Parameter
from ..parameters.structure import Structure
from .array_files import StoredArray


class NamedArray(NamedTuple):
    """An array of a file, and its row in the table of names."""

    stored: StoredArray
    row: Parameter


class Sizes:
    """The sizes that the letters of shapes stand for.

    Every array votes for the sizes of the letters in its shape. An array that was cut or transposed
    by mistake is outvoted, so that a message can name it and its correct shape.
    """

    def __init__(self, path: Path, arrays: Mapping[str, NamedArray], named: Structure):
        """named: the structure as far as the arrays' names determine it, with sizes of 1."""
        self._path, self._arrays = path, arrays
        readers = named.context
        self._factors = len(named.source_embeddings)
        self._wide = 1 + readers  # width of state and context together, in states
        self._multiples = {"2D": ("D", 2), "3D": ("D", 3), "4D": ("D", 4), "R": ("E", 1)}
        self._multiples |= {"C": ("D", readers), "A": ("D", readers)}
        if self._factors == 1:
            self._multiples["Es"] = ("Es0", 1)
        # letter -> size -> the arrays that have it, with the axis
        self._votes: dict[str, dict[int, list[tuple[str, int]]]] = {}
        for name, (array, row) in arrays.items():
            shape = array.shape[-len(row.shape) :]  # a vector may have one more axis
            if len(shape) != len(row.shape) or _reads_levels_below(row):
                continue
            for axis, (letter, size) in enumerate(zip(row.shape, shape, strict=True)):
                base, times = self._multiples.get(letter, (letter, 1))
                if size and size % times == 0:
                    votes = self._votes.setdefault(base, {})
                    votes.setdefault(size // times, []).append((name, axis))

    def __contains__(self, letter: str) -> bool:
        """Whether any array's shape has the letter."""
        return letter in self._votes

    def of(self, letter: str, what: str) -> int:
        """The size of a letter. Raises CgruError if no array has it, or the vote is a tie."""
        if letter not in self:
            missing = f"the arrays that show the size of {what} are missing"
            raise CgruError(f"{self._path}: {missing}")
        return self.get(letter)

    def get(self, letter: str, default: int = 0) -> int:
        """The size of a letter. Raises CgruError if the vote is a tie."""
        if letter not in self:
            return default
        (one, ones), *rest = sorted(self._votes[letter].items(), key=lambda vote: -len(vote[1]))
        if rest and len(ones) == len(rest[0][1]):
            other, others = rest[0]
            raise CgruError(
                f"{self._path}: {self._shown(ones[0][0])} and {self._shown(others[0][0])} do not "
                f"fit together: expected {self._resized(*ones[0], other)} or "
                f"{self._resized(*others[0], one)}"
            )
        return one

    def deep_context(self, state: int) -> bool:
        """Whether most high decoder levels read the context beside the level below."""
        rows = [
            array.shape[0]
            for array, row in self._arrays.values()
            if _reads_levels_below(row) and array.ndim == 2
        ]
        wide = sum(abs(size - self._wide * state) < abs(size - state) for size in rows)
        return 2 * wide > len(rows)

    def check_sum_of_factors(self) -> None:
        """Raise CgruError unless the factors' embeddings are as wide as the encoder's input."""
        if self._factors < 2 or "Es" not in self:
            return
        width = self.get("Es")
        more = width - sum(self.get(f"Es{factor}") for factor in range(self._factors))
        if more:
            tables = [n for n, (_, row) in self._arrays.items() if row.shape[0].startswith("Vs")]
            wanted = (self._resized(t, 1, self._arrays[t].stored.shape[1] + more) for t in tables)
            raise CgruError(
                f"{self._path}: {', '.join(map(self._shown, tables))}: the encoder reads {width} "
                f"columns in all: expected {' or '.join(wanted)}"
            )

    def check_shared(self, target: tuple[int, int], tied: bool, dialect: Dialect) -> None:
        """Raise CgruError if the source's embedding cannot serve the target, which has none.

        target: the expected shape.
        """
        shape = self.get("Vs0"), self.get("Es0")
        if shape == target:
            return
        source = next(n for n, (_, row) in self._arrays.items() if row.shape[0] == "Vs0")
        missing = "decoder_Wemb" if dialect is Dialect.S2S else "Wemb_dec"
        expected = f"{self._arrays[source].stored.name} {target}"
        if shape[1] == target[1] and tied and "ff_logit_b" in self._arrays:
            expected += f", or {self._arrays['ff_logit_b'].stored.name} ({shape[0]},)"
        raise CgruError(
            f"{self._path}: {self._shown(source)} does not have the shape of the target's "
            f"embedding: expected {expected}, or {missing} {target}, which is missing"
        )

    def _shown(self, name: str) -> str:
        array = self._arrays[name].stored
        return f"{array.name} {array.as_stored(array.shape)}"

    def _resized(self, name: str, axis: int, size: int) -> str:
        """An array and its shape with another size."""
        array, row = self._arrays[name]
        shape = list(array.shape)
        shape[axis] = size * self._multiples.get(row.shape[axis], ("", 1))[1]
        return f"{array.name} {array.as_stored(tuple(shape))}"


def _reads_levels_below(parameter: Parameter) -> bool:
    """Whether this matrix multiplies the input of a high decoder level, whose width varies."""
    cell = parameter.cell
    high = cell is not None and cell.part == "decoder" and cell.level > 1
    return high and parameter.path.endswith(("/W", "/Wx", "/Wf", "/Wr"))
