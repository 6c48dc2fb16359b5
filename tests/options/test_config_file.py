"""Options of a training in a file."""

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cgru_cli.cli import main
from cgru_cli.errors import CgruError
from cgru_cli.options import config_file
from cgru_cli.options.flags import statements
from cgru_cli.options.train import REFUSED_BY_TRAIN, TrainOptions
from cgru_cli.train import job

PRINTABLE = st.text(st.characters(exclude_categories=["Cs", "Cc"]))
SINGLE = {
    bool: st.booleans(),
    int: st.integers(-(10**12), 10**12),
    float: st.floats(allow_nan=False, allow_infinity=False),
    str: PRINTABLE | st.sampled_from(["1e-4", "null", "yes", "0x1f", "1:30", "- a", "a: b", "~"]),
}


@st.composite
def options(draw):
    """Options of any values, whether a training could mean them or not."""
    values = {}
    for name, (flag, default) in statements(TrainOptions).items():
        one = st.sampled_from(flag.choices) if flag.choices else SINGLE[flag.kind]
        any_value = st.lists(one, max_size=3).map(tuple) if flag.many else one
        values[name] = draw(st.just(default) | any_value)
    return TrainOptions(**values)


def read(path):
    return config_file.read(str(path), TrainOptions, REFUSED_BY_TRAIN)


def written(path, content):
    path.write_text(content, "utf-8")
    return path


@settings(max_examples=25)
@given(made=options())
def test_what_is_dumped_is_read_back(tmp_path_factory, made):
    path = tmp_path_factory.getbasetemp() / "dumped.yml"
    expected = dataclasses.replace(made, config=None, dump_config=False)
    assert TrainOptions(**read(written(path, config_file.dump(made)))) == expected


@settings(max_examples=25)
@given(made=options())
def test_json_is_read(tmp_path_factory, made):
    path = tmp_path_factory.getbasetemp() / "options.json"
    values = dataclasses.asdict(made)
    del values["config"], values["dump_config"]
    names = {name: max(flag.flags, key=len) for name, (flag, _) in statements(TrainOptions).items()}
    content = json.dumps({names[name].lstrip("-"): value for name, value in values.items()})
    expected = dataclasses.replace(made, config=None, dump_config=False)
    assert TrainOptions(**read(written(path, content))) == expected


def test_names_of_all_programs(tmp_path):
    path = written(
        tmp_path / "c.yml",
        "dim-emb: 5\nstate_size: 6\ntrain-sets: [a, b]\nvocabs:\n  - c\n  - d\n"
        "learning_rate: 1e-3\nafter: 10\nlayer-normalization: true\njit: off\nseed: null\n",
    )
    assert read(path) == {
        "dim_emb": 5, "dim_rnn": 6, "train_sets": ("a", "b"), "vocabularies": ("c", "d"),
        "learn_rate": 1e-3, "after": "10", "layer_normalization": True, "jit": "off",
    }  # fmt: skip


@pytest.mark.parametrize("content", ["", "\n# nothing\n"])
def test_an_empty_file(tmp_path, content):
    assert read(written(tmp_path / "c.yml", content)) == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("dim-em: 5", "no such option: dim-em; did you mean dim-emb?"),
        ("dim_rn: 5", "no such option: dim_rn; did you mean dim-rnn?"),
        ("zzzzzz: 5", "no such option: zzzzzz$"),
        ("config: other.yml", "no such option: config"),
        ("sqlite: true", "sqlite cannot be honoured: batches are drawn from a file"),
        ("dim-emb: 5\ndim-emb: 6", "dim-emb: given twice"),
        ("dim-emb: 5\nembedding_size: 6", "embedding_size: given twice, under two names"),
        ("dim-emb: five", "dim-emb: 'five' is not a whole number"),
        ("dim-emb: 5.5", "dim-emb: 5.5 is not a whole number"),
        ("dim-emb: true", "dim-emb: True is not a whole number"),
        ("dim-emb: [5]", r"dim-emb: \[5\] is not a whole number"),
        ("learn-rate: fast", "learn-rate: 'fast' is not a number"),
        ("learn-rate: .nan", "learn-rate: nan is not a finite number"),
        ("deep-context: 1", "deep-context: 1 is not true or false"),
        ("optimizer: adams", "optimizer: 'adams' is not one of adam, adamw"),
        ("model: {a: b}", "model: {'a': 'b'} is not text"),
        ("dim-vocabs: [5, x]", "dim-vocabs: 'x' is not a whole number"),
        ("- a", "a set of names and values is expected"),
        ("a: [", "not YAML"),
    ],
)
def test_what_is_wrong_in_yaml(tmp_path, content, message):
    path = written(tmp_path / "c.yml", content)
    with pytest.raises(CgruError, match=f"^{path}: {message}"):
        read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"dim-emb": 5, "dim-emb": 6}', "dim-emb: given twice"),
        ('{"dim-emb": NaN}', "dim-emb: nan is not a whole number"),
        ("[1]", "a set of names and values is expected"),
        ("{", "not JSON"),
        ("", "not JSON"),
    ],
)
def test_what_is_wrong_in_json(tmp_path, content, message):
    path = written(tmp_path / "c.json", content)
    with pytest.raises(CgruError, match=f"^{path}: {message}"):
        read(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(CgruError, match=r"none.yml: No such file"):
        read(tmp_path / "none.yml")
    (tmp_path / "latin.yml").write_bytes(b"model: \xfc")
    with pytest.raises(CgruError, match=r"latin.yml: not UTF-8"):
        read(tmp_path / "latin.yml")


@pytest.fixture
def meant(monkeypatch):
    """The options that a command line would train with, and its exit code."""

    def run(*arguments):
        seen = []
        with monkeypatch.context() as patch:
            patch.setattr(job, "run", lambda options, folder: seen.append(options))
            code = main(["train", *map(str, arguments)], standalone_mode=False)
        return seen[0] if seen else code

    return run


def test_the_command_line_wins(tmp_path, meant):
    path = written(tmp_path / "c.yml", "model: a.npz\ndim-emb: 5\nmini-batch: 7\nvocabs: [x, y]\n")
    options = meant("-c", path, "--dim-emb", "512", "-v", "p", "q", "-l", "0.5")
    assert options == TrainOptions(
        config=str(path), model="a.npz", dim_emb=512, mini_batch=7, vocabularies=("p", "q"),
        learn_rate=0.5,
    )  # fmt: skip


def test_an_error_in_the_file_ends_the_command(tmp_path, meant, capsys):
    path = written(tmp_path / "c.yml", "dim-em: 5\n")
    assert meant("--config", path) == 1
    assert capsys.readouterr().err == (
        f"cgru: {path}: no such option: dim-em; did you mean dim-emb?\n"
    )
