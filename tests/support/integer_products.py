"""8-bit matrix products, computed as processors without VNNI compute them."""

import numpy as np


def saturated(x, matrix):
    """x W for x (R,N) from 0 to 255 and W (N,M) from -128 to 127, as x86-64's vpmaddubsw adds.

    It adds two adjacent products at a time in 16 bits, and limits the sum to them.
    """
    x, matrix = (np.pad(a, [(0, p), (0, q)]) for a, p, q in
                 ((x, 0, x.shape[1] % 2), (matrix, len(matrix) % 2, 0)))  # fmt: skip
    products = x.astype(np.int64)[:, :, None] * matrix.astype(np.int64)
    pairs = products[:, ::2] + products[:, 1::2]
    return pairs.clip(-(1 << 15), (1 << 15) - 1).sum(axis=1)


def worst_inputs(column):
    """Inputs (2,N) that make the largest and the smallest sums of pairs with a column (N,)."""
    return 255 * np.stack([column > 0, column < 0]).astype(np.int64)


def is_exact(matrix):
    """Whether sums of products of any unsigned bytes with W (N,M) fit in 16 bits in pairs.

    Checked for neighbours as they are stored, and for the largest weights side by side.
    """
    for column in matrix.T.astype(np.int64):
        for ordered in (column, np.sort(column)):
            x = worst_inputs(ordered)
            if not np.array_equal(saturated(x, ordered[:, None])[:, 0], x @ ordered):
                return False
    return True
