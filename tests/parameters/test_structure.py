"""Structures: to JSON and back, their cells, and the letters of their sizes."""

import json

import pytest
from cases import tiny
from hypothesis import given
from models import structures

from cgru_cli.errors import CgruError
from cgru_cli.parameters.cells import BiasPlace, base_cells, encoder_cells, high_cells
from cgru_cli.parameters.structure import Bias, Dropout, Structure


@given(structures())
def test_json_and_back(structure):
    stored = json.loads(json.dumps(structure.as_dict()))
    assert Structure.from_dict(stored, "x.json") == structure


@pytest.mark.parametrize(
    "change",
    [
        {"bias": "other"},
        {"normalization": 3},
        {"source_embeddings": None},
        {"old_dropout": [0.1] * 9},
        {"unheard_of": 1},
    ],
)
def test_invalid_structures_are_refused(change):
    with pytest.raises(CgruError, match=r"^x\.json: .*"):
        Structure.from_dict(tiny().as_dict() | change, "x.json")


@given(structures())
def test_every_cell_has_its_own_place(structure):
    s = structure
    cells = [
        *base_cells(s),
        *(c for level in s.high_levels() for c in high_cells(s, level)),
        *(
            c
            for level in s.encoder_levels()
            for d in ("forward", "backward")
            for c in encoder_cells(s, d, level)
        ),
    ]
    assert len({cell.path for cell in cells}) == len(cells)
    assert len(cells) == (
        s.decoder_base_transition
        + (s.decoder_depth - 1) * s.decoder_high_transition
        + 2 * s.encoder_depth * s.encoder_transition
    )
    sizes = s.sizes()
    assert all(cell.input is None or cell.input in sizes for cell in cells)
    # only the first cell of a level reads an input; the second one of the base reads the context
    assert all(
        (cell.input is None) == (cell.transition > 0) for cell in cells[len(base_cells(s)) :]
    )
    assert [cell.input for cell in base_cells(s)][:2] == ["E", "C"]


def test_biases_are_where_the_programs_add_them():
    deep = {"encoder_transition": 2, "decoder_depth": 2, "decoder_high_transition": 2}
    theano, native = tiny(**deep), tiny(**deep, bias=Bias.NEMATUS_TF)
    place = BiasPlace
    assert [c.bias for c in encoder_cells(theano, "forward", 1)] == [place.INPUT, place.AFTER]
    assert [c.bias for c in encoder_cells(native, "forward", 1)] == [place.INPUT, place.NONE]
    assert [c.bias for c in high_cells(theano, 2)] == [place.INPUT, place.AFTER]
    assert [c.bias for c in high_cells(native, 2)] == [place.STATE, place.STATE]
    for structure in (theano, native):
        assert [c.bias for c in base_cells(structure)] == [place.INPUT, place.STATE]


def test_letters_of_factors():
    structure = tiny(source_vocabularies=(7, 3), source_embeddings=(4, 2), mixture=3)
    sizes = structure.sizes()
    assert (sizes["Es"], sizes["Vs0"], sizes["Vs1"], sizes["Es1"]) == (6, 7, 3, 2)
    assert (sizes["C"], sizes["D+C"], sizes["M"]) == (8, 12, 3)
    assert Dropout() == (0, 0, 0, 0, 0)
