"""Models by name, and the searches of requests."""

import pytest
from serving import options

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.serve.served_model import SearchOptions, served_models


def names(*words):
    return {name: model.paths for name, model in served_models(options(*words)).items()}


def test_several_files_are_an_ensemble_unless_they_are_named(model_path, tmp_path):
    assert names(model_path, model_path) == {"model": (model_path, model_path)}
    both = names(f"one={model_path}", f"two={model_path},{model_path}")
    assert both == {"one": (model_path,), "two": (model_path, model_path)}
    (tmp_path / "a=b").mkdir()
    for file in ("model.npz", "model.npz.json", "src.json", "trg.json"):
        (tmp_path / "a=b" / file).write_bytes((tmp_path / model_path).with_name(file).read_bytes())
    strange = str(tmp_path / "a=b" / "model.npz")
    assert names(strange) == {"model": (strange,)}  # the name of an existing file


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name a model"),
        (["one={}", "{}"], "give each model a name"),
        (["one={}", "one={}"], "a name of its own"),
        (["={}"], "a name of its own"),
    ],
)
def test_missing_and_repeated_names(model_path, words, message):
    with pytest.raises(UsageError, match=message):
        names(*(word.format(model_path) for word in words))


def test_a_request_changes_the_search_of_the_command_line(models):
    (model,) = models.values()
    plain = model.settings(SearchOptions())
    assert (plain.beam_size, plain.n_best, plain.alignment) == (3, 1, False)
    assert plain == model.settings(SearchOptions(3, normalize=plain.normalize, suppress_unk=False))
    more = model.settings(SearchOptions(n_best=5, normalize=0.5, alignment=True, suppress_unk=True))
    assert (more.beam_size, more.normalize, more.alignment) == (5, 0.5, True)
    assert more.suppress_unk and more.n_best > 1
    with pytest.raises(CgruError, match="more than the beam_size, 2"):
        model.settings(SearchOptions(beam_size=2, n_best=3))
