"""A language model in another vocabulary's order: every word keeps its probability."""

from pathlib import Path

import numpy as np
import pytest
from cases import random_arrays, tiny
from oracles.ladder import LadderModel

from cgru_cli.formats.loaded_model import LoadedModel
from cgru_cli.formats.model import Model
from cgru_cli.formats.reordered import in_order_of
from cgru_cli.parameters.structure import Type
from cgru_cli.text.vocabulary import Vocabulary

OWN = {"eos": 0, "UNK": 1, "a": 2, "b": 3, "c": 5}  # 4 has no word
OTHER = {"</s>": 0, "c": 1, "<unk>": 2, "b": 4, "a": 5}  # 3 has none


@pytest.mark.parametrize("tied", [False, True])
def test_words_keep_their_probabilities(tied):
    structure = tiny(
        type=Type.LM, source_vocabularies=(), source_embeddings=(), target_vocabulary=6,
        decoder_base_transition=1, tied_output=tied,
    )  # fmt: skip
    arrays = random_arrays(structure, 4)
    model = Model(Path("lm.npz"), structure, arrays, "nematus")
    vocabulary = Vocabulary(OTHER, "other.json")
    turned = in_order_of(vocabulary, LoadedModel(model, [], Vocabulary(OWN, "own.json")))
    assert turned.target is vocabulary
    before, after = LadderModel(arrays, type="lm"), LadderModel(turned.model.arrays, type="lm")
    for text in (["a", "b"], ["c"], [], ["c", "unseen", "a"]):
        own = before.force_decode(None, Vocabulary(OWN).encode(text)).log_probs
        new = after.force_decode(None, vocabulary.encode(text)).log_probs
        np.testing.assert_allclose(new, own, rtol=1e-12)
    assert arrays["ff_logit_b"] is not turned.model.arrays["ff_logit_b"]
