"""A language model with the words of its vocabulary in another order."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..parameters.structure import EOS_ID
from ..text.vocabulary import Vocabulary
from .loaded_model import LoadedModel


def in_order_of(vocabulary: Vocabulary, loaded: LoadedModel) -> LoadedModel:
    """The same model, its target words numbered as in a vocabulary that has the same ones.

    Each word has the probability that it had. Ids without a word, of which there may be some where
    files have holes, stand for each other in their order.
    """
    model, own = loaded.model, loaded.target
    size = model.structure.target_vocabulary
    before = {EOS_ID: EOS_ID, vocabulary.unk_id: own.unk_id}  # by new id
    words = {i: word for i, word in vocabulary.words.items() if i not in before}
    before |= zip(words, own.encode(words.values()), strict=True)
    taken = set(before.values())
    left = (i for i in range(size) if i not in taken)
    order = np.array([before[i] if i in before else next(left) for i in range(size)])
    arrays = dict(model.arrays)
    for row in model.parameters():
        for axis, letter in enumerate(row.shape):
            if letter == "V":
                arrays[row.name] = np.take(arrays[row.name], order, axis=axis)
    return dataclasses.replace(loaded.with_arrays(arrays), target=vocabulary)
