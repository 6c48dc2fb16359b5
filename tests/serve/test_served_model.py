"""Models by name, and the searches of requests."""

import json
from pathlib import Path

import pytest
from commands import write_model
from serving import options

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.serve.served_model import SearchOptions, served_models
from cgru_cli.text.pipeline import PipelineSettings, Preprocessing


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


def direction(folder, *languages, **more):
    """A random model that states its languages."""
    path = write_model(folder, **more)
    settings = PipelineSettings(languages=languages)
    Path(f"{path}.preprocess.json").write_text(json.dumps(Preprocessing(settings).as_json()))
    return path


def test_directions_are_served_separately_and_named_by_their_languages(tmp_path, capsys):
    there, back = (direction(tmp_path / pair, *pair) for pair in ("xy", "yx"))
    assert names(there, back) == {"x-y": (there,), "y-x": (back,)}
    assert capsys.readouterr().err == (
        "cgru: languages or vocabularies differ, so each is a separate model: "
        f"x-y ({there}); y-x ({back})\n"
    )
    assert names(there, back, there) == {"x-y": (there, there), "y-x": (back,)}
    assert served_models(options(there, back))["y-x"].languages == ("y", "x")
    with pytest.raises(CgruError, match="prepares text differently"):  # as the user wants
        served_models(options(there, back, weights=(0.5, 0.5)))


def test_vocabularies_are_served_separately_and_ensembles_say_how(tmp_path, capsys):
    one = write_model(tmp_path / "1", name="one.npz")
    two = write_model(tmp_path / "2", name="two.npz", target=["eos", "UNK", "x", "y"])
    assert names(one, two) == {"one": (one,), "two": (two,)}
    same_name = write_model(tmp_path / "3", name="one.npz", target=["eos", "UNK", "z"])
    assert names(one, same_name) == {one: (one,), same_name: (same_name,)}
    capsys.readouterr()
    stated = direction(tmp_path / "4", "x", "y")
    assert names(one, stated) == {"one": (one, stated)}
    assert capsys.readouterr().err == (
        f"cgru: {one}, {stated}: one ensemble; to serve them separately: -m NAME=FILE NAME=FILE\n"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name a model"),
        (["one={}", "{}"], "give each model a name"),
        (["one={}", "one={}"], "needs its own name"),
        (["={}"], "needs its own name"),
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
