"""The name table: complete, one-to-one in every dialect, and determined by the structure."""

import dataclasses
import re

import numpy as np
from cases import tiny
from hypothesis import given, settings
from models import structures
from tables import each_row

from cgru_cli.parameters.names import INERT, is_training_array, parameters
from cgru_cli.parameters.parameter import MARIAN, Dialect
from cgru_cli.parameters.structure import (
    Activation,
    Bias,
    Condition,
    DecoderStart,
    Dropout,
    Encoder,
    Normalization,
    Pooling,
    Type,
    Unit,
)

PLAIN = {
    "Wemb": (7, 4),
    "Wemb_dec": (6, 5),
    "encoder_W": (4, 8),
    "encoder_b": (8,),
    "encoder_U": (4, 8),
    "encoder_Wx": (4, 4),
    "encoder_bx": (4,),
    "encoder_Ux": (4, 4),
    "encoder_r_W": (4, 8),
    "encoder_r_b": (8,),
    "encoder_r_U": (4, 8),
    "encoder_r_Wx": (4, 4),
    "encoder_r_bx": (4,),
    "encoder_r_Ux": (4, 4),
    "ff_state_W": (8, 4),
    "ff_state_b": (4,),
    "decoder_W": (5, 8),
    "decoder_b": (8,),
    "decoder_U": (4, 8),
    "decoder_Wx": (5, 4),
    "decoder_bx": (4,),
    "decoder_Ux": (4, 4),
    "decoder_U_nl": (4, 8),
    "decoder_b_nl": (8,),
    "decoder_Ux_nl": (4, 4),
    "decoder_bx_nl": (4,),
    "decoder_Wc": (8, 8),
    "decoder_Wcx": (8, 4),
    "decoder_W_comb_att": (4, 8),
    "decoder_Wc_att": (8, 8),
    "decoder_b_att": (8,),
    "decoder_U_att": (8, 1),
    "ff_logit_lstm_W": (4, 5),
    "ff_logit_lstm_b": (5,),
    "ff_logit_prev_W": (5, 5),
    "ff_logit_prev_b": (5,),
    "ff_logit_ctx_W": (8, 5),
    "ff_logit_ctx_b": (5,),
    "ff_logit_W": (5, 6),
    "ff_logit_b": (6,),
}


def test_the_plain_model_is_that_of_dl4mt():
    structure = tiny()
    assert {p.name: p.size(structure) for p in parameters(structure)} == PLAIN


@settings(max_examples=200)
@given(structures())
def test_names_and_places_are_unique(structure):
    rows = parameters(structure)
    assert len({row.path for row in rows}) == len(rows)
    for dialect in Dialect:
        names = [row.names[dialect] for row in rows if dialect in row.names]
        assert len(set(names)) == len(names), dialect
        turned = {row.transposed for row in rows if row.transposed and dialect in MARIAN}
        assert not turned & set(names)
        assert INERT.get(dialect) not in names
    assert all(Dialect.NEMATUS in row.names for row in rows)  # cgru's own npz holds every model
    assert not any(is_training_array(row.name) for row in rows)


@settings(max_examples=200)
@given(structures())
def test_shapes_are_bound_and_places_are_names(structure):
    letters = structure.sizes()
    for row in parameters(structure):
        assert set(row.shape) <= set(letters)
        assert all(size > 0 for size in row.size(structure))
        assert row.initializer in ("normal", "orthogonal", "zeros", "ones")
        assert re.fullmatch(r"[a-z0-9]+(/\w+)+", row.path)
        if row.initializer == "orthogonal":
            assert row.size(structure)[1] % row.size(structure)[0] == 0


CHANGES = {
    "source_vocabularies": (9,),
    "source_embeddings": (3,),
    "target_vocabulary": 9,
    "target_embedding": 3,
    "state": 6,
    "encoder_depth": 3,
    "encoder_transition": 3,
    "decoder_depth": 3,
    "decoder_base_transition": 4,
    "decoder_high_transition": 3,
    "deep_context": True,
    "bias": Bias.NEMATUS_TF,
    "normalization": Normalization.NEMATUS,
    "weight_normalization": True,
    "tied_output": True,
    "shared_embeddings": True,
    "readout_activation": Activation.PRELU,
    "mixture": 3,
    "lexical": True,
    "encoder": Encoder.BI_UNIDIRECTIONAL,
    "type": Type.RNNSEARCH,
    "encoder_unit": Unit.LSTM,
    "decoder_unit": Unit.TANH,
    "decoder_start": DecoderStart.LAST_BACKWARD,
    "feedback": False,
    "condition_size": 3,
}
DEEP = {"encoder_depth": 2, "encoder_transition": 2, "decoder_depth": 2}
COMPUTED_OTHERWISE = {
    "residual": False,
    "old_dropout": Dropout(0.1),
    "pooling": Pooling.MAX,
    "condition": Condition.LABEL,
    "crf": True,
}


def table(structure):
    return {row.name: row.size(structure) for row in parameters(structure)}


@each_row("field", CHANGES)
def test_every_field_of_a_structure_changes_its_arrays(field):
    """So that the arrays alone determine it."""
    assert table(tiny(**DEEP | {field: CHANGES[field]})) != table(tiny(**DEEP))


def test_fields_that_arrays_do_not_determine():
    for field, value in COMPUTED_OTHERWISE.items():
        assert table(tiny(**DEEP, **{field: value})) == table(tiny(**DEEP))
    # Theano names by direction, the others by stack: the same arrays under exchanged names
    stacks = [
        {p.path: p.names[Dialect.S2S] for p in parameters(tiny(**DEEP, encoder=encoder))}
        for encoder in (Encoder.ALTERNATING, Encoder.BIDIRECTIONAL)
    ]
    assert stacks[0] != stacks[1] and set(stacks[0].values()) == set(stacks[1].values())
    fields = {field.name for field in dataclasses.fields(tiny())}
    assert fields == set(CHANGES) | set(COMPUTED_OTHERWISE)


@each_row(
    ("name", "structure", "dialect"),
    [
        ("a-shallow", {}, Dialect.NEMATUS),
        ("b-layernorm", {"normalization": Normalization.NEMATUS}, Dialect.NEMATUS),
        ("c-tied-dec", {"tied_output": True}, Dialect.NEMATUS),
        ("d-tied-all", {"tied_output": True, "shared_embeddings": True}, Dialect.NEMATUS),
        (
            "e2-deep-theano",
            {
                "encoder_depth": 2,
                "encoder_transition": 2,
                "decoder_depth": 2,
                "decoder_base_transition": 3,
            },
            Dialect.NEMATUS,
        ),
        (
            "f-factors",
            {"source_vocabularies": (7, 3), "source_embeddings": (4, 2)},
            Dialect.NEMATUS,
        ),
        ("marian-amun", {}, Dialect.AMUN),
        ("marian-nematus", {}, Dialect.MARIAN_NEMATUS),
        ("marian-s2s", {}, Dialect.S2S),
        ("marian-amun-ln", {"normalization": Normalization.MARIAN}, Dialect.AMUN),
        ("marian-nematus-ln", {"normalization": Normalization.NEMATUS}, Dialect.MARIAN_NEMATUS),
        (
            "marian-s2s-deep",
            {
                "encoder_depth": 2,
                "encoder_transition": 2,
                "decoder_depth": 2,
                "decoder_base_transition": 3,
                "decoder_high_transition": 2,
                "normalization": Normalization.MARIAN,
                "tied_output": True,
            },
            Dialect.S2S,
        ),
    ],
)
def test_files_hold_what_the_table_says(shared, name, structure, dialect):
    """Exactly these names, except for arrays that are skipped."""
    rows = parameters(tiny(**structure))
    with np.load(shared(f"fixtures/{name}/model.npz"), allow_pickle=False) as file:
        stored = {
            n
            for n in file.files
            if not is_training_array(n) and n not in (INERT.get(dialect), "special:model.yml")
        }
    expected = {row.transposed if row.transposed in stored else row.names[dialect] for row in rows}
    assert stored == expected
    assert dialect in MARIAN or "decoder_U" in expected


def test_training_arrays_are_known():
    for name in (
        "uidx",
        "history_errs",
        "zipped_params",
        "adam_t",
        "adam_encoder_U_mean",
        "decoder/embedding/embeddings/Adam_1",
        "beta1_power",
        "time",
    ):
        assert is_training_array(name)
    assert not is_training_array("encoder_U")
