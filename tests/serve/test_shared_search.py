"""Which lines join a running search, and when; empty lines."""

import pytest
from cases import random_arrays
from commands import vocabulary
from commands import write_model as write_nematus_model
from models import typed
from serving import Silent, loaded

from cgru_cli import Translator
from cgru_cli.formats import write_model
from cgru_cli.formats.model import Model
from cgru_cli.parameters.structure import Type
from cgru_cli.serve import shared_search, work
from cgru_cli.serve.engine import Engine
from cgru_cli.serve.served_model import SearchOptions
from cgru_cli.serve.shared_search import SharedSearch
from cgru_cli.serve.work import Kind, Line

pytestmark = pytest.mark.usefixtures("prepared_once")


@pytest.fixture(scope="module")
def model(models):
    (model,) = models.values()
    return model


class Searching:
    """A search that the test advances in its own thread."""

    def __init__(self, model, *, batch_wait=0.0, **kind):
        self.engine = Engine(Silent(), batch_wait=batch_wait)
        self.kind = Kind(model, model.settings(SearchOptions()), **kind)
        self.outcomes, self.search = {}, SharedSearch(self.kind, self.engine, self.engine.metrics)

    def submit(self, *texts):
        """Submit lines; their outcomes are kept by their texts."""

        def deliver(number, outcome):
            self.outcomes[texts[number]] = outcome

        return self.engine.submit("", self.kind, [Line(text) for text in texts], deliver)

    def finish(self):
        while self.search.advance():
            pass
        return self.outcomes

    @property
    def together(self):
        """The number of lines in the search each time that some joined."""
        return self.engine.metrics.batches


def test_an_empty_line_gets_a_label(tmp_path):
    structure = typed(Type.CLASSIFIER, source_vocabularies=(4,), target_vocabulary=5)
    words = vocabulary(tmp_path / "src.json", ["eos", "UNK", "a", "b"])
    labels = vocabulary(tmp_path / "trg.json", ["eos", "UNK", "A", "B", "C"])
    path = tmp_path / "model.npz"
    write_model.write(Model(path, structure, random_arrays(structure, 3), "nematus"), path, "npz")
    texts = ["a b", "", "b"]
    more = {"vocabularies": (words, labels)}
    (served,) = loaded(str(path), translation_maxlen=None, **more).values()
    searching = Searching(served)
    searching.submit(*texts)
    outcomes = searching.finish()
    by_command = [best.text for best in Translator(str(path), **more).translate(texts)]
    assert [outcomes[text].hypotheses[0].text for text in texts] == by_command
    assert all(label in ("A", "B", "C") for label in by_command)


def test_marks_and_copied_spans_are_those_of_the_command(tmp_path):
    words = ["eos", "UNK", "a", "b", "⟦1⟧"]
    path = write_nematus_model(tmp_path, source=words, target=words)
    more = {"beam_size": 2, "translation_maxlen": 8, "copy": ("number",), "markup": "html"}
    texts = ["a <b>12</b> b", "<hr/>", "b &lt; a 7"]
    (served,) = loaded(path, **more).values()
    searching = Searching(served)
    searching.submit(*texts)
    outcomes = searching.finish()
    found = [outcomes[text].hypotheses[0].text for text in texts]
    assert found == [one.text for one in Translator(path, **more).translate(texts)]
    assert "12" in found[0] and "<b>" in found[0] and found[1] == "<hr/>" and "7" in found[2]


def test_an_empty_line_is_translated_without_a_search(model):
    searching = Searching(model)
    searching.submit("")
    assert searching.finish()[""].empty and not searching.together


def test_lines_join_a_running_search(model, monkeypatch):
    monkeypatch.setattr(shared_search, "STEPS_BETWEEN", 1)
    searching = Searching(model)
    searching.submit("a b c d", "f f a b d")
    begin = searching.search._session.admit

    def begun(lines):
        if not searching.outcomes and len(searching.together) == 1:
            searching.submit("c")
        return begin(lines)

    monkeypatch.setattr(searching.search._session, "admit", begun)
    assert set(searching.finish()) == {"a b c d", "f f a b d", "c"}
    assert searching.together[:2] == [2, 3]


def test_lines_wait_until_they_are_as_many_as_those_in_the_search(model, monkeypatch):
    monkeypatch.setattr(shared_search, "STEPS_BETWEEN", 1000)
    searching = Searching(model)
    searching.submit("a", "a b", "a b c d", "f f a b d")
    begin = searching.search._session.admit

    def begun(lines):
        if len(searching.together) == 1:
            searching.submit("c", "d", "c d")
        return begin(lines)

    monkeypatch.setattr(searching.search._session, "admit", begun)
    assert len(searching.finish()) == 7
    assert searching.together[0] == 4
    assert searching.together[1] <= 6  # three of them, and at most three of the first four


def test_only_lines_that_fit_into_the_memory_join(model, monkeypatch):
    searching = Searching(model)
    monkeypatch.setattr(searching.search, "_max_tokens", 9)
    texts = ["a b c", "a b d", "a c c", "a b b c d f a b c d"]  # 4 and 11 words with EOS
    searching.submit(*texts)
    assert set(searching.finish()) == set(texts)
    assert searching.together[0] == 2  # 8 words; with a third line, 12
    assert 1 in searching.together  # the long one, which exceeds the limit by itself


def test_lines_of_kind_alone_are_searched_one_by_one(model):
    searching = Searching(model, alone=True)
    searching.submit("a", "b", "c")
    assert len(searching.finish()) == 3
    assert set(searching.together) == {1}


def test_a_step_is_bounded_by_words_times_beam(model, monkeypatch):
    monkeypatch.setattr(work, "MOST_WORK", 15)
    searching = Searching(model)  # beam 3: five lines would cost more than 15 row-steps
    texts = [" ".join("abcdf"[i:] + "abcdf"[:i]) for i in range(5)] + ["a", "b", "c"]
    searching.submit(*texts)
    assert set(searching.finish()) == set(texts)
    assert max(searching.together) <= 4


def test_small_requests_do_not_share_steps_with_large_ones(model):
    kind = Kind(model, model.settings(SearchOptions()))
    short, long = Line("a b"), Line("a b " * 2_000)
    assert not kind.is_large([short] * 20) and kind.is_large([short] * 1000)
    assert kind.is_large([long]) and kind.is_large([Line("a", avoided=long.texts[:1])])
    wide = Kind(model, model.settings(SearchOptions(24)))
    assert wide.is_large([short] * 100) and not kind.is_large([short] * 100)
