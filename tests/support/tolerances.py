"""How far two computations of the same numbers in float32 may be apart, or one from float64.

Libraries, processors and shapes of batches decide in which order the terms of a sum are added, and
each addition rounds. With u = 2^-24, float32's unit roundoff, a sum of n terms has an error of at
most n u times the sum of their absolute values, in any order (Higham, Accuracy and Stability of
Numerical Algorithms, 2002, section 4.2). Activations and softmax add a few roundings (here FEW),
and hardly enlarge an error, because their derivatives are at most 1. Each product of a chain adds
its own error to that of its inputs. Two computations may err in opposite directions.
"""

U = 2.0**-24
FEW = 4  # roundings of a bias and an activation


def after(products: int, terms: int, magnitude: float = 1.0) -> float:
    """The largest difference after a chain of products, each a sum of so many terms.

    magnitude: of the largest sum of absolute values.
    """
    return 2 * U * products * (terms + FEW) * magnitude


# One product or cell of the models of `cases` and `models`: rows have at most 16 numbers, such as a
# context beside a state. 2.4e-6 for numbers up to 1, such as states, attention and probabilities.
ONE_STEP = after(1, 16)
# A log-probability of these models, whose sums are of size 1 to 2: 16 products lead to it, because
# sentences have about five words and a word takes some three products that depend on each other.
LOG_PROBABILITY = after(16, 16, 2.0)  # 7.6e-5; a wrong equation changes them by 1e-3 and more
# States and attention of these models, after the same chain.
WEIGHTS = after(16, 16)  # 3.8e-5
