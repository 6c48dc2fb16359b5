"""The initial parameters of a new model."""

import numpy as np

from .names import parameters
from .parameter import Parameter
from .structure import Structure


def initial_arrays(
    structure: Structure, scheme: str, seed: int, forget_bias: float = 0.0
) -> dict[str, np.ndarray]:
    """Draw every parameter, float32, by name; the seed determines the numbers.

    - nematus: orthogonal recurrent matrices, one per gate, and orthogonal input matrices if the
      input is as wide as the state, or if it is a context and so as wide as the two gates;
      N(0, 0.01) elsewhere, as in DL4MT and Nematus on Theano;
    - nematus-tf: orthogonal square matrices, one per gate, also in the readout; N(0, 0.01)
      elsewhere, as in Nematus on TensorFlow;
    - glorot: as in Marian, uniform within sqrt(6 / (rows + columns)) (Glorot and Bengio 2010), and
      within sqrt(3 / E) for embeddings and the output layer, whose vectors have E numbers;
    - scaled: orthogonal recurrent matrices, embeddings N(0, 1 / sqrt(width)), glorot elsewhere;
      training also sets `output_bias`.

    forget_bias: the initial bias of an LSTM's forget gate (Gers et al. 2000; 1 in Jozefowicz et al.
    2015).
    """
    rng = np.random.default_rng(seed)
    arrays = {}
    for row in parameters(structure):
        array = _initial(row, row.size(structure), scheme, rng).astype(np.float32)
        if row.shape == ("4D",) and row.initializer == "zeros" and row.path.endswith("/b"):
            array[: structure.state] = forget_bias
        arrays[row.name] = array
    return arrays


def output_bias(counts: np.ndarray) -> np.ndarray:
    """The output bias b_o (V,) that gives each word its probability in the training text.

    From another bias, the readout learns these probabilities before the bias does, and saturates;
    small models then hardly improve. counts: (V,) of the target words.
    """
    log_frequency = np.log((counts + 1) / (counts.sum() + len(counts)))
    return (log_frequency - log_frequency.mean()).astype(np.float32)


def _initial(
    row: Parameter, size: tuple[int, ...], scheme: str, rng: np.random.Generator
) -> np.ndarray:
    if row.initializer in ("zeros", "ones"):
        return np.full(size, float(row.initializer == "ones"))
    if _is_orthogonal(row, size, scheme):
        blocks = [_orthogonal(size[0], rng) for _ in range(size[1] // size[0])]
        return np.concatenate(blocks, axis=1)
    if scheme.startswith("nematus"):
        return rng.normal(0, 0.01, size)
    if scheme == "scaled" and "embedding" in row.path:
        return rng.normal(0, size[1] ** -0.5, size)
    fans = sum(size)
    if scheme == "glorot" and (row.transposed or "embedding" in row.path):
        fans = 2 * size[0 if row.transposed else 1]
    limit = np.sqrt(6 / fans)
    return rng.uniform(-limit, limit, size)


def _is_orthogonal(row: Parameter, size: tuple[int, ...], scheme: str) -> bool:
    if scheme == "glorot":
        return False
    if row.initializer == "orthogonal":
        return size[1] % size[0] == 0
    gates = {"2D": 2, "4D": 4}.get(row.shape[-1], 1)
    if scheme == "nematus":
        return row.cell is not None and size[1] in (size[0], gates * size[0])
    return scheme == "nematus-tf" and size[1] == gates * size[0]


def _orthogonal(width: int, rng: np.random.Generator) -> np.ndarray:
    """A uniformly distributed orthogonal matrix (width, width) (Mezzadri 2007).

    Singular vectors, as in DL4MT and Nematus, have the same distribution but take five times as
    long: ten more seconds for a model of size 1024.
    """
    q, r = np.linalg.qr(rng.normal(size=(width, width)))
    return q * np.sign(np.diag(r))
