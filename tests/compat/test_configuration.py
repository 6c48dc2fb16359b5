"""Configuration files of Marian and amun."""

import pytest
from click.testing import CliRunner
from command_lines import parsed, parsed_with_note

from cgru_cli.cli import main
from cgru_cli.errors import CgruError, UsageError


@pytest.fixture
def configured(tmp_path):
    def run(text, *arguments, command="translate"):
        path = tmp_path / "decoder.yml"
        path.write_text(text)
        return parsed(command, "-c", path, *arguments)

    return run


def test_a_decoder_configuration_sets_what_the_command_line_does_not(configured):
    text = (
        "models: [a.npz]\nvocabs:\n  - s.yml\n  - t.yml\nn-best: true\nalignment: soft\n"
        "max-length-factor: 2\nbeam-size: 7\nnormalize: 0.6\nmini-batch: 1\nmaxi-batch: 1\n"
    )
    options = configured(text)
    assert (options.n_best, options.alignment, options.max_length_factor) == (True, "soft", 2.0)
    assert (options.model, options.vocabularies) == (("a.npz",), ("s.yml", "t.yml"))
    assert (options.beam_size, options.normalize) == (7, 0.6)
    assert (options.mini_batch, options.maxi_batch) == (None, None)  # Marian's batches of one line
    options = configured(text, "--alignment", "hard", "-m", "b.npz", "-k", 3)
    assert (options.alignment, options.model, options.beam_size) == ("hard", ("b.npz",), 3)


def test_an_amun_configuration(configured, tmp_path):
    options = configured(
        "source-vocab: v.en.json\ntarget-vocab: v.de.json\nrelative-paths: yes\nbeam-size: 12\n"
        "scorers:\n  F0: {path: a.npz, type: Nematus}\n  F1: {path: b.npz, type: Nematus}\n"
        "weights: {F0: 1.0, F1: 0.5}\nnormalize: true\nbpe: codes\ngpu-threads: 1\n"
        "softmax-filter: []\ndevices: [0]\n"
    )
    beside = [str(tmp_path / name) for name in ("a.npz", "b.npz", "v.en.json", "v.de.json")]
    assert [*options.model, *options.vocabularies] == beside
    assert options.weights == (1.0, 0.5) and options.beam_size == 12 and options.normalize == 1.0
    assert options.bpe == str(tmp_path / "codes") and options.join_bpe


@pytest.mark.parametrize(("text", "joined"), [("true", True), ("false", False)])
def test_an_early_configuration_of_amun(configured, tmp_path, text, joined):
    """It joins sub-words without naming codes, and has keys that were renamed later."""
    options = configured(
        "scorers: {F0: {path: a.npz, type: Nematus}}\nweights: {F0: 1.0}\nnormalize: yes\n"
        f"source-vocab: [[v.en.json]]\ntarget-vocab: v.de.json\ndebpe: {text}\n"
        "threads-per-device: 1\nthreads: 8\nmode: CPU\nrelative-paths: yes\n"
    )
    assert options.join_bpe is joined and options.bpe is None
    assert options.vocabularies[0] == str(tmp_path / "v.en.json")


@pytest.mark.parametrize(("weights", "meant"), [("{}", ()), ("[0.5]", (0.5,))])
def test_weights_without_names(configured, weights, meant):
    options = configured(f"scorers: {{F0: {{path: x}}}}\nweights: {weights}\n")
    assert options.weights == meant


@pytest.mark.parametrize("models", [["a.npz"], ["a.npz", "b.npz", "c.npz"]])
def test_models_of_the_line_have_the_weights_of_amuns_file_in_turn(configured, models):
    text = "scorers: {F0: {path: x}, F1: {path: y}}\nweights: {F0: 0.5, F1: 2}\n"
    options = configured(text, "--compat", "amun", "-m", *models)
    assert options.weights == (0.5, 2.0, 1.0)[: len(models)]


def test_a_number_of_a_file_keeps_its_digits(configured):
    options = configured(
        "learn-rate: 0.00012345678\nafter: 1000000.0\nquiet-translation: true\n", command="train"
    )
    assert (options.learn_rate, options.after) == (0.00012345678, "1000000")


def test_a_dump_keeps_that_paths_are_relative_to_it(tmp_path):
    line = ["translate", "--compat", "amun", "-m", "a/m.npz", "--relative-paths", "--dump-config"]
    dumped = tmp_path / "amun.yml"
    dumped.write_text(CliRunner().invoke(main, line).stdout)
    assert parsed("translate", "-c", dumped).model == (str(tmp_path / "a/m.npz"),)


@pytest.mark.parametrize("value", ["0", "'no'", '"off"', "false", "No"])
def test_a_switch_of_amun_that_is_off(configured, value):
    text = f"scorers: {{F0: {{path: a.npz}}}}\nn-best: {value}\nnormalize: {value}\n"
    options = configured(text)
    assert not options.n_best and not options.normalize
    on = configured(text.replace(f"n-best: {value}", "n-best: 'on'"))
    assert on.n_best and not on.normalize
    with pytest.raises(CgruError, match="n-best: 'maybe' is neither true nor false"):
        configured(text.replace(f"n-best: {value}", "n-best: maybe"))


@pytest.mark.parametrize("compat", [(), ("--compat", "marian")])
def test_a_number_of_marian_that_is_true_or_false(configured, compat):
    """pymarian 1.12.42 takes `normalize: true` for 1, false for 0."""
    text = "models: [a.npz]\nvocabs: [s.yml, t.yml]\nnormalize: true\n"
    assert configured(text, *compat).normalize == 1
    assert configured(text.replace("true", "false"), *compat).normalize == 0


@pytest.mark.parametrize(
    ("text", "weights"),
    [
        ("F1 0.1\nF0 2\n", (2.0, 0.1)),
        ("F0= 1.5\nF1=\t0.5\n\n", (1.5, 0.5)),
        ("b 1\na 2\n", (1.0, 2.0)),
        ("F0 1\nF2 1\n", "weights of F0, F2, where F0, F1 are expected"),
        ("F0 1\nF1\n", "line 2: a name and a weight are expected"),
    ],
)
def test_weights_in_a_file_of_amun_have_names(tmp_path, text, weights):
    path = tmp_path / "weights"
    path.write_text(text)
    line = ("translate", "--compat", "amun", "-m", "a.npz", "b.npz", "--load-weights", path)
    if isinstance(weights, str):
        with pytest.raises(CgruError, match=weights):
            parsed(*line)
    else:
        assert parsed(*line).weights == weights


def test_paths_of_the_environment(configured, monkeypatch):
    monkeypatch.setenv("MODELS", "/somewhere")
    text = "models: ['${MODELS}/a.npz']\n"
    assert configured(text).model == ("${MODELS}/a.npz",)
    assert configured(text, "--interpolate-env-vars").model == ("/somewhere/a.npz",)
    assert configured(text + "interpolate-env-vars: true\n").model == ("/somewhere/a.npz",)
    typed = parsed("translate", "-m", "${MODELS}/b.npz", "--interpolate-env-vars")
    assert typed.model == ("/somewhere/b.npz",)
    with pytest.raises(Exception, match="no variable NOWHERE"):
        parsed("translate", "-m", "${NOWHERE}/b.npz", "--interpolate-env-vars")


def test_a_shortlist_has_a_path_and_numbers(configured):
    assert configured("shortlist: [lex, 100, 75]\n").shortlist == ("lex", "100", "75")
    with pytest.raises(CgruError, match="shortlist is 5, where names of files are expected"):
        configured("shortlist: 5\n")


def test_a_scorer_has_configurations_too(configured):
    line = ["--compat", "marian", "--n-best", "-t", "s", "list"]
    text = "model: a.npz\nvocabs: [s, t]\nmini-batch: 16\n"
    options = configured(text, *line, command="score")
    assert (options.model, options.vocabularies) == (("a.npz",), ("s", "t"))
    assert (options.source, options.n_best, options.target) == (("s",), "list", ())


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("optimize: true\n", "optimize cannot be honoured"),
        ("models: [a]\nshortlist: [100, 75]\n", "names of files are expected"),
        ("max-length-factor: much\n", "max-length-factor"),
        ("scorers: 3\n", "scorers is 3"),
        ("scorers: {F0: {path: x}}\nweights: {F1: 1}\n", "weights are of F1, scorers are F0"),
        ("scorers: {F0: {path: x}, F1: {path: y, tab: 1}}\n", "scorers: F1 cannot be honoured"),
        ("scorers: {F0: {path: x}, F1: {type: Ape}}\n", "scorers: F1 cannot be honoured"),
        ("no-such-thing: 3\n", "no such option: no-such-thing"),
        ("no-such-thing:\n", "no such option: no-such-thing"),
        ("models: [a]\nconfig: other.yml\n", "config: this file cannot name another"),
        ("type: transformer\n- x\n", "not YAML"),
        ("[]\n", "names and values"),
    ],
)
def test_what_cannot_be_honoured_or_understood_is_an_error(configured, text, note):
    with pytest.raises(CgruError, match=note) as error:
        configured(text)
    assert "decoder.yml" in str(error.value) and not isinstance(error.value, UsageError)


def test_a_file_of_the_server_counts_eos(tmp_path):
    """As in a decoder's file, which may also have options of the server."""
    path = tmp_path / "server.yml"
    path.write_text("models: [m.npz]\nport: 8000\nmax-length: 7\nmax-length-crop: true\n")
    options = parsed("serve", "-c", path)
    assert (options.max_length, options.port, options.model) == (6, 8000, ("m.npz",))


def test_a_json_of_nematus_counts_eos_under_the_program(tmp_path):
    path = tmp_path / "m.json"
    path.write_text('{"maxlen": 50, "dim_word": 7, "n_words_src": 20, "n_words": 30}')
    options = parsed("train", "--compat", "nematus", "-c", path)
    assert (options.max_length, options.dim_emb, options.dim_vocabs) == (49, 7, (20, 30))
    assert parsed("train", "--compat", "nematus-tf", "-c", path).max_length == 50


def test_the_scorer_crops_where_marians_does():
    """At 1,000 words with EOS."""
    assert parsed("score", "--compat", "marian", "-m", "m", "-t", "a", "b").max_length == 999


@pytest.mark.parametrize("program", ["nematus", "nematus-tf", "dl4mt"])
def test_scorers_without_a_limit_score_any_line(program):
    assert parsed("score", "--compat", program, "-m", "m").max_length == 10**6


def test_the_file_that_marian_writes_of_a_training(tmp_path):
    """The file holds every option, so training is Marian's, as with --compat marian."""
    path = tmp_path / "model.npz.yml"
    path.write_text(
        "authors: false\ncite: false\nbuild-info: ''\nversion: v1.12.0\nworkspace: 2048\n"
        "cost-type: ce-sum\nvalid-metrics: [cross-entropy]\ntype: s2s\nskip: false\n"
        "enc-depth: 2\ntransformer-heads: 8\ntrain-sets: [a, b]\nvocabs: [c, d]\n"
        "after-batches: 10\nmodel: m.npz\nconfig: [t.yml]\noption-of-another-version: []\n"
    )
    options, note = parsed_with_note("train", "-c", path, "--mini-batch", 32)
    assert (options.type, options.enc_depth, options.no_skip) == ("s2s", 2, True)
    assert (options.mini_batch, options.max_length, options.init) == (32, 49, "glorot")
    assert (options.train_sets, options.after) == (("a", "b"), "10u")
    assert note == ""


@pytest.mark.parametrize("form", ["minimal", "expand", "full"])
def test_a_dump_is_read_again_under_the_program(tmp_path, form):
    """Its lengths are Marian's, which count EOS."""
    arguments = ["--compat", "marian", "-t", "a", "b", "--max-length", "30"]
    dumped = CliRunner().invoke(main, ["train", *arguments, "--dump-config", form])
    path = tmp_path / "dump.yml"
    path.write_text(dumped.stdout)
    again = parsed("train", "--compat", "marian", "-c", path)
    assert again.max_length == parsed("train", *arguments).max_length == 29
    assert again.train_sets == ("a", "b")
