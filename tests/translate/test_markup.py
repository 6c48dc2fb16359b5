"""Marks of lines in translations of a model: every hypothesis, empty lines, Python and layouts."""

import re
from xml.etree import ElementTree

import pytest
from commands import write_model
from random_markup import shape

from cgru_cli import Translator
from cgru_cli.errors import CgruError
from cgru_cli.formats.loaded_model import load_model
from cgru_cli.options.translate import TranslateOptions
from cgru_cli.output.layout import Layout
from cgru_cli.parameters.structure import Type
from cgru_cli.text.copying import PLACEHOLDERS
from cgru_cli.translate.line_search import LineSearch
from cgru_cli.translate.plan import SearchPlan
from cgru_cli.translate.results import rendered

pytestmark = pytest.mark.usefixtures("prepared_once")
SOURCE = ["eos", "UNK", "a", "b", "c", *PLACEHOLDERS[:3]]
TARGET = ["eos", "UNK", "A", "B", "C", *PLACEHOLDERS[:3]]
LINES = ["a <b>b <i>12</i></b> c", "<p>a</p>", "b <br/> c &amp; a", "<hr/>", ""]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model"), source=SOURCE, target=TARGET)


def test_every_hypothesis_has_the_marks(path):
    translator = Translator(
        path, beam_size=4, markup="html", attention=False, translation_maxlen=12
    )
    for line, hypotheses in zip(LINES, translator.translate(LINES, n_best=4), strict=True):
        before = ElementTree.fromstring(f"<root>{line}</root>")
        assert hypotheses
        for one in hypotheses:
            after = ElementTree.fromstring(f"<root>{one.text}</root>")
            assert shape(after) == shape(before)
            words = "".join(after.itertext()).split()
            assert "".join(words) == "".join(one.tokens)


def test_a_mark_follows_its_copied_span(path):
    """The attention of a random model is nearly even, so the place is its choice, not the text."""
    options = {"markup": "html", "copy": ["number"], "translation_maxlen": 12}
    one = Translator(path, **options).translate(LINES[0])
    assert one.text.count("12") == 1 and "⟦" not in one.text
    assert re.sub("<[^>]*>|12| ", "", one.text) == re.sub("[⟦⟧1]", "", "".join(one.tokens))


def test_a_line_of_marks_only_is_printed(path):
    models = [load_model(path)]
    search = LineSearch(
        SearchPlan(TranslateOptions(model=(path,), markup="markdown"), models), models
    )
    texts = {one.number: rendered(search.plan.layout, one, False)[0]
             for one in search.translations(["<hr/>", "", "![](x.png)"])}  # fmt: skip
    assert isinstance(search.plan.layout, Layout)
    assert texts == {0: "<hr/>\n", 1: "\n", 2: "![](x.png)\n"}


def test_models_without_source_text_are_refused(tmp_path):
    changes = {"source_vocabularies": (), "source_embeddings": (), "decoder_base_transition": 1}
    path = write_model(tmp_path, type=Type.LM, **changes)
    with pytest.raises(CgruError, match="no attention"):
        Translator(path, [str(tmp_path / "trg.json")], markup="html")
