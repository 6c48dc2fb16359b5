#!/usr/bin/env python3
"""Make images of three handwritten digits in a row, with the number in words as caption.

The digits are the 1,797 images of scikit-learn's `load_digits`, 8 x 8 pixels each; the rows of
three and their captions (num2words) are made here. No digit image is in two of the sets train, dev
and test, and a tenth of the numbers is in no image of train or dev.

Writes train, dev, test and new (images of the numbers held out of train), each as NAME.npy, with a
row of 192 numbers from 0 to 1 for each image, and NAME.txt. Also writes the captions of two
baselines for test and new, as METHOD.NAME.txt: nearest, the caption of the nearest training image,
and digits, logistic regression for each digit.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from cgru_cli.system.atomic_files import atomic_write

try:
    from num2words import num2words
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
except ImportError:
    sys.exit("pictures.py: error: needs num2words and scikit-learn: pip install '.[recipes]'")

PLACES = 3  # digits per image
SHARES = (1200, 197, 400)  # handwritten digits for train, dev and test


def caption(number: int) -> str:
    """A number in words, separated by spaces."""
    return num2words(number).replace("-", " ")


def draw(
    rng: np.random.Generator, numbers: np.ndarray, pixels: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """An image (N,192) of each number (N,), from digits (D,64) with the labels (D,)."""
    rows = []
    for place in reversed(range(PLACES)):
        wanted = numbers // 10**place % 10
        rows.append(pixels[[rng.choice(np.flatnonzero(labels == digit)) for digit in wanted]])
    side = int(np.sqrt(pixels.shape[1]))
    squares = [row.reshape(-1, side, side) for row in rows]
    return np.concatenate(squares, axis=2).reshape(len(numbers), -1).astype(np.float32)


def digits_of(pictures: np.ndarray) -> np.ndarray:
    """The reverse of `draw`: (N,192) -> (3,N,64), the hundreds first."""
    side = int(np.sqrt(pictures.shape[1] / PLACES))
    squares = np.split(pictures.reshape(len(pictures), side, -1), PLACES, axis=2)
    return np.stack([square.reshape(len(pictures), -1) for square in squares])


def write(path: Path, pictures: np.ndarray | None, captions: list[str]) -> None:
    """Write the images, then the captions."""
    if pictures is not None:
        with atomic_write(path.with_suffix(".npy")) as file:
            np.save(file, pictures)
    with atomic_write(path) as file:
        file.write("".join(f"{line}\n" for line in captions).encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--train", type=int, default=20000, help="training images")
    parser.add_argument("--test", type=int, default=1000, help="images in each other set")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    digits = load_digits()
    pixels, labels = digits.data / 16, digits.target
    parts = np.split(rng.permutation(len(labels))[: sum(SHARES)], np.cumsum(SHARES)[:-1])
    new, known = np.split(rng.permutation(10**PLACES), [10**PLACES // 10])
    options.folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for name, part, numbers, count in (
        ("train", parts[0], known, options.train),
        ("dev", parts[1], known, options.test),
        ("test", parts[2], known, options.test),
        ("new", parts[2], new, options.test),
    ):
        chosen = rng.choice(numbers, count)
        made[name] = draw(rng, chosen, pixels[part], labels[part]), chosen
    pictures, numbers = made["train"]
    nearest = KNeighborsClassifier(1).fit(pictures, numbers)
    one = LogisticRegression(max_iter=2000).fit(pixels[parts[0]], labels[parts[0]])
    for name in ("test", "new"):
        pictures, _ = made[name]
        said = nearest.predict(pictures)
        write(options.folder / f"nearest.{name}.txt", None, list(map(caption, said)))
        places = [one.predict(square) for square in digits_of(pictures)]
        said = sum(10**place * digit for place, digit in enumerate(reversed(places)))
        write(options.folder / f"digits.{name}.txt", None, list(map(caption, said)))
    for name, (pictures, numbers) in reversed(made.items()):  # train is the last file
        write(options.folder / f"{name}.txt", pictures, list(map(caption, numbers)))


if __name__ == "__main__":
    main()
