"""What options and configurations decide together."""

import pytest

from cgru_cli.errors import CgruError, UsageError
from cgru_cli.options.translate import TranslateOptions
from cgru_cli.translate.decoder_yml import with_configuration


def configured(tmp_path, text, **options):
    path = tmp_path / "decoder.yml"
    path.write_text(text)
    return with_configuration(TranslateOptions(config=str(path), **options))


def test_a_decoder_configuration_sets_what_the_command_line_does_not(tmp_path):
    text = "models: [a.npz]\nn-best: true\nalignment: soft\nmax-length-factor: 2\nbeam-size: 7\n"
    options, settings = configured(tmp_path, text)
    assert (options.n_best, options.alignment, options.max_length_factor) == (True, "soft", 2.0)
    assert options.model == ("a.npz",) and settings.beam_size == 7
    options, _ = configured(tmp_path, text, alignment="hard", model=("b.npz",))
    assert options.alignment == "hard" and options.model == ("b.npz",)


def test_what_cannot_be_honoured_or_understood_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="shortlist cannot be honoured"):
        configured(tmp_path, "shortlist: [lex, 100, 75]\n")
    with pytest.raises(CgruError, match="max-length-factor is 'much'"):
        configured(tmp_path, "max-length-factor: much\n")
    with pytest.raises(CgruError, match="models is 3"):
        configured(tmp_path, "models: 3\n")
