"""Prepared lines: words, prefixes, phrases, and invalid lines."""

import pytest
from commands import write_model

from cgru_cli.errors import CgruError
from cgru_cli.formats.loaded_model import load_model
from cgru_cli.options.translate import TranslateOptions
from cgru_cli.parameters.structure import Type
from cgru_cli.translate.plan import SearchPlan
from cgru_cli.translate.preparation import LinePreparer


def reader(path, vocabularies=(), **options):
    loaded = load_model(path, vocabularies)
    plan = SearchPlan(TranslateOptions(model=(path,), **options), [loaded])
    return LinePreparer(plan, loaded, loaded)


def read(lines, line, number):
    return lines.read(lines.split(line, number), number)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def language_model(tmp_path_factory):
    """The path of a language model and of its vocabulary."""
    changes = {
        "type": Type.LM,
        "source_vocabularies": (),
        "source_embeddings": (),
        "decoder_base_transition": 1,
    }
    folder = tmp_path_factory.mktemp("lm")
    return write_model(folder, **changes), [str(folder / "trg.json")]


def test_a_line_is_its_words(path):
    request = read(reader(path), " a  unseen b ", 0)
    assert (request.source, request.prefix, request.constraints) == (["a", "unseen", "b"], [], None)
    assert request.text == " a  unseen b "


def test_prefix_follows_a_tab(path):
    lines = reader(path, force_decode=True)
    request = read(lines, "a b\tB A", 0)
    assert request.source == ["a", "b"] and request.text == "a b"
    assert request.prefix == lines.prefix(["B", "A"], 0) != []
    assert read(lines, "a b", 1).prefix == []


def test_phrases_of_a_line_and_of_all_lines(path, tmp_path):
    avoided = tmp_path / "avoided"
    avoided.write_text("B\n")
    lines = reader(path, constraints="tabs", avoid=str(avoided))
    constraints = read(lines, "a b\tA C\t\tE", 0).constraints
    assert constraints.required.phrases == (tuple(lines.prefix(["A", "C"], 0)),)
    assert set(constraints.avoided.words(())) == set(lines.prefix(["B", "E"], 0))
    with pytest.raises(CgruError, match=r"line 3: .* no translation can have both"):
        read(lines, "a\tA B", 2)


def test_unexpected_fields_are_refused(path):
    with pytest.raises(CgruError, match="line 5: 2 fields separated by tabs; with --tsv"):
        read(reader(path, tsv=True), "a\tb", 4)


def test_a_line_is_the_beginning_of_a_language_models_text(language_model):
    request = read(reader(*language_model, force_decode=True), "A B", 0)
    assert request.source == [] and len(request.prefix) == 2
    with pytest.raises(CgruError, match=r"line 1: .* is a language model and does not translate"):
        read(reader(*language_model), "A B", 0)
