"""Options of a training run in a file."""

import dataclasses
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cgru_cli.cli import main
from cgru_cli.options import config_file
from cgru_cli.options.flags import statements
from cgru_cli.options.kinds import FREQUENCIES, one_command, saved_model, steady_frequency
from cgru_cli.options.train import TrainOptions
from cgru_cli.train import job

PRINTABLE = st.text(st.characters(exclude_categories=["Cs", "Cc"]))
TEXTS = PRINTABLE | st.sampled_from(["1e-4", "null", "yes", "0x1f", "1:30", "- a", "a: b", "~"])
STATED = statements(TrainOptions)
# Options that stand alone: they need and exclude none, and none excludes them.
EXCLUDED = {name for flag, _ in STATED.values() for name in flag.excludes}
ALONE = {
    name: stated
    for name, stated in STATED.items()
    if not (stated[0].needs or stated[0].excludes or stated[0].together)
    and stated[0].name not in EXCLUDED
    and name not in ("config", "dump_config", "interpolate_env_vars", "relative_paths")
}


def value_of(flag):
    """A strategy of values that an option may have."""
    bounds = flag.bounds
    if flag.choices:
        return st.sampled_from(flag.choices)
    if flag.kind is int:
        return st.integers(bounds.least, bounds.most)
    if flag.kind is float:
        low, high = (
            (bounds.above, bounds.most) if bounds.least is None else (bounds.least, bounds.most)
        )
        return st.floats(
            low, bounds.below if high is None else high,
            exclude_min=bounds.above is not None, exclude_max=bounds.below is not None,
        )  # fmt: skip
    if flag.kind in FREQUENCIES:
        minutes = [] if flag.kind is steady_frequency else ["1.5m"]
        return st.sampled_from(["0", "500", "2e", "10Mt", *minutes])
    if flag.kind is one_command:
        return st.sampled_from(["./score.sh", "score 'a b'"])
    if flag.name == "--copy":
        return st.sampled_from(["code", "url", "[A-Z]+"])
    if flag.kind is saved_model:
        return TEXTS.filter(bool).map(saved_model)
    if flag.kind is str.strip:
        return TEXTS.map(str.strip)
    return st.booleans() if flag.is_switch else TEXTS.filter(bool)


@st.composite
def options(draw):
    """Options of any values."""
    values = {}
    for name, (flag, default) in ALONE.items():
        one = value_of(flag)
        any_value = st.lists(one, max_size=3).map(tuple) if flag.many else one
        values[name] = draw(st.just(default) | any_value)
    return TrainOptions(**values)


def written(path, content):
    path.write_text(content, "utf-8")
    return path


def meant(*arguments):
    """The options that a command line would train with, or its exit code."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "run", lambda options, folder, **_: seen.append(options))
        code = main(["train", *map(str, arguments)], standalone_mode=False)
    return seen[0] if seen else code


@settings(max_examples=15, deadline=None)
@given(made=options())
def test_what_is_dumped_is_read_back(tmp_path_factory, made):
    path = written(tmp_path_factory.getbasetemp() / "dumped.yml", config_file.dump(made))
    assert meant("-c", path) == dataclasses.replace(made, config=(str(path),))


@settings(max_examples=15, deadline=None)
@given(made=options())
def test_json_is_read(tmp_path_factory, made):
    path = tmp_path_factory.getbasetemp() / "options.json"
    values = dataclasses.asdict(made)
    for name in ("config", "dump_config", "interpolate_env_vars", "relative_paths"):
        del values[name]
    names = {name: flag.name for name, (flag, _) in STATED.items()}
    content = json.dumps({names[name].lstrip("-"): value for name, value in values.items()})
    assert meant("-c", written(path, content)) == dataclasses.replace(made, config=(str(path),))


def test_names_of_all_programs(tmp_path):
    path = written(
        tmp_path / "c.yml",
        "dim-emb: 5\nstate_size: 6\ntrain-sets: [a, b]\nvocabs:\n  - c\n  - d\n"
        "learning_rate: 1e-3\nafter: 10\nlayer-normalization: true\njit: off\nseed: null\n",
    )
    assert meant("-c", path) == TrainOptions(
        config=(str(path),), dim_emb=5, dim_rnn=6, train_sets=("a", "b"), vocabularies=("c", "d"),
        learn_rate=1e-3, after="10", layer_normalization=True, jit="off",
    )  # fmt: skip


def test_one_value_of_several(tmp_path):
    path = written(tmp_path / "c.yml", "vocabs: both.spm\ndim-vocabs: 7\nobjective: MRT\n")
    options = meant("-c", path)
    assert (options.vocabularies, options.dim_vocabs) == (("both.spm",), (7,))
    assert options.objective == "mrt"


@pytest.mark.parametrize("content", ["", "\n# nothing\n"])
def test_an_empty_file(tmp_path, content):
    path = written(tmp_path / "c.yml", content)
    assert meant("-c", path) == TrainOptions(config=(str(path),))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("dim-em: 5", "no such option: dim-em; did you mean dim-emb?"),
        ("dim_rn: 5", "no such option: dim_rn; did you mean dim-rnn?"),
        ("zzzzzz: 5", "no such option: zzzzzz$"),
        ("config: other.yml", "no such option: config"),
        ("ulr: true", "ulr cannot be honoured: cgru has no universal language representation"),
        ("dim-emb: 5\ndim-emb: 6", "dim-emb: given twice"),
        ("dim-emb: 5\nembedding_size: 6", "embedding_size: given twice, under two names"),
        ("dim-emb: five", "dim-emb five: a whole number from 1 to 65,536 is expected"),
        ("dim-emb: 5.5", "dim-emb 5.5: a whole number"),
        ("dim-emb: 0", "dim-emb 0: a whole number from 1"),
        ("dim-emb: 1000000000000000000000000000000", "dim-emb 10+: a whole number from 1"),
        ("dim-emb: true", "dim-emb True: a whole number"),
        ("dim-emb: [5]", r"dim-emb \[5\]: a whole number"),
        ("learn-rate: fast", "learn-rate fast: a number from 0 to 1,000"),
        ("learn-rate: .nan", "learn-rate nan: a number from 0 to 1,000"),
        ("learn-rate: 1e308", "learn-rate 1e308: a number from 0 to 1,000 is"),
        ("deep-context: 1", "deep-context 1: true or false"),
        ("optimizer: adams", "optimizer adams: one of adam, adamw"),
        ("model: {a: b}", "model {'a': 'b'}: text"),
        ("dim-vocabs: [5, x]", "dim-vocabs x: a whole number"),
        ("valid-freq: often", "valid-freq often: not understood; write 500"),
        ("- a", "a set of names and values is expected"),
        ("a: [", "not YAML"),
        ("seed: true\n", "seed True: a whole number from 0 to"),  # as large as the default
        ("dim-emb: 512.0\n", "dim-emb 512.0: a whole number from 1 to"),
    ],
)
def test_what_is_wrong_in_yaml(tmp_path, capsys, content, message):
    assert_refused(written(tmp_path / "c.yml", content), message, capsys)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"dim-emb": 5, "dim-emb": 6}', "dim-emb: given twice"),
        ('{"dim-emb": NaN}', "dim-emb nan: a whole number"),
        (r'{"model": "a\u0000b"}', r"model 'a\\x00b': text without zero bytes"),
        (r'{"model": "a\ud800b"}', "not JSON"),
        ("[1]", "a set of names and values is expected"),
        ("{", "not JSON"),
        ("", "not JSON"),
    ],
)
def test_what_is_wrong_in_json(tmp_path, capsys, content, message):
    assert_refused(written(tmp_path / "c.json", content), message, capsys)


def assert_refused(path, message, capsys):
    """An error in a file is one line that names it, and the exit code is 1."""
    assert meant("-c", path) == 1
    assert re.fullmatch(f"cgru: {path}: {message}.*\n", capsys.readouterr().err)


def test_files_that_cannot_be_read(tmp_path, capsys):
    assert_refused(tmp_path / "none.yml", "configuration file not found", capsys)
    (tmp_path / "latin.yml").write_bytes(b"model: \xfc")
    assert_refused(tmp_path / "latin.yml", "not UTF-8", capsys)


def test_what_needs_another_option_finds_it_on_either_side(tmp_path, capsys):
    path = written(tmp_path / "c.yml", "lr-decay-start: 2\n")
    assert meant("-c", path) == 2
    said = f"cgru: {path}: lr-decay-start needs --lr-decay\n"
    assert capsys.readouterr().err == said
    assert meant("-c", path, "--lr-decay", "0.5").lr_decay_start == (2,)


def test_the_command_line_wins(tmp_path):
    path = written(tmp_path / "c.yml", "model: a.npz\ndim-emb: 5\nmini-batch: 7\nvocabs: [x, y]\n")
    options = meant("-c", path, "--dim-emb", "512", "-v", "p", "q", "-l", "0.5")
    assert options == TrainOptions(
        config=(str(path),), model="a.npz", dim_emb=512, mini_batch=7, vocabularies=("p", "q"),
        learn_rate=0.5,
    )  # fmt: skip


def test_an_error_in_the_file_ends_the_command(tmp_path, capsys):
    path = written(tmp_path / "c.yml", "dim-em: 5\n")
    assert meant("--config", path) == 1
    assert capsys.readouterr().err == (
        f"cgru: {path}: no such option: dim-em; did you mean dim-emb?\n"
    )
