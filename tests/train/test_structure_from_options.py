"""Options that describe a model, and the structure that they describe."""

import numpy as np
import pytest
import tensorflow as tf
from cases import small_structure
from models import pad_source, pad_target, random_pairs
from tables import each_row

from cgru_cli.corpus.batches import Batch
from cgru_cli.corpus.dropout import Rates, masks
from cgru_cli.errors import UsageError
from cgru_cli.network.network import Network
from cgru_cli.optimization.objective import CrossEntropy
from cgru_cli.options.train import TrainOptions
from cgru_cli.parameters.initialization import initial_arrays
from cgru_cli.parameters.structure import (
    Activation,
    Condition,
    DecoderStart,
    Encoder,
    Normalization,
    Type,
    Unit,
)
from cgru_cli.text.vocabulary import Vocabulary
from cgru_cli.train.structure_from_options import new_structure, options_of

WORDS = Vocabulary({w: i for i, w in enumerate(["eos", "UNK", "a", "b"])})
OTHER = Vocabulary({w: i for i, w in enumerate(["eos", "UNK", "a", "c"])})


STRUCTURES = [
    {},
    {"source_vocabularies": (4, 4), "source_embeddings": (2, 4)},
    {"encoder_depth": 2, "encoder_transition": 3, "decoder_depth": 3, "decoder_base_transition": 4},
    {"decoder_depth": 2, "decoder_high_transition": 2, "deep_context": True, "residual": False},
    {"normalization": Normalization.NEMATUS, "lexical": True, "mixture": 2},
    {"weight_normalization": True, "readout_activation": Activation.RELU},
    {"tied_output": True},
    {"tied_output": True, "shared_embeddings": True},
    {"shared_embeddings": True},
    {"encoder_unit": Unit.LSTM, "decoder_unit": Unit.RELU, "encoder": Encoder.BI_UNIDIRECTIONAL},
    {
        "encoder_unit": Unit.GRU_BEFORE,
        "decoder_unit": Unit.GRU_BEFORE,
        "type": Type.RNNSEARCH,
        "decoder_base_transition": 1,
        "readout_activation": Activation.MAXOUT,
    },
    {"encoder_unit": Unit.SIGMOID, "decoder_unit": Unit.SIGMOID},
    {
        "type": Type.RNNSEARCH,
        "decoder_base_transition": 1,
        "decoder_start": DecoderStart.LAST_BACKWARD,
    },
    {"type": Type.ENCDEC, "decoder_base_transition": 2, "encoder": Encoder.UNIDIRECTIONAL},
    {
        "type": Type.ENCDEC,
        "decoder_base_transition": 1,
        "encoder": Encoder.UNIDIRECTIONAL,
        "feedback": False,
    },
    {
        "type": Type.SEQ2SEQ,
        "decoder_base_transition": 1,
        "encoder": Encoder.REVERSED,
        "encoder_depth": 2,
        "decoder_depth": 2,
    },
    {
        "type": Type.LM,
        "decoder_base_transition": 1,
        "source_vocabularies": (),
        "source_embeddings": (),
        "decoder_unit": Unit.LSTM,
    },
    {
        "type": Type.LM,
        "decoder_base_transition": 1,
        "source_vocabularies": (),
        "source_embeddings": (),
        "condition": Condition.LABEL,
        "condition_size": 2,
    },
    {
        "type": Type.LM,
        "decoder_base_transition": 1,
        "source_vocabularies": (),
        "source_embeddings": (),
        "condition": Condition.VECTOR,
        "condition_size": 7,
    },
    {"type": Type.TAGGER, "decoder_base_transition": 1, "crf": True},
]


@each_row("changes", STRUCTURES)
def test_options_describe_a_structure(changes):
    """`new_structure` is the reverse of `options_of`."""
    s = small_structure(**({"source_vocabularies": (4,), "target_vocabulary": 4} | changes))
    vocabularies = [WORDS] * len(s.vocabularies)
    assert new_structure(TrainOptions(**options_of(s)), vocabularies, s.condition_size) == s


@each_row(
    ("options", "message"),
    [
        ({"dim_factors": (3, 2)}, "1 widths that add up to --dim-emb 512 are needed"),
        ({"dim_emb": 0}, "--dim-emb 0: a whole number from 1"),
        ({"dim_rnn": 0}, "--dim-rnn 0: a whole number from 1"),
        ({"enc_depth": 0}, "--enc-depth 0: a whole number from 1"),
        ({"dec_cell_base_depth": 0}, "--dec-cell-base-depth 0: a whole number from 1"),
        ({"cell": "ssru", "enc_cell_depth": 2}, "--cell: .*ssru cells need an input"),
        (
            {"cell": "ssru", "type": "seq2seq", "enc_type": "unidirectional", "no_feedback": True},
            "ssru cells need an input",
        ),
        ({"cell": "ssru", "type": "encdec", "no_feedback": True}, "ssru cells need an input"),
        ({"cell": "sru"}, "as wide as its state"),
        ({"mixture": 0}, "--mixture 0: a whole number from 1"),
        ({"tied_embeddings_all": True}, "needs one vocabulary for both"),
        ({"tied_embeddings_src": True}, "needs one vocabulary for both"),
        ({"type": "seq2seq", "enc_type": "bidirectional"}, "of one direction"),
        ({"type": "seq2seq", "dec_depth": 2}, "both must be the same"),
        ({"type": "seq2seq", "dec_cell": "lstm"}, "both must be the same"),
        ({"type": "seq2seq", "lexical": True}, "--lexical: seq2seq passes on states"),
        ({"type": "encdec", "lexical": True}, "encdec has no attention"),
        ({"condition": True}, "--condition needs --type lm"),
        ({"type": "encdec", "condition": True}, "--condition needs --type lm"),
        ({"type": "lm", "condition": True, "enc_depth": 2}, "reads no source text"),
        ({"no_feedback": True}, "--no-feedback requires --type encdec or seq2seq"),
        ({"crf": True}, "--crf needs --type tagger"),
        ({"type": "classifier", "no_feedback": True}, "--no-feedback requires"),
        (
            {"type": "encdec", "no_feedback": True, "tied_embeddings": True},
            "target words have no embedding",
        ),
        (
            {"type": "encdec", "no_feedback": True, "dropout_target": 0.1},
            "target words have no embedding",
        ),
        ({"type": "encdec", "dec_start": "last-backward"}, "--dec-start .*rnnsearch or cgru"),
        ({"type": "seq2seq", "dec_start": "last-backward"}, "--dec-start .*rnnsearch or cgru"),
        ({"dec_start": "last-backward", "enc_type": "unidirectional"}, "reads only forward"),
        ({"cell": "lstm", "gru_reset": "before"}, "the model has no GRU"),
        ({"lstm_forget_bias": 0.5}, "the model has no LSTM"),
    ],
)
def test_structures_that_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        new_structure(TrainOptions(**options), [WORDS, OTHER])


@pytest.mark.parametrize(
    ("name", "value"),
    [("enc_depth", 2), ("enc_type", "reversed"), ("lexical", True), ("typos_every", 9)],
)
def test_a_language_model_has_no_source(name, value):
    with pytest.raises(UsageError, match="reads no source"):
        new_structure(TrainOptions(type="lm", **{name: value}), [WORDS])


@pytest.mark.parametrize("word", ["s2s", "amun", "nematus"])
def test_values_under_names_of_other_programs(word):
    assert new_structure(TrainOptions(type=word, cell="rnn"), [WORDS, OTHER]) == new_structure(
        TrainOptions(cell="tanh"), [WORDS, OTHER]
    )


@pytest.mark.parametrize(
    ("options", "warned"),
    [
        ({"layer_normalization": True, "dropout_source": 0.1}, True),
        ({"layer_normalization": True, "dropout_embedding": 0.1, "dropout_target": 0.1}, False),
        ({"dropout_source": 0.1}, False),
    ],
)
def test_dropped_words_under_layer_normalization(options, warned, capsys):
    new_structure(TrainOptions(**options), [WORDS, OTHER])
    messages = capsys.readouterr().err
    assert messages.count("\n") == warned and ("--dropout-embedding" in messages) == warned


def norm_of_gradient(structure, **rates):
    """The norm of the gradient of a new model on 16 pairs."""
    arrays = {n: tf.constant(a) for n, a in initial_arrays(structure, "scaled", 1).items()}
    sources, targets = random_pairs(structure, 1, [(5, 5)] * 16)
    batch = Batch(*pad_source(sources), *pad_target(targets))
    drawn = np.random.default_rng(3)
    lengths = {"source_length": batch.source.shape[1], "target_length": 6}
    dropped = masks(structure, Rates(**rates), drawn, sentences=16, **lengths)
    dropped = {name: tf.constant(mask) for name, mask in dropped.items()}
    with tf.GradientTape() as tape:
        tape.watch(arrays)
        cost = CrossEntropy().cost(Network(structure, arrays, "float32", dropped), batch)
    gradients = tape.gradient(cost, arrays, unconnected_gradients="zero")
    return float(tf.linalg.global_norm(list(gradients.values())))


@pytest.mark.long
def test_the_warning_is_true():
    """Source dropout under layer normalisation makes the first gradient much larger."""
    s = small_structure(normalization=Normalization.NEMATUS, state=16)
    norm = norm_of_gradient(s)
    assert norm_of_gradient(s, source=0.2) > 10 * norm
    assert norm_of_gradient(s, embedding=0.2) <= 10 * norm
